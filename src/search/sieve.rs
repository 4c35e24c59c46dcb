//! The best move, without computing the exact score of every move.
//!
//! Three sieves: bounds for all targets of an instance at once ([`Screen`]); for
//! what may matter, the placement rules and an interval from running statistics;
//! the exact score of the few that remain. Which moves pass does not depend on
//! the number of threads: a move is left out only if it is sure to lose against
//! one that is possible, and the last sieve compares with the smallest upper
//! bound of all.

use std::sync::atomic::{AtomicU64, Ordering};

use ordered_float::OrderedFloat;
use rayon::prelude::*;

use super::balance::Balancer;
use super::memory::Memory;
use super::moves::{Move, Repertoire, Trial};
use super::screen::{Scratch, Screen};
use crate::model::{Instance, InstanceIdx};
use crate::score::running::Running;

/// A possible move with its exact score.
#[derive(Clone, Copy)]
pub(super) struct Scored {
    pub score: f64,
    pub order: Order,
    pub mv: Move,
}

/// The order in which moves are tried: by instance, then failover, then by
/// target and kind.
pub(super) type Order = (InstanceIdx, usize);

/// A possible move whose exact score may be the smallest.
#[derive(Clone, Copy)]
struct Survivor {
    lo: f64,
    order: Order,
    mv: Move,
}

/// More survivors than this are scored at once, so that they take no more room.
const MOST_SURVIVORS: usize = 1 << 16;

/// The smallest score that some move is known to reach, shared by all threads.
struct Limit(AtomicU64);

impl Limit {
    fn new(score: f64) -> Limit {
        Limit(AtomicU64::new(score.to_bits()))
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn lower(&self, score: f64) {
        let lower = |bits| (score < f64::from_bits(bits)).then_some(score.to_bits());
        // an error only says that the limit was lower already
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lower);
    }
}

/// The best move that beats the present score. What is learnt about the instances
/// goes into `memory`.
pub(super) fn best(balancer: &Balancer<'_>, movable: &[&Instance], memory: &mut Memory) -> Option<Scored> {
    let running = Running::of(balancer.board());
    let limit = Limit::new(balancer.starting_limit());
    let screen = Screen::new(balancer.cluster(), balancer.board(), &running, movable, memory.changed());
    match &screen {
        Some(_) => memory.catch_up(balancer, &running, movable),
        None => memory.clear(),
    }
    let search = Search {
        balancer,
        running: &running,
        screen: screen.as_ref(),
        limit: &limit,
        changed: memory.changed().iter().filter(|n| balancer.board().row(**n).is_some()).count(),
        memory,
    };
    let mut first = Workspace::default();
    if let Some(instance) = search.most_promising(movable) {
        search.look_at(instance, &mut first);
    }
    let found: Vec<Found> = movable
        .par_chunks(CHUNK)
        .map_init(Workspace::default, |space, chunk| {
            for instance in chunk {
                search.look_at(instance, space);
            }
            std::mem::take(&mut space.found)
        })
        .collect();
    let mut best = None;
    let mut survivors = Vec::new();
    let mut gains = Vec::with_capacity(movable.len());
    for new in std::iter::once(first.found).chain(found) {
        best = new.best.map_or(best, |s| better(best, s, balancer.score()));
        survivors.extend(new.survivors);
        gains.extend(new.gains);
    }
    let best = search.score_survivors(survivors, best);
    if screen.is_some() {
        memory.note(gains);
    }
    best
}

/// Instances that one thread takes at a time.
const CHUNK: usize = 32;

/// The rank of the `at`th kind of move to the node in `row`.
pub(super) fn rank(row: usize, at: usize) -> usize {
    1 + row * 8 + at
}

/// The better of two moves: the smaller score, then the earlier one. A move has
/// to beat `current`, too.
pub(super) fn better(best: Option<Scored>, new: Scored, current: f64) -> Option<Scored> {
    match best {
        None => (new.score < current).then_some(new),
        Some(old) => {
            let wins = new.score < old.score || (new.score == old.score && new.order < old.order);
            Some(if wins { new } else { old })
        }
    }
}

/// What a thread reuses from one instance to the next.
#[derive(Default)]
struct Workspace {
    /// For looks at all nodes, and at those that changed.
    scratch: Scratch,
    narrow_scratch: Scratch,
    lowest: Vec<f64>,
    found: Found,
}

/// What a thread found.
#[derive(Default)]
struct Found {
    survivors: Vec<Survivor>,
    best: Option<Scored>,
    /// The most that each instance can gain.
    gains: Vec<(InstanceIdx, f64)>,
}

/// An instance being looked at.
struct Look<'a> {
    instance: &'a Instance,
    repertoire: Repertoire,
    trial: Trial<'a>,
}

/// One search for the best move.
struct Search<'a> {
    balancer: &'a Balancer<'a>,
    running: &'a Running,
    screen: Option<&'a Screen<'a>>,
    limit: &'a Limit,
    memory: &'a Memory,
    /// Number of the screen's first rows whose nodes changed since the last step.
    changed: usize,
}

