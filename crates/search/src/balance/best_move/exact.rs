//! The last filter: exact scores of the moves that the bounds have left.

use std::sync::atomic::Ordering;

use super::{BestMoveSearch, ScoredMove, better};
use crate::balance::survivor::{KINDS, MoveOrder, NO_PATTERN, OwnRows, Survivor};
use crate::balance::ties::contenders;
use crate::moves::{Outcome, Trial};
use crate::parallel::{map, note};
use htools_model::score::batch::{ChangedState, Pattern, Scorer, Spot};
use htools_model::{InstanceIdx, Move};

impl BestMoveSearch<'_> {
    /// Returns the best, by exact score, of the survivors and the move found before.
    pub(super) fn score_survivors(
        &self,
        survivors: &mut Vec<Survivor>,
        before: Option<ScoredMove>,
    ) -> Option<ScoredMove> {
        let limit = self.limit.get();
        survivors.retain(|s| !(s.lo > limit));
        if survivors.is_empty() {
            return before;
        }
        let scorer = Scorer::of(self.balancer.board());
        // Survivors without a pattern come last. There are few patterns, so this takes few passes.
        survivors.sort_unstable_by_key(|s| s.pattern);
        let drafted = survivors.partition_point(|s| s.pattern != NO_PATTERN);
        let (alike, others) = survivors.split_at(if drafted < FEWEST_DRAFTED { 0 } else { drafted });
        let current = self.balancer.score();
        let both = |a: Option<ScoredMove>, b: Option<ScoredMove>| b.map_or(a, |b| better(a, b, current));
        let best = both(self.best_of_alike(&scorer, alike), before);
        both(best_of_chunks(others, both, |some| self.best_scored(&scorer, some)), best)
    }

    /// Returns the best of the survivors whose patterns are known. The survivors are sorted by pattern.
    fn best_of_alike(&self, scorer: &Scorer<'_>, alike: &[Survivor]) -> Option<ScoredMove> {
        let (balancer, verdicts) = (self.balancer, self.verdicts?);
        let (mut numbers, mut spots) = (Vec::new(), Vec::with_capacity(alike.len()));
        // Neighbours are usually moves of the same instance.
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
        // If each survivor has a pattern of its own, comparing patterns gains nothing.
        let many = FEW_ALIKE * alike.len() >= balancer.board().rows().len();
        if many && 2 * patterns.len() <= alike.len() {
            spots = contenders(scorer, &patterns, &spots).into_iter().map(|at| spots[at]).collect();
        }
        let current = balancer.score();
        let both = |a: Option<ScoredMove>, b: Option<ScoredMove>| b.map_or(a, |b| better(a, b, current));
        best_of_chunks(&spots, both, |some| self.best_at(scorer, &patterns, some))
    }

    /// Returns the best of some survivors, given by pattern and rows.
    fn best_at(
        &self,
        scorer: &Scorer<'_>,
        patterns: &[Pattern],
        spots: &[(Spot, MoveOrder)],
    ) -> Option<ScoredMove> {
        self.scored.fetch_add(spots.len() as u64, Ordering::Relaxed);
        note(spots.len());
        let at: Vec<Spot> = spots.iter().map(|(spot, _)| *spot).collect();
        let scored =
            scorer.scores_at(patterns, &at).into_iter().zip(spots).filter(|(score, _)| !score.is_nan());
        let scored =
            scored.map(|(score, (_, order))| ScoredMove { score, order: *order, mv: self.mv(*order) });
        scored.fold(None, |best, new| better(best, new, self.balancer.score()))
    }

    /// The move at a place in the order of all moves.
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

    /// The rows of the instance's nodes.
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
        note(survivors.len());
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

/// Splits `all` into chunks, finds the best of each chunk with `best`, and joins the results with `both`.
fn best_of_chunks<T: Sync>(
    all: &[T],
    both: impl Fn(Option<ScoredMove>, Option<ScoredMove>) -> Option<ScoredMove> + Sync + Send,
    best: impl Fn(&[T]) -> Option<ScoredMove> + Sync + Send,
) -> Option<ScoredMove> {
    let at_once = if all.len() < MANY { SCORED_AT_ONCE } else { MANY_AT_ONCE };
    match all.len() {
        0 => None,
        len if len <= at_once => best(all),
        _ => map(all.chunks(at_once), 1, best).into_iter().fold(None, both),
    }
}

/// A survivor with the outcome of its move.
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

/// Number of exact scores that one thread computes at a time.
const SCORED_AT_ONCE: usize = 32;

/// From this many survivors on, larger chunks are used, since they take less work in total.
const MANY: usize = 96;
const MANY_AT_ONCE: usize = 4096;

/// Fewer survivors than this are scored without looking at their patterns.
const FEWEST_DRAFTED: usize = 5;

/// Patterns are compared if this multiple of the number of survivors reaches the number of nodes.
const FEW_ALIKE: usize = 8;
