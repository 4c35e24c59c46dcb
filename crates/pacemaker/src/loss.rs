//! Effects of losing hosts: resources that start elsewhere, give way, or stay down.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use rayon::prelude::*;

use super::foresight::ForesightError;
use super::index::{HostIdx, ResourceIdx};
use super::place::{PlacingError, place};
use super::placing::AllPlaced;
use super::score::AllocationScore;
use super::transition::{ResourceChange, ResourceChanges};
use super::working_set::{HostState, LocationScore, RunCondition, Strategy, Unfencing, WorkingSet};

/// Effects of losing some hosts at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLoss {
    /// The lost hosts.
    pub hosts: Vec<HostIdx>,
    /// The primitives that run before and not afterwards, highest priority first.
    pub down: Vec<ResourceIdx>,
    /// The primitives that ran on a lost host and are started on another one.
    pub restarted: Vec<ResourceIdx>,
    /// The primitives that ran on another host and have to leave it.
    pub moved: Vec<ResourceIdx>,
    /// The primitives that are promoted, and were not promoted on the same host before.
    pub promoted: Vec<ResourceIdx>,
    /// The promotable clones of which an instance was promoted before, and none is afterwards.
    pub without_promoted: Vec<ResourceIdx>,
    /// The host of each primitive that is restarted, moved or promoted.
    pub targets: BTreeMap<ResourceIdx, HostIdx>,
    /// True if the members left are more than half of all hosts. Otherwise, Pacemaker follows `no-quorum-policy`.
    pub quorum: bool,
}

