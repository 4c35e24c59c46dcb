//! Balancing: repeats the best move until no move is worth making.
//!
//! Each step is the move with the smallest score in the reference's arithmetic; among equals, the first in
//! order. The module `best_move` finds it without computing the exact score of every move.

mod best_move;
pub mod bounds;
mod bounds_cache;
pub mod deep;
pub mod effect;
pub mod explain;
mod likeness;
pub mod price;
mod run;
pub(crate) mod shape;
mod survivor;
pub(crate) mod tally;
pub(crate) mod ties;

pub use self::run::{Balancing, InitialScore, all, all_until, run, run_watched, worst};

use self::best_move::{ScoredMove, better};
use self::bounds::MoveBounds;
use self::bounds_cache::BoundsCache;
use self::shape::Shapes;
use self::survivor::{MoveOrder, rank};
use self::tally::Tally;
use super::moves::{MoveRules, Outcome, Repertoire, Trial};
use super::parallel;
use htools_model::redundancy::n_plus_one::unavoidable_score;
use htools_model::score::{Board, Components};
use htools_model::{Cluster, Concession, Draft, Instance, InstanceIdx, Move, NodeIdx, Placement, Step};

/// Options of balancing. The defaults are those of the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BalanceOptions {
    /// Restrictions on the moves.
    pub rules: MoveRules,
    /// Move only instances that have a node offline (`-E`).
    pub evacuate: bool,
    /// Least gain of a step once the score is at or below `min_gain_limit` (`-g`).
    pub min_gain: f64,
    /// Score up to which `min_gain` applies (`--min-gain-limit`).
    pub min_gain_limit: f64,
    /// Stop when the score is no more than this above its unavoidable part (`-e`).
    pub min_score: f64,
    /// Maximum number of steps; negative for no limit (`-l`).
    pub max_length: i64,
    /// Method of finding the best move.
    pub effort: Effort,
    /// Concessions where no order of moves makes room.
    pub concessions: Concessions,
}

/// Concessions that are acceptable where moves wait in a cycle for each other's room. By default there are
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Concessions {
    /// Instances may be stopped for a while (`--allow-interruptions`).
    pub interruptions: bool,
    /// Nodes may be overcommitted for a while (`--allow-overcommit-during-migration`).
    pub overcommit: bool,
}

impl Default for BalanceOptions {
    fn default() -> Self {
        BalanceOptions {
            rules: MoveRules::default(),
            evacuate: false,
            min_gain: 0.01,
            min_gain_limit: 0.1,
            min_score: 1e-9,
            max_length: -1,
            effort: Effort::Screened,
            concessions: Concessions::default(),
        }
    }
}

/// Method of finding the best move. Both methods find the same move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Computes exact scores only for moves that could win.
    Screened,
    /// Computes the exact score of every possible move; for tests.
    Exhaustive,
}

/// Work of a step, in nanoseconds, from which on it pays that other threads wait actively for the parts of the next one.
const WORTH_WAITING: u64 = 20_000;

/// Balances the instances of one group of nodes.
pub struct Balancer<'c> {
    cluster: &'c mut Draft,
    instances: Vec<InstanceIdx>,
    shapes: Shapes,
    board: Board,
    options: BalanceOptions,
    score: f64,
    unavoidable: f64,
    steps: i64,
    memory: BoundsCache,
}

/// Returns true if a node of the instance is offline.
fn is_on_offline(cluster: &Cluster, instance: &Instance) -> bool {
    instance.nodes().any(|n| cluster.node(n).spec.offline)
}

