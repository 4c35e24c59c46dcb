//! Random arrivals of machines.

use super::timeline::{MOST_DAYS, MOST_RENTALS, Rental, Timeline, TimelineError};
use crate::Fleet;
use htools_model::random::Random;

/// The random stream for the departures of machines that are there at the beginning.
const RESIDENTS: u64 = 1;

/// A Poisson process: machines arrive independently at a constant rate, and stay for an exponentially distributed time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoissonArrivals {
    /// Mean number of arrivals per day.
    pub per_day: f64,
    /// Mean lifetime in days.
    pub lifetime: f64,
    /// Number of days.
    pub days: u32,
    /// Random seed.
    pub seed: u64,
}

impl PoissonArrivals {
    /// Draws arrivals and departures. Each machine is like one machine of the fleet; all of these are equally likely,
    /// whether they run or not.
    ///
    /// # Errors
    /// If a number is invalid or too large, or the fleet has no machines.
    pub fn draw(&self, fleet: Fleet) -> Result<Timeline, TimelineError> {
        let rentals = self.rentals(&fleet)?;
        Timeline::new(fleet, rentals, self.days)
    }

    /// The same, but the running machines of the fleet are there at the beginning, and leave like the others. The
    /// arrivals are the same as for empty nodes.
    ///
    /// # Errors
    /// As [`PoissonArrivals::draw`].
    pub fn draw_beside(&self, fleet: Fleet) -> Result<Timeline, TimelineError> {
        let rentals = self.rentals(&fleet)?;
        let mut random = Random::stream(self.seed, RESIDENTS);
        Timeline::inhabited(fleet, rentals, self.days, || self.leaves(0.0, &mut random))
    }

    fn rentals(&self, fleet: &Fleet) -> Result<Vec<Rental>, TimelineError> {
        if !(1..=MOST_DAYS).contains(&self.days) {
            return Err(TimelineError::Days);
        }
        let is_amount = |number: f64| number.is_finite() && number > 0.0;
        if !is_amount(self.per_day) {
            return Err(TimelineError::Rate);
        }
        if !is_amount(self.lifetime) {
            return Err(TimelineError::Lifetime);
        }
        if fleet.machines.is_empty() {
            return Err(TimelineError::NoKinds);
        }
        let end = f64::from(self.days);
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        if self.per_day * end > MOST_RENTALS as f64 {
            return Err(TimelineError::TooMany);
        }
        let mut random = Random::new(self.seed);
        let mut rentals = Vec::new();
        let mut now = 0.0;
        loop {
            now += waited(&mut random) / self.per_day;
            if now >= end {
                return Ok(rentals);
            }
            let machine = random.below(fleet.machines.len());
            rentals.push(Rental { machine, arrives: now, leaves: self.leaves(now, &mut random) });
        }
    }

    /// Time at which a machine leaves that is there now; `None` for never.
    fn leaves(&self, now: f64, random: &mut Random) -> Option<f64> {
        // A lifetime of 0, though very unlikely, is not allowed.
        let stays = (waited(random) * self.lifetime).max(f64::MIN_POSITIVE);
        let leaves = Some(now + stays).filter(|leaves| leaves.is_finite());
        leaves.map(|leaves| leaves.max(now.next_up()))
    }
}

/// Random waiting time with a mean of 1 (exponential distribution).
fn waited(random: &mut Random) -> f64 {
    -(1.0 - random.unit()).ln()
}
