//! Hosts as nodes.

use super::{MovableUnit, needed};
use crate::bridges::instances::allowed::APART;
use htools_ganeti::load::raw::{RawCluster, RawGroup, RawNode};
use htools_model::known_tags::{EXCLUSION, STANDBY};
use htools_model::{
    AllocPolicy, DiskParameters, DiskTemplate, GroupIdx, InstancePolicy, InstanceSpec, Mib, Outage, SpecRange,
};
use htools_pacemaker::capacity::Capacities;
use htools_pacemaker::index::{AttributeIdx, HostIdx};
use htools_pacemaker::quantity::MeasuredCapacity;
use htools_pacemaker::working_set::WorkingSet;

/// Name of the only group.
const GROUP: &str = "pacemaker";

/// Maximum number of virtual CPUs of the initial size of new instances, because the size shrinks in steps of one.
const MOST_VCPUS: i64 = 1 << 16;

/// The utilization attributes that become memory and virtual CPUs.
pub(super) struct Measures {
    memory: Option<AttributeIdx>,
    disk: Option<AttributeIdx>,
    vcpus: Option<AttributeIdx>,
}

impl Measures {
    pub(super) fn of(set: &WorkingSet) -> Measures {
        Measures {
            memory: MeasuredCapacity::Memory.attribute(set),
            disk: MeasuredCapacity::Disk.attribute(set),
            vcpus: MeasuredCapacity::Vcpus.attribute(set),
        }
    }

    pub(super) fn memory(&self, capacities: &Capacities) -> i64 {
        self.memory.map_or(0, |kind| capacities.get(kind))
    }

    pub(super) fn disk(&self, capacities: &Capacities) -> i64 {
        self.disk.map_or(0, |kind| capacities.get(kind))
    }

    pub(super) fn vcpus(&self, capacities: &Capacities) -> i64 {
        self.vcpus.map_or(0, |kind| capacities.get(kind))
    }

    /// Kinds of capacity that no rule for nodes and instances covers. These include disks of instances on shared
    /// storage, because the nodes do not have them.
    pub(super) fn unmeasured<'a>(&self, set: &'a WorkingSet) -> impl Iterator<Item = AttributeIdx> + use<'a> {
        let measured = [self.memory, self.vcpus];
        set.attribute_indices().filter(move |kind| !measured.contains(&Some(*kind)))
    }
}

/// The cluster without its instances. `extra` is the capacity that each host has besides.
pub(super) fn raw(
    set: &WorkingSet,
    measures: &Measures,
    units: &[MovableUnit],
    extra: &[Capacities],
) -> RawCluster {
    let room = set.room();
    let mut used = vec![0; set.hosts.len()];
    let mut sizes = Vec::with_capacity(units.len());
    for unit in units {
        let needed = needed(set, &unit.members);
        let size =
            UnitSize { memory: measures.memory(&needed).max(0), vcpus: measures.vcpus(&needed).max(0) };
        used[unit.host.get()] += size.memory;
        sizes.push(size);
    }
    let node = |host: HostIdx| {
        let at = host.get();
        let mut left = room[at].clone();
        left.charge(&extra[at]);
        raw_node(set, host, measures, &left, used[at])
    };
    let policy = policy(&sizes);
    RawCluster {
        name: set.name().map(str::to_owned),
        nodes: set.host_indices().map(node).collect(),
        groups: vec![RawGroup {
            name: GROUP.to_owned(),
            uuid: GROUP.to_owned(),
            alloc_policy: AllocPolicy::Preferred,
            networks: Vec::new(),
            // Every size is accepted.
            policy: InstancePolicy { ranges: Vec::new(), ..policy.clone() },
            disk_parameters: DiskParameters::default(),
            tags: Vec::new(),
        }],
        tags: vec![format!("{EXCLUSION}{APART}")],
        policy,
        ..RawCluster::default()
    }
}

/// A host as a node: its capacity, the part left for instances, and the memory that they use.
#[allow(clippy::cast_precision_loss)] // amounts are far below 2^53
fn raw_node(set: &WorkingSet, host: HostIdx, measures: &Measures, left: &Capacities, used: i64) -> RawNode {
    let node = set.host(host);
    let capacity = &node.capacity;
    // Ganeti's rules keep the last MiB of a node free, but Pacemaker's do not.
    let memory = measures.memory(capacity).saturating_add(1).max(1);
    let own = memory.saturating_sub(measures.memory(left).saturating_add(1));
    let (cpus, cpus_left) = (measures.vcpus(capacity).max(0), measures.vcpus(left));
    let disk = measures.disk(capacity).max(1);
    RawNode {
        name: node.name.clone(),
        mem_total: memory as f64,
        mem_node: Mib(own),
        mem_free: Mib(memory.saturating_sub(own).saturating_sub(used)),
        disk_total: disk as f64,
        disk_free: Mib(disk),
        // With 0 CPUs the ratio must refuse even a single virtual CPU.
        cpu_total: if cpus == 0 { 0.5 } else { cpus as f64 },
        cpu_node: cpus.saturating_sub(cpus_left),
        cpu_speed: 1.0,
        spindle_total: 1,
        spindle_free: 0,
        exclusive_storage: false,
        // Nothing is moved to guest nodes, remote nodes and containers, or away from them.
        offline: !node.state.available() || node.guest.is_some(),
        outage: if node.state.standby { Outage::Drained } else { Outage::Marked },
        // Any node can be the coordinator.
        master: false,
        group: GroupIdx::new(0),
        tags: node.state.standby.then(|| format!("{STANDBY}{GROUP}")).into_iter().collect(),
        hypervisor: None,
    }
}

/// Memory in MiB and virtual CPUs of a unit, each at least 0.
struct UnitSize {
    memory: i64,
    vcpus: i64,
}

/// A policy whose largest new instance is as large as the largest unit, and whose standard instance is as large as the
/// mean.
fn policy(sizes: &[UnitSize]) -> InstancePolicy {
    let spec = |memory: i64, cpus: i64| InstanceSpec {
        memory: Mib(memory),
        cpus,
        disk_size: Mib(0),
        disk_count: 0,
        nic_count: 0,
        spindle_use: 0,
    };
    let largest = |side: fn(&UnitSize) -> i64| sizes.iter().map(side).max().unwrap_or(0);
    let count = i64::try_from(sizes.len()).unwrap_or(i64::MAX).max(1);
    let average = |side: fn(&UnitSize) -> i64| {
        let sum = sizes.iter().map(side).fold(0, i64::saturating_add);
        sum / count + i64::from(sum % count > 0)
    };
    InstancePolicy {
        ranges: vec![SpecRange {
            min: spec(0, 0),
            max: spec(largest(|size| size.memory), largest(|size| size.vcpus).min(MOST_VCPUS)),
        }],
        std: spec(average(|size| size.memory), average(|size| size.vcpus)),
        disk_templates: vec![DiskTemplate::Ext],
        vcpu_ratio: 1.0,
        spindle_ratio: 1.0,
    }
}
