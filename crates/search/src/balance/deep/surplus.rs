//! Steps of a repair that turn out to end nothing, once there is an order.

use super::faults::Faults;
use super::order::Ordered;
use super::repair::left;
use crate::balance::BalanceOptions;
use crate::moves::perform_step;
use htools_model::score::Board;
use htools_model::{Cluster, Draft, InstanceIdx, NodeIdx, Step};

/// Most steps that are left out on trial.
const MOST_LEFT_OUT: usize = 64;

/// The steps without those that turn out to end nothing: the place of a detour may do as well, and who is given up may
/// be the one for whom another moved.
pub(super) fn without_surplus(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    emptied: Option<&[NodeIdx]>,
    mut ordered: Ordered,
) -> Ordered {
    // who made room for a concession is needed, whatever it ends
    let concedes = ordered.steps.iter().any(|step| !step.concession.is_none());
    if concedes || ordered.detours.is_empty() && ordered.given_up.is_empty() {
        return ordered;
    }
    let replay = |steps: &[Step], scored: bool| -> Option<(Vec<Step>, Faults)> {
        let mut draft = Draft::of(cluster);
        let mut made = Vec::with_capacity(steps.len());
        for step in steps {
            let from = draft.instance(step.instance).placement();
            // without the step before it may go where it is
            if step.mv.targets().any(|target| from.nodes().any(|node| node == target)) {
                return None;
            }
            perform_step(&mut draft, step, &options.rules).ok()?;
            let score = if scored { Board::new(&draft, nodes).score() } else { step.score };
            made.push(Step { from, to: draft.instance(step.instance).placement(), score, ..*step });
        }
        Some((made, left(&draft, nodes, options, emptied)))
    };
    let Some((_, needed)) = replay(&ordered.steps, false) else { return ordered };
    for at in (0..ordered.steps.len()).rev().take(MOST_LEFT_OUT) {
        let mut fewer = ordered.steps.clone();
        fewer.remove(at);
        if let Some((steps, _)) = replay(&fewer, false).filter(|(_, left)| *left <= needed) {
            ordered.steps = steps;
        }
    }
    if let Some((steps, _)) = replay(&ordered.steps, true) {
        ordered.steps = steps;
    }
    let moves = |i: &InstanceIdx| ordered.steps.iter().filter(|step| step.instance == *i).count();
    let detours = ordered.detours.iter().copied().filter(|i| moves(i) > 1).collect();
    Ordered { detours, ..ordered }
}
