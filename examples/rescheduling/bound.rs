//! A lower bound of fragments after a number of migrations.
//!
//! Whatever the prices, the sum of the hosts' best values, and of the price of all migrations allowed, is at least
//! the number of useful blocks after any plan. A subgradient method looks for prices whose sum is low.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::prices::{Best, Prices, Values, count};
use crate::space::{Content, Space};

/// Prices tried at most.
const ROUNDS: u32 = 400;
/// Prices tried without a lower sum until the steps become smaller.
const PATIENCE: u32 = 12;
/// Steps below which the search for prices ends, in blocks.
const FINEST: f64 = 0.002;
/// Slack for the rounding of sums of doubles, in blocks.
const ROUNDING: f64 = 1e-6;

pub struct Bound {
    /// No plan has more useful blocks at the end.
    pub blocks: usize,
    /// The prices that prove it, and that guide the search.
    pub prices: Prices,
}

/// Hosts that are alike.
struct Alike {
    content: Content,
    hosts: f64,
}

/// Sum of hosts' values, and how it changes with the prices.
struct Sum {
    value: f64,
    migration: f64,
    place: Vec<f64>,
}

/// Bound for at most `migrations` migrations.
pub fn bound(space: &Space, migrations: u32) -> Bound {
    let mut numbers = BTreeMap::<Content, u32>::new();
    for content in &space.contents {
        *numbers.entry(Content { memory: [0, 0], ..content.clone() }).or_default() += 1;
    }
    let (active, closed): (Vec<_>, Vec<_>) = numbers
        .into_iter()
        .map(|(content, hosts)| Alike { content, hosts: f64::from(hosts) })
        .partition(|alike| alike.content.active);
    let fixed = closed.iter().map(|alike| alike.hosts * count(space.blocks(alike.content.free))).sum::<f64>();
    let start = space.contents.iter().map(|content| count(space.blocks(content.free))).sum::<f64>();
    let most = space.most_blocks();
    let (sum, prices) = lowest(space, &active, f64::from(migrations), start - fixed);
    let blocks = (0..most).rev().find(|&blocks| count(blocks + 1) <= fixed + sum + ROUNDING);
    Bound { blocks: blocks.map_or(0, |blocks| blocks + 1), prices }
}

/// The lowest sum found, and its prices.
fn lowest(space: &Space, active: &[Alike], migrations: f64, start: f64) -> (f64, Prices) {
    let unit = |shape| space.slots.iter().find(|slot| slot.shape == shape).map_or([0, 0], |slot| slot.units);
    let worth = 0.8 / count(space.units_of_block());
    let place =
        (0..space.shapes.len()).map(|shape| worth * unit(shape).iter().map(|&u| count(u)).sum::<f64>());
    let mut prices = Prices { migration: 0.5, place: place.collect() };
    let mut best = (f64::INFINITY, prices.clone());
    let mut step = None;
    let mut idle = 0;
    for _ in 0..ROUNDS {
        let sum = sum(space, active, &prices, migrations);
        let steps = *step.get_or_insert((sum.value - start).max(1.0) / 4.0);
        if sum.value < best.0 - steps / 100.0 {
            idle = 0;
        }
        if sum.value < best.0 {
            best = (sum.value, prices.clone());
        }
        idle += 1;
        if idle > PATIENCE {
            idle = 0;
            step = Some(steps / 2.0);
            prices = best.1.clone();
            if steps < FINEST {
                break;
            }
            continue;
        }
        let norm = sum.migration.powi(2) + sum.place.iter().map(|slope| slope.powi(2)).sum::<f64>();
        if norm == 0.0 {
            break;
        }
        let length = (sum.value - best.0 + steps) / norm;
        prices.migration = (prices.migration - length * sum.migration).max(0.0);
        for (price, slope) in prices.place.iter_mut().zip(&sum.place) {
            *price -= length * slope;
        }
    }
    best
}

fn sum(space: &Space, active: &[Alike], prices: &Prices, migrations: f64) -> Sum {
    let values = Values::new(space, prices);
    // added up in the order of the hosts: the same sum on any number of cores
    let bests =
        active.par_iter().with_min_len(8).map(|alike| values.best(&alike.content)).collect::<Vec<_>>();
    let mut sum = Sum {
        value: migrations * prices.migration,
        migration: migrations,
        place: vec![0.0; space.shapes.len()],
    };
    for (Best { value, balance, departures }, alike) in bests.iter().zip(active) {
        sum.value += alike.hosts * value;
        sum.migration -= alike.hosts * departures;
        for (slope, balance) in sum.place.iter_mut().zip(balance) {
            *slope -= alike.hosts * balance;
        }
    }
    sum
}
