//! JSON documents (`--json`). Each names its schema; the schemas are in `docs/schema/`. Sizes are in MiB; a number that
//! is not finite is null.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use serde::Serialize;

use crate::model::{Cluster, InstanceIdx, Leg, Move, NodeIdx, Placement};
use crate::score::{Components, Metric};

/// The text of a short document.
pub(crate) fn text(document: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// Writes a document of any length without holding its text in memory.
pub(crate) fn write(document: &impl Serialize, to: &mut dyn io::Write) -> io::Result<()> {
    let mut to = io::BufWriter::new(to);
    serde_json::to_writer_pretty(&mut to, document)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// Function that writes a document as JSON.
type PrintJson = dyn Fn(&mut dyn io::Write) -> io::Result<()>;

/// A complete document or picture to be printed later.
pub(crate) enum Printout {
    Text(String),
    /// A JSON document that may be long; its text is made while it is printed.
    Json(Box<PrintJson>),
}

impl Printout {
    pub(crate) fn of(document: impl Serialize + 'static) -> Printout {
        Printout::Json(Box::new(move |to| write(&document, to)))
    }

    pub(crate) fn print(&self, to: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Printout::Text(text) => to.write_all(text.as_bytes()),
            Printout::Json(print) => print(to),
        }
    }
}

/// Commands as text.
pub(in crate::report) fn texts<'t>(lines: impl IntoIterator<Item = &'t (impl ToString + 't)>) -> Vec<String> {
    lines.into_iter().map(ToString::to_string).collect()
}

/// The program that made a document.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Generator {
    name: &'static str,
    version: &'static str,
    /// The weights that differ from Ganeti's, by metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    weights: BTreeMap<&'static str, f64>,
}

impl Generator {
    pub(crate) fn this() -> Generator {
        Generator { name: "htools", version: env!("CARGO_PKG_VERSION"), weights: BTreeMap::new() }
    }

    /// The same for documents with scores of a cluster.
    pub(in crate::report) fn of(cluster: &Cluster) -> Generator {
        let weights = cluster.weights.chosen().map(|(metric, weight)| (metric.name, weight)).collect();
        Generator { weights, ..Generator::this() }
    }
}

pub(in crate::report) fn node_name(cluster: &Cluster, node: NodeIdx) -> String {
    cluster.node(node).spec.name.clone()
}

pub(in crate::report) fn node_names(cluster: &Cluster, nodes: &[NodeIdx]) -> Vec<String> {
    nodes.iter().map(|node| node_name(cluster, *node)).collect()
}

pub(in crate::report) fn instance_names(cluster: &Cluster, instances: &[InstanceIdx]) -> Vec<String> {
    instances.iter().map(|instance| cluster.instance(*instance).name.clone()).collect()
}

/// The nodes of an instance, by full name.
#[derive(Debug, Clone, Serialize)]
pub(in crate::report) struct Nodes {
    primary: String,
    secondary: Option<String>,
}

impl Nodes {
    pub(in crate::report) fn of(cluster: &Cluster, placement: Placement) -> Nodes {
        let name = |n| node_name(cluster, n);
        Nodes { primary: name(placement.primary), secondary: placement.secondary.map(name) }
    }
}

/// A kind of move, in one word.
pub(in crate::report) fn kind(mv: Move) -> &'static str {
    match mv {
        Move::Failover => "failover",
        Move::FailoverTo(_) => "failover-to-any",
        Move::ReplaceSecondary(_) => "replace-secondary",
        Move::ReplaceAndFailover(_) => "replace-and-failover",
        Move::ReplacePrimary(_) => "replace-primary",
        Move::FailoverAndReplace(_) => "failover-and-replace",
        Move::ReplaceBoth(..) => "replace-both",
        Move::FailoverAndReplaceBoth(..) => "failover-and-replace-both",
    }
}

/// The name of a leg in documents: the name of the move that consists of this leg alone.
pub(in crate::report) fn leg_kind(leg: Leg) -> &'static str {
    Move::of_legs([leg]).map_or("", kind)
}

/// A score with its metrics.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Score {
    total: f64,
    components: Vec<Component>,
}

#[derive(Debug, Clone, Serialize)]
struct Component {
    name: &'static str,
    value: f64,
    weight: f64,
}

impl Score {
    pub(crate) fn of(components: &Components) -> Score {
        let component =
            |(metric, value, weight): (&Metric, f64, f64)| Component { name: metric.name, value, weight };
        Score { total: components.score(), components: components.parts().map(component).collect() }
    }
}
