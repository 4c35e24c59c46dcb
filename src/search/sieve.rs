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
use super::moves::{Move, Trial};
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

/// The best move that beats the present score.
pub(super) fn best(balancer: &Balancer<'_>, movable: &[&Instance]) -> Option<Scored> {
    let running = Running::of(balancer.board());
    let limit = Limit::new(balancer.starting_limit());
    let screen = Screen::new(balancer.cluster(), balancer.board(), &running, movable);
    let search = Search { balancer, running: &running, screen: screen.as_ref(), limit: &limit };
    let found: Vec<(Option<Scored>, Vec<Survivor>)> = movable
        .par_chunks(CHUNK)
        .map_init(Workspace::default, |space, chunk| {
            for instance in chunk {
                search.examine(instance, space);
            }
            (space.best.take(), std::mem::take(&mut space.survivors))
        })
        .collect();
    let mut best = None;
    let mut survivors = Vec::new();
    for (scored, survived) in found {
        best = scored.map_or(best, |s| better(best, s, balancer.score()));
        survivors.extend(survived);
    }
    search.score_survivors(survivors, best)
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
    scratch: Scratch,
    lowest: Vec<f64>,
    survivors: Vec<Survivor>,
    best: Option<Scored>,
}

/// One search for the best move.
struct Search<'a> {
    balancer: &'a Balancer<'a>,
    running: &'a Running,
    screen: Option<&'a Screen<'a>>,
    limit: &'a Limit,
}

impl Search<'_> {
    /// Sifts the moves of one instance.
    fn examine(&self, instance: &Instance, space: &mut Workspace) {
        let balancer = self.balancer;
        let repertoire = balancer.repertoire(instance);
        if repertoire.len(1) == 0 {
            return;
        }
        let trial = Trial::new(balancer.cluster(), instance, balancer.rules());
        let Some(screen) = self.screen.filter(|s| s.covers(instance)) else {
            for (rank, _, mv) in balancer.moves(instance, repertoire) {
                self.keep_if_promising(&trial, instance, mv, rank, space);
            }
            return;
        };
        let Workspace { scratch, lowest, .. } = space;
        let bounds = screen.instance_bounds(&trial, instance, &repertoire, scratch);
        let mut promising = Vec::new();
        if repertoire.failover && !(bounds.of(Move::Failover, 0) > self.limit.get()) {
            promising.push((0, Move::Failover));
        }
        let limit = self.limit.get();
        let targets = if repertoire.to_target.is_empty() { &[] } else { screen.rows() };
        bounds.lowest(&repertoire, lowest);
        for (row, target) in targets.iter().enumerate() {
            if lowest[row] > limit || *target == instance.primary || Some(*target) == instance.secondary {
                continue;
            }
            for (at, kind) in repertoire.to_target.iter().enumerate() {
                let mv = kind(*target);
                if !(bounds.of(mv, row) > limit) {
                    promising.push((rank(row, at), mv));
                }
            }
        }
        for (rank, mv) in promising {
            self.keep_if_promising(&trial, instance, mv, rank, space);
        }
    }

    /// Keeps a move that is possible and whose score may be the smallest.
    fn keep_if_promising(
        &self,
        trial: &Trial<'_>,
        instance: &Instance,
        mv: Move,
        rank: usize,
        space: &mut Workspace,
    ) {
        let Ok(outcome) = trial.run(mv) else { return };
        let board = self.balancer.board();
        let spread = board.spread().surplus() + self.balancer.spread_change(instance, outcome.placement);
        let interval = self.running.interval(board, outcome.touched(), spread);
        if interval.lo > self.limit.get() {
            return;
        }
        self.limit.lower(interval.hi);
        space.survivors.push(Survivor { lo: interval.lo, order: (instance.idx, rank), mv });
        if space.survivors.len() >= MOST_SURVIVORS {
            let survivors = std::mem::take(&mut space.survivors);
            space.best = self.score_survivors(survivors, space.best.take());
        }
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
