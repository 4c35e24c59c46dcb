//! Chooses the instances of promotable clones that are promoted.

use std::cmp::Reverse;

use super::index::{HostIdx, ResourceIdx};
use super::merging::{Share, Towards};
use super::place::{Placer, PlacingState};
use super::placing::PlacingEvent;
use super::promotion::{ExtraInstance, PromotionScore, Role};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::Colocation;

/// Score of an instance whose agent does not ask for a promotion.
const UNASKED: i64 = -1;

impl Placer<'_> {
    /// Promotes instances of a clone that was just placed: those with the highest scores of at least 0.
    /// Of equal ones, those that are promoted come first, then those that run, then those that did not fail, then those
    /// that had their turn first.
    pub(super) fn promote(&mut self, clone: ResourceIdx, sequence: &[ResourceIdx]) {
        let set = self.set;
        let Some(promotion) = &set.resource(clone).promotion else { return };
        let mut scores: Vec<PromotionScore> = Vec::new();
        for (number, instance) in set.resource(clone).members.iter().enumerate() {
            let host = self.instance_place(*instance);
            let score = match host {
                Some(host) => self.promotion_score(clone, *instance, promotion.wish(number, host), host),
                None => AllocationScore::ZERO,
            };
            scores.push(PromotionScore { instance: *instance, host, score });
        }
        self.add_wishes_of_others(clone, &mut scores);
        scores.sort_by_cached_key(|one| {
            let turn = sequence.iter().position(|other| *other == one.instance);
            let turn = turn.filter(|_| one.score > AllocationScore::MINUS_INFINITY);
            let runs = set.primitives(&one.instance).iter().any(|part| set.resource(*part).active.is_some());
            (Reverse(one.score), !set.is_promoted(one.instance), !runs, self.has_failed(one.instance), turn)
        });
        let number = set.resource(clone).members.len();
        let extra = promotion.has_extra.then(|| {
            let place = scores.partition_point(|one| one.score >= AllocationScore::ZERO);
            ExtraInstance { number, place }
        });
        let may_be = |one: &&PromotionScore| {
            let is_kept = set.is_promoted(one.instance);
            let is_managed = set.primitives(&one.instance).iter().all(|part| set.is_managed(*part));
            one.host.is_some() && one.score >= AllocationScore::ZERO && (is_kept || is_managed)
        };
        let promoted: Vec<ResourceIdx> =
            scores.iter().filter(may_be).take(promotion.most).map(|one| one.instance).collect();
        for part in promoted.iter().flat_map(|one| set.primitives(one).into_owned()) {
            self.promoted[part.get()] = true;
        }
        self.by_promotion.insert(clone, scores.iter().map(|one| one.instance).collect());
        self.events.push(PlacingEvent::Promotion { clone, scores, extra });
    }

    /// The host of an instance; for a group, that of its first member with one.
    fn instance_place(&self, instance: ResourceIdx) -> Option<HostIdx> {
        match self.progress[instance.get()] {
            PlacingState::Done(host) => host,
            _ => None,
        }
    }

    /// Score of an instance on its host: the wish of its agent, locations, its colocations, and the wishes of others.
    fn promotion_score(
        &self,
        clone: ResourceIdx,
        instance: ResourceIdx,
        wish: Option<AllocationScore>,
        host: HostIdx,
    ) -> AllocationScore {
        let set = self.set;
        let is_promoted = set.is_promoted(instance);
        if is_promoted && set.primitives(&instance).iter().any(|part| !set.is_managed(*part)) {
            return AllocationScore::INFINITY;
        }
        let details = set.resource(clone);
        if details.promotion.as_ref().is_some_and(|promotion| promotion.unwanted) {
            return AllocationScore::MINUS_INFINITY;
        }
        let mut score = wish.unwrap_or(AllocationScore::of(UNASKED));
        let located = set.promotion_locations.iter().filter(|one| one.resource == clone && one.host == host);
        located.for_each(|one| score = score.plus(one.score));
        if details.promotion.as_ref().is_some_and(|promotion| promotion.failed_on.contains(&host)) {
            score = AllocationScore::MINUS_INFINITY;
        }
        // Pacemaker quirk: colocations of a clone of groups count for none of them.
        let own = self.wishes.list(instance, Towards::Primaries);
        for at in own.iter().filter(|_| set.resource(instance).is_primitive()) {
            score = score.plus(self.role_worth(&set.colocations[*at], host));
        }
        score
    }

    /// Worth of a host for a promotion by a colocation of the promoted, or of the unpromoted instances.
    fn role_worth(&self, colocation: &Colocation, host: HostIdx) -> AllocationScore {
        let PlacingState::Done(place) = self.progress[colocation.primary.get()] else {
            return AllocationScore::ZERO;
        };
        let primary = self.set.resource(colocation.primary);
        let in_role = || primary.members.iter().filter(|one| self.has_role(**one, colocation.primary_role));
        let places: Vec<HostIdx> = if primary.is_clone() {
            in_role().filter_map(|one| self.whole_place(*one)).collect()
        } else {
            place.into_iter().collect()
        };
        let agrees =
            places.iter().any(|place| self.wishes.agree(colocation.attribute.as_deref(), host, *place));
        let is_must = colocation.score == AllocationScore::INFINITY;
        match (colocation.dependent_role, agrees) {
            // With a clone, any host is good enough for a promotion.
            (Some(_), _) if is_must && primary.is_clone() && colocation.primary_role.is_none() => {
                AllocationScore::ZERO
            }
            (Some(Role::Promoted), true) => colocation.score,
            (Some(Role::Promoted), false)
                if is_must && (colocation.primary_role.is_some() || !places.is_empty()) =>
            {
                AllocationScore::MINUS_INFINITY
            }
            (Some(Role::Unpromoted), true) => colocation.score.negated(),
            _ => AllocationScore::ZERO,
        }
    }

    /// Adds to scores of at least 0 those of the clone on their hosts, and the wishes of resources that want to be with
    /// its promoted instances, or with which these want to be. The result stays in the scores of the clone.
    fn add_wishes_of_others(&mut self, clone: ResourceIdx, scores: &mut [PromotionScore]) {
        let set = self.set;
        let counts = |one: &PromotionScore| one.host.filter(|_| one.score >= AllocationScore::ZERO);
        let mut wanted = self.tables[clone.get()].clone();
        for one in scores.iter() {
            if let Some(host) = counts(one) {
                wanted.set(host, wanted.or_never(host).plus(one.score));
            }
        }
        for towards in [Towards::Primaries, Towards::Dependents] {
            self.wishes.merging.forget();
            for at in self.wishes.list(clone, towards).to_vec() {
                let colocation = &set.colocations[at];
                let role = match towards {
                    Towards::Primaries => colocation.dependent_role,
                    Towards::Dependents => colocation.primary_role,
                };
                if role == Some(Role::Promoted) {
                    wanted = self.with_wishes(wanted, at, towards);
                }
            }
        }
        for one in scores {
            one.score = counts(one).map_or(one.score, |host| wanted.or_never(host));
        }
        self.tables[clone.get()] = wanted;
    }

    /// Scores for promotions with the wishes behind a colocation.
    fn with_wishes(&mut self, wanted: ScoreTable, at: usize, towards: Towards) -> ScoreTable {
        let set = self.set;
        let colocation = &set.colocations[at];
        let share = Share::of(set, at, 1.0);
        match towards {
            // From the primary, dependents are followed, too.
            Towards::Primaries => self.wishes.added_from_primary(&self.tables, colocation, wanted, share),
            Towards::Dependents if set.has_influence(colocation) => {
                let share = Share { sparing: true, ..share };
                self.wishes.added(&self.tables, colocation.dependent, wanted, share)
            }
            Towards::Dependents => wanted,
        }
    }
}
