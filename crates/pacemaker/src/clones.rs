//! Placing the instances of clones.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::additions::ScoreSource;
use super::index::{HostIdx, ResourceIdx};
use super::merging::{Share, Towards};
use super::place::{Placer, PlacingState};
use super::placing::{Assignment, DecidedBy, PlacingEvent};
use super::promotion::{Promotion, Role};
use super::score::{AllocationScore, ScoreTable};

/// Numbers of placed instances of a clone by host.
struct HostCounts {
    counts: Vec<usize>,
    /// Greatest number on one host.
    most: usize,
}

/// Position of an instance with respect to its present host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Standing {
    /// It can stay.
    #[default]
    Stays,
    /// Its host cannot run anything now.
    Unavailable,
    /// It does not run.
    Idle,
    /// It is unwanted where it is.
    Unwanted,
}

/// Rank of an instance among those of its clone: the lower one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct InstanceRank {
    standing: Standing,
    /// Number of further hosts on which it runs.
    more: usize,
    /// True if it failed on a host that need not be fenced.
    has_failed: bool,
    /// The score that other resources give to its host.
    wanted: Reverse<AllocationScore>,
}

impl HostCounts {
    fn all(&self) -> usize {
        self.counts.iter().sum()
    }

    fn is_full(&self, host: HostIdx) -> bool {
        self.counts[host.get()] >= self.most
    }
}

