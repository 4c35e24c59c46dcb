//! Storage pools as a rule of placement: the pools that an instance needs, and those that a node offers.
//!
//! Both are sets of tags, so that one comparison decides ([`NodeSpec::reaches`]). An instance that names its pools needs
//! these. The pools of any other instance follow from its disk template and its node; it can only go where the same pools
//! follow, or nobody could tell any more where its disks are. The tags of such pools carry the template.
//!
//! All sets stay empty in clusters where no tag names a pool, and for disks in the nodes: disk rules decide there.

use std::collections::HashMap;

use super::{DiskTemplate, Pool, StorageMap, StorageType, named};
use crate::cluster::Cluster;
use crate::index::{InstanceIdx, NodeIdx, PoolIdx};
use crate::instance::Instance;
use crate::known_tags::POOL;
use crate::node::NodeSpec;
use crate::tags::{TagId, TagSet, TagTable};

/// The pools that the nodes of a group offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupPools {
    /// The pools that every node offers.
    pub common: TagSet,
    /// True if some node offers more.
    pub differ: bool,
}

/// The pools of instances that name none and run on a certain node, by disk template.
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
    /// The name of a pool by one of its tags.
    pub fn pool_name(&self, tag: TagId) -> &str {
        self.name(tag).split_once(POOL).map_or("", |(_, name)| name)
    }
}

impl NodeSpec {
    /// Tells if the node reaches the external storage of an instance.
    pub fn reaches(&self, instance: &Instance) -> bool {
        instance.pools.is_empty() || instance.pools.is_subset(&self.pools)
    }

    /// The pools of an instance that is created on the node.
    pub fn pools_for(&self, instance: &Instance) -> TagSet {
        let derived = || self.derived_pools.iter().find(|(template, _)| *template == instance.template);
        if instance.pools.is_empty() {
            derived().map(|(_, pools)| pools.clone()).unwrap_or_default()
        } else {
            instance.pools.clone()
        }
    }
}

impl Instance {
    /// Takes over the pools that follow from a node, where a new instance is created.
    pub fn settle_pools(&mut self, spec: &NodeSpec) {
        let pools = spec.pools_for(self);
        if pools != self.pools {
            self.details_mut().pools = pools;
        }
    }
}

impl GroupPools {
    /// Tells if some nodes of the group, or all, do not offer all of these pools.
    pub fn lack(&self, pools: &TagSet) -> bool {
        !pools.is_subset(&self.common)
    }
}

impl Cluster {
    /// Tells if tags name storage pools, so that [`enter_pools`](Self::enter_pools) has entered them.
    pub fn has_pools(&self) -> bool {
        self.nodes.iter().any(|node| !node.spec.derived_pools.is_empty())
    }

    fn tags_name_pools(&self) -> bool {
        let any = |tags: &[String]| named(tags).next().is_some();
        self.groups.iter().any(|group| any(&group.tags))
            || self.nodes.iter().any(|node| any(&node.spec.tags))
            || self.instances.iter().any(|instance| any(&instance.tags))
    }

    /// Enters the pools that instances need and nodes offer, if tags name any.
    pub fn enter_pools(&mut self) {
        if !self.tags_name_pools() {
            return;
        }
        let map = StorageMap::of(self);
        let table = &mut self.tag_table;
        for node in &mut self.nodes {
            (node.spec.pools, node.spec.derived_pools) = map.offers(node.spec.idx, table);
        }
        // most instances share their set with many others
        let mut needs: HashMap<(u32, Option<DiskTemplate>), TagSet> = HashMap::new();
        for instance in self.instances.iter_mut().filter(|i| i.template.uses_external_storage()) {
            let at = instance.idx.get();
            let known = needs.entry((map.instances[at], map.concluded[at]));
            let pools = known.or_insert_with(|| map.needs(instance.idx, table));
            instance.details_mut().pools = pools.clone();
        }
        for group in &mut self.groups {
            let mut offers = group.nodes.iter().map(|node| &self.nodes[node.get()].spec.pools);
            let Some(first) = offers.next() else { continue };
            let common = offers.clone().fold(first.clone(), |common, more| common.in_both(more));
            let differ = offers.any(|more| more != first);
            group.pools = GroupPools { common, differ };
        }
    }
}

/// The pools that a new instance with such tags needs.
pub fn named_pools(template: DiskTemplate, tags: &[String], table: &mut TagTable) -> TagSet {
    let pools = named(tags).filter(|_| template.uses_external_storage());
    pools.map(|name| table.intern(&named_tag(&Pool::external(name)))).collect()
}

impl StorageMap {
    /// The pools that a node offers, and those of instances that name none and run there.
    fn offers(&self, node: NodeIdx, table: &mut TagTable) -> (TagSet, DerivedPools) {
        let offered = self.of_node(node);
        // a tag never means the disks in a node, whatever its name
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
