//! Machines that come by chance.

use super::timeline::{MOST_DAYS, MOST_RENTALS, Rental, Timeline, TimelineError};
use crate::Fleet;
use htools_model::random::Random;

/// The stream of numbers that says when those go that are there at the beginning.
const RESIDENTS: u64 = 1;

/// Machines that come independently of each other, at the same rate all the time, and stay for a time that does not hang on how long
/// they have been there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoissonArrivals {
    /// How many come a day, on average.
    pub per_day: f64,
    /// How many days they stay, on average.
    pub lifetime: f64,
    /// How many days are looked at.
    pub days: u32,
    /// What names the numbers that are drawn.
    pub seed: u64,
}

impl PoissonArrivals {
    /// Draws who comes and goes. Each is like one of the machines of the fleet, all of which are as likely, whether they run or
    /// not.
    ///
    /// # Errors
    /// A number that is none, or too much; a fleet without machines.
    pub fn draw(&self, fleet: Fleet) -> Result<Timeline, TimelineError> {
        let rentals = self.rentals(&fleet)?;
        Timeline::new(fleet, rentals, self.days)
    }

    /// The same where what runs in the fleet is there at the beginning, and goes as those do that come. The same come as to empty nodes.
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

    /// When one goes that is there now.
    fn leaves(&self, now: f64, random: &mut Random) -> Option<f64> {
        // no time at all is drawn nearly never, and is none
        let stays = (waited(random) * self.lifetime).max(f64::MIN_POSITIVE);
        let leaves = Some(now + stays).filter(|leaves| leaves.is_finite());
        leaves.map(|leaves| leaves.max(now.next_up()))
    }
}

/// How long one waits for what comes once in a unit of time, on average.
fn waited(random: &mut Random) -> f64 {
    -(1.0 - random.unit()).ln()
}
