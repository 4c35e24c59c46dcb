//! Storage pools: the pools of each instance's disks, the nodes and groups that reach them, and so the groups between
//! which an instance can move.
//!
//! docs/groups.md explains the rules with examples.

mod parameters;
mod reach;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

pub use super::known_tags::{DENY, POOL};
pub use parameters::{DiskParameters, GlusterVolume};
pub use reach::{DerivedPools, GroupOffers, named_pools};

use super::cluster::{Cluster, Group};
use super::index::{GroupIdx, InstanceIdx, NodeIdx, PoolIdx};
use super::instance::Instance;
use super::kinds::DiskTemplate;
use super::node::NodeSpec;

/// Location of storage: inside or outside the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageType {
    /// Disks in the nodes.
    Internal,
    /// External disks that several nodes reach.
    External,
}

impl fmt::Display for StorageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StorageType::Internal => "internal",
            StorageType::External => "external",
        })
    }
}

/// A storage pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pool {
    /// Its type.
    pub storage: StorageType,
    /// Its name. Internal pools are `lvm` or `file`. External pools have the name given by tags, or else one made from
    /// the template and the disk parameters of the group.
    pub name: String,
}

impl Pool {
    fn internal(name: &str) -> Pool {
        Pool { storage: StorageType::Internal, name: name.to_owned() }
    }

    fn external(name: &str) -> Pool {
        Pool { storage: StorageType::External, name: name.to_owned() }
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.storage, self.name)
    }
}

/// The groups that reach a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The pool.
    pub pool: PoolIdx,
    /// The groups, in order.
    pub groups: Vec<GroupIdx>,
    /// Number of instances whose disks are in the pool.
    pub instances: usize,
    /// True if a tag names the pool.
    pub named: bool,
}

/// A set of pools, ascending.
type Pools = Vec<PoolIdx>;

/// The storage of a cluster.
#[derive(Debug, Clone)]
pub struct StorageMap {
    /// The pools, by type and name.
    pub pools: Vec<Pool>,
    /// For each instance, the position of its pools in `sets`.
    instances: Vec<u32>,
    /// The distinct sets of pools of instances.
    sets: Vec<Pools>,
    /// For each instance, its disk template if its pools follow from its node and template.
    concluded: Vec<Option<DiskTemplate>>,
    nodes: Vec<Pools>,
    /// For each node, the external pools that tags name.
    declared: Vec<Pools>,
    /// By node: its group.
    home: Vec<GroupIdx>,
    groups: Vec<Pools>,
    /// For each group, the pool of each template if no tag names one; known pools only.
    usual: Vec<Vec<(DiskTemplate, PoolIdx)>>,
    named: BTreeSet<PoolIdx>,
}

/// The pools that tags name.
fn named(tags: &[String]) -> impl Iterator<Item = &str> {
    tags.iter().filter_map(|tag| tag.strip_prefix(POOL)).filter(|name| !name.is_empty())
}

/// The external pools that tags of a node and its group name.
fn declared(cluster: &Cluster, node: &NodeSpec) -> BTreeSet<Pool> {
    named(&node.tags).chain(named(&cluster.group(node.group).tags)).map(Pool::external).collect()
}

/// The pools of an instance's disks. If its node reaches several and its tags do not say which it uses, it may use all.
fn pools_of(cluster: &Cluster, instance: &Instance) -> BTreeSet<Pool> {
    match instance.template {
        DiskTemplate::Diskless => return BTreeSet::new(),
        DiskTemplate::Drbd | DiskTemplate::Plain => return [Pool::internal("lvm")].into(),
        DiskTemplate::File => return [Pool::internal("file")].into(),
        _ => {}
    }
    let own: BTreeSet<Pool> = named(&instance.tags).map(Pool::external).collect();
    if !own.is_empty() {
        return own;
    }
    let node = &cluster.node(instance.primary).spec;
    let of_node = declared(cluster, node);
    if of_node.is_empty() {
        [usual_pool(cluster.group(node.group), instance.template)].into()
    } else {
        of_node
    }
}

/// The set of pools of each instance, as a position in the list of sets. Many instances share a set.
fn sets_of_pools(cluster: &Cluster) -> (Vec<u32>, Vec<BTreeSet<Pool>>) {
    let mut numbers: BTreeMap<BTreeSet<Pool>, u32> = BTreeMap::new();
    let mut number = |instance: &Instance| {
        let next = numbers.len() as u32;
        *numbers.entry(pools_of(cluster, instance)).or_insert(next)
    };
    // Instances of the same template on a node share a set, unless they have tags of their own.
    let mut usual: HashMap<(NodeIdx, DiskTemplate), u32> = HashMap::new();
    let number_of = |instance: &Instance| match named(&instance.tags).next() {
        Some(_) => number(instance),
        None => *usual.entry((instance.primary, instance.template)).or_insert_with(|| number(instance)),
    };
    let instances: Vec<u32> = cluster.instances.iter().map(number_of).collect();
    let mut sets = vec![BTreeSet::new(); numbers.len()];
    numbers.into_iter().for_each(|(set, number)| sets[number as usize] = set);
    (instances, sets)
}

