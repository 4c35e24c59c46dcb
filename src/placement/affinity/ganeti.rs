//! Ganeti clusters: keys are in tags ([`crate::model::key_tags`]).

use std::sync::Arc;

use super::fleet::compiled_over;
use super::keys::{AffinityKey, CompiledKeys, KeyLevel, KeyOwner, LevelKeys, NodeKey};
use crate::model::key_tags::{KeyRole, KeyTag, KeyTags};
use crate::model::known_tags::Bearer;
use crate::model::{Cluster, Group, GroupIdx, Instance, Node, NodeIdx};

/// The keys that the tags of a cluster, its groups and its nodes tell. What is no key is left out:
/// [`idle_tags`](crate::load::tag_review::idle_tags) names it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterKeys {
    /// The operator's keys for all instances.
    pub system: Vec<AffinityKey>,
    /// By group, what all its instances have besides: the customer's keys of the cluster, and both sides' of the group.
    shared: Vec<Arc<[LevelKeys]>>,
    /// By node, its keys.
    nodes: Vec<Vec<NodeKey>>,
}

impl ClusterKeys {
    /// Reads the tags of the cluster, its groups and its nodes.
    pub fn of(cluster: &Cluster) -> ClusterKeys {
        let [system, customer] = levels(&cluster.tags, Bearer::Cluster, KeyLevel::Cluster);
        let of_group = |group: &Group| {
            let own = levels(&group.tags, Bearer::Group, KeyLevel::Vdc);
            [customer.clone()].into_iter().chain(own).filter(|of| !of.keys.is_empty()).collect()
        };
        ClusterKeys {
            shared: cluster.groups.iter().map(of_group).collect(),
            nodes: cluster.nodes.iter().map(|node| node_keys(&node.spec.tags)).collect(),
            system: system.keys,
        }
    }

    /// What the instances of a group have in common, besides the operator's keys of the cluster.
    pub fn shared(&self, group: GroupIdx) -> Arc<[LevelKeys]> {
        Arc::clone(&self.shared[group.get()])
    }

    /// The keys of a node.
    pub fn of_node(&self, node: NodeIdx) -> &[NodeKey] {
        &self.nodes[node.get()]
    }

    /// The keys of a node with which those of customers are compared.
    pub fn reserved(&self, node: NodeIdx) -> impl Iterator<Item = &NodeKey> {
        self.of_node(node).iter().filter(|key| key.name.starts_with('_'))
    }

    /// What the keys of an instance with these tags come to in a group.
    pub fn compiled(&self, group: GroupIdx, tags: &[String], zero_disables: bool) -> CompiledKeys {
        let own = server_keys(tags);
        compiled_over(&self.system, [&self.shared[group.get()], &own], zero_disables)
    }

    /// By instance of the cluster, what its keys come to in the group where it is.
    pub fn of_instances(&self, cluster: &Cluster, zero_disables: bool) -> Vec<CompiledKeys> {
        let group = |of: &Instance| cluster.node(of.primary).spec.group;
        cluster.instances.iter().map(|of| self.compiled(group(of), &of.tags, zero_disables)).collect()
    }
}

/// Whether anything in a cluster has a tag that tells a key.
pub fn has_keys(cluster: &Cluster) -> bool {
    let of = |tags: &[String], bearer| !KeyTags::of(tags, bearer).keys.is_empty();
    let is_in_node = |node: &Node| of(&node.spec.tags, Bearer::Node);
    of(&cluster.tags, Bearer::Cluster)
        || cluster.groups.iter().any(|group| of(&group.tags, Bearer::Group))
        || cluster.nodes.iter().any(is_in_node)
        || cluster.instances.iter().any(|instance| of(&instance.tags, Bearer::Instance))
}

/// The keys that the tags of an instance tell: of the operator, and of the customer.
pub fn server_keys(tags: &[String]) -> Vec<LevelKeys> {
    let keys = levels(tags, Bearer::Instance, KeyLevel::Server);
    keys.into_iter().filter(|of| !of.keys.is_empty()).collect()
}

/// The operator's keys and the customer's.
fn levels(tags: &[String], bearer: Bearer, level: KeyLevel) -> [LevelKeys; 2] {
    let mut sides =
        [KeyOwner::System, KeyOwner::Customer].map(|owner| LevelKeys { level, owner, keys: Vec::new() });
    for KeyTag { role, name, value, weight } in KeyTags::of(tags, bearer).keys {
        sides[usize::from(role == KeyRole::Customer)].keys.push(AffinityKey { name, value, weight });
    }
    sides
}

fn node_keys(tags: &[String]) -> Vec<NodeKey> {
    let key = |KeyTag { role, name, value, weight }| {
        let sticky = (role == KeyRole::Sticky).then_some(weight);
        NodeKey { name, value, sticky }
    };
    KeyTags::of(tags, Bearer::Node).keys.into_iter().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::groups;

    #[test]
    fn tags_of_each_level_are_keys() {
        let cluster = groups(
            &["g|htools:key:system:ds:2:20,htools:key:customer:shop:3:5", "h||"],
            &[
                "a|9000|0|9000|9000|9000|9|N|g|1|htools:key:ds:1,htools:key:_ssd:1,htools:key:sticky:pool:2:9".into(),
                "b|9000|0|9000|9000|9000|9|N|h|1|htools:key:x".into(),
            ],
            &[
                "i|0|0|1|running|Y|a||ext|htools:key:customer:shop:4:-5,htools:key:customer:own:1:1".into(),
                "j|0|0|1|running|Y|b||ext|htools:key:customer:@RAM:4:-5".into(),
            ],
            &["htools:key:system:@RAM:0:50", "htools:key:system:ds:1:10", "htools:key:customer:all:1:7"],
        );
        let keys = ClusterKeys::of(&cluster);
        let all = keys.of_instances(&cluster, false);
        let shown = |of: &[super::super::keys::CompiledKey]| {
            of.iter()
                .map(|key| format!("{}={}:{}@{}", key.name, key.value, key.weight, key.level))
                .collect::<Vec<_>>()
        };
        let special = ["#CPU=0:30@default", "#LOAD=0:30@default", "#RAM=0:50@cluster"];
        assert_eq!(shown(&all[0].system), [&special[..], &["ds=2:20@vdc"]].concat());
        assert_eq!(shown(&all[0].customer), ["all=1:7@cluster", "own=1:1@server", "shop=4:-5@server"]);
        assert_eq!(shown(&all[1].system), [&special[..], &["ds=1:10@cluster"]].concat());
        assert_eq!(shown(&all[1].customer), ["all=1:7@cluster"]);
        let a = cluster.nodes[0].spec.idx;
        let names =
            |keys: &[NodeKey]| keys.iter().map(|key| (key.name.clone(), key.sticky)).collect::<Vec<_>>();
        assert_eq!(
            names(keys.of_node(a)),
            [("_ssd".into(), None), ("ds".into(), None), ("pool".into(), Some(9.0))]
        );
        assert_eq!(keys.reserved(a).count(), 1);
        assert_eq!(keys.of_node(cluster.nodes[1].spec.idx), []);
        assert!(has_keys(&cluster));
    }
}
