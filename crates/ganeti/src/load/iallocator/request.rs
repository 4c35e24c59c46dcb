//! The request in an allocator message.

use super::description::{Description, read_description};
use crate::input::error::Result;
use crate::input::json::Object;
use crate::load::names::{LookupError, Names, common_domain};
use crate::load::raw::RawCluster;
use htools_model::shown::printable;
use htools_model::{Cluster, EvacMode, GroupIdx, InstanceIdx, NodeIdx};

/// Type of request, with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Find a place for a new instance.
    Allocate {
        /// The instance.
        instance: Allocation,
        /// Name or UUID of the group to use, not yet looked up. Without it, every group is tried.
        group: Option<String>,
        /// Full names of the nodes that may be used, not yet looked up. An empty list allows none.
        restrict_to: Option<Vec<String>>,
    },
    /// Replace one of an instance's nodes by another.
    Relocate {
        /// The instance.
        instance: InstanceIdx,
        /// Number of nodes to replace, as given; only 1 is meaningful.
        required_nodes: i64,
        /// The nodes to leave.
        from: Vec<NodeIdx>,
    },
    /// Find other nodes for instances whose nodes are to be evacuated.
    NodeEvacuate {
        /// The instances in the given order, with repetitions.
        instances: Vec<InstanceIdx>,
        /// Side of the instances to move.
        mode: EvacMode,
    },
    /// Move instances to another group.
    ChangeGroup {
        /// The instances in the given order, with repetitions.
        instances: Vec<InstanceIdx>,
        /// Candidate groups. If empty, all groups that the instances are not in.
        targets: Vec<GroupIdx>,
    },
    /// Find places for several new instances, one after another.
    MultiAllocate {
        /// The instances.
        instances: Vec<Allocation>,
        /// Group for all of them, as for a single instance.
        group: Option<String>,
    },
    /// Find a secondary node for an instance that has none.
    AllocateSecondary {
        /// The instance.
        instance: InstanceIdx,
    },
}

/// Maximum length of a summary, in characters.
const SUMMARY_SHOWN: usize = 1000;

/// A new instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The instance.
    pub description: Description,
    /// Number of nodes wanted, as given; 1 and 2 are meaningful.
    pub required_nodes: i64,
}

/// Reads the request, and looks up the objects of `cluster` that it refers to.
pub(super) fn read_request(request: &Object<'_, '_>, cluster: &RawCluster) -> Result<Request> {
    match request.string("type")? {
        "allocate" => read_allocate(request),
        "relocate" => read_relocate(request, cluster),
        "node-evacuate" => Ok(Request::NodeEvacuate {
            instances: read_instances(request, cluster)?,
            mode: request.enumeration("evac_mode")?,
        }),
        "change-group" => read_change_group(request, cluster),
        "multi-allocate" => Ok(Request::MultiAllocate {
            instances: request.each_object("instances", |item| read_allocation(&item))?,
            group: request.optional_string("group_name")?.map(str::to_owned),
        }),
        "allocate-secondary" => Ok(Request::AllocateSecondary { instance: read_existing(request, cluster)? }),
        _ => {
            let found = request.required("type")?.found();
            Err(request.key_error("type", format!("{found} is not a known type of request")))
        }
    }
}

fn read_allocation(object: &Object<'_, '_>) -> Result<Allocation> {
    let name = object.string("name")?;
    let required_nodes = object.int("required_nodes")?;
    let nodes = usize::try_from(required_nodes).unwrap_or(1);
    Ok(Allocation { description: read_description(name, object, nodes)?, required_nodes })
}

fn read_allocate(request: &Object<'_, '_>) -> Result<Request> {
    Ok(Request::Allocate {
        instance: read_allocation(request)?,
        group: request.optional_string("group_name")?.map(str::to_owned),
        restrict_to: request.optional_strings("restrict-to-nodes")?,
    })
}

fn read_relocate(request: &Object<'_, '_>, cluster: &RawCluster) -> Result<Request> {
    let instance = read_existing(request, cluster)?;
    let required_nodes = request.int("required_nodes")?;
    let names = Names::new(cluster.nodes.iter().map(|n| n.name.as_str()));
    let domain = cluster_domain(cluster);
    let from = find_all(request, "relocate_from", "node", |name| names.find(name, domain).map(NodeIdx::new))?;
    Ok(Request::Relocate { instance, required_nodes, from })
}

