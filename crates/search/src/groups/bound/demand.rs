//! Demands of instances for amounts that nodes and groups have.

use std::collections::{BTreeMap, BTreeSet};

use super::EmptyingGround;
use super::hosts::Guest;
use crate::limits::loss::memory_left;
use crate::limits::resource::{PLAUSIBLE_SPINDLES, Resource, common_divisor, has_cpu_limit};
use htools_model::{Class, Cluster, GroupIdx, Node, NodeIdx};

/// Largest number of sets of nodes that are compared with a demand.
const MOST_SETS: usize = 64;

/// Largest number of sizes whose instances are counted.
const MOST_SIZES: usize = 32;

/// An amount that one of some nodes must have.
struct Item<'g> {
    amount: i128,
    /// The nodes, in order.
    nodes: &'g [NodeIdx],
}

/// Room of the nodes and groups for some items together.
struct Rooms<'r> {
    /// Room of a node; `None` without a limit.
    node: &'r dyn Fn(NodeIdx) -> Option<i128>,
    /// Room of all nodes of a group together; `None` without a limit besides those of its nodes.
    group: &'r dyn Fn(GroupIdx) -> Option<i128>,
}

/// Tells if the guests need more of something than the nodes have that accept them.
pub(super) fn exceeds(ground: &EmptyingGround<'_>, guests: &[Guest<'_>]) -> bool {
    let cluster = ground.cluster;
    let room = |left: fn(&Node) -> Option<i128>| move |n: NodeIdx| left(cluster.node(n));
    let limited = |items: &[Item<'_>], left: fn(&Node) -> Option<i128>| {
        overfull(cluster, items, &Rooms { node: &room(left), group: &|_| None })
    };
    memory_exceeds(ground, guests)
        || limited(&of_primaries(guests, |g| Resource::Cpus.taken(g.instance, false)), cpus_left)
        || limited(&of_both(guests, |g, s| Resource::Spindles.taken(g.instance, s)), spindles_left)
        || limited(&of_both(guests, |g, _| g.instance.local_disk().0), disk_left)
        || tags_exceed(cluster, guests)
}

/// The memory of all guests; of those that global N+1 protects; and of those that need a reserve.
fn memory_exceeds(ground: &EmptyingGround<'_>, guests: &[Guest<'_>]) -> bool {
    let EmptyingGround { cluster, setting, .. } = ground;
    let node = |n: NodeIdx| memory_room(cluster.node(n));
    let memory = |g: &Guest<'_>| Resource::Memory.taken(g.instance, false);
    let relocated = |g: &Guest<'_>| Class::of(g.instance.template) != Class::Failover;
    let of_some = |wanted: &dyn Fn(&Guest<'_>) -> bool, group: &dyn Fn(GroupIdx) -> Option<i128>| {
        let items = of_primaries(guests.iter().filter(|g| wanted(g)), memory);
        overfull(cluster, &items, &Rooms { node: &node, group })
    };
    let after_loss = |group| setting.redundancy.as_ref().and_then(|scope| memory_left(cluster, group, scope));
    of_some(&|_| true, &|_| None)
        || of_some(&relocated, &after_loss)
        || of_some(&|g| !relocated(g), &|group| memory_with_reserves(cluster, group))
}

/// An exclusion tag keeps the primaries that have it on different nodes.
fn tags_exceed(cluster: &Cluster, guests: &[Guest<'_>]) -> bool {
    let tags: BTreeSet<_> = guests.iter().flat_map(|g| g.instance.exclusion_tags.iter().copied()).collect();
    let rooms = Rooms { node: &|_| Some(1), group: &|_| None };
    tags.into_iter().any(|tag| {
        let tagged = guests.iter().filter(|g| g.instance.exclusion_tags.contains(&tag));
        overfull(cluster, &of_primaries(tagged, |_| 1), &rooms)
    })
}

fn of_primaries<'g>(
    guests: impl IntoIterator<Item = &'g Guest<'g>>,
    amount: impl Fn(&Guest<'_>) -> i64,
) -> Vec<Item<'g>> {
    let item = |guest: &'g Guest<'g>| Item { amount: i128::from(amount(guest)), nodes: &guest.primaries };
    guests.into_iter().map(item).collect()
}

/// Needs of all roles of the guests. `amount` takes the guest, and true for its secondary.
fn of_both<'g>(guests: &'g [Guest<'g>], amount: impl Fn(&Guest<'_>, bool) -> i64) -> Vec<Item<'g>> {
    let roles = |guest: &'g Guest<'g>| {
        let secondary = guest.is_mirrored().then_some(true);
        [false].into_iter().chain(secondary).map(move |role| (guest, role))
    };
    let item = |(guest, role): (&'g Guest<'g>, bool)| Item {
        amount: i128::from(amount(guest, role)),
        nodes: &guest.hosts,
    };
    guests.iter().flat_map(roles).map(item).collect()
}

/// Memory of a node for arriving primaries. Its present reserve only grows.
fn memory_room(node: &Node) -> Option<i128> {
    let ledger = &node.state.ledger;
    // A node that lacks its reserve already may go on lacking it.
    let reserved = if ledger.n1_fail { 0 } else { ledger.mem_reserved.0.max(0) };
    let used = i128::from(ledger.mem_instances.0) + i128::from(reserved);
    Some(Resource::Memory.offered(&node.spec) - used)
}

