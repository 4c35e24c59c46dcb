//! Needs of resources for others, by the orders of a cluster.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::super::index::ResourceIdx;
use super::super::working_set::{OrderStrength, WorkingSet};
use super::wait::WaitReason;

/// Need of a resource for another one, which starts before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub(crate) first: ResourceIdx,
    pub(crate) then: ResourceIdx,
    pub(crate) symmetrical: bool,
    pub(crate) why: WaitReason,
}

/// All mandatory orders, those in groups too. Of several orders of the same two resources, the first counts.
pub(crate) fn needs(set: &WorkingSet) -> Vec<Need> {
    let mut seen = HashSet::new();
    let mut needs = Vec::new();
    for (at, order) in set.orders.iter().enumerate() {
        let (first, then, symmetrical) = (order.first, order.then, order.symmetrical);
        if seen.insert((first, then)) && order.strength == OrderStrength::Mandatory {
            needs.push(Need { first, then, symmetrical, why: WaitReason::Order(at) });
        }
    }
    for group in set.groups() {
        for pair in set.in_order(group).windows(2) {
            let why = WaitReason::Group(group);
            needs.push(Need { first: pair[0], then: pair[1], symmetrical: true, why });
        }
    }
    needs
}

/// The mandatory orders of stops alone. They come from choices, or from an order behind another one of the same two
/// resources that applies to starts only and is not mandatory.
pub(crate) fn only_stops(set: &WorkingSet) -> Vec<Need> {
    let mut seen: HashMap<(ResourceIdx, ResourceIdx), bool> = HashMap::new();
    let mut stops = Vec::new();
    for (at, order) in set.orders.iter().enumerate() {
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
            stops.push(Need { first, then, symmetrical: true, why: WaitReason::Order(at) });
        }
    }
    for (at, choice) in set.choices.iter().enumerate() {
        let why = WaitReason::Choice(at);
        let pairs = choice.stops.iter().filter(|_| choice.strength == OrderStrength::Mandatory);
        stops.extend(pairs.map(|pair| Need { first: pair.first, then: pair.then, symmetrical: true, why }));
    }
    stops
}
