//! Steady balancing, as `hbal --only-if CONDITION --rounds N --until-below --margin N --cooldown T --no-return T` does it.

use std::collections::BTreeSet;
use std::time::Duration;

use htools::execute::ClusterId;
use htools::execute::history::{History, HistoryEvent, HistoryLine, LookRecord, PastMove, PlannedMove};
use htools::model::number::counted;
use htools::model::{Cluster, Draft, NodeIdx, Placement, Step, Utilisation};
use htools::search::balance::deep::headway::{DeepWatch, SearchProgress};
use htools::search::balance::deep::plan::{DeepGoal, plan};
use htools::search::steady::{ActCondition, RestRules, is_relieved, tolerate_others};
use htools::search::{BalanceOptions, Deadline};

use super::{Contender, Outlook, Relocation};
use crate::measured::Measured;
use crate::slot::{HOUR, Slot, a_day};

/// Milliseconds of a slot.
const SLOT: u64 = 900_000;

/// Options of hbal, with the source of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRules {
    /// Load of the coming day.
    pub outlook: Outlook,
    /// Processor load and memory above which a node is too busy, in percent.
    pub above: [u32; 2],
    /// `--rounds`.
    pub rounds: usize,
    /// `--margin`.
    pub margin: f64,
    /// `--cooldown` and `--no-return`, in slots.
    pub cooldown: usize,
}

impl Default for SteadyRules {
    fn default() -> SteadyRules {
        SteadyRules { outlook: Outlook::Present, above: [85, 85], rounds: 2, margin: 5.0, cooldown: a_day() }
    }
}

/// Steady balancing with its history.
pub struct Steady {
    rules: SteadyRules,
    condition: ActCondition,
    looks: Vec<HistoryLine>,
    moves: Vec<PastMove>,
}

impl Steady {
    /// Steady balancing that has seen nothing yet.
    ///
    /// # Panics
    /// If a threshold is not a number.
    pub fn new(rules: SteadyRules) -> Steady {
        let [cpu, memory] = rules.above;
        let condition = format!("cpu>{cpu} or memory>{memory}").parse().expect("a condition");
        Steady { rules, condition, looks: Vec::new(), moves: Vec::new() }
    }

    fn line(event: HistoryEvent) -> HistoryLine {
        let cluster = cluster_id();
        HistoryLine::now(&cluster, "hbal", event)
    }

    fn rest(&self) -> RestRules {
        let time = Duration::from_millis(SLOT * self.rules.cooldown as u64);
        let time = (!time.is_zero()).then_some(time);
        RestRules { cooldown: time, no_return: time }
    }
}

/// The steps that end the overload, and the cluster after them.
fn planned(cluster: Cluster, nodes: &[NodeIdx]) -> (Draft, Vec<Step>) {
    let (deadline, headway) = (Deadline::never(), SearchProgress::default());
    let watch = DeepWatch { deadline: &deadline, headway: &headway };
    let mut draft = Draft::from(cluster);
    let found = plan(&mut draft, nodes, &BalanceOptions::default(), &DeepGoal::Relieve, watch);
    (draft, found.ordered.steps)
}

fn cluster_id() -> ClusterId {
    ClusterId { name: "c".into(), uuid: "u".into() }
}

/// The cluster with a load of each instance, in cores.
fn loaded(measured: &Measured<'_>, cores: Vec<f64>) -> anyhow::Result<Cluster> {
    measured.loaded(cores.into_iter().map(|cpu| Utilisation { cpu, ..Utilisation::ZERO }).collect())
}

impl Contender for Steady {
    fn name(&self) -> String {
        let rules = &self.rules;
        format!("steady{}: cpu > {} %, {}", rules.outlook, rules.above[0], counted(rules.rounds, "round"))
    }

    fn decide(&mut self, _: &Cluster, measured: &Measured<'_>, now: Slot) -> anyhow::Result<Vec<Relocation>> {
        let present = loaded(measured, measured.loads(1, |values| values.iter().sum()))?;
        let nodes = present.all_nodes();
        let seen = self.condition.observe(&present, &nodes);
        let history = History(std::mem::take(&mut self.looks));
        let text = self.condition.to_string();
        let past = history.rounds_above("g", &text, None, Duration::from_secs(86_400));
        self.looks = history.0;
        self.looks.drain(..self.looks.len().saturating_sub(4 * HOUR));
        let names = seen.nodes.iter().map(|(node, ..)| present.node(*node).spec.name.clone());
        let look = LookRecord {
            group: "g".into(),
            condition: text,
            is_met: seen.is_met,
            score: seen.score,
            nodes: names.collect(),
        };
        self.looks.push(Steady::line(HistoryEvent::Look(look)));
        let due = seen.due(&self.condition, &present, &past, self.rules.rounds);
        if !due.is_due {
            return Ok(Vec::new());
        }
        let mut cluster = present;
        let at = SLOT * now.0 as u64;
        self.rest().resting(&cluster, &self.moves, at).enter(&mut cluster);
        self.condition.limit(&mut cluster, self.rules.margin);
        let due: Vec<NodeIdx> = due.nodes.iter().map(|(node, ..)| *node).collect();
        let names = due.iter().map(|node| cluster.node(*node).spec.name.clone());
        let names: BTreeSet<String> = names.collect();
        tolerate_others(&mut cluster, &names);
        let outlook = self.rules.outlook.coming(measured, now);
        let closed = outlook.map(|outlook| outlook.closed(&cluster, &due)).unwrap_or_default();
        let mut kept_off = cluster.clone();
        kept_off.keep_out(&closed);
        let (mut draft, mut steps) = planned(kept_off, &nodes);
        if !closed.is_empty() && !is_relieved(&draft, &due) {
            (draft, steps) = planned(cluster, &nodes);
        }
        let name = |node| draft.node(node).spec.name.clone();
        let mut moves = Vec::new();
        for step in &steps {
            let place = |node| Placement { primary: name(node), secondary: None };
            let moved = PlannedMove {
                instance: draft.instance(step.instance).name.clone(),
                from: place(step.from.primary),
                to: place(step.to.primary),
            };
            let cluster = cluster_id();
            let (tool, outcome) = ("hbal".into(), "done".into());
            self.moves.push(PastMove { at, cluster, tool, run: 0, moved, outcome });
            moves.push(Relocation { instance: step.instance, to: step.to.primary });
        }
        self.moves.retain(|made| at - made.at < SLOT * a_day() as u64);
        Ok(moves)
    }
}
