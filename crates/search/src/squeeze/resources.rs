//! Resources of the nodes of a group that is condensed: what nodes offer beside the target reserve, and what the instances need.

use super::trial::GroupScope;
use crate::limits::resource::{PLAUSIBLE_SPINDLES, Resource, has_cpu_limit};
use htools_model::{Instance, NodeIdx};

impl GroupScope<'_> {
    /// The resources besides memory that limit a placement on these nodes.
    pub(super) fn limited_resources(&self, online: &[NodeIdx]) -> Vec<Resource> {
        let cpus = self.has_cpu_limit(online).then_some(Resource::Cpus);
        let spindles = self.has_spindle_limit(online).then_some(Resource::Spindles);
        cpus.into_iter().chain(spindles).collect()
    }

    /// The amount of a resource that a node offers to instances.
    pub(super) fn offer(&self, resource: Resource, node: NodeIdx) -> i128 {
        let (spec, ledger) = (&self.cluster.node(node).spec, &self.cluster.node(node).state.ledger);
        let offered = resource.offered(spec);
        match resource {
            Resource::Memory => offered - i128::from(self.target.memory().0),
            Resource::Cpus => offered - i128::from(self.target.vcpus()),
            Resource::Spindles => offered.max(ledger.spindles_used as i128),
        }
    }

    /// The amount of a resource that the instances on these nodes need, as far as they stay in the group. Others have
    /// their secondary in another group.
    pub(super) fn needed(&self, resource: Resource, online: &[NodeIdx]) -> i128 {
        match resource {
            Resource::Memory | Resource::Cpus => {
                self.sum_in_group(online, |instance| resource.taken(instance, false))
            }
            Resource::Spindles => {
                online.iter().map(|n| self.cluster.node(*n).state.ledger.spindles_used as i128).sum()
            }
        }
    }

    /// Sum over the primaries of these nodes that stay in the group.
    pub(super) fn sum_in_group(&self, online: &[NodeIdx], amount: impl Fn(&Instance) -> i64) -> i128 {
        let of_node = |n: &NodeIdx| -> i128 {
            let primaries = self.cluster.node(*n).state.primaries.iter().map(|i| self.cluster.instance(*i));
            primaries.filter(|i| !self.cluster.is_split(i)).map(|i| i128::from(amount(i))).sum()
        };
        online.iter().map(of_node).sum()
    }

    /// Returns false without a ratio, or with absurd numbers of CPUs: then any number of virtual CPUs may be accepted.
    fn has_cpu_limit(&self, online: &[NodeIdx]) -> bool {
        online.iter().all(|n| has_cpu_limit(&self.cluster.node(*n).spec))
    }

    /// Returns true if each node has an amount of spindle weight that no placement exceeds.
    fn has_spindle_limit(&self, online: &[NodeIdx]) -> bool {
        let is_plain = |n: &NodeIdx| {
            let (spec, ledger) = (&self.cluster.node(*n).spec, &self.cluster.node(*n).state.ledger);
            let amounts = [spec.spindle_limit, ledger.spindles_used];
            !spec.exclusive_storage && amounts.iter().all(|amount| (0.0..PLAUSIBLE_SPINDLES).contains(amount))
        };
        let leaves = |i: &Instance| self.cluster.is_split(i) || i.spindle_use < 0;
        let residents = self.cluster.residents(&self.nodes);
        let absurd = residents.iter().any(|i| leaves(self.cluster.instance(*i)));
        !self.options.ignore_soft_errors && !absurd && online.iter().all(is_plain)
    }
}
