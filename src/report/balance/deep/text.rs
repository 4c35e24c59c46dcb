//! Result of a deep search in words: the quality of the plan, the gains of other numbers of moves, and the problems
//! that remain.

use std::collections::BTreeMap;

use crate::model::number::{counted, fixed};
use crate::model::{Cluster, Concession, InstanceIdx, Mib, Step};
use crate::report::balance::components::score;
use crate::report::form::amount::amount;
use crate::report::form::table::{Align, Table};
use crate::report::why::words::{hold_words, rule_name};
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};
use crate::search::balance::deep::remains::{AilingNode, Complaint, Unmended};
use crate::search::balance::deep::repair::RepairMoves;
use crate::search::balance::deep::{Deep, LinePoint};

/// Maximum number of instances named in one line.
const NAMED: usize = 10;

/// The lines below the plan.
pub(crate) fn conclusion(plan: &DeepPlan, cluster: &Cluster) -> Vec<String> {
    let mut lines = match &plan.found {
        DeepFound::Best(found) => gain(found, plan),
        DeepFound::Mended(mending) => mended(mending, cluster),
    };
    if !plan.ordered.detours.is_empty() {
        let names = names(cluster, &plan.ordered.detours);
        lines.push(format!("To make room on the way, moved once more: {names}"));
    }
    lines.extend(conceded(cluster, &plan.ordered.steps));
    if !plan.ordered.given_up.is_empty() {
        let names = names(cluster, &plan.ordered.given_up);
        lines.push(format!("Left where they are, as no order of moves is possible with them: {names}"));
    }
    lines
}

/// Concessions made for steps, one line each.
pub(crate) fn conceded(cluster: &Cluster, steps: &[Step]) -> impl Iterator<Item = String> {
    let line = |(number, step): (usize, &Step)| {
        let node = cluster.node(step.to.primary).spec.alias();
        let alias = |instance: InstanceIdx| cluster.instance(instance).alias();
        match step.concession {
            Concession::None => None,
            Concession::Overcommit(Mib(lacking)) => Some(format!(
                "Step {number} lacks {lacking} MiB of memory on {node} until others have left it"
            )),
            Concession::Interruption { stopped, .. } => {
                Some(format!("To make room on {node} for step {number}, {} is stopped", alias(stopped)))
            }
            Concession::Restart => {
                Some(format!("After step {number}, {} is started on {node}", alias(step.instance)))
            }
        }
    };
    (1..).zip(steps).filter_map(line)
}

fn names(cluster: &Cluster, instances: &[InstanceIdx]) -> String {
    let shown = instances.iter().take(NAMED).map(|instance| cluster.instance(*instance).alias());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if instances.len() > NAMED {
        text += &format!(" and {} more", instances.len() - NAMED);
    }
    text
}

/// The gap between a score and a lower bound, in percent of the score.
pub(crate) fn gap(score: f64, bound: f64) -> f64 {
    if score > bound && score.is_finite() && bound.is_finite() {
        100.0 * (score - bound) / score
    } else {
        0.0
    }
}

/// The limits of the search after the word placement: ` after 12 moves of at most 100 GiB`.
fn within_limits(found: &Deep) -> String {
    match (found.allowed, found.data_limit) {
        (None, None) => String::new(),
        (Some(moves), None) => format!(" after {}", counted(moves, "move")),
        (None, Some(data)) => format!(" after moves of at most {}", amount(data.most)),
        (Some(moves), Some(data)) => {
            format!(" after {} of at most {}", counted(moves, "move"), amount(data.most))
        }
    }
}

fn gain(found: &Deep, plan: &DeepPlan) -> Vec<String> {
    let reached = plan.last.score();
    let least = found.bound();
    let bound = match (found.is_optimal(reached), least.is_finite()) {
        (true, _) => format!("Score {}: no placement has a better one, it is optimal", score(reached)),
        (false, true) => format!(
            "Score {}; no placement{} is below {} (gap {} %)",
            score(reached),
            within_limits(found),
            score(least),
            fixed(gap(reached, least), 1)
        ),
        (false, false) => format!("Score {}; there is no bound", score(reached)),
    };
    let mut lines = vec![bound];
    let (chosen, last) = (found.best(), found.line.last());
    if let Some(last) = last.filter(|last| last.moves > chosen.moves) {
        lines.push(format!(
            "{}; {} (--pareto shows all)",
            point_text(found, chosen),
            point_text(found, last)
        ));
    }
    lines
}

