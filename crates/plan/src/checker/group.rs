//! Memory of a group for its instances on shared storage when several nodes are lost at once.

use super::state::ReplayedCluster;
use super::{BrokenRule, Fault};
use htools_model::{Class, GroupIdx, Instance, Mirroring, NodeIdx, Rule, TagSet};

/// Memory of a group: `there` is the nodes' memory beyond the largest instance on shared storage, and `needed` is what
/// the worst loss of nodes removes from it and moves elsewhere. `there` must be larger. The set of pools that lacks
/// most decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupMemory {
    there: i128,
    needed: i128,
}

impl GroupMemory {
    /// Sums it up; `None` if `--keep-reserve` asks for no more than N+1, or the group has no instances on shared
    /// storage.
    pub(super) fn of(state: &ReplayedCluster<'_>, group: GroupIdx) -> Option<GroupMemory> {
        let nodes = state.cluster.nodes_of(group);
        let losses = nodes.iter().map(|n| state.spec(*n).joint_losses).max().filter(|losses| *losses > 1)?;
        let online: Vec<NodeIdx> = nodes.iter().copied().filter(|n| !state.spec(*n).offline).collect();
        let shared = online.iter().flat_map(|n| state.primaries(*n));
        let shared = shared.filter(|i| Class::of(i.template) == Class::Relocate);
        // All instances that can go anywhere in the group are one kind.
        let everywhere = |i: &Instance| nodes.iter().all(|n| i.needs.is_subset(&state.spec(*n).offers));
        let mut kinds: Vec<(Option<&TagSet>, i128)> = Vec::new();
        for instance in shared {
            let pools = (!everywhere(instance)).then_some(&instance.needs);
            match kinds.iter_mut().find(|(known, _)| *known == pools) {
                Some((_, largest)) => *largest = in_use(instance).max(*largest),
                None => kinds.push((pools, in_use(instance))),
            }
        }
        let of_kind = |(pools, largest)| GroupMemory::of_kind(state, &online, losses, pools, largest);
        kinds.into_iter().map(of_kind).max_by_key(|kind| kind.needed - kind.there)
    }

    /// Memory for the instances that need certain pools; `None` means those that can go anywhere in the group.
    fn of_kind(
        state: &ReplayedCluster<'_>,
        online: &[NodeIdx],
        losses: usize,
        pools: Option<&TagSet>,
        largest: i128,
    ) -> GroupMemory {
        let reach = |n: &NodeIdx| pools.is_none_or(|pools| pools.is_subset(&state.spec(*n).offers));
        let targets: Vec<NodeIdx> = online.iter().copied().filter(reach).collect();
        let beyond = |n: NodeIdx| {
            if targets.contains(&n) {
                (i128::from(state.figures(n).mem_unallocated.0) - largest).max(0)
            } else {
                0
            }
        };
        let survives = |i: &Instance| match i.template.mirroring() {
            Mirroring::Internal => state.placement(i.idx).secondary.is_some(),
            _ => Class::of(i.template) == Class::Relocate,
        };
        let competes = |i: &Instance| targets.iter().any(|n| i.needs.is_subset(&state.spec(*n).offers));
        let leaving = |n: NodeIdx| -> i128 {
            state.primaries(n).filter(|i| survives(i) && competes(i)).map(in_use).sum()
        };
        let mut costs: Vec<i128> = online.iter().map(|n| beyond(*n) + leaving(*n)).collect();
        costs.sort_unstable();
        let needed = costs.iter().rev().take(losses).sum();
        GroupMemory { there: online.iter().map(|n| beyond(*n)).sum(), needed }
    }

    /// Checks that there is enough memory, or that no more is missing than before. A group without instances on shared
    /// storage missed none.
    pub(super) fn follows(self, before: Option<GroupMemory>, name: &str) -> Result<(), Fault> {
        let missing = |memory: GroupMemory| memory.needed - memory.there;
        if self.there > self.needed || before.is_some_and(|before| missing(self) <= missing(before)) {
            return Ok(());
        }
        let (needed, there) = (self.needed as f64, self.there as f64);
        Err(Fault::Rule(BrokenRule { node: name.to_owned(), rule: Rule::GroupReserve, needed, there }))
    }
}

/// Memory of an instance while it runs.
fn in_use(instance: &Instance) -> i128 {
    if instance.status.uses_memory() { i128::from(instance.mem.0) } else { 0 }
}
