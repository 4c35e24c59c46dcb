//! Chooses the instances of promotable clones that are promoted.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::index::{HostIdx, ResourceIdx};
use super::merging::{Share, Towards};
use super::place::{Placer, PlacingState};
use super::placing::{DecidedBy, PlacingEvent};
use super::promotion::{ExtraInstance, Promotion, PromotionScore, PromotionSource, Role};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{Colocation, QuorumPolicy};

/// Score of an instance whose agent does not ask for a promotion.
const UNASKED: i64 = -1;

/// An instance on its host, for the parts of its promotion score that are its own.
struct OwnPromotion<'a> {
    promotion: &'a Promotion,
    /// Positions of the locations for promoted instances of its clone on this host.
    locations: Option<&'a Vec<usize>>,
    number: usize,
    host: HostIdx,
}

/// The node in a container, and the host of the container.
struct ContainerHost {
    own: HostIdx,
    beneath: HostIdx,
}

impl Placer<'_> {
    /// Promotes instances of a clone that was just placed: those with the highest scores of at least 0.
    /// Of equal ones, those that are promoted come first, then those that run, then those with the higher score without
    /// the wishes of others. Then they have their turns as before, by their present scores.
    pub(super) fn promote(&mut self, clone: ResourceIdx, sequence: &[ResourceIdx]) {
        let set = self.set;
        let Some(promotion) = &set.resource(clone).promotion else { return };
        let mut locations: HashMap<HostIdx, Vec<usize>> = HashMap::new();
        // Those of a bundle count on the nodes in its containers.
        let located = set.bundle_around(clone).unwrap_or(clone);
        for (at, location) in set.promotion_locations.iter().enumerate() {
            if location.resource == located {
                locations.entry(location.host).or_default().push(at);
            }
        }
        let mut scores: Vec<PromotionScore> = Vec::new();
        let mut withdrawn: Vec<(usize, usize)> = Vec::new();
        for (number, instance) in set.resource(clone).members.iter().enumerate() {
            let host = self.place_of(*instance);
            let score = match host {
                None if set.release.never_promotes_the_placeless() => AllocationScore::MINUS_INFINITY,
                _ => AllocationScore::ZERO,
            };
            let mut score = PromotionScore { instance: *instance, host, score, parts: Vec::new() };
            if let Some(host) = host {
                let own = OwnPromotion { promotion, locations: locations.get(&host), number, host };
                let reason = self.add_own_promotion(own, &mut score);
                withdrawn.extend(reason.map(|at| (number, at)));
            }
            scores.push(score);
        }
        // The order by the scores without wishes of others and tickets counts for equal ones.
        let own: HashMap<ResourceIdx, AllocationScore> =
            scores.iter().map(|one| (one.instance, one.score)).collect();
        for (number, at) in withdrawn {
            scores[number].host = None;
            scores[number].add(PromotionSource::Colocation(at), AllocationScore::MINUS_INFINITY);
        }
        let tickets = set.promotion_tickets(clone);
        let lacks_ticket = !tickets.is_empty();
        // The promotion scores of this clone do not count for the wishes of other resources.
        let wanted = self.wanted_by_others(clone, clone);
        self.add_wishes_of_others(clone, &tickets, &mut scores);
        let turns: HashMap<ResourceIdx, usize> =
            sequence.iter().enumerate().map(|(turn, instance)| (*instance, turn)).collect();
        scores.sort_by_cached_key(|one| {
            let own = own.get(&one.instance).map(Reverse);
            // It counts before the ranks, unless a ticket forbids all promotions.
            let (own, own_at_last) = if lacks_ticket { (None, own) } else { (own, None) };
            let runs = set.runs(one.instance);
            let rank = self.instance_rank(one.instance, &wanted);
            // Pacemaker quirk: of running instances with infinite scores, the first number comes first.
            let turn = turns.get(&one.instance).filter(|_| lacks_ticket || !runs || !one.score.is_infinite());
            (Reverse(one.score), !set.is_promoted(one.instance), !runs, own, rank, own_at_last, turn)
        });
        let number = set.resource(clone).members.len();
        let extra = promotion.has_extra.then(|| {
            let place = scores.partition_point(|one| one.score >= AllocationScore::ZERO);
            ExtraInstance { number, place }
        });
        let may_be = |one: &&PromotionScore| {
            // Pacemaker quirk: a group that nobody manages does not count as promoted.
            let is_kept = set.resource(one.instance).is_primitive() && set.is_promoted(one.instance);
            let is_managed = set.primitives(&one.instance).iter().all(|part| set.is_managed(*part));
            one.host.is_some_and(|host| is_kept && !is_managed || self.can_promote_on(host))
                && one.score >= AllocationScore::ZERO
                && (is_kept || is_managed)
                && !self.is_kept_down(one.instance)
        };
        // Pacemaker quirk: the total of an unmanaged clone has no limit.
        let is_limited = set.may_manage_by_itself(clone);
        let mut on_host: HashMap<HostIdx, usize> = HashMap::new();
        let mut has_room = |one: &&PromotionScore| {
            let others = one.host.map(|host| on_host.entry(host).or_default());
            others.is_some_and(|others| {
                *others += 1;
                *others <= promotion.per_host
            })
        };
        let promoted: Vec<ResourceIdx> = scores
            .iter()
            .filter(may_be)
            .filter(|one| has_room(one))
            .take(if is_limited { promotion.most } else { usize::MAX })
            .map(|one| one.instance)
            .collect();
        for part in promoted.iter().flat_map(|one| set.primitives(one).into_owned()) {
            self.promoted[part.get()] = true;
        }
        self.by_promotion.insert(clone, scores.iter().map(|one| one.instance).collect());
        self.events.push(PlacingEvent::Promotion { clone, scores, extra });
    }

    /// Returns true for an instance that is not promoted and must remain so, as there is no quorum (`freeze`).
    fn is_kept_down(&self, instance: ResourceIdx) -> bool {
        self.set.without_quorum == Some(QuorumPolicy::Freeze) && !self.set.is_promoted(instance)
    }

    /// Returns false for a guest node whose VM has no place, or none yet. A node in a container must have a container with
    /// a place, and must not be closed.
    fn can_promote_on(&self, host: HostIdx) -> bool {
        let node = self.set.host(host);
        let Some(parts) = node.guest.filter(|parts| !parts.is_remote_node()) else { return true };
        let is_open = !node.replica || node.lets_run() && !node.state.shutting_down;
        self.place_of(parts.machine).is_some() && is_open
    }

    /// The host of the VM or container in which a host is.
    fn place_beneath(&self, host: HostIdx) -> Option<HostIdx> {
        self.place_of(self.set.host(host).guest?.machine)
    }

    /// Adds the parts of an instance's own: the wish of its agent, locations and its colocations. If one of these takes
    /// the instance off its host, returns its position.
    fn add_own_promotion(&mut self, own: OwnPromotion<'_>, score: &mut PromotionScore) -> Option<usize> {
        let OwnPromotion { promotion, locations, number, host } = own;
        let set = self.set;
        let instance = score.instance;
        // A member that a ticket keeps as it is does not make its group unmanaged.
        let is_group = set.resource(instance).is_group();
        let is_managed = |part: &ResourceIdx| {
            if is_group { set.may_manage_by_itself(*part) && !set.frozen } else { set.is_managed(*part) }
        };
        if set.is_promoted(instance) && !set.primitives(&instance).iter().all(is_managed) {
            score.add(PromotionSource::Unmanaged, AllocationScore::INFINITY);
            return None;
        }
        // Pacemaker quirk: the score of an instance that runs unpromoted, and remains so without quorum, is its own.
        if promotion.unwanted && !(self.is_kept_down(instance) && set.runs(instance)) {
            score.add(PromotionSource::TargetRole, AllocationScore::MINUS_INFINITY);
            return None;
        }
        // The wish of a part does not count where that is unwanted, as an unmanaged one can be.
        let parts = set.primitives(&instance);
        let counts = |part: &ResourceIdx| self.tables[part.get()].or_never(host) >= AllocationScore::ZERO;
        let counting = parts.iter().enumerate().filter(|(_, part)| counts(part));
        let asked = if promotion.of_container_hosts { self.place_beneath(host) } else { Some(host) };
        let wishes = counting.filter_map(|(at, _)| promotion.part_wish(at, number, asked?));
        match wishes.reduce(AllocationScore::plus) {
            Some(wish) => score.add(PromotionSource::Agent, wish),
            None => score.add(PromotionSource::Unasked, AllocationScore::of(UNASKED)),
        }
        for at in locations.into_iter().flatten() {
            score.add(PromotionSource::Location(*at), set.promotion_locations[*at].score);
        }
        if set.primitives(&instance).iter().any(|part| self.place_of(*part).is_none()) {
            score.add(PromotionSource::Partial, AllocationScore::MINUS_INFINITY);
        }
        // An instance that could not be promoted where it runs is promoted nowhere.
        if set.primitives(&instance).iter().any(|part| set.resource(*part).promotion_failed) {
            score.add(PromotionSource::Failed, AllocationScore::MINUS_INFINITY);
        }
        // Pacemaker quirk: up to 2.1.5, colocations of a clone of groups count for none of them.
        let follows = set.resource(instance).is_primitive() || set.release.promotes_by_colocations_once();
        // Those of a bundle go by the hosts of its containers.
        let around = set.clone_of(instance).and_then(|clone| set.bundle_around(clone));
        let around = around.filter(|_| set.release.follows_roles_of_bundles());
        let host = if around.is_some() { self.place_beneath(host) } else { Some(host) };
        for at in self.wishes.list(around.unwrap_or(instance), Towards::Primaries).to_vec() {
            if !follows {
                continue;
            }
            let colocation = &set.colocations[at];
            let worth = self.role_worth(colocation, host);
            if worth != AllocationScore::ZERO {
                score.add(PromotionSource::Colocation(at), worth);
            }
            if self.lacks_container(colocation, host) {
                self.withdraw(instance);
                return Some(at);
            }
        }
        None
    }

    /// Returns true if a colocation must have a container of a bundle on a host that has none. An instance is
    /// then not promoted, and has no place there either.
    fn lacks_container(&self, colocation: &Colocation, host: Option<HostIdx>) -> bool {
        self.containers_needed(colocation).is_some_and(|mut places| !places.any(|place| Some(place) == host))
    }

    /// Takes an instance off its host.
    fn withdraw(&mut self, instance: ResourceIdx) {
        for part in self.set.primitives(&instance).iter() {
            self.progress[part.get()] = PlacingState::Done(None);
            let Some(at) = self.by_resource[part.get()] else { continue };
            let told = PlacingEvent::Tried(Box::new(self.records[at].clone()));
            let of_part = |event: &&mut PlacingEvent| **event == PlacingEvent::Primitive(at);
            self.events.iter_mut().find(of_part).into_iter().for_each(|event| *event = told.clone());
            (self.records[at].host, self.records[at].decided_by) = (None, DecidedBy::None);
        }
    }

    /// Worth of a host, or of none, for a promotion by a colocation of the promoted, or of the unpromoted instances.
    fn role_worth(&self, colocation: &Colocation, host: Option<HostIdx>) -> AllocationScore {
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
        // Of a bundle, the container on the same host counts, whatever the node attribute is.
        let attribute = colocation.attribute.as_deref().filter(|_| !self.follows_containers(colocation));
        let agrees = match host {
            Some(host) => places.iter().any(|place| self.wishes.agree(attribute, host, *place)),
            // A container without a place is near a resource without one.
            None => !primary.is_clone() && places.is_empty(),
        };
        let is_must = colocation.score == AllocationScore::INFINITY;
        let dependent = self.set.clone_of(colocation.dependent).unwrap_or(colocation.dependent);
        let interleaves = self.set.resource(dependent).interleaves_with(primary);
        let is_clone = primary.is_clone() && self.set.bundle(colocation.primary).is_none();
        match (colocation.dependent_role, agrees) {
            // With a clone, any host is good enough for a mandatory colocation.
            (Some(Role::Unpromoted), _) if is_must && is_clone => AllocationScore::ZERO,
            (Some(Role::Promoted), _)
                if is_must && is_clone && !interleaves && colocation.primary_role.is_none() =>
            {
                AllocationScore::ZERO
            }
            (Some(Role::Promoted), true) => colocation.score,
            (Some(_), false) if self.follows_containers(colocation) => AllocationScore::ZERO,
            (Some(Role::Promoted), false)
                if is_must
                    && (colocation.primary_role.is_some()
                        || !places.is_empty()
                        || self.set.bundle(colocation.dependent).is_some()) =>
            {
                AllocationScore::MINUS_INFINITY
            }
            (Some(Role::Unpromoted), true) => colocation.score.negated(),
            _ => AllocationScore::ZERO,
        }
    }

    /// Returns true for a colocation with a bundle that forbids no promotion where the bundle has a container.
    fn follows_containers(&self, colocation: &Colocation) -> bool {
        self.set.bundle(colocation.primary).is_some() && self.set.release.follows_roles_of_bundles()
    }

    /// Adds to scores of at least 0 those of the clone on their hosts, and the wishes of resources that want to be with
    /// its promoted instances, or with which these want to be. A missing ticket forbids the promotion of all of them.
    /// The result stays in the scores of the clone.
    fn add_wishes_of_others(
        &mut self,
        clone: ResourceIdx,
        missing_tickets: &[usize],
        scores: &mut [PromotionScore],
    ) {
        let set = self.set;
        let is_fixed = |one: &PromotionScore| {
            let is_unmanaged =
                one.parts.first().is_some_and(|part| part.source == PromotionSource::Unmanaged);
            is_unmanaged && set.resource(one.instance).is_primitive() && !set.resource(clone).in_bundle
        };
        let counts =
            |one: &PromotionScore| one.host.filter(|_| one.score >= AllocationScore::ZERO && !is_fixed(one));
        let counting: Vec<Option<HostIdx>> = scores.iter().map(counts).collect();
        let mut wanted = self.tables[clone.get()].clone();
        for (one, host) in scores.iter().zip(&counting) {
            let Some(host) = *host else { continue };
            wanted.set(host, wanted.or_never(host).plus(one.score));
        }
        // Several instances on one host share their scores.
        for (one, host) in scores.iter_mut().zip(&counting) {
            let Some(host) = *host else { continue };
            let difference = difference(one.score, wanted.or_never(host));
            if difference != AllocationScore::ZERO {
                one.add(PromotionSource::Clone, difference);
            }
        }
        let around = set.bundle_around(clone).filter(|_| set.release.follows_roles_of_bundles());
        let from_primaries = (!set.release.promotes_by_colocations_once()).then_some(Towards::Primaries);
        for towards in from_primaries.into_iter().chain([Towards::Dependents]) {
            self.wishes.merging.forget();
            for at in self.wishes.list(around.unwrap_or(clone), towards).to_vec() {
                let colocation = &set.colocations[at];
                let role = match towards {
                    Towards::Primaries => colocation.dependent_role,
                    Towards::Dependents => colocation.primary_role,
                };
                if role != Some(Role::Promoted) {
                    continue;
                }
                let before = wanted.clone();
                wanted = match around {
                    Some(_) => self.with_wishes_beneath(clone, wanted, at),
                    None => self.with_wishes(wanted, at, towards),
                };
                for (one, host) in scores.iter_mut().zip(&counting) {
                    let Some(host) = *host else { continue };
                    let (old, new) = (before.or_never(host), wanted.or_never(host));
                    if old != new {
                        one.add(PromotionSource::Colocation(at), difference(old, new));
                    }
                    one.score = new;
                }
            }
        }
        let never = AllocationScore::MINUS_INFINITY;
        for at in missing_tickets.iter().copied() {
            set.host_indices().for_each(|host| wanted.add_or_set(host, never));
            let counting = scores.iter_mut().zip(&counting).filter(|(_, host)| host.is_some());
            counting.for_each(|(one, _)| one.add(PromotionSource::Ticket(at), never));
        }
        self.tables[clone.get()] = wanted;
    }

    /// Scores for promotions inside of a bundle with the wishes behind a colocation with the bundle. They count on the
    /// hosts of the containers.
    fn with_wishes_beneath(&mut self, clone: ResourceIdx, wanted: ScoreTable, at: usize) -> ScoreTable {
        let own_nodes = self.set.resource(clone).members.iter().filter_map(|one| self.set.own_node(*one));
        // A container without a place stands for itself, where nobody wants to be.
        let inside = |own| ContainerHost { own, beneath: self.place_beneath(own).unwrap_or(own) };
        let containers: Vec<ContainerHost> = own_nodes.map(inside).collect();
        let mut outside = wanted.clone();
        for ContainerHost { own, beneath } in &containers {
            outside.set(*own, AllocationScore::MINUS_INFINITY);
            outside.set(*beneath, wanted.or_never(*own));
        }
        let outside = self.with_wishes(outside, at, Towards::Dependents);
        let mut wanted = wanted;
        for container in containers {
            wanted.set(container.own, outside.or_never(container.beneath));
        }
        wanted
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

/// Amount by which a score changed; an infinite one counts in full.
fn difference(old: AllocationScore, new: AllocationScore) -> AllocationScore {
    match new.is_infinite() && old != new {
        true => new,
        false => AllocationScore::of(i64::from(new.get()) - i64::from(old.get())),
    }
}
