//! Parts of the placements: the same numbers of nodes by level, and ranges of the deviations.

use super::super::ROUNDING;
use super::super::ranges::Range;
use super::counts::NodesByLevel;
use super::cuts::ContentCut;
use super::master::{MasterSolution, MasterState};
use super::problem::ContentProblem;

/// Shares of a range that are tried to be cut off.
const CUT_OFF: [f64; 6] = [0.5, 0.25, 0.1, 0.5, 0.25, 0.1];

/// Freedom of the prices at first, as a share of the target.
const FIRST_FREEDOM: f64 = 0.005;

/// Placements with the same numbers of nodes by level, and with deviations in ranges.
#[derive(Debug, Clone)]
pub(super) struct OpenContents {
    /// Number in the order of creation.
    pub number: usize,
    /// Index of the numbers of nodes by level.
    pub counts: usize,
    /// The deviation of each lane.
    pub ranges: Vec<Range>,
    pub bound: f64,
    /// Index of the cut that proves the bound.
    pub cut: usize,
    /// Freedom of the prices: their distance from those of this cut, as a share of the target.
    pub freedom: f64,
    pub last: Option<MasterState>,
    /// True if no prices raise the bound.
    pub is_done: bool,
}

/// All that bounds a part.
#[derive(Clone, Copy)]
pub(super) struct Proofs<'a> {
    pub problem: &'a ContentProblem<'a>,
    pub counts: &'a [NodesByLevel],
    pub cuts: &'a [ContentCut],
    /// Placements that cost this or more do not matter.
    pub target: f64,
}

impl OpenContents {
    /// All placements with some numbers of nodes by level; `None` if none costs less than the target.
    pub(super) fn all(counts: usize, proofs: &Proofs<'_>) -> Option<OpenContents> {
        let low = |least: &f64| Range { low: least * (1.0 - ROUNDING), high: f64::INFINITY };
        let all = OpenContents {
            number: counts,
            counts,
            ranges: proofs.problem.ranges.costs.least.iter().map(low).collect(),
            bound: f64::NEG_INFINITY,
            cut: 0,
            freedom: FIRST_FREEDOM,
            last: None,
            is_done: false,
        };
        all.settled(proofs)
    }

    /// The placements of this part that can cost less than the target; `None` if there is none.
    pub(super) fn settled(mut self, proofs: &Proofs<'_>) -> Option<OpenContents> {
        let weights = &proofs.problem.ranges.costs.weights;
        let deviations = self.ranges.iter().zip(weights).map(|(range, weight)| range.low * weight);
        let sum = proofs.counts[self.counts].cost + deviations.sum::<f64>();
        let left = proofs.target - sum + ROUNDING * (proofs.target.abs() + sum);
        for (range, weight) in self.ranges.iter_mut().zip(weights) {
            range.high = range.high.min(range.low + left / weight);
        }
        (left > 0.0 && self.ranges.iter().all(|range| range.low <= range.high)).then_some(self)
    }

    /// Raises the bound by a cut, given its index.
    pub(super) fn raise(&mut self, at: usize, proofs: &Proofs<'_>) {
        let bound = proofs.cuts[at].bound(proofs.problem, &proofs.counts[self.counts], &self.ranges);
        if bound > self.bound {
            (self.bound, self.cut) = (bound, at);
        }
    }

    /// Cuts off the ends of ranges where all placements cost the target or more, and raises the bound by all cuts.
    pub(super) fn shrink(&mut self, proofs: &Proofs<'_>) {
        let counts = &proofs.counts[self.counts];
        let is_dear = |ranges: &[Range]| {
            proofs.cuts.iter().any(|cut| cut.bound(proofs.problem, counts, ranges) >= proofs.target)
        };
        for lane in 0..self.ranges.len() {
            for (share, upper) in CUT_OFF.into_iter().flat_map(|share| [(share, true), (share, false)]) {
                let Range { low, high } = self.ranges[lane];
                let at = if upper { high - share * (high - low) } else { low + share * (high - low) };
                let (below, above) = (Range { low, high: at }, Range { low: at, high });
                let (end, rest) = if upper { (above, below) } else { (below, above) };
                self.ranges[lane] = end;
                self.ranges[lane] = if is_dear(&self.ranges) { rest } else { Range { low, high } };
            }
        }
        (0..proofs.cuts.len()).for_each(|cut| self.raise(cut, proofs));
    }

    /// The lane for which chord and curve differ most at a solution, by how much, and the deviation there.
    pub(super) fn worst(&self, problem: &ContentProblem<'_>, solution: &MasterSolution) -> (f64, usize, f64) {
        let mut worst = (0.0, 0, 0.0);
        let weights = &problem.ranges.costs.weights;
        for (lane, (range, weight)) in self.ranges.iter().zip(weights).enumerate() {
            let (error, deviation) = range.chord_error(solution.variances[lane]);
            if weight * error > worst.0 {
                worst = (weight * error, lane, range.inside(deviation));
            }
        }
        worst
    }

    /// The parts on both sides of a deviation of a lane.
    pub(super) fn halves(&self, lane: usize, at: f64) -> [OpenContents; 2] {
        let (mut below, mut above) = (self.clone(), self.clone());
        below.ranges[lane].high = at;
        above.ranges[lane].low = at;
        [below, above]
    }
}
