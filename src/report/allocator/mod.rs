//! Answers to allocator requests, in the form that Ganeti's master reads: one line of JSON.

mod additions;
mod plain;
mod text;

pub use additions::WishedAdditions;
pub use plain::{plan_lines, why_lines};
pub use text::{failure_text, selection_text};

use serde::Serialize;

use self::additions::Additions;
use crate::model::{Cluster, NodeIdx};
use crate::plan::opcode::{Opcode, job};
use crate::report::form::json::node_name;
use crate::search::requests::{Answer, Failure, Reply};

/// A response. The fields are written in this order.
#[derive(Debug, Clone, Serialize)]
pub struct Response {
    success: bool,
    info: String,
    result: ResultForm,
    #[serde(flatten)]
    additions: Additions,
}

/// The result, in a form that depends on the kind of request.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum ResultForm {
    Node(String),
    Nodes(Vec<String>),
    Allocated(Vec<(String, Vec<String>)>, Vec<(String, String)>),
    Moved(Vec<(String, String, Vec<String>)>, Vec<(String, String)>, Vec<Vec<Opcode>>),
}

impl Response {
    /// The response to a request, with the additions asked for.
    pub fn of(reply: &Reply, wish: WishedAdditions) -> Response {
        let additions = Additions::of(reply, wish);
        match &reply.answer {
            Ok(answer) => {
                let (info, result) = success(&reply.cluster, answer);
                Response { success: true, info: format!("Request successful: {info}"), result, additions }
            }
            Err(failure) => Response {
                success: false,
                info: format!("Request failed: {}", failure_text(&reply.cluster, failure)),
                result: ResultForm::Nodes(Vec::new()),
                additions,
            },
        }
    }

    /// The response to a request that could not be processed.
    pub fn failed(problem: &str) -> Response {
        Response {
            success: false,
            info: format!("Request failed: {problem}"),
            result: ResultForm::Nodes(Vec::new()),
            additions: Additions::default(),
        }
    }

    /// The response as one line.
    ///
    /// # Errors
    /// None are known.
    pub fn line(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

fn success(cluster: &Cluster, answer: &Answer) -> (String, ResultForm) {
    let names = |nodes: &[NodeIdx]| nodes.iter().map(|n| node_name(cluster, *n)).collect();
    match answer {
        Answer::Allocated { choice, nodes } => {
            (selection_text(cluster, choice), ResultForm::Nodes(names(nodes)))
        }
        Answer::MultiAllocated { allocated, failed } => {
            let info = counts(failed.len(), "allocate", allocated.len(), "allocated");
            let allocated = allocated.iter().map(|(name, nodes)| (name.clone(), names(nodes))).collect();
            let text = |f: &Failure| failure_text(cluster, f);
            let failed = failed.iter().map(|(name, failure)| (name.clone(), text(failure))).collect();
            (info, ResultForm::Allocated(allocated, failed))
        }
        Answer::Relocated { node } => ("success".to_owned(), ResultForm::Nodes(names(&[*node]))),
        Answer::Evacuated { .. } => evacuated(cluster, answer),
        Answer::SecondaryAllocated { search, node } => {
            (text::search_text(cluster, search), ResultForm::Node(node_name(cluster, *node)))
        }
    }
}

fn evacuated(cluster: &Cluster, answer: &Answer) -> (String, ResultForm) {
    let Answer::Evacuated { moved, failed } = answer else {
        return (String::new(), ResultForm::Nodes(Vec::new()));
    };
    let info = counts(failed.len(), "move", moved.len(), "moved");
    let jobs = moved.iter().map(|(m, _)| job(cluster, cluster.instance(m.instance), &m.moves)).collect();
    let moved = moved.iter().map(|(m, group)| {
        let nodes = [Some(m.to.primary), m.to.secondary].into_iter().flatten();
        let group = cluster.group(*group).name.clone();
        (cluster.instance(m.instance).name.clone(), group, nodes.map(|n| node_name(cluster, n)).collect())
    });
    let failed = failed
        .iter()
        .map(|(idx, failure)| (cluster.instance(*idx).name.clone(), failure_text(cluster, failure)));
    (info, ResultForm::Moved(moved.collect(), failed.collect(), jobs))
}

fn counts(failed: usize, to_do: &str, succeeded: usize, done: &str) -> String {
    format!("{failed} instances failed to {to_do} and {succeeded} were {done} successfully")
}
