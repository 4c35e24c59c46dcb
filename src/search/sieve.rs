//! The best move, without computing the exact score of every move.
//!
//! Three sieves: bounds that are kept from step to step ([`Forecast`]); for what
//! may matter, the placement rules and an interval from running statistics;
//! the exact score of the few that remain. Which moves pass does not depend on
//! the number of threads: a move is left out only if it is sure to lose against
//! one that is possible, and the last sieve compares with the smallest upper
//! bound of all.

use std::sync::atomic::{AtomicU64, Ordering};

use ordered_float::OrderedFloat;
use rayon::prelude::*;

use super::balance::Balancer;
use super::forecast::{Forecast, Prospect, Seen};
use super::likeness::{Remembered, Verdicts};
use super::memory::Memory;
use super::moves::{Move, Outcome, Trial};
use super::ties::contenders;
use crate::model::{Instance, InstanceIdx};
use crate::score::batch::{Changed, Scorer, Spot};
use crate::score::running::{Interval, Running};

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
    /// The same number for moves that are alike, if that is known.
    draft: Option<u32>,
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
pub(super) fn best(balancer: &Balancer<'_>, memory: &mut Memory) -> Option<Scored> {
    if balancer.instances().is_empty() {
        return None;
    }
    let limit = Limit::new(balancer.starting_limit());
    let scored = AtomicU64::new(0);
    let mut likeness = std::mem::take(&mut memory.likeness);
    // where the last search had to look at very many moves, most of them are alike
    let verdicts = if memory.evaluated >= (balancer.board().rows().len() as u64).max(1) {
        likeness.refresh(balancer.cluster(), balancer.board());
        Verdicts::new(&likeness, balancer.cluster(), balancer.shapes())
    } else {
        None
    };
    let verdicts = verdicts.as_ref();
    let (best, considered, found) = match memory.forecast(balancer) {
        Some(forecast) => {
            let running = forecast.running();
            let search = Search { balancer, running, limit: &limit, verdicts, scored: &scored };
            let (best, found) = search.with_bounds(forecast);
            let considered = forecast.moves();
            forecast.note_work(found.work);
            (best, considered, found)
        }
        None => {
            let running = Running::of(balancer.board());
            let search = Search { balancer, running: &running, limit: &limit, verdicts, scored: &scored };
            let (best, found) = search.without_bounds();
            (best, found.trials, found)
        }
    };
    memory.likeness = likeness;
    memory.evaluated = found.trials;
    let tally = &mut memory.tally;
    tally.considered += considered;
    tally.evaluated += found.trials;
    tally.skipped += considered - found.trials;
    tally.scored += scored.into_inner();
    best
}

/// Instances that one thread takes at a time.
const CHUNK: usize = 32;

/// Blocks of instances that are looked at one after the other, to find a low limit,
/// before the others are looked at in parallel.
const FIRST_BLOCKS: usize = 8;

/// For fewer blocks than this, other threads are not worth waking.
const FEWEST_BLOCKS: usize = 64;

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
    near: Vec<(f64, u32)>,
    prospects: Vec<Prospect>,
    remembered: Remembered,
    found: Found,
}

/// What a thread found.
#[derive(Default)]
struct Found {
    survivors: Vec<Survivor>,
    best: Option<Scored>,
    seen: Seen,
    /// Moves for which the placement rules were worked out.
    trials: u64,
}

impl Found {
    /// Roughly how long the work took that better bounds could save, in
    /// nanoseconds.
    fn work(&self) -> u64 {
        400 * self.seen.instances + 40 * self.seen.bounds
    }
}

/// One search for the best move.
struct Search<'a> {
    balancer: &'a Balancer<'a>,
    running: &'a Running,
    limit: &'a Limit,
    /// The verdicts on moves that are alike, if there are many of them.
    verdicts: Option<&'a Verdicts<'a>>,
    /// How many exact scores were computed.
    scored: &'a AtomicU64,
}

/// How much there was to do.
struct Effort {
    trials: u64,
    work: u64,
}

