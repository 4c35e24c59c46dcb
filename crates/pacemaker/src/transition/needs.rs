//! Needs of resources for others, by the orders of a cluster.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::super::index::ResourceIdx;
use super::super::working_set::{OrderStrength, OrderedTask, OrderedTasks, StartOrder, WorkingSet};
use super::wait::WaitReason;

/// Need of a resource for another one, which starts before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub(crate) first: ResourceIdx,
    pub(crate) then: ResourceIdx,
    /// The action of the first that counts, and that of the second which needs it.
    pub(crate) tasks: OrderedTasks,
    pub(crate) symmetrical: bool,
    pub(crate) why: WaitReason,
}

impl Need {
    /// Need of a start for another one.
    pub(crate) fn of_starts(
        first: ResourceIdx,
        then: ResourceIdx,
        symmetrical: bool,
        why: WaitReason,
    ) -> Need {
        Need { first, then, tasks: OrderedTasks::STARTS, symmetrical, why }
    }
}

/// Returns true if an order stands beside others of the same two resources, which count as if it were not there.
pub(super) fn stands_aside(set: &WorkingSet, order: &StartOrder) -> bool {
    set.release.serializes_beside_others() && order.strength == OrderStrength::Serialize
}

/// All mandatory orders, those in groups too. Of several orders of the same actions of two resources, the first counts.
pub(crate) fn needs(set: &WorkingSet) -> Vec<Need> {
    let mut seen = HashSet::new();
    let mut needs = Vec::new();
    for (at, order) in set.orders.iter().enumerate().filter(|(_, order)| !stands_aside(set, order)) {
        let (first, then, symmetrical) = (order.first, order.then, order.symmetrical);
        let is_new = seen.insert((first, then, order.tasks));
        if is_new && order.strength == OrderStrength::Mandatory {
            let why = WaitReason::Order(at);
            needs.push(Need { first, then, tasks: order.tasks, symmetrical, why });
        }
    }
    for group in set.groups() {
        for pair in set.in_order(group).windows(2) {
            let why = WaitReason::Group(group);
            needs.push(Need::of_starts(pair[0], pair[1], true, why));
        }
    }
    needs
}

/// The orders in which the members of groups are promoted: one after the other.
pub(super) fn promotion_needs(set: &WorkingSet) -> Vec<Need> {
    let promotable = set.groups().filter(|group| set.promotion(*group).is_some());
    let members = promotable.map(|group| (group, set.in_order(group)));
    let need = |group, pair: &[ResourceIdx]| {
        let starts = Need::of_starts(pair[0], pair[1], true, WaitReason::Group(group));
        Need { tasks: OrderedTasks::PROMOTIONS, ..starts }
    };
    members.flat_map(|(group, members)| members.windows(2).map(move |pair| need(group, pair))).collect()
}

/// The mandatory orders of stops alone. They come from choices, or from an order behind another one of the same two
/// resources that applies to starts only and is not mandatory.
pub(crate) fn only_stops(set: &WorkingSet) -> Vec<Need> {
    let mut seen: HashMap<(ResourceIdx, ResourceIdx), bool> = HashMap::new();
    let mut stops = Vec::new();
    let counts = |order: &StartOrder| order.tasks == OrderedTasks::STARTS && !stands_aside(set, order);
    for (at, order) in set.orders.iter().enumerate().filter(|(_, order)| counts(order)) {
        let (first, then, symmetrical) = (order.first, order.then, order.symmetrical);
        let is_mandatory = order.strength == OrderStrength::Mandatory;
        let is_second = match seen.entry((first, then)) {
            Entry::Vacant(entry) => {
                entry.insert(symmetrical || is_mandatory);
                false
            }
            Entry::Occupied(mut entry) => symmetrical && !entry.insert(true),
        };
        if is_second && is_mandatory {
            stops.push(Need::of_starts(first, then, true, WaitReason::Order(at)));
        }
    }
    for (at, choice) in set.choices.iter().enumerate().filter(|(_, choice)| choice.task == OrderedTask::Start)
    {
        let why = WaitReason::Choice(at);
        let pairs = choice.stops.iter().filter(|_| choice.strength == OrderStrength::Mandatory);
        stops.extend(pairs.map(|pair| Need::of_starts(pair.first, pair.then, true, why)));
    }
    stops
}
