//! Makes room: finds the fewest moves after which a new instance has a place.
//!
//! The search works in rounds, with one more move in each. A round starts from a few states of a group. It
//! examines the moves of instances whose departure would help a node that refuses. If a place seems to exist
//! after a move, the full search for a place checks it, best score first. If no move passes, the next round
//! starts from the states nearest to a place.
//!
//! Every limit is a number of operations, so that the same request gives the same plan. A deadline only ends
//! the search between rounds.

mod lack;

use rayon::prelude::*;

use self::lack::Lacks;
use super::groups;
use super::groups::PlaceRequirements;
use crate::moves::{MoveRules, Outcome, Repertoire, Trial, perform};
use crate::place::PlaceMetric;
use htools_model::score::Board;
use htools_model::{
    AllocPolicy, Cluster, Concession, Draft, GroupIdx, Instance, InstanceIdx, Move, NodeIdx, Placement, Step,
};

/// Maximum number of moves in a plan.
pub const MOST_MOVES: usize = 5;
/// Number of states at the start of a round.
const BEAM: usize = 12;
/// Number of moves checked by the full search in parallel; in all rounds except the first, this is the total.
const SEARCHES: usize = 96;
/// Maximum number of places that the full searches of the first round may examine.
const MOST_PLACES: usize = 10_000_000;
/// Maximum number of moves examined in a state. If there are more, instances are tried only on the nodes with
/// most free memory.
const MOST_TRIALS: usize = 200_000;
/// Minimum number of nodes on which an instance is tried.
const FEWEST_TARGETS: usize = 8;

/// Moves that make room, and the resulting place.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomPlan {
    /// The group.
    pub group: GroupIdx,
    /// The moves, in order.
    pub steps: Vec<Step>,
    /// The nodes of the new instance.
    pub place: Placement,
    /// Quality of the place.
    pub metric: PlaceMetric,
}

/// Input of the search for a place.
#[derive(Clone, Copy)]
struct PlaceTask<'a> {
    group: GroupIdx,
    /// The nodes whose score decides about the place.
    scored: &'a [NodeIdx],
    wanted: &'a PlaceRequirements<'a>,
    rules: &'a MoveRules,
}

/// Searches for the fewest moves after which `wanted` has a place in one of the groups. Among equal numbers,
/// the better group wins, then the better place.
pub(super) fn make(
    cluster: &Cluster,
    candidates: &[GroupIdx],
    named: bool,
    wanted: &PlaceRequirements<'_>,
    rules: &MoveRules,
) -> Option<RoomPlan> {
    let mut best: Option<RoomPlan> = None;
    for &group in candidates {
        if !cluster.group(group).connects(wanted.instance) {
            continue;
        }
        let scored = if named { cluster.nodes_of(group).to_vec() } else { cluster.all_nodes() };
        let task = PlaceTask { group, scored: &scored, wanted, rules };
        let most = best.as_ref().map_or(MOST_MOVES, |b| b.steps.len());
        let Some(plan) = in_group(cluster, task, most) else { continue };
        let better = best.as_ref().is_none_or(|b| precedes(cluster, &plan, b));
        if better {
            best = Some(plan);
        }
    }
    best
}

fn precedes(cluster: &Cluster, a: &RoomPlan, b: &RoomPlan) -> bool {
    let key = |plan: &RoomPlan| -> (usize, AllocPolicy) {
        (plan.steps.len(), cluster.group(plan.group).alloc_policy)
    };
    key(a) < key(b) || (key(a) == key(b) && a.metric < b.metric)
}

#[derive(Clone)]
struct AfterMoves {
    cluster: Draft,
    steps: Vec<Step>,
}

/// A move of a state, and the lack that remains after it.
#[derive(Debug, Clone, Copy)]
struct MoveWithLack {
    /// Position of the state in the round.
    state: usize,
    step: Step,
    /// The lack at the nearest place after the move, relative to the need.
    lack: f64,
}

fn in_group(cluster: &Cluster, task: PlaceTask<'_>, most: usize) -> Option<RoomPlan> {
    let mut beam = vec![AfterMoves { cluster: Draft::of(cluster), steps: Vec::new() }];
    for round in 0..most {
        if task.wanted.deadline.reached().is_some() {
            break;
        }
        let mut promises: Vec<MoveWithLack> =
            beam.iter().enumerate().flat_map(|(at, state)| promises(state, at, task)).collect();
        promises.sort_by(|a, b| a.lack.total_cmp(&b.lack).then(a.step.score.total_cmp(&b.step.score)));
        let complete = promises.partition_point(|p| p.lack <= 0.0);
        let searches = if round == 0 { first_searches(cluster, task) } else { SEARCHES };
        let best = promises[..complete.min(searches)].chunks(SEARCHES).find_map(|some| {
            let plans: Vec<Option<RoomPlan>> =
                some.par_iter().map(|p| completed(&beam[p.state], p, task)).collect();
            plans.into_iter().flatten().reduce(|a, b| if b.metric < a.metric { b } else { a })
        });
        if best.is_some() {
            return best;
        }
        beam = next_round(&beam, &promises, task);
    }
    None
}

/// Number of moves of the first round that the full search checks.
fn first_searches(cluster: &Cluster, task: PlaceTask<'_>) -> usize {
    let nodes = cluster.nodes_of(task.group).len();
    let places = if task.wanted.required == 2 { nodes * nodes } else { nodes };
    (MOST_PLACES / places.max(1)).max(SEARCHES)
}