impl Effort {
    fn of(found: &[Found]) -> Effort {
        Effort { trials: found.iter().map(|f| f.trials).sum(), work: found.iter().map(Found::work).sum() }
    }
}

impl Search<'_> {
    /// Looks at every move.
    fn without_bounds(&self) -> (Option<Scored>, Effort) {
        let candidates = self.balancer.candidates();
        let found: Vec<Found> = candidates
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut space = Workspace::default();
                for instance in chunk {
                    let trial = Trial::new(self.balancer.cluster(), instance, self.balancer.rules());
                    let start = self.verdicts.and_then(|v| v.start(&trial));
                    for (rank, _, mv) in self.balancer.moves(instance, self.balancer.repertoire(instance)) {
                        self.keep_if_promising((&trial, start), (mv, rank), &mut space);
                    }
                }
                space.found
            })
            .collect();
        let effort = Effort::of(&found);
        (self.best_of(found), effort)
    }

    /// Looks at the moves that the bounds do not exclude. At first only at those
    /// with bounds near the smallest one: most often one of these is possible, and
    /// then all others are excluded without a look.
    fn with_bounds(&self, forecast: &Forecast) -> (Option<Scored>, Effort) {
        let start = self.limit.get();
        let blocks = forecast.blocks(start);
        let least = blocks.first().map_or(start, |(bound, _)| *bound);
        let (mut work, mut found) = (0, Vec::new());
        for share in [0.02, 0.2, 1.0] {
            let ceiling = if share < 1.0 { least + share * (start - least) } else { start };
            // includes what was looked at before
            found = self.up_to(forecast, &blocks, ceiling);
            work += Effort::of(&found).work;
            if self.limit.get() <= ceiling {
                break;
            }
        }
        let effort = Effort { work, ..Effort::of(&found) };
        (self.best_of(found), effort)
    }

    /// Looks at the moves whose bounds are neither above the ceiling nor above the
    /// limit.
    fn up_to(&self, forecast: &Forecast, blocks: &[(f64, usize)], ceiling: f64) -> Vec<Found> {
        let mut space = Workspace::default();
        let (first, rest) = blocks.split_at(blocks.len().min(FIRST_BLOCKS));
        self.look_at_blocks(forecast, first, ceiling, &mut space);
        let limit = self.limit_below(ceiling);
        let rest = &rest[..rest.partition_point(|(bound, _)| *bound <= limit)];
        let mut found = Vec::new();
        if rest.len() < FEWEST_BLOCKS {
            self.look_at_blocks(forecast, rest, ceiling, &mut space);
        } else {
            let look = |space: &mut Workspace, block: &(f64, usize)| {
                self.look_at_blocks(forecast, std::slice::from_ref(block), ceiling, space);
                std::mem::take(&mut space.found)
            };
            found = rest.par_iter().map_init(Workspace::default, look).collect();
        }
        found.push(space.found);
        found
    }

    fn limit_below(&self, ceiling: f64) -> f64 {
        let limit = self.limit.get();
        if limit < ceiling { limit } else { ceiling }
    }

    /// The best of everything found.
    fn best_of(&self, found: Vec<Found>) -> Option<Scored> {
        let mut best = None;
        let mut survivors = Vec::new();
        for new in found {
            best = new.best.map_or(best, |s| better(best, s, self.balancer.score()));
            survivors.extend(new.survivors);
        }
        self.score_survivors(survivors, best)
    }

    /// Looks at the instances of some blocks, the most promising ones first.
    fn look_at_blocks(
        &self,
        forecast: &Forecast,
        blocks: &[(f64, usize)],
        ceiling: f64,
        space: &mut Workspace,
    ) {
        let mut near = std::mem::take(&mut space.near);
        for (bound, block) in blocks {
            if *bound > self.limit_below(ceiling) {
                break;
            }
            forecast.members(*block, self.limit_below(ceiling), &mut near);
            for (bound, position) in &near {
                let limit = self.limit_below(ceiling);
                if *bound > limit {
                    break;
                }
                self.look_at(forecast, *position, limit, space);
            }
        }
        space.near = near;
    }

    /// Looks at the moves of one instance whose bounds are up to `limit`.
    fn look_at(&self, forecast: &Forecast, position: u32, limit: f64, space: &mut Workspace) {
        let balancer = self.balancer;
        let instance = balancer.cluster().instance(forecast.instance(position));
        let mut prospects = std::mem::take(&mut space.prospects);
        forecast.prospects(balancer, (position, instance), limit, &mut prospects, &mut space.found.seen);
        if !prospects.is_empty() {
            self.look_at_prospects(instance, &mut prospects, space);
        }
        space.prospects = prospects;
    }

    /// Looks at some moves of one instance, the most promising ones first.
    fn look_at_prospects(&self, instance: &Instance, prospects: &mut [Prospect], space: &mut Workspace) {
        let balancer = self.balancer;
        prospects.sort_unstable_by_key(|p| OrderedFloat(p.bound));
        let trial = Trial::new(balancer.cluster(), instance, balancer.rules());
        let start = self.verdicts.and_then(|v| v.start(&trial));
        let repertoire = balancer.repertoire(instance);
        for Prospect { bound, mv } in prospects.iter() {
            if *bound > self.limit.get() {
                break;
            }
            let rank = balancer.rank(&repertoire, *mv);
            self.keep_if_promising((&trial, start), (*mv, rank), space);
        }
    }

    /// Bounds on the score of a move; nothing if it is impossible.
    fn interval(&self, trial: &Trial<'_>, mv: Move) -> Option<Interval> {
        let outcome = trial.run(mv).ok()?;
        let board = self.balancer.board();
        let spread_change = self.balancer.spread_change(trial.instance(), outcome.placement);
        Some(self.running.interval(board, outcome.touched(), board.spread().surplus() + spread_change))
    }

    /// Keeps a move that is possible and whose score may be the smallest. `start` is the
    /// number of what the moves of the instance have in common with others.
    fn keep_if_promising(
        &self,
        (trial, start): (&Trial<'_>, Option<u32>),
        (mv, rank): (Move, usize),
        Workspace { remembered, found, .. }: &mut Workspace,
    ) {
        found.trials += 1;
        let (interval, draft) = match self.verdicts.zip(start) {
            Some((verdicts, start)) => {
                let verdict = verdicts.verdict(trial, (start, mv), remembered, || self.interval(trial, mv));
                (verdict.interval, Some(verdict.draft))
            }
            None => (self.interval(trial, mv), None),
        };
        let Some(interval) = interval else { return };
        if interval.lo > self.limit.get() {
            return;
        }
        self.limit.lower(interval.hi);
        let order = (trial.instance().idx, rank);
        found.survivors.push(Survivor { lo: interval.lo, order, mv, draft });
        if found.survivors.len() >= MOST_SURVIVORS {
            let survivors = std::mem::take(&mut found.survivors);
            found.best = self.score_survivors(survivors, found.best.take());
        }
    }

    /// The best of the survivors and of what was found before, by exact score.
    fn score_survivors(&self, mut survivors: Vec<Survivor>, before: Option<Scored>) -> Option<Scored> {
        let limit = self.limit.get();
        survivors.retain(|s| !(s.lo > limit));
        if survivors.is_empty() {
            return before;
        }
        let scorer = Scorer::of(self.balancer.board());
        survivors = self.without_hopeless(&scorer, survivors);
        survivors.sort_unstable_by_key(|s| (OrderedFloat(s.lo), s.order));
        let current = self.balancer.score();
        let both = |a: Option<Scored>, b: Option<Scored>| b.map_or(a, |b| better(a, b, current));
        let at_once = if survivors.len() < MANY { SCORED_AT_ONCE } else { MANY_AT_ONCE };
        let best = match survivors.len() <= at_once {
            true => self.best_scored(&scorer, &survivors),
            false => {
                let chunks = survivors.par_chunks(at_once);
                chunks.map(|chunk| self.best_scored(&scorer, chunk)).reduce(|| None, both)
            }
        };
        both(best, before)
    }

    /// Without those that are sure to have the same score as an earlier one.
    fn without_hopeless(&self, scorer: &Scorer<'_>, survivors: Vec<Survivor>) -> Vec<Survivor> {
        let (alike, mut others): (Vec<Survivor>, Vec<Survivor>) =
            survivors.into_iter().partition(|s| s.draft.is_some());
        let mut drafts: Vec<&Survivor> = Vec::new();
        let most = alike.iter().filter_map(|s| s.draft).max().map_or(0, |most| most as usize + 1);
        let mut numbers = vec![usize::MAX; most];
        let number = |s: &Survivor| s.draft.map_or(usize::MAX, |draft| draft as usize);
        if alike.len() >= self.balancer.board().rows().len() {
            for survivor in &alike {
                let number = &mut numbers[number(survivor)];
                if *number == usize::MAX {
                    *number = drafts.len();
                    drafts.push(survivor);
                }
            }
        }
        let tried = self.tried(drafts.iter().copied());
        // where each stands for itself, there is nothing to be gained
        if drafts.is_empty() || 2 * drafts.len() > alike.len() || tried.len() < drafts.len() {
            others.extend(alike);
            return others;
        }
        let drafts: Vec<_> = tried.iter().map(|tried| scorer.draft(&tried.changed())).collect();
        let spot = |s: &Survivor| (Spot { draft: numbers[number(s)], rows: self.rows_of(s) }, s.order);
        let spots: Vec<_> = alike.iter().map(spot).collect();
        others.extend(contenders(scorer, &drafts, &spots).into_iter().map(|at| alike[at]));
        others
    }

    /// The rows of the nodes that a move changes, in the order in which its outcome has them.
    fn rows_of(&self, survivor: &Survivor) -> [usize; 3] {
        let balancer = self.balancer;
        let instance = balancer.cluster().instance(survivor.order.0);
        let nodes = [Some(instance.primary), instance.mirror(), survivor.mv.target()];
        Spot::rows(nodes.into_iter().flatten().filter_map(|node| balancer.board().row(node)))
    }

    /// The outcomes of survivors' moves.
    fn tried<'s>(&self, survivors: impl Iterator<Item = &'s Survivor>) -> Vec<Tried<'s, '_>> {
        let balancer = self.balancer;
        let tried = survivors.filter_map(|survivor| {
            let instance = balancer.cluster().instance(survivor.order.0);
            let outcome = Trial::new(balancer.cluster(), instance, balancer.rules()).run(survivor.mv).ok()?;
            let spread_change = balancer.spread_change(instance, outcome.placement);
            Some(Tried { survivor, outcome, spread_change })
        });
        tried.collect()
    }

    /// The best of some survivors.
    fn best_scored(&self, scorer: &Scorer<'_>, survivors: &[Survivor]) -> Option<Scored> {
        self.scored.fetch_add(survivors.len() as u64, Ordering::Relaxed);
        let balancer = self.balancer;
        let tried = self.tried(survivors.iter());
        let states: Vec<Changed<'_>> = tried.iter().map(Tried::changed).collect();
        let scores = scorer.scores(&states);
        let scored = tried.iter().zip(scores).filter(|(_, score)| !score.is_nan());
        let scored =
            scored.map(|(Tried { survivor: s, .. }, score)| Scored { score, order: s.order, mv: s.mv });
        scored.fold(None, |best, new| better(best, new, balancer.score()))
    }
}

/// A survivor with what its move leads to.
struct Tried<'s, 'c> {
    survivor: &'s Survivor,
    outcome: Outcome<'c>,
    spread_change: i64,
}

impl Tried<'_, '_> {
    fn changed(&self) -> Changed<'_> {
        Changed { touched: self.outcome.touched(), spread_change: self.spread_change }
    }
}

/// Exact scores that one thread computes at a time.
const SCORED_AT_ONCE: usize = 32;

/// From this many on they are computed many at a time, which is less work altogether.
const MANY: usize = 96;
const MANY_AT_ONCE: usize = 2048;
