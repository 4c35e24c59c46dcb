//! Placement rules for storage pools and forbidden nodes, as needs of instances and offers of nodes.
//!
//! Needs and offers are sets of tags, so one comparison decides ([`NodeSpec::reaches`]). An instance whose tags name
//! pools needs these pools. For any other instance, the pools follow from its disk template and its node. It can only
//! go to nodes where the same pools follow, since otherwise nobody could tell where its disks are. The tags of such
//! pools contain the template. An instance that a source keeps out of some nodes needs a tag that all other nodes
//! offer.
//!
//! All sets are empty if no tag names a pool and no instance is kept out of a node. They are also empty for internal
//! disks, where the rules on disk space decide.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{DiskTemplate, Pool, StorageMap, StorageType, named};
use crate::cluster::Cluster;
use crate::index::{InstanceIdx, NodeIdx, PoolIdx};
use crate::instance::Instance;
use crate::known_tags::POOL;
use crate::node::NodeSpec;
use crate::placement::Rule;
use crate::tags::{TagId, TagSet, TagTable};

/// Offers of the nodes of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupOffers {
    /// Tags that every node offers.
    pub common: TagSet,
    /// True if some node offers more.
    pub differ: bool,
}

/// The pools, by disk template, of instances on one node that name none.
pub type DerivedPools = Vec<(DiskTemplate, TagSet)>;

/// The tag of a pool that instances name.
fn named_tag(pool: &Pool) -> String {
    format!("{POOL}{}", pool.name)
}

/// The tag of a pool that follows from a disk template.
fn derived_tag(template: DiskTemplate, pool: &Pool) -> String {
    format!("{template} in {}", named_tag(pool))
}

impl TagTable {
    /// The name of a pool, from one of its tags.
    pub fn pool_name(&self, tag: TagId) -> &str {
        self.name(tag).split_once(POOL).map_or("", |(_, name)| name)
    }
}

impl NodeSpec {
    /// Tells if the node offers what an instance needs.
    pub fn reaches(&self, instance: &Instance) -> bool {
        instance.needs.is_empty() || instance.needs.is_subset(&self.offers)
    }

    /// The rule that keeps an instance out of the node, if the node does not offer all that it needs.
    pub(crate) fn barrier(&self, instance: &Instance) -> Option<Rule> {
        let is_kept_out = instance.open.is_some_and(|open| !self.offers.contains(open));
        let rule = if is_kept_out { Rule::KeptOut } else { Rule::Pool };
        (!self.reaches(instance)).then_some(rule)
    }

    /// The needs of an instance that is created on the node.
    pub fn needs_of(&self, instance: &Instance) -> TagSet {
        let derived = || self.derived_pools.iter().find(|(template, _)| *template == instance.template);
        if instance.needs.is_empty() {
            derived().map(|(_, pools)| pools.clone()).unwrap_or_default()
        } else {
            instance.needs.clone()
        }
    }
}

impl Instance {
    /// Fixes the pools of a new instance to those that follow from its node.
    pub fn settle_pools(&mut self, spec: &NodeSpec) {
        let needs = spec.needs_of(self);
        if needs != self.needs {
            self.details_mut().needs = needs;
        }
    }
}

impl GroupOffers {
    /// Tells if some node of the group lacks one of these needs.
    pub(crate) fn lack(&self, needs: &TagSet) -> bool {
        !needs.is_subset(&self.common)
    }
}

impl Cluster {
    /// Tells if [`enter_pools`](Self::enter_pools) has entered storage pools named by tags.
    pub fn has_pools(&self) -> bool {
        self.nodes.iter().any(|node| !node.spec.derived_pools.is_empty())
    }

    fn tags_name_pools(&self) -> bool {
        let any = |tags: &[String]| named(tags).next().is_some();
        self.groups.iter().any(|group| any(&group.tags))
            || self.nodes.iter().any(|node| any(&node.spec.tags))
            || self.instances.iter().any(|instance| any(&instance.tags))
    }

