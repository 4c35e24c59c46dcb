//! The page of `hspace`: the number of instances that still fit, and the obstacles.

use maud::{Markup, html};

use super::text::bound;
use super::{AllocationKind, AllocationRun, CapacityShare, FillStart};
use crate::model::number::counted;
use crate::model::{Cluster, Mib};
use crate::report::balance::components::score;
use crate::report::cluster::nodes::html::NodeRows;
use crate::report::form::amount::{amount, amount_of};
use crate::report::form::html::bars::{drawn, rectangle};
use crate::report::form::html::commands::NextAction;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::{PageAnswer, ReportPage, Section, size};
use crate::report::form::table::Align;
use crate::report::form::tone::Tone;
use crate::report::why::words::failure_words;
use crate::search::fill::{FillGround, Size};

/// Result of an estimate.
pub(crate) struct SpaceReport<'a> {
    pub cluster: &'a Cluster,
    pub start: &'a FillStart,
    pub ground: &'a FillGround,
    pub tiered: &'a AllocationRun,
    pub standard: &'a AllocationRun,
}

fn size_text(size: Size) -> String {
    let Size { memory, disk, vcpus, .. } = size;
    format!("{} of memory, {} of disk, {}", amount(memory), amount(disk), counted_cpus(vcpus))
}

fn counted_cpus(vcpus: i64) -> String {
    if vcpus == 1 { "1 CPU".to_owned() } else { format!("{vcpus} CPUs") }
}

