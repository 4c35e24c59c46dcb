//! Tags that begin with `htools:` and do nothing: misspelt ones, and rules that no tag
//! of a node or an instance meets.

use super::tag_rules::TagRules;
use crate::model::key_tags::{KeyTagFault, KeyTags};
use crate::model::known_tags::{
    ALLOW_MIGRATION, Bearer, DENY, DESIRED_LOCATION, EXCLUSION, KEY, LOCATION, MIGRATION, PREFIX,
    means_something,
};
use crate::model::{Cluster, TagTable};

/// A tag that does nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleTag {
    pub owner: Owner,
    pub tag: String,
    /// Why it does nothing.
    pub reason: Reason,
}

/// What has a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    Cluster,
    /// The node group of that name.
    Group(String),
    /// The node of that name.
    Node(String),
    /// The instance of that name.
    Instance(String),
}

/// Why a tag does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No tool knows it there.
    Unknown,
    /// It lacks a value, or its value is not of the form that it should have.
    Malformed,
    /// A rule of the cluster that no tag of a node or an instance meets.
    Unused,
    /// It begins as an affinity key does, and is none.
    Key(KeyTagFault),
}

/// The tags that do nothing: the cluster's, those of groups, nodes and instances, each
/// in their order.
pub fn idle_tags(cluster: &Cluster) -> Vec<IdleTag> {
    let mut idle: Vec<IdleTag> = Vec::new();
    let keys = KeyTags::of(&cluster.tags, Bearer::Cluster);
    for tag in ours(&cluster.tags) {
        let reason = match tag.starts_with(KEY) {
            true => keys.fault(tag).map(Reason::Key),
            false => fault(cluster, tag),
        };
        idle.extend(reason.map(|reason| IdleTag { owner: Owner::Cluster, tag: tag.clone(), reason }));
    }
    let rules = TagRules::new(&cluster.tags, &[]);
    let mut unknown = |owner: Owner, tags: &[String], bearer: Bearer, used: &dyn Fn(&str) -> bool| {
        let keys = KeyTags::of(tags, bearer);
        for tag in ours(tags).filter(|tag| !used(tag)) {
            let reason = match tag.starts_with(KEY) {
                true => keys.fault(tag).map(Reason::Key),
                false => (!means_something(tag, bearer)).then_some(Reason::Unknown),
            };
            idle.extend(reason.map(|reason| IdleTag { owner: owner.clone(), tag: tag.clone(), reason }));
        }
    };
    for group in &cluster.groups {
        unknown(Owner::Group(group.name.clone()), &group.tags, Bearer::Group, &|_| false);
    }
    let begins = |tag: &str, with: &[String]| with.iter().any(|start| tag.starts_with(start.as_str()));
    for node in &cluster.nodes {
        unknown(Owner::Node(node.spec.name.clone()), &node.spec.tags, Bearer::Node, &|tag| {
            [&rules.location, &rules.migration].iter().any(|with| begins(tag, with))
        });
    }
    for instance in &cluster.instances {
        let used: Vec<&str> = instance.exclusion_tags.iter().map(|t| cluster.tag_table.name(*t)).collect();
        unknown(Owner::Instance(instance.name.clone()), &instance.tags, Bearer::Instance, &|tag| {
            used.contains(&tag) || begins(tag, &rules.desired_location)
        });
    }
    idle
}

fn ours(tags: &[String]) -> impl Iterator<Item = &String> {
    tags.iter().filter(|tag| tag.starts_with(PREFIX))
}

