//! The batches of a rolling maintenance that is carried out: each is planned on the cluster as it is by then.

mod check;
mod closing;
mod next;

use std::collections::{BTreeSet, HashMap};

pub use check::problem_after;
pub use closing::{closing_batch, held_on_newer, taking_back};
pub use next::{BatchPlanner, NextBatch, Unmaintained, UnmaintainedReason};

use htools_ganeti::execute::maintenance::{Away, MaintenanceProgress};
use htools_model::redundancy::n_plus_one;
use htools_model::{Cluster, InstanceIdx, NodeIdx, Placement};
use htools_plan::maintenance::Strays;

/// Indices of nodes and instances by full name.
struct ByName<'c> {
    nodes: HashMap<&'c str, NodeIdx>,
    instances: HashMap<&'c str, InstanceIdx>,
}

impl<'c> ByName<'c> {
    fn of(cluster: &'c Cluster) -> ByName<'c> {
        let nodes = cluster.nodes.iter().map(|node| (node.spec.name.as_str(), node.spec.idx)).collect();
        let instances = cluster.instances.iter().map(|i| (i.name.as_str(), i.idx)).collect();
        ByName { nodes, instances }
    }

    fn node(&self, name: &str) -> Option<NodeIdx> {
        self.nodes.get(name).copied()
    }

    fn placement(&self, place: &Placement<String>) -> Option<Placement> {
        let secondary = match &place.secondary {
            Some(name) => Some(self.node(name)?),
            None => None,
        };
        Some(Placement { primary: self.node(&place.primary)?, secondary })
    }

    /// The instances away from home, or stopped, that belong on some of these nodes. Those that no longer exist, or
    /// whose nodes no longer do, are left out.
    fn strays(&self, cluster: &Cluster, progress: &MaintenanceProgress, nodes: &[NodeIdx]) -> Strays {
        let upgraded = progress.renewed().filter_map(|node| self.node(node)).collect();
        let mut strays = Strays { upgraded, ..Strays::default() };
        let Away { homes, stopped } = &progress.away;
        for (name, home) in homes {
            let (Some(instance), Some(home)) = (self.instances.get(name.as_str()), self.placement(home))
            else {
                continue;
            };
            // If another of its nodes is out of use, that node's own batch brings it home.
            let is_usable = |node: &NodeIdx| nodes.contains(node) || !cluster.node(*node).spec.offline;
            if home.nodes().any(|node| nodes.contains(&node)) && home.nodes().all(|node| is_usable(&node)) {
                strays.moved.push((*instance, home));
            }
        }
        for name in stopped {
            let Some(instance) = self.instances.get(name.as_str()) else { continue };
            let is_homecomer = strays.moved.iter().any(|(other, _)| other == instance);
            if is_homecomer || nodes.contains(&cluster.instance(*instance).primary) {
                strays.stopped.push(*instance);
            }
        }
        strays
    }
}

/// Full names of the nodes that are not N+1 redundant.
fn not_redundant(cluster: &Cluster) -> BTreeSet<String> {
    let failing = n_plus_one::Failures::of(cluster, &cluster.all_nodes()).nodes;
    failing.into_iter().map(|node| cluster.node(node).spec.name.clone()).collect()
}
