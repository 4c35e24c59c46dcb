//! Search for prices that raise the lowest bound, over all numbers of nodes by level and ranges of the deviations.

use std::collections::HashSet;

use rayon::prelude::*;

use super::super::ranges::RangeProblem;
use super::counts::{NodesByLevel, level_counts};
use super::cuts::ContentCut;
use super::grid::ContentGrid;
use super::master::{MasterSolution, MasterTask, solve};
use super::parts::{OpenContents, Proofs};
use super::prices::NodeContent;
use super::problem::ContentProblem;
use super::start::RangeStart;
use crate::Deadline;

/// Number of parts that are improved at the same time, whatever the number of threads.
pub(super) const AT_ONCE: usize = 4;

/// Number of rounds of improvement, and of those on clusters of few nodes.
const ROUNDS: usize = 60;
const FEWEST_ROUNDS: usize = 12;
const FEW_NODES: usize = 12;

/// Maximum number of steps to fill tables in all rounds.
const MOST_STEPS: usize = 20_000_000_000;

/// Targets between the floor and the known cost. Ranges are narrower, and bounds higher, if the target is lower.
const TARGETS: [f64; 4] = [0.15, 0.3, 0.6, 1.0];

/// Prices are tried at this share of the way from the best ones to those of the linear program.
const TOWARDS: f64 = 0.7;

/// If a program promises less than this share of what is left to the target, its prices get more freedom.
const SMALL_PROMISE: f64 = 0.1;
const MORE_FREEDOM: f64 = 2.0;
const LESS_FREEDOM: f64 = 0.8;
const MOST_FREEDOM: f64 = 0.1;
const LEAST_FREEDOM: f64 = 0.001;

/// Bounds that rise by less than this do not count as raised.
const SMALL_RISE: f64 = 1e-6;

/// Errors of chords below this are not worth a split.
const SMALL_ERROR: f64 = 1e-5;

/// So few missing items in a solution are none.
const NONE_MISSING: f64 = 1e-4;

/// The state of a search.
struct ContentSearch<'a> {
    problem: &'a ContentProblem<'a>,
    counts: Vec<NodesByLevel>,
    target: f64,
    open: Vec<OpenContents>,
    cuts: Vec<ContentCut>,
    contents: Vec<NodeContent>,
    seen: HashSet<NodeContent>,
    /// Number of parts that were made so far.
    made: usize,
    /// Number of rounds that are left, and of steps to fill tables.
    rounds: usize,
    steps: usize,
}

/// The result of one round for a part.
struct PartImprovement {
    before: OpenContents,
    solution: Option<MasterSolution>,
    priced: Option<(ContentCut, Vec<NodeContent>)>,
}

/// Lower bound of the cost of the reserves and of the weighted deviations, or `known` if that is lower: the cost of a
/// placement. It is at least `floor`, another lower bound.
pub(in super::super) fn least(ranges: &RangeProblem, floor: f64, known: f64, deadline: &Deadline) -> f64 {
    if !(floor.is_finite() && floor < known) {
        return floor;
    }
    let Some(problem) = ContentProblem::of(ranges) else { return floor };
    let least: f64 =
        ranges.costs.weights.iter().zip(&ranges.costs.least).map(|(weight, least)| weight * least).sum();
    let Some(counts) = level_counts(&ranges.costs, problem.nodes, known - least) else { return floor };
    let start = RangeStart::of(&problem);
    let mut search = ContentSearch {
        problem: &problem,
        target: known,
        open: Vec::new(),
        cuts: Vec::new(),
        contents: Vec::new(),
        seen: HashSet::new(),
        made: counts.len(),
        rounds: if problem.nodes < FEW_NODES { FEWEST_ROUNDS } else { ROUNDS },
        steps: MOST_STEPS,
        counts,
    };
    let mut proved = floor;
    for share in TARGETS {
        search.begin(floor + share * (known - floor));
        search.improve_by_ranges(&start, deadline);
        while deadline.reached().is_none() && search.improve() {}
        let lowest = search.lowest();
        proved = proved.max(lowest);
        if lowest < search.target {
            break;
        }
    }
    proved
}

