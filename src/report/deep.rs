//! What a deep search found, in words: how good the plan is, what other numbers of moves would bring, and what could
//! not be mended.

use std::collections::BTreeMap;

use super::components::score;
use super::number::fixed;
use super::table::{Align, Table};
use super::why::bar_name;
use crate::model::{Bar, Cluster, InstanceIdx};
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};
use crate::search::balance::deep::remains::Unmended;
use crate::search::balance::deep::repair::Mending;
use crate::search::balance::deep::{Deep, LinePoint};

/// Most instances that are named in one line.
const NAMED: usize = 10;

/// What is said below the plan.
pub fn conclusion(plan: &DeepPlan, cluster: &Cluster) -> Vec<String> {
    let mut lines = match &plan.found {
        DeepFound::Best(found) => gain(found, plan, cluster),
        DeepFound::Mended(mending) => mended(mending, cluster),
    };
    if !plan.ordered.detours.is_empty() {
        let names = names(cluster, &plan.ordered.detours);
        lines.push(format!("To make room on the way, moved once more: {names}"));
    }
    if !plan.ordered.given_up.is_empty() {
        let names = names(cluster, &plan.ordered.given_up);
        lines.push(format!("Left where they are, as no order of moves is possible with them: {names}"));
    }
    lines
}

fn names(cluster: &Cluster, instances: &[InstanceIdx]) -> String {
    let shown = instances.iter().take(NAMED).map(|instance| cluster.instance(*instance).alias());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if instances.len() > NAMED {
        text += &format!(" and {} more", instances.len() - NAMED);
    }
    text
}

/// How far a score is above a bound, in percent of the score.
pub fn gap(score: f64, bound: f64) -> f64 {
    if score > bound && score.is_finite() && bound.is_finite() {
        100.0 * (score - bound) / score
    } else {
        0.0
    }
}

fn gain(found: &Deep, plan: &DeepPlan, cluster: &Cluster) -> Vec<String> {
    let reached = plan.last.score();
    let bound = match (found.is_optimal(reached), found.floor.is_finite()) {
        (true, _) => format!("Score {}: no placement has a better one, it is optimal", score(reached)),
        (false, true) => format!(
            "Score {}; no placement is below {} (gap {} %)",
            score(reached),
            score(found.floor),
            fixed(gap(reached, found.floor), 1)
        ),
        (false, false) => format!("Score {}; there is no bound", score(reached)),
    };
    let mut lines = vec![bound];
    let (chosen, last) = (found.best(), found.line.last());
    if let Some(last) = last.filter(|last| last.moves > chosen.moves) {
        lines.push(format!(
            "{}; {} (--pareto shows all)",
            point_text(found, chosen, cluster),
            point_text(found, last, cluster)
        ));
    }
    lines
}

/// A point of the line in words: `12 moves: 81 % of what can be gained`.
fn point_text(found: &Deep, point: &LinePoint, _: &Cluster) -> String {
    let moves = if point.moves == 1 { "1 move".to_owned() } else { format!("{} moves", point.moves) };
    format!("{moves}: {} % of what can be gained", fixed((100.0 * found.share(point)).floor(), 0))
}

/// Most rows of the table: between the first and the last, those whose gains are spread evenly.
const ROWS: usize = 25;

/// The line of the best placements, fewest moves first.
pub fn pareto(found: &Deep) -> Vec<String> {
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
    table.lines(" ").iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The points that are worth a row, by their places in the line.
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

fn mended(mending: &Mending, cluster: &Cluster) -> Vec<String> {
    let mut lines = Vec::new();
    if mending.placements.is_empty() && mending.stuck.is_empty() {
        lines.push("Nothing has to be mended".to_owned());
    }
    for Unmended { instance, refusals, .. } in &mending.stuck {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for refusal in refusals {
            let role = if refusal.role_is_primary { Bar::Primary } else { Bar::Secondary };
            *reasons.entry(bar_name(role(refusal.rule))).or_default() += 1;
        }
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{reason} ({count} {})", places(*count))).collect();
        let why = if reasons.is_empty() { "it has no way anywhere".to_owned() } else { reasons.join(", ") };
        lines.push(format!("Instance {} cannot be helped: {why}", cluster.instance(*instance).alias()));
    }
    lines
}

fn places(count: usize) -> &'static str {
    if count == 1 { "place" } else { "places" }
}
