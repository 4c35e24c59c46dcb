//! Removes the steps of a repair that turn out to repair nothing, once the order is known.

use super::faults::Faults;
use super::order::OrderedSteps;
use super::plan::DeepGoal;
use super::repair::left;
use crate::balance::BalanceOptions;
use crate::moves::perform_step;
use htools_model::score::Board;
use htools_model::{Cluster, Draft, InstanceIdx, NodeIdx, Step};

/// Maximum number of steps that are tested for removal.
const MOST_LEFT_OUT: usize = 64;

/// The steps without those that repair nothing. The intermediate node of a detour may do as well as the target,
/// or another instance may have moved for one that was given up.
pub(super) fn without_surplus(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    goal: &DeepGoal,
    mut ordered: OrderedSteps,
) -> OrderedSteps {
    // A step that makes room for a concession is needed, even if it repairs nothing itself.
    let concedes = ordered.steps.iter().any(|step| !step.concession.is_none());
    if concedes || ordered.detours.is_empty() && ordered.given_up.is_empty() {
        return ordered;
    }
    let replay = |steps: &[Step], scored: bool| -> Option<(Vec<Step>, Faults)> {
        let mut draft = Draft::of(cluster);
        let mut made = Vec::with_capacity(steps.len());
        for step in steps {
            let from = draft.instance(step.instance).placement();
            // Without an earlier step, the instance may be on the target already.
            if step.mv.targets().any(|target| from.nodes().any(|node| node == target)) {
                return None;
            }
            perform_step(&mut draft, step, &options.rules).ok()?;
            let score = if scored { Board::new(&draft, nodes).score() } else { step.score };
            made.push(Step { from, to: draft.instance(step.instance).placement(), score, ..*step });
        }
        Some((made, left(&draft, nodes, options, goal)))
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
    OrderedSteps { detours, ..ordered }
}
