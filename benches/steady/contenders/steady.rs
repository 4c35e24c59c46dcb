//! Prototype of steady balancing: acts on nodes that stay above a threshold, with the fewest migrations that end it.

use std::cmp::Ordering;
use std::collections::HashMap;

use htools::model::number::counted;
use htools::model::{Cluster, Draft, InstanceIdx, Move, NodeIdx};
use htools::search::MoveRules;
use htools::search::moves::perform;

use super::node_loads::NodeLoads;
use super::{Contender, Outlook, Relocation};
use crate::measured::Measured;
use crate::slot::{Slot, a_day};
use crate::world::DemandIdx;

/// Least improvement for which an instance is moved although no node stays below the limit.
const WORTHWHILE: f64 = 0.02;

/// Rules of steady balancing. Loads are shares of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRules {
    /// The load that nodes are expected to have.
    pub outlook: Outlook,
    /// Processor load above which a node is too busy.
    pub cpu: f64,
    /// Memory above which a node is too full.
    pub memory: f64,
    /// Successive slots in which it must be so.
    pub rounds: usize,
    /// Processor load to get a node below, and below which the targets must stay.
    pub until: f64,
    /// Slots for which an instance is left alone after it was moved. It also does not return meanwhile.
    pub cooldown: usize,
}

impl Default for SteadyRules {
    fn default() -> SteadyRules {
        SteadyRules {
            outlook: Outlook::Present,
            cpu: 0.85,
            memory: 0.85,
            rounds: 2,
            until: 0.8,
            cooldown: a_day(),
        }
    }
}

/// Steady balancing with its memory of earlier rounds.
pub struct Steady {
    rules: SteadyRules,
    /// Number of successive slots for which each node was above a threshold.
    above: Vec<usize>,
    /// Time at which instances were last moved.
    moved: HashMap<DemandIdx, Slot>,
}

/// Usefulness of a migration; better ones are smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// It brings the node below the limit, and its target stays there.
    Ends,
    /// It does so now, but the target is expected to get above the limit.
    EndsForNow,
    /// The node stays above the limit, but is better off.
    Helps,
}

/// A possible migration.
#[derive(Clone, Copy)]
struct Candidate {
    use_: Use,
    /// Larger peak of both nodes afterwards.
    peak: f64,
    relocation: Relocation,
}

impl Candidate {
    fn order(&self, other: &Candidate) -> Ordering {
        self.use_.cmp(&other.use_).then(self.peak.total_cmp(&other.peak))
    }
}

impl Steady {
    /// Steady balancing that has seen nothing yet.
    pub fn new(rules: SteadyRules) -> Steady {
        Steady { rules, above: Vec::new(), moved: HashMap::new() }
    }

    fn is_above(&self, loads: &NodeLoads, node: NodeIdx) -> bool {
        loads.present(node) > self.rules.cpu || loads.used(node) > self.rules.memory
    }

    /// The nodes that were above a threshold for long enough, the busiest first.
    fn busy_nodes(&mut self, cluster: &Cluster, loads: &NodeLoads) -> Vec<NodeIdx> {
        self.above.resize(cluster.nodes.len(), 0);
        let mut busy = cluster.all_nodes();
        for node in &busy {
            let before = self.above[node.get()];
            self.above[node.get()] = if self.is_above(loads, *node) { before + 1 } else { 0 };
        }
        busy.retain(|node| self.above[node.get()] >= self.rules.rounds);
        busy.sort_by(|a, b| loads.present(*b).total_cmp(&loads.present(*a)));
        busy
    }

    /// The best migration off a node that is too busy or too full.
    fn best(
        &self,
        draft: &Draft,
        loads: &NodeLoads,
        from: NodeIdx,
        rests: impl Fn(InstanceIdx) -> bool,
    ) -> Option<Relocation> {
        let there = draft.node(from).state.primaries.iter().copied().filter(|i| !rests(*i));
        let nodes = draft.all_nodes();
        let pairs = there.flat_map(|instance| {
            nodes.iter().filter(|to| **to != from).map(move |to| Relocation { instance, to: *to })
        });
        let candidates = pairs.filter_map(|relocation| self.candidate(loads, from, relocation));
        candidates.min_by(Candidate::order).map(|candidate| candidate.relocation)
    }

    fn candidate(&self, loads: &NodeLoads, from: NodeIdx, relocation: Relocation) -> Option<Candidate> {
        let Relocation { instance, to } = relocation;
        let memory = loads.memory(instance);
        if loads.used(to) + memory > self.rules.memory {
            return None;
        }
        let target = loads.peak_with(to, instance, 1.0);
        let left = loads.present(from) - loads.of_instance(instance);
        let is_full = loads.used(from) > self.rules.memory;
        let ends = left <= self.rules.until && loads.used(from) - memory <= self.rules.memory;
        if target <= self.rules.until && ends {
            let peak = target.max(loads.peak_with(from, instance, -1.0));
            return Some(Candidate { use_: Use::Ends, peak, relocation });
        }
        if ends && loads.present(to) + loads.of_instance(instance) <= self.rules.until {
            return Some(Candidate { use_: Use::EndsForNow, peak: target, relocation });
        }
        let peak = target.max(left);
        let helps = if target > self.rules.until {
            target < loads.peak(from) - WORTHWHILE
        } else {
            is_full || left < loads.present(from)
        };
        helps.then_some(Candidate { use_: Use::Helps, peak, relocation })
    }
}

impl Contender for Steady {
    fn name(&self) -> String {
        let rules = &self.rules;
        let outlook = match rules.outlook {
            Outlook::Present => "",
            Outlook::Forecast => " with forecast",
            Outlook::Known => ", the coming day known",
        };
        format!("steady{outlook}: cpu > {:.0} %, {}", rules.cpu * 100.0, counted(rules.rounds, "round"))
    }

    fn decide(
        &mut self,
        cluster: &Cluster,
        measured: &Measured<'_>,
        now: Slot,
    ) -> anyhow::Result<Vec<Relocation>> {
        let present = NodeLoads::of(cluster, measured, Outlook::Present, now);
        let busy = self.busy_nodes(cluster, &present);
        if busy.is_empty() {
            return Ok(Vec::new());
        }
        let mut loads = NodeLoads::of(cluster, measured, self.rules.outlook, now);
        let mut draft = Draft::of(cluster);
        let mut moves = Vec::new();
        for from in busy {
            while loads.present(from) > self.rules.until || loads.used(from) > self.rules.memory {
                let rests = |instance| {
                    let moved = self.moved.get(&measured.id(instance));
                    moved.is_some_and(|moved| now.0 - moved.0 < self.rules.cooldown)
                };
                let Some(next) = self.best(&draft, &loads, from, rests) else { break };
                let step = Move::FailoverTo(next.to);
                if perform(&mut draft, next.instance, step, &MoveRules::default()).is_err() {
                    break;
                }
                loads.shift(from, next);
                self.moved.insert(measured.id(next.instance), now);
                moves.push(next);
            }
        }
        Ok(moves)
    }
}
