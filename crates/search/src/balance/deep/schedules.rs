//! The runs of a search. They depend on its options and the cluster, never on the time.

use super::anneal::{Limits, Pricing, Schedule};
use super::arrangement::{Arrangement, ShiftSet};
use super::draws::RandomNumbers;
use super::neighbourhood::{Neighbourhood, SingleMove};

/// A temperature at the beginning and at the end, in the unit of [`Scale`].
type Cooling = (f64, f64);

/// Temperatures of the first round. Hot streams find the best placement of all, cold ones the best for few
/// moves.
const FIRST: [Cooling; 8] = [
    (0.2, 0.01),
    (1.0, 0.015),
    (0.05, 0.002),
    (5.0, 0.02),
    (0.5, 0.005),
    (0.2, 0.02),
    (0.02, 0.001),
    (1.5, 0.01),
];

/// Temperatures of the second round without limits.
const SECOND: [Cooling; 4] = [(0.2, 0.01), (1.0, 0.015), (0.05, 0.002), (0.3, 0.03)];

/// Temperatures of the second round with limits. With instances of equal size, a warmer stream finds more,
/// since many placements have the same score. With many different sizes, a colder one is better.
const LIMITED: [Cooling; 4] = [(0.2, 0.02), (1.0, 0.015), (0.15, 0.01), (0.3, 0.02)];

/// Temperatures of the runs from a start with sorted secondaries. A warm run would lose its order.
const SORTED: [Cooling; 2] = [(0.05, 0.002), (0.2, 0.005)];

/// The same if there is enough effort for each instance. At these temperatures, nodes keep their largest secondaries for
/// long, and all others find better places. Hotter runs forget the start.
const PROMISING: [Cooling; 4] = [(0.1, 0.005), (0.07, 0.0035), (0.1, 0.005), (0.12, 0.006)];

/// Number of these runs, if runs that keep levels follow.
const BEFORE_LEVELS: usize = 2;

/// Temperatures of the runs from the best placement of these, once it has fewer moves.
const SHORTENED: [Cooling; 2] = [(0.1, 0.005), (0.05, 0.005)];

/// Temperatures of the runs that keep levels. They find the other secondaries new places altogether.
const LEVELLED: Cooling = (0.1, 0.007);

/// Share of the effort of all runs from a start with sorted secondaries, and of each one from a promising start.
const SORTED_SHARE: f64 = 0.125;

/// Price at the end of the first round, in the unit of [`Scale`]; moves are almost free.
const FREE: f64 = 0.01;

/// Minimum price at the beginning of the first round, in the same unit.
const DEAR: f64 = 4.0;

/// Price at the end of the second round, as a share of the price at its beginning.
const LAST_PRICE: f64 = 1.0 / 30.0;

/// Number of single moves that are tried to find the scale.
const TRIALS: usize = 4000;

/// Typical changes of the score on a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// Unit of prices and temperatures. It is the larger of two values: the deviations' part of the score per
    /// mobile, and half of the typical change by a move. A state in which no single move helps may still be far
    /// from the best.
    pub unit: f64,
    /// A price at which hardly any move pays, except those that end a fault.
    pub dear: f64,
}

impl Scale {
    /// Measures the changes of the score by some single moves.
    pub(crate) fn of(at: &mut Arrangement<'_>) -> Scale {
        let deviations = at.deviations();
        let (now, mut draws, mut proposal) = (at.now(), RandomNumbers::stream(0), ShiftSet::new());
        let mut gains: Vec<f64> = Vec::with_capacity(TRIALS);
        for _ in 0..TRIALS {
            proposal.clear();
            if SingleMove.draw(at, &mut draws, &mut proposal) {
                gains.push(now.score - at.appraise(&proposal).score);
            }
        }
        let most = gains.iter().copied().fold(0.0, f64::max);
        gains.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let median = gains.get(gains.len() / 2).map_or(0.0, |gain| gain.abs());
        let unit = (deviations / at.terrain.mobiles.len().max(1) as f64).max(0.5 * median).max(1e-9);
        Scale { unit, dear: most.min(deviations / 10.0).max(DEAR * unit) }
    }
}