impl Search<'_> {
    /// Of the instances about which something is known, the one that could gain
    /// most: a look at it first makes the limit low for all others.
    fn most_promising<'i>(&self, movable: &[&'i Instance]) -> Option<&'i Instance> {
        let gain = |i: &&Instance| self.memory.gain(i.idx);
        let known = movable.iter().copied().filter(|i| gain(i).is_finite());
        known.max_by_key(|i| OrderedFloat(gain(i)))
    }

    /// Sifts the moves of one instance; only those to nodes that changed, if no
    /// other can be the best.
    fn look_at(&self, instance: &Instance, space: &mut Workspace) {
        let balancer = self.balancer;
        let repertoire = balancer.repertoire(instance);
        if repertoire.len(1) == 0 {
            return;
        }
        let trial = Trial::new(balancer.cluster(), instance, balancer.rules());
        let look = Look { instance, repertoire, trial };
        let Some(screen) = self.screen.filter(|s| s.covers(instance)) else {
            for (rank, _, mv) in balancer.moves(instance, repertoire) {
                self.keep_if_promising(&look, mv, rank, space);
            }
            return;
        };
        let known = self.memory.gain(instance.idx);
        let mut gain = known;
        if known < f64::INFINITY {
            gain = known.max(self.sift(screen, &look, self.changed, space));
        }
        if gain + self.margin(screen) >= balancer.score() - self.limit.get() {
            gain = self.sift(screen, &look, screen.rows().len(), space);
        }
        space.found.gains.push((instance.idx, gain));
    }

    /// Remembered gains are trusted up to this: bounds of different times differ by
    /// rounding.
    fn margin(&self, screen: &Screen<'_>) -> f64 {
        screen.slack() + 1e-9 * (1.0 + self.balancer.score().abs())
    }

    /// Sifts an instance's moves to the first `rows` rows of the screen (the
    /// failover only together with all rows); returns what they can gain at most.
    fn sift(&self, screen: &Screen<'_>, look: &Look<'_>, rows: usize, space: &mut Workspace) -> f64 {
        let Look { instance, repertoire, trial } = look;
        let all = rows == screen.rows().len();
        let Workspace { scratch, narrow_scratch, lowest, .. } = space;
        let scratch = if all { scratch } else { narrow_scratch };
        let bounds = screen.instance_bounds(trial, instance, repertoire, rows, scratch);
        let mut least = f64::INFINITY;
        let mut promising = Vec::new();
        let limit = self.limit.get();
        let mut sift = |bound: f64, rank: usize, mv: Move| {
            if bound > limit {
                least = least.min(bound);
            } else {
                promising.push((rank, mv));
            }
        };
        if repertoire.failover && all {
            sift(bounds.of(Move::Failover, 0), 0, Move::Failover);
        }
        let targets = if repertoire.to_target.is_empty() { &[] } else { &screen.rows()[..rows] };
        bounds.lowest(repertoire, lowest);
        for (row, target) in targets.iter().enumerate() {
            if *target == instance.primary || Some(*target) == instance.secondary {
                continue;
            }
            if lowest[row] > limit {
                sift(lowest[row], 0, Move::Failover);
                continue;
            }
            let order = self.balancer.board().row(*target).unwrap_or_default();
            for (at, kind) in repertoire.to_target.iter().enumerate() {
                let mv = kind(*target);
                sift(bounds.of(mv, row), rank(order, at), mv);
            }
        }
        for (rank, mv) in promising {
            if let Some(lo) = self.keep_if_promising(look, mv, rank, space) {
                least = if lo.is_nan() { f64::NEG_INFINITY } else { least.min(lo) };
            }
        }
        self.balancer.score() - least
    }

    /// Keeps a move that is possible and whose score may be the smallest. Returns
    /// the lower bound of its score, if it is possible.
    fn keep_if_promising(
        &self,
        look: &Look<'_>,
        mv: Move,
        rank: usize,
        space: &mut Workspace,
    ) -> Option<f64> {
        let outcome = look.trial.run(mv).ok()?;
        let board = self.balancer.board();
        let spread = board.spread().surplus() + self.balancer.spread_change(look.instance, outcome.placement);
        let interval = self.running.interval(board, outcome.touched(), spread);
        if interval.lo > self.limit.get() {
            return Some(interval.lo);
        }
        self.limit.lower(interval.hi);
        let found = &mut space.found;
        found.survivors.push(Survivor { lo: interval.lo, order: (look.instance.idx, rank), mv });
        if found.survivors.len() >= MOST_SURVIVORS {
            let survivors = std::mem::take(&mut found.survivors);
            found.best = self.score_survivors(survivors, found.best.take());
        }
        Some(interval.lo)
    }

    /// The best of the survivors and of what was found before, by exact score.
    fn score_survivors(&self, mut survivors: Vec<Survivor>, before: Option<Scored>) -> Option<Scored> {
        let limit = self.limit.get();
        survivors.retain(|s| !(s.lo > limit));
        survivors.sort_unstable_by_key(|s| (OrderedFloat(s.lo), s.order));
        let current = self.balancer.score();
        let best = survivors
            .par_chunks(SCORED_AT_ONCE)
            .map(|chunk| {
                chunk.iter().fold(None, |best: Option<Scored>, s| {
                    if best.is_some_and(|b| s.lo > b.score) {
                        return best;
                    }
                    self.exact(s).map_or(best, |new| better(best, new, current))
                })
            })
            .reduce(|| None, |a, b| b.map_or(a, |b| better(a, b, current)));
        before.map_or(best, |b| better(best, b, current))
    }

    fn exact(&self, survivor: &Survivor) -> Option<Scored> {
        let balancer = self.balancer;
        let instance = balancer.cluster().instance(survivor.order.0);
        let trial = Trial::new(balancer.cluster(), instance, balancer.rules());
        balancer.score_of(&trial, instance, survivor.mv, survivor.order)
    }
}

/// Exact scores that one thread computes at a time.
const SCORED_AT_ONCE: usize = 64;
