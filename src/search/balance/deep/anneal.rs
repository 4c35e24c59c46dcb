//! Simulated annealing of a placement under a price for every moved instance.
//!
//! The price falls together with the temperature, so that a run begins where nothing is worth a move, passes
//! every number of moves on its way, each near equilibrium, and ends where moves are free.

use super::archive::Archive;
use super::arrangement::{Appraisal, Arrangement, ShiftSet};
use super::draws::Draws;
use super::neighbourhood::{
    BackHome, EjectionChain, Neighbourhood, OneForSeveral, Relay, SeatSwap, SingleMove,
};
use crate::search::Deadline;

/// How one run goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Names the stream of random numbers.
    pub stream: u64,
    /// Changes that are appraised.
    pub evaluations: u64,
    /// Price of a moved instance at the beginning and at the end, in score.
    pub price: (f64, f64),
    /// Temperature at the beginning and at the end, in score.
    pub temperature: (f64, f64),
}

/// What no state of a run may exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most moved instances.
    pub moves: i64,
    /// Most data, in MiB.
    pub data: i64,
}

impl Limits {
    /// Whether a state is within them, or at least no further beyond than another.
    fn allow(&self, now: &Appraisal, new: &Appraisal) -> bool {
        (new.moved <= self.moves || new.moved <= now.moved) && (new.data <= self.data || new.data <= now.data)
    }

    fn hold(&self, now: &Appraisal) -> bool {
        now.moved <= self.moves && now.data <= self.data
    }
}

/// The neighbourhoods, each with its share of the draws, in 64ths.
const MIX: [(&dyn Neighbourhood, usize); 6] = [
    (&SingleMove, 24),
    (&SeatSwap, 22),
    (&EjectionChain, 5),
    (&OneForSeveral, 3),
    (&BackHome, 4),
    (&Relay, 6),
];

/// Changes between two looks at the clock, and between two corrections of what is carried along.
const STRIDE: u64 = 4096;

fn neighbourhood(draws: &mut Draws) -> &'static dyn Neighbourhood {
    let mut drawn = draws.below(64);
    for (of, share) in MIX {
        if drawn < share {
            return of;
        }
        drawn -= share;
    }
    &SingleMove
}

/// One run. What it passes is offered to `archive`. Returns the number of changes that were appraised.
pub fn anneal(
    at: &mut Arrangement<'_>,
    schedule: &Schedule,
    limits: &Limits,
    archive: &mut Archive,
    deadline: &Deadline,
) -> u64 {
    let mut draws = Draws::stream(schedule.stream);
    let mut proposal = ShiftSet::new();
    let along = |(from, to): (f64, f64), share: f64| from * (to / from).powf(share);
    let (mut price, mut temperature) = (schedule.price.0, schedule.temperature.0);
    for round in 0..schedule.evaluations {
        if round % STRIDE == 0 {
            if deadline.reached().is_some() {
                return round;
            }
            let share = round as f64 / schedule.evaluations as f64;
            (price, temperature) = (along(schedule.price, share), along(schedule.temperature, share));
            if round % (64 * STRIDE) == 0 {
                at.refresh();
            }
        }
        proposal.clear();
        if !neighbourhood(&mut draws).draw(at, &mut draws, &mut proposal) {
            continue;
        }
        let (now, new) = (at.now(), at.appraise(&proposal));
        let change = new.score - now.score + price * (new.moved - now.moved) as f64;
        let passes = change <= 0.0 || change < -temperature * (1.0 - draws.unit()).ln();
        if passes && limits.allow(&now, &new) && at.commit(&proposal) && limits.hold(&new) {
            archive.offer(at);
        }
    }
    schedule.evaluations
}
