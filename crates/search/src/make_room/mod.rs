//! Makes room for further instances: the fewest moves after which the room that a cluster keeps is complete.
//!
//! The search works in rounds, with one more move in each. A round examines the moves of instances whose departure adds
//! room to a node that they leave, from a few states. If the room is complete after a move, the one with the best score
//! ends the search. Otherwise the next round starts from the states with the smallest lack. A move may increase
//! the lack a little, if no better one is left.
//!
//! [`bound`] proves that the room cannot be made, or that fewer moves are not enough. That one move is not enough is
//! known once the first round has tried all of them. In small clusters, all pairs of moves are tried, too.

mod bound;
mod lack;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

pub use self::bound::{RoomBound, RoomCap, RoomResource};
use self::lack::RoomLacks;
use crate::moves::{MoveRules, Trial, perform};
use crate::requests::room::{is_movable, moves, step, targets};
use crate::{Deadline, Stopped};
use htools_model::score::Board;
use htools_model::{Cluster, ClusterRoom, Draft, GroupIdx, InstanceIdx, Move, NodeIdx, Step};

/// Maximum number of moves in a plan.
pub const MOST_MOVES: usize = 64;
/// Largest increase of the lack by a move that may help later ones, relative to an instance.
const SETBACK: f64 = 0.5;
/// Number of rounds without a smaller lack that end the search.
const MOST_IDLE: usize = 4;
/// Maximum number of moves of a state that are scored; those with the smallest lack.
const MOST_SCORED: usize = 1_000;
/// Numbers of instances and of their new nodes that are examined in a state after the first round.
const FEW_INSTANCES: usize = 64;
const FEW_TARGETS: usize = 48;
/// Maximum number of first moves for which every second one is tried.
const MOST_FIRST: usize = 1_000;
/// Number of states at the start of a round.
const BEAM: usize = 12;

/// Result of a search.
#[derive(Debug, Clone)]
pub struct MadeRoom {
    /// The moves, in order.
    pub steps: Vec<Step>,
    /// The cluster after them.
    pub after: Cluster,
    /// Bounds of the room, and of the number of moves.
    pub bound: RoomBound,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
}

impl MadeRoom {
    /// Tells if the room is complete after the moves.
    pub fn is_complete(&self) -> bool {
        self.after.room().is_none_or(|room| is_complete(room))
    }

    /// Tells if the room is complete and no fewer moves are enough.
    pub fn is_fewest(&self) -> bool {
        self.is_complete() && self.steps.len() <= self.bound.fewest_moves
    }
}

/// A cluster after some moves.
#[derive(Clone)]
struct MovedCluster {
    cluster: Draft,
    steps: Vec<Step>,
}

/// A move of a state, and the lack that remains after it.
#[derive(Debug, Clone, Copy)]
struct RoomMove {
    /// Position of the state in the round.
    state: usize,
    step: Step,
    lack: f64,
}

/// The useful moves of a state.
struct Moves {
    found: Vec<RoomMove>,
    /// True if none was left out.
    all: bool,
}

