//! Two new nodes for a DRBD instance, by carrying all moves out for every pair.

use htools::model::{Cluster, InstanceIdx, NodeIdx, Placement};
use htools::score::Board;
use htools::search::evacuate::{PairStep, Room, Stuck};
use htools::search::moves::Trial;
use htools::search::{Move, MoveRules};

fn perform(
    cluster: &mut Cluster,
    idx: InstanceIdx,
    mv: Move,
    room: &Room,
) -> Result<(), htools::model::FailKind> {
    let rules = MoveRules { ignore_soft_errors: room.ignore_soft_errors, ..MoveRules::default() };
    let trial = Trial::new(cluster, cluster.instance(idx), &rules);
    let outcome = trial.run(mv).map_err(|refusal| refusal.rule.kind())?;
    let (to, location_score) = (outcome.placement, outcome.location_score);
    let ledgers: Vec<_> = outcome.touched().iter().map(|t| (t.spec.idx, t.after)).collect();
    for (node, ledger) in ledgers {
        cluster.nodes[node.get()].state.ledger = ledger;
    }
    cluster.relocate(idx, to, location_score);
    Ok(())
}

/// The best pair, or why the last one is impossible.
pub fn best_pair(cluster: &Cluster, idx: InstanceIdx, room: &Room) -> Result<Placement, Stuck> {
    let instance = cluster.instance(idx);
    let leave = cluster.node(instance.primary).spec.offline;
    let targets: Vec<NodeIdx> = room.targets.iter().copied().filter(|t| *t != instance.primary).collect();
    let mut best: Option<(f64, Placement)> = None;
    let mut stuck = Stuck::NoPair;
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
            let mut state = cluster.clone();
            let failed = steps.iter().find_map(|(step, mv)| {
                perform(&mut state, idx, *mv, room).err().map(|kind| Stuck::PairFailed(*step, kind))
            });
            match failed {
                Some(reason) => stuck = reason,
                None => {
                    let score = Board::new(&state, &state.nodes_of(room.group)).score();
                    if !best.is_some_and(|b| score > b.0) {
                        best = Some((score, Placement { primary: a, secondary: Some(b) }));
                    }
                }
            }
        }
    }
    best.map(|b| b.1).ok_or(stuck)
}