impl HostLoss {
    /// Works out the loss of hosts in a cluster that is [settled](WorkingSet::settled).
    fn of(settled: &WorkingSet, strategy: Strategy, hosts: Vec<HostIdx>) -> Result<HostLoss, ForesightError> {
        let settled = &settled.before_loss_of(&hosts);
        let Aftermath { left, placed, counterparts } = settled.placed_without(strategy, &hosts)?;
        let changes = ResourceChanges::of(&left, strategy, &placed);
        let spare = placed.spare(&left);
        let after = left.with_connections_placed(&placed);
        let in_left = |resource: ResourceIdx| counterparts.get(resource.get()).copied().flatten();
        let runs_on = |resource: ResourceIdx| {
            let host = in_left(resource).and_then(|one| changes.get(one).runs_on());
            // A guest node is up only if its VM runs on a host that is left.
            let is_up = |host: HostIdx| {
                let machine = left.host(host).guest.filter(|parts| !parts.is_remote_node());
                machine.is_none_or(|parts| {
                    changes.get(parts.machine).runs_on().is_some_and(|beneath| !hosts.contains(&beneath))
                })
            };
            host.filter(|host| !hosts.contains(host) && !after.is_fenced_remote_node(*host) && is_up(*host))
        };
        let ends_promoted = |resource: ResourceIdx| {
            in_left(resource).is_some_and(|one| changes.roles[one.get()].ends_promoted)
        };
        let is_over =
            |resource: ResourceIdx| hosts.iter().any(|host| settled.is_connection_to(resource, *host));
        let (mut down, mut restarted, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        for resource in
            settled.resource_indices().filter(|resource| settled.resource(*resource).is_primitive())
        {
            let Some(was) = settled.resource(resource).active else { continue };
            match runs_on(resource) {
                None if is_over(resource) => {}
                // An instance whose host is lost is not missed if there is no other host for it.
                None if in_left(resource).is_some_and(|one| spare.contains(&one)) => {}
                None if in_left(resource).is_some_and(|one| left.fences_only_what_is_left(one)) => {}
                None => down.push(resource),
                Some(_) if settled.ends_with(was, &hosts) => restarted.push(resource),
                Some(now) if now != was => moved.push(resource),
                Some(_) => {}
            }
        }
        down.sort_by_key(|resource| Reverse(settled.resource(*resource).priority));
        let is_new = |one: &ResourceIdx| {
            let details = settled.resource(*one);
            let was = details.active.filter(|host| !settled.ends_with(*host, &hosts));
            let stays = details.promoted && was == runs_on(*one);
            ends_promoted(*one) && !stays
        };
        let promoted: Vec<ResourceIdx> = settled.resource_indices().filter(is_new).collect();
        let target = |one: &ResourceIdx| Some((*one, runs_on(*one)?));
        let targets = restarted.iter().chain(&moved).chain(&promoted).filter_map(target).collect();
        let has_promoted =
            |clone: &ResourceIdx| settled.primitives(clone).iter().any(|part| ends_promoted(*part));
        let mut without_promoted: Vec<ResourceIdx> =
            settled.clones().filter(|clone| settled.is_promoted(*clone) && !has_promoted(clone)).collect();
        without_promoted.sort_by_key(|clone| Reverse(settled.resource(*clone).priority));
        let quorum = settled.keeps_quorum_without(&hosts);
        Ok(HostLoss { hosts, down, restarted, moved, promoted, without_promoted, targets, quorum })
    }

    /// Returns true if a resource stays down, or a clone has no promoted instance any more.
    pub fn is_harmful(&self) -> bool {
        !self.down.is_empty() || !self.without_promoted.is_empty()
    }

    /// Returns `Less` if this loss is worse: it takes down resources of higher priority, or more of them, or else takes
    /// away more promoted roles, or else makes more resources move or restart.
    fn compare(&self, other: &HostLoss, settled: &WorkingSet) -> Ordering {
        let priority = |resource: &ResourceIdx| settled.resource(*resource).priority;
        let moves = |loss: &HostLoss| (loss.moved.len(), loss.restarted.len());
        let by_down = other.down.iter().map(priority).cmp(self.down.iter().map(priority));
        let roles = |loss: &HostLoss| loss.without_promoted.iter().map(priority).collect::<Vec<_>>();
        let by_down = by_down.then_with(|| roles(other).cmp(&roles(self)));
        by_down.then_with(|| moves(other).cmp(&moves(self))).then_with(|| self.hosts.cmp(&other.hosts))
    }
}

/// The cluster after the loss of hosts, and the new placement of its resources. Without guest nodes, remote nodes and
/// bundles, instances of promotable clones on lost hosts have the last numbers.
///
/// # Errors
/// Those of [`place`], and those of reading the cluster anew.
pub fn aftermath(
    settled: &WorkingSet,
    strategy: Strategy,
    lost: &[HostIdx],
) -> Result<Aftermath, ForesightError> {
    settled.before_loss_of(lost).placed_without(strategy, lost)
}

/// Tries the loss of every member and every remote node, alone or in pairs (`at_once` is 1 or 2), in a cluster that is
/// [settled](WorkingSet::settled), or [at rest](super::at_rest). Guest nodes and containers are lost with their hosts. The
/// worst loss comes first.
///
/// # Errors
/// Those of [`place`], and those of reading the cluster anew.
pub fn losses(
    settled: &WorkingSet,
    strategy: Strategy,
    at_once: usize,
) -> Result<Vec<HostLoss>, ForesightError> {
    let members: Vec<HostIdx> = settled.host_indices().filter(|host| settled.can_be_lost(*host)).collect();
    let with_later = |(at, one): (usize, &HostIdx)| -> Vec<Vec<HostIdx>> {
        match at_once {
            2 => members[at + 1..].iter().map(|other| vec![*one, *other]).collect(),
            _ => vec![vec![*one]],
        }
    };
    let lost: Vec<Vec<HostIdx>> = members.iter().enumerate().flat_map(with_later).collect();
    let mut losses = lost
        .into_par_iter()
        .map(|hosts| HostLoss::of(settled, strategy, hosts))
        .collect::<Result<Vec<_>, _>>()?;
    losses.sort_by(|one, other| one.compare(other, settled));
    Ok(losses)
}

/// The first promotable clone of which instances change their places or roles again in a cluster that is
/// [settled](WorkingSet::settled). Pacemaker can exchange its instances over and over, so no forecast is possible.
///
/// # Errors
/// Those of [`place`].
pub fn restless(settled: &WorkingSet, strategy: Strategy) -> Result<Option<ResourceIdx>, PlacingError> {
    if !settled.has_promotable() {
        return Ok(None);
    }
    let placed = place(settled, strategy)?;
    let changes = ResourceChanges::of(settled, strategy, &placed);
    let is_at_rest = |part: &ResourceIdx| {
        let details = settled.resource(*part);
        changes.get(*part).runs_on() == details.active
            && changes.get(*part).stops_on().is_none()
            && changes.roles[part.get()].ends_promoted == details.promoted
    };
    let mut clones = settled.clones().filter(|clone| settled.promotion(*clone).is_some());
    Ok(clones.find(|clone| !settled.primitives(clone).iter().all(is_at_rest)))
}

/// A cluster after the loss of hosts.
#[derive(Debug, Clone)]
pub struct Aftermath {
    /// The cluster that is left.
    pub left: WorkingSet,
    /// The new placement of its resources.
    pub placed: AllPlaced,
    /// By resource of the settled cluster, the same resource in the one that is left. Instances that are alike can have
    /// other numbers there.
    pub counterparts: Vec<Option<ResourceIdx>>,
}

impl WorkingSet {
    /// The cluster after the changes that it is about to make, as far as nothing hinders them. Instances of promotable
    /// clones are numbered as Pacemaker numbers them then.
    #[must_use]
    pub fn settled(&self, strategy: Strategy, placed: &AllPlaced) -> WorkingSet {
        let mut after = self.clone();
        if self.frozen {
            after.renumber_instances(&[]);
            after.lose(&[]);
            return after;
        }
        let changes = ResourceChanges::of(self, strategy, placed);
        for host in &changes.unfenced {
            after.hosts[host.get()].unfencing = Unfencing::Done;
        }
        after.forget_failed_promotions(&changes);
        let runs_on = changes.by_resource.into_iter().map(ResourceChange::runs_on).zip(changes.roles);
        for (resource, (host, role)) in after.resources.iter_mut().zip(runs_on) {
            // A blocked resource, which is never stopped, keeps running on all its hosts.
            if host.is_some()
                && host == resource.active
                && resource.runs_twice()
                && resource.condition == RunCondition::Blocked
            {
            } else {
                resource.run_on(host);
                resource.promoted = host.is_some() && role.ends_promoted;
            }
        }
        let leaving = |host: &HostIdx| self.host(*host).state.unclean || self.host(*host).state.shutting_down;
        after.renumber_instances(&[]);
        after.lose(&self.host_indices().filter(leaving).collect::<Vec<_>>());
        after
    }

