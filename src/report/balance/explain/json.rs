//! Explanations (`hbal --explain`), as documents show them.

use serde::Serialize;

use super::text::outlook_name;
use crate::model::Cluster;
use crate::plan::command::notation;
use crate::report::form::json::{Nodes, kind};
use crate::report::why::json::MoveRefusalView;
use crate::report::why::words::hold_words;
use crate::search::balance::explain::{Explanation, InstanceOutlook, MoveVerdict};

/// Explanation of one instance's moves.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Explained {
    instance: String,
    group: String,
    at: Nodes,
    score: f64,
    outlook: &'static str,
    /// The better step that becomes possible after a step of another instance.
    next_step: Option<NextStep>,
    holds: Vec<&'static str>,
    best: Option<usize>,
    moves: Vec<MoveView>,
}

#[derive(Debug, Clone, Serialize)]
struct NextStep {
    instance: String,
    #[serde(rename = "move")]
    kind: &'static str,
    notation: String,
    to: Nodes,
    score: f64,
}

#[derive(Debug, Clone, Serialize)]
struct MoveView {
    #[serde(rename = "move")]
    kind: &'static str,
    notation: String,
    to: Nodes,
    /// The score afterwards, for possible moves.
    score: Option<f64>,
    refusal: Option<MoveRefusalView>,
}

pub(crate) fn explained(e: &Explanation, cluster: &Cluster) -> Explained {
    let instance = cluster.instance(e.instance);
    let view = |m: &MoveVerdict| MoveView {
        kind: kind(m.mv),
        notation: notation(cluster, m.mv),
        to: Nodes::of(cluster, m.to),
        score: m.verdict.as_ref().ok().copied(),
        refusal: m.verdict.as_ref().err().map(|refused_place| MoveRefusalView::of(cluster, refused_place)),
    };
    let next_step = match &e.outlook {
        InstanceOutlook::OtherFirst(step) => Some(NextStep {
            instance: cluster.instance(step.instance).name.clone(),
            kind: kind(step.mv),
            notation: notation(cluster, step.mv),
            to: Nodes::of(cluster, step.to),
            score: step.score,
        }),
        _ => None,
    };
    Explained {
        instance: instance.name.clone(),
        group: cluster.group(cluster.node(instance.primary).spec.group).name.clone(),
        at: Nodes::of(cluster, instance.placement()),
        score: e.score,
        outlook: outlook_name(&e.outlook),
        next_step,
        holds: e.holds.iter().map(|h| hold_words(*h, cluster).name).collect(),
        best: e.best,
        moves: e.moves.iter().map(view).collect(),
    }
}
