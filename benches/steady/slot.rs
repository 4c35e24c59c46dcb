//! Time of the simulation.

/// A quarter of an hour, counted from midnight of a Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub usize);

/// Slots of an hour.
pub const HOUR: usize = 4;

/// Slots of a day.
pub const fn a_day() -> usize {
    24 * HOUR
}

impl Slot {
    /// Hours since midnight.
    pub fn hour(self) -> f64 {
        (self.0 % a_day()) as f64 / HOUR as f64
    }

    /// Days since the first Monday.
    pub fn day(self) -> usize {
        self.0 / a_day()
    }

    /// Returns true on Saturdays and Sundays.
    pub fn is_weekend(self) -> bool {
        self.day() % 7 >= 5
    }
}
