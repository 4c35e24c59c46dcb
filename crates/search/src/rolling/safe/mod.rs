//! Plans that keep the cluster safe: no more than so many nodes are down at once, and the nodes that stay up have room
//! for what they take over.
//!
//! 1. Each node is tried alone (`take_down`). A node that cannot be down even alone is left out, with the reason.
//! 2. The `rules` that are known for certain are collected: pairs, and the memory of nodes that take over.
//! 3. Batches are packed by these rules (`packing`): as few as possible, then as short as possible.
//! 4. Each batch is filled node by node on a layout of the cluster. Nodes that are refused go to other batches, or to
//!    new ones.

mod packing;
mod rules;
mod take_down;
mod timed;

use std::time::Duration;

use htools_model::outage::{OutageBatches, OutageRules};
use htools_model::{Cluster, InstanceIdx, NodeIdx, Rule};
use htools_plan::maintenance::MigrateTo;

pub use self::timed::TimedPlanner;

use self::take_down::TakeDown;
use super::layout::Layout;
use super::upgrade::in_upgrade_order;
use super::{Part, RollingOptions, in_order};

/// Reason why a node cannot be down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaysUp {
    /// No node of the group can take an instance.
    NoTarget {
        /// The instance.
        instance: InstanceIdx,
    },
    /// No node of the group can take the secondary of an instance.
    NoSecondaryTarget {
        /// The instance.
        instance: InstanceIdx,
    },
    /// A running instance with mirrored disks has no secondary node.
    NoSecondary {
        /// The instance.
        instance: InstanceIdx,
    },
    /// The secondary node of a running instance is offline, drained, or down itself.
    SecondaryOut {
        /// The instance.
        instance: InstanceIdx,
        /// Its secondary node.
        node: NodeIdx,
    },
    /// The secondary node of a running instance would break a rule.
    Refused {
        /// The instance.
        instance: InstanceIdx,
        /// Its secondary node.
        node: NodeIdx,
        /// The rule.
        rule: Rule,
    },
    /// Another node could no longer take over from every other one (N+1).
    Redundancy {
        /// The node that stays up.
        node: NodeIdx,
    },
}

/// A node that is not planned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The node.
    pub node: NodeIdx,
    /// The reason.
    pub why: StaysUp,
}

/// Reason why there is no safe plan at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSafePlan {
    /// No node was selected.
    #[error("no node is left to plan for: all are offline or not selected")]
    NoNodes,
    /// As many nodes are down already as may be.
    #[error("{down} nodes are down already, and at most {most} may be")]
    EnoughDown {
        /// Nodes that are down already.
        down: usize,
        /// Most nodes that may be down.
        most: usize,
    },
}

/// A safe plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafePlan {
    /// Batches in the order in which they go down.
    pub parts: Vec<Part>,
    /// The nodes that cannot be down even alone, in ascending order.
    pub left_out: Vec<LeftOut>,
    /// The nodes that had to leave the batch in which the known rules allowed them, with the reason.
    pub postponed: Vec<LeftOut>,
}

/// A maintenance for which safe plans are made.
#[derive(Debug)]
pub struct SafePlanner<'a> {
    cluster: &'a Cluster,
    options: RollingOptions,
    nodes: Vec<NodeIdx>,
    alone: Vec<Part>,
    left_out: Vec<LeftOut>,
    rules: OutageRules,
    /// True for the nodes that are upgraded already; shorter if none of the later ones is.
    is_new: Vec<bool>,
}

