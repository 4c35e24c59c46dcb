//! The remote API (RAPI) of a cluster: over HTTP, or from a directory with
//! what it answered (`-m`, and the words of hscan).

mod access;
mod address;
mod cause;
mod certificates;
mod client;
mod credentials;
mod fetch;
mod groups;
mod info;
mod instances;
mod nodes;
mod refusal;
mod secret;
mod session;
mod verifier;

use std::collections::HashMap;

pub use access::{Access, AccessFiles};
pub use address::Address;
pub use credentials::VARIABLES;
pub use fetch::{Manner, fetch, fetch_in};
pub use secret::{Credentials, Secret};
pub use session::{Session, Verb};

use info::Info;

use super::encoding::decode;
use super::error::Result;
use super::json::{self, Json, Place};
use super::raw::RawCluster;
use super::remote::Detail;
use crate::model::{GroupIdx, NodeIdx};

/// What one resource gave: its name for messages, and its bytes if there are any.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// URL or file, without passwords.
    pub source: String,
    /// The body, or why there is none.
    pub body: Result<Vec<u8>>,
}

/// The answers of the four resources that describe a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// `/2/groups?bulk=1`
    pub groups: Answer,
    /// `/2/nodes?bulk=1`
    pub nodes: Answer,
    /// `/2/instances?bulk=1`
    pub instances: Answer,
    /// `/2/info`
    pub info: Answer,
}

/// Reads the cluster at an address.
///
/// # Errors
/// The first in the order groups, nodes, instances, info: an answer that did not
/// come, or that is wrong.
pub fn load(address: &Address, access: &Access, detail: Detail) -> Result<RawCluster> {
    parse_detailed(&fetch(address, access)?, detail)
}

/// Reads the cluster from the answers, no more of it than all tools need.
///
/// # Errors
/// See [`load`].
pub fn parse(answers: &Answers) -> Result<RawCluster> {
    parse_detailed(answers, Detail::Usual)
}

/// Reads the cluster from the answers. They are always the same: nothing is looked at that is
/// not wanted.
///
/// # Errors
/// See [`load`].
pub fn parse_detailed(answers: &Answers, detail: Detail) -> Result<RawCluster> {
    // most of the work is finding out where strings end: all at once
    let ((groups, nodes), (instances, info)) = rayon::join(
        || rayon::join(|| document(&answers.groups, None), || document(&answers.nodes, Some(nodes::KEYS))),
        || {
            rayon::join(
                || document(&answers.instances, Some(instances::KEYS)),
                || document(&answers.info, None),
            )
        },
    );
    let groups = groups::read_groups(&groups?, &place(&answers.groups), detail)?;
    let group_by_uuid: HashMap<&str, GroupIdx> =
        groups.iter().enumerate().map(|(i, g)| (g.uuid.as_str(), GroupIdx::new(i))).collect();
    let mut warnings = Vec::new();
    let mut nodes = nodes::read_nodes(&nodes?, &place(&answers.nodes), &group_by_uuid, &mut warnings)?;
    let node_by_name: HashMap<&str, NodeIdx> =
        nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), NodeIdx::new(i))).collect();
    let instances = instances::read_instances(&instances?, &place(&answers.instances), &node_by_name)?;
    let info = info::read_info(&info?, &place(&answers.info), &node_by_name)?;
    for node in &mut nodes {
        node.hypervisor = Some(info.hypervisor);
    }
    nodes[info.master.get()].master = true;
    let Info { tags, policy, .. } = info;
    Ok(RawCluster { groups, nodes, instances, tags, policy, warnings, first_node_number: 0 })
}

fn document(answer: &Answer, wanted: Option<&'static [&'static str]>) -> Result<Json> {
    let bytes = answer.body.as_ref().map_err(Clone::clone)?;
    let text = decode(bytes, &answer.source)?;
    match wanted {
        Some(keys) => json::parse_wanted(text, &answer.source, keys),
        None => json::parse(text, &answer.source),
    }
}

fn place(answer: &Answer) -> Place<'_> {
    Place::source(&answer.source)
}

#[cfg(test)]
mod tests;
