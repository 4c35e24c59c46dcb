//! Worth of moves: what they gain as long as they last, and what they burden while they are made.

use std::collections::HashSet;

use crate::balance::price::prices;
use crate::moves::MoveRules;
use htools_model::score::{Board, Touched};
use htools_model::{Cluster, Instance, InstanceIdx, Placement, Step, Strictness, TagArrival};

/// Worth of all moves of an instance, in points of its group's score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoveWorth {
    /// The instance.
    pub instance: InstanceIdx,
    /// How much worse the final score would be without its moves; 0 or below if they gain nothing.
    pub gain: f64,
    /// How much worse the final score is while the instance also takes its old place; from 0 on.
    pub burden: f64,
}

impl MoveWorth {
    /// Hours after which moves that take `hours` have gained what they burdened. Infinite for moves that gain nothing.
    pub fn pays_back_after(&self, hours: f64) -> f64 {
        if self.gain > 0.0 { self.burden * hours / self.gain } else { f64::INFINITY }
    }
}

/// Worth of the moves of each instance, in the order of its first step. `cluster` is in its state after the steps.
///
/// Left out are instances that leave an offline node, and those without a price (see [`prices`]): the plan needs their
/// moves.
pub fn move_worths(cluster: &Cluster, steps: &[Step], rules: &MoveRules) -> Vec<MoveWorth> {
    let mut seen = HashSet::new();
    let known = steps.iter().zip(prices(cluster, steps, rules));
    let firsts = known.filter(|(step, _)| seen.insert(step.instance));
    let is_free = |step: &Step| !step.from.nodes().any(|node| cluster.node(node).spec.offline);
    let worth = |(step, gain): (&Step, Option<f64>)| {
        let instance = cluster.instance(step.instance);
        Some(MoveWorth { instance: step.instance, gain: gain?, burden: burden(cluster, instance, step.from) })
    };
    firsts.filter(|(step, _)| is_free(step)).filter_map(worth).collect()
}

/// How much worse the score is if the instance also takes the place that it has left: the primary node's, or the
/// secondary node's if it stayed on its primary node.
fn burden(cluster: &Cluster, instance: &Instance, home: Placement) -> f64 {
    let is_primary = home.primary != instance.primary;
    let Some(left) = (if is_primary { Some(home.primary) } else { home.secondary }) else { return 0.0 };
    let node = cluster.node(left);
    let (spec, before) = (&node.spec, &node.state.ledger);
    let mut after = *before;
    if is_primary {
        let tags = TagArrival::of(&node.state, instance);
        // Nothing is refused: the instance was there.
        let entered = before.add_primary(spec, instance, instance.location_score, tags, Strictness::Unbound);
        let Ok(entered) = entered else { return 0.0 };
        after = entered;
        if instance.mirror() == Some(left) {
            // Its disks are there once.
            after.disk_free = before.disk_free;
            after.disk_free_planned = before.disk_free_planned;
            after.spindles_free = before.spindles_free;
            after.spindles_used = before.spindles_used;
        }
    } else {
        after.disk_free -= instance.disk;
    }
    let board = Board::new(cluster, cluster.nodes_of(spec.group));
    let both = board.score_with(&[Touched { spec, before, after }], 0) - board.score();
    both.max(0.0)
}