impl<'c> Balancer<'c> {
    /// Prepares to balance the set `nodes` (ascending) with the instances whose primary is in it.
    pub fn new(cluster: &'c mut Draft, nodes: &[NodeIdx], options: BalanceOptions) -> Balancer<'c> {
        let board = Board::new(cluster, nodes);
        // With `evacuate`, no move brings an instance to an offline node, so the other instances never take
        // part.
        let takes_part = |i: &InstanceIdx| !options.evacuate || is_on_offline(cluster, cluster.instance(*i));
        let mut instances = cluster.instances_on(nodes);
        instances.retain(takes_part);
        let unavoidable = unavoidable_score(cluster, nodes);
        let shapes = Shapes::of(cluster, &instances);
        let score = board.score();
        Balancer {
            cluster,
            instances,
            shapes,
            board,
            options,
            score,
            unavoidable,
            steps: 0,
            memory: BoundsCache::default(),
        }
    }

    /// The cluster in its present state.
    pub fn cluster(&self) -> &Cluster {
        self.cluster
    }

    /// The present score of the set.
    pub fn score(&self) -> f64 {
        self.score
    }

    /// The metrics behind the score.
    pub fn components(&self) -> Components {
        self.board.components()
    }

    /// Returns true if there is nothing to gain from the start.
    pub(crate) fn is_balanced(&self) -> bool {
        self.score - self.unavoidable < self.options.min_score
    }

    /// Finds and performs the next step; `None` when balancing has ended.
    pub fn next_step(&mut self) -> Option<Step> {
        let within_length = self.options.max_length < 0 || self.steps < self.options.max_length;
        if !within_length || !self.may_continue() {
            return None;
        }
        if self.memory.work >= WORTH_WAITING {
            parallel::keep_awake();
        }
        let mut memory = std::mem::take(&mut self.memory);
        let best = self.worthwhile_move(&mut memory);
        self.memory = memory;
        let step = self.step(&best?);
        self.perform(&step);
        self.steps += 1;
        Some(step)
    }

    /// Bounds for the present state; `None` if the set of nodes is too small, or its figures are unsuitable,
    /// for bounds.
    pub fn bounds(&mut self) -> Option<&MoveBounds> {
        let mut memory = std::mem::take(&mut self.memory);
        memory.bounds(self);
        self.memory = memory;
        self.last_bounds()
    }

    /// The bounds that the search used last.
    pub fn last_bounds(&self) -> Option<&MoveBounds> {
        self.memory.last_bounds()
    }

    /// The step that would come next, ignoring the limit on the number of steps.
    pub fn peek(&self) -> Option<Step> {
        let best = if self.may_continue() { self.worthwhile_move(&mut BoundsCache::default()) } else { None };
        best.map(|b| self.step(&b))
    }

    /// Returns true if the score is still above the target. A score that is not a number cannot be improved.
    pub(crate) fn may_continue(&self) -> bool {
        self.score > self.unavoidable + self.options.min_score
    }

    /// The best move, if its gain is large enough.
    fn worthwhile_move(&self, memory: &mut BoundsCache) -> Option<ScoredMove> {
        let best = self.best_move(memory)?;
        let gain = self.score - best.score;
        let enough = self.score > self.options.min_gain_limit || gain >= self.options.min_gain;
        enough.then_some(best)
    }

    fn step(&self, best: &ScoredMove) -> Step {
        let instance = self.cluster.instance(best.order.instance);
        Step {
            instance: instance.idx,
            mv: best.mv,
            from: instance.placement(),
            to: best.mv.placement(instance),
            score: best.score,
            concession: Concession::None,
        }
    }

    /// Work done by the steps so far.
    pub(crate) fn tally(&self) -> Tally {
        self.memory.tally
    }

    /// The board of the set in its present state.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The instances of the set, movable or not; when only evacuating, those on offline nodes.
    fn instances(&self) -> &[InstanceIdx] {
        &self.instances
    }

    /// Classes of instances that are alike.
    fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The set being balanced.
    pub(crate) fn nodes(&self) -> &[NodeIdx] {
        self.board.nodes()
    }

    /// The restrictions on moves.
    pub fn rules(&self) -> &MoveRules {
        &self.options.rules
    }

    /// The score after a possible move of an instance.
    pub fn score_after(&self, instance: &Instance, outcome: &Outcome<'_>) -> f64 {
        let spread = self.spread_change(instance, outcome.placement);
        self.board.score_with(outcome.touched(), spread)
    }

    /// Returns true if the instance takes part: it can move and, when only evacuating, has a node offline.
    pub fn is_candidate(&self, instance: &Instance) -> bool {
        let evacuates = !self.options.evacuate || is_on_offline(self.cluster, instance);
        instance.is_movable() && instance.auto_balance && evacuates
    }

    /// The repertoire of an instance that takes part.
    pub fn repertoire(&self, instance: &Instance) -> Repertoire {
        let usable = instance.mirror().is_some_and(|s| self.board.row(s).is_some());
        Repertoire::of(self.cluster, instance, usable, &self.options.rules)
    }

    /// The nodes to which the instance could go: online, in the set, and not its own.
    fn targets<'a>(&'a self, instance: &'a Instance) -> impl Iterator<Item = (usize, NodeIdx)> + 'a {
        let online = self.board.nodes().iter().filter_map(|n| self.board.row(*n).map(|row| (row, *n)));
        online.filter(|(_, n)| *n != instance.primary && Some(*n) != instance.secondary)
    }

    /// Returns the best move that beats the present score.
    fn best_move(&self, memory: &mut BoundsCache) -> Option<ScoredMove> {
        match self.options.effort {
            Effort::Screened => best_move::best(self, memory),
            Effort::Exhaustive => self.best_exhaustive(&mut memory.tally),
        }
    }

    /// The instances that may move.
    fn candidates(&self) -> Vec<&Instance> {
        let all = self.instances.iter().map(|i| self.cluster.instance(*i));
        all.filter(|i| self.is_candidate(i)).collect()
    }

    /// Computes the exact score of every possible move.
    fn best_exhaustive(&self, tally: &mut Tally) -> Option<ScoredMove> {
        let mut best = None;
        for instance in self.candidates() {
            let trial = Trial::new(self.cluster, instance, &self.options.rules);
            for (rank, _, mv) in self.moves(instance, self.repertoire(instance)) {
                tally.considered += 1;
                tally.evaluated += 1;
                if let Some(new) =
                    self.score_of(&trial, instance, mv, MoveOrder { instance: instance.idx, rank })
                {
                    tally.scored += 1;
                    best = better(best, new, self.score);
                }
            }
        }
        best
    }

    /// All moves of the instance, each with its rank in the instance's order and the row of the new node.
    fn moves<'a>(
        &'a self,
        instance: &'a Instance,
        repertoire: Repertoire,
    ) -> impl Iterator<Item = (usize, usize, Move)> + 'a {
        let failover = repertoire.failover.then_some((0, usize::MAX, Move::Failover));
        let kinds = repertoire.to_target;
        failover.into_iter().chain(self.targets(instance).flat_map(move |(row, target)| {
            kinds.iter().enumerate().map(move |(at, kind)| (rank(row, at), row, kind(target)))
        }))
    }

    /// The rank of a move in the order of its instance's moves.
    fn rank(&self, repertoire: &Repertoire, mv: Move) -> usize {
        let Some(target) = mv.target() else { return 0 };
        let at = repertoire.to_target.iter().position(|kind| kind(target) == mv);
        rank(self.board.row(target).unwrap_or_default(), at.unwrap_or_default())
    }

    /// Score above which a move is of no interest.
    fn starting_limit(&self) -> f64 {
        let o = &self.options;
        if self.score > o.min_gain_limit || !(o.min_gain > 0.0) {
            return self.score;
        }
        // Only a gain of at least `min_gain` counts; the margin covers the rounding of the subtraction.
        let needed = self.score - o.min_gain;
        needed + 1e-12 * self.score.abs().max(o.min_gain)
    }

    /// Exact score of a move; `None` if the move is impossible or the score is not a number.
    fn score_of(
        &self,
        trial: &Trial<'_>,
        instance: &Instance,
        mv: Move,
        order: MoveOrder,
    ) -> Option<ScoredMove> {
        let score = self.score_after(instance, &trial.run(mv).ok()?);
        (!score.is_nan()).then_some(ScoredMove { score, order, mv })
    }

    fn spread_change(&self, instance: &Instance, to: Placement) -> i64 {
        if to.primary == instance.primary {
            return 0;
        }
        let spec = |n: NodeIdx| &self.cluster.node(n).spec;
        self.board.spread().change(instance, Some(spec(instance.primary)), Some(spec(to.primary)))
    }

    /// Performs a step on the cluster.
    fn perform(&mut self, step: &Step) {
        let instance = self.cluster.instance(step.instance);
        let trial = Trial::new(self.cluster, instance, &self.options.rules);
        let outcome = trial.run(step.mv).expect("a move that was scored is possible");
        let location_score = outcome.location_score;
        let spec = |n: NodeIdx| &self.cluster.node(n).spec;
        let (from, to) = (spec(step.from.primary), spec(step.to.primary));
        self.board.commit(outcome.touched(), instance, Some(from), to);
        let ledgers = outcome.ledgers();
        self.memory.step_made(step, ledgers.iter().map(|(node, _)| *node).collect());
        self.cluster.relocate(step.instance, step.to, location_score, &ledgers);
        self.score = step.score;
        debug_assert_eq!(self.board.score().to_bits(), step.score.to_bits());
    }
}
