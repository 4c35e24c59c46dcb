//! The cluster in an allocator message.

use std::collections::HashMap;

use super::description::read_description;
use crate::input::error::Result;
use crate::input::json::{
    self, At, Budget, ItemStream, Json, MadeItems, Member, Object, Of, WantedParts, Weight,
};
use crate::load::policy::read_policy;
use crate::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use crate::load::unknown_node;
use crate::model::shown::shown_name;
use crate::model::{DiskParameters, GroupIdx, Hypervisor, Mib, NodeIdx};

/// Reads groups, nodes, instances and cluster tags, in this order.
/// Nodes and instances are not in `message` but in its text.
pub(super) fn read_cluster(
    message: &Object<'_, '_>,
    text: &str,
    source: &str,
    budget: &Budget,
) -> Result<RawCluster> {
    let groups = message.each_named("nodegroups", "group", read_group)?;
    let group_by_uuid: HashMap<&str, GroupIdx> =
        groups.iter().enumerate().map(|(i, g)| (g.uuid.as_str(), GroupIdx::new(i))).collect();
    let part = |key, kind| MessagePart { message, text, source, key, kind, budget };
    let mut nodes = part("nodes", "node").each(|name, node| read_node(name, &node, &group_by_uuid))?;
    let node_by_name: HashMap<&str, NodeIdx> =
        nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), NodeIdx::new(i))).collect();
    let instances =
        part("instances", "instance").each(|name, object| read_instance(name, &object, &node_by_name))?;
    let tags = message.strings("cluster_tags")?;
    // the first one is the cluster's default
    let hypervisor = message.enumerations::<Hypervisor>("enabled_hypervisors")?.first().copied();
    for node in &mut nodes {
        node.hypervisor = hypervisor;
    }
    Ok(RawCluster { groups, nodes, instances, tags, ..RawCluster::default() })
}

/// One of the long parts of a message: an object whose members describe something.
struct MessagePart<'a> {
    message: &'a Object<'a, 'a>,
    text: &'a str,
    source: &'a str,
    key: &'static str,
    /// What they are.
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
        let members = ItemStream { of: Of::Object, shape: WantedParts::Whole, budget, each };
        match json::seeded(text, source, budget, Member { key, inner: members })? {
            Some(None) => made.done(),
            Some(Some(other)) => Err(message.key_error(key, &other.members().err().unwrap_or_default())),
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
        policy: read_policy(&group, "ipolicy")?,
        disk_parameters: DiskParameters::default(),
        tags: group.strings("tags")?,
    })
}

fn read_node(name: &str, node: &Object<'_, '_>, groups: &HashMap<&str, GroupIdx>) -> Result<RawNode> {
    let offline = node.bool("offline")?;
    let drained = node.bool("drained")?;
    let uuid = node.string("group")?;
    let group = *groups
        .get(uuid)
        .ok_or_else(|| node.key_error("group", &format!("no group has the UUID '{}'", shown_name(uuid))))?;
    let vm_capable = node.optional_bool("vm_capable")?.unwrap_or(true);
    let live = !offline && vm_capable;
    let parameters = node.object("ndparams")?;
    let tags = node.optional_strings("tags")?.unwrap_or_default();
    let exclusive_storage = parameters.bool("exclusive_storage")?;
    // Ganeti does not ask nodes that are offline or cannot run instances:
    // their numbers are missing, and zero even where they are not
    let int = |key: &str| if live { node.int(key) } else { Ok(0) };
    let float = |key: &str| if live { node.float(key) } else { Ok(0.0) };
    Ok(RawNode {
        name: name.to_owned(),
        spindle_total: if exclusive_storage {
            int("total_spindles")?
        } else {
            // a parameter, known of every node
            parameters.int("spindle_count")?
        },
        spindle_free: int("free_spindles")?,
        mem_total: float("total_memory")?,
        mem_node: Mib(int("reserved_memory")?),
        mem_free: Mib(int("free_memory")?),
        disk_total: float("total_disk")?,
        disk_free: Mib(int("free_disk")?),
        cpu_total: float("total_cpus")?,
        cpu_node: int("reserved_cpus")?,
        // the message has it (ndparams.cpu_speed), the reference ignores it
        cpu_speed: 1.0,
        exclusive_storage,
        offline: !live || drained,
        master: false,
        group,
        tags,
        hypervisor: None,
    })
}

fn read_instance(name: &str, object: &Object<'_, '_>, nodes: &HashMap<&str, NodeIdx>) -> Result<RawInstance> {
    let description = read_description(name, object)?;
    let node = |value: &Json| {
        let node = value.string().map_err(|problem| object.key_error("nodes", &problem))?;
        nodes.get(node).copied().ok_or_else(|| object.key_error("nodes", &unknown_node(node, name)))
    };
    // more than two nodes have no meaning, and are not looked at
    let (primary, secondary) = match object.list("nodes")? {
        [] => return Err(object.key_error("nodes", "the list is empty")),
        [primary] => (node(primary)?, None),
        [primary, secondary, ..] => (node(primary)?, Some(node(secondary)?)),
    };
    Ok(description.placed_on(primary, secondary))
}
