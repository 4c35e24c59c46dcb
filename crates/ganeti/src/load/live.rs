//! Reader for live clusters, shared by LUXI and RAPI.

use std::collections::HashMap;

use super::disk_parameters::read_disk_parameters;
use super::fields::Fields;
use super::policy::read_policy;
use super::raw::{Detail, RawCluster, RawGroup, RawInstance, RawNode};
use super::unknown_node;
use crate::input::error::Result;
use crate::input::json::{Json, Object, Weight, each, named, strings};
use htools_model::shown::shown_name;
use htools_model::words;
use htools_model::{Disk, DiskParameters, GroupIdx, Hypervisor, InstancePolicy, Mib, NodeIdx, Outage};

words!(
    /// One of the parts of a description of a cluster.
    pub(super) ClusterPart, "part of a cluster" {
        Groups = "groups",
        Nodes = "nodes",
        Instances = "instances",
        Info = "info",
    }
);

impl ClusterPart {
    /// Kind of its items.
    pub(super) fn kind(self) -> &'static str {
        match self {
            ClusterPart::Info => "info",
            many => &many.as_str()[..many.as_str().len() - 1],
        }
    }
}

/// A source that can be asked for the parts of a cluster.
pub(super) trait LiveSource {
    /// Reads the items of a part, one by one, each with its name.
    fn each<T: Weight>(
        &self,
        part: ClusterPart,
        read: impl FnMut(&str, &dyn Fields<'_>) -> Result<T>,
    ) -> Result<Vec<T>>;

    /// Reads the information about the cluster itself.
    fn info<T>(&self, read: impl FnOnce(&Object<'_, '_>) -> Result<T>) -> Result<T>;
}

/// Reads groups, nodes, instances and the cluster itself, in this order.
pub(super) fn read_cluster(source: &impl LiveSource, detail: Detail) -> Result<RawCluster> {
    let groups = source.each(ClusterPart::Groups, |name, group| read_group(name, group, detail))?;
    let group_by_uuid = by_uuid(&groups);
    let mut warnings = Vec::new();
    let mut nodes =
        source.each(ClusterPart::Nodes, |name, node| read_node(name, node, &group_by_uuid, &mut warnings))?;
    let node_by_name = by_name(&nodes);
    let instances =
        source.each(ClusterPart::Instances, |name, instance| read_instance(name, instance, &node_by_name))?;
    let ClusterInfo { name, master, tags, policy, hypervisor } =
        source.info(|info| read_info(info, &node_by_name))?;
    for node in &mut nodes {
        node.hypervisor = Some(hypervisor);
    }
    nodes[master.get()].master = true;
    Ok(RawCluster { name, groups, nodes, instances, tags, policy, warnings, ..RawCluster::default() })
}

pub(super) fn by_uuid(groups: &[RawGroup]) -> HashMap<&str, GroupIdx> {
    groups.iter().enumerate().map(|(i, g)| (g.uuid.as_str(), GroupIdx::new(i))).collect()
}

pub(super) fn by_name(nodes: &[RawNode]) -> HashMap<&str, NodeIdx> {
    nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), NodeIdx::new(i))).collect()
}

fn read_group(name: &str, group: &dyn Fields<'_>, detail: Detail) -> Result<RawGroup> {
    Ok(RawGroup {
        name: name.to_owned(),
        uuid: group.need("uuid", Json::string)?.to_owned(),
        alloc_policy: group.need("alloc_policy", named)?,
        // LUXI is not asked for networks, and RAPI does not identify them.
        networks: Vec::new(),
        policy: read_policy(&group.object("ipolicy")?)?,
        disk_parameters: match detail {
            Detail::Usual => DiskParameters::default(),
            Detail::Storage if group.is_absent("diskparams") => DiskParameters::default(),
            Detail::Storage => read_disk_parameters(&group.object("diskparams")?)?,
        },
        tags: group.need("tags", strings)?,
    })
}

/// Figures that every node reports itself.
const OWN: [&str; 5] = ["mtotal", "mnode", "mfree", "ctotal", "cnos"];

/// Group of a node that names none.
const NO_GROUP: &str = "00000000-0000-0000-0000-000000000000";