/// The plan that ends with this move, if there is a place after it.
fn completed(state: &AfterMoves, promise: &MoveWithLack, task: PlaceTask<'_>) -> Option<RoomPlan> {
    let AfterMoves { cluster, steps } = after(state, promise, task)?;
    let search = groups::search(&cluster, task.group, task.scored, task.wanted).ok()?;
    let (metric, place) = search.best?;
    Some(RoomPlan { group: task.group, steps, place: place.placement, metric })
}

fn after(state: &AfterMoves, promise: &MoveWithLack, task: PlaceTask<'_>) -> Option<AfterMoves> {
    let mut next = state.clone();
    perform(&mut next.cluster, promise.step.instance, promise.step.mv, task.rules).ok()?;
    next.steps.push(promise.step);
    Some(next)
}

/// The states nearest to a place. Each differs from the others in the moved instances or in the kind of move.
fn next_round(beam: &[AfterMoves], promises: &[MoveWithLack], task: PlaceTask<'_>) -> Vec<AfterMoves> {
    let mut seen: Vec<(usize, InstanceIdx, std::mem::Discriminant<Move>)> = Vec::new();
    let mut next = Vec::new();
    for promise in promises {
        let kind = (promise.state, promise.step.instance, std::mem::discriminant(&promise.step.mv));
        if next.len() == BEAM || seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        next.extend(after(&beam[promise.state], promise, task));
    }
    next
}

/// The moves of a state that bring a place nearer.
fn promises(state: &AfterMoves, at: usize, task: PlaceTask<'_>) -> Vec<MoveWithLack> {
    let cluster: &Cluster = &state.cluster;
    let nodes = cluster.nodes_of(task.group);
    let lacks = Lacks::of(cluster, nodes, task.wanted, task.rules);
    let board = Board::new(cluster, nodes);
    // An instance that has moved stays where it is.
    let moved = |idx: InstanceIdx| state.steps.iter().any(|s| s.instance == idx);
    let mut instances = cluster.instances_of(task.group);
    instances.retain(|&idx| {
        let instance = cluster.instance(idx);
        let trial = || Trial::new(cluster, instance, task.rules);
        !moved(idx) && is_movable(instance) && lacks.may_gain(instance, &trial())
    });
    let targets = targets(cluster, nodes.to_vec(), instances.len());
    let mut found = Vec::new();
    for idx in instances {
        let instance = cluster.instance(idx);
        let trial = Trial::new(cluster, instance, task.rules);
        for mv in moves(cluster, instance, &targets, task.rules) {
            let Ok(outcome) = trial.run(mv) else { continue };
            let lack = lacks.after(instance, &outcome);
            if lack < lacks.now() || (lacks.now() <= 0.0 && lack <= 0.0) {
                let step = step(cluster, &board, instance, mv, &outcome);
                found.push(MoveWithLack { state: at, step, lack });
            }
        }
    }
    found
}

/// The online nodes on which the instances are tried, ascending.
pub(crate) fn targets(cluster: &Cluster, mut nodes: Vec<NodeIdx>, instances: usize) -> Vec<NodeIdx> {
    // An instance has up to four moves to a node.
    let most = (MOST_TRIALS / 4 / instances.max(1)).max(FEWEST_TARGETS);
    nodes.retain(|n| !cluster.node(*n).spec.offline);
    if nodes.len() > most {
        let free = |n: &NodeIdx| cluster.node(*n).state.ledger.mem_available(&cluster.node(*n).spec);
        nodes.sort_by_key(|n| std::cmp::Reverse(free(n)));
        nodes.truncate(most);
        nodes.sort_unstable();
    }
    nodes
}

pub(crate) fn is_movable(instance: &Instance) -> bool {
    instance.is_movable() && instance.auto_balance && !instance.forthcoming
}

/// The moves of an instance to other nodes.
pub(crate) fn moves(
    cluster: &Cluster,
    instance: &Instance,
    targets: &[NodeIdx],
    rules: &MoveRules,
) -> Vec<Move> {
    let mirror_usable = instance.mirror().is_some_and(|m| !cluster.node(m).spec.offline);
    let repertoire = Repertoire::of(cluster, instance, mirror_usable, rules);
    let own = |n: NodeIdx| n == instance.primary || Some(n) == instance.mirror();
    let others = targets.iter().copied().filter(|n| !own(*n));
    let swap = repertoire.failover.then_some(Move::Failover);
    swap.into_iter()
        .chain(others.flat_map(|t| repertoire.to_target.iter().map(move |kind| kind(t))))
        .collect()
}

pub(crate) fn step(
    cluster: &Cluster,
    board: &Board,
    instance: &Instance,
    mv: Move,
    outcome: &Outcome<'_>,
) -> Step {
    let from = instance.placement();
    let to = outcome.placement;
    let spec = |n: NodeIdx| &cluster.node(n).spec;
    let spread = if from.primary == to.primary {
        0
    } else {
        board.spread().change(instance, Some(spec(from.primary)), Some(spec(to.primary)))
    };
    let score = board.score_with(outcome.touched(), spread);
    Step { instance: instance.idx, mv, from, to, score, concession: Concession::None }
}
