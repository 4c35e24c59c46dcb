//! Nodes: [`NodeSpec`] is fixed after loading. [`NodeState`], with the numbers in its [`Ledger`], changes with the
//! instances.

use super::carried_keys::KeyIdx;
use super::index::{GroupIdx, InstanceIdx, NodeIdx};
use super::instance::Instance;
use super::kinds::Hypervisor;
use super::node_reserve::JointReserve;
use super::peers::PeerMap;
use super::storage::DerivedPools;
use super::tags::{Occurrences, TagId, TagSet};
use super::units::{Mib, trunc_to_i64};
use super::use_limits::UseLimits;
use super::utilisation::Utilisation;

/// Reason that a node is out of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outage {
    /// Marked offline, or not able to run instances; also if the source does not say more.
    #[default]
    Marked,
    /// Drained but answering: its instances can be reached.
    Drained,
    /// Not answering, and not marked by anybody: its instances may still run.
    Silent,
}

/// The part of a node that is fixed after loading.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// Its own index.
    pub idx: NodeIdx,
    /// Full name.
    pub name: String,
    /// Length of the alias: the name without the common domain suffix.
    pub alias_len: usize,
    /// Total memory in MiB.
    pub mem_total: f64,
    /// Memory used by the node itself.
    pub mem_node: Mib,
    /// Free memory as the source reported it; never updated (see [`Node::mem_free`]).
    pub mem_free: Mib,
    /// Memory that is unaccounted for right after loading: total minus node, instances and reported free memory. May be
    /// negative.
    pub mem_unaccounted: Mib,
    /// Total disk in MiB.
    pub disk_total: f64,
    /// Disk that strict placement keeps free (`--min-disk`).
    pub disk_low: Mib,
    /// Number of other nodes whose loss at once strict placement provides memory for (`--keep-reserve`). 1 means N+1,
    /// which always counts.
    pub joint_losses: usize,
    /// Limits of its use that the user has set.
    pub limits: UseLimits,
    /// Physical CPUs.
    pub cpu_total: f64,
    /// Load of processors that keeps all of its CPUs busy, in the unit of the instances' load: the number of CPUs, unless
    /// the load is in shares of a node.
    pub cpu_load_full: f64,
    /// Virtual CPUs used by the node's own operating system.
    pub cpu_node: i64,
    /// Relative speed of its CPUs.
    pub cpu_speed: f64,
    /// Maximum virtual CPUs per physical CPU (policy, or `--max-cpu`).
    pub vcpu_ratio: f64,
    /// Spindles.
    pub spindle_total: i64,
    /// Maximum spindle weight: the policy's ratio times the spindles.
    pub spindle_limit: f64,
    /// True if disks are allocated by whole spindles.
    pub exclusive_storage: bool,
    /// Offline, drained, not able to run instances, or marked so with `-O`.
    pub offline: bool,
    /// Reason that it is offline, if it is.
    pub outage: Outage,
    /// True if strict placement gives it nothing more (`--no-target`, `--exclude-tag`). It keeps what it has, and counts
    /// for the loss of another node.
    pub closed: bool,
    /// True if it is the master node.
    pub master: bool,
    /// Its group.
    pub group: GroupIdx,
    /// All its tags.
    pub tags: Vec<String>,
    /// Its hypervisor, if known.
    pub hypervisor: Option<Hypervisor>,
    /// Migration tags.
    pub migration_tags: TagSet,
    /// Migration tags of the nodes from which it can receive instances.
    pub receivable_tags: TagSet,
    /// Location tags (power feeds, racks, ...).
    pub location_tags: TagSet,
    /// Tags that it offers to instances: its storage pools, if tags name any, and one tag for each group of instances
    /// that may run here but not everywhere.
    pub offers: TagSet,
    /// The pools of instances that name none and run here.
    pub derived_pools: DerivedPools,
}

impl NodeSpec {
    /// Tells if a mirrored instance has its primary role here, so that its disk is here too. Instances that do not exist
    /// yet have no secondary.
    pub(crate) fn is_left_by(&self, instance: &Instance) -> bool {
        instance.primary == self.idx && instance.secondary.is_some()
    }

    /// The name without the domain suffix common to all nodes and instances.
    pub fn alias(&self) -> &str {
        &self.name[..self.alias_len]
    }

    /// Memory available to instances: total minus the node's own and unaccounted memory. Negative unaccounted memory
    /// does not add to it.
    pub fn mem_for_instances(&self) -> Mib {
        Mib(trunc_to_i64(self.mem_total)) - self.mem_node - self.mem_unaccounted.max(Mib::ZERO)
    }

    /// Cost that an instance adds to this node's location sum as a primary: its location score, and its preferred
    /// locations that the node is not in.
    pub fn location_cost(&self, instance: &Instance, location_score: i64) -> i64 {
        location_score + instance.desired_locations.missing_in(&self.location_tags)
    }

    /// Tells if instances can migrate from here to `target`.
    pub fn can_migrate_to(&self, target: &NodeSpec) -> bool {
        self.migration_tags.is_subset(&target.receivable_tags)
    }
}

