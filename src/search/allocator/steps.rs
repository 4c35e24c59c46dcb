//! Carrying moves out on a cluster.

use crate::model::{Cluster, InstanceIdx, Ledger, NodeIdx};
use crate::search::moves::{Move, MoveRules, Refusal, Trial};

/// Carries a move out.
///
/// # Errors
/// The rule that forbids it; the cluster is then as before.
pub(super) fn perform(
    cluster: &mut Cluster,
    idx: InstanceIdx,
    mv: Move,
    rules: &MoveRules,
) -> Result<(), Refusal> {
    let trial = Trial::new(cluster, cluster.instance(idx), rules);
    let outcome = trial.run(mv)?;
    let (to, location_score) = (outcome.placement, outcome.location_score);
    let ledgers: Vec<(NodeIdx, Ledger)> = outcome.touched().iter().map(|t| (t.spec.idx, t.after)).collect();
    for (node, ledger) in ledgers {
        cluster.nodes[node.get()].state.ledger = ledger;
    }
    cluster.relocate(idx, to, location_score);
    Ok(())
}