/// Searches for the fewest moves after which the cluster has the room that it keeps. Without a complete plan, the moves
/// are those to the smallest lack that was found, if they add room for at least one instance. Moves on the way may use
/// some of the room.
pub fn make_room(cluster: &Cluster, rules: &MoveRules, deadline: &Deadline) -> MadeRoom {
    let mut bound = RoomBound::of(cluster);
    let mut free = Draft::of(cluster);
    free.keep_no_room();
    let start = MovedCluster { cluster: free, steps: Vec::new() };
    let ended = |state: MovedCluster, bound, stopped| {
        let mut after = state.cluster.into_cluster();
        after.kept_room = cluster.kept_room.in_other_state();
        MadeRoom { steps: state.steps, after, bound, stopped }
    };
    let Some(room) = cluster.room().filter(|room| !is_complete(room) && !bound.is_impossible()) else {
        return ended(start, bound, None);
    };
    let task = RoomTask { room, rules };
    let mut most_found = room.count();
    let (mut best, mut beam) = (start.clone(), vec![start]);
    let (mut least, mut idle) = (f64::INFINITY, 0);
    for round in 0..MOST_MOVES {
        if let Some(stopped) = deadline.reached() {
            return ended(best, bound, Some(stopped));
        }
        let width = if round == 0 { Width::All } else { Width::Few };
        let found: Vec<Moves> =
            beam.par_iter().enumerate().map(|(at, state)| task.useful_moves(state, at, width)).collect();
        let all = found.iter().all(|moves| moves.all);
        let mut found: Vec<RoomMove> = found.into_iter().flat_map(|moves| moves.found).collect();
        found.sort_by(|a, b| a.lack.total_cmp(&b.lack).then(a.step.score.total_cmp(&b.step.score)));
        let complete = found.iter().take_while(|promise| promise.lack <= 0.0);
        if let Some(last) = complete.filter_map(|promise| task.after(&beam[promise.state], promise)).next() {
            return ended(last, bound, None);
        }
        if round == 0 && all {
            bound.fewest_moves = bound.fewest_moves.max(2);
            match task.two_moves(&beam[0]) {
                TwoMoves::Found(last) => return ended(*last, bound, None),
                TwoMoves::NotEnough => bound.fewest_moves = bound.fewest_moves.max(3),
                TwoMoves::TooMany => {}
            }
        }
        match found.first() {
            Some(nearest) if nearest.lack < least => (least, idle) = (nearest.lack, 0),
            _ => idle += 1,
        }
        if idle > MOST_IDLE {
            break;
        }
        beam = task.next_round(&beam, &found);
        let Some(nearest) = beam.first() else { break };
        let count = room.recounted(&nearest.cluster).count();
        if count > most_found {
            (best, most_found) = (nearest.clone(), count);
        }
    }
    ended(best, bound, None)
}

fn is_complete(room: &ClusterRoom) -> bool {
    room.count() >= room.wanted().count
}

/// Moves of a state that are examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    /// All that may help.
    All,
    /// Those of a few instances to a few nodes.
    Few,
}

/// Result of trying all pairs of moves.
enum TwoMoves {
    /// The state after the pair with the best score.
    Found(Box<MovedCluster>),
    /// No pair completes the room.
    NotEnough,
    /// There are too many pairs to try.
    TooMany,
}

/// The room to complete, and the rules of moves.
#[derive(Clone, Copy)]
struct RoomTask<'a> {
    room: &'a ClusterRoom,
    rules: &'a MoveRules,
}

