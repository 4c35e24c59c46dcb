//! Counts and reserve that no placement can avoid.

use std::collections::BTreeMap;

use super::stays_online;
use crate::balance::deep::terrain::{NOWHERE, SlotStanding, Terrain};
use htools_model::{Instance, KeyIdx, NodeIdx, TagId};

/// Score of the counts that no placement can avoid:
///
/// - instances that stay on offline nodes,
/// - instances of a service in excess of the nodes or locations,
/// - desired locations that no node offers.
pub(super) fn unavoidable(terrain: &Terrain<'_>) -> f64 {
    let weights = &terrain.weights;
    let (all, primaries) = on_offline(terrain);
    let (conflicts, spread) = tags(terrain);
    weights.offline * all as f64
        + weights.offline_primaries * primaries as f64
        + weights.conflicts * conflicts as f64
        + weights.spread * spread as f64
        + weights.locations * locations(terrain) as f64
}

/// Lower bound of the affinity costs of any placement, as part of the score. It assumes that each instance
/// meets every instance that it likes, on the node with the best keys. Instances that repel each other are
/// spread evenly.
pub(super) fn keys(terrain: &Terrain<'_>) -> f64 {
    if terrain.weights.keys == 0.0 || terrain.online.is_empty() {
        return 0.0;
    }
    let set: Vec<NodeIdx> = (terrain.nodes.iter().zip(&terrain.standing))
        .filter(|(_, standing)| **standing != SlotStanding::Outside)
        .map(|(node, _)| *node)
        .collect();
    terrain.weights.keys * (repulsion_cost(terrain) + terrain.cluster.least_key_cost(&set)) as f64
}

/// Lower bound of the cost of keys that repel their own kind, from their number and the number of nodes.
fn repulsion_cost(terrain: &Terrain<'_>) -> i64 {
    let mut kinds: BTreeMap<KeyIdx, (i64, i64)> = BTreeMap::new();
    let mut count = |instance: &Instance| {
        for (key, cost) in instance.keys.own_costs().filter(|(_, cost)| *cost > 0) {
            kinds.entry(key).or_insert((0, cost)).0 += 1;
        }
    };
    (0..terrain.mobiles.len() as u32)
        .filter(|mobile| stays_online(terrain, *mobile))
        .for_each(|mobile| count(terrain.instance(mobile)));
    let nodes = terrain.online.len() as i64;
    let pairs = |n: i64| n * (n - 1) / 2;
    let even = |count: i64| {
        (count % nodes) * pairs(count / nodes + 1) + (nodes - count % nodes) * pairs(count / nodes)
    };
    kinds.values().map(|(count, cost)| even(*count) * cost).sum()
}

/// Number of instances, and of primaries, that must stay on offline nodes.
fn on_offline(terrain: &Terrain<'_>) -> (i64, i64) {
    let (mut all, mut primaries) = (0, 0);
    let offline = |slot: &u32| terrain.standing[*slot as usize] == SlotStanding::Offline;
    for slot in (0..terrain.nodes.len() as u32).filter(offline) {
        let ledger = &terrain.cluster.node(terrain.nodes[slot as usize]).state.ledger;
        all += ledger.primaries + ledger.secondaries;
        primaries += ledger.primaries;
    }
    for mobile in &terrain.mobiles {
        for (slot, primary) in [(mobile.home.primary, 1), (mobile.home.secondary, 0)] {
            if slot != NOWHERE && offline(&slot) {
                all -= mobile.counts;
                primaries -= primary * mobile.counts;
            }
        }
    }
    (all, primaries)
}

