//! The master daemon of a cluster, over its socket (`-L`).

mod groups;
mod info;
mod instances;
mod nodes;
mod rows;

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::raw::{Detail, RawCluster};
use crate::input::error::{LoadError, Result};
use crate::input::json::{Budget, JsonPath};
use crate::model::{GroupIdx, NodeIdx};
use crate::remote::CallError;
use crate::remote::cutoff::Cutoff;
use crate::remote::luxi::{self, Connection, SharedBudget, Timeouts, envelope};
use rows::QueryTable;

/// The text of an answer, or why there is none.
pub type CallAnswer = std::result::Result<String, CallError>;

/// The answers to the four requests that describe a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct LuxiAnswers {
    /// The socket, for messages.
    pub source: String,
    /// What was asked.
    pub detail: Detail,
    /// To the query for groups.
    pub groups: CallAnswer,
    /// To the query for nodes.
    pub nodes: CallAnswer,
    /// To the query for instances.
    pub instances: CallAnswer,
    /// To the question for the cluster itself.
    pub info: CallAnswer,
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
    parse(&fetch(socket, Timeouts::default(), detail)?)
}

/// Gets the four answers over one connection, within the time and size of one. A refusal does not stop the rest.
///
/// # Errors
/// There is no connection, or it ends early.
pub fn fetch(socket: &Path, manner: Timeouts, detail: Detail) -> Result<LuxiAnswers> {
    let source = socket.to_string_lossy().into_owned();
    let wrong = |problem: &str| LoadError::one_line(&luxi::shown(socket), problem);
    let mut connection = Connection::open_or_why(socket, manner).map_err(|problem| wrong(&problem))?;
    // of all four together: one has what the others leave
    let mut share = SharedBudget { end: Cutoff::after(manner.answer), taken: 0 };
    let mut answer = |(method, args): (&str, Value)| {
        let answer = connection.exchange_of(method, &args, share);
        share.taken += answer.as_ref().map_or(0, String::len);
        match &answer {
            Err(error) if !connection.is_open() => Err(wrong(&error.to_string())),
            _ => Ok(answer),
        }
    };
    let [nodes, instances, info, groups] = requests(detail);
    Ok(LuxiAnswers {
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
pub fn parse(answers: &LuxiAnswers) -> Result<RawCluster> {
    let place = JsonPath::source(&answers.source);
    let budget = Budget::new(Budget::CLUSTER);
    let wrong = |what: &str, error: &CallError| place.error(&format!("query for {what}: {error}"));
    let table = |kind: &'static str| {
        let answer = match kind {
            "group" => &answers.groups,
            "node" => &answers.nodes,
            _ => &answers.instances,
        };
        let text = answer.as_ref().map_err(|error| wrong(&format!("{kind}s"), error))?;
        Ok(QueryTable { text, place, kind, budget: &budget })
    };
    let groups = groups::read_groups(table("group")?, answers.detail)?;
    let group_by_uuid: HashMap<&str, GroupIdx> =
        groups.iter().enumerate().map(|(i, g)| (g.uuid.as_str(), GroupIdx::new(i))).collect();
    let mut warnings = Vec::new();
    let mut nodes = nodes::read_nodes(table("node")?, &group_by_uuid, &mut warnings)?;
    let node_by_name: HashMap<&str, NodeIdx> =
        nodes.iter().enumerate().map(|(i, n)| (n.name.as_str(), NodeIdx::new(i))).collect();
    let instances = instances::read_instances(table("instance")?, &node_by_name)?;
    let info = answers.info.as_ref().map_err(Clone::clone);
    let info = info.and_then(|text| envelope::part(text, info::SHAPE, &budget));
    let info = info.map_err(|error| wrong("the cluster", &error))?;
    let info = info::read_info(&info, &place, &node_by_name)?;
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
