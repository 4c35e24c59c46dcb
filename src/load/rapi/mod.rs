//! The remote API (RAPI) of a cluster: over HTTP, or from a directory with
//! what it answered (`-m`, and the words of hscan).

mod fetch;
mod groups;
mod info;
mod instances;
mod nodes;

use std::collections::HashMap;

use info::RapiInfo;

use super::raw::{Detail, RawCluster};
use crate::input::error::Result;
use crate::input::json::{Body, Budget};
use crate::model::{GroupIdx, NodeIdx};
use crate::remote::rapi::{Access, Address, FetchLimits};

/// What one resource gave: its name for messages, and its bytes if there are any.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceAnswer {
    /// URL or file, without passwords.
    pub source: String,
    /// The body, or why there is none.
    pub body: Result<Vec<u8>>,
}

/// The answers of the four resources that describe a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct RapiAnswers {
    /// `/2/groups?bulk=1`
    pub groups: ResourceAnswer,
    /// `/2/nodes?bulk=1`
    pub nodes: ResourceAnswer,
    /// `/2/instances?bulk=1`
    pub instances: ResourceAnswer,
    /// `/2/info`
    pub info: ResourceAnswer,
}

/// One of the four resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    Groups,
    Nodes,
    Instances,
    Info,
}

impl Resource {
    /// What follows `/2/` in its path; in a directory, `.json` follows it.
    fn name(self) -> &'static str {
        match self {
            Resource::Groups => "groups",
            Resource::Nodes => "nodes",
            Resource::Instances => "instances",
            Resource::Info => "info",
        }
    }
}

/// Reads the cluster at an address: groups, nodes, instances, info, one after the other. Each is
/// read while it arrives, and nothing is asked for after a failure.
///
/// # Errors
/// The first in that order: an answer that did not come, or that is wrong.
pub fn load(address: &Address, access: &Access, detail: Detail) -> Result<RawCluster> {
    load_in(address, access, detail, FetchLimits::default())
}

/// The same in another manner.
///
/// # Errors
/// See [`load`].
pub fn load_in(
    address: &Address,
    access: &Access,
    detail: Detail,
    manner: FetchLimits,
) -> Result<RawCluster> {
    let place = fetch::Fetcher::of(address, access, manner)?;
    read_cluster(|resource| place.open(resource), detail)
}

/// Reads the cluster from the answers, no more of it than all tools need.
///
/// # Errors
/// See [`load`].
pub fn parse(answers: &RapiAnswers) -> Result<RawCluster> {
    parse_detailed(answers, Detail::Usual)
}

/// Reads the cluster from the answers. They are always the same: nothing is looked at that is
/// not wanted.
///
/// # Errors
/// See [`load`].
pub fn parse_detailed(answers: &RapiAnswers, detail: Detail) -> Result<RawCluster> {
    let open = |resource| {
        let answer = match resource {
            Resource::Groups => &answers.groups,
            Resource::Nodes => &answers.nodes,
            Resource::Instances => &answers.instances,
            Resource::Info => &answers.info,
        };
        let bytes = answer.body.as_ref().map_err(Clone::clone)?;
        Ok(Body { source: answer.source.clone(), bytes: Box::new(bytes.as_slice()) })
    };
    read_cluster(open, detail)
}

/// Reads the cluster from the resources that `open` opens.
fn read_cluster<'a>(open: impl Fn(Resource) -> Result<Body<'a>>, detail: Detail) -> Result<RawCluster> {
    let budget = Budget::new(Budget::CLUSTER);
    let groups = groups::read_groups(open(Resource::Groups)?, detail, &budget)?;
    let group_by_uuid: HashMap<&str, GroupIdx> =
        groups.iter().enumerate().map(|(i, g)| (g.uuid.as_str(), GroupIdx::new(i))).collect();
    let mut warnings = Vec::new();
    let mut nodes = nodes::read_nodes(open(Resource::Nodes)?, &group_by_uuid, &mut warnings, &budget)?;
    let node_by_name: HashMap<&str, NodeIdx> =
        nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), NodeIdx::new(i))).collect();
    let instances = instances::read_instances(open(Resource::Instances)?, &node_by_name, &budget)?;
    let info = info::read_info(open(Resource::Info)?, &node_by_name, &budget)?;
    for node in &mut nodes {
        node.hypervisor = Some(info.hypervisor);
    }
    nodes[info.master.get()].master = true;
    let RapiInfo { tags, policy, .. } = info;
    Ok(RawCluster { groups, nodes, instances, tags, policy, warnings, first_node_number: 0 })
}

#[cfg(test)]
mod tests;
