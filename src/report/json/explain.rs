//! Explanations (`hbal --explain`), as documents show them.

use serde::Serialize;

use crate::model::{Cluster, NodeIdx};
use crate::plan::command::notation;
use crate::report::explain::{hold_text, outlook_name, rule_name};
use crate::search::explain::{Explanation, Verdict};
use crate::search::shortfall::Shortfall;

/// Why one instance moves or does not.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    instance: String,
    primary: String,
    secondary: Option<String>,
    score: f64,
    outlook: &'static str,
    holds: Vec<String>,
    best: Option<usize>,
    moves: Vec<Move>,
}

#[derive(Debug, Clone, Serialize)]
struct Move {
    #[serde(rename = "move")]
    notation: String,
    primary: String,
    secondary: Option<String>,
    /// The score afterwards, of possible moves.
    score: Option<f64>,
    refusal: Option<Refusal>,
}

#[derive(Debug, Clone, Serialize)]
struct Refusal {
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
                Verdict::Possible(score) => (Some(*score), None),
                Verdict::TargetOffline => (None, m.mv.target().map(|t| offline(name(t)))),
                Verdict::Refused(r, s) => (None, Some(refused(name(r.node), rule_name(r.rule), s))),
            };
            Move {
                notation: notation(cluster, m.mv),
                primary: name(m.to.primary),
                secondary: m.to.secondary.map(name),
                score,
                refusal,
            }
        })
        .collect();
    Explained {
        instance: instance.name.clone(),
        primary: name(instance.primary),
        secondary: instance.secondary.map(name),
        score: e.score,
        outlook: outlook_name(&e.outlook),
        holds: e.holds.iter().map(|h| hold_text(*h).to_owned()).collect(),
        best: e.best,
        moves,
    }
}

fn offline(node: String) -> Refusal {
    Refusal {
        node,
        rule: "offline",
        needed: None,
        available: None,
        missing: None,
        unit: None,
        tags: Vec::new(),
    }
}

fn refused(node: String, rule: &'static str, shortfall: &Shortfall) -> Refusal {
    let mut refusal = Refusal { rule, ..offline(node) };
    match shortfall {
        Shortfall::Amount { unit, needed, available, .. } => {
            refusal.needed = Some(*needed);
            refusal.available = Some(*available);
            refusal.missing = shortfall.missing();
            refusal.unit = Some(unit);
        }
        Shortfall::Tags(tags) | Shortfall::Migration(tags) => refusal.tags.clone_from(tags),
        Shortfall::NoSecondary => {}
    }
    refusal
}
