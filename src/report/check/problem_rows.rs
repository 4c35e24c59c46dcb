//! Problems, and those that remain.

use maud::html;

use super::CheckStage;
use super::problems::{Problem, of_group};
use crate::model::Cluster;
use crate::model::number::counted;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::{PageAnswer, Section, alias, class, sign};
use crate::report::form::table::Align;
use crate::report::form::tone::Tone;
use crate::search::health::{GroupHealth, ProblemCounts};

/// The problems at one time, as an answer.
pub(in crate::report) fn answer(question: &'static str, counts: ProblemCounts) -> PageAnswer {
    let ProblemCounts { n1_failing, conflicting, offline_primary, offline_secondary, at_risk } = counts;
    let kinds = [
        (n1_failing, "node", "lacking memory for failovers (N+1)"),
        (conflicting, "node", "with instances that exclude each other"),
        (offline_primary, "instance", "whose primary node is offline"),
        (offline_secondary, "instance", "whose secondary node is offline"),
        (at_risk.unwrap_or(0), "node", "that could not be emptied (global N+1)"),
    ];
    let there = kinds.iter().filter(|(count, ..)| *count > 0);
    let details = there.map(|(count, noun, what)| format!("{} {what}", counted(*count, noun))).collect();
    let sum: usize = kinds.iter().map(|(count, ..)| count).sum();
    match sum {
        0 => PageAnswer { question, tone: Tone::Good, text: "nothing".to_owned(), details },
        sum => PageAnswer { question, tone: Tone::Bad, text: counted(sum, "problem"), details },
    }
}

/// The problems of groups, in the cluster where they were found or after a simulation of it.
pub(in crate::report) fn list(health: &[GroupHealth], cluster: &Cluster, when: CheckStage) -> Vec<Problem> {
    health.iter().flat_map(|group| of_group(group, cluster, when)).collect()
}

/// Problems that remain after a fix of all others.
pub(in crate::report) struct LeftProblems {
    /// Problems of the later state, by name.
    pub problems: Vec<Problem>,
    /// Subject of the sentence that names the fix.
    pub fixer: &'static str,
}

/// All problems by name: those that would be fixed, those that remain, and new ones.
pub(in crate::report) fn section(
    cluster: &Cluster,
    before: Vec<Problem>,
    after: Option<LeftProblems>,
) -> Option<Section> {
    let is_in = |problem: &Problem, list: &[Problem]| list.contains(problem);
    let mut rows = Vec::new();
    let mut push = |problem: &Problem, tone: Tone, state: &str| {
        let text = format!("{}{state}", sign(tone));
        let state = html! { span class=[class(tone)] { (text) } };
        rows.push(GridRow {
            cells: vec![
                GridCell::text(alias(cluster, &problem.subject)),
                GridCell::text(&problem.text),
                GridCell::of(state),
            ],
            changes: tone != Tone::Bad,
        });
    };
    match &after {
        None => before.iter().for_each(|problem| push(problem, Tone::Bad, "there")),
        Some(LeftProblems { problems: after, fixer }) => {
            let (stays, fixed): (Vec<&Problem>, Vec<&Problem>) = before.iter().partition(|p| is_in(p, after));
            let new = after.iter().filter(|problem| !is_in(problem, &before));
            // The problems exist until the fix is made, so they are not green.
            let fixes = format!("{fixer} fixes it");
            new.for_each(|problem| push(problem, Tone::Bad, "there afterwards"));
            stays.into_iter().for_each(|problem| push(problem, Tone::Bad, "stays"));
            fixed.into_iter().for_each(|problem| push(problem, Tone::Plain, &fixes));
        }
    }
    let grid = Grid {
        id: "problem-table",
        caption: "What is wrong",
        columns: vec![
            ("Node or instance", Align::Left),
            ("What is wrong", Align::Left),
            ("State", Align::Left),
        ],
        rows,
        noun: Some("name"),
    };
    Section::of("problems", "What is wrong", grid.some())
}
