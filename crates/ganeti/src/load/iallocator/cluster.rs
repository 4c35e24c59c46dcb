//! The cluster in an allocator message.

use std::collections::HashMap;

use super::description::read_description;
use crate::input::error::Result;
use crate::input::json::{
    self, At, Budget, Container, ItemStream, Json, MadeItems, Object, WantedParts, Weight, keys,
};
use crate::load::fields::{SpelledObject, Spelling};
use crate::load::live::{by_name, by_uuid, read_node};
use crate::load::policy::read_policy;
use crate::load::raw::{RawCluster, RawGroup, RawInstance};
use crate::load::unknown_node;
use htools_model::{DiskParameters, Hypervisor, NodeIdx};

/// Reads groups, nodes, instances and cluster tags, in this order.
pub(super) fn read_cluster(
    message: &Object<'_, '_>,
    nodes: MessagePart<'_>,
    instances: MessagePart<'_>,
) -> Result<RawCluster> {
    let groups = message.each_named("nodegroups", "group", read_group)?;
    let group_by_uuid = by_uuid(&groups);
    let mut nodes = nodes.each(WantedParts::Whole, |name, object| {
        read_node(name, &SpelledObject { object, spelling: &SPELLING }, &group_by_uuid, &mut Vec::new())
    })?;
    let node_by_name = by_name(&nodes);
    let instances = instances.each(INSTANCE, |name, object| read_instance(name, &object, &node_by_name))?;
    let tags = message.strings("cluster_tags")?;
    // The first one is the cluster's default.
    let hypervisor = message.enumerations::<Hypervisor>("enabled_hypervisors")?.first().copied();
    for node in &mut nodes {
        node.hypervisor = hypervisor;
    }
    Ok(RawCluster { groups, nodes, instances, tags, ..RawCluster::default() })
}

/// A long part of a message: an object with one member for each node or instance.
pub(super) struct MessagePart<'a> {
    /// The message without its long parts.
    pub(super) message: &'a Object<'a, 'a>,
    /// The whole message.
    pub(super) whole: &'a str,
    /// This part of it, if it exists.
    pub(super) text: Option<&'a str>,
    pub(super) source: &'a str,
    pub(super) key: &'static str,
    /// Kind of the members.
    pub(super) kind: &'static str,
    pub(super) budget: &'a Budget,
}

/// Parts of an instance that are read.
const INSTANCE: WantedParts = WantedParts::Checked(&[
    ("nodes", WantedParts::Whole),
    ("disk_template", WantedParts::Whole),
    ("disk_space_total", WantedParts::Whole),
    ("disks", WantedParts::Each(&WantedParts::Checked(&keys(["size", "spindles"])))),
    ("memory", WantedParts::Whole),
    ("vcpus", WantedParts::Whole),
    ("tags", WantedParts::Whole),
    ("spindle_use", WantedParts::Whole),
    (
        "nics",
        WantedParts::Each(&WantedParts::Checked(&keys(["mac", "ip", "mode", "link", "bridge", "network"]))),
    ),
    ("admin_state", WantedParts::Whole),
    ("forthcoming", WantedParts::Whole),
]);

impl MessagePart<'_> {
    /// Reads the members, one by one, in the order of the document.
    fn each<T: Weight>(
        &self,
        shape: WantedParts,
        mut read: impl FnMut(&str, Object<'_, '_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let MessagePart { message, whole, text, source, key, kind, budget } = *self;
        message.required(key)?;
        let mut made = MadeItems::new();
        let each = |at: At<'_>, item: &Json| match at {
            At::Name(name) => made.add(|| read(name, Object::new(item, message.place().named(kind, name))?)),
            At::Item(_) => 0,
        };
        let members = ItemStream { container: Container::Object, shape, budget, each };
        let other = json::seeded(text.unwrap_or_default(), source, budget, members).map_err(|error| {
            // Only the whole message gives the right line and column.
            let nothing = json::whole(WantedParts::Nothing, budget);
            json::seeded(whole, source, budget, nothing).err().unwrap_or(error)
        })?;
        match other {
            None => made.done(),
            Some(other) => {
                Err(message.key_error(key, other.members().map_or_else(|e| e.to_string(), |_| String::new())))
            }
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
