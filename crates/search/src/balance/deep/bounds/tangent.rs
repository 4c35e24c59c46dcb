//! Lower bounds by number of moves, and by amount of data: the score lies above each of its tangents, and along a tangent
//! the gains of the instances are independent.

mod choices;

use rayon::prelude::*;

use super::backing::{Backing, Response};
use super::vectors::{centred, reserve_prices};
use super::{ROUNDING, rising_weight};
use crate::Deadline;
use crate::balance::deep::arrangement::Arrangement;
use crate::balance::deep::terrain::{Seat, SlotStanding, Terrain};
use choices::{CheapestNodes, Choice};

/// Lower bounds by number of moved instances.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveLine {
    /// By number of moves, from 0.
    bounds: Vec<f64>,
    floor: f64,
}

impl MoveLine {
    /// Bounds that exclude nothing.
    pub(crate) fn unknown() -> MoveLine {
        MoveLine { bounds: Vec::new(), floor: f64::NEG_INFINITY }
    }

    /// Notes a lower bound for any number of moves.
    pub(crate) fn raise(&mut self, floor: f64) {
        self.floor = self.floor.max(floor);
    }

    /// Notes a lower bound for up to this number of moves.
    pub(super) fn raise_up_to(&mut self, moves: usize, floor: f64) {
        self.bounds.iter_mut().take(moves + 1).for_each(|bound| *bound = bound.max(floor));
    }

    /// Lower bound of the score of any placement with up to this number of moved instances.
    pub fn after(&self, moves: usize) -> f64 {
        self.bounds.get(moves).copied().unwrap_or(self.floor).max(self.floor)
    }

    /// Tightens the bounds by a tangent. `start` is its value at the start, `gains` the largest gain of each
    /// instance along it, best first. `size` is the sum of the absolute values of its parts, from which the
    /// rounding error follows.
    fn take(&mut self, start: f64, gains: &[f64], size: f64) {
        let mut value = start;
        for (moves, bound) in self.bounds.iter_mut().enumerate() {
            if moves > 0 {
                value -= gains.get(moves - 1).copied().unwrap_or(0.0);
            }
            *bound = bound.max(value - ROUNDING * size);
        }
    }

    /// Tightens the bounds by a number that bounds the score plus `price` for each move. `size` is as for
    /// [`take`](Self::take).
    fn take_priced(&mut self, value: f64, price: f64, size: f64) {
        for (moves, bound) in self.bounds.iter_mut().enumerate() {
            let paid = price * moves as f64;
            *bound = bound.max(value - paid - ROUNDING * (size + paid));
        }
    }
}

/// Values of the lanes by online node: the point at which a tangent touches.
type LaneValues = Vec<f64>;

/// Data shared by all tangents.
struct TangentData<'t> {
    terrain: &'t Terrain<'t>,
    start: LaneValues,
    /// For each mobile, the largest decrease of the counts if it moves.
    counted: Vec<f64>,
    /// For each online node, the other node for which it keeps most at the start.
    fullest: Vec<u32>,
    /// The score without the deviations and without the sum of the reserves.
    rest: f64,
    /// Absolute value of the affinity costs in `rest`.
    keys: f64,
    /// For each slot, its position among the online nodes.
    row: Vec<usize>,
    backing: Backing,
    /// Weight of the deviation of the reserves; so small that the cost rises with every reserve.
    of_deviation: f64,
}

/// A tangent.
struct TangentGains {
    /// Value at the start, without the reserves.
    value: f64,
    /// By online node and lane, the derivative of the score times the scale.
    slopes: Vec<f64>,
    /// For each kind of mobiles, the nodes where its roles cost least.
    cheapest: Vec<CheapestNodes>,
    /// For each online node, the price of its reserve.
    reserve_prices: Vec<f64>,
}

/// A limit on what changes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Budget {
    /// A number of moved instances.
    Moves(usize),
    /// An amount of data, in MiB.
    Data(i64),
}

/// The moves of least cost along a tangent, with a price for what is limited.
struct PricedMoves {
    choices: Vec<Option<Choice>>,
    response: Response,
}