    /// The cluster with its instances numbered as Pacemaker numbers them once some hosts are lost.
    fn before_loss_of(&self, lost: &[HostIdx]) -> Cow<'_, WorkingSet> {
        if !self.has_promotable() {
            return Cow::Borrowed(self);
        }
        let mut renumbered = self.clone();
        renumbered.renumber_instances(lost);
        Cow::Owned(renumbered)
    }

    /// The cluster without some hosts, and the new placement of its resources.
    fn placed_without(&self, strategy: Strategy, lost: &[HostIdx]) -> Result<Aftermath, ForesightError> {
        let left = match &self.resting {
            Some(document) => document.without(self, lost)?,
            None => self.without_hosts(lost),
        };
        let placed = place(&left, strategy)?;
        let counterparts = match &self.resting {
            Some(_) => self.counterparts(&left, &placed),
            None => self.resource_indices().map(Some).collect(),
        };
        Ok(Aftermath { left, placed, counterparts })
    }

    /// The cluster without some hosts, which were lost and fenced: nothing runs there any more.
    #[must_use]
    pub fn without_hosts(&self, lost: &[HostIdx]) -> WorkingSet {
        let mut after = self.clone();
        after.lose(lost);
        after
    }

    /// Returns true for a fencing device that locations keep from all remaining hosts. It fences only these, so it is
    /// not missed.
    fn fences_only_what_is_left(&self, resource: ResourceIdx) -> bool {
        let is_banned = |host: &HostIdx| {
            let is_it = |location: &LocationScore| location.resource == resource && location.host == *host;
            let of_it = self.locations.iter().filter(|location| is_it(location));
            of_it.map(|location| location.score).any(|score| score == AllocationScore::MINUS_INFINITY)
        };
        let left: Vec<HostIdx> =
            self.host_indices().filter(|host| self.host(*host).state.available()).collect();
        self.resource(resource).fences() && !left.is_empty() && left.iter().all(is_banned)
    }

    fn lose(&mut self, lost: &[HostIdx]) {
        for host in lost {
            let state = &mut self.hosts[host.get()].state;
            *state =
                HostState { online: false, unclean: false, shutting_down: false, joining: false, ..*state };
        }
        for resource in &mut self.resources {
            resource.also_on.retain(|host| !lost.contains(host));
            resource.left_on.retain(|host| !lost.contains(host));
            resource.sent_to = resource.sent_to.filter(|host| !lost.contains(host));
            if resource.active.is_some_and(|host| lost.contains(&host)) {
                if resource.also_on.is_empty() {
                    resource.run_on(None);
                    resource.managed |= std::mem::take(&mut resource.blocked_by_failure);
                } else {
                    resource.active = Some(resource.also_on.remove(0))
                }
            }
        }
        self.renew_promotion_wishes();
        self.find_wholes();
        self.set_scores();
    }
}
