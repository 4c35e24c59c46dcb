//! Finds prices by a linear program over the contents of nodes that were seen so far.
//!
//! Its variables are the number of nodes with each content, the deviations, by how much the variances are beyond their
//! ranges, and how many items of each type are missing or too many. What items pay stays near the best prices so far.

use clarabel::solver::SupportedConeT::{NonnegativeConeT, ZeroConeT};

use super::super::program::ProgramRows;
use super::super::ranges::Range;
use super::counts::NodesByLevel;
use super::cuts::ContentCut;
use super::grid::WIDER;
use super::prices::{ContentPrices, NodeContent};
use super::problem::ContentProblem;

/// Maximum number of contents that a program keeps, and of others that are added.
const MOST_CONTENTS: usize = 400;
const MOST_NEW: usize = 100;

/// A program has no fewer contents at each level, if there are so many.
const AT_EACH_LEVEL: usize = 10;

/// Price for what is beyond a range, as a multiple of the price along the chord.
const OF_EXCESS: f64 = 20.0;

/// The end of a range is at least this in the program.
const LEAST_END: f64 = 1e-9;

/// The prices and contents that the next program starts from.
#[derive(Debug, Clone)]
pub(super) struct MasterState {
    pub prices: ContentPrices,
    /// For each level, the least cost of a node there, as a share of all nodes.
    levels: Vec<f64>,
    /// The positions of contents that cost little.
    contents: Vec<usize>,
}

/// A solution of the program.
pub(super) struct MasterSolution {
    /// The value of the program.
    pub value: f64,
    pub state: MasterState,
    /// For each lane, its variance.
    pub variances: Vec<f64>,
    /// Number of items that are missing or too many.
    pub missing: f64,
}

/// The placements that a program is for, and the prices that its own ones stay near.
#[derive(Clone, Copy)]
pub(super) struct MasterTask<'a> {
    pub problem: &'a ContentProblem<'a>,
    pub counts: &'a NodesByLevel,
    pub ranges: &'a [Range],
    pub centre: &'a ContentCut,
    /// Freedom of the payments: their distance from those of the centre, over the number of nodes.
    pub freedom: f64,
    pub last: Option<&'a MasterState>,
}

/// A linear program: positions of its variables.
struct MasterProgram<'a> {
    task: &'a MasterTask<'a>,
    chosen: Vec<&'a NodeContent>,
    /// The numbers of items by type, those of the secondaries last.
    items: Vec<f64>,
}

/// Solves the program over some contents; `None` if the solver finds no numbers.
pub(super) fn solve(task: &MasterTask<'_>, contents: &[NodeContent]) -> Option<MasterSolution> {
    let MasterTask { problem, counts, .. } = task;
    let positions = task.chosen(contents);
    let primaries = problem.primaries.iter().map(|of| of.count);
    let program = MasterProgram {
        task,
        chosen: positions.iter().map(|at| &contents[*at]).collect(),
        items: primaries.chain(problem.secondaries.iter().map(|of| of.count)).collect(),
    };
    let mut rows = ProgramRows::default();
    program.everything_is_somewhere(&mut rows);
    let equal = rows.height();
    rows.cones.push(ZeroConeT(equal));
    program.ranges(&mut rows);
    for column in (0..program.deviation(0)).chain(program.excess(0)..program.width()) {
        rows.put(column, -1.0);
        rows.end(0.0);
    }
    rows.cones.push(NonnegativeConeT(rows.height() - equal));
    let objective = program.objective();
    let solution = rows.solve(&objective)?;
    let (prices, levels) = program.prices(&solution.prices, equal);
    let variance = |lane: usize| {
        let parts = program.chosen.iter().zip(&solution.values);
        parts.map(|(of, number)| of.squares[lane] * number.max(0.0)).sum::<f64>() / problem.nodes as f64
    };
    let kept = cheapest(problem, contents, positions.iter().copied(), (&prices, &levels), MOST_CONTENTS);
    Some(MasterSolution {
        value: counts.cost + objective.iter().zip(&solution.values).map(|(a, b)| a * b).sum::<f64>(),
        variances: (0..problem.lanes.len()).map(variance).collect(),
        missing: solution.values[program.missing(0)..].iter().map(|x| x.max(0.0)).sum(),
        state: MasterState { prices, levels, contents: kept },
    })
}