/// Virtual CPUs of a node for arriving primaries.
fn cpus_left(node: &Node) -> Option<i128> {
    let used = i128::from(node.state.ledger.vcpus) - i128::from(node.spec.cpu_node);
    has_cpu_limit(&node.spec).then(|| Resource::Cpus.offered(&node.spec) - used)
}

/// Spindle weight of a node for arrivals.
fn spindles_left(node: &Node) -> Option<i128> {
    let (limit, used) = (node.spec.spindle_limit, node.state.ledger.spindles_used);
    let is_plausible = [limit, used].iter().all(|amount| (0.0..PLAUSIBLE_SPINDLES).contains(amount));
    let is_limited = !node.spec.exclusive_storage && is_plausible;
    is_limited.then(|| Resource::Spindles.offered(&node.spec) - used as i128)
}

/// Disk of a node for arrivals, in MiB. One MiB must stay free, and `--min-disk`.
fn disk_left(node: &Node) -> Option<i128> {
    let free = i128::from(node.state.ledger.disk_free.0);
    Some((free - 1).min(free - i128::from(node.spec.disk_low.0)))
}

/// Memory of a group for arriving DRBD primaries, as each of its nodes keeps a reserve for the others.
///
/// With K nodes, a node that keeps R for each of the others backs at most (K - 1) R. So (K - 1) times the memory that
/// is not used by primaries is at least the sum of what all of them reserve.
fn memory_with_reserves(cluster: &Cluster, group: GroupIdx) -> Option<i128> {
    let nodes = || cluster.nodes_of(group).iter().map(|n| cluster.node(*n)).filter(|n| !n.spec.offline);
    let count = nodes().count() as i128;
    if count < 2 {
        return Some(0);
    }
    if nodes().any(|node| node.state.ledger.n1_fail) {
        return None;
    }
    let primaries = nodes().flat_map(|node| &node.state.primaries).map(|i| cluster.instance(*i));
    let is_here = |n: NodeIdx| cluster.node(n).spec.group == group && !cluster.node(n).spec.offline;
    let mirrored = primaries.filter(|i| i.mirror().is_some_and(is_here));
    let backed: i128 = mirrored.map(|i| i128::from(i.mem_reserved().0)).sum();
    let unallocated =
        |node: &Node| Resource::Memory.offered(&node.spec) - i128::from(node.state.ledger.mem_instances.0);
    let left: i128 = nodes().map(unallocated).sum();
    Some((((count - 1) * left - backed).max(0)).div_euclid(count))
}

/// Tells if the items do not fit. Each set of nodes must have room for the items that can go nowhere else.
fn overfull(cluster: &Cluster, items: &[Item<'_>], rooms: &Rooms<'_>) -> bool {
    let all: BTreeSet<NodeIdx> = items.iter().flat_map(|item| item.nodes).copied().collect();
    let all: Vec<NodeIdx> = all.into_iter().collect();
    let sets: BTreeSet<&[NodeIdx]> = items.iter().map(|item| item.nodes).collect();
    let largest_first = |a: &&[NodeIdx], b: &&[NodeIdx]| b.len().cmp(&a.len()).then_with(|| a.cmp(b));
    let mut sets: Vec<&[NodeIdx]> = sets.into_iter().filter(|set| **set != all[..]).collect();
    sets.sort_by(largest_first);
    let sets = std::iter::once(&all[..]).chain(sets.into_iter().take(MOST_SETS));
    sets.into_iter().any(|set| {
        let inside = items.iter().filter(|item| item.nodes.iter().all(|n| set.binary_search(n).is_ok()));
        let amounts: Vec<i128> = inside.map(|item| item.amount).filter(|amount| *amount > 0).collect();
        let of_node = |n: &NodeIdx| Some((cluster.node(*n).spec.group, (rooms.node)(*n)?.max(0)));
        let of_nodes: Option<Vec<(GroupIdx, i128)>> = set.iter().map(of_node).collect();
        of_nodes.is_some_and(|of_nodes| {
            sum_exceeds(&amounts, &of_nodes, rooms.group) || count_exceeds(&amounts, &of_nodes)
        })
    })
}

/// Compares the sums. On each node, the amounts are a multiple of their greatest common divisor.
fn sum_exceeds(
    amounts: &[i128],
    nodes: &[(GroupIdx, i128)],
    of_group: &dyn Fn(GroupIdx) -> Option<i128>,
) -> bool {
    let unit = amounts.iter().copied().fold(0, common_divisor).max(1);
    let mut by_group: BTreeMap<GroupIdx, i128> = BTreeMap::new();
    for (group, room) in nodes {
        *by_group.entry(*group).or_default() += room.div_euclid(unit) * unit;
    }
    let of_groups =
        by_group.into_iter().map(|(group, sum)| of_group(group).map_or(sum, |most| sum.min(most)));
    amounts.iter().sum::<i128>() > of_groups.sum()
}

/// Compares the numbers of items of some size or more with the numbers that fit on the nodes.
fn count_exceeds(amounts: &[i128], nodes: &[(GroupIdx, i128)]) -> bool {
    let sizes: BTreeSet<i128> = amounts.iter().copied().collect();
    let some = sizes.len().div_ceil(MOST_SIZES).max(1);
    sizes.iter().step_by(some).any(|size| {
        let count = amounts.iter().filter(|amount| *amount >= size).count() as i128;
        count > nodes.iter().map(|(_, room)| room.div_euclid(*size)).sum()
    })
}
