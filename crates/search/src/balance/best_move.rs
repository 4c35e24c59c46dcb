//! Finds the best move without computing the exact score of every move.
//!
//! There are three filters:
//!
//! 1. Lower bounds that are kept from step to step ([`MoveBounds`]).
//! 2. For the moves that remain, the placement rules and an interval from running statistics.
//! 3. For the few moves left after that, the exact score.
//!
//! The result does not depend on the number of threads. A move is left out only if it is sure to lose against a
//! possible move, and the last filter compares with the smallest upper bound of all.

mod exact;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ordered_float::OrderedFloat;

use super::Balancer;
use super::bounds::{Candidate, CandidateWork, MoveBounds};
use super::bounds_cache::BoundsCache;
use super::likeness::{Remembered, Starts, Verdicts};
use super::survivor::{MoveOrder, NO_PATTERN, Survivor};
use crate::moves::Trial;
use crate::parallel::{OwnLine, in_order, map, note};
use htools_model::score::batch::ChangedState;
use htools_model::score::interval::{Interval, Running};
use htools_model::{Instance, Move, NodeIdx};

/// A possible move with its exact score.
#[derive(Clone, Copy)]
pub(super) struct ScoredMove {
    pub score: f64,
    pub order: MoveOrder,
    pub mv: Move,
}

/// Maximum number of survivors that are kept before they are scored, to limit memory.
const MOST_SURVIVORS: usize = 1 << 18;

/// Maximum number of empty lists of survivors that are kept for later, to limit memory.
const MOST_SPARE: usize = 8;

/// The smallest score that some move is known to reach; shared by all threads.
struct Limit(OwnLine<AtomicU64>);

impl Limit {
    fn new(score: f64) -> Limit {
        Limit(OwnLine(AtomicU64::new(score.to_bits())))
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.0.load(Ordering::Relaxed))
    }

    fn lower(&self, score: f64) {
        let lower = |bits| (score < f64::from_bits(bits)).then_some(score.to_bits());
        // An error only means that the limit was lower already.
        let _ = self.0.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lower);
    }
}

/// Returns the best move that beats the present score.
pub(super) fn best(balancer: &Balancer<'_>, memory: &mut BoundsCache) -> Option<ScoredMove> {
    if balancer.instances().is_empty() {
        return None;
    }
    let limit = Limit::new(balancer.starting_limit());
    let scored = AtomicU64::new(0);
    let spare = Mutex::new(std::mem::take(&mut memory.spare));
    let mut likeness = std::mem::take(&mut memory.likeness);
    // If earlier searches had to evaluate very many moves, most of those moves were alike.
    let verdicts = if MANY_MOVES * memory.evaluated >= (balancer.board().rows().len() as u64).max(1) {
        likeness.refresh(balancer.cluster(), balancer.board());
        Verdicts::new(&likeness, balancer.cluster(), balancer.board(), balancer.shapes())
    } else {
        None
    };
    let verdicts = verdicts.as_ref();
    let bounds = memory.bounds(balancer);
    let without;
    let (running, online) = match &bounds {
        Some(bounds) => (bounds.running(), bounds.online()),
        None => {
            let nodes = balancer.board().nodes().iter().copied();
            let online: Vec<NodeIdx> = nodes.filter(|node| balancer.board().row(*node).is_some()).collect();
            without = (Running::of(balancer.board()), online);
            (&without.0, without.1.as_slice())
        }
    };
    let search =
        BestMoveSearch { balancer, running, online, limit: &limit, verdicts, scored: &scored, spare: &spare };
    let (best, found) = match &bounds {
        Some(bounds) => search.with_bounds(bounds),
        None => search.without_bounds(),
    };
    let considered = bounds.map_or(found.trials, |bounds| {
        bounds.note_work(found.work);
        bounds.moves()
    });
    memory.likeness = likeness;
    memory.work = found.work;
    memory.spare = spare.into_inner().unwrap_or_else(PoisonError::into_inner);
    // The count falls only slowly, since now and then one step among many has a clear winner.
    memory.evaluated = found.trials.max(memory.evaluated - memory.evaluated.div_ceil(8));
    let tally = &mut memory.tally;
    tally.considered += considered;
    tally.evaluated += found.trials;
    tally.skipped += considered - found.trials;
    tally.scored += scored.into_inner();
    best
}

