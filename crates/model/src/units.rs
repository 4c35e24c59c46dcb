//! Quantities with a unit.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// An amount of memory or disk in MiB.
///
/// Amounts may be negative (a node can be over-committed) and come from outside, so arithmetic wraps at 64 bits instead
/// of panicking. Absurd input gives absurd scores, never a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mib(pub i64);

impl Mib {
    /// No memory, no disk.
    pub const ZERO: Mib = Mib(0);

    /// The amount as a real number, for ratios.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Whole GiB, rounded towards minus infinity, as tables show free disk.
    pub fn gib_floor(self) -> i64 {
        self.0.div_euclid(1024)
    }
}

impl Add for Mib {
    type Output = Mib;
    fn add(self, other: Mib) -> Mib {
        Mib(self.0.wrapping_add(other.0))
    }
}

impl Sub for Mib {
    type Output = Mib;
    fn sub(self, other: Mib) -> Mib {
        Mib(self.0.wrapping_sub(other.0))
    }
}

impl Neg for Mib {
    type Output = Mib;
    fn neg(self) -> Mib {
        Mib(self.0.wrapping_neg())
    }
}

impl AddAssign for Mib {
    fn add_assign(&mut self, other: Mib) {
        *self = *self + other;
    }
}

impl SubAssign for Mib {
    fn sub_assign(&mut self, other: Mib) {
        *self = *self - other;
    }
}

impl Sum for Mib {
    fn sum<I: Iterator<Item = Mib>>(iter: I) -> Mib {
        iter.fold(Mib::ZERO, Add::add)
    }
}

impl fmt::Display for Mib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.0)
    }
}

/// Truncates a real number towards zero as the reference's platform does: numbers out of range, and not-a-number,
/// become the smallest integer.
pub fn trunc_to_i64(x: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) { x as i64 } else { i64::MIN }
}

/// Rounds a real number towards minus infinity. Numbers out of range are treated as in [`trunc_to_i64`].
pub fn floor_to_i64(x: f64) -> i64 {
    let cut = trunc_to_i64(x);
    if x < cut as f64 { cut.wrapping_sub(1) } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_and_floor_differ_below_zero() {
        assert_eq!((trunc_to_i64(-1.5), floor_to_i64(-1.5)), (-1, -2));
        assert_eq!((trunc_to_i64(1.5), floor_to_i64(1.5)), (1, 1));
        assert_eq!(floor_to_i64(-2.0), -2);
    }

    #[test]
    fn what_does_not_fit_becomes_the_smallest_integer() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            assert_eq!(trunc_to_i64(x), i64::MIN);
        }
    }

    #[test]
    fn arithmetic_never_panics() {
        assert_eq!(Mib(i64::MAX) + Mib(1), Mib(i64::MIN));
        assert_eq!(-Mib(i64::MIN), Mib(i64::MIN));
    }

    #[test]
    fn gib_are_rounded_down() {
        assert_eq!(Mib(-1).gib_floor(), -1);
        assert_eq!(Mib(2047).gib_floor(), 1);
    }
}
