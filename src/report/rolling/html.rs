//! The page of `hroller`: the nodes that are rebooted together, group after group.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::text::node_names;
use crate::model::number::counted;
use crate::model::{Cluster, Mib, NodeIdx};
use crate::plan::shell::Line;
use crate::plan::work::Task;
use crate::report::balance::plan::steps::StepRows;
use crate::report::cluster::nodes::html::NodeRows;
use crate::report::cluster::summary::gib;
use crate::report::form::html::{PageAnswer, ReportPage, Section, alias, size};
use crate::report::form::tone::Tone;
use crate::report::timetable::{Timetable, duration, html as timing};
use crate::search::rolling::Part;

/// A plan of reboots.
pub(crate) struct RollingReport<'a> {
    pub cluster: &'a Cluster,
    /// The groups that are shown, with their commands.
    pub groups: &'a [(&'a Part, Vec<Line>)],
    /// Number of all groups.
    pub count: usize,
    pub table: &'a Timetable<'a>,
}

impl RollingReport<'_> {
    pub(crate) fn page(&self) -> ReportPage {
        let nodes: Vec<NodeIdx> = self.groups.iter().flat_map(|(part, _)| &part.nodes).copied().collect();
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        let sections = [
            Section::of("reboots", "Reboots, group after group", Some(self.reboots())),
            StepRows { cluster: self.cluster, moves: &[], table: Some(self.table) }.section(),
            timing::section(self.table),
            NodeRows { before: self.cluster, after: None, nodes: &sorted }.section(),
        ];
        ReportPage {
            title: "Rolling reboots".to_owned(),
            subject: size(self.cluster, &sorted),
            answers: self.answers(nodes.len()),
            sections: sections.into_iter().flatten().collect(),
        }
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
        let copied = |what: &str, amount: Mib| format!("{} GiB of {what}", gib(amount.as_f64()));
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
                vec![copied("memory", memory), copied("disk", disk), "there and back".to_owned()],
            ),
            answer(
                "How long it takes",
                duration(self.table.stream.total()),
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
                        ul class="names" { @for name in node_names(self.cluster, part) { li { (alias(self.cluster, name)) } } }
                        details {
                            summary { "Commands" }
                            pre { code { @for line in commands { (line.to_string()) "\n" } } }
                        }
                    }
                }
            }
        }
    }
}