    /// Enters the needs of instances and the offers of nodes, if tags name any pool.
    pub fn enter_pools(&mut self) {
        if !self.tags_name_pools() {
            return;
        }
        let map = StorageMap::of(self);
        let table = &mut self.tag_table;
        for node in &mut self.nodes {
            (node.spec.offers, node.spec.derived_pools) = map.offers(node.spec.idx, table);
        }
        // Most instances share their set with many others.
        let mut needs: HashMap<(u32, Option<DiskTemplate>), TagSet> = HashMap::new();
        for instance in self.instances.iter_mut().filter(|i| i.template.uses_external_storage()) {
            let at = instance.idx.get();
            let known = needs.entry((map.instances[at], map.concluded[at]));
            let pools = known.or_insert_with(|| map.needs(instance.idx, table));
            instance.details_mut().needs = pools.clone();
        }
        self.sum_up_offers();
    }

    /// Keeps instances, which must be on shared storage or without disks, out of nodes.
    pub fn keep_out(&mut self, kept_out: &[(InstanceIdx, NodeIdx)]) {
        let mut nodes: BTreeMap<InstanceIdx, BTreeSet<NodeIdx>> = BTreeMap::new();
        kept_out.iter().for_each(|(instance, node)| nodes.entry(*instance).or_default().extend([node]));
        let mut alike: BTreeMap<BTreeSet<NodeIdx>, Vec<InstanceIdx>> = BTreeMap::new();
        nodes.into_iter().for_each(|(instance, nodes)| alike.entry(nodes).or_default().push(instance));
        for (nodes, instances) in alike {
            let open = self.tag_table.intern(&format!("open to {}", self.instance(instances[0]).name));
            for instance in instances {
                let details = self.instances[instance.get()].details_mut();
                details.needs = details.needs.iter().chain([open]).collect();
                details.open = Some(open);
            }
            for node in self.nodes.iter_mut().filter(|node| !nodes.contains(&node.spec.idx)) {
                node.spec.offers = node.spec.offers.iter().chain([open]).collect();
            }
        }
        if !kept_out.is_empty() {
            self.sum_up_offers();
        }
    }

    fn sum_up_offers(&mut self) {
        for group in &mut self.groups {
            let mut offers = group.nodes.iter().map(|node| &self.nodes[node.get()].spec.offers);
            let Some(first) = offers.next() else { continue };
            let common = offers.clone().fold(first.clone(), |common, more| common.in_both(more));
            let differ = offers.any(|more| more != first);
            group.offers = GroupOffers { common, differ };
        }
    }
}

/// The pools that a new instance with these tags needs.
pub fn named_pools(template: DiskTemplate, tags: &[String], table: &mut TagTable) -> TagSet {
    let pools = named(tags).filter(|_| template.uses_external_storage());
    pools.map(|name| table.intern(&named_tag(&Pool::external(name)))).collect()
}

impl StorageMap {
    /// The pools that a node offers, and the pools of instances there that name none.
    fn offers(&self, node: NodeIdx, table: &mut TagTable) -> (TagSet, DerivedPools) {
        let offered = self.of_node(node);
        // A tag never means internal disks, whatever its name.
        let external =
            offered.iter().map(|pool| self.pool(*pool)).filter(|p| p.storage == StorageType::External);
        let named = external.map(|pool| table.intern(&named_tag(pool)));
        let mut all: Vec<TagId> = named.collect();
        let mut derived = DerivedPools::new();
        for template in DiskTemplate::ALL.iter().copied().filter(|t| t.uses_external_storage()) {
            let declared = &self.declared[node.get()];
            let usual = self.usual(node, template).filter(|pool| offered.contains(pool));
            let pools: Vec<PoolIdx> =
                if declared.is_empty() { usual.into_iter().collect() } else { declared.clone() };
            let tags: TagSet =
                pools.iter().map(|pool| table.intern(&derived_tag(template, self.pool(*pool)))).collect();
            all.extend(tags.iter());
            derived.push((template, tags));
        }
        (all.into_iter().collect(), derived)
    }

    /// The pools that an instance on external storage needs.
    fn needs(&self, instance: InstanceIdx, table: &mut TagTable) -> TagSet {
        let derived = self.concluded[instance.get()];
        let tag = |pool: &PoolIdx| {
            let pool = self.pool(*pool);
            derived.map_or_else(|| named_tag(pool), |template| derived_tag(template, pool))
        };
        self.of_instance(instance).iter().map(|pool| table.intern(&tag(pool))).collect()
    }
}
