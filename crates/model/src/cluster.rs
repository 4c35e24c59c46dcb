//! The whole cluster.

use super::group_reserve::GroupReserves;
use super::index::{GroupIdx, InstanceIdx, NodeIdx};
use super::instance::Instance;
use super::kept_room::KeptRoom;
use super::kinds::AllocPolicy;
use super::node::{Ledger, Node};
use super::policy::InstancePolicy;
use super::step::Placement;
use super::storage::{DiskParameters, GroupOffers};
use super::tags::TagTable;
use super::utilisation::Utilisation;
use super::weights::Weights;

/// A node group.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its own index.
    pub idx: GroupIdx,
    /// Name.
    pub name: String,
    /// UUID by which nodes refer to it.
    pub uuid: String,
    /// Allocation policy for new instances.
    pub alloc_policy: AllocPolicy,
    /// UUIDs of the networks connected to it.
    pub networks: Vec<String>,
    /// Its instance policy.
    pub policy: InstancePolicy,
    /// Ganeti's disk parameters, which locate its disks on external storage.
    pub disk_parameters: DiskParameters,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its nodes, in order.
    pub nodes: Vec<NodeIdx>,
    /// Offers of its nodes; empty if no instance needs a certain node.
    pub offers: GroupOffers,
}

/// A cluster, loaded, checked, tagged and indexed.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Name of the cluster, if its source has one.
    pub name: Option<String>,
    /// Node groups.
    pub groups: Vec<Group>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Instances.
    pub instances: Vec<Instance>,
    /// Cluster tags.
    pub tags: Vec<String>,
    /// The cluster's own policy.
    pub policy: InstancePolicy,
    /// The tags that matter for placement.
    pub tag_table: TagTable,
    /// The domain that all node and instance names end in; may be empty.
    pub common_suffix: String,
    /// The number shown for the first node.
    pub first_node_number: u32,
    /// Weights of the metrics in the score.
    pub weights: Weights,
    /// Reserves of the groups for the loss of several nodes at once.
    pub group_reserves: GroupReserves,
    /// Room for further instances that placement keeps.
    pub kept_room: KeptRoom,
    /// Implausible values in the data, one line each. Results computed from them are doubtful.
    pub doubts: Vec<String>,
}

/// A place for an instance, and the ledgers of its nodes once the instance is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The nodes.
    pub placement: Placement,
    /// Number of location tags that the nodes have in common.
    pub location_score: i64,
    /// Ledger of the primary node with the instance.
    pub primary: Ledger,
    /// Ledger of the secondary node with the instance, if there is one.
    pub secondary: Option<Ledger>,
}

/// Nodes and instances of a group, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// Its nodes.
    pub nodes: Vec<NodeIdx>,
    /// The instances whose primary node is one of them.
    pub instances: Vec<InstanceIdx>,
}

impl Cluster {
    /// Drops cached results after a change.
    pub(super) fn forget_derived(&mut self) {
        self.group_reserves.forget();
        self.kept_room.forget();
    }

    /// Tells if utilisation was measured; otherwise each instance counts 1.
    pub fn is_load_measured(&self) -> bool {
        self.instances.iter().any(|instance| instance.util != Utilisation::default())
    }

    /// A node by index.
    pub fn node(&self, idx: NodeIdx) -> &Node {
        &self.nodes[idx.get()]
    }

    /// An instance by index.
    pub fn instance(&self, idx: InstanceIdx) -> &Instance {
        &self.instances[idx.get()]
    }

    /// A group by index.
    pub fn group(&self, idx: GroupIdx) -> &Group {
        &self.groups[idx.get()]
    }

    /// The number under which a node is shown.
    pub fn node_number(&self, idx: NodeIdx) -> usize {
        idx.get() + self.first_node_number as usize
    }

    /// All nodes, in order.
    pub fn all_nodes(&self) -> Vec<NodeIdx> {
        self.nodes.iter().map(|n| n.spec.idx).collect()
    }

    /// All instances, in order.
    pub fn all_instances(&self) -> Vec<InstanceIdx> {
        self.instances.iter().map(|i| i.idx).collect()
    }

    /// The nodes of a group, in order.
    pub fn nodes_of(&self, group: GroupIdx) -> &[NodeIdx] {
        &self.group(group).nodes
    }

    /// The instances of a group: those whose primary node is in it, in order.
    pub fn instances_of(&self, group: GroupIdx) -> Vec<InstanceIdx> {
        self.instances_on(self.nodes_of(group))
    }

    /// The instances whose primary node is one of `nodes`, in order. The cost depends on these nodes only, not on the
    /// cluster.
    pub fn instances_on(&self, nodes: &[NodeIdx]) -> Vec<InstanceIdx> {
        let nodes = || nodes.iter().map(|node| self.node(*node));
        let planned = nodes().flat_map(|node| {
            let is_primary = |i: &&InstanceIdx| self.instance(**i).primary == node.spec.idx;
            node.state.planned.iter().filter(is_primary)
        });
        let mut instances: Vec<InstanceIdx> =
            nodes().flat_map(|node| &node.state.primaries).chain(planned).copied().collect();
        instances.sort_unstable();
        instances.dedup();
        instances
    }

    /// The instances that have one of `nodes` as primary, or as secondary of a mirrored template, in order.
    pub fn residents(&self, nodes: &[NodeIdx]) -> Vec<InstanceIdx> {
        let states = nodes.iter().map(|node| &self.node(*node).state);
        let lists = states.flat_map(|state| [&state.primaries, &state.secondaries, &state.planned]);
        let mut residents: Vec<InstanceIdx> = lists.flatten().copied().collect();
        residents.sort_unstable();
        residents.dedup();
        residents
    }

    /// The nodes and instances of every group, in one pass: the same as [`nodes_of`](Self::nodes_of) and
    /// [`instances_of`](Self::instances_of) for each.
    pub fn members(&self) -> Vec<Members> {
        let mut members: Vec<Members> =
            self.groups.iter().map(|g| Members { nodes: g.nodes.clone(), instances: Vec::new() }).collect();
        for instance in &self.instances {
            members[self.node(instance.primary).spec.group.get()].instances.push(instance.idx);
        }
        members
    }

    /// Groups that have nodes, in order.
    pub fn groups_with_nodes(&self) -> Vec<GroupIdx> {
        self.groups.iter().filter(|g| !g.nodes.is_empty()).map(|g| g.idx).collect()
    }

    /// A flag for each node of the cluster: true if it is one of `nodes`.
    pub fn mask(&self, nodes: &[NodeIdx]) -> Vec<bool> {
        let mut mask = vec![false; self.nodes.len()];
        nodes.iter().for_each(|n| mask[n.get()] = true);
        mask
    }

    /// Tells if primary and secondary of an instance are in different groups.
    pub fn is_split(&self, instance: &Instance) -> bool {
        let group = |n: NodeIdx| self.node(n).spec.group;
        instance.secondary.is_some_and(|s| group(s) != group(instance.primary))
    }

    /// Instances whose two nodes are in different groups, in order.
    pub fn split_instances(&self) -> Vec<InstanceIdx> {
        self.instances.iter().filter(|i| self.is_split(i)).map(|i| i.idx).collect()
    }

    /// Number of location tags that two nodes have in common.
    pub fn common_locations(&self, a: NodeIdx, b: NodeIdx) -> i64 {
        self.node(a).spec.location_tags.common(&self.node(b).spec.location_tags)
    }
}
