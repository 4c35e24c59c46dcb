//! The groups of a cluster at a glance.

use super::health::{Condition, Health};
use htools_model::score::Board;
use htools_model::units::trunc_to_i64;
use htools_model::{Cluster, GroupIdx, NodeIdx, Partition, PoolIdx, StorageMap};

/// Sizes of some nodes together. What is offline has nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capacity {
    /// Nodes, offline ones included.
    pub nodes: usize,
    /// Of them offline.
    pub offline: usize,
    /// Memory.
    pub memory: Amounts,
    /// Disks in the nodes.
    pub disk: Amounts,
    /// Virtual CPUs: the total is what the policy's ratio makes of the physical ones.
    pub vcpus: Amounts,
}

/// How much there is of something, how much of it is in use, and how much is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// All of it.
    pub total: i64,
    /// What is not free.
    pub used: i64,
    /// What instances can still get.
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
    /// Adds the nodes up.
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
            // a negative ratio is no limit, which no number says: nothing is free then
            let limit = trunc_to_i64(spec.cpu_total * spec.vcpu_ratio);
            let vcpus = if spec.vcpu_ratio < 0.0 { ledger.vcpus } else { limit };
            sum.vcpus.add(vcpus, vcpus.wrapping_sub(ledger.vcpus));
        }
        sum
    }
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupStatus {
    /// The group.
    pub group: GroupIdx,
    /// Its nodes together.
    pub capacity: Capacity,
    /// Number of instances whose primary is in it.
    pub instances: usize,
    /// Its score, by itself.
    pub score: f64,
    /// What is wrong.
    pub condition: Condition,
    /// The pools that it reaches and that are of interest: in use, or named by a tag.
    pub pools: Vec<PoolIdx>,
}

impl GroupStatus {
    /// In one word.
    pub fn health(&self) -> Health {
        self.condition.health()
    }
}

/// A cluster's groups.
#[derive(Debug, Clone)]
pub struct GroupsStatus {
    /// All groups, in order.
    pub groups: Vec<GroupStatus>,
    /// All nodes together.
    pub capacity: Capacity,
    /// Number of instances.
    pub instances: usize,
    /// The score of all nodes together.
    pub score: f64,
    /// Instances whose two nodes are in different groups.
    pub split: usize,
    /// The storage.
    pub storage: StorageMap,
    /// Pools in use, or named by a tag, with the groups that reach them.
    pub partitions: Vec<Partition>,
    /// No instance may change its group.
    pub denied: bool,
}

impl GroupsStatus {
    /// Looks at a cluster.
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
