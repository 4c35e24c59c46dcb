//! Adds the effect of colocations to scores, in both directions, and splits it into parts on request.

use super::additions::{ScoreAddition, ScoreSource};
use super::index::{HostIdx, ResourceIdx};
use super::merging::{AddedWish, Share, Towards};
use super::place::{Placer, PlacingState};
use super::promotion::Role;
use super::score::{AllocationScore, HostScore, ScoreTable};
use super::working_set::Colocation;

impl Placer<'_> {
    /// Forbids a resource a host that is in its table.
    pub(super) fn forbid(&mut self, resource: ResourceIdx, source: ScoreSource, host: HostIdx) {
        let table = &mut self.tables[resource.get()];
        if table.get(host).is_some() {
            table.add(host, AllocationScore::MINUS_INFINITY);
            self.log.note_one(resource, source, host, AllocationScore::MINUS_INFINITY);
        }
    }

    /// Adds the effect of all colocations to the scores of a primitive, the mandatory ones first.
    pub(super) fn follow_colocations(&mut self, resource: ResourceIdx) {
        if self.set.release.follows_mandatory_first() {
            self.follow_primaries(resource, AllocationScore::is_infinite);
            self.add_wishes_of_dependents(resource, |score| score == AllocationScore::INFINITY);
            self.follow_primaries(resource, |score| !score.is_infinite());
            self.add_wishes_of_dependents(resource, |score| score != AllocationScore::INFINITY);
        } else {
            self.follow_primaries(resource, |_| true);
            self.add_wishes_of_dependents(resource, |_| true);
        }
    }

    /// Places the primaries of a resource, and adds the effect of these colocations to its scores, where the score of
    /// the colocation counts.
    fn follow_primaries(&mut self, resource: ResourceIdx, counts: impl Fn(AllocationScore) -> bool) {
        let set = self.set;
        for at in self.wishes.list(resource, Towards::Primaries).to_vec() {
            if !counts(set.colocations[at].score) {
                continue;
            }
            self.assign_aside(set.colocations[at].primary);
            self.apply(resource, at);
        }
    }

    /// Adds the effect of one colocation to the scores of its dependent.
    fn apply(&mut self, resource: ResourceIdx, at: usize) {
        let colocation = &self.set.colocations[at];
        if self.concerns_promotion_alone(colocation) {
            return self.forbid_without_containers(resource, at);
        }
        if self.set.resource(colocation.primary).is_clone() {
            return self.apply_clone(resource, at);
        }
        if self.set.counts_for_primary_alone(colocation) {
            return;
        }
        // A group that is only half placed has no place yet.
        if !matches!(self.progress[colocation.primary.get()], PlacingState::Done(_)) {
            return;
        }
        for member in self.set.stand_ins(colocation) {
            if let PlacingState::Done(place) = self.progress[member.get()] {
                self.apply_place(resource, at, place);
            }
        }
    }

    /// Adds the effect of the primary's host, or of its having none, to the scores of the dependent. A finite score is
    /// ignored if it leaves no host.
    pub(super) fn apply_place(&mut self, resource: ResourceIdx, at: usize, place: Option<HostIdx>) {
        self.apply_places(resource, at, &[place]);
    }

    /// Adds the effect of a colocation whose primary has several places. Unless the colocation is strict, these count
    /// only if together they leave a host.
    pub(super) fn apply_places(&mut self, resource: ResourceIdx, at: usize, places: &[Option<HostIdx>]) {
        let colocation = &self.set.colocations[at];
        let worth = |host: HostIdx| {
            let single = places.iter().map(|place| self.place_worth(colocation, *place, host));
            single.fold(AllocationScore::ZERO, AllocationScore::plus)
        };
        let mut table = self.tables[resource.get()].clone();
        table.update(|host, old| old.plus(worth(host)));
        // One that keeps promoted instances apart keeps no instance from running.
        let is_strict = colocation.score.is_infinite() && colocation.dependent_role != Some(Role::Promoted);
        if is_strict || self.wishes.some_host_is_left(&table) {
            if self.log.is_on() {
                let worth = |(host, _)| HostScore { host, score: worth(host) };
                let scores: Vec<HostScore> = table.iter().map(worth).collect();
                self.log.note(resource, ScoreSource::With(at), scores.into_iter());
            }
            self.tables[resource.get()] = table;
        }
    }

    /// Score of a host by a colocation whose primary has this place, or none.
    fn place_worth(&self, colocation: &Colocation, place: Option<HostIdx>, host: HostIdx) -> AllocationScore {
        let score = colocation.score;
        let near = |place| self.wishes.agree(colocation.attribute.as_deref(), host, place);
        match (place, score == AllocationScore::INFINITY) {
            (None, _) if score < AllocationScore::ZERO => AllocationScore::ZERO,
            (None, _) => score.negated(),
            (Some(place), true) if !near(place) => AllocationScore::MINUS_INFINITY,
            (Some(place), false) if near(place) => score,
            (Some(_), _) => AllocationScore::ZERO,
        }
    }

    /// Adds the wishes of a resource's dependents to its scores, where the score of the colocation counts.
    fn add_wishes_of_dependents(&mut self, resource: ResourceIdx, counts: impl Fn(AllocationScore) -> bool) {
        let set = self.set;
        self.wishes.merging.forget();
        for at in self.wishes.list(resource, Towards::Dependents).to_vec() {
            let colocation = &set.colocations[at];
            if !set.has_influence(colocation) || !counts(colocation.score) {
                continue;
            }
            self.add_dependent_wishes(resource, colocation.dependent, Share::of(set, at, 1.0));
        }
    }

    /// Adds the wishes of one dependent, and of all behind it, to the scores of a resource.
    pub(super) fn add_dependent_wishes(
        &mut self,
        resource: ResourceIdx,
        from: ResourceIdx,
        share: Share<'_>,
    ) {
        let before = self.tables[resource.get()].clone();
        let records = self.log.is_on() && !share.sparing;
        if records {
            self.wishes.merging.start_recording(self.set.hosts.len());
        }
        let after = self.wishes.added(&self.tables, from, before.clone(), share);
        let source = ScoreSource::Of(share.colocation);
        match self.wishes.merging.stop_recording() {
            Some(added_wishes) => self.note_added_wishes(resource, before, added_wishes),
            None => self.log.note_change(resource, source, &before, &after),
        }
        self.tables[resource.get()] = after;
    }

    /// Notes wishes one after the other. Those that count in full are split into their parts.
    fn note_added_wishes(
        &mut self,
        resource: ResourceIdx,
        mut table: ScoreTable,
        added_wishes: Vec<AddedWish>,
    ) {
        for wish in added_wishes {
            let own: Vec<ScoreAddition> =
                if wish.is_whole { self.log.additions(wish.resource).to_vec() } else { Vec::new() };
            let mut by_parts = table.clone();
            own.iter().flat_map(|part| &part.scores).for_each(|one| by_parts.add(one.host, one.score));
            let before = table.clone();
            table.update(|host, score| score.plus(wish.added[host.get()]));
            // A forbidden host cannot be forbidden again.
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
