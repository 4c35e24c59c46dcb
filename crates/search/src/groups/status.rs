//! Overview of the groups of a cluster.

use super::health::{Condition, Health};
use htools_model::score::Board;
use htools_model::units::trunc_to_i64;
use htools_model::{Cluster, GroupIdx, NodeIdx, Partition, PoolIdx, StorageMap};

/// Total capacity of some nodes. Offline nodes have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capacity {
    /// Number of nodes, including offline ones.
    pub nodes: usize,
    /// Number of offline nodes.
    pub offline: usize,
    /// Memory in MiB.
    pub memory: Amounts,
    /// Disk space of the nodes, in MiB.
    pub disk: Amounts,
    /// Virtual CPUs; the total is the number of physical ones times the policy's ratio.
    pub vcpus: Amounts,
}

/// Total, used and free amount of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// Total amount.
    pub total: i64,
    /// Amount that is not free.
    pub used: i64,
    /// Amount that is left for instances.
    pub free: i64,
}

impl Amounts {
    fn add(&mut self, total: i64, free: i64) {
        self.total = self.total.wrapping_add(total);
        self.free = self.free.wrapping_add(free);
        self.used = self.total.wrapping_sub(self.free);
    }
}

impl Capacity {
    /// Sums up the nodes.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> Capacity {
        let mut sum = Capacity::default();
        for node in nodes.iter().map(|n| cluster.node(*n)) {
            sum.nodes += 1;
            if node.spec.offline {
                sum.offline += 1;
                continue;
            }
            let (spec, ledger) = (&node.spec, &node.state.ledger);
            sum.memory.add(trunc_to_i64(spec.mem_total), ledger.mem_unallocated(spec).0);
            sum.disk.add(trunc_to_i64(spec.disk_total), ledger.disk_free.0);
            // A negative ratio means no limit, which has no number; nothing counts as free then.
            let limit = trunc_to_i64(spec.cpu_total * spec.vcpu_ratio);
            let vcpus = if spec.vcpu_ratio < 0.0 { ledger.vcpus } else { limit };
            sum.vcpus.add(vcpus, vcpus.wrapping_sub(ledger.vcpus));
        }
        sum
    }
}

/// State of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupStatus {
    /// The group.
    pub group: GroupIdx,
    /// Total capacity of its nodes.
    pub capacity: Capacity,
    /// Number of instances whose primary is in it.
    pub instances: usize,
    /// Score of the group alone.
    pub score: f64,
    /// Its problems.
    pub condition: Condition,
    /// The relevant pools that it reaches: those in use or named by a tag.
    pub pools: Vec<PoolIdx>,
}

impl GroupStatus {
    /// The health in one word.
    pub fn health(&self) -> Health {
        self.condition.health()
    }
}

/// State of all groups of a cluster.
#[derive(Debug, Clone)]
pub struct GroupsStatus {
    /// All groups, in order.
    pub groups: Vec<GroupStatus>,
    /// Total capacity of all nodes.
    pub capacity: Capacity,
    /// Number of instances.
    pub instances: usize,
    /// Score of all nodes together.
    pub score: f64,
    /// Instances whose two nodes are in different groups.
    pub split: usize,
    /// Storage pools and the nodes that reach them.
    pub storage: StorageMap,
    /// Pools in use, or named by a tag, with the groups that reach them.
    pub partitions: Vec<Partition>,
    /// True if no instance may change its group.
    pub denied: bool,
}

impl GroupsStatus {
    /// Examines a cluster.
    pub fn of(cluster: &Cluster) -> GroupsStatus {
        let storage = StorageMap::of(cluster);
        let mut partitions = storage.partitions();
        partitions.retain(|p| p.instances > 0 || p.named);
        let mut instances = vec![0; cluster.groups.len()];
        for instance in &cluster.instances {
            instances[cluster.node(instance.primary).spec.group.get()] += 1;
        }
        let group = |group: GroupIdx| {
            let nodes = cluster.nodes_of(group);
            let shown = |pool: &PoolIdx| partitions.binary_search_by_key(pool, |p| p.pool).is_ok();
            GroupStatus {
                group,
                capacity: Capacity::of(cluster, nodes),
                instances: instances[group.get()],
                score: Board::new(cluster, nodes).score(),
                condition: Condition::of(cluster, group, true),
                pools: storage.of_group(group).iter().copied().filter(shown).collect(),
            }
        };
        let nodes = cluster.all_nodes();
        GroupsStatus {
            groups: cluster.groups.iter().map(|g| group(g.idx)).collect(),
            capacity: Capacity::of(cluster, &nodes),
            instances: cluster.instances.len(),
            score: Board::new(cluster, &nodes).score(),
            split: cluster.split_instances().len(),
            denied: cluster.denies_moves_between_groups(),
            partitions,
            storage,
        }
    }

    /// The worst health of any group.
    pub fn health(&self) -> Health {
        self.groups.iter().map(GroupStatus::health).max().unwrap_or(Health::Healthy)
    }
}
