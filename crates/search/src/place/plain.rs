//! Searches for a place by trying each one. It is the reference for the faster searches, and is used where they
//! gain nothing.

use super::fit::PlaceTester;
use super::{Conditions, InstanceToPlace, PlaceMetric, PlaceSearch, PlacementChecks, Targets, select};
use htools_model::score::{Board, NodeChange, PairUpdate, Touched};
use htools_model::{Cluster, FailCounts, Instance, NodeIdx, Obstacle, Place};

/// Searches for the best place; see [`find`](super::find).
pub fn find(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    newcomer: InstanceToPlace<'_>,
    targets: &Targets,
    conditions: &Conditions,
) -> PlaceSearch {
    let mut checks = PlacementChecks::of(cluster, nodes, newcomer, conditions);
    let mut holds = |place: &Place| checks.as_mut().is_none_or(|checks| checks.holds(place));
    let board = Board::new(cluster, nodes);
    let fit = PlaceTester::new(cluster, newcomer.instance, conditions);
    if let Targets::Singles(targets) = targets {
        let places = targets.iter().map(|t| fit.single(*t));
        let (places, failures) =
            scored(places, |place| single_score(cluster, &board, newcomer.instance, place));
        return select::one(places, failures, &mut holds);
    }
    let statistics = PairUpdate::of(&board);
    targets.primaries().iter().fold(PlaceSearch::default(), |all, primary| {
        let places = targets.partners(cluster, *primary).map(|s| fit.pair(*primary, s));
        let (places, failures) =
            scored(places, |place| pair_score(cluster, &board, &statistics, newcomer.instance, place));
        select::both(all, select::one(places, failures, &mut holds))
    })
}

fn scored(
    places: impl Iterator<Item = Result<Place, Obstacle>>,
    score: impl Fn(&Place) -> f64,
) -> (Vec<(PlaceMetric, Place)>, FailCounts) {
    let mut failures = FailCounts::default();
    let mut possible = Vec::new();
    for place in places {
        match place {
            Err(obstacle) => failures.add(obstacle.kind(), 1),
            Ok(place) => possible.push((PlaceMetric::Score(score(&place)), place)),
        }
    }
    (possible, failures)
}

/// The score with the instance on one node, computed from scratch.
fn single_score(cluster: &Cluster, board: &Board, instance: &Instance, place: &Place) -> f64 {
    let node = cluster.node(place.placement.primary);
    let touched = [Touched { spec: &node.spec, before: &node.state.ledger, after: place.primary }];
    board.score_with(&touched, board.spread().change(instance, None, Some(&node.spec)))
}

/// The score with the instance on two nodes, computed from running statistics.
fn pair_score(
    cluster: &Cluster,
    board: &Board,
    statistics: &PairUpdate,
    instance: &Instance,
    place: &Place,
) -> f64 {
    let change = |node: NodeIdx, after| {
        let node = cluster.node(node);
        NodeChange::of(&node.spec, &node.state.ledger, &after)
    };
    let primary = place.placement.primary;
    let mut statistics = statistics.after(&change(primary, place.primary));
    if let (Some(node), Some(ledger)) = (place.placement.secondary, place.secondary) {
        statistics = statistics.after(&change(node, ledger));
    }
    statistics
        .score(board.weights(), board.spread().change(instance, None, Some(&cluster.node(primary).spec)))
}
