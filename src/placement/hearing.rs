//! Adding the wishes of others to the scores of a resource, and taking them apart for those who ask.

use super::additions::{HostScore, ScoreAddition, ScoreSource};
use super::index::{HostIdx, ResourceIdx};
use super::merge::HeardWish;
use super::place::Placer;
use super::score::{AllocationScore, ScoreTable};
use super::wishes::Share;

impl Placer<'_> {
    /// Forbids a resource a host that is in its table.
    pub(super) fn forbid(&mut self, resource: ResourceIdx, source: ScoreSource, host: HostIdx) {
        let table = &mut self.tables[resource.get()];
        if table.get(host).is_some() {
            table.add(host, AllocationScore::MINUS_INFINITY);
            self.log.note_one(resource, source, host, AllocationScore::MINUS_INFINITY);
        }
    }

    /// Adds to the scores of a resource what another one wants that is to be with it, and all behind that one.
    pub(super) fn hear(&mut self, resource: ResourceIdx, from: ResourceIdx, share: Share<'_>) {
        let before = self.tables[resource.get()].clone();
        let listens = self.log.is_on() && !share.sparing;
        if listens {
            self.wishes.merging.listen(self.set.hosts.len());
        }
        let after = self.wishes.added(&self.tables, from, before.clone(), share);
        let source = ScoreSource::Of(share.colocation);
        match self.wishes.merging.stop_listening() {
            Some(heard) => self.note_heard(resource, before, heard),
            None => self.log.note_change(resource, source, &before, &after),
        }
        self.tables[resource.get()] = after;
    }

    /// Notes what came of wishes, one after the other: those that count as a whole by their parts.
    fn note_heard(&mut self, resource: ResourceIdx, mut table: ScoreTable, heard: Vec<HeardWish>) {
        for wish in heard {
            let own: Vec<ScoreAddition> = match wish.is_whole {
                true => self.log.additions(wish.resource).to_vec(),
                false => Vec::new(),
            };
            let mut by_parts = table.clone();
            own.iter().flat_map(|part| &part.scores).for_each(|one| by_parts.add(one.host, one.score));
            let before = table.clone();
            table.update(|host, score| score.plus(wish.added[host.get()]));
            // what is forbidden already is not forbidden again
            let changes = |one: &HostScore| before.get(one.host) != table.get(one.host);
            let adds_up = |one: &HostScore| by_parts.get(one.host) == table.get(one.host);
            for part in own {
                let scores = part.scores.into_iter().filter(|one| changes(one) && adds_up(one)).collect();
                self.log.push(resource, ScoreAddition { scores, ..part });
            }
            let all = table.iter().map(|(host, _)| HostScore { host, score: wish.added[host.get()] });
            let rest = all.filter(|one| changes(one) && !adds_up(one)).collect();
            let source = ScoreSource::Of(wish.colocation);
            self.log.push(resource, ScoreAddition { source, resource: wish.resource, scores: rest });
        }
    }
}
