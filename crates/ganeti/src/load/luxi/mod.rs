//! Loading from the master daemon of a cluster over its socket (`-L`).

mod rows;

use std::path::Path;

use serde_json::{Value, json};

use super::fields::Fields;
use super::live::{ClusterPart, LiveSource, read_cluster};
use super::raw::{Detail, RawCluster};
use crate::input::error::{LoadError, Result};
use crate::input::json::{Budget, JsonPath, Object, WantedParts, Weight, keys};
use crate::remote::CallError;
use crate::remote::cutoff::Cutoff;
use crate::remote::luxi::{self, Connection, SharedBudget, Timeouts, envelope};
use rows::QueryTable;

/// The text of an answer, or its error.
pub(crate) type CallAnswer = std::result::Result<String, CallError>;

/// The answers to the four requests that describe a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct LuxiAnswers {
    /// The socket, for messages.
    pub source: String,
    /// Detail that was asked for.
    pub detail: Detail,
    /// Answer to the query for groups.
    pub groups: CallAnswer,
    /// Answer to the query for nodes.
    pub nodes: CallAnswer,
    /// Answer to the query for instances.
    pub instances: CallAnswer,
    /// Answer to the query for the cluster itself.
    pub info: CallAnswer,
}

/// Fields to ask for in a part.
fn fields(part: ClusterPart, detail: Detail) -> &'static [&'static str] {
    match (part, detail) {
        (ClusterPart::Nodes, _) => &[
            "name",
            "mtotal",
            "mnode",
            "mfree",
            "dtotal",
            "dfree",
            "ctotal",
            "cnos",
            "offline",
            "drained",
            "vm_capable",
            "ndp/spindle_count",
            "group.uuid",
            "tags",
            "ndp/exclusive_storage",
            "sptotal",
            "spfree",
            "ndp/cpu_speed",
        ],
        (ClusterPart::Instances, _) => &[
            "name",
            "disk_usage",
            "be/memory",
            "be/vcpus",
            "status",
            "pnode",
            "snodes",
            "tags",
            "be/auto_balance",
            "disk_template",
            "be/spindle_use",
            "disk.sizes",
            "disk.spindles",
            "forthcoming",
        ],
        (_, Detail::Usual) => &["uuid", "name", "alloc_policy", "ipolicy", "tags"],
        (_, Detail::Storage) => &["uuid", "name", "alloc_policy", "ipolicy", "tags", "diskparams"],
    }
}

/// The requests, with method and arguments, in the order in which they are sent: nodes, instances, the cluster itself,
/// groups.
pub fn requests(detail: Detail) -> [(&'static str, Value); 4] {
    let query = |part: ClusterPart| ("Query", json!([part.kind(), fields(part, detail), null]));
    let info = ("QueryClusterInfo", json!([]));
    [query(ClusterPart::Nodes), query(ClusterPart::Instances), info, query(ClusterPart::Groups)]
}

/// Gets the four answers over one connection, within the time and size limits of one answer. A refusal does not stop
/// the rest.
///
/// # Errors
/// If there is no connection, or it ends early.
pub fn fetch(socket: &Path, manner: Timeouts, detail: Detail) -> Result<LuxiAnswers> {
    let source = socket.to_string_lossy().into_owned();
    let wrong = |problem: &str| LoadError::one_line(&luxi::shown(socket), problem);
    let mut connection =
        Connection::open_or_why(socket, manner).map_err(|error| wrong(&error.to_string()))?;
    // The limits apply to all four answers together.
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
/// The first error in the order groups, nodes, instances, info.
pub fn parse(answers: &LuxiAnswers) -> Result<RawCluster> {
    read_cluster(&Tables { answers, budget: Budget::new(Budget::CLUSTER) }, answers.detail)
}

/// The answers, and the memory budget for them.
struct Tables<'a> {
    answers: &'a LuxiAnswers,
    budget: Budget,
}

impl LiveSource for Tables<'_> {
    fn each<T: Weight>(
        &self,
        part: ClusterPart,
        read: impl FnMut(&str, &dyn Fields<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let answer = match part {
            ClusterPart::Groups => &self.answers.groups,
            ClusterPart::Nodes => &self.answers.nodes,
            _ => &self.answers.instances,
        };
        let text = answer.as_ref().map_err(|error| self.refused(part.as_str(), error))?;
        let place = JsonPath::source(&self.answers.source);
        let table = QueryTable { text, place, kind: part.kind(), budget: &self.budget };
        table.each_row(fields(part, self.answers.detail), read)
    }

    fn info<T>(&self, read: impl FnOnce(&Object<'_, '_>) -> Result<T>) -> Result<T> {
        const SHAPE: WantedParts =
            WantedParts::Keys(&keys(["name", "tags", "ipolicy", "master", "default_hypervisor"]));
        let answer = self.answers.info.as_ref().map_err(Clone::clone);
        let found = answer.and_then(|text| envelope::part(text, SHAPE, &self.budget));
        let found = found.map_err(|error| self.refused("the cluster", &error))?;
        read(&Object::new(&found, JsonPath::source(&self.answers.source).key("cluster"))?)
    }
}

impl Tables<'_> {
    fn refused(&self, what: &str, error: &CallError) -> LoadError {
        JsonPath::source(&self.answers.source).error(format!("query for {what}: {error}"))
    }
}