impl<'t> TangentData<'t> {
    fn of(terrain: &'t Terrain<'t>) -> TangentData<'t> {
        let at = Arrangement::of(terrain);
        let width = terrain.width();
        let start: LaneValues = terrain
            .online
            .iter()
            .flat_map(|slot| (0..width).map(|k| (*slot, k)).collect::<Vec<_>>())
            .map(|(slot, k)| at.raw_value(slot, k))
            .collect();
        let mut row = vec![usize::MAX; terrain.nodes.len()];
        for (at, slot) in terrain.online.iter().enumerate() {
            row[*slot as usize] = at;
        }
        let counted = (0..terrain.mobiles.len() as u32).map(|m| most_counted(terrain, m)).collect();
        let fullest = terrain.online.iter().map(|slot| at.ledgers.fullest(*slot)).collect();
        let rest = at.now().score - at.deviations() + terrain.constant;
        let keys = terrain.weights.keys * at.counts.keys.unsigned_abs() as f64;
        let backing = Backing::of(terrain, &at.ledgers);
        let of_deviation = rising_weight(terrain);
        TangentData { terrain, start, counted, fullest, rest, keys, row, backing, of_deviation }
    }

    /// Mean and population standard deviation of the values of each lane.
    fn moments(&self, values: &LaneValues) -> Vec<(f64, f64)> {
        let (width, n) = (self.terrain.width(), self.terrain.online.len() as f64);
        let column = |k: usize| values.iter().skip(k).step_by(width.max(1));
        (0..width)
            .map(|k| {
                let mean = column(k).sum::<f64>() / n;
                (mean, (column(k).map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt())
            })
            .collect()
    }

    /// Computes the tangent at `values` and the gain of each mobile along it.
    fn tangent(&self, values: &LaneValues) -> TangentGains {
        let (terrain, width, n) = (self.terrain, self.terrain.width(), self.terrain.online.len() as f64);
        // By node and lane, the derivative of the score times the scale.
        let mut slopes = vec![0.0; values.len()];
        let mut value = self.rest;
        for k in 0..width {
            let column =
                |values: &LaneValues| -> Vec<f64> { values.iter().skip(k).step_by(width).copied().collect() };
            let start = centred(column(&self.start));
            if Some(k) == terrain.lanes.reserve || !terrain.is_sum(k) {
                continue;
            }
            let away = centred(column(values));
            let length = away.iter().map(|x| x * x).sum::<f64>().sqrt();
            let largest = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            // Values that are equal except for rounding have no direction.
            if !(length > 1e-7 * largest) {
                continue;
            }
            for (at, slot) in terrain.online.iter().enumerate() {
                let slope = terrain.lanes.weight[k] * away[at] / (length * n.sqrt());
                value += slope * start[at];
                slopes[at * width + k] = slope * terrain.scale(*slot)[k];
            }
        }
        let cheapest = terrain.samples.par_iter().map(|mobile| self.cheapest(*mobile, &slopes)).collect();
        TangentGains { value, slopes, cheapest, reserve_prices: self.reserve_prices(values) }
    }

    /// For each online node, the change of the reserves' cost if its reserve rises by one, at `values`. None is below 0.
    fn reserve_prices(&self, values: &LaneValues) -> Vec<f64> {
        let (terrain, width) = (self.terrain, self.terrain.width());
        let Some(k) = terrain.lanes.reserve else { return vec![0.0; terrain.online.len()] };
        let reserves = values.iter().skip(k).step_by(width).copied().collect();
        reserve_prices(reserves, (terrain.weights.reserved, self.of_deviation), 1e-9)
    }

    /// The gains of the mobiles if reserves fall as little as their largest amounts, best first, and the value at the
    /// start with the reserves. `free` are the choices without a price.
    fn sorted_gains(&self, tangent: &TangentGains, free: &[Option<Choice>]) -> (f64, Vec<f64>) {
        let (terrain, width) = (self.terrain, self.terrain.width());
        let of_mobile = |(mobile, choice): (usize, &Option<Choice>)| {
            let details = &terrain.mobiles[mobile];
            let of_reserve =
                if details.mirrored { self.reserve_gain(details.home, details.need) } else { 0.0 };
            choice.map(|choice| choice.gain + of_reserve)
        };
        let choices = free.iter().enumerate();
        let mut gains: Vec<f64> = choices.filter_map(of_mobile).filter(|gain| *gain > 0.0).collect();
        gains.sort_by(|a, b| b.total_cmp(a));
        let reserves = terrain.lanes.reserve.map_or(0.0, |k| self.start.iter().skip(k).step_by(width).sum());
        (tangent.value + terrain.weights.reserved * reserves, gains)
    }

    /// Tightens the bounds by a tangent. Returns the moves of least cost with a price for each move that suits `moves`
    /// moves.
    fn take(&self, line: &mut MoveLine, tangent: &TangentGains, moves: usize) -> PricedMoves {
        let free = self.choices(tangent, 0.0);
        let (start, gains) = self.sorted_gains(tangent, &free);
        line.take(start, &gains, start.abs() + self.keys);
        self.respond_within(tangent, &free, Budget::Moves(moves), |value, price, size| {
            line.take_priced(value, price, size);
        })
    }

    /// The moves of least cost along a tangent, with a price at which they fit the budget. Calls `note` for each price that
    /// is tried, with the least cost, the price, and the sum of the sizes of its parts. `free` are the choices without a price.
    fn respond_within(
        &self,
        tangent: &TangentGains,
        free: &[Option<Choice>],
        budget: Budget,
        mut note: impl FnMut(f64, f64, f64),
    ) -> PricedMoves {
        let mut priced = |price: f64| {
            let (choices, of_move) = match budget {
                Budget::Moves(_) => (free.to_vec(), price),
                Budget::Data(_) => (self.choices(tangent, price), 0.0),
            };
            let cost = |choice: &Option<Choice>| choice.map_or(f64::INFINITY, |of| of_move - of.gain);
            let costs: Vec<f64> = choices.iter().map(cost).collect();
            let response = self.backing.respond(&tangent.reserve_prices, &costs);
            note(tangent.value + response.value, price, tangent.value.abs() + response.size + self.keys);
            PricedMoves { choices, response }
        };
        let (mut low, mut high) = (0.0, self.highest_price(tangent, free, budget));
        let mut best = priced(high);
        for _ in 0..PRICES {
            let middle = f64::midpoint(low, high);
            let tried = priced(middle);
            if tried.fits(budget) {
                (high, best) = (middle, tried);
            } else {
                low = middle;
            }
        }
        best
    }

    /// A price that no move is worth, unless it copies nothing.
    fn highest_price(&self, tangent: &TangentGains, free: &[Option<Choice>], budget: Budget) -> f64 {
        let (terrain, width) = (self.terrain, self.terrain.width());
        let gain = free.iter().flatten().map(|choice| choice.gain).fold(0.0, f64::max);
        let of_reserve = terrain.lanes.reserve.map_or(0.0, |k| {
            let reserves = self.start.iter().skip(k).step_by(width);
            reserves.zip(&tangent.reserve_prices).map(|(kept, price)| kept * price).fold(0.0, f64::max)
        });
        match budget {
            Budget::Moves(_) => gain + of_reserve,
            Budget::Data(_) => {
                let amounts = free.iter().flatten().map(|choice| choice.data).filter(|data| *data > 0);
                (gain + of_reserve) / amounts.min().unwrap_or(1) as f64
            }
        }
    }

    /// The largest decrease of the sum of the reserves if a mirrored instance moves. A node keeps at least the
    /// memory needed for the node for which it keeps most now.
    fn reserve_gain(&self, home: Seat, need: i64) -> f64 {
        let terrain = self.terrain;
        let Some(k) = terrain.lanes.reserve.filter(|_| terrain.is_online(home.secondary)) else { return 0.0 };
        if self.fullest[self.row[home.secondary as usize]] != home.primary {
            return 0.0;
        }
        terrain.weights.reserved * need as f64 * terrain.scale(home.secondary)[k]
    }

    /// The values after some moves.
    fn follow(&self, PricedMoves { choices, response }: &PricedMoves) -> LaneValues {
        let (terrain, width) = (self.terrain, self.terrain.width());
        let mut values = self.start.clone();
        let mut add = |mobile: u32, slot: u32, secondary: bool, sign: f64| {
            let Some(row) = self.row.get(slot as usize).filter(|row| **row != usize::MAX) else { return };
            let (amounts, scale) = (terrain.amounts(mobile, slot, secondary), terrain.scale(slot));
            for k in 0..width {
                values[row * width + k] += sign * amounts[k] * scale[k];
            }
        };
        for mobile in &response.moved {
            let home = terrain.mobiles[*mobile as usize].home;
            let Some(choice) = choices[*mobile as usize] else { continue };
            for (seat, sign) in [(home, -1.0), (choice.seat, 1.0)] {
                add(*mobile, seat.primary, false, sign);
                add(*mobile, seat.secondary, true, sign);
            }
        }
        if let Some(k) = terrain.lanes.reserve {
            for (row, reserve) in response.reserves.iter().enumerate() {
                values[row * width + k] = *reserve;
            }
        }
        values
    }

    /// The part of the score that comes from deviations and reserves.
    fn deviations(&self, values: &LaneValues) -> f64 {
        let (lanes, n) = (&self.terrain.lanes, self.terrain.online.len() as f64);
        let part = |(k, (mean, deviation)): (usize, &(f64, f64))| match Some(k) == lanes.reserve {
            true => self.terrain.weights.reserved * n * mean + self.of_deviation * deviation,
            false => lanes.weight[k] * deviation,
        };
        self.moments(values).iter().enumerate().map(part).sum()
    }

    /// The point with the smallest deviations on the line between two points.
    fn between(&self, from: &LaneValues, to: &LaneValues) -> LaneValues {
        let at = |share: f64| -> LaneValues {
            from.iter().zip(to).map(|(from, to)| from + share * (to - from)).collect()
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..24 {
            let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
            if self.deviations(&at(a)) < self.deviations(&at(b)) { high = b } else { low = a }
        }
        at((low + high) / 2.0)
    }
}

/// The largest decrease of the counts if a mobile moves: its own part of them, and all of a node that fails
/// N+1.
fn most_counted(terrain: &Terrain<'_>, mobile: u32) -> f64 {
    let (details, weights, instance) =
        (&terrain.mobiles[mobile as usize], &terrain.weights, terrain.instance(mobile));
    let mut most = 0.0;
    for (slot, primary) in [(details.home.primary, true), (details.home.secondary, false)] {
        let Some(standing) = terrain.standing.get(slot as usize) else { continue };
        let ledger = &terrain.cluster.node(terrain.nodes[slot as usize]).state.ledger;
        match standing {
            SlotStanding::Online if ledger.n1_fail => {
                most += weights.on_failing * (ledger.primaries + ledger.secondaries) as f64;
            }
            SlotStanding::Offline => {
                most += details.counts as f64
                    * (weights.offline + f64::from(u8::from(primary)) * weights.offline_primaries);
            }
            _ => {}
        }
    }
    let tags = instance.exclusion_tags.len() as f64;
    let spec = terrain.spec(details.home.primary);
    let locations = spec.location_tags.len() as f64;
    most += tags * (weights.conflicts + weights.spread * locations);
    // It leaves every instance that it dislikes and meets all that it likes.
    let here = &terrain.cluster.node(spec.idx).state.key_count;
    most += weights.keys * instance.keys.most().saturating_add(instance.keys.dislikes(here)) as f64;
    most + weights.locations * spec.location_cost(instance, instance.location_score).max(0) as f64
}

/// Limits on the steps towards the point whose tangent is tightest for a number of moves.
const STEPS: usize = 40;
const LEAST_STEPS: usize = 2;

/// Number of prices of a move that are tried for a tangent.
const PRICES: usize = 16;

/// Number of different move counts for which tangents are computed.
const MOST_TARGETS: usize = 12;

/// Limit on the operations for one line.
const BUDGET: usize = 400_000_000;

/// Bounds for up to `most` moves. They stay valid, but are less tight, if the budget or the time runs out.
pub(crate) fn line(terrain: &Terrain<'_>, floor: f64, most: usize, deadline: &Deadline) -> MoveLine {
    let slopes = TangentData::of(terrain);
    let mut line = MoveLine { bounds: vec![f64::NEG_INFINITY; most + 1], floor };
    let steps = steps(terrain, MOST_TARGETS);
    let is_long = steps < LEAST_STEPS;
    let steps = steps.clamp(LEAST_STEPS, STEPS);
    for target in 1..=MOST_TARGETS {
        let moves = most * target / MOST_TARGETS;
        let mut point = slopes.start.clone();
        for step in 0..steps {
            if is_long && deadline.reached_before(step + target - 1).is_some() {
                return line;
            }
            let tangent = slopes.tangent(&point);
            let moves = slopes.take(&mut line, &tangent, moves);
            point = slopes.between(&point, &slopes.follow(&moves));
        }
    }
    line
}

/// Lower bound of the score of any placement that moves at most `most` of data, in MiB. `floor` is one for any amount. At the
/// deadline the search for it ends early.
pub(crate) fn within_data(terrain: &Terrain<'_>, floor: f64, most: i64, deadline: &Deadline) -> f64 {
    let slopes = TangentData::of(terrain);
    let mut bound = floor;
    let mut point = slopes.start.clone();
    for step in 0..steps(terrain, 1).clamp(LEAST_STEPS, STEPS) {
        if deadline.reached_before(step).is_some() {
            break;
        }
        let tangent = slopes.tangent(&point);
        let free = slopes.choices(&tangent, 0.0);
        let moves = slopes.respond_within(&tangent, &free, Budget::Data(most), |value, price, size| {
            let paid = price * most as f64;
            bound = bound.max(value - paid - ROUNDING * (size + paid));
        });
        point = slopes.between(&point, &slopes.follow(&moves));
    }
    bound
}

/// Number of steps towards each of some points that the budget allows.
fn steps(terrain: &Terrain<'_>, targets: usize) -> usize {
    let looks = terrain.samples.len() * terrain.online.len() + terrain.mobiles.len();
    BUDGET / (2 * looks * terrain.width()).max(1) / targets
}

impl PricedMoves {
    /// Returns true if the moves are within a budget.
    fn fits(&self, budget: Budget) -> bool {
        let moved = &self.response.moved;
        match budget {
            Budget::Moves(most) => moved.len() <= most,
            Budget::Data(most) => {
                let data = moved.iter().filter_map(|mobile| self.choices[*mobile as usize]);
                data.map(|choice| i128::from(choice.data)).sum::<i128>() <= i128::from(most)
            }
        }
    }
}
