//! Places for instances that need one node.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::floor::Floor;
use super::kinds::KindIdx;
use super::offers::{NodeWithInstance, Offers};
use super::shelf::{Shelf, View};
use super::{PlaceMetric, PlaceSearch, exact};
use crate::parallel::note;
use htools_model::score::Touched;
use htools_model::score::interval::CountedPart;
use htools_model::score::metrics::Counted;
use htools_model::{FailCounts, FailKind, NodeIdx, Place, Placement};

/// Nodes of one kind that could take the instance.
struct KindCandidate {
    kind: KindIdx,
    arrived: NodeWithInstance,
    /// Lower bound of the score on the nodes of the kind.
    least: f64,
}

/// Nodes with a known score.
#[derive(Clone, Copy)]
struct KnownScores {
    score: f64,
    /// The rows of the nodes; the last one is preferred.
    from: usize,
    to: usize,
    candidate: usize,
    /// True if both ends of the range are nodes of the kind.
    trimmed: bool,
}

/// The greatest is the best. Among scores that are not numbers, the first node comes first.
impl Ord for KnownScores {
    fn cmp(&self, other: &KnownScores) -> Ordering {
        match (self.score.is_nan(), other.score.is_nan()) {
            (true, true) => other.from.cmp(&self.from),
            (false, false) => {
                let by_score = other.score.partial_cmp(&self.score).unwrap_or(Ordering::Equal);
                by_score.then(self.to.cmp(&other.to))
            }
            (is_nan, _) => (!is_nan).cmp(&is_nan),
        }
    }
}