/// The runs of the first round. Prices fall from a value at which hardly any move pays.
pub(crate) fn first_round(streams: usize, evaluations: u64, scale: &Scale) -> Vec<Schedule> {
    let run = |stream: usize| {
        let (hot, cold) = FIRST[stream % FIRST.len()];
        Schedule {
            stream: stream as u64,
            evaluations: evaluations / streams.max(1) as u64,
            price: (scale.dear, scale.unit * FREE),
            temperature: (scale.unit * hot, scale.unit * cold),
            pricing: Pricing::Falling,
            from_best: false,
        }
    };
    (0..streams).map(run).collect()
}

/// The runs of the second round. With limits, each run starts from home, and its price follows the limits.
/// Without limits, the price starts at the one that fits the best known placement, and every other run starts
/// from that placement.
pub(crate) fn second_round(
    streams: usize,
    evaluations: u64,
    scale: &Scale,
    price: f64,
    limits: &Limits,
) -> Vec<Schedule> {
    let limited = limits.is_any();
    let run = |stream: usize| {
        let (hot, cold) = if limited { LIMITED } else { SECOND }[stream % SECOND.len()];
        Schedule {
            stream: (streams + stream) as u64,
            evaluations: evaluations / streams.max(1) as u64,
            price: (price, price * LAST_PRICE),
            temperature: (scale.unit * hot, scale.unit * cold),
            pricing: if limited { Pricing::FollowingLimits } else { Pricing::Falling },
            from_best: !limited && stream.is_multiple_of(2),
        }
    };
    (0..streams).map(run).collect()
}

/// The runs from a start with sorted secondaries. The price starts at the minimum gain of a moved instance, so that
/// instances go home whose moves do not pay.
pub(crate) fn from_sorted(
    streams: usize,
    effort: u64,
    scale: &Scale,
    price: f64,
    is_promising: bool,
    levels_follow: bool,
) -> Vec<Schedule> {
    let coolings: &[Cooling] = match (is_promising, levels_follow) {
        (false, _) => &SORTED,
        (true, false) => &PROMISING,
        (true, true) => &PROMISING[..BEFORE_LEVELS],
    };
    let each = if is_promising { of_one_run(effort) } else { of_one_run(effort) / SORTED.len() as u64 };
    let run = |(at, (hot, cold)): (usize, &Cooling)| Schedule {
        stream: (2 * streams + at) as u64,
        evaluations: each,
        price: (price, price * LAST_PRICE),
        temperature: (scale.unit * hot, scale.unit * cold),
        pricing: Pricing::Falling,
        from_best: true,
    };
    coolings.iter().enumerate().map(run).collect()
}

/// The runs from the best placement of a promising start beyond the limit on moves. The price follows the limit.
pub(crate) fn from_shortened(streams: usize, effort: u64, scale: &Scale, price: f64) -> Vec<Schedule> {
    let run = |(at, (hot, cold)): (usize, &Cooling)| Schedule {
        stream: (4 * streams + at) as u64,
        evaluations: of_one_run(effort),
        price: (price, price * LAST_PRICE),
        temperature: (scale.unit * hot, scale.unit * cold),
        pricing: Pricing::FollowingLimits,
        from_best: true,
    };
    SHORTENED.iter().enumerate().map(run).collect()
}

/// A run that keeps levels.
pub(crate) fn with_levels(stream: usize, evaluations: u64, scale: &Scale, price: f64) -> Schedule {
    Schedule {
        stream: stream as u64,
        evaluations,
        price: (price, price * LAST_PRICE),
        temperature: (scale.unit * LEVELLED.0, scale.unit * LEVELLED.1),
        pricing: Pricing::Falling,
        from_best: true,
    }
}

/// Effort of one run from a promising start.
pub(crate) fn of_one_run(effort: u64) -> u64 {
    (effort as f64 * SORTED_SHARE) as u64
}
