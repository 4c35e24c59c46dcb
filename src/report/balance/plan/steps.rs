//! The steps of a plan: the effect, gain, copied data and purpose of each.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use maud::{Markup, html};

use crate::model::number::fixed;
use crate::model::{Cluster, Draft, Leg, Mib, NodeIdx, Placement, Step};
use crate::plan::durations::{LegKind, data_of, ways};
use crate::plan::graph::StepIdx;
use crate::plan::work::{Task, WorkStep};
use crate::report::form::amount::amount_of;
use crate::report::form::html::bars::NOTHING;
use crate::report::form::html::grid::{Grid, GridCell, GridRow};
use crate::report::form::html::words::lines;
use crate::report::form::html::{Section, alias};
use crate::report::form::table::Align;
use crate::report::timetable::waits::why;
use crate::report::timetable::{Timetable, estimated};
use crate::score::metrics::METRICS;
use crate::search::balance::effect::{StepEffect, effects};

/// Maximum number of steps listed for each reason that a step waits.
const WAITS: usize = 3;

/// Purpose of a step, by the metric that it lowers most.
const PURPOSES: [&str; METRICS] = [
    "evens out memory",
    "evens out disk space",
    "mends N+1",
    "evens out reserves",
    "leaves an offline node",
    "leaves an offline node",
    "evens out CPUs",
    "evens out processor load",
    "evens out memory load",
    "evens out disk load",
    "evens out network load",
    "parts instances with the same exclusion tag",
    "evens out spindles",
    "evens out memory to come",
    "evens out disk space to come",
    "evens out CPUs to come",
    "evens out spindles to come",
    "keeps to locations",
    "parts instances of one location with the same exclusion tag",
    "needs less reserve",
    "meets affinity keys",
];

/// A move with its known effects.
#[derive(Debug, Clone)]
pub(crate) struct PlannedMove {
    pub step: Step,
    /// Decrease of the figure that the plan minimises, if known.
    pub gain: Option<f64>,
    /// Increase of the final score if the moves of the instance are left out, if known.
    pub price: Option<f64>,
    /// Purpose.
    pub purpose: String,
}

impl PlannedMove {
    /// All moves of a plan within groups, from the cluster before the first one. The purpose of a move that leaves one
    /// of the nodes `leaving` is to do so; other moves have the purpose of their gain.
    pub(crate) fn all(cluster: &mut Draft, steps: &[Step], leaving: &[NodeIdx]) -> Vec<PlannedMove> {
        let effects = effects(cluster, steps);
        let known = |(step, effect): (&Step, Option<StepEffect>)| {
            let left =
                step.from.nodes().find(|node| leaving.contains(node) && step.to.nodes().all(|n| n != *node));
            let purpose = match (left, effect.and_then(|effect| effect.main)) {
                (Some(node), _) => format!("empties {}", cluster.node(node).spec.alias()),
                (None, Some(metric)) => PURPOSES[metric].to_owned(),
                (None, None) => "makes room".to_owned(),
            };
            PlannedMove { step: *step, gain: effect.map(|effect| effect.gain), price: None, purpose }
        };
        steps.iter().zip(effects).map(known).collect()
    }
}

/// The steps of a plan.
pub(crate) struct StepRows<'a> {
    pub cluster: &'a Cluster,
    pub moves: &'a [PlannedMove],
    /// Timetable of all steps; `None` if invalid names prevent their execution.
    pub table: Option<&'a Timetable<'a>>,
    /// Phase of each step, if the plan has phases.
    pub phases: &'a [StepPhase],
}

/// Phase of a step of rolling reboots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepPhase {
    /// Number of the group of nodes that are rebooted together, from 1.
    pub group: usize,
    pub stage: &'static str,
}

impl fmt::Display for StepPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group {}: {}", self.group, self.stage)
    }
}

