//! Resources of which every node has a limited amount: what nodes offer, and what the instances need.

use super::trial::GroupScope;
use htools_model::{Instance, NodeIdx};

/// A resource of nodes. A placement fits only if the instances on each node need no more than it offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    /// Memory in MiB, beside the target reserve. Reserves for DRBD instances do not count.
    Memory,
    /// Virtual CPUs by the ratio of the policy, beside the target reserve.
    Cpus,
    /// Weight on the spindles by the ratio of the policy, or what the node has at the start.
    Spindles,
}

/// More virtual CPUs than any node has.
const MOST_CPUS: i64 = 1 << 50;

/// More spindle weight than any node has; up to this, sums are exact.
const PLAUSIBLE_SPINDLES: f64 = (1u64 << 40) as f64;

impl Resource {
    /// The amount that an instance needs on one of its nodes.
    pub(super) fn taken(self, instance: &Instance, secondary: bool) -> i64 {
        let is_stored = instance.template.uses_local_storage() && !instance.forthcoming;
        match self {
            Resource::Memory if !secondary => instance.mem_in_use().0,
            Resource::Cpus if !secondary => instance.vcpus_in_use(),
            Resource::Spindles if is_stored => instance.spindle_use,
            _ => 0,
        }
    }
}

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
        match resource {
            // On every node, one MiB must stay free beyond the reserve.
            Resource::Memory => {
                i128::from(spec.mem_for_instances().0) - i128::from(self.target.memory().0) - 1
            }
            Resource::Cpus => {
                let (mut below, mut above) = (-MOST_CPUS, MOST_CPUS);
                while below + 1 < above {
                    let middle = below + (above - below) / 2;
                    if spec.exceeds_cpu_ratio(middle) { above = middle } else { below = middle }
                }
                i128::from(below) - i128::from(self.target.vcpus()) - i128::from(spec.cpu_node)
            }
            // Weights are whole numbers.
            Resource::Spindles => spec.spindle_limit.floor().max(ledger.spindles_used) as i128,
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
        let mut specs = online.iter().map(|n| &self.cluster.node(*n).spec);
        specs.all(|spec| spec.cpu_total > 0.0 && spec.exceeds_cpu_ratio(MOST_CPUS))
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
