//! The page of `hroller`: the nodes that are rebooted together, group after group.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::text::node_names;
use crate::model::number::counted;
use crate::model::{Cluster, Mib, NodeIdx};
use crate::plan::rolling::Reboots;
use crate::plan::shell::Line;
use crate::plan::work::{Task, WorkStep};
use crate::report::balance::plan::steps::{StepPhase, StepRows};
use crate::report::cluster::nodes::html::NodeRows;
use crate::report::form::amount::amount;
use crate::report::form::html::commands::{NextAction, copyable};
use crate::report::form::html::words::unbroken;
use crate::report::form::html::{PageAnswer, ReportPage, Section, alias, size};
use crate::report::form::tone::Tone;
use crate::report::timetable::{Timetable, estimated, html as timing};
use crate::search::rolling::Part;

/// A plan of reboots.
pub(crate) struct RollingReport<'a> {
    pub cluster: &'a Cluster,
    /// The groups that are shown, with their commands.
    pub groups: &'a [(&'a Part, Vec<Line>)],
    /// Number of all groups.
    pub count: usize,
    pub reboots: &'a Reboots,
    pub table: &'a Timetable<'a>,
}

impl RollingReport<'_> {
    pub(crate) fn page(&self) -> ReportPage {
        let nodes: Vec<NodeIdx> = self.groups.iter().flat_map(|(part, _)| &part.nodes).copied().collect();
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        let phases = self.phases();
        let sections = [
            Section::of("reboots", "Reboots, group after group", Some(self.reboots())),
            StepRows { cluster: self.cluster, moves: &[], table: Some(self.table), phases: &phases }
                .section(),
            timing::section(self.table),
            NodeRows { before: self.cluster, after: None, nodes: &sorted }.section(),
        ];
        ReportPage {
            title: "Rolling reboots".to_owned(),
            cluster: self.cluster.name.clone(),
            subject: size(self.cluster, &sorted),
            answers: self.answers(nodes.len()),
            sections: sections.into_iter().flatten().collect(),
            next: if nodes.is_empty() { NextAction::Nothing } else { NextAction::RunScript },
        }
    }

    /// Phase of each step.
    fn phases(&self) -> Vec<StepPhase> {
        let groups = (1..).zip(self.reboots.steps_by_group());
        let of_group = |(group, steps): (usize, std::ops::Range<usize>)| {
            let steps = &self.reboots.work.steps[steps];
            let is_reboot = |step: &WorkStep| matches!(step.task, Task::Reboot | Task::RebootByHand);
            let reboot = steps.iter().position(is_reboot).unwrap_or(steps.len());
            let phase = move |(at, step): (usize, &WorkStep)| StepPhase {
                group,
                stage: stage_words(&step.task, at > reboot),
            };
            steps.iter().enumerate().map(phase).collect::<Vec<_>>()
        };
        groups.flat_map(of_group).collect()
    }

    fn answers(&self, nodes: usize) -> Vec<PageAnswer> {
        let answer =
            |question, text: String, details| PageAnswer { question, tone: Tone::Plain, text, details };
        let moves =
            self.table.work.steps.iter().filter(|step| matches!(step.task, Task::Move(_) | Task::Cross(_)));
        let moved: BTreeSet<&str> = moves.map(|step| step.subject.as_str()).collect();
        let by_hand = self.table.work.steps.iter().any(|step| step.task == Task::RebootByHand);
        let shown = (self.groups.len() < self.count)
            .then(|| format!("{} of {} shown", self.groups.len(), self.count));
        let (memory, disk) = self.table.data;
        let copied =
            |what: &str, copied: Mib| (copied > Mib::ZERO).then(|| format!("{} of {what}", amount(copied)));
        vec![
            answer("How often", counted(self.count, "group"), shown.into_iter().collect()),
            answer(
                "What goes down",
                counted(nodes, "node"),
                vec![format!("at most {} at a time", self.most())],
            ),
            answer(
                "What moves meanwhile",
                counted(moved.len(), "instance"),
                [copied("memory", memory), copied("disk", disk)]
                    .into_iter()
                    .flatten()
                    .chain(["there and back".to_owned()])
                    .collect(),
            ),
            answer(
                "How long it takes",
                estimated(self.table.stream.total()),
                by_hand.then(|| "the master node is rebooted by hand".to_owned()).into_iter().collect(),
            ),
        ]
    }

    fn most(&self) -> usize {
        self.groups.iter().map(|(part, _)| part.nodes.len()).max().unwrap_or(0)
    }

    fn reboots(&self) -> Markup {
        html! {
            ol class="parts" {
                @for (part, commands) in self.groups {
                    li {
                        p {
                            strong { (counted(part.nodes.len(), "node")) }
                            @if !part.moves.is_empty() { ", " (counted(part.moves.len(), "instance")) " elsewhere" }
                        }
                        ul class="names" { @for name in node_names(self.cluster, part) { li { (unbroken(alias(self.cluster, name))) } } }
                        details {
                            summary { "Commands" }
                            (copyable(&commands.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
                        }
                    }
                }
            }
        }
    }
}

/// Stage of a reboot to which an operation belongs.
fn stage_words(task: &Task, is_rebooted: bool) -> &'static str {
    match (task, is_rebooted) {
        (Task::Move(_) | Task::Cross(_), false) => "move away",
        (Task::Move(_) | Task::Cross(_), true) => "move back",
        (Task::Stop, _) => "stop",
        (Task::Start, _) => "start",
        (Task::Await, _) => "wait",
        (Task::Resync, _) => "resync disks",
        _ => "reboot",
    }
}
