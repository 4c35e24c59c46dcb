//! Room for further instances (`--keep-room`), counted from the figures of all nodes.

use super::state::{NodeFigures, ReplayedCluster};
use super::{BrokenRule, Fault};
use htools_model::{AllocPolicy, Cluster, NodeIdx, NodeSpec, Placement, Rule, WantedRoom};

/// Number of the wanted instances that fit, at most all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountedRoom {
    wanted: i64,
    count: i64,
}

/// Numbers of the wanted instances that a node takes: in both roles together, and as primaries.
struct NodeNumbers {
    both: i64,
    primaries: i64,
}

impl CountedRoom {
    /// Counts the room; `None` if none is kept.
    pub(super) fn of(state: &ReplayedCluster<'_>) -> Option<CountedRoom> {
        let wanted = state.cluster.wanted_room()?;
        let one = wanted.size.together(1);
        let mut count = 0;
        for group in state.cluster.groups.iter().filter(|g| g.alloc_policy != AllocPolicy::Unallocable) {
            let accepts =
                |spec: &NodeSpec| !spec.offline && group.policy.accepts(&one, spec.exclusive_storage).is_ok();
            let members = group.nodes.iter().map(|node| (state.spec(*node), state.figures(*node)));
            let members = members.filter(|(spec, figures)| accepts(spec) && !figures.n1_fail);
            let numbers = members.map(|(spec, figures)| {
                let most = |idle: bool| {
                    let refused = (1..=wanted.count).find(|more| !takes(spec, &figures, wanted, *more, idle));
                    refused.map_or(wanted.count, |refused| refused - 1)
                };
                let both = most(true);
                NodeNumbers { both, primaries: most(false).min(both) }
            });
            count += in_group(&numbers.collect::<Vec<_>>(), wanted);
        }
        Some(CountedRoom { wanted: wanted.count, count: count.min(wanted.count) })
    }

    /// Checks that the room is complete, or no smaller than before.
    pub(super) fn follows(self, before: CountedRoom, node: &str) -> Result<(), Fault> {
        if self.count >= before.count.min(self.wanted) {
            return Ok(());
        }
        let (needed, there) = (before.count as f64, self.count as f64);
        Err(Fault::Rule(BrokenRule { node: node.to_owned(), rule: Rule::KeptRoom, needed, there }))
    }
}

/// Tells if an instance leaves a node that is out of use, so that no room has to be kept.
pub(super) fn leaves_lost(cluster: &Cluster, from: Placement) -> bool {
    let lost = |node: NodeIdx| cluster.node(node).spec.offline;
    lost(from.primary) || from.secondary.is_some_and(lost)
}

/// The most instances that nodes of one group take.
fn in_group(nodes: &[NodeNumbers], wanted: WantedRoom) -> i64 {
    let mirrored = wanted.size.template.has_secondary();
    let enough = |count: &i64| {
        let primaries: i64 = nodes.iter().map(|n| n.primaries.min(*count)).sum();
        // No node is both nodes of an instance.
        let both: i64 = nodes.iter().map(|n| n.both.min(*count)).sum();
        primaries >= *count && (!mirrored || both >= 2 * count)
    };
    (1..=wanted.count).rev().find(enough).unwrap_or(0)
}

/// Tells if a node takes `more` instances, in whatever roles. With `idle`, they need no virtual CPUs.
fn takes(spec: &NodeSpec, f: &NodeFigures, wanted: WantedRoom, more: i64, idle: bool) -> bool {
    let (size, template) = (wanted.size, wanted.size.template);
    let times = |amount: i64| i128::from(amount) * i128::from(more);
    let (memory, disk) = (times(size.memory.0), times(size.disk.0));
    let spindles = times(size.spindles);
    let unallocated = i128::from(f.mem_unallocated.0) - memory;
    let has_memory = unallocated > 0 && i128::from(f.mem_free_planned.0) > memory;
    let survives = unallocated > i128::from(f.mem_reserved.0);
    let survives_several = f.kept.is_none_or(|kept| {
        let lacks = i128::from(kept.0) + 1 - unallocated;
        lacks <= 0 || memory <= 0
    });
    let ratio = |vcpus: i64| {
        let vcpus = if idle { i128::from(vcpus) } else { i128::from(vcpus) + times(size.vcpus) };
        let exceeds = spec.vcpu_ratio >= 0.0 && vcpus as f64 / spec.cpu_total > spec.vcpu_ratio;
        !exceeds
    };
    let has_cpus = ratio(f.vcpus) && ratio(f.vcpus_planned);
    let stores = |free: i64, used: f64, free_spindles: i64| {
        let left = i128::from(free) - disk;
        let has_spindles = if spec.exclusive_storage {
            i128::from(free_spindles) >= spindles
        } else {
            used + spindles as f64 <= spec.spindle_limit
        };
        left > 0 && left >= i128::from(spec.disk_low.0) && has_spindles
    };
    let has_storage = !template.uses_local_storage()
        || (stores(f.disk_free.0, f.spindles_used, f.spindles_free)
            && stores(f.disk_free_planned.0, f.spindles_used_planned, f.spindles_free_planned));
    has_memory && survives && survives_several && has_cpus && has_storage
}
