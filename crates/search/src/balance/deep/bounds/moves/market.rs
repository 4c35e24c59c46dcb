//! The costs of roles that arrive, in all states.

use rayon::prelude::*;

use super::problem::MoveProblem;

/// Exponents below this are as good as none.
pub(super) const NEGLIGIBLE: f64 = -40.0;

/// Number of states that are treated at a time, whatever the number of threads.
const AT_ONCE: usize = 128;

/// The costs of all arrivals in all states.
pub(super) struct Market {
    /// By state and arrival.
    costs: Vec<f64>,
    /// By arrival, the least cost, and the sum of the weights of all states.
    least: Vec<f64>,
    sums: Vec<f64>,
    /// By arrival, the smooth least cost.
    pub prices: Vec<f64>,
}

impl Market {
    pub(super) fn of(problem: &MoveProblem, slopes: &[f64], blur: f64) -> Market {
        let (count, width) = (problem.arrivals.len(), problem.width());
        let table = ArrivalTable::of(problem);
        let of_part = |part: &[f64], first: usize| {
            let mut costs = Vec::with_capacity(part.len() / width * count);
            for (at, slopes) in part.chunks_exact(width).enumerate() {
                table.append_costs(slopes, problem.states[first + at].opening, &mut costs);
            }
            let mut least = vec![f64::INFINITY; count];
            for row in costs.chunks_exact(count) {
                least.iter_mut().zip(row).for_each(|(least, cost)| *least = least.min(*cost));
            }
            (costs, least)
        };
        let parts = slopes.par_chunks(AT_ONCE * width).enumerate();
        let parts: Vec<(Vec<f64>, Vec<f64>)> = parts.map(|(at, part)| of_part(part, at * AT_ONCE)).collect();
        let mut least = vec![f64::INFINITY; count];
        for (_, part) in &parts {
            least.iter_mut().zip(part).for_each(|(least, part)| *least = least.min(*part));
        }
        let costs: Vec<f64> = parts.into_iter().flat_map(|(costs, _)| costs).collect();
        let of_part = |part: &[f64]| {
            let mut sums = vec![0.0; count];
            for row in part.chunks_exact(count) {
                for ((sum, least), cost) in sums.iter_mut().zip(&least).zip(row) {
                    *sum += weight(*least, *cost, blur);
                }
            }
            sums
        };
        let mut sums = vec![0.0; count];
        for part in costs.par_chunks(AT_ONCE * count).map(of_part).collect::<Vec<_>>() {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        let prices = least.iter().zip(&sums).map(|(least, sum)| least - blur * sum.ln()).collect();
        Market { costs, least, sums, prices }
    }

    /// Adds to the gradient by slope what arrives. `left` is how much of each arrival leaves its home.
    pub(super) fn add_gradient(
        &self,
        problem: &MoveProblem,
        slopes: &[f64],
        blur: f64,
        left: &[f64],
        gradient: &mut [f64],
    ) {
        let (count, width) = (problem.arrivals.len(), problem.width());
        let rows =
            self.costs.par_chunks(count).zip(slopes.par_chunks(width)).zip(gradient.par_chunks_mut(width));
        rows.with_min_len(AT_ONCE).for_each(|((costs, slopes), gradient)| {
            for (at, cost) in costs.iter().enumerate() {
                let arrives = weight(self.least[at], *cost, blur);
                if arrives > 0.0 {
                    let arrives = arrives * left[at] / self.sums[at];
                    let of = &problem.arrivals[at];
                    for (column, slope) in slopes.iter().enumerate() {
                        gradient[column] +=
                            arrives * if *slope < 0.0 { of.high[column] } else { of.low[column] };
                    }
                }
            }
        });
    }
}

/// The weight of a cost in the smooth least of several: 1 for the least.
pub(super) fn weight(least: f64, cost: f64, blur: f64) -> f64 {
    // A cost can be infinite.
    let exponent = (least - cost) / blur;
    if exponent > NEGLIGIBLE { exponent.exp() } else { 0.0 }
}

/// The arrivals column by column.
pub(super) struct ArrivalTable<'a> {
    problem: &'a MoveProblem,
    low: Vec<Vec<f64>>,
    high: Vec<Vec<f64>>,
    /// By opening, what is added to the costs: nothing, or infinity.
    openings: Vec<Vec<f64>>,
}

impl<'a> ArrivalTable<'a> {
    pub(super) fn of(problem: &'a MoveProblem) -> ArrivalTable<'a> {
        let column = |at: usize, high: bool| {
            problem.arrivals.iter().map(|of| if high { of.high[at] } else { of.low[at] }).collect()
        };
        let never = |allowed: &bool| if *allowed { 0.0 } else { f64::INFINITY };
        ArrivalTable {
            problem,
            low: (0..problem.width()).map(|at| column(at, false)).collect(),
            high: (0..problem.width()).map(|at| column(at, true)).collect(),
            openings: problem.openings.iter().map(|of| of.iter().map(never).collect()).collect(),
        }
    }

    /// Appends the least cost of each arrival; infinite where it is not allowed.
    pub(super) fn append_costs(&self, slopes: &[f64], opening: usize, costs: &mut Vec<f64>) {
        let first = costs.len();
        costs.extend_from_slice(&self.openings[opening]);
        debug_assert_eq!(slopes.len(), self.problem.width());
        for (column, slope) in slopes.iter().enumerate().filter(|(_, slope)| **slope != 0.0) {
            let amounts = if *slope < 0.0 { &self.high[column] } else { &self.low[column] };
            costs[first..].iter_mut().zip(amounts).for_each(|(cost, amount)| *cost += slope * amount);
        }
    }
}
