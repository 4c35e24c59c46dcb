//! Simulated annealing of a placement under a price for every moved instance.
//!
//! The price falls together with the temperature, so that a run begins where nothing is worth a move, passes
//! every number of moves on its way, each near equilibrium, and ends where moves are free.

use super::archive::Archive;
use super::arrangement::{Appraisal, Arrangement, ShiftSet};
use super::draws::Draws;
use super::headway::DeepWatch;
use super::neighbourhood::{
    BackHome, EjectionChain, Neighbourhood, OneForSeveral, Relay, ReserveRelief, SeatSwap, SingleMove,
};

/// How the price of a moved instance changes during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pricing {
    /// It falls as the schedule says; no state goes beyond the limits.
    Falling,
    /// It rises while a state is beyond the limits, and falls while it is not: so the run stays about where
    /// they are, whatever a move is worth there. What is kept never goes beyond them.
    FollowingLimits,
}

/// How one run goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Schedule {
    /// Names the stream of random numbers.
    pub stream: u64,
    /// Changes that are appraised.
    pub evaluations: u64,
    /// Price of a moved instance at the beginning and at the end, in score.
    pub price: (f64, f64),
    /// Temperature at the beginning and at the end, in score.
    pub temperature: (f64, f64),
    /// How the price changes.
    pub pricing: Pricing,
    /// Whether it goes on from the best that is known, instead of from home.
    pub goes_on: bool,
}

/// What no placement may exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// Most moved instances.
    pub moves: i64,
    /// Most data, in MiB.
    pub data: i64,
    /// What is copied for a moved instance on average, in MiB: where data is limited, the price is one for so much.
    pub data_of_a_move: f64,
}

impl Limits {
    /// Whether there is one.
    pub(crate) fn is_any(&self) -> bool {
        self.moves < i64::MAX || self.data < i64::MAX
    }

    /// What a state pays the price for.
    fn charge(&self, now: &Appraisal) -> f64 {
        if self.data < i64::MAX { now.data as f64 / self.data_of_a_move } else { now.moved as f64 }
    }

    /// Whether a state is within them, or at least no further beyond than another.
    fn allow(&self, now: &Appraisal, new: &Appraisal) -> bool {
        (new.moved <= self.moves || new.moved <= now.moved) && (new.data <= self.data || new.data <= now.data)
    }

    fn hold(&self, now: &Appraisal) -> bool {
        now.moved <= self.moves && now.data <= self.data
    }

    /// By which share of the nearest limit a state is beyond it, or (negative) below.
    fn excess(&self, now: &Appraisal) -> f64 {
        let share = |is: i64, most: i64| match most {
            i64::MAX => -1.0,
            _ => (is - most) as f64 / most.max(1) as f64,
        };
        share(now.moved, self.moves).max(share(now.data, self.data))
    }
}

/// The neighbourhoods, each with its share of the draws, in 64ths.
const MIX: [(&dyn Neighbourhood, usize); 7] = [
    (&ReserveRelief, 12),
    (&SingleMove, 18),
    (&SeatSwap, 16),
    (&EjectionChain, 5),
    (&OneForSeveral, 3),
    (&BackHome, 4),
    (&Relay, 6),
];

/// Changes between two looks at the clock, and between two corrections of what is carried along.
const STRIDE: u64 = 4096;

/// How often a price that follows the limits is corrected in a run, by which share at most, and how far a state has to
/// be from the limits for that.
const CORRECTIONS: u64 = 4000;
const CORRECTION: f64 = 0.01;
const FAR: f64 = 0.02;

fn neighbourhood(draws: &mut Draws) -> &'static dyn Neighbourhood {
    let mut drawn = draws.below(64);
    for (neighbourhood, share) in MIX {
        if drawn < share {
            return neighbourhood;
        }
        drawn -= share;
    }
    &SingleMove
}

/// One run. What it passes is offered to `archive`. Returns the number of changes that were appraised.
pub(crate) fn anneal(
    at: &mut Arrangement<'_>,
    schedule: &Schedule,
    limits: &Limits,
    archive: &mut Archive,
    DeepWatch { deadline, headway }: DeepWatch<'_>,
) -> u64 {
    let mut draws = Draws::stream(schedule.stream);
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
