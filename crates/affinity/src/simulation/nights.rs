//! The nodes as a Ganeti cluster on shared storage, for hail, and for hbal's moves at night.

use super::tenants::Tenants;
use super::timeline::Timeline;
use crate::Fleet;
use htools_ganeti::load::merge::{MergeOptions, finish, merge};
use htools_ganeti::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools_model::{
    AllocPolicy, Cluster, DiskParameters, DiskTemplate, Draft, GroupIdx, InstancePolicy, Mib, NodeIdx,
    Outage, RunStatus,
};
use htools_search::BalanceOptions;
use htools_search::balance::run;

/// Disk template of the machines: external storage, so there is no secondary node.
pub(super) const TEMPLATE: DiskTemplate = DiskTemplate::Ext;
/// The only node group.
const GROUP: &str = "fleet";

/// Memory of a node that a machine must not use up: the memory that may be allocated, or the free memory if that is
/// less, without the overhead. This expresses the fleet's rule for a Ganeti cluster, where some of each node's memory
/// must stay free.
#[allow(clippy::cast_possible_truncation)] // `as` ends at the largest number
pub(super) fn room(fleet: &Fleet, node: usize) -> Mib {
    let details = &fleet.nodes[node];
    let promised = (details.ram_total.as_f64() * details.ram_ratio).ceil() as i64;
    Mib(promised.min(details.ram_free.0)) - fleet.options.overhead
}

/// The cluster with these machines on these nodes. Nodes have their positions in the fleet, and instances are in the
/// order of the machines.
pub(super) fn cluster(timeline: &Timeline, running: impl Iterator<Item = (usize, usize)>) -> Cluster {
    let fleet = timeline.fleet();
    let mut used = vec![Mib::ZERO; fleet.nodes.len()];
    let instance = |(rental, node): (usize, usize)| {
        let machine = timeline.machine(rental);
        used[node] += machine.ram;
        RawInstance {
            name: machine.name.clone(),
            mem: machine.ram,
            disk: Mib::ZERO,
            disks: Vec::new(),
            vcpus: i64::try_from(machine.vcpus).unwrap_or(i64::MAX),
            status: RunStatus::Running,
            auto_balance: true,
            primary: NodeIdx::new(node),
            secondary: None,
            template: TEMPLATE,
            spindle_use: 0,
            tags: Vec::new(),
            networks: Vec::new(),
            forthcoming: false,
        }
    };
    let instances: Vec<RawInstance> = running.map(instance).collect();
    let nodes = (0..fleet.nodes.len()).map(|at| raw_node(fleet, at, used[at])).collect();
    // Every size is accepted, and processors refuse nothing.
    let policy = InstancePolicy { ranges: Vec::new(), vcpu_ratio: -1.0, ..InstancePolicy::default() };
    let group = RawGroup {
        name: GROUP.to_owned(),
        uuid: GROUP.to_owned(),
        alloc_policy: AllocPolicy::Preferred,
        networks: Vec::new(),
        policy: policy.clone(),
        disk_parameters: DiskParameters::default(),
        tags: Vec::new(),
    };
    let raw = RawCluster { groups: vec![group], nodes, instances, policy, ..RawCluster::default() };
    let mut cluster = merge(raw, &MergeOptions::default()).expect("no instances are selected by name");
    finish(&mut cluster, Mib::ZERO);
    cluster
}

fn raw_node(fleet: &Fleet, at: usize, used: Mib) -> RawNode {
    let (details, room) = (&fleet.nodes[at], room(fleet, at));
    // A share of zero memory would not be a number.
    let memory = room.max(Mib(1));
    #[allow(clippy::cast_precision_loss)] // processors are far fewer than 2^53
    let cpu_total = details.cpus.max(1) as f64;
    RawNode {
        name: details.name.clone(),
        mem_total: memory.as_f64(),
        mem_node: Mib::ZERO,
        mem_free: memory - used,
        disk_total: 1024.0,
        disk_free: Mib(1024),
        cpu_total,
        cpu_node: 0,
        cpu_speed: 1.0,
        spindle_total: 1,
        spindle_free: 0,
        exclusive_storage: false,
        offline: !details.running || room <= Mib::ZERO,
        outage: Outage::default(),
        master: at == 0,
        group: GroupIdx::new(0),
        tags: Vec::new(),
        hypervisor: None,
    }
}

/// A move of a machine.
pub(super) struct NightMove {
    /// Number of the machine.
    pub(super) rental: usize,
    /// Position of its new node.
    pub(super) node: usize,
}

/// The moves of hbal with its default options, in order.
pub(super) fn moves(tenants: &Tenants<'_>) -> Vec<NightMove> {
    if tenants.running.is_empty() {
        return Vec::new();
    }
    let placed = tenants.running.iter().map(|(rental, node)| (*rental, *node));
    let mut draft = Draft::from(cluster(tenants.timeline, placed));
    let rentals: Vec<usize> = tenants.running.keys().copied().collect();
    let nodes = draft.all_nodes();
    let found = run(&mut draft, &nodes, BalanceOptions::default());
    let steps = found.steps.iter();
    steps
        .map(|step| NightMove { rental: rentals[step.instance.get()], node: step.to.primary.get() })
        .collect()
}