/// The numbers of a node that change with its instances. "Planned" values also count forthcoming instances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ledger {
    /// Memory in use by primaries (column imem).
    pub mem_instances: Mib,
    /// Largest amount reserved here for the failure of one other node (rmem).
    pub mem_reserved: Mib,
    /// Reserve for the loss of several other nodes at once.
    pub joint: JointReserve,
    /// N+1 failure: unallocated memory does not exceed the reserve.
    pub n1_fail: bool,
    /// Free memory if all planned instances existed and all ran.
    pub mem_free_planned: Mib,
    /// Free disk.
    pub disk_free: Mib,
    /// Free disk, planned view.
    pub disk_free_planned: Mib,
    /// Virtual CPUs in use, the node's own included.
    pub vcpus: i64,
    /// The same, planned view.
    pub vcpus_planned: i64,
    /// Spindle weight in use (nodes without exclusive storage).
    pub spindles_used: f64,
    /// The same, planned view.
    pub spindles_used_planned: f64,
    /// Free spindles (nodes with exclusive storage).
    pub spindles_free: i64,
    /// The same, planned view.
    pub spindles_free_planned: i64,
    /// Dynamic load. It is kept by additions and subtractions, so its last bits depend on their order.
    pub load: Utilisation,
    /// Primaries beyond the first of each exclusion tag.
    pub tag_conflicts: i64,
    /// Location costs of all primaries.
    pub location_sum: i64,
    /// Cost of the affinity keys of all primaries: minus their worth, in [`WORTH_PARTS`](super::WORTH_PARTS).
    pub key_cost: i64,
    /// Number of existing primaries.
    pub primaries: i64,
    /// Number of existing secondaries.
    pub secondaries: i64,
}

impl Ledger {
    /// Memory not allocated to any instance (column umem).
    pub fn mem_unallocated(&self, spec: &NodeSpec) -> Mib {
        spec.mem_for_instances() - self.mem_instances
    }

    /// Unallocated memory beyond the reserve (column amem).
    pub fn mem_available(&self, spec: &NodeSpec) -> Mib {
        (self.mem_unallocated(spec) - self.mem_reserved).max(Mib::ZERO)
    }

    /// Recomputes the N+1 flag: `unallocated <= reserved`.
    pub fn update_n1(&mut self, spec: &NodeSpec) {
        self.n1_fail = self.mem_unallocated(spec) <= self.mem_reserved;
    }

    /// Free disk (with exclusive storage, free spindles) over the total; 1 if the total is 0.
    pub fn free_disk_ratio(&self, spec: &NodeSpec) -> f64 {
        disk_ratio(spec, self.disk_free, self.spindles_free)
    }

    /// The same, planned view.
    pub(crate) fn free_disk_ratio_planned(&self, spec: &NodeSpec) -> f64 {
        disk_ratio(spec, self.disk_free_planned, self.spindles_free_planned)
    }
}

fn disk_ratio(spec: &NodeSpec, disk_free: Mib, spindles_free: i64) -> f64 {
    let (free, total) = if spec.exclusive_storage {
        (spindles_free as f64, spec.spindle_total as f64)
    } else {
        (disk_free.as_f64(), spec.disk_total)
    };
    if total == 0.0 { 1.0 } else { free / total }
}

/// Everything about a node that changes with its instances.
#[derive(Debug, Clone)]
pub struct NodeState {
    /// The numbers.
    pub ledger: Ledger,
    /// Existing primary instances, oldest first.
    pub primaries: Vec<InstanceIdx>,
    /// Existing secondary instances, oldest first.
    pub secondaries: Vec<InstanceIdx>,
    /// Forthcoming instances that have it as primary or secondary node.
    pub planned: Vec<InstanceIdx>,
    /// Memory reserved here by primary node.
    pub peers: PeerMap,
    /// Primaries by exclusion tag, forthcoming ones included.
    pub tag_count: Occurrences<TagId>,
    /// Affinity keys: the node's own, and those that its primaries carry.
    pub key_count: Occurrences<KeyIdx>,
}

/// A node.
#[derive(Debug, Clone)]
pub struct Node {
    /// The fixed part.
    pub spec: NodeSpec,
    /// The part that changes.
    pub state: NodeState,
}

/// State of a node against its group's policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyHealth {
    /// Within all ratios.
    Fine,
    /// More spindle weight than allowed.
    TooManySpindles,
    /// More virtual CPUs than allowed.
    TooManyCpus,
}

impl Node {
    /// Free memory that the node would report with its present instances. Memory unaccounted for at loading stays so,
    /// and a state saved after moves loads back unchanged.
    pub fn mem_free(&self) -> Mib {
        let spec = &self.spec;
        Mib(trunc_to_i64(spec.mem_total))
            - spec.mem_node
            - self.state.ledger.mem_instances
            - spec.mem_unaccounted
    }

    /// State against the policy; spindles are checked first.
    pub fn policy_health(&self) -> PolicyHealth {
        let ledger = &self.state.ledger;
        if ledger.spindles_used > self.spec.spindle_limit {
            PolicyHealth::TooManySpindles
        } else if ledger.vcpus as f64 / self.spec.cpu_total > self.spec.vcpu_ratio {
            PolicyHealth::TooManyCpus
        } else {
            PolicyHealth::Fine
        }
    }
}