impl MasterProgram<'_> {
    /// The deviation of a lane.
    fn deviation(&self, lane: usize) -> usize {
        self.chosen.len() + lane
    }

    /// By how much a variance is beyond its range.
    fn excess(&self, lane: usize) -> usize {
        self.deviation(self.task.ranges.len()) + lane
    }

    /// The number of missing items of a type; after it, the number of those that are too many.
    fn missing(&self, of: usize) -> usize {
        self.excess(self.task.ranges.len()) + 2 * of
    }

    fn width(&self) -> usize {
        self.missing(self.items.len())
    }

    /// Rows by which the contents hold all items, and the nodes have their levels.
    fn everything_is_somewhere(&self, rows: &mut ProgramRows) {
        let first_secondary = self.task.problem.primaries.len();
        let mut columns: Vec<Vec<(usize, u32)>> = vec![Vec::new(); self.items.len()];
        for (column, content) in self.chosen.iter().enumerate() {
            content.primaries.iter().for_each(|(at, number)| columns[*at].push((column, *number)));
            let secondaries = content.secondaries.iter();
            secondaries.for_each(|(at, number)| columns[first_secondary + at].push((column, *number)));
        }
        for ((of, columns), count) in columns.into_iter().enumerate().zip(&self.items) {
            columns.into_iter().for_each(|(column, number)| rows.put(column, f64::from(number)));
            rows.put(self.missing(of), 1.0);
            rows.put(self.missing(of) + 1, -1.0);
            rows.end(*count);
        }
        for (level, count) in self.task.counts.nodes.iter().enumerate().filter(|(_, count)| **count > 0) {
            let there = self.chosen.iter().enumerate().filter(|(_, of)| of.level == level);
            there.for_each(|(column, _)| rows.put(column, 1.0));
            rows.end(f64::from(*count));
        }
    }

    /// Three rows for each lane: the chord, the upper end of the range, and the lower one.
    fn ranges(&self, rows: &mut ProgramRows) {
        let nodes = self.task.problem.nodes as f64;
        for (lane, range) in self.task.ranges.iter().enumerate() {
            let (high, sum) = ends(range);
            let put_variance = |rows: &mut ProgramRows, unit: f64| {
                for (column, content) in self.chosen.iter().enumerate() {
                    rows.put(column, content.squares[lane] / (nodes * unit));
                }
            };
            put_variance(rows, sum * high);
            rows.put(self.deviation(lane), -1.0 / high);
            rows.end(-range.low / sum);
            put_variance(rows, high * high);
            rows.put(self.excess(lane), -1.0);
            rows.end(1.0);
            rows.put(self.deviation(lane), -1.0 / high);
            rows.end(-range.low / high);
        }
    }

    fn objective(&self) -> Vec<f64> {
        let MasterTask { problem, ranges, centre, freedom, .. } = self.task;
        let mut objective = vec![0.0; self.width()];
        for ((lane, range), weight) in ranges.iter().enumerate().zip(&problem.ranges.costs.weights) {
            let (high, sum) = ends(range);
            objective[self.deviation(lane)] = *weight;
            objective[self.excess(lane)] = OF_EXCESS * weight * high * high / sum;
        }
        for (of, pay) in centre.prices.pays().enumerate() {
            let pay = pay / problem.nodes as f64;
            objective[self.missing(of)] = freedom + pay;
            objective[self.missing(of) + 1] = freedom - pay;
        }
        objective
    }

    /// The prices by those of the rows, and the costs of nodes by level. `equal` is the number of rows that are equations.
    fn prices(&self, rows: &[f64], equal: usize) -> (ContentPrices, Vec<f64>) {
        let MasterTask { problem, counts, ranges, .. } = self.task;
        let first_secondary = problem.primaries.len();
        let pays: Vec<f64> =
            rows[..self.items.len()].iter().map(|price| -price * problem.nodes as f64).collect();
        let mut of_levels = rows[self.items.len()..equal].iter();
        let mut level = |count: &u32| if *count > 0 { -of_levels.next().unwrap_or(&0.0) } else { 0.0 };
        let levels = counts.nodes.iter().map(&mut level).collect();
        let variance = |(range, rows): (&Range, &[f64])| {
            let (high, sum) = ends(range);
            rows[0].max(0.0) / (sum * high) + rows[1].max(0.0) / (high * high)
        };
        let prices = ContentPrices {
            variances: ranges.iter().zip(rows[equal..].chunks(3)).map(variance).collect(),
            primaries: pays[..first_secondary].to_vec(),
            secondaries: pays[first_secondary..].to_vec(),
        };
        (prices, levels)
    }
}

/// The upper end of a range, and the sum of both.
fn ends(Range { low, high }: &Range) -> (f64, f64) {
    (high.max(LEAST_END), (low + high).max(LEAST_END))
}

impl MasterTask<'_> {
    /// The positions of the contents for the program: those of the last one, and those that cost least by its prices; without
    /// a last one, those that cost least by the prices of the centre.
    fn chosen(&self, contents: &[NodeContent]) -> Vec<usize> {
        let far = self.problem.nodes as f64 - 1.0;
        let fits = |at: &usize| {
            let content = &contents[*at];
            let mut squares = content.squares.iter().zip(self.ranges);
            self.counts.nodes[content.level] > 0
                && squares.all(|(square, range)| *square <= far * (WIDER * range.high).powi(2))
        };
        let fitting = (0..contents.len()).filter(fits);
        let Some(last) = self.last else {
            let centre = (&self.centre.prices, self.centre.levels.as_slice());
            return cheapest(self.problem, contents, fitting, centre, MOST_CONTENTS);
        };
        let mut all = cheapest(self.problem, contents, fitting, (&last.prices, &last.levels), MOST_NEW);
        all.extend(last.contents.iter().copied().filter(fits));
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The positions of the contents that cost least by some prices, some at each level.
fn cheapest(
    problem: &ContentProblem<'_>,
    contents: &[NodeContent],
    among: impl Iterator<Item = usize>,
    (prices, levels): (&ContentPrices, &[f64]),
    most: usize,
) -> Vec<usize> {
    let excess = |at: usize| prices.excess(problem, levels, &contents[at]);
    let mut order: Vec<(f64, usize)> = among.map(|at| (excess(at), at)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut number, mut at_level) = (0, vec![0; levels.len()]);
    order.retain(|(_, at)| {
        let own = &mut at_level[contents[*at].level];
        *own += 1;
        number += 1;
        number <= most || *own <= AT_EACH_LEVEL
    });
    order.into_iter().map(|(_, at)| at).collect()
}
