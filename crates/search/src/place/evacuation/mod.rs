//! Finds other nodes for an instance that must leave one.

mod pair;

use self::pair::Leaving;
use crate::moves::{MoveRules, Outcome, Trial, perform, perform_alone};
use htools_model::score::Board;
use htools_model::{
    Cluster, DiskTemplate, Draft, EvacMode, FailKind, GroupIdx, Instance, InstanceIdx, Mirroring, Move,
    NodeIdx, Placement,
};

/// Possible targets of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The group whose score decides.
    pub group: GroupIdx,
    /// The possible nodes, ascending.
    pub targets: Vec<NodeIdx>,
    /// Ignore soft limits (`--ignore-soft-errors`).
    pub ignore_soft_errors: bool,
}

/// An instance with its moves to other nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The instance.
    pub instance: InstanceIdx,
    /// The moves that take it there, in order.
    pub moves: Vec<Move>,
    /// Its nodes after the moves.
    pub to: Placement,
}

/// The steps that take a DRBD instance to two new nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairStep {
    /// The instance leaves an offline primary node.
    LeavePrimary,
    /// The first new node becomes the secondary.
    FirstSecondary,
    /// The first new node becomes the primary.
    NewPrimary,
    /// The second new node becomes the secondary.
    FinalSecondary,
}

/// The reason why an instance stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvacuationObstacle {
    /// Its disks are not mirrored.
    NotMirrored(DiskTemplate),
    /// It has no secondary that could be replaced.
    NoSecondary(DiskTemplate),
    /// Its secondary cannot take over.
    Failover(FailKind),
    /// Its secondary is offline or drained.
    SecondaryOffline(NodeIdx),
    /// None of the nodes can take it.
    NoNode(Vec<(NodeIdx, FailKind)>),
    /// There are not two nodes to go to.
    NoPair,
    /// No two nodes can take it; the step at which the last pair failed, and the reason.
    PairFailed(PairStep, FailKind),
}

/// Moves an instance off its nodes, as the mode says, to the best place in `destination`. This is the one with
/// the smallest score of the group; among equals, the one tried last.
///
/// # Errors
/// The reason why it cannot be moved; the cluster is then unchanged.
pub fn evacuate(
    draft: &mut Draft,
    idx: InstanceIdx,
    mode: EvacMode,
    destination: &Destination,
) -> Result<Moved, EvacuationObstacle> {
    let cluster: &Cluster = draft;
    let instance = cluster.instance(idx);
    let template = instance.template;
    let moves = match (template.mirroring(), mode) {
        (Mirroring::None, _) => return Err(EvacuationObstacle::NotMirrored(template)),
        (Mirroring::External, EvacMode::SecondaryOnly) => {
            return Err(EvacuationObstacle::NoSecondary(template));
        }
        (Mirroring::External, _) => vec![best(cluster, instance, destination, Move::FailoverTo)?],
        (Mirroring::Internal, EvacMode::PrimaryOnly) => vec![failover(cluster, instance, destination)?],
        (Mirroring::Internal, EvacMode::SecondaryOnly) => {
            vec![best(cluster, instance, destination, Move::ReplaceSecondary)?]
        }
        (Mirroring::Internal, EvacMode::All) => pair(draft, idx, destination)?,
    };
    for mv in &moves {
        let made = match moves.len() {
            1 => perform(draft, idx, *mv, &rules(destination)),
            // They were checked together, and what they need in between is not what they leave.
            _ => perform_alone(draft, idx, *mv, &rules(destination)),
        };
        made.map_err(|refusal| EvacuationObstacle::Failover(refusal.rule.kind()))?;
    }
    let instance = draft.instance(idx);
    let to = Placement { primary: instance.primary, secondary: instance.mirror() };
    Ok(Moved { instance: idx, moves, to })
}

fn rules(destination: &Destination) -> MoveRules {
    MoveRules { ignore_soft_errors: destination.ignore_soft_errors, ..MoveRules::default() }
}

