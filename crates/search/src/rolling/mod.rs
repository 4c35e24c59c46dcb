//! Rolling maintenance: which nodes can be down at the same time, group after
//! group.
//!
//! Nodes of which one has to run the other's instances are neighbours in a
//! `graph`; a `colour`ing of it gives classes without neighbours. A class is
//! then divided until its nodes can be `clear`ed together of what would not
//! survive otherwise.

pub(crate) mod clear;
pub mod colour;
pub mod graph;
mod layout;

use clear::{ClearGround, Clearing};
use colour::{Algorithm, Colouring};
use graph::ConflictGraph;
use htools_model::{Cluster, Instance, InstanceIdx, Mirroring, MovedMeanwhile, NodeIdx, RunStatus};
use layout::Layout;

/// What a maintenance has to respect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RollingOptions {
    /// All instances are down while their nodes are.
    pub offline_maintenance: bool,
    /// Instances that live on one node only may be down with it.
    pub ignore_non_redundant: bool,
    /// No data stays on the nodes.
    pub full_evacuation: bool,
    /// Instances on shared storage migrate to a node that takes them by all the
    /// rules; they do not count as instances that live on one node only.
    pub migrate_shared: bool,
    /// Stopped instances need no other node, unless all data has to leave.
    pub honour_run_state: bool,
}

impl RollingOptions {
    /// Whether the instance is tied to its node as far as this maintenance is
    /// concerned.
    pub fn is_non_redundant(&self, instance: &Instance) -> bool {
        !instance.template.has_secondary() && !self.migrates_shared(instance)
    }

    /// Whether the instance can run on any node of the group.
    fn migrates_shared(&self, instance: &Instance) -> bool {
        self.migrate_shared && instance.template.mirroring() == Mirroring::External
    }

    /// Whether the instance is stopped and therefore not in the way.
    fn rests(&self, instance: &Instance) -> bool {
        self.honour_run_state && !self.full_evacuation && is_stopped(instance)
    }
}

/// Whether nothing runs that a reboot could stop.
pub fn is_stopped(instance: &Instance) -> bool {
    use RunStatus::{AdminDown, AdminOffline, UserDown};
    instance.forthcoming || matches!(instance.status, AdminDown | AdminOffline | UserDown)
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// No node was selected.
    #[error("no node is left to plan for: all are offline or not selected")]
    NoNodes,
    /// A node cannot be freed of the instances that live there only.
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
    /// A node cannot be freed of disk copies.
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
    /// What has to be elsewhere meanwhile, by instance.
    pub moves: Vec<MovedMeanwhile>,
}

/// The graph of a maintenance, and its colourings.
#[derive(Debug, Clone)]
pub struct Conflicts {
    /// Which nodes need each other.
    pub graph: ConflictGraph,
    /// What each algorithm found.
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

    /// The colouring with the fewest colours, the first of equals.
    pub fn best(&self) -> &Colouring {
        let fewest = self.colourings.iter().min_by_key(|c| c.classes.len());
        fewest.expect("there are several algorithms")
    }

    /// The plan that the best colouring leads to: parts in the order in which they
    /// are to be down.
    ///
    /// # Errors
    /// If instances cannot be moved out of the way.
    pub fn plan(&self, cluster: &Cluster, options: &RollingOptions) -> Result<Vec<Part>, NoPlan> {
        let ground = ClearGround::of(cluster, *options);
        let mut parts = Vec::new();
        let mut layout = Layout::of(cluster);
        for class in &self.best().classes {
            let nodes: Vec<NodeIdx> = class.iter().map(|v| self.graph.node(*v)).collect();
            ground.partition(&mut layout, &nodes, Clearing::Primaries, &mut |nodes, layout| {
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

/// Large parts first; the master's last, and the master last in it.
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