impl StepRows<'_> {
    /// The section with all steps.
    pub(crate) fn section(&self) -> Option<Section> {
        let phase = [("Phase", Align::Left)];
        let gains = [("Gain", Align::Right), ("Score after", Align::Right)];
        let columns = [
            &[("Step", Align::Right)][..],
            if self.phases.is_empty() { &[] } else { &phase[..] },
            &[
                ("Subject", Align::Left),
                ("From", Align::Left),
                ("To", Align::Left),
                ("What is done", Align::Left),
            ],
            if self.has_gains() { &gains[..] } else { &[] },
            if self.has_prices() { &[("Price", Align::Right)] } else { &[] },
            &[("Disk", Align::Right), ("Takes", Align::Right), (self.last_title(), Align::Left)],
        ];
        let columns = columns.concat();
        let rows = match self.table {
            Some(table) => self.of_work(table),
            None => (1..).zip(self.moves).map(|(number, planned)| self.of_move(number, planned)).collect(),
        };
        let grid =
            Grid { id: "step-table", caption: "The steps of the plan", columns, rows, noun: Some("name") };
        let body = grid.some().map(|table| html! { (self.legend()) (table) });
        Section::of("plan", "The plan", body)
    }

    /// Explanation of the columns.
    fn legend(&self) -> Markup {
        let has_secondaries = self.cluster.instances.iter().any(|instance| instance.secondary.is_some());
        html! {
            p class="legend" {
                @if has_secondaries { span { "node1:node3: primary node, secondary node" } }
                @if self.has_prices() {
                    span { "Price: how much worse the score is without the moves of the instance" }
                }
                @if self.table.is_some() { span { "Takes: estimated" } }
            }
        }
    }

    /// Title of the column with the reasons. Plans without known moves have no purposes to show.
    fn last_title(&self) -> &'static str {
        if self.moves.is_empty() { "Waits for" } else { "Why" }
    }

    /// Tells if the gains of moves are known.
    fn has_gains(&self) -> bool {
        self.moves.iter().any(|planned| planned.gain.is_some())
    }

    /// Tells if there are prices of moves.
    fn has_prices(&self) -> bool {
        self.moves.iter().any(|planned| planned.price.is_some())
    }

    /// Rows of all steps, with the known effects of moves.
    fn of_work(&self, table: &Timetable<'_>) -> Vec<GridRow> {
        // An instance may move more than once, always in the same order.
        let mut moves: HashMap<&str, VecDeque<&PlannedMove>> = HashMap::new();
        for planned in self.moves {
            let name = self.cluster.instance(planned.step.instance).name.as_str();
            moves.entry(name).or_default().push_back(planned);
        }
        let row = |at: StepIdx| {
            let step = table.work.step(at);
            let planned = match step.task {
                Task::Move(_) | Task::Cross(_) => {
                    moves.get_mut(step.subject.as_str()).and_then(VecDeque::pop_front)
                }
                _ => None,
            };
            self.of_work_step(table, at, step, planned)
        };
        table.work.all().map(row).collect()
    }

    fn of_work_step(
        &self,
        table: &Timetable<'_>,
        at: StepIdx,
        step: &WorkStep,
        planned: Option<&PlannedMove>,
    ) -> GridRow {
        let relocations = step.relocations();
        let legs = relocations.iter().flat_map(|relocation| relocation.mv.clone().legs());
        let legs = legs.zip(ways(step));
        let node = |name: String| alias(self.cluster, &name).to_owned();
        let place = |at: &Placement<String>| at.clone().nodes().map(node).collect::<Vec<_>>().join(":");
        let after = if self.moves.is_empty() { "" } else { "after " };
        let waits = self.waits(table, at).into_iter().map(|wait| format!("{after}{wait}"));
        let seconds = table.seconds[at.get()];
        self.row(PlanRow {
            number: at.number(),
            phase: self.phases.get(at.get()).copied(),
            subject: alias(self.cluster, &step.subject),
            from: relocations.first().map(|relocation| place(&relocation.from)),
            to: relocations.last().map(|relocation| place(&relocation.to)),
            done: match relocations.is_empty() {
                true => task_words(&step.task).to_owned(),
                false => legs_text(legs, node),
            },
            planned,
            disk: data_of(step).1,
            seconds: Some(seconds),
            reasons: planned.map(|planned| planned.purpose.clone()).into_iter().chain(waits).collect(),
        })
    }

    /// The steps that a step waits for, by reason.
    fn waits(&self, table: &Timetable<'_>, at: StepIdx) -> Vec<String> {
        let group = |at: StepIdx| self.phases.get(at.get()).map(|phase| phase.group);
        let mut reasons: Vec<(String, Vec<StepIdx>)> = Vec::new();
        for edge in table.before(at) {
            let why = match group(edge.before) == group(at) {
                true => why(table.work, edge),
                false => "the group before must be finished".to_owned(),
            };
            match reasons.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, steps)) => steps.push(edge.before),
                None => reasons.push((why, vec![edge.before])),
            }
        }
        reasons.into_iter().map(|(why, steps)| format!("{}: {why}", some_steps(&steps))).collect()
    }

    /// Row of a move whose duration is not known.
    fn of_move(&self, number: usize, planned: &PlannedMove) -> GridRow {
        let PlannedMove { step, purpose, .. } = planned;
        let node = |node| self.cluster.node(node).spec.alias().to_owned();
        let place = |at: Placement| Some(at.nodes().map(node).collect::<Vec<_>>().join(":"));
        let instance = self.cluster.instance(step.instance);
        self.row(PlanRow {
            number,
            phase: None,
            subject: instance.alias(),
            from: place(step.from),
            to: place(step.to),
            done: legs_text(step.mv.legs().zip(ways(&WorkStep::moving(self.cluster, step))), node),
            planned: Some(planned),
            disk: step.copied(self.cluster),
            seconds: None,
            reasons: vec![purpose.clone()],
        })
    }

    fn row(&self, row: PlanRow<'_>) -> GridRow {
        let gain = row.planned.and_then(|planned| planned.gain);
        let figure = |value: Option<f64>, shown: fn(f64) -> String| match value {
            Some(value) => GridCell::number(shown(value), value),
            None => GridCell::number(NOTHING, 0.0),
        };
        let mut cells = vec![GridCell::count(row.number)];
        cells.extend(row.phase.map(|phase| GridCell::line(phase.to_string())));
        cells.extend([
            GridCell::name(row.subject),
            GridCell::line(row.from.unwrap_or_default()),
            GridCell::line(row.to.unwrap_or_default()),
            GridCell::text(row.done),
        ]);
        if self.has_gains() {
            let after = row.planned.map(|planned| planned.step.score).filter(|_| gain.is_some());
            cells.extend([gain, after].map(|value| figure(value, |value| fixed(value, 4))));
        }
        if self.has_prices() {
            cells.push(figure(row.planned.and_then(|planned| planned.price), |value| fixed(value, 4)));
        }
        cells.push(figure(Some(row.disk.as_f64()).filter(|mib| *mib > 0.0), amount_of));
        cells.push(figure(row.seconds, estimated));
        cells.push(GridCell::of(lines(&row.reasons)));
        GridRow { cells, changes: false }
    }
}

