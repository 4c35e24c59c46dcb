//! Explanations (`hbal --explain`), as documents show them.

use serde::Serialize;

use super::{Nodes, kind};
use crate::model::{Cluster, NodeIdx, Placement};
use crate::plan::command::notation;
use crate::report::explain::{hold_name, outlook_name, rule_name};
use crate::search::explain::{ExplainedMove, Explanation, InstanceOutlook};
use crate::search::shortfall::Shortfall;

/// Why one instance moves or does not.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    instance: String,
    group: String,
    at: Nodes,
    score: f64,
    outlook: &'static str,
    /// The better step, if another instance comes first.
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
    /// The score afterwards, of possible moves.
    score: Option<f64>,
    refusal: Option<RefusalView>,
}

#[derive(Debug, Clone, Serialize)]
struct RefusalView {
    node: String,
    rule: &'static str,
    needed: Option<i64>,
    available: Option<i64>,
    missing: Option<i64>,
    unit: Option<&'static str>,
    tags: Vec<String>,
}

/// The explanation of one instance.
pub fn explained(e: &Explanation, cluster: &Cluster) -> Explained {
    let instance = cluster.instance(e.instance);
    let name = |n: NodeIdx| cluster.node(n).spec.name.clone();
    let moves = e
        .moves
        .iter()
        .map(|m| {
            let (score, refusal) = match &m.verdict {
                ExplainedMove::Possible(score) => (Some(*score), None),
                ExplainedMove::TargetOffline => (None, m.mv.target().map(|t| offline(name(t)))),
                ExplainedMove::Refused(r, s) => (None, Some(refused(name(r.node), rule_name(r.rule), s))),
            };
            MoveView {
                kind: kind(m.mv),
                notation: notation(cluster, m.mv),
                to: Nodes::of(cluster, m.to),
                score,
                refusal,
            }
        })
        .collect();
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
        at: Nodes::of(cluster, Placement { primary: instance.primary, secondary: instance.secondary }),
        score: e.score,
        outlook: outlook_name(&e.outlook),
        next_step,
        holds: e.holds.iter().map(|h| hold_name(*h)).collect(),
        best: e.best,
        moves,
    }
}

fn offline(node: String) -> RefusalView {
    RefusalView {
        node,
        rule: "offline",
        needed: None,
        available: None,
        missing: None,
        unit: None,
        tags: Vec::new(),
    }
}

fn refused(node: String, rule: &'static str, shortfall: &Shortfall) -> RefusalView {
    let mut refusal = RefusalView { rule, ..offline(node) };
    match shortfall {
        Shortfall::Amount { unit, needed, available, .. } => {
            refusal.needed = Some(*needed);
            refusal.available = Some(*available);
            refusal.missing = shortfall.missing();
            refusal.unit = Some(unit);
        }
        Shortfall::Tags(tags) | Shortfall::Migration(tags) => refusal.tags.clone_from(tags),
        // policies are no matter of moves
        Shortfall::NoSecondary | Shortfall::Range { .. } | Shortfall::Template(_) => {}
    }
    refusal
}