/// Why a tag of the cluster does nothing, if so.
fn fault(cluster: &Cluster, tag: &str) -> Option<Reason> {
    let one = [tag.to_owned()];
    let rule = TagRules::new(&one, &[]);
    let mut table = TagTable::default();
    let by_instances = cluster.instances.iter().map(|i| &i.tags);
    let by_nodes = cluster.nodes.iter().map(|n| &n.spec.tags);
    let (value, used) = if let Some(value) = tag.strip_prefix(EXCLUSION) {
        (value, by_instances.clone().any(|tags| !rule.exclusion_tags(tags, &mut table).is_empty()))
    } else if let Some(value) = tag.strip_prefix(DESIRED_LOCATION) {
        (value, by_instances.clone().any(|tags| !rule.desired_locations(tags, &mut table).is_empty()))
    } else if let Some(value) = tag.strip_prefix(LOCATION) {
        (value, by_nodes.clone().any(|tags| !rule.locations(tags, &mut table).is_empty()))
    } else if let Some(value) = tag.strip_prefix(MIGRATION) {
        (value, by_nodes.clone().any(|tags| !rule.migrations(tags, &mut table).0.is_empty()))
    } else if tag.starts_with(ALLOW_MIGRATION) {
        let [(from, to)] = &rule.allowed_migrations[..] else { return Some(Reason::Malformed) };
        // both have to be migration tags of nodes
        let all = TagRules::new(&cluster.tags, &[]);
        let mut known = |wanted: &String| {
            let has = |tags: &Vec<String>| {
                tags.contains(wanted)
                    && !all.migrations(std::slice::from_ref(wanted), &mut table).0.is_empty()
            };
            by_nodes.clone().any(has)
        };
        (from.as_str(), known(from) && known(to))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

    #[test]
    fn tags_that_do_nothing_are_found() {
        let cluster = cluster(
            &[
                "a|9000|0|9000|9000|9000|9|M|u|1|rack:1,v:1,htools:standby:auto,htools:switched:5,htools:pool:ssd",
                "b|9000|0|9000|9000|9000|9|N|u|1|rack:2,v:2,htools:iextags:x,htools:pool:",
            ],
            &["i|0|0|1|ADMIN_down|Y|a||ext|s:x,htools:own:1,htools:odd,htools:pool:ssd,htools:switched:5"],
            &[
                "htools:iextags:s:",
                "htools:iextags:none",
                "htools:iextags:",
                "htools:iextag:s",
                "htools:iextags:htools:own:",
                "htools:nlocation:rack",
                "htools:desiredlocation:rack",
                "htools:migration:v",
                "htools:allowmigration:v:1::v:2",
                "htools:allowmigration:v:1::v:9",
                "htools:allowmigration:v:1",
                "htools:intergroup:deny",
                "other",
            ],
        );
        let found = idle_tags(&cluster);
        let shown: Vec<_> = found.iter().map(|t| (&t.owner, t.tag.as_str(), t.reason)).collect();
        use Reason::{Malformed, Unknown, Unused};
        let (b, i) = (Owner::Node("b".into()), Owner::Instance("i".into()));
        assert_eq!(
            shown,
            [
                (&Owner::Cluster, "htools:iextags:none", Unused),
                (&Owner::Cluster, "htools:iextags:", Malformed),
                (&Owner::Cluster, "htools:iextag:s", Unknown),
                (&Owner::Cluster, "htools:desiredlocation:rack", Unused),
                (&Owner::Cluster, "htools:allowmigration:v:1::v:9", Unused),
                (&Owner::Cluster, "htools:allowmigration:v:1", Malformed),
                (&b, "htools:iextags:x", Unknown),
                (&b, "htools:pool:", Unknown),
                (&i, "htools:odd", Unknown),
                (&i, "htools:switched:5", Unknown),
            ]
        );
    }

    #[test]
    fn tags_that_are_no_keys_are_found() {
        let cluster = cluster(
            &["a|9000|0|9000|9000|9000|9|N|u|1|htools:key:ds:1,htools:key:x,htools:key:system:a:1:1"],
            &["i|0|0|1|running|Y|a||ext|htools:key:customer:a:1:1,htools:key:customer:a:2:1,htools:key:b:1"],
            &["htools:key:system:_a:1:1", "htools:key:customer:_a:1:NaN", "htools:key:customer:_b:1:1"],
        );
        let found = idle_tags(&cluster);
        let shown: Vec<_> = found.iter().map(|t| (t.tag.as_str(), t.reason)).collect();
        use KeyTagFault::{Contradiction, Form, Misplaced, Name, Number};
        assert_eq!(
            shown,
            [
                ("htools:key:system:_a:1:1", Reason::Key(Name('_'))),
                ("htools:key:customer:_a:1:NaN", Reason::Key(Number("weight"))),
                ("htools:key:x", Reason::Key(Form)),
                ("htools:key:system:a:1:1", Reason::Key(Misplaced)),
                ("htools:key:customer:a:1:1", Reason::Key(Contradiction)),
                ("htools:key:customer:a:2:1", Reason::Key(Contradiction)),
                ("htools:key:b:1", Reason::Key(Misplaced)),
            ]
        );
    }
}
