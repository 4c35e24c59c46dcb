//! Raw data of a cluster, as every source delivers it: references are resolved to indices, and nothing is derived.
//! [`merge`](super::merge) turns it into a [`Cluster`](htools_model::Cluster).

use crate::input::json::{Weight, text_size};
use htools_model::{
    AllocPolicy, Disk, DiskParameters, DiskTemplate, GroupIdx, Hypervisor, InstanceIdx, InstancePolicy, Mib,
    NodeIdx, Outage, RunStatus,
};

/// Amount of data to read from a live cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The data that all tools need: Ganeti's own programs ask for exactly this.
    #[default]
    Usual,
    /// Also the disk parameters of external storage.
    Storage,
}

/// A cluster as read from a source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawCluster {
    /// Name of the cluster, if the source has one.
    pub name: Option<String>,
    /// Node groups, in the order of the source.
    pub groups: Vec<RawGroup>,
    /// Nodes, in the order of the source.
    pub nodes: Vec<RawNode>,
    /// Instances, in the order of the source.
    pub instances: Vec<RawInstance>,
    /// Cluster tags.
    pub tags: Vec<String>,
    /// The cluster's own policy.
    pub policy: InstancePolicy,
    /// The number shown for the first node: 0, or 1 for simulated clusters.
    pub first_node_number: u32,
    /// Warnings for the user about the reading, one line each.
    pub warnings: Vec<String>,
    /// Implausible values, one line each: the place, the field and the value. Only the first ones are kept.
    pub doubts: Vec<String>,
    /// Nodes to which an instance on shared storage must not go, for reasons that only the source knows. Ganeti's
    /// sources have none.
    pub kept_out: Vec<(InstanceIdx, NodeIdx)>,
}

/// A node group as read from a source.
#[derive(Debug, Clone, PartialEq)]
pub struct RawGroup {
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
    /// Location of disks on external storage, if the source reports it and is asked for it.
    pub disk_parameters: DiskParameters,
    /// Its tags.
    pub tags: Vec<String>,
}

/// A node as read from a source.
#[derive(Debug, Clone, PartialEq)]
pub struct RawNode {
    /// Full name.
    pub name: String,
    /// Total memory in MiB; a real number, as in the sources.
    pub mem_total: f64,
    /// Memory used by the node itself.
    pub mem_node: Mib,
    /// Free memory as reported.
    pub mem_free: Mib,
    /// Total disk in MiB; a real number, as in the sources.
    pub disk_total: f64,
    /// Free disk as reported.
    pub disk_free: Mib,
    /// Physical CPUs.
    pub cpu_total: f64,
    /// Virtual CPUs used by the node's own operating system.
    pub cpu_node: i64,
    /// Relative speed of its CPUs.
    pub cpu_speed: f64,
    /// Spindles (a parameter, or physical ones with exclusive storage).
    pub spindle_total: i64,
    /// Free physical spindles (exclusive storage).
    pub spindle_free: i64,
    /// True if disks are allocated by whole spindles.
    pub exclusive_storage: bool,
    /// Offline, drained, or not able to run instances.
    pub offline: bool,
    /// Reason that it is offline, as far as the source says.
    pub outage: Outage,
    /// True if it is the master node.
    pub master: bool,
    /// Its group.
    pub group: GroupIdx,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its hypervisor, if the source names it.
    pub hypervisor: Option<Hypervisor>,
}

/// An instance as read from a source.
#[derive(Debug, Clone, PartialEq)]
pub struct RawInstance {
    /// Full name.
    pub name: String,
    /// Memory.
    pub mem: Mib,
    /// Total disk on each of its nodes.
    pub disk: Mib,
    /// Its disks. The text format has a single disk that stands for all.
    pub disks: Vec<Disk>,
    /// Virtual CPUs.
    pub vcpus: i64,
    /// State.
    pub status: RunStatus,
    /// True if balancing may move it and its secondary reserves memory for it.
    pub auto_balance: bool,
    /// Primary node.
    pub primary: NodeIdx,
    /// Secondary node, if the source names one.
    pub secondary: Option<NodeIdx>,
    /// Storage of its disks.
    pub template: DiskTemplate,
    /// Weight on the nodes' spindles.
    pub spindle_use: i64,
    /// Its tags.
    pub tags: Vec<String>,
    /// UUIDs of the networks of its interfaces, if known.
    pub networks: Vec<Option<String>>,
    /// Planned, not yet created.
    pub forthcoming: bool,
}

fn of_texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    texts.into_iter().map(|text| size_of::<String>() + text_size(text)).sum()
}

impl Weight for RawGroup {
    fn weight(&self) -> usize {
        let texts = of_texts([&self.name, &self.uuid]) + of_texts(&self.tags) + of_texts(&self.networks);
        texts + size_of_val(&*self.policy.ranges) + self.policy.disk_templates.len()
    }
}

impl Weight for RawNode {
    fn weight(&self) -> usize {
        text_size(&self.name) + of_texts(&self.tags)
    }
}

impl Weight for RawInstance {
    fn weight(&self) -> usize {
        let lists = of_texts(&self.tags) + size_of_val(&*self.disks) + size_of_val(&*self.networks);
        text_size(&self.name) + lists + of_texts(self.networks.iter().flatten())
    }
}