impl ContentSearch<'_> {
    fn proofs(&self) -> Proofs<'_> {
        Proofs { problem: self.problem, counts: &self.counts, cuts: &self.cuts, target: self.target }
    }

    /// Opens all placements that can cost less than a target.
    fn begin(&mut self, target: f64) {
        self.target = target;
        let proofs = self.proofs();
        let open = (0..self.counts.len()).into_par_iter().filter_map(|counts| {
            let mut part = OpenContents::all(counts, &proofs)?;
            // The last cuts are the best ones.
            let is_dear = (0..proofs.cuts.len()).rev().any(|cut| {
                part.raise(cut, &proofs);
                part.bound >= target
            });
            (!is_dear).then_some(part)
        });
        self.open = open.collect();
    }

    /// The lowest bound of all open parts, or the target if that is lower.
    fn lowest(&self) -> f64 {
        self.open.iter().map(|part| part.bound).fold(self.target, f64::min)
    }

    /// Adds a cut, and raises the bounds by it.
    fn cut(&mut self, cut: ContentCut) {
        self.cuts.push(cut);
        let mut open = std::mem::take(&mut self.open);
        let (proofs, at) = (self.proofs(), self.cuts.len() - 1);
        open.par_iter_mut().for_each(|part| part.raise(at, &proofs));
        open.retain(|part| part.bound < self.target);
        self.open = open;
    }

    /// The parts with the lowest bounds that are not done.
    fn lowest_parts(&self) -> Vec<&OpenContents> {
        let mut parts: Vec<&OpenContents> = self.open.iter().filter(|part| !part.is_done).collect();
        parts.sort_by(|a, b| a.bound.total_cmp(&b.bound).then(a.number.cmp(&b.number)));
        parts.truncate(AT_ONCE);
        parts
    }

    /// Raises the bounds by the prices of the bound by ranges, until the lowest one stays.
    fn improve_by_ranges(&mut self, start: &RangeStart, deadline: &Deadline) {
        if self.cuts.is_empty() {
            let first = start.first(self.problem, &self.open);
            first.into_iter().for_each(|cut| self.cut(cut));
        }
        let mut before = f64::NEG_INFINITY;
        while self.lowest() > before && !self.open.is_empty() && deadline.reached().is_none() {
            before = self.lowest();
            let parts = self.lowest_parts();
            let cuts: Vec<Option<ContentCut>> = parts
                .par_iter()
                .map(|part| start.cut(self.problem, &self.counts[part.counts], &part.ranges))
                .collect();
            cuts.into_iter().flatten().for_each(|cut| self.cut(cut));
        }
        let mut open = std::mem::take(&mut self.open);
        open.par_iter_mut().for_each(|part| part.shrink(&self.proofs()));
        self.open = open.into_iter().filter_map(|part| part.settled(&self.proofs())).collect();
        self.open.retain(|part| part.bound < self.target);
    }

    /// Improves the lowest parts; false if the lowest bound cannot rise.
    fn improve(&mut self) -> bool {
        let lowest = self.lowest();
        let is_stuck = self.open.iter().any(|part| part.is_done && part.bound <= lowest);
        if is_stuck || self.rounds == 0 || self.steps == 0 {
            return false;
        }
        self.rounds -= 1;
        let found: Vec<PartImprovement> =
            self.lowest_parts().par_iter().map(|part| self.improvement(part)).collect();
        for improvement in &found {
            if let Some((cut, contents)) = &improvement.priced {
                for content in contents {
                    if self.seen.insert(content.clone()) {
                        self.contents.push(content.clone());
                    }
                }
                self.steps = self.steps.saturating_sub(cut.grid.as_ref().map_or(0, |grid| grid.steps));
                self.cut(cut.clone());
            }
        }
        let is_any = !found.is_empty();
        found.into_iter().for_each(|improvement| self.follow(improvement));
        is_any
    }

    /// Solves the program for a part, and proves a bound by its prices.
    fn improvement(&self, part: &OpenContents) -> PartImprovement {
        let centre = &self.cuts[part.cut];
        // The prices of the bound by ranges are tried as they are.
        let task = MasterTask {
            problem: self.problem,
            counts: &self.counts[part.counts],
            ranges: &part.ranges,
            centre,
            freedom: part.freedom * self.target,
            last: part.last.as_ref(),
        };
        let solution = centre.grid.as_ref().and_then(|_| solve(&task, &self.contents));
        let prices = match &solution {
            Some(solution) => Some(centre.prices.towards(&solution.state.prices, TOWARDS)),
            None => centre.grid.is_none().then(|| centre.prices.clone()),
        };
        let priced = prices.and_then(|prices| {
            let grid = ContentGrid::of(self.problem, &part.ranges)?;
            Some(ContentCut::by_contents(self.problem, grid, prices))
        });
        PartImprovement { before: part.clone(), solution, priced }
    }

    /// Splits the part of an improvement, or gives its prices more or less freedom.
    fn follow(&mut self, PartImprovement { before, solution, priced }: PartImprovement) {
        let Some(at) = self.open.iter().position(|part| part.number == before.number) else { return };
        let part = &mut self.open[at];
        let Some(solution) = solution else {
            part.is_done = priced.is_none();
            return;
        };
        part.last = Some(solution.state.clone());
        let promise = solution.value - part.bound;
        let is_free = solution.missing < NONE_MISSING;
        if !is_free && promise < SMALL_PROMISE * (self.target - part.bound) {
            part.freedom = (before.freedom * MORE_FREEDOM).min(MOST_FREEDOM);
        } else if part.bound < before.bound + SMALL_RISE {
            part.freedom = (before.freedom * LESS_FREEDOM).max(LEAST_FREEDOM);
        }
        let (error, lane, middle) = part.worst(self.problem, &solution);
        if is_free && error > promise.max(SMALL_ERROR) {
            let halves = self.open.swap_remove(at).halves(lane, middle);
            halves.into_iter().for_each(|half| self.add(half));
        } else {
            part.is_done = priced.is_none() || (is_free && promise < SMALL_RISE);
        }
    }

    /// Adds a part of a part that was split.
    fn add(&mut self, part: OpenContents) {
        let Some(mut part) = part.settled(&self.proofs()) else { return };
        part.number = self.made;
        self.made += 1;
        part.shrink(&self.proofs());
        if part.bound < self.target {
            self.open.push(part);
        }
    }
}