/// The pool of a template in a group if no tag names one: the pool that Ganeti exports.
fn usual_pool(group: &Group, template: DiskTemplate) -> Pool {
    Pool::external(&group.disk_parameters.pool_name(template))
}

/// The disk template of an instance whose pools follow from its node and template.
fn concluded(instance: &Instance) -> Option<DiskTemplate> {
    let template = Some(instance.template).filter(|template| template.uses_external_storage());
    template.filter(|_| named(&instance.tags).next().is_none())
}

/// The internal pools that a group's policy lets instances use on a node.
fn internal_pools(group: &Group, node: &NodeSpec) -> Vec<Pool> {
    let allowed = |template| group.policy.disk_templates.contains(&template);
    let lvm = (allowed(DiskTemplate::Drbd) || allowed(DiskTemplate::Plain)) && node.disk_total > 0.0;
    let file = allowed(DiskTemplate::File);
    let pools = [(lvm, "lvm"), (file, "file")];
    pools.into_iter().filter(|(there, _)| *there).map(|(_, name)| Pool::internal(name)).collect()
}

/// The external pools that a group's nodes without pool tags reach: one for each disk template, and those of the
/// instances there.
fn usual_pools(group: &Group, of_instances: &BTreeSet<Pool>) -> BTreeSet<Pool> {
    let templates = group.policy.disk_templates.iter().filter(|t| t.uses_external_storage());
    let outside = of_instances.iter().filter(|pool| pool.storage == StorageType::External).cloned();
    templates.map(|t| usual_pool(group, *t)).chain(outside).collect()
}

impl StorageMap {
    /// Finds the pools of a cluster, and the nodes and groups that reach them.
    pub fn of(cluster: &Cluster) -> StorageMap {
        let (instances, sets) = sets_of_pools(cluster);
        let mut groups = vec![BTreeSet::new(); cluster.groups.len()];
        // Pools of the instances on nodes without pool tags.
        let mut seen = vec![BTreeSet::new(); cluster.groups.len()];
        let declared_at: Vec<BTreeSet<Pool>> =
            cluster.nodes.iter().map(|node| declared(cluster, &node.spec)).collect();
        let places: HashSet<(NodeIdx, u32)> =
            cluster.instances.iter().map(|i| i.primary).zip(instances.iter().copied()).collect();
        for (node, set) in places {
            let pools = &sets[set as usize];
            let group = cluster.node(node).spec.group;
            groups[group.get()].extend(pools.iter().cloned());
            if declared_at[node.get()].is_empty() {
                seen[group.get()].extend(pools.iter().cloned());
            }
        }
        let usual: Vec<BTreeSet<Pool>> =
            cluster.groups.iter().map(|g| usual_pools(g, &seen[g.idx.get()])).collect();
        let reach = |node: &NodeSpec| -> BTreeSet<Pool> {
            let declared = &declared_at[node.idx.get()];
            let at = node.group;
            let outside = if declared.is_empty() { usual[at.get()].clone() } else { declared.clone() };
            outside.into_iter().chain(internal_pools(cluster.group(at), node)).collect()
        };
        let nodes: Vec<BTreeSet<Pool>> = cluster.nodes.iter().map(|node| reach(&node.spec)).collect();
        for (node, pools) in cluster.nodes.iter().zip(&nodes) {
            groups[node.spec.group.get()].extend(pools.iter().cloned());
        }
        let all_tags = (cluster.groups.iter().map(|g| &g.tags[..]))
            .chain(cluster.nodes.iter().map(|n| &n.spec.tags[..]))
            .chain(cluster.instances.iter().map(|i| &i.tags[..]));
        let by_name: BTreeSet<Pool> = all_tags.flat_map(named).map(Pool::external).collect();
        let all = sets.iter().chain(&nodes).chain(&groups);
        let pools: BTreeSet<&Pool> = all.flatten().chain(&by_name).collect();
        let pools: Vec<Pool> = pools.into_iter().cloned().collect();
        let number = |pool: &Pool| PoolIdx::new(pools.partition_point(|other| other < pool));
        let numbered = |sets: &[BTreeSet<Pool>]| -> Vec<Pools> {
            sets.iter().map(|set| set.iter().map(number).collect()).collect()
        };
        let usual_of = |group: &Group| -> Vec<(DiskTemplate, PoolIdx)> {
            let outside = DiskTemplate::ALL.iter().filter(|t| t.uses_external_storage());
            let known = |t: &DiskTemplate| pools.binary_search(&usual_pool(group, *t)).ok();
            outside.filter_map(|t| Some((*t, PoolIdx::new(known(t)?)))).collect()
        };
        StorageMap {
            sets: numbered(&sets),
            instances,
            concluded: cluster.instances.iter().map(concluded).collect(),
            nodes: numbered(&nodes),
            declared: numbered(&declared_at),
            home: cluster.nodes.iter().map(|node| node.spec.group).collect(),
            usual: cluster.groups.iter().map(usual_of).collect(),
            groups: numbered(&groups),
            named: by_name.iter().map(number).collect(),
            pools,
        }
    }

