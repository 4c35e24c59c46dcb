//! The master daemon of a cluster, over its socket (`-L`).

mod address;
mod connection;
pub mod envelope;
mod groups;
mod info;
mod instances;
mod nodes;
mod rows;

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

pub use address::default_socket;
pub use connection::{Connection, Manner};

use super::deadline::Deadline;
use super::error::{LoadError, Result};
use super::json::{Json, Place};
use super::raw::RawCluster;
use super::remote::{CallError, Detail};
use crate::model::{GroupIdx, NodeIdx};

/// The text of an answer, or why there is none.
pub type Answer = std::result::Result<String, CallError>;

/// The answers to the four requests that describe a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The socket, for messages.
    pub source: String,
    /// What was asked.
    pub detail: Detail,
    /// To the query for groups.
    pub groups: Answer,
    /// To the query for nodes.
    pub nodes: Answer,
    /// To the query for instances.
    pub instances: Answer,
    /// To the question for the cluster itself.
    pub info: Answer,
}

/// The requests, method and arguments, in the order in which they are sent: nodes,
/// instances, the cluster itself, groups.
pub fn requests(detail: Detail) -> [(&'static str, Value); 4] {
    [
        ("Query", json!(["node", nodes::FIELDS, null])),
        ("Query", json!(["instance", instances::FIELDS, null])),
        ("QueryClusterInfo", json!([])),
        ("Query", json!(["group", groups::fields(detail), null])),
    ]
}

/// Reads the cluster of the master daemon that listens at a socket.
///
/// # Errors
/// There is no connection, or it ends early; else the first in the order groups, nodes,
/// instances, info.
pub fn load(socket: &Path, detail: Detail) -> Result<RawCluster> {
    parse(&fetch(socket, Manner::default(), detail)?)
}

/// Gets the four answers over one connection, within the time of one. A refusal does not stop the rest.
///
/// # Errors
/// There is no connection, or it ends early.
pub fn fetch(socket: &Path, manner: Manner, detail: Detail) -> Result<Answers> {
    let source = socket.to_string_lossy().into_owned();
    let wrong = |problem: &str| LoadError::one_line(&address::shown(socket), problem);
    let mut connection = Connection::open_or_why(socket, manner).map_err(|problem| wrong(&problem))?;
    // of all four together: the time of one is no more than what the others leave
    let end = Deadline::after(manner.answer);
    let mut answer = |(method, args): (&str, Value)| {
        let answer = connection.exchange_by(method, &args, end);
        match &answer {
            Err(error) if !connection.is_open() => Err(wrong(&error.to_string())),
            _ => Ok(answer),
        }
    };
    let [nodes, instances, info, groups] = requests(detail);
    Ok(Answers {
        nodes: answer(nodes)?,
        instances: answer(instances)?,
        info: answer(info)?,
        groups: answer(groups)?,
        detail,
        source,
    })
}

/// Reads the cluster from the answers.
///
/// # Errors
/// The first in the order groups, nodes, instances, info.
pub fn parse(answers: &Answers) -> Result<RawCluster> {
    let source = answers.source.as_str();
    let place = Place::source(source);
    let result = |what: &str, answer: &Answer| -> Result<Json> {
        let result = answer.as_ref().map_err(Clone::clone).and_then(|text| envelope::result(text));
        result.map_err(|error| place.error(&format!("query for {what}: {error}")))
    };
    // most of the work is finding out where strings end: both at once
    let (nodes_found, instances_found) =
        rayon::join(|| result("nodes", &answers.nodes), || result("instances", &answers.instances));
    let groups = groups::read_groups(&result("groups", &answers.groups)?, &place, answers.detail)?;
    let group_by_uuid: HashMap<&str, GroupIdx> =
        groups.iter().enumerate().map(|(i, g)| (g.uuid.as_str(), GroupIdx::new(i))).collect();
    let mut warnings = Vec::new();
    let mut nodes = nodes::read_nodes(&nodes_found?, &place, &group_by_uuid, &mut warnings)?;
    let node_by_name: HashMap<&str, NodeIdx> =
        nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), NodeIdx::new(i))).collect();
    let instances = instances::read_instances(&instances_found?, &place, &node_by_name)?;
    let info = info::read_info(&result("the cluster", &answers.info)?, &place, &node_by_name)?;
    for node in &mut nodes {
        node.hypervisor = Some(info.hypervisor);
    }
    nodes[info.master.get()].master = true;
    Ok(RawCluster {
        groups,
        nodes,
        instances,
        tags: info.tags,
        policy: info.policy,
        warnings,
        ..RawCluster::default()
    })
}
