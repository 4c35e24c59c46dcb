//! Finds running resources that are interrupted because a resource that they need is interrupted.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::transition::needs::Need;
use super::super::working_set::WorkingSet;
use super::rules::PlacingRules;
use super::value::PlacementValue;

/// Change of a resource, as far as it affects others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    /// It keeps running, or stays stopped.
    None,
    /// It is moved by a live migration.
    Migrates,
    /// It is stopped and started.
    Restarts,
    /// It is started.
    Starts,
    /// It is stopped.
    Stops,
}

/// Changes of all resources.
pub(super) struct Disturbances<'d> {
    set: &'d WorkingSet,
    /// By resource, its host.
    hosts: &'d [Option<HostIdx>],
    own: Vec<Disturbance>,
    all: Vec<Disturbance>,
}

impl<'d> Disturbances<'d> {
    /// Follows all mandatory orders, until nothing changes any more.
    pub(super) fn of(rules: &'d PlacingRules<'_>, hosts: &'d [Option<HostIdx>]) -> Disturbances<'d> {
        let set = rules.set;
        let own: Vec<Disturbance> =
            set.resource_indices().map(|one| own(set, one, hosts[one.get()])).collect();
        let mut found = Disturbances { set, hosts, all: own.clone(), own };
        while rules.interrupting.iter().any(|need| found.follow(need))
            || rules.giving_up.iter().any(|need| found.give_up(need))
        {}
        found
    }

    fn follow(&mut self, need: &Need) -> bool {
        let set = self.set;
        let is_group = |resource| set.resource(resource).is_group();
        // A live migration also interrupts resources that need a group, and later members of the same group.
        let by_member = set.resource(need.first).group.is_some()
            && set.resource(need.first).group == set.resource(need.then).group;
        let heavy = is_group(need.first) || by_member;
        let all = set.primitives(&need.first);
        let firsts = || all.iter().map(|first| self.all[first.get()]);
        let migrates = || heavy && firsts().any(|first| first == Disturbance::Migrates);
        let starts = || firsts().any(|one| matches!(one, Disturbance::Starts | Disturbance::Restarts));
        let stops = || firsts().any(|one| matches!(one, Disturbance::Stops | Disturbance::Restarts));
        let (comes_up, goes_down) = (starts() || migrates(), stops() || (is_group(need.first) && migrates()));
        let mut changed = false;
        for then in set.primitives(&need.then).iter() {
            let runs = set.is_managed(*then) && self.hosts[then.get()].is_some();
            let now = self.all[then.get()];
            let is_hit = match now {
                Disturbance::None => runs && comes_up && set.resource(*then).active.is_some(),
                Disturbance::Migrates => !is_group(need.then) && goes_down,
                _ => false,
            };
            if is_hit {
                self.all[then.get()] = Disturbance::Restarts;
                changed = true;
            }
        }
        changed
    }

    fn give_up(&mut self, need: &Need) -> bool {
        let set = self.set;
        let of_group = set.resource(need.first).is_group();
        let goes_down = |first: &ResourceIdx| match self.all[first.get()] {
            Disturbance::Stops | Disturbance::Restarts => true,
            Disturbance::Migrates => of_group,
            _ => false,
        };
        let gives_up = set.resource(need.then).is_primitive()
            && self.all[need.then.get()] == Disturbance::Migrates
            && set.primitives(&need.first).iter().any(goes_down);
        if gives_up {
            self.all[need.then.get()] = Disturbance::Restarts;
        }
        gives_up
    }

    /// Corrects the numbers of stops and live migrations of a placement, which were counted without orders.
    pub(super) fn correct(&self, value: &mut PlacementValue) {
        let pairs = || self.own.iter().zip(&self.all).filter(|(own, all)| own != all);
        let given_up = pairs().filter(|(own, _)| **own == Disturbance::Migrates).count();
        value.stops += pairs().count();
        value.migrations -= given_up.min(value.migrations);
    }
}

/// Change of a resource by its own host.
fn own(set: &WorkingSet, resource: ResourceIdx, host: Option<HostIdx>) -> Disturbance {
    let details = set.resource(resource);
    if !details.is_primitive() || !set.is_managed(resource) {
        return Disturbance::None;
    }
    match (details.active, host) {
        (None, None) => Disturbance::None,
        (None, Some(_)) => Disturbance::Starts,
        (Some(_), None) => Disturbance::Stops,
        (Some(from), Some(to)) if from == to => Disturbance::None,
        (Some(from), Some(_)) if details.allow_migrate && set.host(from).state.online => {
            Disturbance::Migrates
        }
        (Some(_), Some(_)) => Disturbance::Restarts,
    }
}
