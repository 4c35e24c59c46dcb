//! What the change of one resource does to others, until nothing changes any more. Every turn takes something
//! away from a resource (its peace, its live migration, its start), so that there is an end.

use std::collections::HashSet;

use super::super::index::ResourceIdx;
use super::super::placing::AllPlaced;
use super::super::score::AllocationScore;
use super::super::working_set::{OrderStrength, WorkingSet};
use super::change::ResourceChange;
use super::wait::WaitReason;

/// That resources need others, which are started before them.
#[derive(Debug, Clone, Copy)]
struct Need {
    first: ResourceIdx,
    then: ResourceIdx,
    symmetrical: bool,
    why: WaitReason,
}

/// What becomes of every resource in the end, and what made that another thing than its own place says.
pub(super) fn changes(
    set: &WorkingSet,
    placed: &AllPlaced,
) -> (Vec<ResourceChange>, Vec<Option<WaitReason>>) {
    let own = |resource| ResourceChange::of(set, placed, resource);
    let mut induced = InducedChanges {
        set,
        placed,
        changes: set.resource_indices().map(own).collect(),
        causes: vec![None; set.resources.len()],
        again: true,
    };
    let needs = needs(set);
    while std::mem::take(&mut induced.again) {
        needs.iter().for_each(|need| induced.follow_need(need));
        induced.follow_colocations();
    }
    induced.hold_groups();
    induced.leave_unmanaged();
    (induced.changes, induced.causes)
}

/// All mandatory orders, those in groups too. Of several orders of the same two resources, the first counts.
fn needs(set: &WorkingSet) -> Vec<Need> {
    let mut seen = HashSet::new();
    let mut needs = Vec::new();
    for (at, order) in set.orders.iter().enumerate() {
        let (first, then, symmetrical) = (order.first, order.then, order.symmetrical);
        if seen.insert((first, then)) && order.strength == OrderStrength::Mandatory {
            needs.push(Need { first, then, symmetrical, why: WaitReason::Order(at) });
        }
    }
    for group in set.groups() {
        for pair in set.resource(group).members.windows(2) {
            let why = WaitReason::Group(group);
            needs.push(Need { first: pair[0], then: pair[1], symmetrical: true, why });
        }
    }
    needs
}

/// The changes, on their way to what nothing changes any more.
struct InducedChanges<'a> {
    set: &'a WorkingSet,
    placed: &'a AllPlaced,
    changes: Vec<ResourceChange>,
    causes: Vec<Option<WaitReason>>,
    again: bool,
}

impl InducedChanges<'_> {
    fn of(&self, resource: ResourceIdx) -> ResourceChange {
        self.changes[resource.get()]
    }

    /// Another change for a resource, if it is another one.
    fn set(&mut self, resource: ResourceIdx, change: ResourceChange, why: WaitReason) {
        if self.changes[resource.get()] != change {
            self.changes[resource.get()] = change;
            self.causes[resource.get()] = Some(why);
            self.again = true;
        }
    }

    fn follow_need(&mut self, need: &Need) {
        let set = self.set;
        for member in set.primitives(&need.then) {
            let change = self.needing(need, self.of(*member));
            self.set(*member, change, need.why);
        }
    }

    /// What a change becomes by what becomes of those that are needed.
    fn needing(&self, need: &Need, now: ResourceChange) -> ResourceChange {
        let firsts = || self.set.primitives(&need.first).iter().map(|first| self.of(*first));
        // a group starts anew for others, and for its later members, although a member migrates
        let of_group = matches!(need.why, WaitReason::Group(_)) || self.set.resource(need.first).is_group;
        let interrupts = |first: ResourceChange| first.comes_up() || (of_group && first.migrates());
        if firsts().any(|first| first.runs_on().is_none()) {
            let is_start = matches!(now, ResourceChange::Start(_));
            return if need.symmetrical || is_start { now.not_started() } else { now };
        }
        match now {
            _ if !need.symmetrical => now,
            ResourceChange::Stay(host) if firsts().any(interrupts) => ResourceChange::Restart(host),
            ResourceChange::Migrate { from, to } if firsts().any(ResourceChange::goes_down) => {
                ResourceChange::Move { from, to }
            }
            _ => now,
        }
    }

    /// Who must be with one that has a place and cannot be started is not started either.
    fn follow_colocations(&mut self) {
        let set = self.set;
        let together = |(_, colocation): &(usize, &super::super::working_set::Colocation)| {
            colocation.score == AllocationScore::INFINITY
        };
        for (at, colocation) in set.colocations.iter().enumerate().filter(together) {
            let is_kept_down = |primary: &ResourceIdx| {
                self.of(*primary).runs_on().is_none() && self.placed.host(*primary).is_some()
            };
            if set.primitives(&colocation.primary).iter().any(is_kept_down) {
                for member in set.primitives(&colocation.dependent) {
                    let change = self.of(*member).not_started();
                    self.set(*member, change, WaitReason::Colocation(at));
                }
            }
        }
    }

    /// A member of a group cannot be stopped before the next one, which may not be managed.
    fn hold_groups(&mut self) {
        let set = self.set;
        for group in set.groups() {
            let mut is_held = false;
            for member in set.resource(group).members.iter().rev() {
                let unmanaged = !set.is_managed(*member) && set.resource(*member).active.is_some();
                let stops = self.of(*member).stops_on();
                is_held = unmanaged || (is_held && stops.is_some());
                if let Some(host) = stops.filter(|_| is_held) {
                    self.set(*member, ResourceChange::Held(host), WaitReason::Group(group));
                }
            }
        }
    }

    /// What is not managed is left alone, although others went by what should become of it.
    fn leave_unmanaged(&mut self) {
        let set = self.set;
        for resource in set.resource_indices().filter(|resource| !set.is_managed(*resource)) {
            let change = &mut self.changes[resource.get()];
            match (set.resource(resource).active, &change) {
                (Some(host), _) if change.stops_on().is_some() => *change = ResourceChange::Held(host),
                (Some(_), ResourceChange::Held(_)) => {}
                (active, _) => {
                    *change = active.map_or(ResourceChange::Idle, ResourceChange::Stay);
                    self.causes[resource.get()] = None;
                }
            }
        }
    }
}