impl RoomTask<'_> {
    fn after(&self, state: &MovedCluster, promise: &RoomMove) -> Option<MovedCluster> {
        let mut next = state.clone();
        perform(&mut next.cluster, promise.step.instance, promise.step.mv, self.rules).ok()?;
        next.steps.push(promise.step);
        Some(next)
    }

    /// The states with the smallest lack. Each differs from the others in the moved instances or in the kind of move.
    fn next_round(&self, beam: &[MovedCluster], found: &[RoomMove]) -> Vec<MovedCluster> {
        let mut seen: Vec<(usize, InstanceIdx, std::mem::Discriminant<Move>)> = Vec::new();
        let mut next = Vec::new();
        for promise in found {
            let kind = (promise.state, promise.step.instance, std::mem::discriminant(&promise.step.mv));
            if next.len() == BEAM {
                break;
            }
            if !seen.contains(&kind) {
                seen.push(kind);
                next.extend(self.after(&beam[promise.state], promise));
            }
        }
        next
    }

    /// The moves of a state that bring the room nearer. Instances that have moved stay where they are.
    fn useful_moves(&self, state: &MovedCluster, at: usize, width: Width) -> Moves {
        let cluster: &Cluster = &state.cluster;
        let lacks = RoomLacks::of(cluster, self.room);
        let board = Board::new(cluster, &cluster.all_nodes());
        let (mut near, mut all) = (Vec::new(), true);
        for group in cluster.groups.iter().filter(|group| group.nodes.iter().any(|n| lacks.is_open(*n))) {
            let instances = self.leaving(state, group.idx, &lacks, width);
            let tried = match width {
                Width::All => targets(cluster, group.nodes.clone(), instances.len()),
                Width::Few => lacks.most_wasteful(&group.nodes, FEW_TARGETS),
            };
            let online = |node: &&NodeIdx| !cluster.node(**node).spec.offline;
            all &= tried.len() == group.nodes.iter().filter(online).count();
            for idx in instances {
                let instance = cluster.instance(idx);
                let trial = Trial::new(cluster, instance, self.rules);
                for mv in moves(cluster, instance, &tried, self.rules) {
                    let Ok(outcome) = trial.run(mv) else { continue };
                    let lack = lacks.after(&outcome);
                    if lack < lacks.now() + SETBACK {
                        near.push((lack, idx, mv));
                    }
                }
            }
        }
        // A score takes longer than a lack.
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        near.truncate(MOST_SCORED);
        let scored = |(lack, idx, mv): (f64, InstanceIdx, Move)| {
            let instance = cluster.instance(idx);
            let outcome = Trial::new(cluster, instance, self.rules).run(mv).ok()?;
            Some(RoomMove { state: at, step: step(cluster, &board, instance, mv, &outcome), lack })
        };
        Moves { found: near.into_par_iter().filter_map(scored).collect(), all }
    }

    /// The instances of a group whose departure helps; of many, those that help most.
    fn leaving(
        &self,
        state: &MovedCluster,
        group: GroupIdx,
        lacks: &RoomLacks<'_>,
        width: Width,
    ) -> Vec<InstanceIdx> {
        let cluster: &Cluster = &state.cluster;
        let gain = |idx: InstanceIdx| {
            let instance = cluster.instance(idx);
            lacks.without(instance, &Trial::new(cluster, instance, self.rules)).map(|lack| (lack, idx))
        };
        let mut helpful: Vec<(f64, InstanceIdx)> =
            self.movable(state, group).into_iter().filter_map(gain).collect();
        if width == Width::Few {
            helpful.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            helpful.truncate(FEW_INSTANCES);
        }
        helpful.into_iter().map(|(_, idx)| idx).collect()
    }

    /// The instances of a group that can move and have not.
    fn movable(&self, state: &MovedCluster, group: GroupIdx) -> Vec<InstanceIdx> {
        let moved = |idx: InstanceIdx| state.steps.iter().any(|step| step.instance == idx);
        let mut instances = state.cluster.instances_of(group);
        instances.retain(|idx| !moved(*idx) && is_movable(state.cluster.instance(*idx)));
        instances
    }

    /// Tries all pairs of moves, also those whose first move brings no room nearer by itself.
    fn two_moves(&self, start: &MovedCluster) -> TwoMoves {
        let cluster: &Cluster = &start.cluster;
        let board = Board::new(cluster, &cluster.all_nodes());
        let mut first = Vec::new();
        for group in &cluster.groups {
            for idx in
                cluster.instances_of(group.idx).into_iter().filter(|i| is_movable(cluster.instance(*i)))
            {
                let instance = cluster.instance(idx);
                let trial = Trial::new(cluster, instance, self.rules);
                let online = group.nodes.iter().copied().filter(|n| !cluster.node(*n).spec.offline);
                let online: Vec<NodeIdx> = online.collect();
                for mv in moves(cluster, instance, &online, self.rules) {
                    if first.len() >= MOST_FIRST {
                        return TwoMoves::TooMany;
                    }
                    if let Ok(outcome) = trial.run(mv) {
                        let step = step(cluster, &board, instance, mv, &outcome);
                        first.push(RoomMove { state: 0, step, lack: 0.0 });
                    }
                }
            }
        }
        let completed = |promise: &RoomMove| {
            let state = self.after(start, promise)?;
            let again = MovedCluster { steps: Vec::new(), ..state.clone() };
            let found =
                self.useful_moves(&again, 0, Width::All).found.into_iter().filter(|last| last.lack <= 0.0);
            let last = found.min_by(|a, b| a.step.score.total_cmp(&b.step.score))?;
            self.after(&state, &last)
        };
        let found: Vec<Option<MovedCluster>> = first.par_iter().map(completed).collect();
        let score = |state: &MovedCluster| state.steps.last().map_or(f64::INFINITY, |step| step.score);
        let best = found.into_iter().flatten().min_by(|a, b| score(a).total_cmp(&score(b)));
        best.map_or(TwoMoves::NotEnough, |state| TwoMoves::Found(Box::new(state)))
    }
}