impl SpaceReport<'_> {
    pub(crate) fn page(&self) -> ReportPage {
        let nodes = self.cluster.all_nodes();
        let after = &self.tiered.filled.cluster;
        let sections = [
            self.capacity(),
            self.tiers(),
            self.failures(),
            NodeRows { before: self.cluster, after: Some(after), nodes: &nodes }.section(),
        ];
        ReportPage {
            title: "Room for more instances".to_owned(),
            cluster: self.cluster.name.clone(),
            subject: format!(
                "{} New instances have disk template {}. \"After\" means with as many instances of shrinking sizes as fit.",
                size(self.cluster, &nodes),
                self.start.template()
            ),
            answers: self.answers(),
            sections: sections.into_iter().flatten().collect(),
            next: NextAction::Nothing,
        }
    }

    fn answers(&self) -> Vec<PageAnswer> {
        let fits = |question, run: &AllocationRun| {
            let none = run.allocated() == 0;
            let size = run.sizes.first().map(|size| size_text(*size));
            let size = size.map(|size| match run.kind {
                AllocationKind::Standard => format!("each {size}"),
                AllocationKind::Tiered => format!("at most {size}"),
            });
            let bound = run.proof.as_ref().map(bound);
            let stopped = run.filled.stopped.map(|stopped| format!("{} ended the search", stopped.subject()));
            PageAnswer {
                question,
                tone: if none { Tone::Bad } else { Tone::Good },
                text: counted(run.allocated(), "instance"),
                details: size.into_iter().chain(bound).chain(stopped).collect(),
            }
        };
        let mut bad = Vec::new();
        if !self.ground.bad_nodes.is_empty() {
            let verb = if self.ground.bad_nodes.len() == 1 { "fails" } else { "fail" };
            bad.push(format!("{} {verb} N+1", counted(self.ground.bad_nodes.len(), "node")));
        }
        if !self.ground.bad_groups.is_empty() {
            let groups = counted(self.ground.bad_groups.len(), "node group");
            bad.push(format!("{groups} could not lose each of its nodes"));
        }
        if self.ground.hopeless {
            bad.push("that has to be mended first".to_owned());
        }
        vec![
            fits("How many of the standard size fit", self.standard),
            fits("How many in shrinking sizes fit", self.tiered),
            PageAnswer {
                question: "What is in the way of more",
                tone: Tone::Plain,
                text: failure_words(self.standard.main_reason()).to_owned(),
                details: Vec::new(),
            },
            match bad.is_empty() {
                true => PageAnswer {
                    question: "What is wrong",
                    tone: Tone::Good,
                    text: "nothing".to_owned(),
                    details: bad,
                },
                false => {
                    let text = bad.remove(0);
                    PageAnswer { question: "What is wrong", tone: Tone::Bad, text, details: bad }
                }
            },
        ]
    }

    /// Capacity in use, capacity for new instances, and capacity that cannot be used.
    fn capacity(&self) -> Option<Section> {
        let used = CapacityShare::used(&self.start.totals);
        let pool = CapacityShare::pool(&self.start.totals, &self.tiered.totals);
        let lost = CapacityShare::unavailable(&self.tiered.totals);
        let mib = |of: fn(&CapacityShare) -> Mib| [&used, &pool, &lost].map(|share| of(share).as_f64());
        let number = |of: fn(&CapacityShare) -> i64| [&used, &pool, &lost].map(|share| of(share) as f64);
        let whole = |n: f64| format!("{n:.0}");
        type Shown<'s> = &'s dyn Fn(f64) -> String;
        let mut rows: Vec<(&str, [f64; 3], Shown<'_>)> = vec![
            ("Memory", mib(|share| share.memory), &amount_of),
            ("Disk", mib(|share| share.disk), &amount_of),
            ("Virtual CPUs", number(|share| share.vcpus), &whole),
        ];
        if self.start.exclusive_storage {
            rows.push(("Spindles", number(|share| share.spindles), &whole));
        }
        let row = |(name, amounts, shown): (&str, [f64; 3], Shown<'_>)| {
            let cells = amounts.map(|amount| GridCell::number(shown(amount), amount));
            let first = [GridCell::text(name), GridCell::of(stacked(amounts))];
            GridRow { cells: first.into_iter().chain(cells).collect(), changes: false }
        };
        let grid = Grid {
            id: "capacity-table",
            caption: "Where the capacity goes",
            columns: vec![
                ("Of what", Align::Left),
                ("Share", Align::Left),
                ("In use", Align::Right),
                ("For new instances", Align::Right),
                ("Unusable", Align::Right),
            ],
            rows: rows.into_iter().map(row).collect(),
            noun: Some("row"),
        };
        let body = html! {
            p class="legend" {
                span { span class="key b" {} "in use" }
                span { span class="key a" {} "for new instances" }
                span { span class="key r" {} "cannot be used: reserved, or something else is missing on the node" }
            }
            (grid.markup())
        };
        Section::of("capacity", "Where the capacity goes", Some(body))
    }

    fn tiers(&self) -> Option<Section> {
        let tiers = self.tiered.tiers();
        let row = |tier: &crate::report::space::Tier| {
            let Size { memory, disk, vcpus, .. } = tier.size;
            let cells = vec![
                GridCell::number(amount(memory), memory.as_f64()),
                GridCell::number(amount(disk), disk.as_f64()),
                GridCell::number(vcpus.to_string(), vcpus as f64),
                GridCell::count(tier.count),
            ];
            GridRow { cells, changes: false }
        };
        let grid = Grid {
            id: "tier-table",
            caption: "What fits, size after size",
            columns: vec![
                ("Memory", Align::Right),
                ("Disk", Align::Right),
                ("CPUs", Align::Right),
                ("Instances", Align::Right),
            ],
            rows: tiers.iter().map(row).collect(),
            noun: Some("size"),
        };
        let (before, after) = (score(self.start.totals.score), score(self.tiered.totals.score));
        let table = grid.some()?;
        let body = html! { (table) p class="note" { "Score of the cluster: " (before) " now, " (after) " when they are there." } };
        Section::of("tiers", "What fits, in shrinking sizes", Some(body))
    }

    /// The reasons for refusals to the last instances.
    fn failures(&self) -> Option<Section> {
        let of = |run: &AllocationRun, size: &'static str| {
            let reasons = run.reasons().into_iter().filter(|(_, count)| *count > 0);
            let rows: Vec<GridRow> = reasons
                .map(|(kind, count)| GridRow {
                    cells: vec![
                        GridCell::text(failure_words(kind)),
                        GridCell::text(size),
                        GridCell::number(count.to_string(), count as f64),
                    ],
                    changes: false,
                })
                .collect();
            rows
        };
        let mut rows = of(self.standard, "standard");
        rows.extend(of(self.tiered, "shrinking"));
        let grid = Grid {
            id: "failure-table",
            caption: "Why no more instances fit",
            columns: vec![("Reason", Align::Left), ("Size", Align::Left), ("Places refused", Align::Right)],
            rows,
            noun: Some("reason"),
        };
        Section::of("failures", "What is in the way", grid.some())
    }
}

/// Parts of a whole, side by side in one bar.
fn stacked(parts: [f64; 3]) -> Markup {
    let all: f64 = parts.iter().map(|part| part.max(0.0)).sum();
    let mut left = 0.0;
    let mut rectangles = String::new();
    for (part, class) in parts.iter().zip(["b", "a", "r"]) {
        let right = left + if all > 0.0 { part.max(0.0) / all } else { 0.0 };
        rectangles += &rectangle(class, (left, right), (1, 12));
        left = right;
    }
    drawn("bar wide", &rectangles)
}