impl<'a> SafePlanner<'a> {
    /// Tries each of the selected nodes alone, and collects the rules. `down` is the number of nodes that count as down
    /// already. They reduce [`max_down`](RollingOptions::max_down). Nodes that are offline or drained on the cluster
    /// take no instances.
    ///
    /// # Errors
    /// If no node is selected, or if no other node may be down.
    pub fn new(
        cluster: &'a Cluster,
        selected: &[NodeIdx],
        options: &RollingOptions,
        down: usize,
    ) -> Result<SafePlanner<'a>, NoSafePlan> {
        let mut selected = selected.to_vec();
        selected.sort_unstable();
        selected.dedup();
        if selected.is_empty() {
            return Err(NoSafePlan::NoNodes);
        }
        let most = match options.max_down.map(|most| most.get()) {
            Some(most) if most <= down => return Err(NoSafePlan::EnoughDown { down, most }),
            most => most.map(|most| most - down),
        };
        let ground = TakeDown::of(cluster, *options);
        let mut layout = Layout::with_reserves(cluster);
        let none_down = vec![false; cluster.nodes.len()];
        let (mut alone, mut left_out) = (Vec::new(), Vec::new());
        for node in selected {
            match ground.take_down(&mut layout, node, &none_down) {
                Ok(()) => alone.push(Part { nodes: vec![node], moves: layout.moved() }),
                Err(why) => left_out.push(LeftOut { node, why }),
            }
            layout.back_to(layout.beginning());
        }
        let nodes: Vec<NodeIdx> = alone.iter().flat_map(|part| part.nodes.iter().copied()).collect();
        let rules = rules::of(cluster, &nodes, options, most);
        Ok(SafePlanner { cluster, options: *options, nodes, alone, left_out, rules, is_new: Vec::new() })
    }

    /// Names the nodes that are upgraded already. It matters with [`upgrade`](RollingOptions::upgrade) only.
    pub fn with_upgraded(self, nodes: impl IntoIterator<Item = NodeIdx>) -> SafePlanner<'a> {
        let mut is_new = vec![false; self.cluster.nodes.len()];
        nodes.into_iter().for_each(|node| is_new[node.get()] = true);
        SafePlanner { is_new, ..self }
    }

    /// The nodes that can be down, in ascending order. Rules and durations refer to their positions.
    pub fn nodes(&self) -> &[NodeIdx] {
        &self.nodes
    }

    /// Each of these nodes as a batch of its own.
    pub fn alone(&self) -> &[Part] {
        &self.alone
    }

    /// The nodes that cannot be down even alone.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The rules that every plan obeys.
    pub fn rules(&self) -> &OutageRules {
        &self.rules
    }

    /// The plan. `seconds` are the durations of the nodes as batches of their own, in the order of
    /// [`nodes`](Self::nodes); missing ones count as 0.
    pub fn plan(&self, seconds: &[f64]) -> SafePlan {
        let times: Vec<u64> =
            (0..self.nodes.len()).map(|node| milliseconds(seconds.get(node).copied())).collect();
        let mut batches = packing::pack(&self.rules, &times);
        for batch in &mut batches {
            batch.sort_by_key(|node| (std::cmp::Reverse(times[*node]), *node));
        }
        let mut filling = BatchFilling::new(self);
        let mut kept = filling.fill(batches);
        if !filling.waiting.is_empty() {
            // Those that no later batch took are offered to the earlier ones as well.
            filling.parts.clear();
            kept = filling.fill(kept);
        }
        while !filling.waiting.is_empty() {
            let new = std::mem::take(&mut filling.waiting);
            kept.extend(filling.fill(vec![new]));
        }
        debug_assert_eq!(kept.iter().map(Vec::len).sum::<usize>(), self.nodes.len());
        let mut postponed = filling.postponed;
        postponed.sort_by_key(|one| one.node);
        postponed.dedup_by_key(|one| one.node);
        let parts = in_order(self.cluster, filling.parts);
        let parts = match self.options.upgrade {
            Some(_) => in_upgrade_order(self.cluster, parts, &self.options, &self.is_new),
            None => parts,
        };
        SafePlan { parts, left_out: self.left_out.clone(), postponed }
    }
}

/// Whole milliseconds of a duration in seconds; 0 if it is not a positive number.
fn milliseconds(seconds: Option<f64>) -> u64 {
    let duration = Duration::try_from_secs_f64(seconds.unwrap_or(0.0)).unwrap_or_default();
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Batches that are filled on a layout.
struct BatchFilling<'p, 'a> {
    planner: &'p SafePlanner<'a>,
    /// Ways to empty a node, in the order in which they are tried. The last one empties every node alone.
    grounds: Vec<TakeDown<'p>>,
    layout: Layout<'a>,
    parts: Vec<Part>,
    /// Nodes that were refused, in order.
    waiting: Vec<usize>,
    postponed: Vec<LeftOut>,
}

impl<'p, 'a> BatchFilling<'p, 'a> {
    fn new(planner: &'p SafePlanner<'a>) -> BatchFilling<'p, 'a> {
        let plain = TakeDown::of(planner.cluster, planner.options);
        let prefers = planner.options.upgrade == Some(MigrateTo::Newer) && !planner.is_new.is_empty();
        let newer = prefers.then(|| plain.clone().preferring(&planner.is_new));
        let grounds = newer.into_iter().chain([plain]).collect();
        BatchFilling {
            planner,
            grounds,
            layout: Layout::with_reserves(planner.cluster),
            parts: Vec::new(),
            waiting: Vec::new(),
            postponed: Vec::new(),
        }
    }

    /// Fills batches one after another, each with its nodes and then with those that wait. Returns them as they are
    /// then. The first node of a batch always fits.
    fn fill(&mut self, batches: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        let planner = self.planner;
        let mut filled = Vec::with_capacity(batches.len());
        for batch in batches {
            let mut down = vec![false; planner.cluster.nodes.len()];
            let mut known = OutageBatches::new(&planner.rules);
            let offered = batch.into_iter().chain(std::mem::take(&mut self.waiting));
            for node in offered {
                let is_new = known.batches().is_empty();
                if !is_new && !known.fits(node, 0) {
                    self.waiting.push(node);
                    continue;
                }
                let idx = planner.nodes[node];
                match self.take_down(idx, &down) {
                    Ok(()) => {
                        down[idx.get()] = true;
                        known.put(node, 0);
                    }
                    Err(why) => {
                        self.waiting.push(node);
                        self.postponed.push(LeftOut { node: idx, why });
                    }
                }
            }
            let batch = known.into_batches().pop().unwrap_or_default();
            let nodes = batch.iter().map(|node| planner.nodes[*node]).collect();
            self.parts.push(Part { nodes, moves: self.layout.moved() });
            self.layout.back_to(self.layout.beginning());
            filled.push(batch);
        }
        filled
    }

    /// Empties a node beside those that are down.
    fn take_down(&mut self, node: NodeIdx, down: &[bool]) -> Result<(), StaysUp> {
        let mark = self.layout.mark();
        let mut result = Ok(());
        for ground in &self.grounds {
            result = ground.take_down(&mut self.layout, node, down);
            if result.is_ok() {
                break;
            }
            self.layout.back_to(mark);
        }
        result
    }
}

#[cfg(test)]
pub(in crate::rolling) mod tests;