/// A point of the line in words: `12 moves: 81 % of what can be gained`.
fn point_text(found: &Deep, point: &LinePoint) -> String {
    let moves = counted(point.moves, "move");
    format!("{moves}: {} % of what can be gained", fixed((100.0 * found.share(point)).floor(), 0))
}

/// Maximum number of rows of the table. The rows between the first and the last have evenly spread gains.
const ROWS: usize = 25;

/// The table of the best placements by number of moves, fewest first.
pub(crate) fn pareto(found: &Deep) -> Vec<String> {
    let columns =
        ["Moves", "Data (GiB)", "Score", "No score below", "Gain"].map(|title| (title, Align::Right));
    let mut table = Table::new(columns.into_iter().chain([("", Align::Left)]));
    for at in shown_points(found) {
        let point = &found.line[at];
        let bound = if point.bound.is_finite() { score(point.bound) } else { "-".to_owned() };
        table.push(vec![
            point.moves.to_string(),
            fixed(point.data.0 as f64 / 1024.0, 1),
            score(point.score),
            bound,
            format!("{} %", fixed(100.0 * found.share(point), 1)),
            match (at == found.chosen, found.is_optimal(point.score)) {
                (true, true) => "chosen, optimal",
                (true, false) => "chosen",
                (false, true) => "optimal",
                (false, false) => "",
            }
            .to_owned(),
        ]);
    }
    table.trimmed_lines(" ")
}

/// The points shown as rows, by position in the line.
fn shown_points(found: &Deep) -> Vec<usize> {
    let count = found.line.len();
    if count <= ROWS {
        return (0..count).collect();
    }
    let mut shown = vec![0, found.chosen, count - 1];
    for row in 1..ROWS {
        let share = row as f64 / ROWS as f64;
        shown.extend(found.line.iter().position(|point| found.share(point) >= share));
    }
    shown.sort_unstable();
    shown.dedup();
    shown
}

fn mended(mending: &RepairMoves, cluster: &Cluster) -> Vec<String> {
    let stuck = mending.stuck.iter().map(|of| stuck_text(of, cluster));
    stuck.chain(mending.ailing.iter().map(|of| ailing_text(of, cluster))).collect()
}

/// The remaining problem of an instance, and its reason.
fn stuck_text(of: &Unmended, cluster: &Cluster) -> String {
    let (instance, node) = (cluster.instance(of.instance), cluster.node(of.node));
    let wrong = match of.complaint {
        Complaint::LeftBehind if node.spec.offline => "which is offline",
        Complaint::LeftBehind => "which is to be emptied",
        Complaint::Redundancy => "which fails N+1",
        Complaint::Policy => "which goes beyond its policy",
        Complaint::Overload => "which is above a limit of --only-if",
        Complaint::Tags => "against its exclusion tags or locations",
    };
    let name = instance.alias();
    format!("Instance {name} stays on {}, {wrong}: {}", node.spec.alias(), stuck_because(of, cluster))
}

/// The reason that the problem of an instance remains.
pub(crate) fn stuck_because(of: &Unmended, cluster: &Cluster) -> String {
    if let Some(hold) = of.hold {
        return hold_words(hold, cluster).text;
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for refusal in &of.refusals {
        *reasons.entry(rule_name(refusal.rule)).or_default() += 1;
    }
    if reasons.is_empty() {
        return match of.complaint {
            Complaint::LeftBehind => "there is no other node for it",
            _ => "no move of it ends that",
        }
        .to_owned();
    }
    let reasons = reasons.iter().map(|(reason, count)| format!("{reason} ({})", counted(*count, "place")));
    format!("refused by {}", reasons.collect::<Vec<_>>().join(", "))
}

/// The remaining problem of a node.
fn ailing_text(of: &AilingNode, cluster: &Cluster) -> String {
    let wrong = match of.complaint {
        Complaint::Redundancy => "still fails N+1",
        Complaint::Policy => "still has more virtual CPUs or spindles in use than its policy allows",
        Complaint::Overload => "is still above a limit of --only-if",
        Complaint::LeftBehind => "is still not empty",
        Complaint::Tags => "still has exclusion tags that meet",
    };
    let name = cluster.node(of.node).spec.alias();
    format!("Node {name} {wrong}: {} of its {} may move", of.mobile, counted(of.instances, "instance"))
}
