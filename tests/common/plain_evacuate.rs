//! Two new nodes for a DRBD instance, found by trying all moves for every pair.

use htools::model::{Cluster, Draft, InstanceIdx, Move, NodeIdx, Placement};
use htools::score::Board;
use htools::search::MoveRules;
use htools::search::moves::perform;
use htools::search::place::evacuation::{Destination, EvacuationObstacle, PairStep};

/// The best pair, or the reason why the last pair is impossible.
pub fn best_pair(
    cluster: &Cluster,
    idx: InstanceIdx,
    destination: &Destination,
) -> Result<Placement, EvacuationObstacle> {
    let instance = cluster.instance(idx);
    let rules = MoveRules { ignore_soft_errors: destination.ignore_soft_errors, ..MoveRules::default() };
    let leave = cluster.node(instance.primary).spec.offline;
    let targets: Vec<NodeIdx> =
        destination.targets.iter().copied().filter(|t| *t != instance.primary).collect();
    let mut best: Option<(f64, Placement)> = None;
    let mut stuck = EvacuationObstacle::NoPair;
    for &a in &targets {
        for &b in targets.iter().filter(|b| **b != a) {
            let mut steps = vec![
                (PairStep::LeavePrimary, Move::Failover),
                (PairStep::FirstSecondary, Move::ReplaceSecondary(a)),
                (PairStep::NewPrimary, Move::Failover),
                (PairStep::FinalSecondary, Move::ReplaceSecondary(b)),
            ];
            if !leave {
                steps.remove(0);
            }
            let mut state = Draft::of(cluster);
            let failed = steps.iter().find_map(|(step, mv)| {
                perform(&mut state, idx, *mv, &rules)
                    .err()
                    .map(|r| EvacuationObstacle::PairFailed(*step, r.rule.kind()))
            });
            match failed {
                Some(reason) => stuck = reason,
                None => {
                    let score = Board::new(&state, state.nodes_of(destination.group)).score();
                    if !best.is_some_and(|b| score > b.0) {
                        best = Some((score, Placement { primary: a, secondary: Some(b) }));
                    }
                }
            }
        }
    }
    best.map(|b| b.1).ok_or(stuck)
}
