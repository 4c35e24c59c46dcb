//! Simulated annealing of a placement, with a price for each moved instance.
//!
//! Price and temperature fall together. A run begins at a price at which no move pays and ends at one at which
//! moves are free. On the way it passes every number of moves, each near equilibrium.

use super::archive::Archive;
use super::arrangement::{Appraisal, Arrangement, ShiftSet};
use super::draws::RandomNumbers;
use super::headway::DeepWatch;
use super::levelled::NodeLevels;
use super::neighbourhood::{
    BackHome, EjectionChain, Neighbourhood, OneForSeveral, Relay, ReserveRelief, SeatSwap, SingleMove,
};

/// Method of changing the price of a moved instance during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pricing {
    /// The price falls according to the schedule. No state exceeds the limits.
    Falling,
    /// The price rises while a state exceeds the limits and falls otherwise, so that the run stays near the
    /// limits. Only placements within the limits are kept.
    FollowingLimits,
}

/// Parameters of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Schedule {
    /// Number of the random stream.
    pub stream: u64,
    /// Number of changes to appraise.
    pub evaluations: u64,
    /// Price of a moved instance at the beginning and at the end, in units of the score.
    pub price: (f64, f64),
    /// Temperature at the beginning and at the end, in units of the score.
    pub temperature: (f64, f64),
    /// Method of changing the price.
    pub pricing: Pricing,
    /// True to start from a given placement instead of the home placement.
    pub from_best: bool,
}

/// Limits for every placement that is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// Maximum number of moved instances.
    pub moves: i64,
    /// Maximum amount of data to copy, in MiB.
    pub data: i64,
    /// Average data copied for a moved instance, in MiB. If data is limited, this amount costs the price of one
    /// move.
    pub data_of_a_move: f64,
}

impl Limits {
    /// Returns true if there is a limit.
    pub(crate) fn is_any(&self) -> bool {
        self.moves < i64::MAX || self.data < i64::MAX
    }

    /// The number of prices that a state pays: the moved instances, or their data in units of an average move.
    fn charge(&self, now: &Appraisal) -> f64 {
        if self.data < i64::MAX { now.data as f64 / self.data_of_a_move } else { now.moved as f64 }
    }

    /// Returns true if the new state is within the limits, or exceeds none by more than the present state does.
    fn allow(&self, now: &Appraisal, new: &Appraisal) -> bool {
        (new.moved <= self.moves || new.moved <= now.moved) && (new.data <= self.data || new.data <= now.data)
    }

    /// Returns true if a state is within the limits.
    pub(super) fn hold(&self, now: &Appraisal) -> bool {
        now.moved <= self.moves && now.data <= self.data
    }

    /// Share of the nearest limit by which a state exceeds it; negative if the state is below.
    fn excess(&self, now: &Appraisal) -> f64 {
        let share = |is: i64, most: i64| match most {
            i64::MAX => -1.0,
            _ => (is - most) as f64 / most.max(1) as f64,
        };
        share(now.moved, self.moves).max(share(now.data, self.data))
    }
}

/// The neighbourhoods, each with its probability in 64ths.
const MIX: [(&dyn Neighbourhood, usize); 7] = [
    (&ReserveRelief, 12),
    (&SingleMove, 18),
    (&SeatSwap, 16),
    (&EjectionChain, 5),
    (&OneForSeveral, 3),
    (&BackHome, 4),
    (&Relay, 6),
];

/// Number of changes between two checks of the clock. The carried sums are corrected every 64 strides.
const STRIDE: u64 = 4096;

/// Constants for a price that follows the limits: the number of its corrections in a run, the largest relative
/// correction, and the relative distance from the limits that leads to it.
const CORRECTIONS: u64 = 4000;
const CORRECTION: f64 = 0.01;
const FAR: f64 = 0.02;

fn neighbourhood(draws: &mut RandomNumbers) -> &'static dyn Neighbourhood {
    let mut drawn = draws.below(64);
    for (neighbourhood, share) in MIX {
        if drawn < share {
            return neighbourhood;
        }
        drawn -= share;
    }
    &SingleMove
}

/// Performs one run and offers the states on its way to `archive`. Returns the number of changes appraised. With `levels`,
/// no secondary goes to a node whose level is too low.
pub(crate) fn anneal(
    at: &mut Arrangement<'_>,
    schedule: &Schedule,
    limits: &Limits,
    levels: Option<&NodeLevels>,
    archive: &mut Archive,
    DeepWatch { deadline, headway }: DeepWatch<'_>,
) -> u64 {
    let mut draws = RandomNumbers::stream(schedule.stream);
    let mut proposal = ShiftSet::new();
    let along = |(from, to): (f64, f64), share: f64| from * (to / from).powf(share);
    let (mut price, mut temperature) = (schedule.price.0, schedule.temperature.0);
    let follows = schedule.pricing == Pricing::FollowingLimits;
    let correction = (schedule.evaluations / CORRECTIONS).max(1);
    for round in 0..schedule.evaluations {
        if follows && round % correction == 0 {
            price *= (CORRECTION * (limits.excess(&at.now()) / FAR).clamp(-1.0, 1.0)).exp();
        }
        if round % STRIDE == 0 {
            headway.advance(if round == 0 { 0 } else { STRIDE }, archive.best());
            if deadline.reached().is_some() {
                return round;
            }
            let share = round as f64 / schedule.evaluations as f64;
            temperature = along(schedule.temperature, share);
            if !follows {
                price = along(schedule.price, share);
            }
            if round % (64 * STRIDE) == 0 {
                at.refresh();
            }
        }
        proposal.clear();
        if !neighbourhood(&mut draws).draw(at, &mut draws, &mut proposal) {
            continue;
        }
        if levels.is_some_and(|levels| !levels.allow(at, &proposal)) {
            continue;
        }
        let (now, new) = (at.now(), at.appraise(&proposal));
        let change = new.score - now.score + price * (limits.charge(&new) - limits.charge(&now));
        let passes = change <= 0.0 || change < -temperature * (1.0 - draws.unit()).ln();
        let goes = passes && (follows || limits.allow(&now, &new));
        if goes && at.commit(&proposal) && limits.hold(&new) {
            archive.offer(at);
        }
    }
    schedule.evaluations
}
