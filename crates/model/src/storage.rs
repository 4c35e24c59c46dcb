//! Storage pools: where the disks of each instance are, which nodes and groups reach
//! them, and so between which groups an instance can move.
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

/// Whether storage is a part of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageType {
    /// Disks in the nodes.
    Internal,
    /// Disks elsewhere, which several nodes reach.
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
    /// Its name: `lvm` or `file` in nodes, outside what tags call it, else
    /// by the template and the disk parameters of the group.
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

/// The groups that reach one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The pool.
    pub pool: PoolIdx,
    /// The groups, in order.
    pub groups: Vec<GroupIdx>,
    /// Number of instances whose disks are in the pool.
    pub instances: usize,
    /// Whether a tag names the pool.
    pub named: bool,
}

/// A set of pools; ascending.
type Pools = Vec<PoolIdx>;

/// The storage of a cluster.
#[derive(Debug, Clone)]
pub struct StorageMap {
    /// The pools, by type and name.
    pub pools: Vec<Pool>,
    /// By instance: the position of its pools among `sets`.
    instances: Vec<u32>,
    /// The different sets of pools that instances have.
    sets: Vec<Pools>,
    /// By instance: its disk template, if its pools follow from where it is.
    concluded: Vec<Option<DiskTemplate>>,
    nodes: Vec<Pools>,
    /// By node: the pools outside that tags name.
    declared: Vec<Pools>,
    /// By node: its group.
    home: Vec<GroupIdx>,
    groups: Vec<Pools>,
    /// By group: where disks of a template are if no tag says it, of the pools that there are.
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

/// The pools that hold an instance's disks. Where its node reaches several, and it does
/// not say which of them it uses, it may use all.
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

/// By instance the number of its set of pools, and these sets. Many instances have the same.
fn sets_of_pools(cluster: &Cluster) -> (Vec<u32>, Vec<BTreeSet<Pool>>) {
    let mut numbers: BTreeMap<BTreeSet<Pool>, u32> = BTreeMap::new();
    let mut number = |instance: &Instance| {
        let next = numbers.len() as u32;
        *numbers.entry(pools_of(cluster, instance)).or_insert(next)
    };
    // where no tag of its own says it, an instance is like others of its template on its node
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

/// Where the disks of a template are in a group if no tag says it: what Ganeti exports.
fn usual_pool(group: &Group, template: DiskTemplate) -> Pool {
    Pool::external(&group.disk_parameters.pool_name(template))
}

/// The disk template of an instance whose pools follow from where it is.
fn concluded(instance: &Instance) -> Option<DiskTemplate> {
    let template = Some(instance.template).filter(|template| template.uses_external_storage());
    template.filter(|_| named(&instance.tags).next().is_none())
}

/// The pools in a group's nodes that its policy lets instances use.
fn internal_pools(group: &Group, node: &NodeSpec) -> Vec<Pool> {
    let allowed = |template| group.policy.disk_templates.contains(&template);
    let lvm = (allowed(DiskTemplate::Drbd) || allowed(DiskTemplate::Plain)) && node.disk_total > 0.0;
    let file = allowed(DiskTemplate::File);
    let pools = [(lvm, "lvm"), (file, "file")];
    pools.into_iter().filter(|(there, _)| *there).map(|(_, name)| Pool::internal(name)).collect()
}

/// The pools that the nodes of a group reach outside, if no tags of theirs say it: one for
/// each disk template, and those of the instances that are there.
fn usual_pools(group: &Group, of_instances: &BTreeSet<Pool>) -> BTreeSet<Pool> {
    let templates = group.policy.disk_templates.iter().filter(|t| t.uses_external_storage());
    let outside = of_instances.iter().filter(|pool| pool.storage == StorageType::External).cloned();
    templates.map(|t| usual_pool(group, *t)).chain(outside).collect()
}

impl StorageMap {
    /// Works out which pools there are, and who reaches them.
    pub fn of(cluster: &Cluster) -> StorageMap {
        let (instances, sets) = sets_of_pools(cluster);
        let mut groups = vec![BTreeSet::new(); cluster.groups.len()];
        // of the instances on nodes of which no tag says what they reach
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

    /// The pools that hold an instance's disks; none if it has no disks.
    pub fn of_instance(&self, instance: InstanceIdx) -> &[PoolIdx] {
        &self.sets[self.instances[instance.get()] as usize]
    }

    /// The pools that a node reaches.
    pub(crate) fn of_node(&self, node: NodeIdx) -> &[PoolIdx] {
        &self.nodes[node.get()]
    }

    /// The pools that a group reaches: those of any of its nodes, and those of the
    /// instances that are there.
    pub fn of_group(&self, group: GroupIdx) -> &[PoolIdx] {
        &self.groups[group.get()]
    }

    /// Whether a node reaches all disks of an instance (for disks in the nodes: has the
    /// same kind of storage). Where the pools of an instance follow from where it is, they
    /// must do so there as well, or nobody would know them any more.
    pub fn reaches(&self, node: NodeIdx, instance: InstanceIdx) -> bool {
        let pools = self.of_instance(instance);
        let declared = &self.declared[node.get()];
        let among = |known: &[PoolIdx]| pools.iter().all(|pool| known.contains(pool));
        match self.concluded[instance.get()] {
            Some(_) if !declared.is_empty() => among(declared),
            // without tags the group and the template stand for the pool
            Some(template) if pools.iter().any(|p| self.usual(node, template) != Some(*p)) => false,
            _ => among(self.of_node(node)),
        }
    }

    /// Where the disks of a template are on a node if no tag says it.
    fn usual(&self, node: NodeIdx, template: DiskTemplate) -> Option<PoolIdx> {
        let usual = &self.usual[self.home[node.get()].get()];
        usual.iter().find(|(other, _)| *other == template).map(|(_, pool)| *pool)
    }

    /// A pool of an instance that a group does not reach.
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
    /// Whether no instance at all may change its group.
    pub fn denies_moves_between_groups(&self) -> bool {
        self.tags.iter().any(|tag| tag == DENY)
    }

    /// Tells if tags of the cluster or of the group deny that instances leave the group.
    pub fn denies_leaving(&self, group: GroupIdx) -> bool {
        self.denies_moves_between_groups() || self.group(group).denies_moves_between_groups()
    }
}

impl Group {
    /// Whether instances may neither come from other groups nor go there.
    pub fn denies_moves_between_groups(&self) -> bool {
        self.tags.iter().any(|tag| tag == DENY)
    }

    /// Whether the group is connected to all networks of an instance, as far as these are
    /// known.
    pub fn connects(&self, instance: &Instance) -> bool {
        instance.networks.iter().all(|network| self.networks.contains(network))
    }
}