    /// A pool by index.
    pub fn pool(&self, idx: PoolIdx) -> &Pool {
        &self.pools[idx.get()]
    }

    /// The pools of an instance's disks; empty if it has no disks.
    pub fn of_instance(&self, instance: InstanceIdx) -> &[PoolIdx] {
        &self.sets[self.instances[instance.get()] as usize]
    }

    /// The pools that a node reaches.
    pub(crate) fn of_node(&self, node: NodeIdx) -> &[PoolIdx] {
        &self.nodes[node.get()]
    }

    /// The pools that a group reaches: those of any of its nodes, and those of the instances there.
    pub fn of_group(&self, group: GroupIdx) -> &[PoolIdx] {
        &self.groups[group.get()]
    }

    /// Tells if a node reaches all disks of an instance. For internal disks, the node must have the same kind of
    /// storage. If the pools of an instance follow from its node, the same pools must follow on the new node; otherwise
    /// they would be lost track of.
    pub fn reaches(&self, node: NodeIdx, instance: InstanceIdx) -> bool {
        let pools = self.of_instance(instance);
        let declared = &self.declared[node.get()];
        let among = |known: &[PoolIdx]| pools.iter().all(|pool| known.contains(pool));
        match self.concluded[instance.get()] {
            Some(_) if !declared.is_empty() => among(declared),
            // Without tags, the group and the template determine the pool.
            Some(template) if pools.iter().any(|p| self.usual(node, template) != Some(*p)) => false,
            _ => among(self.of_node(node)),
        }
    }

    /// The pool of a template on a node if no tag names one.
    fn usual(&self, node: NodeIdx, template: DiskTemplate) -> Option<PoolIdx> {
        let usual = &self.usual[self.home[node.get()].get()];
        usual.iter().find(|(other, _)| *other == template).map(|(_, pool)| *pool)
    }

    /// A pool that the instance needs and the group does not reach, if there is one.
    pub fn missing(&self, group: GroupIdx, instance: InstanceIdx) -> Option<PoolIdx> {
        self.of_instance(instance).iter().copied().find(|pool| !self.of_group(group).contains(pool))
    }

    /// The first pool that two groups have in common.
    pub fn common(&self, a: GroupIdx, b: GroupIdx) -> Option<PoolIdx> {
        self.of_group(a).iter().copied().find(|pool| self.of_group(b).contains(pool))
    }

    /// The groups of each pool.
    pub fn partitions(&self) -> Vec<Partition> {
        let empty = |at: usize| {
            let pool = PoolIdx::new(at);
            Partition { pool, groups: Vec::new(), instances: 0, named: self.named.contains(&pool) }
        };
        let mut partitions: Vec<Partition> = (0..self.pools.len()).map(empty).collect();
        for (group, pools) in self.groups.iter().enumerate() {
            pools.iter().for_each(|pool| partitions[pool.get()].groups.push(GroupIdx::new(group)));
        }
        for pool in self.instances.iter().flat_map(|set| &self.sets[*set as usize]) {
            partitions[pool.get()].instances += 1;
        }
        partitions
    }
}

impl Cluster {
    /// Tells if no instance may change its group.
    pub fn denies_moves_between_groups(&self) -> bool {
        self.tags.iter().any(|tag| tag == DENY)
    }

    /// Tells if tags of the cluster or of the group forbid instances to leave the group.
    pub fn denies_leaving(&self, group: GroupIdx) -> bool {
        self.denies_moves_between_groups() || self.group(group).denies_moves_between_groups()
    }
}

impl Group {
    /// Tells if instances may not enter or leave this group.
    pub fn denies_moves_between_groups(&self) -> bool {
        self.tags.iter().any(|tag| tag == DENY)
    }

    /// Tells if the group is connected to all known networks of an instance.
    pub fn connects(&self, instance: &Instance) -> bool {
        instance.networks.iter().all(|network| self.networks.contains(network))
    }
}
