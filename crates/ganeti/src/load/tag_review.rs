//! Tags that begin with `htools:` and have no effect: misspelt ones, and rules that match no tag of a node or an
//! instance.

use std::collections::HashSet;

use super::tag_rules::TagRules;
use htools_model::Cluster;
use htools_model::key_tags::{KeyTagFault, KeyTags};
use htools_model::known_tags::{
    ALLOW_MIGRATION, Bearer, DENY, DESIRED_LOCATION, EXCLUSION, KEY, LOCATION, MIGRATION, PREFIX,
    means_something,
};

/// A tag without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleTag {
    /// Object that has the tag.
    pub owner: Owner,
    /// The tag.
    pub tag: String,
    /// Reason that it has no effect.
    pub reason: Reason,
}

/// Object that has a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The cluster.
    Cluster,
    /// The node group of that name.
    Group(String),
    /// The node of that name.
    Node(String),
    /// The instance of that name.
    Instance(String),
}

/// Reason that a tag has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No tool knows it on this kind of object.
    Unknown,
    /// Its value is missing or malformed.
    Malformed,
    /// A rule of the cluster that matches no tag of a node or an instance.
    Unused,
    /// It begins as an affinity key does, but is not a valid one.
    Key(KeyTagFault),
}

/// The tags without effect: those of the cluster, then of groups, nodes and instances, each in their order.
pub fn idle_tags(cluster: &Cluster) -> Vec<IdleTag> {
    let mut idle: Vec<IdleTag> = Vec::new();
    let keys = KeyTags::of(&cluster.tags, Bearer::Cluster);
    let review = RuleReview::of(cluster);
    for tag in ours(&cluster.tags) {
        let reason = if tag.starts_with(KEY) { keys.fault(tag).map(Reason::Key) } else { review.fault(tag) };
        idle.extend(reason.map(|reason| IdleTag { owner: Owner::Cluster, tag: tag.clone(), reason }));
    }
    let rules = &review.rules;
    let mut unknown = |owner: Owner, tags: &[String], bearer: Bearer, used: &dyn Fn(&str) -> bool| {
        let keys = KeyTags::of(tags, bearer);
        for tag in ours(tags).filter(|tag| !used(tag)) {
            let reason = if tag.starts_with(KEY) {
                keys.fault(tag).map(Reason::Key)
            } else {
                (!means_something(tag, bearer)).then_some(Reason::Unknown)
            };
            idle.extend(reason.map(|reason| IdleTag { owner: owner.clone(), tag: tag.clone(), reason }));
        }
    };
    for group in &cluster.groups {
        unknown(Owner::Group(group.name.clone()), &group.tags, Bearer::Group, &|_| false);
    }
    for node in &cluster.nodes {
        unknown(Owner::Node(node.spec.name.clone()), &node.spec.tags, Bearer::Node, &|tag| {
            [&rules.location, &rules.migration].iter().any(|prefixes| prefixes.begin(tag))
        });
    }
    for instance in &cluster.instances {
        let used: HashSet<&str> =
            instance.exclusion_tags.iter().map(|t| cluster.tag_table.name(*t)).collect();
        unknown(Owner::Instance(instance.name.clone()), &instance.tags, Bearer::Instance, &|tag| {
            used.contains(tag) || rules.desired_location.begin(tag)
        });
    }
    idle
}

fn ours(tags: &[String]) -> impl Iterator<Item = &String> {
    tags.iter().filter(|tag| tag.starts_with(PREFIX))
}

/// The rules of a cluster, and the tags that they may match.
struct RuleReview<'c> {
    rules: TagRules,
    /// All tags of instances, ascending.
    of_instances: Vec<&'c str>,
    /// All tags of nodes, ascending.
    of_nodes: Vec<&'c str>,
}

impl<'c> RuleReview<'c> {
    fn of(cluster: &'c Cluster) -> RuleReview<'c> {
        let sorted = |tags: &mut dyn Iterator<Item = &'c String>| {
            let mut tags: Vec<&str> = tags.map(String::as_str).collect();
            tags.sort_unstable();
            tags
        };
        RuleReview {
            rules: TagRules::new(&cluster.tags, &[]),
            of_instances: sorted(&mut cluster.instances.iter().flat_map(|i| &i.tags)),
            of_nodes: sorted(&mut cluster.nodes.iter().flat_map(|n| &n.spec.tags)),
        }
    }

    /// The reason that a tag of the cluster has no effect, if there is one.
    fn fault(&self, tag: &str) -> Option<Reason> {
        let (value, used) = if let Some(value) = tag.strip_prefix(EXCLUSION) {
            (value, begins_any(&self.of_instances, value))
        } else if let Some(value) = tag.strip_prefix(DESIRED_LOCATION) {
            (value, begins_any(&self.of_instances, value))
        } else if let Some(value) = tag.strip_prefix(LOCATION) {
            (value, begins_any(&self.of_nodes, &format!("{value}:")))
        } else if let Some(value) = tag.strip_prefix(MIGRATION) {
            (value, begins_any(&self.of_nodes, &format!("{value}:")))
        } else if tag.starts_with(ALLOW_MIGRATION) {
            let rule = TagRules::new(&[tag.to_owned()], &[]);
            let Some((from, to)) = rule.permission() else { return Some(Reason::Malformed) };
            // Both must be migration tags of nodes.
            let known = |wanted: &str| {
                self.of_nodes.binary_search(&wanted).is_ok() && self.rules.migration.begin(wanted)
            };
            return match (from.is_empty(), known(from) && known(to)) {
                (true, _) => Some(Reason::Malformed),
                (false, used) => (!used).then_some(Reason::Unused),
            };
        } else if tag == DENY {
            return None;
        } else {
            return Some(Reason::Unknown);
        };
        match (value.is_empty(), used) {
            (true, _) => Some(Reason::Malformed),
            (false, false) => Some(Reason::Unused),
            (false, true) => None,
        }
    }
}

/// Tells if one of the tags (ascending) begins with a prefix.
fn begins_any(tags: &[&str], prefix: &str) -> bool {
    let at = tags.partition_point(|tag| *tag < prefix);
    tags.get(at).is_some_and(|tag| tag.starts_with(prefix))
}
