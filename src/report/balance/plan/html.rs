//! The page of a plan: problems before, changes, costs, and problems that remain.

use super::scores;
use super::steps::{PlannedMove, StepRows};
use crate::model::number::{counted, fixed};
use crate::model::{Cluster, NodeIdx};
use crate::report::check::problem_rows::LeftProblems;
use crate::report::check::{CheckStage, problem_rows as problems};
use crate::report::cluster::nodes::html::NodeRows;
use crate::report::cluster::summary::{Cost, Moment, PlanTime, Scores, steps_for_most};
use crate::report::form::amount::amount;
use crate::report::form::html::commands::NextAction;
use crate::report::form::html::{PageAnswer, ReportPage, Section, size};
use crate::report::form::tone::{Tone, of_change};
use crate::report::timetable::{Timetable, html as timing};
use crate::search::Stopped;

/// A plan, with the cluster before and after it.
pub(crate) struct PlanReport<'a> {
    pub before: (&'a Cluster, &'a Moment),
    pub after: (&'a Cluster, &'a Moment),
    /// The nodes that the report covers.
    pub nodes: &'a [NodeIdx],
    pub moves: &'a [PlannedMove],
    /// Timetable of all steps; `None` if invalid names prevent their execution.
    pub table: Option<&'a Timetable<'a>>,
    /// Reason that the search ended early, if it did.
    pub stopped: Option<Stopped>,
}

/// Head of a page.
pub(crate) struct PageHead {
    /// Subject of the page, in a few words.
    pub title: String,
    /// Result, in a sentence.
    pub outcome: String,
    /// Changes besides moves of instances, in a few words.
    pub change: Option<String>,
}

impl PlanReport<'_> {
    /// The page, with further sections of a tool after the answers and at the end.
    pub(crate) fn page(&self, head: PageHead, more: Vec<Section>, last: Option<Section>) -> ReportPage {
        let changes = self.changes();
        let before = problems::list(&self.before.1.health, self.before.0, CheckStage::Initially);
        let after = problems::list(&self.after.1.health, self.after.0, CheckStage::Initially);
        let left = LeftProblems { problems: after, fixer: "the plan" };
        let nodes = NodeRows {
            before: self.before.0,
            after: Some(self.after.0).filter(|_| changes),
            nodes: self.nodes,
        };
        let steps = StepRows { cluster: self.before.0, moves: self.moves, table: self.table, phases: &[] };
        let mut sections = Vec::new();
        sections.extend(problems::section(self.before.0, before, Some(left)));
        sections.extend(more);
        sections.extend(nodes.section());
        sections.extend(steps.section());
        sections.extend(self.table.and_then(timing::section));
        sections.extend(scores::section(self.before.1, Some(self.after.1).filter(|_| changes)));
        sections.extend(last);
        ReportPage {
            title: head.title,
            cluster: self.before.0.name.clone(),
            subject: self.subject(&head.outcome),
            answers: self.answers(head.change),
            sections,
            next: if changes && self.table.is_some() { NextAction::Execute } else { NextAction::Nothing },
        }
    }

    fn changes(&self) -> bool {
        !self.moves.is_empty() || self.table.is_some_and(|table| !table.work.steps.is_empty())
    }

    fn subject(&self, outcome: &str) -> String {
        let early = self.stopped.map(|stopped| format!(" {} ended the search early.", stopped.subject()));
        format!("{} {outcome}{}", size(self.before.0, self.nodes), early.unwrap_or_default())
    }

    fn answers(&self, change: Option<String>) -> Vec<PageAnswer> {
        vec![
            problems::answer("What is wrong", self.before.1.problems()),
            self.change(change),
            self.cost(),
            problems::answer("What stays wrong", self.after.1.problems()),
        ]
    }

    fn change(&self, text: Option<String>) -> PageAnswer {
        let question = "What changes";
        if !self.changes() {
            return PageAnswer::nothing(question);
        }
        let cost = self.moved();
        let mut details = Vec::new();
        let mut tone = Tone::Plain;
        if let Some((before, after)) = self.whole_scores() {
            tone = of_change(before, after);
            let change = scores::change(before, after);
            details.push(format!("score {} → {}: {change}", fixed(before, 2), fixed(after, 2)));
            let course = [before].into_iter().chain(self.moves.iter().map(|planned| planned.step.score));
            let course: Vec<f64> = course.collect();
            details.extend(
                steps_for_most(&course).map(|steps| {
                    format!("80 % of that after {steps} of {}", counted(course.len() - 1, "step"))
                }),
            );
        }
        let steps = self.table.map_or(self.moves.len(), |table| table.work.steps.len());
        if steps != cost.instances {
            details.push(counted(steps, "step"));
        }
        let moves = match cost.instances {
            0 => None,
            1 => Some("1 instance moves".to_owned()),
            count => Some(format!("{count} instances move")),
        };
        let mut texts = text.into_iter().chain(moves);
        let text = texts.next().unwrap_or_else(|| counted(steps, "step"));
        details.splice(0..0, texts);
        PageAnswer { question, tone, text, details }
    }

    /// The scores before and after, if there is one score for all nodes together.
    fn whole_scores(&self) -> Option<(f64, f64)> {
        match (&self.before.1.scores, &self.after.1.scores) {
            (Scores::Whole(before), Scores::Whole(after)) => Some((before.score(), after.score())),
            _ => None,
        }
    }

    fn moved(&self) -> Cost {
        Cost::of(self.before.0, self.moves.iter().map(|planned| &planned.step))
    }

    fn cost(&self) -> PageAnswer {
        let question = "What it costs";
        if !self.changes() {
            return PageAnswer::nothing(question);
        }
        let cost = self.moved();
        let mut details = vec![format!(
            "{}, {}",
            counted(cost.migrations, "migration"),
            counted(cost.failovers, "failover")
        )];
        if cost.again > 0 {
            details.push(format!("{} of instances that had moved before", counted(cost.again, "move")));
        }
        details.extend(self.table.map(|table| PlanTime::of(table).text()));
        let text = match cost.copied.0 {
            0 => "no disk is copied".to_owned(),
            _ => format!("{} to copy", amount(cost.copied)),
        };
        PageAnswer { question, tone: Tone::Plain, text, details }
    }
}