/// Evaluated moves count as many if this multiple of them exceeds the number of nodes.
const MANY_MOVES: u64 = 16;

/// Number of instances that one thread takes at a time.
const CHUNK: usize = 32;

/// Number of blocks of instances in the first wave. It usually has the best move, whose score makes most others
/// superfluous.
const FIRST_WAVE: usize = 16;

/// Size of each wave as a multiple of the one before.
const LARGER_WAVE: usize = 4;

/// Number of blocks, and of instances, that a thread takes at a time: work of one or two microseconds.
const BLOCKS_AT_ONCE: usize = 4;
const INSTANCES_AT_ONCE: usize = 1;

/// The better of two moves: the one with the smaller score, or the earlier one if they tie. It must also beat
/// `current`.
pub(super) fn better(best: Option<ScoredMove>, new: ScoredMove, current: f64) -> Option<ScoredMove> {
    match best {
        None => (new.score < current).then_some(new),
        Some(old) => {
            let wins = new.score < old.score || (new.score == old.score && new.order < old.order);
            Some(if wins { new } else { old })
        }
    }
}

/// Buffers that a thread reuses for one instance after another.
#[derive(Default)]
struct Workspace {
    candidates: Vec<Candidate>,
    found: ThreadResult,
}

#[derive(Default)]
struct ThreadResult {
    survivors: Vec<Survivor>,
    best: Option<ScoredMove>,
    seen: CandidateWork,
    /// Number of moves for which the placement rules were checked.
    trials: u64,
}

impl ThreadResult {
    /// Rough estimate, in nanoseconds, of the time that better bounds could save.
    fn work(&self) -> u64 {
        400 * self.seen.instances + 40 * self.seen.bounds
    }
}

struct BestMoveSearch<'a> {
    balancer: &'a Balancer<'a>,
    running: &'a Running,
    /// The nodes in the order of the board's rows.
    online: &'a [NodeIdx],
    limit: &'a Limit,
    /// Verdicts on moves that are alike, if there are many such moves.
    verdicts: Option<&'a Verdicts<'a>>,
    /// Number of exact scores computed.
    scored: &'a AtomicU64,
    /// Empty lists of survivors. There may be so many survivors that new lists would cost much of the time.
    spare: &'a Mutex<Vec<Vec<Survivor>>>,
}

/// Amount of work that a search took.
struct Workload {
    trials: u64,
    work: u64,
}

impl Workload {
    fn of(found: &[ThreadResult]) -> Workload {
        Workload {
            trials: found.iter().map(|f| f.trials).sum(),
            work: found.iter().map(ThreadResult::work).sum(),
        }
    }
}

