//! The last sieve: the exact scores of what the bounds have left.

use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::{BestMoveSearch, KINDS, MoveOrder, NO_PATTERN, OwnRows, ScoredMove, Survivor, better};
use crate::balance::ties::contenders;
use crate::moves::{Outcome, Trial};
use htools_model::score::batch::{ChangedState, Pattern, Scorer, Spot};
use htools_model::{InstanceIdx, Move};

impl BestMoveSearch<'_> {
    /// The best of the survivors and of what was found before, by exact score.
    pub(super) fn score_survivors(
        &self,
        mut survivors: Vec<Survivor>,
        before: Option<ScoredMove>,
    ) -> Option<ScoredMove> {
        let limit = self.limit.get();
        survivors.retain(|s| !(s.lo > limit));
        if survivors.is_empty() {
            return before;
        }
        let scorer = Scorer::of(self.balancer.board());
        // those without a pattern come last
        survivors.sort_by_key(|s| s.pattern);
        let drafted = survivors.partition_point(|s| s.pattern != NO_PATTERN);
        let (alike, others) = survivors.split_at(if drafted < FEWEST_DRAFTED { 0 } else { drafted });
        let current = self.balancer.score();
        let both = |a: Option<ScoredMove>, b: Option<ScoredMove>| b.map_or(a, |b| better(a, b, current));
        let best = both(self.best_of_alike(&scorer, alike), before);
        both(best_of_chunks(others, both, |some| self.best_scored(&scorer, some)), best)
    }

    /// The best of survivors whose patterns are known, in ascending order.
    fn best_of_alike(&self, scorer: &Scorer<'_>, alike: &[Survivor]) -> Option<ScoredMove> {
        let (balancer, verdicts) = (self.balancer, self.verdicts?);
        let (mut numbers, mut spots) = (Vec::new(), Vec::with_capacity(alike.len()));
        // neighbours most often are moves of one instance
        let mut last = None;
        for survivor in alike {
            if numbers.last() != Some(&survivor.pattern) {
                numbers.push(survivor.pattern);
            }
            let own = match last {
                Some((instance, own)) if instance == survivor.instance => own,
                _ => self.own_rows(survivor.instance),
            };
            last = Some((survivor.instance, own));
            let rows = survivor.rows(own);
            spots.push((Spot { pattern: numbers.len() as u32 - 1, rows }, survivor.order()));
        }
        let patterns = verdicts.patterns(&numbers);
        // where each stands for itself, there is nothing to be gained
        let many = FEW_ALIKE * alike.len() >= balancer.board().rows().len();
        if many && 2 * patterns.len() <= alike.len() {
            spots = contenders(scorer, &patterns, &spots).into_iter().map(|at| spots[at]).collect();
        }
        let current = balancer.score();
        let both = |a: Option<ScoredMove>, b: Option<ScoredMove>| b.map_or(a, |b| better(a, b, current));
        best_of_chunks(&spots, both, |some| self.best_at(scorer, &patterns, some))
    }

    /// The best of some survivors, given by pattern and rows.
    fn best_at(
        &self,
        scorer: &Scorer<'_>,
        patterns: &[Pattern],
        spots: &[(Spot, MoveOrder)],
    ) -> Option<ScoredMove> {
        self.scored.fetch_add(spots.len() as u64, Ordering::Relaxed);
        let at: Vec<Spot> = spots.iter().map(|(spot, _)| *spot).collect();
        let scored =
            scorer.scores_at(patterns, &at).into_iter().zip(spots).filter(|(score, _)| !score.is_nan());
        let scored =
            scored.map(|(score, (_, order))| ScoredMove { score, order: *order, mv: self.mv(*order) });
        scored.fold(None, |best, new| better(best, new, self.balancer.score()))
    }

    /// The move that has a place in the order.
    fn mv(&self, MoveOrder { instance, rank }: MoveOrder) -> Move {
        let balancer = self.balancer;
        match rank.checked_sub(1) {
            None => Move::Failover,
            Some(at) => {
                let repertoire = balancer.repertoire(balancer.cluster().instance(instance));
                repertoire.to_target[at % KINDS](self.online[at / KINDS])
            }
        }
    }

    /// The rows of the nodes that an instance has.
    fn own_rows(&self, instance: InstanceIdx) -> OwnRows {
        let balancer = self.balancer;
        let instance = balancer.cluster().instance(instance);
        let row = |node| balancer.board().row(node).map_or(Spot::NO_ROW, |row| row as u32);
        OwnRows { primary: row(instance.primary), mirror: instance.mirror().map(row) }
    }

    /// The outcomes of survivors' moves.
    fn tried<'s>(&self, survivors: impl Iterator<Item = &'s Survivor>) -> Vec<TriedMove<'s, '_>> {
        let balancer = self.balancer;
        let tried = survivors.filter_map(|survivor| {
            let instance = balancer.cluster().instance(survivor.instance);
            let mv = self.mv(survivor.order());
            let outcome = Trial::new(balancer.cluster(), instance, balancer.rules()).run(mv).ok()?;
            let spread_change = balancer.spread_change(instance, outcome.placement);
            Some(TriedMove { survivor, mv, outcome, spread_change })
        });
        tried.collect()
    }

    fn best_scored(&self, scorer: &Scorer<'_>, survivors: &[Survivor]) -> Option<ScoredMove> {
        self.scored.fetch_add(survivors.len() as u64, Ordering::Relaxed);
        let tried = self.tried(survivors.iter());
        let states: Vec<ChangedState<'_>> = tried.iter().map(TriedMove::changed).collect();
        let scores = scorer.scores(&states);
        let scored = tried.iter().zip(scores).filter(|(_, score)| !score.is_nan());
        let scored = scored.map(|(TriedMove { survivor: s, mv, .. }, score)| ScoredMove {
            score,
            order: s.order(),
            mv: *mv,
        });
        scored.fold(None, |best, new| better(best, new, self.balancer.score()))
    }
}

/// The best of many, of which `best` finds the best of some.
fn best_of_chunks<T: Sync>(
    all: &[T],
    both: impl Fn(Option<ScoredMove>, Option<ScoredMove>) -> Option<ScoredMove> + Sync + Send,
    best: impl Fn(&[T]) -> Option<ScoredMove> + Sync + Send,
) -> Option<ScoredMove> {
    let at_once = if all.len() < MANY { SCORED_AT_ONCE } else { MANY_AT_ONCE };
    match all.len() {
        0 => None,
        len if len <= at_once => best(all),
        _ => all.par_chunks(at_once).map(best).reduce(|| None, both),
    }
}

/// A survivor with what its move leads to.
struct TriedMove<'s, 'c> {
    survivor: &'s Survivor,
    mv: Move,
    outcome: Outcome<'c>,
    spread_change: i64,
}

impl TriedMove<'_, '_> {
    fn changed(&self) -> ChangedState<'_> {
        ChangedState { touched: self.outcome.touched(), spread_change: self.spread_change }
    }
}

/// Exact scores that one thread computes at a time.
const SCORED_AT_ONCE: usize = 32;

/// From this many on they are computed many at a time, which is less work altogether.
const MANY: usize = 96;
const MANY_AT_ONCE: usize = 4096;

/// Fewer survivors than this are scored as they are.
const FEWEST_DRAFTED: usize = 5;

/// Places are compared where so many times the number of survivors is that of the nodes.
const FEW_ALIKE: usize = 8;
