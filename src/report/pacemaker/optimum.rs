//! Proven properties of the best placement that was found, for people and in JSON.

use serde::Serialize;

use crate::model::shown::shown_name;
use crate::pacemaker::WorkingSet;
use crate::pacemaker::optimal::{Optimum, PlacingStage, ThenGoal};

use super::first_few;
use super::json::ScoreView;

pub(super) fn lines(set: &WorkingSet, optimum: &Optimum) -> Vec<String> {
    let mut lines = vec![match optimum.proved {
        _ if optimum.is_proved() => format!("Proved: no placement {}", could(optimum, None)),
        Some(stage) => format!(
            "Proved: no placement {}; best found: another one may {}",
            could(optimum, Some(stage)),
            may(optimum, stage)
        ),
        None => {
            let sum = |count: fn(&crate::pacemaker::optimal::PriorityCount) -> usize| -> usize {
                optimum.counts.iter().map(count).sum()
            };
            let (placed, bound) = (sum(|count| count.placed), sum(|count| count.bound));
            match placed < bound {
                true => format!("Best found: {placed} run, and a bound allows {bound}"),
                false => format!("Best found: {placed} run, and no bound tells that there is nothing better"),
            }
        }
    }];
    if let Some(stopped) = optimum.stopped {
        lines.push(format!("{} ended the search", stopped.subject()));
    }
    if !optimum.pinned.is_empty() {
        let names = optimum.pinned.iter().map(|one| shown_name(&set.resource(*one).id));
        lines.push(format!(
            "Not tried elsewhere, as they belong to guest nodes, remote nodes or bundles: {}",
            first_few(names)
        ));
    }
    if !optimum.not_followed.is_empty() {
        let names: Vec<String> =
            optimum.not_followed.iter().map(|one| shown_name(&set.resource(*one).id)).collect();
        lines.push(format!(
            "Warning: Pacemaker would not place these resources there even by locations of INFINITY: {}",
            names.join(", ")
        ));
    }
    lines
}

/// Improvements that are proven impossible, up to a stage.
fn could(optimum: &Optimum, up_to: Option<PlacingStage>) -> String {
    let last = match optimum.then {
        ThenGoal::Balanced => "uses nodes more evenly",
        ThenGoal::Minimal => "uses fewer nodes",
    };
    let all = [
        (PlacingStage::Placed, "runs more"),
        (PlacingStage::Scores, "has a higher score"),
        (PlacingStage::Disruption, "disturbs less"),
        (PlacingStage::Then, last),
    ];
    let words: Vec<&str> = all
        .into_iter()
        .filter(|(stage, _)| up_to.is_none_or(|end| *stage <= end))
        .map(|(_, word)| word)
        .collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Improvements that remain possible after the last proven stage.
fn may(optimum: &Optimum, proved: PlacingStage) -> &'static str {
    match (proved, optimum.then) {
        (PlacingStage::Placed, _) => "have a higher score, disturb less, or be better in what counts then",
        (PlacingStage::Scores, _) => "disturb less, or be better in what counts then",
        (_, ThenGoal::Balanced) => "use nodes more evenly",
        (_, ThenGoal::Minimal) => "use fewer nodes",
    }
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct OptimumView {
    result: &'static str,
    proved: Vec<&'static str>,
    then: &'static str,
    counts: Vec<PriorityView>,
    score: i64,
    steps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<crate::search::Stopped>,
    not_followed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pinned: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct PriorityView {
    priority: ScoreView,
    wanted: usize,
    placed: usize,
    bound: usize,
}

impl OptimumView {
    pub(super) fn of(set: &WorkingSet, optimum: &Optimum) -> OptimumView {
        let is_proved = |stage: &&PlacingStage| optimum.proved >= Some(**stage);
        OptimumView {
            result: if optimum.is_proved() { "proved" } else { "best-found" },
            proved: PlacingStage::ALL.iter().filter(is_proved).map(|stage| stage.as_str()).collect(),
            then: optimum.then.as_str(),
            counts: optimum
                .counts
                .iter()
                .map(|count| PriorityView {
                    priority: count.priority.into(),
                    wanted: count.wanted,
                    placed: count.placed,
                    bound: count.bound,
                })
                .collect(),
            score: optimum.score,
            steps: optimum.steps,
            stopped: optimum.stopped,
            not_followed: optimum.not_followed.iter().map(|one| set.resource(*one).id.clone()).collect(),
            pinned: optimum.pinned.iter().map(|one| set.resource(*one).id.clone()).collect(),
        }
    }
}
