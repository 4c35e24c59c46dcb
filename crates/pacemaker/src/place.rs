//! Places resources one after the other, each on the host that is best at that moment.

use std::collections::HashMap;

use super::additions::{AdditionLog, ScoreSource};
use super::capacity::Capacities;
use super::index::{HostIdx, ResourceIdx};
use super::merging::{GivenUp, Towards};
use super::placing::{AllPlaced, Assignment, DecidedBy, PlacingEvent};
use super::preference::{MostFree, Preference};
use super::score::{AllocationScore, HostScore, ScoreTable};
use super::sequence;
use super::wishes::Wishes;
use super::working_set::{Colocation, GuestParts, ResourceForm, Strategy, WorkingSet};

/// Reason why resources cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacingError {
    /// Colocations form a chain that is longer than can be followed.
    #[error("the colocation chain of '{0}' has more than 1000 resources")]
    TooDeep(String),
    /// Colocations form more paths than can be followed.
    #[error(
        "the colocations of '{0}' and others form more paths than can be followed; Pacemaker itself cannot follow them either"
    )]
    TooMany(String),
}

/// Places all resources of a cluster by a strategy, exactly as Pacemaker 2.1.5 does.
///
/// # Errors
/// Fails if a chain of colocations is longer than can be followed, or if colocations form too many paths.
pub fn place(set: &WorkingSet, strategy: Strategy) -> Result<AllPlaced, PlacingError> {
    place_noting(set, strategy, &mut AdditionLog::off())
}

