//! The cluster in an allocator message.

use std::collections::HashMap;

use super::description::read_description;
use crate::input::error::Result;
use crate::input::json::{
    self, At, Budget, Container, ItemStream, Json, MadeItems, Member, Object, WantedParts, Weight,
};
use crate::load::fields::{SpelledObject, Spelling};
use crate::load::live::{by_name, by_uuid, read_node};
use crate::load::policy::read_policy;
use crate::load::raw::{RawCluster, RawGroup, RawInstance};
use crate::load::unknown_node;
use htools_model::{DiskParameters, Hypervisor, NodeIdx};

/// Reads groups, nodes, instances and cluster tags, in this order. Nodes and instances are read from the text, as
/// `message` does not contain them.
pub(super) fn read_cluster(
    message: &Object<'_, '_>,
    text: &str,
    source: &str,
    budget: &Budget,
) -> Result<RawCluster> {
    let groups = message.each_named("nodegroups", "group", read_group)?;
    let group_by_uuid = by_uuid(&groups);
    let part = |key, kind| MessagePart { message, text, source, key, kind, budget };
    let mut nodes = part("nodes", "node").each(|name, object| {
        read_node(name, &SpelledObject { object, spelling: &SPELLING }, &group_by_uuid, &mut Vec::new())
    })?;
    let node_by_name = by_name(&nodes);
    let instances =
        part("instances", "instance").each(|name, object| read_instance(name, &object, &node_by_name))?;
    let tags = message.strings("cluster_tags")?;
    // The first one is the cluster's default.
    let hypervisor = message.enumerations::<Hypervisor>("enabled_hypervisors")?.first().copied();
    for node in &mut nodes {
        node.hypervisor = hypervisor;
    }
    Ok(RawCluster { groups, nodes, instances, tags, ..RawCluster::default() })
}

/// A long part of a message: an object with one member for each node or instance.
struct MessagePart<'a> {
    message: &'a Object<'a, 'a>,
    text: &'a str,
    source: &'a str,
    key: &'static str,
    /// Kind of the members.
    kind: &'static str,
    budget: &'a Budget,
}

impl MessagePart<'_> {
    /// Reads the members, one by one, in the order of the document.
    fn each<T: Weight>(&self, mut read: impl FnMut(&str, Object<'_, '_>) -> Result<T>) -> Result<Vec<T>> {
        let MessagePart { message, text, source, key, kind, budget } = *self;
        message.required(key)?;
        let mut made = MadeItems::new();
        let each = |at: At<'_>, item: &Json| match at {
            At::Name(name) => made.add(|| read(name, Object::new(item, message.place().named(kind, name))?)),
            At::Item(_) => 0,
        };
        let members = ItemStream { container: Container::Object, shape: WantedParts::Whole, budget, each };
        match json::seeded(text, source, budget, Member { key, inner: members })? {
            Some(None) => made.done(),
            Some(Some(other)) => {
                Err(message.key_error(key, other.members().map_or_else(|e| e.to_string(), |_| String::new())))
            }
            None => Err(message.key_error(key, "expected an object")),
        }
    }
}

fn read_group(uuid: &str, group: Object<'_, '_>) -> Result<RawGroup> {
    Ok(RawGroup {
        name: group.string("name")?.to_owned(),
        uuid: uuid.to_owned(),
        alloc_policy: group.enumeration("alloc_policy")?,
        networks: group.strings("networks")?,
        policy: read_policy(&group.object("ipolicy")?)?,
        disk_parameters: DiskParameters::default(),
        tags: group.strings("tags")?,
    })
}

/// Spelling of the fields of nodes in a message.
const SPELLING: Spelling = Spelling {
    names: &[
        ("ndp", "ndparams"),
        ("group.uuid", "group"),
        ("mtotal", "total_memory"),
        ("mnode", "reserved_memory"),
        ("mfree", "free_memory"),
        ("dtotal", "total_disk"),
        ("dfree", "free_disk"),
        ("ctotal", "total_cpus"),
        ("cnos", "reserved_cpus"),
        ("sptotal", "total_spindles"),
        ("spfree", "free_spindles"),
    ],
    optional: &["vm_capable", "tags"],
    has_silence: false,
};

fn read_instance(name: &str, object: &Object<'_, '_>, nodes: &HashMap<&str, NodeIdx>) -> Result<RawInstance> {
    let count = object.list("nodes").map_or(1, <[Json]>::len);
    let description = read_description(name, object, count)?;
    let node = |value: &Json| {
        let node = value.string().map_err(|problem| object.key_error("nodes", &problem))?;
        nodes.get(node).copied().ok_or_else(|| object.key_error("nodes", unknown_node(node, name)))
    };
    // Nodes after the second have no meaning and are ignored.
    let (primary, secondary) = match object.list("nodes")? {
        [] => return Err(object.key_error("nodes", "the list is empty")),
        [primary] => (node(primary)?, None),
        [primary, secondary, ..] => (node(primary)?, Some(node(secondary)?)),
    };
    Ok(description.placed_on(primary, secondary))
}
