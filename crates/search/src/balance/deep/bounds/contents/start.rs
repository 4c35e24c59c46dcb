//! The first cuts: the prices of the bound by ranges.

use super::super::levels::{ItemKind, bundled};
use super::super::ranges::{Range, RangeBox, propose};
use super::counts::NodesByLevel;
use super::cuts::ContentCut;
use super::parts::OpenContents;
use super::problem::ContentProblem;

/// Maximum number of variables of a program. Items are bundled until they fit.
const MOST_VARIABLES: usize = 4_000;

/// Half of the width of the ranges of the levels' mean, of their deviation, and of the shares of nodes, in a program.
const MARGIN: f64 = 1e-9;

/// The programs of the bound by ranges.
pub(super) struct RangeStart {
    bundles: Vec<ItemKind>,
}

impl RangeStart {
    pub(super) fn of(problem: &ContentProblem<'_>) -> RangeStart {
        let levels = problem.ranges.costs.levels.len();
        RangeStart { bundles: bundled(&problem.ranges.items, levels, MOST_VARIABLES) }
    }

    /// A cut for all numbers of nodes by level; `None` if the solver finds none.
    pub(super) fn first(&self, problem: &ContentProblem<'_>, open: &[OpenContents]) -> Option<ContentCut> {
        let costs = &problem.ranges.costs;
        let widest = costs.least.iter().enumerate().map(|(lane, least)| Range {
            low: *least,
            high: open.iter().map(|part| part.ranges[lane].high).fold(*least, f64::max),
        });
        let mean = Range { low: 0.0, high: costs.levels[0] };
        // No values between 0 and the highest level deviate more than half of that.
        let deviation = Range { low: 0.0, high: 0.5 * costs.levels[0] };
        let within = RangeBox {
            deviations: widest.chain([deviation]).collect(),
            mean,
            shares: vec![Range { low: 0.0, high: 1.0 }; costs.levels.len() - 1],
        };
        let proposal = propose(problem.ranges, &self.bundles, &within)?;
        Some(ContentCut::by_ranges(problem, &proposal.prices))
    }

    /// A cut for some numbers of nodes by level and ranges of the deviations; `None` if the solver finds none.
    pub(super) fn cut(
        &self,
        problem: &ContentProblem<'_>,
        counts: &NodesByLevel,
        ranges: &[Range],
    ) -> Option<ContentCut> {
        let levels = &problem.ranges.costs.levels;
        let shares: Vec<f64> =
            counts.nodes.iter().map(|count| f64::from(*count) / problem.nodes as f64).collect();
        let over = |of: &dyn Fn(f64) -> f64| -> f64 {
            shares.iter().zip(levels).map(|(share, level)| share * of(*level)).sum()
        };
        let around = |x: f64| Range { low: x * (1.0 - MARGIN), high: x * (1.0 + MARGIN) + MARGIN };
        let mean = over(&|level| level);
        let deviation = over(&|level| (level - mean).powi(2)).sqrt();
        let mut higher = 0.0;
        let cumulated = shares[..levels.len() - 1].iter().map(|share| {
            higher += share;
            around(higher)
        });
        let within = RangeBox {
            shares: cumulated.collect(),
            deviations: ranges.iter().copied().chain([around(deviation)]).collect(),
            mean: around(mean),
        };
        let proposal = propose(problem.ranges, &self.bundles, &within)?;
        Some(ContentCut::by_ranges(problem, &proposal.prices))
    }
}