impl PartialOrd for KnownScores {
    fn partial_cmp(&self, other: &KnownScores) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KnownScores {
    fn eq(&self, other: &KnownScores) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for KnownScores {}

/// The possible nodes from best to worst; among equals, the later one comes first.
pub(super) struct Ranking<'f, 'c> {
    floor: &'f Floor<'c>,
    /// Candidates without scores yet, by descending bound.
    closed: Vec<usize>,
    candidates: Vec<KindCandidate>,
    open: BinaryHeap<KnownScores>,
    surplus: Vec<i64>,
}

/// Up to this number of nodes of a kind, scores are computed one by one.
const WORTH_ALL_ROWS: usize = 4;

impl<'f, 'c> Ranking<'f, 'c> {
    pub(super) fn new(floor: &'f Floor<'c>, offers: &mut Offers<'_>) -> Ranking<'f, 'c> {
        Ranking::among(floor, offers, floor.usable_kinds())
    }

    /// Ranks the nodes of some kinds only.
    fn among(
        floor: &'f Floor<'c>,
        offers: &mut Offers<'_>,
        kinds: impl Iterator<Item = KindIdx>,
    ) -> Ranking<'f, 'c> {
        let instance = offers.instance;
        let mut candidates = Vec::new();
        let mut surplus = Vec::new();
        // Most kinds do not differ in any count.
        let mut last: Option<((Counted, i64), CountedPart)> = None;
        for kind in kinds {
            let Ok(arrived) = offers.primary(floor, kind) else { continue };
            let sample = floor.kinds.get(kind);
            let spec = &floor.cluster.node(sample.sample).spec;
            let spread = floor.board.spread();
            let changed = spread.surplus() + spread.change(instance, None, Some(spec));
            let counts = (floor.board.counted() + arrived.change.counted(), changed);
            let counted = match last {
                Some((known, part)) if known == counts => part,
                _ => CountedPart::of(floor.board.weights(), &counts.0, counts.1),
            };
            last = Some((counts, counted));
            let bounds = floor.running.interval_between(&sample.lanes, &arrived.lanes, counted);
            // A bound that is not a number excludes nothing.
            let least = if bounds.lo.is_nan() { f64::NEG_INFINITY } else { bounds.lo };
            candidates.push(KindCandidate { kind, arrived: **arrived, least });
            surplus.push(changed);
        }
        note(candidates.len());
        let mut closed: Vec<usize> = (0..candidates.len()).collect();
        closed.sort_by(|a, b| candidates[*b].least.total_cmp(&candidates[*a].least));
        Ranking { floor, closed, candidates, open: BinaryHeap::new(), surplus }
    }

    /// Computes the scores on the nodes of a kind.
    fn open(&mut self, at: usize) {
        let KindCandidate { kind, arrived, .. } = &self.candidates[at];
        let floor = self.floor;
        let sample = floor.kinds.get(*kind);
        let surplus = self.surplus[at];
        if sample.members.len() <= WORTH_ALL_ROWS {
            for &member in &sample.members {
                let spec = &floor.cluster.node(member).spec;
                let touched = [Touched { spec, before: &sample.ledger, after: arrived.ledger }];
                let score = floor.board.score_with(&touched, surplus - floor.board.spread().surplus());
                let row = floor.board.row(member).unwrap_or_default();
                self.open.push(KnownScores { score, from: row, to: row + 1, candidate: at, trimmed: true });
            }
            return;
        }
        let known = |exact::ScoredRows { from, to, score }| KnownScores {
            score,
            from,
            to,
            candidate: at,
            trimmed: false,
        };
        self.open.extend(exact::by_row(floor, *kind, arrived, surplus).into_iter().map(known));
    }

    /// The next node, with its score.
    pub(super) fn next(&mut self) -> Option<(f64, Place)> {
        while let Some(&at) = self.closed.last() {
            let bound = self.candidates[at].least;
            if self.best().is_some_and(|best| best.score < bound) {
                break;
            }
            self.closed.pop();
            self.open(at);
        }
        self.best()?;
        let known = self.open.pop()?;
        let KnownScores { score, from, to, candidate, .. } = known;
        let row = if score.is_nan() { from } else { to - 1 };
        self.keep(known, if score.is_nan() { from + 1..to } else { from..to - 1 });
        let node = self.floor.rows.node(row);
        let primary = self.candidates[candidate].arrived.ledger;
        let placement = Placement { primary: node, secondary: None };
        Some((score, Place { placement, location_score: 0, primary, secondary: None }))
    }

    /// The best node with a known score, with its range trimmed.
    fn best(&mut self) -> Option<&KnownScores> {
        while self.open.peek().is_some_and(|known| !known.trimmed) {
            let known = self.open.pop()?;
            self.keep(known, known.from..known.to);
        }
        self.open.peek()
    }

    /// Keeps the rows of a range whose nodes are of the kind, from the first such node to the last.
    fn keep(&mut self, known: KnownScores, rows: Range<usize>) {
        let within = self.within(known.candidate, rows);
        self.open.extend(within.map(|rows| KnownScores {
            from: rows.start,
            to: rows.end,
            trimmed: true,
            ..known
        }));
    }

    /// The range without the rows at both ends that are of another kind.
    fn within(&self, candidate: usize, range: Range<usize>) -> Option<Range<usize>> {
        if range.is_empty() {
            return None;
        }
        let rows = &self.floor.rows;
        let members = &self.floor.kinds.get(self.candidates[candidate].kind).members;
        let (first, last) = (rows.node(range.start), rows.node(range.end - 1));
        let low = members.partition_point(|m| *m < first);
        let high = members.partition_point(|m| *m <= last);
        if low == high {
            return None;
        }
        let row = |at: usize| self.floor.board.row(members[at]);
        Some(row(low)?..row(high - 1)? + 1)
    }
}

/// The refusals of nodes, and the number of nodes that accept the instance.
pub(super) fn count(floor: &Floor<'_>, offers: &mut Offers<'_>) -> (FailCounts, u64) {
    let mut failures = FailCounts::default();
    let mut successes = 0;
    for kind in floor.usable_kinds() {
        let members = floor.kinds.get(kind).members.len() as u64;
        match offers.primary(floor, kind) {
            Ok(_) => successes += members,
            Err(kind) => failures.add(kind, members),
        }
    }
    (failures, successes)
}

/// Searches for the best node for which `holds` is true; better ones count as refused.
pub(super) fn find(
    floor: &Floor<'_>,
    offers: &mut Offers<'_>,
    mut holds: impl FnMut(&Place) -> bool,
) -> PlaceSearch {
    let (mut failures, mut successes) = count(floor, offers);
    let mut ranking = Ranking::new(floor, offers);
    while let Some((score, place)) = ranking.next() {
        if holds(&place) {
            return PlaceSearch { best: Some((PlaceMetric::Score(score), place)), successes, failures };
        }
        successes -= 1;
        failures.add(FailKind::N1, 1);
    }
    PlaceSearch { best: None, successes, failures }
}

/// The best node with its score, ignoring redundancy.
pub(crate) fn best(floor: &Floor<'_>, offers: &mut Offers<'_>) -> Option<(f64, Place)> {
    Ranking::new(floor, offers).next()
}

/// The best node, found with a shelf for the instance; the same as that of [`best`].
pub(super) fn best_from(floor: &Floor<'_>, offers: &mut Offers<'_>, shelf: &mut Shelf) -> Option<Place> {
    let view = View { running: &floor.running, counted: floor.board.counted() };
    let Some(near) = shelf.near(floor, &view, f64::INFINITY, |_| true) else {
        return best(floor, offers).map(|(_, place)| place);
    };
    if let [(kind, _)] = near[..]
        && let [only] = floor.kinds.get(kind).members[..]
    {
        let primary = offers.primary(floor, kind).ok()?.ledger;
        let placement = Placement { primary: only, secondary: None };
        return Some(Place { placement, location_score: 0, primary, secondary: None });
    }
    let kinds = near.iter().map(|(kind, _)| *kind);
    Ranking::among(floor, offers, kinds).next().map(|(_, place)| place)
}

/// The best node except `not`. The second value is true if nodes of other kinds are worse by more than rounding
/// errors.
pub(super) fn best_elsewhere(
    floor: &Floor<'_>,
    offers: &mut Offers<'_>,
    not: NodeIdx,
) -> Option<(Place, bool)> {
    let mut ranking = Ranking::new(floor, offers);
    loop {
        let (score, place) = ranking.next()?;
        let node = place.placement.primary;
        if node != not {
            return Some((place, ranking.others_are_worse(score, floor.kinds.of_node(node))));
        }
    }
}

impl Ranking<'_, '_> {
    /// Returns true if all other kinds are clearly worse than a score.
    fn others_are_worse(&self, score: f64, kind: KindIdx) -> bool {
        let clearly = score + 1e-9 * score.abs().max(1.0);
        let other = |at: &usize| self.candidates[*at].kind != kind;
        let closed = self.closed.iter().filter(|at| other(at)).map(|at| self.candidates[*at].least);
        let open = self.open.iter().filter(|known| other(&known.candidate)).map(|known| known.score);
        closed.chain(open).all(|other| other > clearly)
    }
}
