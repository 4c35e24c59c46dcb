//! Which runs a search consists of: fixed by its options and the cluster, never by the time.

use super::anneal::{Limits, Schedule};
use super::arrangement::{Arrangement, ShiftSet};
use super::draws::Draws;
use super::neighbourhood::{Neighbourhood, SingleMove};

/// Temperatures as shares of the price. The coldest follow the line of the best placements for every number of
/// moves; the hottest find the best of all.
const COLD_TO_HOT: [f64; 8] = [0.02, 1.0, 0.05, 0.3, 0.02, 0.5, 0.1, 2.0];

/// The price ends at this share of what it begins at.
const LAST_PRICE: f64 = 1.0 / 300.0;

/// Single moves that are tried to find the first price.
const TRIALS: usize = 4000;

/// The gain of the best single move among some, but no more than a share of what deviations add to the score:
/// what ends a fault is worth any price.
pub fn first_price(at: &mut Arrangement<'_>) -> f64 {
    let deviations = at.deviations();
    let (now, mut draws, mut proposal) = (at.now(), Draws::stream(0), ShiftSet::new());
    let mut most: f64 = 0.0;
    for _ in 0..TRIALS {
        proposal.clear();
        if SingleMove.draw(at, &mut draws, &mut proposal) {
            most = most.max(now.score - at.appraise(&proposal).score);
        }
    }
    // a state in which no single move helps may still be far from the best
    most.max(deviations / (4.0 * at.terrain.online.len() as f64)).min(deviations / 10.0).max(1e-9)
}

/// The runs of the first round: prices fall from where nothing is worth a move.
pub fn first_round(streams: usize, evaluations: u64, price: f64) -> Vec<Schedule> {
    (0..streams)
        .map(|stream| {
            let share = COLD_TO_HOT[stream % COLD_TO_HOT.len()];
            Schedule {
                stream: stream as u64,
                evaluations: evaluations / streams.max(1) as u64,
                price: (price, price * LAST_PRICE),
                temperature: (price * share, price * LAST_PRICE * share.max(0.05)),
            }
        })
        .collect()
}

/// The runs of the second round: from the best that is known, warmed up a little, under the price that fits
/// the number of moves that is wanted.
pub fn second_round(streams: usize, evaluations: u64, price: f64, limits: &Limits) -> Vec<Schedule> {
    let bounded = limits.moves < i64::MAX || limits.data < i64::MAX;
    (0..streams)
        .map(|stream| {
            let warmth = [0.1, 0.3, 0.5, 1.0][stream % 4];
            let last = if bounded { price / 4.0 } else { price / 30.0 };
            Schedule {
                stream: (streams + stream) as u64,
                evaluations: evaluations / streams.max(1) as u64,
                price: (price, last),
                temperature: (price * warmth, last / 10.0),
            }
        })
        .collect()
}
