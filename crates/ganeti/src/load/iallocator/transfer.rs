//! Transfer of a request to another cluster.

use super::Request;
use crate::input::error::{LoadError, Result};
use crate::load::names::{LookupError, Names};
use htools_model::shown::shown_name;
use htools_model::{Cluster, GroupIdx, InstanceIdx, NodeIdx};

impl Request {
    /// Converts a request about `from` into one about `to`. Instances and nodes are matched by full name, groups by
    /// UUID or else by name.
    ///
    /// # Errors
    /// If an object of the request is missing, or its name is not unique.
    pub fn transferred(self, from: &Cluster, to: &Cluster) -> Result<Request> {
        let other = OtherNames::new(from, to);
        Ok(match self {
            new @ (Request::Allocate { .. } | Request::MultiAllocate { .. }) => new,
            Request::Relocate { instance, required_nodes, from } => Request::Relocate {
                instance: other.instance(instance)?,
                required_nodes,
                from: from.into_iter().map(|n| other.node(n)).collect::<Result<_>>()?,
            },
            Request::NodeEvacuate { instances, mode } => {
                Request::NodeEvacuate { instances: other.instances(&instances)?, mode }
            }
            Request::ChangeGroup { instances, targets } => Request::ChangeGroup {
                instances: other.instances(&instances)?,
                targets: targets.into_iter().map(|g| other.group(g)).collect::<Result<_>>()?,
            },
            Request::AllocateSecondary { instance } => {
                Request::AllocateSecondary { instance: other.instance(instance)? }
            }
        })
    }
}

/// The names of another cluster.
struct OtherNames<'a> {
    from: &'a Cluster,
    instances: Names<'a>,
    nodes: Names<'a>,
    groups: Names<'a>,
    uuids: Names<'a>,
}

impl<'a> OtherNames<'a> {
    fn new(from: &'a Cluster, to: &'a Cluster) -> OtherNames<'a> {
        OtherNames {
            from,
            instances: Names::new(to.instances.iter().map(|i| i.name.as_str())),
            nodes: Names::new(to.nodes.iter().map(|n| n.spec.name.as_str())),
            groups: Names::new(to.groups.iter().map(|g| g.name.as_str())),
            uuids: Names::new(to.groups.iter().map(|g| g.uuid.as_str())),
        }
    }

    fn instance(&self, idx: InstanceIdx) -> Result<InstanceIdx> {
        let name = &self.from.instance(idx).name;
        found("instance", name, self.instances.find(name, "")).map(InstanceIdx::new)
    }

    fn instances(&self, list: &[InstanceIdx]) -> Result<Vec<InstanceIdx>> {
        list.iter().map(|i| self.instance(*i)).collect()
    }

    fn node(&self, idx: NodeIdx) -> Result<NodeIdx> {
        let name = &self.from.node(idx).spec.name;
        found("node", name, self.nodes.find(name, "")).map(NodeIdx::new)
    }

    fn group(&self, idx: GroupIdx) -> Result<GroupIdx> {
        let group = self.from.group(idx);
        let found_at = self.uuids.find(&group.uuid, "").or_else(|_| self.groups.find(&group.name, ""));
        found("group", &group.name, found_at).map(GroupIdx::new)
    }
}

fn found(kind: &str, name: &str, at: std::result::Result<usize, LookupError>) -> Result<usize> {
    at.map_err(|error| {
        let place = format!("request, {kind} '{}'", shown_name(name));
        LoadError::one_line(&place, &format!("{error} in the cluster given with -t or --simulate"))
    })
}