/// Reads a node, and adds a warning if it does not answer.
pub(super) fn read_node(
    name: &str,
    node: &dyn Fields<'_>,
    groups: &HashMap<&str, GroupIdx>,
    warnings: &mut Vec<String>,
) -> Result<RawNode> {
    let offline = node.need("offline", Json::bool)?;
    let drained = node.need("drained", Json::bool)?;
    let vm_capable = node.get("vm_capable", Json::bool)?.unwrap_or(true);
    let exclusive_storage = node.need("ndp/exclusive_storage", Json::bool)?;
    let uuid = node.get("group.uuid", Json::string)?.unwrap_or(NO_GROUP);
    let group = *groups
        .get(uuid)
        .ok_or_else(|| node.error("group.uuid", &format!("no group has the UUID '{}'", shown_name(uuid))))?;
    // Ganeti does not query nodes that are offline or cannot run instances. Their numbers are missing, or zero.
    let asked = !offline && vm_capable;
    let silent = asked && OWN.iter().all(|field| node.is_silent(field));
    if silent {
        let name = shown_name(name);
        warnings.push(format!("node '{name}' does not answer and is treated as offline"));
    }
    let live = asked && !silent;
    // Storage figures are missing if no storage of the kind is enabled.
    let int = |field: &str| if live { Ok(node.get(field, Json::int)?.unwrap_or(0)) } else { Ok(0) };
    let float = |field: &str| if live { Ok(node.get(field, Json::float)?.unwrap_or(0.0)) } else { Ok(0.0) };
    Ok(RawNode {
        name: name.to_owned(),
        spindle_total: if exclusive_storage {
            int("sptotal")?
        } else {
            // This is a parameter, so it is known for every node.
            node.need("ndp/spindle_count", Json::int)?
        },
        spindle_free: int("spfree")?,
        mem_total: float("mtotal")?,
        mem_node: Mib(int("mnode")?),
        mem_free: Mib(int("mfree")?),
        disk_total: float("dtotal")?,
        disk_free: Mib(int("dfree")?),
        cpu_total: float("ctotal")?,
        cpu_node: int("cnos")?,
        cpu_speed: node.get("ndp/cpu_speed", Json::float)?.unwrap_or(1.0),
        exclusive_storage,
        offline: !live || drained,
        outage: if silent {
            Outage::Silent
        } else if live && drained {
            Outage::Drained
        } else {
            Outage::Marked
        },
        master: false,
        group,
        tags: node.get("tags", strings)?.unwrap_or_default(),
        hypervisor: None,
    })
}

fn read_instance(
    name: &str,
    instance: &dyn Fields<'_>,
    nodes: &HashMap<&str, NodeIdx>,
) -> Result<RawInstance> {
    let node = |field: &str, node: &str| {
        nodes.get(node).copied().ok_or_else(|| instance.error(field, &unknown_node(node, name)))
    };
    let disk = Mib(instance.need("disk_usage", Json::int)?);
    let sizes = instance.need("disk.sizes", |list| each(list, Json::int))?;
    let spindles = instance.need("disk.spindles", |list| each(list, Json::int_or_null))?;
    Ok(RawInstance {
        name: name.to_owned(),
        disk,
        mem: Mib(instance.memory()?),
        vcpus: instance.need("be/vcpus", Json::int)?,
        primary: node("pnode", instance.need("pnode", Json::string)?)?,
        secondary: instance.secondary()?.map(|name| node("snodes", name)).transpose()?,
        status: instance.need("status", named)?,
        tags: instance.need("tags", strings)?,
        auto_balance: instance.need("be/auto_balance", Json::bool)?,
        template: instance.need("disk_template", named)?,
        spindle_use: instance.need("be/spindle_use", Json::int)?,
        // The longer list is cut, as in the reference.
        disks: sizes
            .into_iter()
            .zip(spindles)
            .map(|(size, spindles)| Disk { size: Mib(size), spindles })
            .collect(),
        networks: Vec::new(),
        forthcoming: instance.is_forthcoming()?,
    })
}

/// The information about the cluster that is used.
struct ClusterInfo {
    name: Option<String>,
    master: NodeIdx,
    tags: Vec<String>,
    policy: InstancePolicy,
    hypervisor: Hypervisor,
}

fn read_info(info: &Object<'_, '_>, nodes: &HashMap<&str, NodeIdx>) -> Result<ClusterInfo> {
    // Only pages show the name, so a missing one is no error.
    let name = info.get("name").and_then(|name| name.string().ok()).map(str::to_owned);
    let master = info.string("master")?;
    let tags = info.strings("tags")?;
    let policy = read_policy(&info.object("ipolicy")?)?;
    let hypervisor = info.enumeration("default_hypervisor")?;
    let unknown = || info.key_error("master", format!("no node has the name '{}'", shown_name(master)));
    Ok(ClusterInfo { name, master: *nodes.get(master).ok_or_else(unknown)?, tags, policy, hypervisor })
}