impl Placer<'_> {
    /// Number of instances on each available host if they are spread evenly, at least 1. So many stay where they are
    /// before others have their turn.
    fn share_of_each_host(&self, clone: ResourceIdx) -> usize {
        let available = self.wishes.open_hosts();
        let wanted = self.set.wanted_instances(clone).count();
        (wanted / available.max(1)).max(1)
    }

    /// Places the instances of a clone: first those that can stay where they are, then the others.
    pub(super) fn assign_clone(&mut self, clone: ResourceIdx) {
        self.progress[clone.get()] = PlacingState::Begun;
        let set = self.set;
        for at in self.wishes.list(clone, Towards::Primaries).to_vec() {
            self.assign(set.colocations[at].primary);
        }
        self.drop_early_wishes(clone);
        self.add_wishes_of_clone_dependents(clone);
        self.tell_scores(clone);
        let instances = self.assign_instances(clone);
        self.leave_out_surplus(clone);
        let places = instances.iter().find_map(|instance| self.place_of(*instance));
        self.progress[clone.get()] = PlacingState::Done(places);
        self.promote(clone, &instances);
    }

    /// Places the instances of a clone, or the containers of a bundle. Returns them in the order of their turns. Surplus
    /// ones get no place, but are among them if they had a turn, which they have as long as others lack a place.
    pub(super) fn assign_instances(&mut self, clone: ResourceIdx) -> Vec<ResourceIdx> {
        let set = self.set;
        let mut instances = self.instance_sequence(clone);
        let wanted = set.wanted_instances(clone).count();
        let share = self.share_of_each_host(clone);
        let mut taken = HostCounts { counts: vec![0; set.hosts.len()], most: set.resource(clone).per_host() };
        let mut tried: HashSet<ResourceIdx> = HashSet::new();
        for instance in &instances {
            let is_surplus = set.resource(*instance).surplus;
            let Some(active) = self.may_try_to_stay(*instance, &taken, share) else { continue };
            if is_surplus {
                if taken.all() < wanted && self.is_wanted(*instance, active) {
                    tried.insert(*instance);
                    self.tell_primaries_again(*instance);
                }
            } else if self.is_wanted(*instance, active) {
                if set.release.retries_at_once() {
                    self.try_until_it_stays(clone, *instance, active, &mut taken);
                } else {
                    self.try_to_stay(clone, *instance, active, &mut taken);
                }
            } else if self.wishes.available(active) && !set.release.retries_at_once() {
                // For Pacemaker, a try that ends before it begins is a try, too.
                self.wishes.double(*instance);
            }
        }
        for instance in &instances {
            if set.resource(*instance).surplus {
                tried.extend((taken.all() < wanted).then_some(*instance));
            } else if self.progress[instance.get()] == PlacingState::Waiting {
                self.assign_instance(clone, *instance, &mut taken);
            }
        }
        instances.retain(|one| !set.resource(*one).surplus || tried.contains(one));
        self.turns.insert(clone, instances.clone());
        instances
    }

    /// The host on which an instance runs, if it may be tried there before the others have their turn.
    fn may_try_to_stay(&self, instance: ResourceIdx, taken: &HostCounts, share: usize) -> Option<HostIdx> {
        let set = self.set;
        let active = set.resource(instance).active?;
        let is_tried_anyway = set.release.tries_failed_groups() && set.resource(instance).is_group();
        let has_failed = self.has_failed(instance) && !is_tried_anyway;
        // Nothing is tried on a guest node that is not up yet, or not up again.
        (!has_failed && taken.counts[active.get()] < share && self.is_up(active)).then_some(active)
    }

    /// Notes the scores of bundles that a surplus instance goes by when it is tried.
    fn tell_primaries_again(&mut self, instance: ResourceIdx) {
        if self.set.release.repeats_bundles() {
            for at in self.wishes.list(instance, Towards::Primaries).to_vec() {
                self.tell_bundle_again(self.set.colocations[at].primary);
            }
        }
    }

    /// The base score of a host, or minus infinity if it is away. Remote nodes count as if they were there.
    fn worth_now(&self, host: HostIdx) -> AllocationScore {
        let node = self.set.host(host);
        match node.guest {
            Some(parts) if parts.is_remote_node() => node.base,
            _ => node.worth_as_it_is(),
        }
    }

    /// Returns true if an instance can be tried on a host: nothing is on a guest node that is not up yet, or not up
    /// again. A remote node is up once its connection has a place.
    fn is_up(&self, host: HostIdx) -> bool {
        let node = self.set.host(host);
        match node.guest {
            Some(parts) if parts.is_remote_node() => self.wishes.available(host),
            _ => node.can_run(),
        }
    }

    /// Records that surplus parts of a clone have no host. Their scores are not considered.
    fn leave_out_surplus(&mut self, clone: ResourceIdx) {
        let set = self.set;
        for part in set.resource(clone).members.iter().flat_map(|one| set.primitives(one).into_owned()) {
            if self.by_resource[part.get()].is_some() {
                continue;
            }
            self.by_resource[part.get()] = Some(self.records.len());
            self.progress[part.get()] = PlacingState::Done(None);
            self.records.push(Assignment {
                resource: part,
                scores: ScoreTable::empty(set.hosts.len()),
                chain: vec![part],
                needed: None,
                host: None,
                decided_by: DecidedBy::None,
                order_dependent: false,
            });
        }
    }

    /// Adds the wishes of a clone's dependents to its scores, without making a wanted host unwanted.
    fn add_wishes_of_clone_dependents(&mut self, clone: ResourceIdx) {
        let set = self.set;
        self.wishes.merging.forget();
        for at in self.wishes.list(clone, Towards::Dependents).to_vec() {
            let colocation = &set.colocations[at];
            if set.has_influence(colocation) {
                let share = Share { sparing: true, ..Share::of(set, at, 1.0) };
                self.add_dependent_wishes(clone, colocation.dependent, share);
            }
        }
    }

    /// Notes the scores with which the placing of a clone begins.
    pub(super) fn tell_scores(&mut self, clone: ResourceIdx) {
        let mut shown = vec![clone];
        for instance in self.set.wanted_instances(clone) {
            shown.push(instance);
            shown.extend(&self.set.resource(instance).members);
        }
        let scores = shown.into_iter().map(|one| (one, self.tables[one.get()].clone()));
        self.events.push(PlacingEvent::Clone(scores.collect()));
    }

    /// The instances in the order of their turns. First come those that can stay, then those on hosts that cannot run
    /// anything now. Those that do not run follow, and last those that are unwanted where they are. Within the first
    /// two kinds, instances on one host only come first, then those without failures, then those that other resources
    /// want most on their host.
    pub(super) fn instance_sequence(&mut self, clone: ResourceIdx) -> Vec<ResourceIdx> {
        let set = self.set;
        let members = &set.resource(clone).members;
        // Since Pacemaker 3.0, each container goes by the colocations that count for itself.
        let by_container = set.bundle(clone).is_some() && set.release.ranks_containers_by_their_own();
        let wanted: Vec<ScoreTable> = match by_container {
            true => members.iter().map(|container| self.wanted_by_others(clone, *container)).collect(),
            false => vec![self.wanted_by_others(clone, clone)],
        };
        // The greatest wish to be promoted counts, wherever it is.
        let wishes: HashMap<ResourceIdx, AllocationScore> = match &set.resource(clone).promotion {
            Some(promotion) if set.has_guests() => {
                let wish = |(number, member): (usize, &ResourceIdx)| {
                    (*member, self.greatest_wish(promotion, number, *member))
                };
                members.iter().enumerate().map(wish).collect()
            }
            Some(promotion) => members.iter().copied().zip(promotion.greatest.iter().copied()).collect(),
            None => HashMap::new(),
        };
        let rank = |instance: &ResourceIdx| {
            let wish = wishes.get(instance).copied().unwrap_or_default();
            let number = members.iter().position(|member| by_container && member == instance);
            (Reverse(wish), self.instance_rank(*instance, &wanted[number.unwrap_or(0)]))
        };
        let mut instances = members.clone();
        instances.sort_by_key(rank);
        instances
    }

    /// The greatest wish to promote an instance, without those on remote nodes that turned out to run nothing.
    fn greatest_wish(&self, promotion: &Promotion, number: usize, instance: ResourceIdx) -> AllocationScore {
        let set = self.set;
        let parts = set.primitives(&instance);
        let is_away = |host: &HostIdx| set.host(*host).guest.is_some() && !self.wishes.available(*host);
        let hosts = promotion.wished_hosts(number).into_iter().filter(|host| !is_away(host));
        let wishes = hosts.map(|host| set.promotion_wish(promotion, number, &parts, host));
        wishes.fold(set.resource(instance).priority, AllocationScore::max)
    }

    /// Rank of an instance by its present scores, and by the scores that others give to the hosts of its clone.
    pub(super) fn instance_rank(&self, instance: ResourceIdx, wanted: &ScoreTable) -> InstanceRank {
        let details = self.set.resource(instance);
        let Some(host) = details.active else {
            return InstanceRank { standing: Standing::Idle, ..InstanceRank::default() };
        };
        let is_good = self.tables[instance.get()].or_never(host) >= AllocationScore::ZERO;
        // A node in a container counts even if the container is to go.
        let is_available = self.set.host(host).replica || self.wishes.available(host);
        let standing = match (is_good, is_available) {
            (true, true) => Standing::Stays,
            (true, false) => Standing::Unavailable,
            (false, _) => {
                return InstanceRank {
                    standing: Standing::Unwanted,
                    more: details.also_on.len(),
                    ..InstanceRank::default()
                };
            }
        };
        InstanceRank {
            standing,
            more: details.also_on.len(),
            // On a host that is to be fenced, failures no longer matter, except those inside of containers.
            has_failed: details.lost_inside
                || self.has_failed(instance) && !self.set.host(host).state.unclean,
            wanted: Reverse(wanted.or_never(host)),
        }
    }

    /// Base scores of a clone's hosts with the wishes of the primaries and dependents of a resource: the clone or one of
    /// its instances.
    pub(super) fn wanted_by_others(&mut self, clone: ResourceIdx, resource: ResourceIdx) -> ScoreTable {
        let set = self.set;
        let mut wanted = self.tables[clone.get()].clone();
        wanted.update(|host, _| self.worth_now(host));
        for towards in [Towards::Primaries, Towards::Dependents] {
            self.wishes.merging.forget();
            for at in self.wishes.list(resource, towards).to_vec() {
                let colocation = &set.colocations[at];
                let other = match towards {
                    Towards::Primaries => colocation.primary,
                    Towards::Dependents => colocation.dependent,
                };
                let counts = match towards {
                    Towards::Primaries => {
                        let has_place = matches!(self.progress[other.get()], PlacingState::Done(Some(_)));
                        has_place || colocation.dependent_role != Some(Role::Promoted)
                    }
                    Towards::Dependents => set.has_influence(colocation),
                };
                let share = Share::of(set, at, 1.0);
                wanted = match towards {
                    _ if !counts => wanted,
                    Towards::Primaries => self.wishes.added_by_primary(&self.tables, other, wanted, share),
                    // Those of dependents count even if they leave no host.
                    Towards::Dependents => {
                        let share = Share { sparing: true, ..share };
                        self.wishes.added_for_certain(&self.tables, other, wanted, share, towards)
                    }
                };
            }
        }
        wanted
    }

    /// Returns true if the host can run resources, and the resource has no score below 0 there.
    fn is_wanted(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        self.wishes.available(host) && self.tables[resource.get()].or_never(host) >= AllocationScore::ZERO
    }

    /// Returns true if a part of the instance failed.
    pub(super) fn has_failed(&self, instance: ResourceIdx) -> bool {
        let has_failed = |part: &ResourceIdx| {
            let details = self.set.resource(*part);
            details.has_failed() || details.demoted
        };
        self.set.primitives(&instance).iter().any(has_failed)
    }

    pub(super) fn place_of(&self, instance: ResourceIdx) -> Option<HostIdx> {
        match self.progress[instance.get()] {
            PlacingState::Done(host) => host,
            _ => None,
        }
    }

    /// The host shared by all placed parts of an instance, if there is one.
    pub(super) fn whole_place(&self, instance: ResourceIdx) -> Option<HostIdx> {
        let parts = self.set.primitives(&instance);
        let mut places = parts.iter().filter_map(|part| self.place_of(*part));
        let first = places.next()?;
        places.all(|place| place == first).then_some(first)
    }

    /// Places an instance on a host without an instance of the same clone.
    fn assign_instance(&mut self, clone: ResourceIdx, instance: ResourceIdx, taken: &mut HostCounts) {
        let set = self.set;
        self.taken_from.clear();
        let is_out = |host: &HostIdx| {
            let is_known = self.tables[instance.get()].get(*host).is_some();
            is_known && (taken.is_full(*host) || !self.is_wanted(clone, *host))
        };
        let out: Vec<HostIdx> = set.host_indices().filter(is_out).collect();
        for host in out {
            let source = if taken.is_full(host) { ScoreSource::Instance } else { ScoreSource::Clone };
            for part in std::iter::once(&instance).chain(&set.resource(instance).members) {
                self.forbid(*part, source, host);
            }
        }
        self.assign(instance);
        if let Some(host) = self.place_of(instance) {
            taken.counts[host.get()] += 1;
        }
    }

    /// Places an instance, and undoes that if it would leave its host.
    fn try_to_stay(
        &mut self,
        clone: ResourceIdx,
        instance: ResourceIdx,
        active: HostIdx,
        taken: &mut HostCounts,
    ) {
        let table = self.tables[instance.get()].clone();
        let noted = self.log.additions(instance).to_vec();
        self.stays_on = Some(active);
        self.assign_instance(clone, instance, taken);
        self.stays_on = None;
        let Some(place) = self.place_of(instance).filter(|host| *host != active) else { return };
        taken.counts[place.get()] -= 1;
        // Pacemaker undoes this for primitives only: a group keeps its new host, which other instances can get as well.
        if self.set.resource(instance).is_group() {
            return;
        }
        self.take_back(instance);
        self.tables[instance.get()] = table;
        self.log.replace(instance, &noted);
        // Pacemaker quirk: the wishes of others count once for every try.
        self.wishes.double(instance);
    }

    /// Places an instance on its present host. While it would leave that host, this is undone, and it is tried again
    /// without the hosts that it chose. These are left to the instances without a place: there are as many tries as
    /// instances. Afterwards, it has its turn with the others.
    fn try_until_it_stays(
        &mut self,
        clone: ResourceIdx,
        instance: ResourceIdx,
        active: HostIdx,
        taken: &mut HostCounts,
    ) {
        let set = self.set;
        let parts: Vec<ResourceIdx> = set.parts_with(instance);
        let tables: Vec<ScoreTable> = parts.iter().map(|part| self.tables[part.get()].clone()).collect();
        let noted: Vec<_> = parts.iter().map(|part| self.log.additions(*part).to_vec()).collect();
        let mut avoided: Vec<HostIdx> = Vec::new();
        let placed = taken.all();
        for _ in placed..self.set.wanted_instances(clone).count() {
            // A host with room for more instances can be chosen again.
            let counts = |host: &&HostIdx| avoided.iter().filter(|other| other == host).count();
            let is_full = |host: &&HostIdx| taken.counts[host.get()] + counts(host) >= taken.most;
            for host in avoided.iter().filter(is_full) {
                parts.iter().for_each(|part| self.forbid(*part, ScoreSource::Instance, *host));
            }
            self.stays_on = Some(active);
            self.assign_instance(clone, instance, taken);
            self.stays_on = None;
            let place = self.place_of(instance);
            if place == Some(active) {
                return;
            }
            if let Some(place) = place {
                taken.counts[place.get()] -= 1;
                avoided.push(place);
            }
            if place.is_none() && set.resource(instance).is_group() {
                // The parts of the group have had their turn.
                self.progress[instance.get()] = PlacingState::Waiting;
            } else {
                self.take_back(instance);
            }
            for ((part, table), noted) in parts.iter().zip(&tables).zip(&noted) {
                self.tables[part.get()] = table.clone();
                self.log.replace(*part, noted);
            }
            if place.is_none() {
                return;
            }
        }
    }

    /// Undoes the placement of an instance. Its primaries keep their places.
    fn take_back(&mut self, instance: ResourceIdx) {
        for part in self.set.parts_with(instance) {
            self.progress[part.get()] = PlacingState::Waiting;
            if let Some(at) = self.by_resource[part.get()].take() {
                self.forget_record(at);
            }
        }
        for (host, free) in self.taken_from.drain(..).rev() {
            self.preference.free[host.get()] = free;
            self.preference.placed[host.get()] -= 1;
        }
    }

    /// Removes a record. What is told of it counts as a try.
    fn forget_record(&mut self, at: usize) {
        let tried = self.records.remove(at);
        if at < self.records.len() {
            let behind = self.by_resource.iter_mut().flatten().filter(|other| **other > at);
            behind.for_each(|other| *other -= 1);
        }
        for event in self.events.iter_mut().rev() {
            match event {
                PlacingEvent::Primitive(other) if *other > at => *other -= 1,
                PlacingEvent::Primitive(other) if *other == at => {
                    *event = PlacingEvent::Tried(Box::new(tried));
                    break;
                }
                _ => {}
            }
        }
    }
}
