//! Explains why an instance stays where it is: lists all its moves, each with its score or the rule that
//! forbids it.

use super::Balancer;
use crate::moves::{Repertoire, Trial};
use crate::why::{RefusedPlace, StayCause};
use htools_model::{Instance, InstanceIdx, Move, NodeIdx, Placement, Step};

/// One move of the instance.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveVerdict {
    /// The move.
    pub mv: Move,
    /// Placement of the instance after the move.
    pub to: Placement,
    /// The score after the move, or the obstacle.
    pub verdict: Result<f64, Box<RefusedPlace>>,
}

/// Outcome of balancing for the instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InstanceOutlook {
    /// Its best move is the next step.
    Next,
    /// Another step is better for now.
    OtherFirst(Step),
    /// Its best move gains too little to be made.
    GainTooSmall,
    /// No possible move improves the score.
    NoImprovement,
    /// No move is possible.
    NothingPossible,
    /// The goal of balancing is reached already.
    Balanced,
    /// The instance is never moved.
    Held,
}

/// The reasons why an instance moves or stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The instance.
    pub instance: InstanceIdx,
    /// The present score.
    pub score: f64,
    /// Reasons why balancing skips the instance, if there are any.
    pub holds: Vec<StayCause>,
    /// All its moves, in the order in which balancing tries them.
    pub moves: Vec<MoveVerdict>,
    /// Position in `moves` of the possible move with the smallest score.
    pub best: Option<usize>,
    /// Outcome of balancing for the instance.
    pub outlook: InstanceOutlook,
}

/// Explains how balancing treats an instance of its set.
pub fn explain(balancer: &Balancer<'_>, idx: InstanceIdx) -> Explanation {
    let instance = balancer.cluster().instance(idx);
    let moves = verdicts(balancer, instance);
    let score = |m: &MoveVerdict| *m.verdict.as_ref().unwrap_or(&f64::NAN);
    let mut best: Option<usize> = None;
    for (at, candidate) in moves.iter().enumerate() {
        let new = score(candidate);
        if !new.is_nan() && best.is_none_or(|b| new < score(&moves[b])) {
            best = Some(at);
        }
    }
    let holds = holds(balancer, instance);
    let outlook = if holds.is_empty() {
        outlook(balancer, idx, best.map(|b| score(&moves[b])))
    } else {
        InstanceOutlook::Held
    };
    Explanation { instance: idx, score: balancer.score(), holds, moves, best, outlook }
}

fn holds(balancer: &Balancer<'_>, instance: &Instance) -> Vec<StayCause> {
    let mut holds: Vec<StayCause> = instance.immobile.map(StayCause::Immobile).into_iter().collect();
    if !instance.auto_balance {
        holds.push(StayCause::NotAutoBalanced);
    }
    if holds.is_empty() && !balancer.is_candidate(instance) {
        holds.push(StayCause::NothingToEvacuate);
    }
    holds
}

fn outlook(balancer: &Balancer<'_>, idx: InstanceIdx, best: Option<f64>) -> InstanceOutlook {
    let Some(best) = best else { return InstanceOutlook::NothingPossible };
    if !balancer.may_continue() {
        return InstanceOutlook::Balanced;
    }
    if !(best < balancer.score()) {
        return InstanceOutlook::NoImprovement;
    }
    match balancer.peek() {
        Some(step) if step.instance == idx => InstanceOutlook::Next,
        Some(step) => InstanceOutlook::OtherFirst(step),
        None => InstanceOutlook::GainTooSmall,
    }
}

fn verdicts(balancer: &Balancer<'_>, instance: &Instance) -> Vec<MoveVerdict> {
    // A DRBD instance without a secondary has no moves.
    if instance.template.has_secondary() && instance.secondary.is_none() {
        return Vec::new();
    }
    let repertoire = balancer.repertoire(instance);
    let rules = balancer.rules();
    let trial = Trial::new(balancer.cluster(), instance, rules);
    let mut result = Vec::new();
    let mut push = |mv: Move, verdict: Result<f64, Box<RefusedPlace>>| {
        result.push(MoveVerdict { mv, to: mv.placement(instance), verdict });
    };
    let tried = |mv: Move| match trial.run(mv) {
        Ok(outcome) => Ok(balancer.score_after(instance, &outcome)),
        Err(refusal) => Err(Box::new(RefusedPlace::of_move(balancer.cluster(), &trial, mv, refusal))),
    };
    if repertoire.failover {
        push(Move::Failover, tried(Move::Failover));
    }
    for target in balancer.nodes() {
        if *target == instance.primary || Some(*target) == instance.secondary {
            continue;
        }
        for_target(balancer, *target, &repertoire, &mut |mv, offline| {
            push(
                mv,
                if offline { Err(Box::new(RefusedPlace::offline(instance, mv, *target))) } else { tried(mv) },
            );
        });
    }
    result
}

/// Calls `visit` for each kind of move to a node, or only once if the node is offline.
fn for_target(
    balancer: &Balancer<'_>,
    target: NodeIdx,
    repertoire: &Repertoire,
    visit: &mut impl FnMut(Move, bool),
) {
    let offline = balancer.cluster().node(target).spec.offline;
    let kinds = if offline {
        &repertoire.to_target[..repertoire.to_target.len().min(1)]
    } else {
        repertoire.to_target
    };
    for kind in kinds {
        visit(kind(target), offline);
    }
}