/// Places all resources, and notes what is added to their scores.
pub(super) fn place_noting(
    set: &WorkingSet,
    strategy: Strategy,
    log: &mut AdditionLog,
) -> Result<AllPlaced, PlacingError> {
    let mut wishes = Wishes::of(set);
    let preference = Preference::new(set, strategy);
    let tables: Vec<ScoreTable> = set.resources.iter().map(|resource| resource.scores.clone()).collect();
    let sequence = sequence::sequence(set, strategy, &mut wishes, &preference, &tables);
    let mut placer = Placer {
        set,
        strategy,
        wishes,
        preference,
        tables,
        log,
        progress: vec![PlacingState::Waiting; set.resources.len()],
        by_resource: vec![None; set.resources.len()],
        promoted: vec![false; set.resources.len()],
        by_promotion: HashMap::new(),
        records: Vec::new(),
        events: Vec::new(),
        depth: 0,
        failed: None,
        taken_from: Vec::new(),
        stays_on: None,
        guests: set.guests().collect(),
        turns: HashMap::new(),
    };
    for resource in &sequence {
        placer.assign(*resource);
        if let Some(error) = placer.failed {
            return Err(error);
        }
    }
    Ok(AllPlaced {
        records: placer.records,
        events: placer.events,
        remaining: placer.preference.free,
        by_resource: placer.by_resource,
        promoted: placer.promoted,
        sequence,
        optimum: None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlacingState {
    Waiting,
    Begun,
    Done(Option<HostIdx>),
}

pub(super) struct Placer<'a> {
    pub(super) set: &'a WorkingSet,
    strategy: Strategy,
    pub(super) wishes: Wishes<'a>,
    pub(super) preference: Preference,
    pub(super) tables: Vec<ScoreTable>,
    pub(super) log: &'a mut AdditionLog,
    pub(super) progress: Vec<PlacingState>,
    pub(super) by_resource: Vec<Option<usize>>,
    /// By resource; true for a primitive that is promoted.
    pub(super) promoted: Vec<bool>,
    /// By promotable clone, its instances in the order of their promotion scores.
    pub(super) by_promotion: HashMap<ResourceIdx, Vec<ResourceIdx>>,
    pub(super) records: Vec<Assignment>,
    pub(super) events: Vec<PlacingEvent>,
    depth: usize,
    failed: Option<PlacingError>,
    /// Undo log since placing of the present instance began: hosts, with the capacity that they had left before each
    /// placement.
    pub(super) taken_from: Vec<(HostIdx, Capacities)>,
    /// The host on which an instance stays if it is as good as the best one.
    pub(super) stays_on: Option<HostIdx>,
    guests: Vec<(HostIdx, GuestParts)>,
    /// The instances of clones in the order of their turns.
    pub(super) turns: HashMap<ResourceIdx, Vec<ResourceIdx>>,
}

/// Greatest number of resources that wait for each other to be placed.
const DEEPEST: usize = 1000;

impl Placer<'_> {
    /// Places a resource, unless it has its place or is about to get one.
    pub(super) fn assign(&mut self, resource: ResourceIdx) {
        if self.progress[resource.get()] != PlacingState::Waiting || self.failed.is_some() {
            self.tell_bundle_again(resource);
            return;
        }
        if self.depth == DEEPEST {
            self.failed = Some(PlacingError::TooDeep(self.set.resource(resource).id.clone()));
            return;
        }
        self.depth += 1;
        let details = self.set.resource(resource);
        match details.group {
            _ if details.is_clone() => match self.set.bundle(resource) {
                Some(bundle) => self.assign_bundle(bundle),
                None => self.assign_clone(resource),
            },
            _ if details.is_group() => self.assign_group(resource),
            Some(group) if self.progress[group.get()] == PlacingState::Waiting => self.assign_group(group),
            _ => self.assign_primitive(resource),
        }
        self.depth -= 1;
        self.failed = match self.wishes.merging.given_up {
            _ if self.failed.is_some() => self.failed.take(),
            Some(GivenUp::TooDeep) => Some(PlacingError::TooDeep(details.id.clone())),
            Some(GivenUp::TooMany) => Some(PlacingError::TooMany(details.id.clone())),
            None => None,
        };
    }

    /// Places a resource while an instance is tried on its host. The try concerns the instance alone.
    pub(super) fn assign_aside(&mut self, resource: ResourceIdx) {
        let is_placed = matches!(self.progress[resource.get()], PlacingState::Done(_));
        if is_placed && !self.set.release.repeats_bundles() {
            return;
        }
        let (taken_from, stays_on) = (std::mem::take(&mut self.taken_from), self.stays_on.take());
        self.assign(resource);
        (self.taken_from, self.stays_on) = (taken_from, stays_on);
    }

    fn assign_group(&mut self, group: ResourceIdx) {
        self.progress[group.get()] = PlacingState::Begun;
        if !self.set.release.members_share_colocations() {
            self.wishes.hand_down(group);
        }
        let members = &self.set.resource(group).members;
        let shown = std::iter::once(group).chain(members.iter().copied());
        let scores = shown.map(|resource| (resource, self.tables[resource.get()].clone())).collect();
        self.events.push(PlacingEvent::Group(scores));
        let mut first = None;
        for member in members {
            self.assign(*member);
            if let PlacingState::Done(host) = self.progress[member.get()] {
                first = first.or(host);
            }
        }
        self.progress[group.get()] = PlacingState::Done(first);
    }

    fn assign_primitive(&mut self, resource: ResourceIdx) {
        self.progress[resource.get()] = PlacingState::Begun;
        self.follow_colocations(resource);
        let details = self.set.resource(resource);
        if details.stopped {
            let (table, never) = (&mut self.tables[resource.get()], AllocationScore::MINUS_INFINITY);
            self.set.host_indices().for_each(|host| table.set(host, never));
            let everywhere = self.set.host_indices().map(|host| HostScore { host, score: never });
            self.log.note(resource, ScoreSource::Stopped, everywhere);
        }
        let mut record = Assignment {
            resource,
            scores: self.tables[resource.get()].clone(),
            chain: vec![resource],
            needed: None,
            host: None,
            decided_by: DecidedBy::None,
            order_dependent: false,
        };
        if !self.set.is_managed(resource) {
            record.host = details.active;
            record.decided_by = DecidedBy::Unmanaged;
        } else if self.set.stop_all {
            record.decided_by = DecidedBy::StopAll;
        } else {
            self.choose(&mut record);
        }
        if let Some(host) = record.host {
            if self.set.clone_of(resource).is_some() {
                self.taken_from.push((host, self.preference.free[host.get()].clone()));
            }
            self.preference.placed[host.get()] += 1;
            self.set.charge(&mut self.preference.free[host.get()], &details.utilization);
        }
        self.progress[resource.get()] = PlacingState::Done(record.host);
        self.by_resource[resource.get()] = Some(self.records.len());
        self.events.push(PlacingEvent::Primitive(self.records.len()));
        self.records.push(record);
        self.settle_guests(resource);
    }

    /// Settles a guest node once its VM and its connection are placed. Before that, its present state counts; afterwards,
    /// it is available if both have a place. Clones that wait for their turn are compared with the hosts that are left.
    fn settle_guests(&mut self, resource: ResourceIdx) {
        let is_part =
            |(_, parts): &&(HostIdx, GuestParts)| [parts.connection, parts.machine].contains(&resource);
        let Some((host, parts)) = self.guests.iter().find(is_part) else {
            return;
        };
        let node = self.set.host(*host);
        // A node in a container counts as soon as its connection has a place.
        let needed = if node.replica { parts.connection } else { parts.machine };
        let [state, of_connection] = [needed, parts.connection].map(|part| &self.progress[part.get()]);
        let (PlacingState::Done(place), PlacingState::Done(link)) = (state, of_connection) else { return };
        let has_place = place.is_some() && link.is_some();
        let counts = has_place && node.lets_run() && !node.is_given_up();
        self.preference.settle_guest(*host, counts);
        self.wishes.settle_guest(*host, counts);
        if !counts {
            self.drop_promotion_wishes(*host);
        }
        for clone in self.set.clones() {
            if self.progress[clone.get()] == PlacingState::Waiting {
                self.wishes.settle_clone(clone);
            }
        }
    }

    /// Takes the wishes of agents to be promoted on a host that turns out to run nothing out of the scores of instances.
    /// Clones that had their turn already keep theirs.
    fn drop_promotion_wishes(&mut self, host: HostIdx) {
        let waits = |clone: &ResourceIdx| self.progress[clone.get()] == PlacingState::Waiting;
        let waiting: Vec<ResourceIdx> = self.set.clones().filter(waits).collect();
        waiting.into_iter().for_each(|clone| self.drop_wishes_of(clone, host));
    }

    /// Takes the wishes on guest nodes that are down and still wait for their VMs out of the scores of a clone that has
    /// its turn before them.
    pub(super) fn drop_early_wishes(&mut self, clone: ResourceIdx) {
        let is_open = |(host, parts): &(HostIdx, GuestParts)| {
            !parts.is_remote_node()
                && !self.wishes.available(*host)
                && !matches!(self.progress[parts.connection.get()], PlacingState::Done(_))
        };
        let open: Vec<HostIdx> =
            self.guests.iter().filter(|guest| is_open(guest)).map(|(host, _)| *host).collect();
        open.into_iter().for_each(|host| self.drop_wishes_of(clone, host));
    }

    fn drop_wishes_of(&mut self, clone: ResourceIdx, host: HostIdx) {
        let set = self.set;
        let details = set.resource(clone);
        let Some(promotion) = &details.promotion else { return };
        for (number, instance) in details.members.iter().enumerate() {
            let wish = set.promotion_wish(promotion, number, &set.primitives(instance), host);
            let table = &mut self.tables[instance.get()];
            if wish > AllocationScore::ZERO && table.get(host).is_some() {
                let taken = AllocationScore::of(-i64::from(wish.get()));
                table.add(host, taken);
                self.log.note_one(*instance, ScoreSource::Promotion, host, taken);
            }
        }
    }

    /// Chooses the best host for a resource, if there is one.
    fn choose(&mut self, record: &mut Assignment) {
        let resource = record.resource;
        let details = self.set.resource(resource);
        let preferred = match self.strategy {
            Strategy::Default => None,
            _ => self.check_capacity(record),
        };
        self.keep_apart(resource);
        let table = &self.tables[resource.get()];
        let Some(best) = self.preference.best(table, details.active) else { return };
        record.order_dependent = best.order_dependent;
        let score = |host: HostIdx| table.or_never(host);
        let usable = |host: HostIdx| self.takes(host) && score(host) >= AllocationScore::ZERO;
        if let Some(own) = self.set.own_node(resource) {
            // A node without a place for its connection is as bad as a forbidden one: the first by name of these counts.
            let is_left = best.host == own && score(own) >= AllocationScore::ZERO;
            record.host = is_left.then_some(own);
            record.decided_by = if is_left { DecidedBy::First } else { DecidedBy::None };
            return;
        }
        let good = |host: &HostIdx| usable(*host) && score(*host) >= score(best.host);
        if let Some(MostFree { host: preferred, possible }) = preferred {
            record.order_dependent |= possible.len() > 1 && possible.iter().any(good);
            if good(&preferred) {
                record.host = Some(preferred);
                record.decided_by = DecidedBy::MostFree;
                return;
            }
        } else if let Some(host) = self.stays_on.or_else(|| self.arrives_on(resource)).filter(good) {
            record.host = Some(host);
            record.decided_by = DecidedBy::Active;
            return;
        }
        let mut chosen = (best.host, DecidedBy::First);
        // An instance that is told apart stays only if the host is first in all other ways. Containers have no such rule.
        let is_loose = details
            .instance_of
            .is_some_and(|clone| self.set.resource(clone).is_unique() && self.set.bundle(clone).is_none());
        if let Some(active) = details.active
            && active != best.host
            && !is_loose
            && score(best.host) > AllocationScore::ZERO
            && self.wishes.available(active)
            && score(active) == score(best.host)
        {
            chosen = (active, DecidedBy::Active);
        }
        if usable(chosen.0) {
            (record.host, record.decided_by) = (Some(chosen.0), chosen.1);
        }
    }

    /// The host to which the connection to a guest or remote node is migrating. It goes on to there if it can.
    fn arrives_on(&self, resource: ResourceIdx) -> Option<HostIdx> {
        let is_connection = |_: &HostIdx| self.guests.iter().any(|(_, parts)| parts.connection == resource);
        self.set.resource(resource).sent_to.filter(is_connection)
    }

    /// Returns true if a chosen host takes resources. Guest nodes always do: Pacemaker can choose one that never comes
    /// up.
    fn takes(&self, host: HostIdx) -> bool {
        let guest = self.set.host(host).guest;
        guest.is_some_and(|parts| !parts.is_remote_node()) || self.wishes.available(host)
    }

    /// Lowers the scores of hosts with resources that this one should not meet. The hosts with the fewest of these keep
    /// their scores.
    fn keep_apart(&mut self, resource: ResourceIdx) {
        let set = self.set;
        if set.exclusions.is_empty() {
            return;
        }
        let mut worth = vec![0i64; set.hosts.len()];
        for group in set.exclusions.iter().filter(|group| group.members.binary_search(&resource).is_ok()) {
            for member in &group.members {
                if let PlacingState::Done(Some(host)) = self.progress[member.get()] {
                    worth[host.get()] += i64::from(group.score.get());
                }
            }
        }
        let table = &mut self.tables[resource.get()];
        let left = |(host, score): (HostIdx, AllocationScore)| {
            (score >= AllocationScore::ZERO && set.host(host).state.available()).then_some(host)
        };
        let left: Vec<HostIdx> = table.iter().filter_map(left).collect();
        let Some(most) = left.iter().map(|host| worth[host.get()]).max() else { return };
        for host in left {
            table.add(host, AllocationScore::of(worth[host.get()] - most));
        }
    }

    /// Forbids the hosts without room for a resource and all that must be with it. If no host has that room, it forbids
    /// those without room for the resource alone, and prefers the host with the most room.
    fn check_capacity(&mut self, record: &mut Assignment) -> Option<MostFree> {
        let resource = record.resource;
        record.chain = self.chain(resource);
        let mut all = Capacities::default();
        record.chain.iter().for_each(|one| all.add(&self.set.resource(*one).utilization));
        let own = &self.set.resource(resource).utilization;
        let table = &self.tables[resource.get()];
        let wanted = |(host, score): (HostIdx, AllocationScore)| {
            (score >= AllocationScore::ZERO && self.wishes.available(host)).then_some(host)
        };
        let candidates: Vec<HostIdx> = table.iter().filter_map(wanted).collect();
        let free = &self.preference.free;
        let together = candidates.iter().any(|host| free[host.get()].hold(&all));
        let preferred = if together { None } else { self.preference.most_free(&candidates) };
        let needed = if together { all } else { own.clone() };
        let full: Vec<HostIdx> =
            candidates.into_iter().filter(|host| !free[host.get()].hold(&needed)).collect();
        for host in full {
            self.tables[resource.get()].add(host, AllocationScore::MINUS_INFINITY);
        }
        record.needed = Some(needed);
        preferred
    }

    /// The resource and all others without a place that must be with it, directly or through others, placed or not.
    fn chain(&self, resource: ResourceIdx) -> Vec<ResourceIdx> {
        let mut seen = vec![false; self.set.resources.len()];
        let mut chain = Vec::new();
        let mut left = vec![resource];
        let own_clone = self.set.clone_of(resource);
        own_clone.into_iter().for_each(|clone| seen[clone.get()] = true);
        let is_waiting = |one: &ResourceIdx| !matches!(self.progress[one.get()], PlacingState::Done(_));
        while let Some(next) = left.pop() {
            if std::mem::replace(&mut seen[next.get()], true) {
                continue;
            }
            let details = self.set.resource(next);
            match details.form {
                ResourceForm::Group { together, .. } => {
                    left.extend(details.members.iter().take(if together { usize::MAX } else { 1 }));
                }
                ResourceForm::Primitive => {
                    chain.extend(is_waiting(&next).then_some(next));
                    left.extend(details.group.filter(|group| self.set.keeps_together(*group)));
                }
                // one instance stands for all
                ResourceForm::Clone { .. } => {
                    let first = details.members.first().map(|instance| self.set.primitives(instance));
                    chain.extend(first.unwrap_or_default().iter().filter(|one| is_waiting(one)));
                }
            }
            // If the clone runs on every host anyway, an instance need not consider others.
            if own_clone
                .is_some_and(|clone| self.set.clone_of(next) == Some(clone) && self.wishes.is_full(clone))
            {
                continue;
            }
            for towards in [Towards::Primaries, Towards::Dependents] {
                let tied = self.wishes.list(next, towards).iter().map(|at| &self.set.colocations[*at]);
                // A resource that wants to be with a clone can be with any of its instances. A bundle ties it all the same.
                let is_followed = |one: &&Colocation| {
                    !details.is_clone()
                        || self.set.bundle(next).is_some()
                        || towards == Towards::Primaries
                        || self.set.resource(one.dependent).is_clone()
                };
                // A colocation of a role ties nobody: the roles are not known yet.
                let has_role = |one: &Colocation| one.dependent_role.or(one.primary_role).is_some();
                let tied = tied.filter(|one| one.score == AllocationScore::INFINITY && !has_role(one));
                let tied = tied.filter(is_followed);
                left.extend(tied.map(|colocation| match towards {
                    Towards::Primaries => colocation.primary,
                    Towards::Dependents => colocation.dependent,
                }));
            }
        }
        chain
    }
}
