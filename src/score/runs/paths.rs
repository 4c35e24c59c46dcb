//! Sums under way.

use super::{Piece, add_repeatedly, constant_step, exponent, next_power};

/// The sums under way in which one number was replaced, by position: sums and
/// positions apart, so that many sums are advanced at once.
#[derive(Default)]
pub(super) struct Paths {
    sums: Vec<f64>,
    rows: Vec<(usize, usize)>,
}

impl Paths {
    /// Adds positions behind all others.
    pub(super) fn start(&mut self, sum: f64, from: usize, to: usize) {
        match (self.sums.last(), self.rows.last_mut()) {
            (Some(last), Some(rows)) if rows.1 == from && last.to_bits() == sum.to_bits() => rows.1 = to,
            _ => {
                self.sums.push(sum);
                self.rows.push((from, to));
            }
        }
    }

    /// Advances all sums, together if they are all between the same two powers of
    /// two as `sum` and stay there: by `by`. Else each by `singly`.
    pub(super) fn advance_all(&mut self, sum: f64, by: Option<f64>, singly: impl Fn(f64) -> f64) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for path in &self.sums {
            least = if *path < least { *path } else { least };
            most = if *path > most { *path } else { most };
        }
        match by {
            Some(by) if least > 0.0 && exponent(least) == exponent(sum) && most + by < next_power(sum) => {
                self.sums.iter_mut().for_each(|path| *path += by);
            }
            _ => self.sums.iter_mut().for_each(|path| *path = singly(*path)),
        }
        self.unite();
    }

    pub(super) fn advance(&mut self, x: f64, count: usize) {
        let Some(first) = self.sums.first().copied() else { return };
        let steady = first > 0.0 && first.is_finite() && x >= 0.0;
        let by = if steady { constant_step(first, x) } else { None };
        self.advance_all(first, by.map(|by| count as f64 * by), |sum| add_repeatedly(sum, x, count));
    }

    /// Neighbours that have met go on as one.
    pub(super) fn unite(&mut self) {
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
        self.unite();
        let pieces = self.sums.into_iter().zip(self.rows);
        pieces.map(|(sum, (from, to))| Piece { from, to, sum }).collect()
    }
}