fn read_change_group(request: &Object<'_, '_>, cluster: &RawCluster) -> Result<Request> {
    let instances = read_instances(request, cluster)?;
    let names = Names::new(cluster.groups.iter().map(|g| g.name.as_str()));
    let uuids = Names::new(cluster.groups.iter().map(|g| g.uuid.as_str()));
    let find = |name: &str| names.find_in_either(&uuids, name).map(GroupIdx::new);
    Ok(Request::ChangeGroup { instances, targets: find_all(request, "target_groups", "group", find)? })
}

/// The existing instance with the name in `name`, which must be the full name.
fn read_existing(request: &Object<'_, '_>, cluster: &RawCluster) -> Result<InstanceIdx> {
    let name = request.string("name")?;
    // If several have the name, the last one counts.
    let position = cluster.instances.iter().rposition(|i| i.name == name);
    position
        .map(InstanceIdx::new)
        .ok_or_else(|| request.key_error("name", format!("no instance has the name '{name}'")))
}

/// The existing instances in `instances`. As in `relocate_from`, names may be given without the common domain.
fn read_instances(request: &Object<'_, '_>, cluster: &RawCluster) -> Result<Vec<InstanceIdx>> {
    let names = Names::new(cluster.instances.iter().map(|i| i.name.as_str()));
    let domain = cluster_domain(cluster);
    find_all(request, "instances", "instance", |name| names.find(name, domain).map(InstanceIdx::new))
}

/// The domain that all names of nodes and instances share.
fn cluster_domain(cluster: &RawCluster) -> &str {
    let nodes = cluster.nodes.iter().map(|n| n.name.as_str());
    common_domain(nodes.chain(cluster.instances.iter().map(|i| i.name.as_str())))
}

fn find_all<T>(
    request: &Object<'_, '_>,
    key: &str,
    kind: &str,
    find: impl Fn(&str) -> std::result::Result<T, LookupError>,
) -> Result<Vec<T>> {
    let names = request.strings(key)?;
    names
        .iter()
        .map(|name| find(name).map_err(|e| request.key_error(key, format!("{kind} '{name}': {e}"))))
        .collect()
}

impl Request {
    /// A short description of the request, for people.
    pub fn summary(&self, cluster: &Cluster) -> String {
        let instance = |i: &InstanceIdx| cluster.instance(*i).name.as_str();
        let instances = |list: &[InstanceIdx]| list.iter().map(instance).collect::<Vec<_>>().join(", ");
        let node = |n: &NodeIdx| cluster.node(*n).spec.name.as_str();
        let text = match self {
            Request::Allocate { instance, group, restrict_to } => {
                let group = group.as_ref().map(|g| format!(", in group {g}")).unwrap_or_default();
                let nodes = restrict_to.as_ref().map(|names| format!(", on {}", names.join(", ")));
                format!("allocate {}{group}{}", instance.summary(), nodes.unwrap_or_default())
            }
            Request::MultiAllocate { instances, group } => {
                let group = group.as_ref().map(|g| format!(" in group {g}")).unwrap_or_default();
                let each: Vec<String> = instances.iter().map(Allocation::summary).collect();
                format!("multi-allocate{group}: {}", each.join("; "))
            }
            Request::Relocate { instance: idx, from, .. } => {
                let from: Vec<&str> = from.iter().map(node).collect();
                format!("relocate {} from {}", instance(idx), from.join(", "))
            }
            Request::NodeEvacuate { instances: list, mode } => {
                format!("node-evacuate ({mode}): {}", instances(list))
            }
            Request::ChangeGroup { instances: list, targets } => {
                let targets: Vec<&str> = targets.iter().map(|g| cluster.group(*g).name.as_str()).collect();
                let to = if targets.is_empty() { "any other".to_owned() } else { targets.join(", ") };
                format!("change-group to {to}: {}", instances(list))
            }
            Request::AllocateSecondary { instance: idx } => {
                format!("allocate-secondary for {}", instance(idx))
            }
        };
        printable(&text, SUMMARY_SHOWN)
    }
}

impl Allocation {
    fn summary(&self) -> String {
        let Description { name, template, mem, vcpus, disk, .. } = &self.description;
        let nodes = self.required_nodes;
        format!(
            "{name} ({template}, {} MiB memory, {} MiB disk, {vcpus} vcpus, {nodes} nodes)",
            mem.0, disk.0
        )
    }
}
