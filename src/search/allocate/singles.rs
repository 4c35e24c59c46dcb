//! Instances that need one node.

use super::fit::Fit;
use super::{Conditions, Metric, Newcomer, Place, Search, select};
use crate::model::{Cluster, FailCounts, Instance, NodeIdx};
use crate::score::{Board, Touched};

/// Looks for the best node; the score is formed anew for each.
pub(super) fn find(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    newcomer: Newcomer<'_>,
    targets: &[NodeIdx],
    conditions: &Conditions,
) -> Search {
    let instance = newcomer.instance;
    let fit = Fit::new(cluster, instance, conditions);
    let board = Board::new(cluster, nodes);
    let mut failures = FailCounts::default();
    let mut places: Vec<(Metric, Place)> = Vec::new();
    for &target in targets {
        match fit.single(target) {
            Err(obstacle) => failures.add(obstacle.kind(), 1),
            Ok(place) => places.push((Metric::Score(score(cluster, &board, instance, &place)), place)),
        }
    }
    select::one(cluster, nodes, newcomer, places, failures, conditions)
}

/// The score with the instance in a place.
fn score(cluster: &Cluster, board: &Board, instance: &Instance, place: &Place) -> f64 {
    let node = cluster.node(place.placement.primary);
    let touched = [Touched { spec: &node.spec, before: &node.state.ledger, after: place.primary }];
    board.score_with(&touched, board.spread().change(instance, None, Some(&node.spec)))
}