/// Moves the instance to its secondary, the only choice.
fn failover(
    cluster: &Cluster,
    instance: &Instance,
    destination: &Destination,
) -> Result<Move, EvacuationObstacle> {
    let trial = Trial::new(cluster, instance, &rules(destination));
    trial.run(Move::Failover).map_err(|refusal| EvacuationObstacle::Failover(refusal.rule.kind()))?;
    match instance.mirror().filter(|m| cluster.node(*m).spec.offline) {
        // It has room, so it is only drained.
        Some(mirror) => Err(EvacuationObstacle::SecondaryOffline(mirror)),
        None => Ok(Move::Failover),
    }
}

/// The best move of one kind to one of the targets.
fn best(
    cluster: &Cluster,
    instance: &Instance,
    destination: &Destination,
    kind: fn(NodeIdx) -> Move,
) -> Result<Move, EvacuationObstacle> {
    let trial = Trial::new(cluster, instance, &rules(destination));
    let board = Board::new(cluster, cluster.nodes_of(destination.group));
    let mut failures = Vec::new();
    let mut best: Option<(f64, Move)> = None;
    for &target in destination.targets.iter().filter(|t| **t != instance.primary) {
        let mv = kind(target);
        match trial.run(mv) {
            Err(refusal) => failures.push((target, refusal.rule.kind())),
            Ok(outcome) => {
                let score = score(cluster, &board, instance, &outcome);
                if !best.is_some_and(|b| score > b.0) {
                    best = Some((score, mv));
                }
            }
        }
    }
    best.map(|b| b.1).ok_or(EvacuationObstacle::NoNode(failures))
}

fn score(cluster: &Cluster, board: &Board, instance: &Instance, outcome: &Outcome<'_>) -> f64 {
    let to = outcome.placement.primary;
    let spec = |n: NodeIdx| &cluster.node(n).spec;
    let from = Some(instance.primary).filter(|p| board.contains(*p)).map(spec);
    let spread = if to == instance.primary {
        0
    } else {
        board.spread().change(instance, from, Some(spec(to)).filter(|_| board.contains(to)))
    };
    board.score_with(outcome.touched(), spread)
}

/// The two best nodes for a DRBD instance that leaves both of its own.
fn pair(
    draft: &mut Draft,
    idx: InstanceIdx,
    destination: &Destination,
) -> Result<Vec<Move>, EvacuationObstacle> {
    let primary = draft.instance(idx).primary;
    let targets: Vec<NodeIdx> = destination.targets.iter().copied().filter(|t| *t != primary).collect();
    if targets.len() < 2 {
        return Err(EvacuationObstacle::NoPair);
    }
    let start = draft.mark();
    let leaves = draft.node(primary).spec.offline;
    if leaves {
        perform(draft, idx, Move::Failover, &rules(destination))
            .map_err(|refusal| EvacuationObstacle::PairFailed(PairStep::LeavePrimary, refusal.rule.kind()))?;
    }
    let found = best_pair(draft, draft.instance(idx), destination, &targets);
    draft.back_to(start);
    let Placement { primary, secondary } = found?;
    let last = Move::ReplaceSecondary(secondary.unwrap_or(primary));
    let first = leaves.then_some(Move::Failover);
    Ok(first.into_iter().chain([Move::ReplaceSecondary(primary), Move::Failover, last]).collect())
}

/// The best two of these nodes; there must be at least two.
fn best_pair(
    cluster: &Cluster,
    instance: &Instance,
    destination: &Destination,
    targets: &[NodeIdx],
) -> Result<Placement, EvacuationObstacle> {
    let leaving = Leaving::new(cluster, instance, destination).ok_or(EvacuationObstacle::NoPair)?;
    match leaving.best(destination, targets) {
        Some(place) => Ok(place),
        None => {
            let [.., second_last, last] = targets[..] else { return Err(EvacuationObstacle::NoPair) };
            // All pairs failed; the error reports the last one tried.
            let (step, kind) =
                leaving.check(last, second_last).err().unwrap_or((PairStep::NewPrimary, FailKind::Internal));
            Err(EvacuationObstacle::PairFailed(step, kind))
        }
    }
}
