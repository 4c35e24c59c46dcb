//! Rolling maintenance: finds nodes that can be down at the same time, group by group.
//!
//! Two nodes are neighbours in a `graph` if one must run the other's instances. A `colour`ing gives classes
//! without neighbours. Each class is divided until its nodes can be `clear`ed together of the instances that
//! would not survive.
//!
//! [`safe`] plans obey more rules. They also divide the work if the cluster is in any state.

pub(crate) mod clear;
pub mod colour;
pub mod graph;
mod layout;
pub mod safe;
mod upgrade;

use clear::{ClearGround, ClearingScope};
use colour::{Algorithm, Colouring};
use graph::ConflictGraph;
use htools_model::{Cluster, Instance, InstanceIdx, Mirroring, MovedMeanwhile, NodeIdx, RunStatus};
use htools_plan::maintenance::MigrateTo;
use layout::Layout;
use std::num::NonZeroUsize;

/// Options of a maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RollingOptions {
    /// All instances are down while their nodes are.
    pub offline_maintenance: bool,
    /// Instances with a single node may be down with it.
    pub ignore_non_redundant: bool,
    /// No data stays on the nodes.
    pub full_evacuation: bool,
    /// Instances on shared storage migrate to a node that accepts them by all rules, and do not count as
    /// instances with a single node.
    pub migrate_shared: bool,
    /// Stopped instances need no other node, unless all data must leave.
    pub honour_run_state: bool,
    /// Most nodes of the cluster that are down at once. Only [`safe`] plans obey it.
    pub max_down: Option<NonZeroUsize>,
    /// Nodes that stay up keep room for all instances that they take, and stay safe against the loss of another node
    /// (N+1). Only [`safe`] plans obey it.
    pub keeps_redundancy: bool,
    /// If the nodes are upgraded, those to which instances migrate. Only [`safe`] plans obey it.
    pub upgrade: Option<MigrateTo>,
}

impl RollingOptions {
    /// Returns true if the instance is tied to its node during this maintenance.
    pub fn is_non_redundant(&self, instance: &Instance) -> bool {
        !instance.template.has_secondary() && !self.migrates_shared(instance)
    }

    /// Returns true if the instance can run on any node of the group.
    fn migrates_shared(&self, instance: &Instance) -> bool {
        self.migrate_shared && instance.template.mirroring() == Mirroring::External
    }

    /// Returns true if an instance without a secondary must leave before its node goes down.
    fn must_leave(&self, instance: &Instance) -> bool {
        if instance.template.has_secondary() || self.is_stopped_and_ignored(instance) {
            return false;
        }
        !(self.ignore_non_redundant && self.is_non_redundant(instance))
    }

    /// Returns true if an instance with a secondary must fail over before its primary node goes down.
    fn must_fail_over(&self, instance: &Instance) -> bool {
        self.full_evacuation || (!self.offline_maintenance && !is_stopped(instance))
    }

    /// Returns true if the instance is stopped and so not in the way.
    fn is_stopped_and_ignored(&self, instance: &Instance) -> bool {
        self.honour_run_state && !self.full_evacuation && is_stopped(instance)
    }
}

/// Returns true if a reboot would not stop the instance, since it does not run.
pub fn is_stopped(instance: &Instance) -> bool {
    use RunStatus::{AdminDown, AdminOffline, UserDown};
    instance.forthcoming || matches!(instance.status, AdminDown | AdminOffline | UserDown)
}

/// Reason why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// No node was selected.
    #[error("no node is left to plan for: all are offline or not selected")]
    NoNodes,
    /// A node cannot be freed of the instances that have no other node.
    #[error("not enough capacity to move non-redundant instances: node {0} cannot be emptied of them", .node.get())]
    NonRedundant {
        /// The first node that cannot be cleared even alone.
        node: NodeIdx,
    },
    /// An instance cannot run on its secondary node.
    #[error("instance {0} cannot run on its secondary node", .instance.get())]
    Migration {
        /// The instance.
        instance: InstanceIdx,
    },
    /// A node cannot be freed of secondaries.
    #[error("not enough capacity to move secondaries: node {0} cannot be emptied of them", .node.get())]
    Secondaries {
        /// The first node that cannot be cleared even alone.
        node: NodeIdx,
    },
}

/// Nodes that can be down together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The nodes.
    pub nodes: Vec<NodeIdx>,
    /// Instances that must be on other nodes meanwhile.
    pub moves: Vec<MovedMeanwhile>,
}

/// The graph of a maintenance, and its colourings.
#[derive(Debug, Clone)]
pub struct Conflicts {
    /// The nodes that cannot be down together.
    pub graph: ConflictGraph,
    /// The result of each algorithm.
    pub colourings: Vec<Colouring>,
}

impl Conflicts {
    /// The conflicts among the selected nodes, which are in ascending order.
    ///
    /// # Errors
    /// If no node is selected.
    pub fn among(
        cluster: &Cluster,
        selected: &[NodeIdx],
        options: &RollingOptions,
    ) -> Result<Conflicts, NoPlan> {
        if selected.is_empty() {
            return Err(NoPlan::NoNodes);
        }
        let graph = ConflictGraph::of(cluster, selected, options);
        let colourings = Algorithm::ALL.iter().map(|a| a.colour(&graph)).collect();
        Ok(Conflicts { graph, colourings })
    }

    /// The colouring with the fewest colours; the first one wins a tie.
    pub fn best(&self) -> &Colouring {
        let fewest = self.colourings.iter().min_by_key(|c| c.classes.len());
        fewest.expect("there are several algorithms")
    }

    /// The plan for the best colouring: parts in the order in which they go down.
    ///
    /// # Errors
    /// If instances cannot be moved out of the way.
    pub fn plan(&self, cluster: &Cluster, options: &RollingOptions) -> Result<Vec<Part>, NoPlan> {
        let ground = ClearGround::of(cluster, *options);
        let mut parts = Vec::new();
        let mut layout = Layout::of(cluster);
        for class in &self.best().classes {
            let nodes: Vec<NodeIdx> = class.iter().map(|v| self.graph.node(*v)).collect();
            ground.partition(&mut layout, &nodes, ClearingScope::Primaries, &mut |nodes, layout| {
                if options.full_evacuation {
                    ground.evacuate(layout, nodes, &mut parts)
                } else {
                    parts.push(Part { nodes: nodes.to_vec(), moves: layout.moved() });
                    Ok(())
                }
            })?;
        }
        Ok(in_order(cluster, parts))
    }
}

/// Sorts large parts first. The master's part comes last, with the master last in it.
fn in_order(cluster: &Cluster, mut parts: Vec<Part>) -> Vec<Part> {
    let is_master = |node: &NodeIdx| cluster.node(*node).spec.master;
    parts.sort_by_key(|part| std::cmp::Reverse(part.nodes.len()));
    parts.sort_by_key(|part| part.nodes.iter().any(is_master));
    for part in &mut parts {
        part.nodes.sort_by_key(is_master);
    }
    parts
}

#[cfg(test)]
mod tests;
