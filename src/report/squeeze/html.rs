//! Parts that `hsqueeze` adds to the page of a plan.

use maud::html;

use super::text::{proofs, size_text};
use crate::model::number::counted;
use crate::model::{Cluster, Draft, NodeIdx};
use crate::report::balance::plan::html::PageHead;
use crate::report::balance::plan::steps::PlannedMove;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::{Section, alias, class, sign};
use crate::report::form::table::Align;
use crate::report::form::tone::Tone;
use crate::report::why::words::{EXPOSED, hindrance_words, node_text};
use crate::search::squeeze::{Decision, GroupPlan, Squeeze};

pub(crate) fn head(found: &Squeeze) -> PageHead {
    let switched = |decision: Decision, what: &str| {
        let plans = found.plans.iter().filter(|plan| plan.decision == decision);
        let count: usize = plans.map(|plan| plan.nodes.len()).sum();
        (count > 0).then(|| format!("{} {what}", counted(count, "node")))
    };
    let changes: Vec<String> = [switched(Decision::Condense, "off"), switched(Decision::Expand, "on")]
        .into_iter()
        .flatten()
        .collect();
    let outcome = match found.plans.iter().all(GroupPlan::is_idle) {
        true => "No node is to be switched.",
        false => "",
    };
    PageHead {
        title: "Nodes off and on".to_owned(),
        outcome: outcome.to_owned(),
        change: (!changes.is_empty()).then(|| changes.join(", ")),
    }
}

/// The moves of a group: those that free nodes, and those that balance load.
pub(crate) fn moves(plan: &GroupPlan, cluster: &Cluster) -> Vec<PlannedMove> {
    let mut switched = Draft::of(plan.start(cluster));
    plan.switch(&mut switched);
    let leaving = if plan.decision == Decision::Condense { &plan.nodes[..] } else { &[] };
    PlannedMove::all(&mut switched, &plan.steps, leaving)
}

/// The nodes that are switched off or on, and the reasons that others are not.
pub(crate) fn section(found: &Squeeze, cluster: &Cluster) -> Option<Section> {
    let grid = Grid {
        id: "switch-table",
        caption: "Nodes that are switched, and why others are not",
        columns: vec![
            ("Node", Align::Left),
            ("Group", Align::Left),
            ("Outcome", Align::Left),
            ("Why", Align::Left),
        ],
        rows: found.plans.iter().flat_map(|plan| rows(plan, cluster)).collect(),
        noun: Some("node"),
    };
    let lacks: Vec<String> = found.plans.iter().filter_map(|plan| lack(plan, cluster)).collect();
    let proofs = proofs(found, cluster);
    let body = grid.some().map(|table| {
        html! {
            @for line in &proofs { p { (line) } }
            @for line in &lacks { p class="bad" { (sign(Tone::Bad)) (line) } }
            (table)
        }
    });
    Section::of("power", "Nodes off and on", body)
}

/// The missing part of the minimal reserve, if there is one.
fn lack(plan: &GroupPlan, cluster: &Cluster) -> Option<String> {
    let group = &cluster.group(plan.group).name;
    let what = match (&plan.missing, plan.exposed) {
        (Some(lack), _) => node_text(lack, cluster),
        (None, Some(_)) => EXPOSED.to_owned(),
        (None, None) => return None,
    };
    let end = if plan.enough { "" } else { "; it stays missing" };
    Some(format!("Group {group}: the minimal reserve is missing: {what}{end}"))
}

fn rows(plan: &GroupPlan, cluster: &Cluster) -> Vec<GridRow> {
    let row = |node: NodeIdx, (tone, fate): (Tone, &str), why: String| GridRow {
        cells: vec![
            GridCell::text(alias(cluster, &cluster.node(node).spec.name)),
            GridCell::text(&cluster.group(plan.group).name),
            GridCell::of(html! { span class=[class(tone)] { (sign(tone)) (fate) } }),
            GridCell::text(why),
        ],
        changes: plan.nodes.contains(&node),
    };
    let switched = plan.nodes.iter().map(|node| match plan.decision {
        Decision::Expand => {
            let standby = plan.online_candidates.iter().find(|standby| standby.node == *node);
            let size = standby.map(|standby| size_text(standby, cluster)).unwrap_or_default();
            row(*node, (Tone::Good, "powered up"), size)
        }
        _ => row(
            *node,
            (Tone::Good, "powered down"),
            "the others keep the target reserve without it".to_owned(),
        ),
    });
    let kept = plan.kept.iter().filter(|kept| !plan.nodes.contains(&kept.node));
    let kept = kept
        .map(|kept| row(kept.node, (Tone::Plain, "stays online"), hindrance_words(&kept.why, cluster).text));
    let standby = plan.online_candidates.iter().filter(|standby| !plan.nodes.contains(&standby.node));
    let standby =
        standby.map(|standby| row(standby.node, (Tone::Plain, "stays off"), size_text(standby, cluster)));
    switched.chain(kept).chain(standby).collect()
}