impl BestMoveSearch<'_> {
    /// Evaluates every move.
    fn without_bounds(&self) -> (Option<ScoredMove>, Workload) {
        let candidates = self.balancer.candidates();
        let found: Vec<ThreadResult> = map(candidates.chunks(CHUNK), 1, |chunk| {
            let mut found = ThreadResult::default();
            for instance in chunk {
                let trial = Trial::new(self.balancer.cluster(), instance, self.balancer.rules());
                let start = self.verdicts.and_then(|v| v.start(&trial));
                let mut remembered = self.remembered(start);
                for (rank, _, mv) in self.balancer.moves(instance, self.balancer.repertoire(instance)) {
                    self.keep_if_promising(&trial, start, mv, rank, &mut remembered, &mut found);
                }
                self.keep_remembered(start, remembered);
            }
            found
        });
        let effort = Workload::of(&found);
        (self.best_of(found), effort)
    }

    /// Evaluates the moves that the bounds do not exclude. It starts with those whose bounds are near the
    /// smallest one: usually one of them is possible and excludes all others.
    fn with_bounds(&self, bounds: &MoveBounds) -> (Option<ScoredMove>, Workload) {
        let start = self.limit.get();
        let blocks = bounds.blocks(start);
        let least = blocks.first().map_or(start, |(bound, _)| *bound);
        let (mut work, mut found) = (0, Vec::new());
        for share in [0.02, 0.2, 1.0] {
            let ceiling = if share < 1.0 { least + share * (start - least) } else { start };
            // This includes the moves of the earlier passes.
            found = self.up_to(bounds, &blocks, ceiling);
            work += Workload::of(&found).work;
            if self.limit.get() <= ceiling {
                break;
            }
        }
        let effort = Workload { work, ..Workload::of(&found) };
        (self.best_of(found), effort)
    }

    /// Evaluates the moves whose bounds are at most the ceiling and at most the limit.
    fn up_to(&self, bounds: &MoveBounds, blocks: &[(f64, usize)], ceiling: f64) -> Vec<ThreadResult> {
        let (mut rest, mut wave, mut found) = (blocks, FIRST_WAVE, Vec::new());
        loop {
            let limit = self.limit_below(ceiling);
            rest = &rest[..rest.partition_point(|(bound, _)| *bound <= limit)];
            if rest.is_empty() {
                return found;
            }
            let (blocks, later) = rest.split_at(wave.min(rest.len()));
            let members = |(_, block): &(f64, usize)| bounds.members(*block, limit);
            let mut near = map(blocks.iter(), BLOCKS_AT_ONCE, members).concat();
            near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let look = |space: &mut Workspace, some: &[(f64, u32)]| {
                some.iter().all(|(bound, position)| self.look_at(bounds, *bound, *position, ceiling, space))
            };
            found.extend(in_order(&near, INSTANCES_AT_ONCE, look).into_iter().map(|space| space.found));
            (rest, wave) = (later, wave * LARGER_WAVE);
        }
    }

    fn limit_below(&self, ceiling: f64) -> f64 {
        let limit = self.limit.get();
        if limit < ceiling { limit } else { ceiling }
    }

    /// Returns the best move among everything found.
    fn best_of(&self, found: Vec<ThreadResult>) -> Option<ScoredMove> {
        let mut best = None;
        let mut survivors: Vec<Survivor> = Vec::new();
        for mut new in found {
            best = new.best.map_or(best, |s| better(best, s, self.balancer.score()));
            if survivors.len() < new.survivors.len() {
                std::mem::swap(&mut survivors, &mut new.survivors);
            }
            survivors.append(&mut new.survivors);
            self.put_aside(new.survivors);
        }
        let best = self.score_survivors(&mut survivors, best);
        self.put_aside(survivors);
        best
    }

    /// Keeps an empty list for later, if it has room for anything and there are not too many.
    fn put_aside(&self, mut list: Vec<Survivor>) {
        list.clear();
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if list.capacity() > 0 && spare.len() < MOST_SPARE {
            spare.push(list);
        }
    }

    /// Adds a survivor to a list. A list without room is replaced by one that was put aside.
    fn add(&self, list: &mut Vec<Survivor>, survivor: Survivor) {
        if list.capacity() == 0 {
            let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            *list = spare.unwrap_or_default();
        }
        list.push(survivor);
    }

    /// Evaluates the moves of one instance whose bounds are at most the ceiling and at most the limit. Returns false
    /// if its smallest bound is above these.
    fn look_at(
        &self,
        bounds: &MoveBounds,
        bound: f64,
        position: u32,
        ceiling: f64,
        space: &mut Workspace,
    ) -> bool {
        let limit = self.limit_below(ceiling);
        if bound > limit {
            return false;
        }
        note(1);
        let balancer = self.balancer;
        let instance = balancer.cluster().instance(bounds.instance(position));
        let mut candidates = std::mem::take(&mut space.candidates);
        bounds.candidates(balancer, position, instance, limit, &mut candidates, &mut space.found.seen);
        if !candidates.is_empty() {
            self.look_at_candidates(instance, &mut candidates, space);
        }
        space.candidates = candidates;
        true
    }

    /// Evaluates some moves of one instance, the most promising first.
    fn look_at_candidates(&self, instance: &Instance, candidates: &mut [Candidate], space: &mut Workspace) {
        let balancer = self.balancer;
        let trial = Trial::new(balancer.cluster(), instance, balancer.rules());
        let start = self.verdicts.and_then(|v| v.start(&trial));
        // Looking up a known verdict is cheaper than sorting the moves.
        if start.is_none() {
            candidates.sort_unstable_by_key(|p| OrderedFloat(p.bound));
        }
        let repertoire = balancer.repertoire(instance);
        let mut remembered = self.remembered(start);
        for Candidate { bound, mv } in candidates.iter() {
            if *bound > self.limit.get() {
                if start.is_none() {
                    break;
                }
                continue;
            }
            let rank = balancer.rank(&repertoire, *mv);
            self.keep_if_promising(&trial, start, *mv, rank, &mut remembered, &mut space.found);
        }
        self.keep_remembered(start, remembered);
    }

    /// Takes the verdicts that this thread remembers, if the instance has any.
    fn remembered(&self, start: Option<Starts>) -> Remembered {
        self.verdicts.filter(|_| start.is_some()).map(Verdicts::remembered).unwrap_or_default()
    }

    fn keep_remembered(&self, start: Option<Starts>, remembered: Remembered) {
        if let Some(verdicts) = self.verdicts.filter(|_| start.is_some()) {
            verdicts.keep(remembered);
        }
    }

    /// Returns an interval that contains the score of the move, and the result of `find_out`; `None` if the
    /// move is impossible.
    fn interval<R>(
        &self,
        trial: &Trial<'_>,
        mv: Move,
        find_out: impl FnOnce(&ChangedState<'_>) -> R,
    ) -> Option<(Interval, R)> {
        let outcome = trial.run(mv).ok()?;
        let board = self.balancer.board();
        let spread_change = self.balancer.spread_change(trial.instance(), outcome.placement);
        let touched = outcome.touched();
        let interval = self.running.interval(board, touched, board.spread().surplus() + spread_change);
        Some((interval, find_out(&ChangedState { touched, spread_change })))
    }

    /// Keeps a move that is possible and whose score may be the smallest. `start` is the part of
    /// the key that the instance's moves share with those of alike instances.
    fn keep_if_promising(
        &self,
        trial: &Trial<'_>,
        start: Option<Starts>,
        mv: Move,
        rank: usize,
        remembered: &mut Remembered,
        found: &mut ThreadResult,
    ) {
        found.trials += 1;
        note(1);
        let kept = match self.verdicts.zip(start) {
            Some((verdicts, start)) => {
                let pattern = |state: &ChangedState<'_>| self.balancer.board().pattern(state);
                let work_out = || self.interval(trial, mv, pattern);
                let verdict = verdicts.verdict(trial, start, mv, remembered, work_out);
                verdict.map(|v| (v.interval, v.pattern, v.places))
            }
            None => self
                .interval(trial, mv, |_| ())
                .map(|(interval, ())| (interval, NO_PATTERN, [0; Move::MOST_NODES])),
        };
        let Some((interval, pattern, places)) = kept else { return };
        if interval.lo > self.limit.get() {
            return;
        }
        self.limit.lower(interval.hi);
        let instance = trial.instance().idx;
        let survivor = Survivor { lo: interval.lo, instance, rank: rank as u32, pattern, places };
        self.add(&mut found.survivors, survivor);
        if found.survivors.len() >= MOST_SURVIVORS {
            found.best = self.score_survivors(&mut found.survivors, found.best.take());
            found.survivors.clear();
        }
    }
}
