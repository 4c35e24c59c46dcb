//! Tries the secondaries of one primary, from best to worst.

use super::{KindPair, Pairs, ScoredPair};
use crate::place::{PlaceMetric, PlaceSearch};
use htools_model::score::PairUpdate;
use htools_model::{FailCounts, FailKind, NodeIdx, Place};

/// Tries the pairs of a primary until one passes.
pub(super) fn one_primary(
    pairs: &Pairs<'_, '_, '_, '_>,
    primary: NodeIdx,
    mut failures: FailCounts,
    mut successes: u64,
    holds: &mut impl FnMut(&Place) -> bool,
) -> PlaceSearch {
    if let Some(mut walk) = PairWalk::new(pairs, primary).filter(|_| successes > 0) {
        while let Some(pair) = walk.next() {
            let place = pairs.place(&pair);
            if holds(&place) {
                return PlaceSearch {
                    best: Some((PlaceMetric::Score(pair.score), place)),
                    successes,
                    failures,
                };
            }
            successes -= 1;
            failures.add(FailKind::N1, 1);
        }
    }
    PlaceSearch { best: None, successes, failures }
}

struct PairWalk<'w, 'f, 'c, 'o, 'i> {
    pairs: &'w Pairs<'f, 'c, 'o, 'i>,
    primary: NodeIdx,
    /// Position of the primary's kind.
    at: usize,
    with: PairUpdate,
    /// The kinds of secondaries that are not scored yet, by ascending bound.
    closed: std::slice::Iter<'w, usize>,
    open: Vec<ScoredPair>,
}

impl<'w, 'f, 'c, 'o, 'i> PairWalk<'w, 'f, 'c, 'o, 'i> {
    fn new(pairs: &'w Pairs<'f, 'c, 'o, 'i>, primary: NodeIdx) -> Option<PairWalk<'w, 'f, 'c, 'o, 'i>> {
        let kind = pairs.floor.kinds.of_node(primary);
        let at = pairs.kinds.iter().position(|k| *k == kind)?;
        let group = pairs.floor.cluster.node(primary).spec.group;
        let with = pairs.with_primary(at)?;
        let closed = pairs.orders[group.get()].1.iter();
        Some(PairWalk { pairs, primary, at, with, closed, open: Vec::new() })
    }

    /// Computes the scores with the secondaries of a kind.
    fn open(&mut self, s: usize) {
        let (pairs, kinds) = (self.pairs, KindPair { primary: self.at, secondary: s });
        let Some(usual) = pairs.places[s].1.as_deref() else { return };
        let score = pairs.score(&self.with, kinds, usual);
        let unusual: Vec<ScoredPair> =
            pairs.unusual_partners(&self.with, self.primary, kinds, usual).collect();
        let backing = pairs.floor.backing(self.primary);
        let is_usual = |s: &NodeIdx| !backing.iter().any(|b| b.0 == *s && !pairs.is_usual(usual, b.1));
        let members = pairs.members(s).iter().copied().filter(|s| *s != self.primary).filter(is_usual);
        self.open.extend(members.map(|secondary| ScoredPair {
            score,
            primary: self.primary,
            secondary,
            kinds,
            second: *usual,
        }));
        self.open.extend(unusual);
    }

    fn next(&mut self) -> Option<ScoredPair> {
        let own = self.pairs.bounds.primary(self.at);
        loop {
            let best = self.best_open();
            let Some(next) = self.closed.clone().next() else { break };
            let bound = own + self.pairs.bounds.secondary(*next);
            if self.pairs.bounds_hold() && best.is_some_and(|b| self.open[b].score < bound) {
                break;
            }
            self.closed.next();
            self.open(*next);
        }
        self.best_open().map(|best| self.open.swap_remove(best))
    }

    fn best_open(&self) -> Option<usize> {
        let mut best: Option<usize> = None;
        for at in 0..self.open.len() {
            if best.is_none_or(|b| self.open[at].precedes(&self.open[b])) {
                best = Some(at);
            }
        }
        best
    }
}