/// For each exclusion tag, the primaries in excess of one for each node, and those in excess of one for each
/// location; summed over all tags.
fn tags(terrain: &Terrain<'_>) -> (i64, i64) {
    let mut movable: BTreeMap<TagId, (i64, i64)> = BTreeMap::new();
    let mut at_home: BTreeMap<(u32, TagId), i64> = BTreeMap::new();
    for (mobile, details) in (0..).zip(&terrain.mobiles) {
        for (tag, own) in terrain.instance(mobile).exclusion_tags.counts().iter() {
            *at_home.entry((details.home.primary, tag)).or_default() += own;
            if stays_online(terrain, mobile) {
                let sums = movable.entry(tag).or_default();
                *sums = (sums.0 + own, sums.1 + own * details.counts);
            }
        }
    }
    // Instances that may not move are a lower bound for their node.
    let mut there: BTreeMap<TagId, i64> = BTreeMap::new();
    let mut fixed_conflicts = 0;
    for slot in &terrain.online {
        let state = &terrain.cluster.node(terrain.nodes[*slot as usize]).state;
        for (tag, count) in state.tag_count.iter() {
            let fixed = count - at_home.get(&(*slot, tag)).copied().unwrap_or(0);
            *there.entry(tag).or_default() += fixed;
            fixed_conflicts += (fixed - 1).max(0);
        }
    }
    let nodes = terrain.online.len() as i64;
    let locations: std::collections::BTreeSet<TagId> =
        terrain.online.iter().flat_map(|slot| terrain.spec(*slot).location_tags.iter()).collect();
    let fewest =
        terrain.online.iter().map(|s| terrain.spec(*s).location_tags.len()).min().unwrap_or(0) as i64;
    let (mut conflicts, mut spread) = (0, 0);
    for (tag, fixed) in &there {
        let (movable, existing) = movable.get(tag).copied().unwrap_or_default();
        conflicts += (movable + fixed - nodes).max(0);
        spread += (existing * fewest - locations.len() as i64).max(0);
    }
    (conflicts.max(fixed_conflicts), spread)
}

/// Desired locations that no node offers, and the location costs of instances that may not move.
fn locations(terrain: &Terrain<'_>) -> i64 {
    if !terrain.located {
        return 0;
    }
    let least = |mobile: u32| {
        let instance = terrain.instance(mobile);
        let missing = |slot: &u32| instance.desired_locations.missing_in(&terrain.spec(*slot).location_tags);
        let fixed = if terrain.mobiles[mobile as usize].mirrored { 0 } else { instance.location_score };
        fixed + terrain.online.iter().map(missing).min().unwrap_or(0)
    };
    let mut sum: i64 = terrain
        .online
        .iter()
        .map(|slot| terrain.cluster.node(terrain.nodes[*slot as usize]).state.ledger.location_sum)
        .sum();
    for (mobile, details) in (0..).zip(&terrain.mobiles).filter(|(_, details)| details.counts > 0) {
        if terrain.is_online(details.home.primary) {
            let spec = terrain.spec(details.home.primary);
            let instance = terrain.instance(mobile);
            sum -= spec.location_cost(instance, instance.location_score);
        }
        if stays_online(terrain, mobile) {
            sum += least(mobile);
        }
    }
    sum
}

/// Lower bound of the reserves' part of the score. The needs on a node belong to at most n - 1 primary nodes, and
/// the node keeps the largest of their sums. A need cannot be divided.
pub(super) fn reserve(terrain: &Terrain<'_>) -> f64 {
    if terrain.lanes.reserve.is_none() {
        return 0.0;
    }
    let others = terrain.online.len().saturating_sub(1) as f64;
    let pieces: Vec<i64> = (0..)
        .zip(&terrain.mobiles)
        .filter(|(mobile, details)| details.need > 0 && stays_online(terrain, *mobile))
        .map(|(_, details)| details.need)
        .collect();
    let scale = terrain.online.iter().map(|slot| 1.0 / terrain.spec(*slot).mem_total);
    let least_scale = scale.fold(f64::INFINITY, f64::min);
    if !(others > 0.0 && least_scale.is_finite() && least_scale > 0.0) {
        return 0.0;
    }
    let all = pieces.iter().sum::<i64>() as f64 / others;
    let mut sizes = pieces.clone();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    // A node with reserve r has at most r / size instances of at least this size for each other node.
    let of_size = (1..).zip(&sizes).map(|(count, size)| *size as f64 * (f64::from(count) / others).ceil());
    terrain.weights.reserved * least_scale * of_size.fold(all, f64::max)
}
