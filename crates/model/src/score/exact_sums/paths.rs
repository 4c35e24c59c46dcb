//! Sums in progress.

use super::{Piece, add_repeatedly, constant_step, exponent, next_power};

/// The sums in progress in which one number was replaced, by position.
///
/// Most of the time they all lie between the same two powers of two, and additions advance all of them by the same
/// amount. That amount is stored once.
#[derive(Default)]
pub(super) struct Paths {
    /// The sums without `ahead`.
    sums: Vec<f64>,
    rows: Vec<(usize, usize)>,
    /// Amount by which all sums have been advanced. If it is not 0, the sums are steady.
    ahead: f64,
    /// The smallest and the largest sum.
    least: f64,
    most: f64,
    /// Some sum is not a positive number.
    odd: bool,
}

impl Paths {
    pub(super) fn new() -> Paths {
        const USUAL: usize = 32;
        Paths { sums: Vec::with_capacity(USUAL), rows: Vec::with_capacity(USUAL), ..Paths::default() }
    }

    /// Adds positions after all others.
    pub(super) fn start(&mut self, sum: f64, from: usize, to: usize) {
        let odd = !(sum > 0.0 && sum.is_finite());
        if self.ahead != 0.0 && (odd || exponent(sum) != exponent(self.least)) {
            self.settle();
        }
        if self.sums.is_empty() {
            (self.least, self.most) = (sum, sum);
        }
        // Neither operation rounds: all values are multiples of the same last bit.
        let stored = sum - self.ahead;
        match (self.sums.last(), self.rows.last_mut()) {
            (Some(last), Some(rows)) if rows.1 == from && last.to_bits() == stored.to_bits() => rows.1 = to,
            _ => {
                self.sums.push(stored);
                self.rows.push((from, to));
            }
        }
        self.odd |= odd;
        self.least = if sum < self.least { sum } else { self.least };
        self.most = if sum > self.most { sum } else { self.most };
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The smallest and the largest sum if all lie between the same two powers of two.
    pub(super) fn steady(&self) -> Option<(f64, f64)> {
        let binade = exponent(self.least);
        (!self.odd && binade == exponent(self.most) && binade != 0).then_some((self.least, self.most))
    }

    /// Tells if a few additions of `x` take all sums beyond the next power of two.
    pub(super) fn is_crossing(&self, x: f64) -> bool {
        !self.odd && x.is_finite() && next_power(self.least) - self.least <= 4.0 * x
    }

    /// Advances all sums by an amount that keeps them steady.
    pub(super) fn shift(&mut self, by: f64) {
        self.ahead += by;
        self.least += by;
        self.most += by;
    }

    /// Advances all sums by additions that advance `sum` by `by`, if they stay between the same two powers of two as
    /// `sum`.
    pub(super) fn shift_like(&mut self, sum: f64, by: f64) -> bool {
        let alike = self
            .steady()
            .is_some_and(|(least, most)| exponent(least) == exponent(sum) && most + by < next_power(sum));
        if alike {
            self.shift(by);
        }
        alike
    }

    /// Advances each sum by itself.
    pub(super) fn each(&mut self, advanced: impl Fn(f64) -> f64) {
        self.settle();
        self.sums.iter_mut().for_each(|sum| *sum = advanced(*sum));
        self.unite();
        self.measure();
    }

    /// Adds `x` to all sums `count` times.
    pub(super) fn advance(&mut self, x: f64, mut count: usize) {
        if self.is_empty() {
            return;
        }
        while count > 0 {
            let steps = self.together(x, count);
            if steps > 0 {
                count -= steps;
            } else if self.is_crossing(x) {
                self.each(|sum| sum + x);
                count -= 1;
            } else {
                self.each(|sum| add_repeatedly(sum, x, count));
                count = 0;
            }
        }
    }

    /// Adds `x` to all sums as long as each addition advances them by the same amount, at most `count` times. Returns
    /// the number of additions.
    fn together(&mut self, x: f64, count: usize) -> usize {
        let Some((least, most)) = self.steady() else { return 0 };
        let by = if x >= 0.0 { constant_step(least, x) } else { None };
        let Some(by) = by else { return 0 };
        let top = next_power(least);
        let fits = |steps: usize| most + steps as f64 * by < top;
        let mut steps = if fits(count) { count } else { (((top - most) / by) as usize).min(count) };
        while steps > 0 && !fits(steps) {
            steps -= 1;
        }
        self.shift(steps as f64 * by);
        steps
    }

    fn settle(&mut self) {
        if self.ahead != 0.0 {
            self.sums.iter_mut().for_each(|sum| *sum += self.ahead);
            self.ahead = 0.0;
        }
    }

    fn measure(&mut self) {
        (self.least, self.most, self.odd) = (f64::INFINITY, f64::NEG_INFINITY, false);
        for &sum in &self.sums {
            self.least = if sum < self.least { sum } else { self.least };
            self.most = if sum > self.most { sum } else { self.most };
            self.odd |= !(sum > 0.0 && sum.is_finite());
        }
    }

    /// Merges neighbouring sums that have become equal.
    fn unite(&mut self) {
        let mut kept = 0;
        for at in 1..self.sums.len() {
            let meets =
                self.rows[kept].1 == self.rows[at].0 && self.sums[kept].to_bits() == self.sums[at].to_bits();
            if meets {
                self.rows[kept].1 = self.rows[at].1;
            } else {
                kept += 1;
                self.sums[kept] = self.sums[at];
                self.rows[kept] = self.rows[at];
            }
        }
        self.sums.truncate(kept + 1);
        self.rows.truncate(kept + 1);
    }

    pub(super) fn finish(mut self) -> Vec<Piece> {
        self.settle();
        self.unite();
        let pieces = self.sums.into_iter().zip(self.rows);
        pieces.map(|(sum, (from, to))| Piece { from, to, sum }).collect()
    }
}