/// Content of a step's row.
struct PlanRow<'a> {
    number: usize,
    phase: Option<StepPhase>,
    subject: &'a str,
    from: Option<String>,
    to: Option<String>,
    done: String,
    planned: Option<&'a PlannedMove>,
    /// Disk that is copied.
    disk: Mib,
    seconds: Option<f64>,
    reasons: Vec<String>,
}

/// The first few steps, and the number of the others.
fn some_steps(steps: &[StepIdx]) -> String {
    let first: Vec<String> = steps.iter().take(WAITS).map(ToString::to_string).collect();
    let more = steps.len().saturating_sub(WAITS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    first.join(", ") + &more
}

/// An operation other than a move, in words that follow the name of its object.
fn task_words(task: &Task) -> &'static str {
    match task {
        Task::Await => "wait until it answers",
        Task::ConfirmEmpty => "make sure that nothing is on it",
        Task::Resync => "resync its disks",
        other => other.as_str(),
    }
}

/// The parts of a move, in words.
fn legs_text<N>(legs: impl Iterator<Item = (Leg<N>, LegKind)>, node: impl Fn(N) -> String) -> String {
    let words = legs.map(|(leg, kind)| {
        let verb = match kind {
            LegKind::Migrates => "migrate",
            LegKind::FailsOver => "fail over",
            LegKind::Syncs => "copy disks",
            LegKind::MovesDisks => "move with its disks",
        };
        match leg {
            Leg::Failover => verb.to_owned(),
            Leg::ReplaceSecondary(to) | Leg::FailoverTo(to) => format!("{verb} to {}", node(to)),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}
