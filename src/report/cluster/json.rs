//! The state of a cluster in documents.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::nodes::NodeMemory;
use crate::model::{Cluster, Group, InstanceIdx, InstancePolicy, InstanceSpec, NodeIdx};

/// A cluster at one time, or the part of it that a tool worked on.
///
/// This is a copy of the cluster, converted to JSON object by object while the document is written. A complete view of
/// a million instances would take more memory than the cluster itself.
#[derive(Debug, Clone)]
pub(crate) struct ClusterView {
    cluster: Cluster,
    nodes: Vec<NodeIdx>,
    instances: Vec<InstanceIdx>,
}

/// Nodes of a cluster at one time: a copy of the cluster, as in [`ClusterView`].
#[derive(Debug, Clone, Default)]
pub(crate) struct NodesView(Option<(Cluster, Vec<NodeIdx>)>);

#[derive(Debug, Clone, Serialize)]
struct GroupView<'c> {
    name: &'c str,
    uuid: &'c str,
    alloc_policy: &'static str,
    networks: &'c [String],
    policy: Policy,
    tags: &'c [String],
}

#[derive(Debug, Clone, Serialize)]
struct Policy {
    vcpu_ratio: f64,
    spindle_ratio: f64,
    disk_templates: Vec<&'static str>,
    standard: Specification,
    ranges: Vec<RangeView>,
}

#[derive(Debug, Clone, Serialize)]
struct RangeView {
    min: Specification,
    max: Specification,
}

#[derive(Debug, Clone, Serialize)]
struct Specification {
    memory: i64,
    vcpus: i64,
    disk: i64,
    disks: i64,
    nics: i64,
    spindle_use: i64,
}

#[derive(Debug, Clone, Serialize)]
struct NodeView<'c> {
    name: &'c str,
    group: &'c str,
    offline: bool,
    master: bool,
    n1_fail: bool,
    memory: NodeMemory,
    disk: DiskView,
    cpu: CpuView,
    spindles: SpindlesView,
    load: LoadView,
    primaries: Vec<&'c str>,
    secondaries: Vec<&'c str>,
    tags: &'c [String],
}

#[derive(Debug, Clone, Serialize)]
struct DiskView {
    total: f64,
    free: i64,
}

#[derive(Debug, Clone, Serialize)]
struct CpuView {
    physical: f64,
    virtual_in_use: i64,
    speed: f64,
}

#[derive(Debug, Clone, Serialize)]
struct SpindlesView {
    total: i64,
    used: f64,
    free: i64,
    exclusive_storage: bool,
}

#[derive(Debug, Clone, Serialize)]
struct LoadView {
    cpu: f64,
    memory: f64,
    disk: f64,
    network: f64,
}

#[derive(Debug, Clone, Serialize)]
struct InstanceView<'c> {
    name: &'c str,
    primary: &'c str,
    secondary: Option<&'c str>,
    status: &'static str,
    disk_template: &'static str,
    spindle_use: i64,
    spindles: Option<i64>,
    memory: i64,
    disk: i64,
    vcpus: i64,
    auto_balance: bool,
    forthcoming: bool,
    load: LoadView,
    tags: &'c [String],
}

impl ClusterView {
    /// The state of a cluster.
    pub(crate) fn whole(cluster: &Cluster) -> ClusterView {
        ClusterView::of(cluster, &cluster.all_nodes(), &cluster.all_instances())
    }

    /// The state of some nodes and instances of a cluster.
    pub(crate) fn of(cluster: &Cluster, nodes: &[NodeIdx], instances: &[InstanceIdx]) -> ClusterView {
        ClusterView { cluster: cluster.clone(), nodes: nodes.to_vec(), instances: instances.to_vec() }
    }
}

impl NodesView {
    /// The state of some nodes of a cluster.
    pub(crate) fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> NodesView {
        NodesView((!nodes.is_empty()).then(|| (cluster.clone(), nodes.to_vec())))
    }
}

