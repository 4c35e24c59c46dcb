//! Needs of resources for others, by the orders of a cluster.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::super::index::ResourceIdx;
use super::super::working_set::{OrderStrength, OrderedTask, WorkingSet};
use super::wait::WaitReason;

/// Need of a resource for another one, which starts before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub(crate) first: ResourceIdx,
    pub(crate) then: ResourceIdx,
    /// The action of the first that counts.
    pub(crate) first_task: OrderedTask,
    /// The action of the second that needs it.
    pub(crate) then_task: OrderedTask,
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
        let task = OrderedTask::Start;
        Need { first, then, first_task: task, then_task: task, symmetrical, why }
    }
}

/// All mandatory orders of starts and promotions, those in groups too. Of several orders of the same two resources, the first counts.
pub(crate) fn needs(set: &WorkingSet) -> Vec<Need> {
    let mut seen = HashSet::new();
    let mut needs = Vec::new();
    for (at, order) in set.orders.iter().enumerate() {
        let (first, then, symmetrical) = (order.first, order.then, order.symmetrical);
        let (first_task, then_task) = (order.first_task, order.then_task);
        let is_new = seen.insert((first, first_task, then, then_task));
        if is_new && order.strength == OrderStrength::Mandatory {
            let why = WaitReason::Order(at);
            needs.push(Need { first, then, first_task, then_task, symmetrical, why });
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

/// The mandatory orders of stops alone. They come from choices, or from an order behind another one of the same two
/// resources that applies to starts only and is not mandatory.
pub(crate) fn only_stops(set: &WorkingSet) -> Vec<Need> {
    let mut seen: HashMap<(ResourceIdx, ResourceIdx), bool> = HashMap::new();
    let mut stops = Vec::new();
    for (at, order) in set.orders.iter().enumerate().filter(|(_, order)| order.is_of_starts()) {
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
    for (at, choice) in set.choices.iter().enumerate() {
        let why = WaitReason::Choice(at);
        let pairs = choice.stops.iter().filter(|_| choice.strength == OrderStrength::Mandatory);
        stops.extend(pairs.map(|pair| Need::of_starts(pair.first, pair.then, true, why)));
    }
    stops
}
