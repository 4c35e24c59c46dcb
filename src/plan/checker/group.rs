//! Memory that a group has for its instances on shared storage when several nodes are lost at once.

use super::state::ReplayedCluster;
use super::{Fault, Unmet};
use crate::model::{Class, GroupIdx, Instance, Mib, Mirroring, NodeIdx, Rule};

/// Memory of a group: what its nodes have beyond its largest instance on shared storage, and what the worst loss of nodes takes
/// of it and sends elsewhere. The former must be more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupMemory {
    there: i128,
    needed: i128,
}

impl GroupMemory {
    /// Adds it up; nothing where `--keep-reserve` asks for no more than N+1, or nobody in the group is on shared storage.
    pub fn of(state: &ReplayedCluster<'_>, group: GroupIdx) -> Option<GroupMemory> {
        let nodes = state.cluster.nodes_of(group);
        let losses = nodes.iter().map(|n| state.spec(*n).joint_losses).max().filter(|losses| *losses > 1)?;
        let online = || nodes.iter().copied().filter(|n| !state.spec(*n).offline);
        let in_use = |mem: Mib, uses: bool| if uses { i128::from(mem.0) } else { 0 };
        let running = |n: NodeIdx| state.primaries(n).map(|i| (i, in_use(i.mem, i.status.uses_memory())));
        let shared = online().flat_map(running).filter(|(i, _)| Class::of(i.template) == Class::Relocate);
        let largest = shared.map(|(_, mem)| mem).max()?;
        let beyond = |n: NodeIdx| (i128::from(state.figures(n).mem_unallocated.0) - largest).max(0);
        let survives = |i: &Instance| match i.template.mirroring() {
            Mirroring::Internal => state.placement(i.idx).secondary.is_some(),
            _ => Class::of(i.template) == Class::Relocate,
        };
        let leaving = |n: NodeIdx| running(n).filter(|(i, _)| survives(i)).map(|(_, mem)| mem).sum::<i128>();
        let mut costs: Vec<i128> = online().map(|n| beyond(n) + leaving(n)).collect();
        costs.sort_unstable();
        let needed = costs.iter().rev().take(losses).sum();
        Some(GroupMemory { there: online().map(beyond).sum(), needed })
    }

    /// There must be enough, or no more be missing than before.
    pub fn follows(self, before: GroupMemory, name: &str) -> Result<(), Fault> {
        let missing = |of: GroupMemory| of.needed - of.there;
        if self.there > self.needed || missing(self) <= missing(before) {
            return Ok(());
        }
        let (needed, there) = (self.needed as f64, self.there as f64);
        Err(Fault::Rule(Unmet { node: name.to_owned(), rule: Rule::GroupReserve, needed, there }))
    }
}
