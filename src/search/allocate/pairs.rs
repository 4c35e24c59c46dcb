//! Instances that need two nodes.

use super::fit::Fit;
use super::{Conditions, Metric, Newcomer, Place, Search, select};
use crate::model::{Cluster, FailCounts, Instance, NodeIdx};
use crate::score::{Board, Change, Statistics};

/// Looks for the best pair; scores are carried on from the present state.
pub(super) fn find(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    newcomer: Newcomer<'_>,
    targets: &[(NodeIdx, Vec<NodeIdx>)],
    conditions: &Conditions,
) -> Search {
    let instance = newcomer.instance;
    let fit = Fit::new(cluster, instance, conditions);
    let board = Board::new(cluster, nodes);
    let statistics = Statistics::of(&board);
    let mut all = Search::default();
    for (primary, secondaries) in targets {
        let mut failures = FailCounts::default();
        let mut places = Vec::new();
        for &secondary in secondaries {
            match fit.pair(*primary, secondary) {
                Err(obstacle) => failures.add(obstacle.kind(), 1),
                Ok(place) => {
                    let score = score(cluster, &board, &statistics, instance, &place);
                    places.push((Metric::Score(score), place));
                }
            }
        }
        let of_primary = select::one(cluster, nodes, newcomer, places, failures, conditions);
        all = select::both(all, of_primary);
    }
    all
}

fn score(
    cluster: &Cluster,
    board: &Board,
    statistics: &Statistics,
    instance: &Instance,
    place: &Place,
) -> f64 {
    let change = |node: NodeIdx, after| {
        let node = cluster.node(node);
        Change::of(&node.spec, &node.state.ledger, &after)
    };
    let primary = place.placement.primary;
    let mut statistics = statistics.after(&change(primary, place.primary));
    if let (Some(node), Some(ledger)) = (place.placement.secondary, place.secondary) {
        statistics = statistics.after(&change(node, ledger));
    }
    statistics.score(board.spread().change(instance, None, Some(&cluster.node(primary).spec)))
}