impl Serialize for ClusterView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cluster = &self.cluster;
        let mut view = serializer.serialize_struct("ClusterView", 6)?;
        view.serialize_field("tags", &cluster.tags)?;
        view.serialize_field("common_suffix", &cluster.common_suffix)?;
        view.serialize_field("policy", &policy(&cluster.policy))?;
        view.serialize_field("groups", &StreamedList(|| cluster.groups.iter().map(group)))?;
        view.serialize_field("nodes", &StreamedList(|| self.nodes.iter().map(|n| node(cluster, *n))))?;
        view.serialize_field(
            "instances",
            &StreamedList(|| self.instances.iter().map(|i| instance(cluster, *i))),
        )?;
        view.end()
    }
}

impl Serialize for NodesView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nodes = self.0.iter().flat_map(|(cluster, nodes)| nodes.iter().map(|n| node(cluster, *n)));
        serializer.collect_seq(nodes)
    }
}

/// A list whose items are made one after another while it is written.
struct StreamedList<F>(F);

impl<T: Serialize, I: Iterator<Item = T>, F: Fn() -> I> Serialize for StreamedList<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

fn group(group: &Group) -> GroupView<'_> {
    GroupView {
        name: &group.name,
        uuid: &group.uuid,
        alloc_policy: group.alloc_policy.as_str(),
        networks: &group.networks,
        policy: policy(&group.policy),
        tags: &group.tags,
    }
}

fn policy(policy: &InstancePolicy) -> Policy {
    Policy {
        vcpu_ratio: policy.vcpu_ratio,
        spindle_ratio: policy.spindle_ratio,
        disk_templates: policy.disk_templates.iter().map(|t| t.as_str()).collect(),
        standard: specification(&policy.std),
        ranges: policy
            .ranges
            .iter()
            .map(|r| RangeView { min: specification(&r.min), max: specification(&r.max) })
            .collect(),
    }
}

fn specification(spec: &InstanceSpec) -> Specification {
    let InstanceSpec { memory, cpus, disk_size, disk_count, nic_count, spindle_use } = *spec;
    Specification {
        memory: memory.0,
        vcpus: cpus,
        disk: disk_size.0,
        disks: disk_count,
        nics: nic_count,
        spindle_use,
    }
}

fn load(util: &crate::model::Utilisation) -> LoadView {
    LoadView { cpu: util.cpu, memory: util.mem, disk: util.disk, network: util.net }
}

fn node(cluster: &Cluster, idx: NodeIdx) -> NodeView<'_> {
    let node = cluster.node(idx);
    let crate::model::Node { spec, state } = node;
    let ledger = &state.ledger;
    let names = |list: &[InstanceIdx]| list.iter().map(|i| cluster.instance(*i).name.as_str()).collect();
    NodeView {
        name: &spec.name,
        group: &cluster.group(spec.group).name,
        offline: spec.offline,
        master: spec.master,
        n1_fail: ledger.n1_fail,
        memory: NodeMemory::of(node),
        disk: DiskView { total: spec.disk_total, free: ledger.disk_free.0 },
        cpu: CpuView { physical: spec.cpu_total, virtual_in_use: ledger.vcpus, speed: spec.cpu_speed },
        spindles: SpindlesView {
            total: spec.spindle_total,
            used: ledger.spindles_used,
            free: ledger.spindles_free,
            exclusive_storage: spec.exclusive_storage,
        },
        load: load(&ledger.load),
        primaries: names(&state.primaries),
        secondaries: names(&state.secondaries),
        tags: &spec.tags,
    }
}

fn instance(cluster: &Cluster, idx: InstanceIdx) -> InstanceView<'_> {
    let i = cluster.instance(idx);
    let name = |n: NodeIdx| cluster.node(n).spec.name.as_str();
    InstanceView {
        name: &i.name,
        primary: name(i.primary),
        secondary: i.secondary.map(name),
        status: i.status.as_str(),
        disk_template: i.template.as_str(),
        spindle_use: i.spindle_use,
        spindles: i.spindles,
        memory: i.mem.0,
        disk: i.disk.0,
        vcpus: i.vcpus,
        auto_balance: i.auto_balance,
        forthcoming: i.forthcoming,
        load: load(&i.util),
        tags: &i.tags,
    }
}
