//! The contents of a node that cost least by some prices, by dynamic programming over the grid.

use super::super::ROUNDING;
use super::grid::{ContentGrid, WholeRange};
use super::prices::{ContentPrices, CountedTypes, EXACT, NodeContent};
use super::problem::{ContentLane, ContentProblem, LaneSource, OWN};
use super::tables::{PrimaryTable, SecondaryTable};

/// The least costs of a node by some prices.
pub(super) struct PricedContents {
    /// For each level, a number that no content costs less than.
    pub least: Vec<f64>,
    /// Contents that cost little, at each level and with each number of primaries.
    pub contents: Vec<NodeContent>,
}

/// One pricing.
struct ContentPricing<'a> {
    problem: &'a ContentProblem<'a>,
    grid: &'a ContentGrid,
    prices: &'a ContentPrices,
    /// The unit of what items pay.
    unit: f64,
    own_costs: [Vec<f64>; OWN],
    shared_costs: Vec<f64>,
    table: PrimaryTable<'a>,
    /// By the number of primaries and their part of the shared dimension, the least cost apart from that dimension.
    apart: Vec<f64>,
}

/// A place in the tables that costs little.
struct CheapPlace {
    cost: f64,
    primaries: usize,
    secondaries: usize,
    /// The secondaries' part of the shared dimension.
    part: usize,
}

/// The least costs of a node, and contents that cost little. `unit` is that of the prices.
pub(super) fn price(
    problem: &ContentProblem<'_>,
    grid: &ContentGrid,
    (prices, unit): (&ContentPrices, f64),
) -> PricedContents {
    let in_units = |pays: &[f64]| -> Vec<f32> { pays.iter().map(|pay| (pay / unit) as f32).collect() };
    let own_costs = std::array::from_fn(|dimension| {
        let counts = |source| matches!(source, LaneSource::Own(own, _) if own == dimension);
        squares(problem, prices, grid.own[dimension], counts)
    });
    let shared_costs =
        squares(problem, prices, grid.shared, |source| matches!(source, LaneSource::Shared(_)));
    let table = PrimaryTable::of(grid, &problem.primaries, in_units(&prices.primaries));
    let mut pricing =
        ContentPricing { problem, grid, prices, unit, own_costs, shared_costs, table, apart: Vec::new() };
    pricing.apart = pricing.apart();
    pricing.at_all_levels(&in_units(&prices.secondaries))
}

/// For each number of units up to the end of a range, the priced squares of some lanes; infinite before the range.
fn squares(
    problem: &ContentProblem<'_>,
    prices: &ContentPrices,
    range: WholeRange,
    counts: impl Fn(LaneSource) -> bool,
) -> Vec<f64> {
    let cost = |units: usize| {
        let lanes = problem.lanes.iter().zip(&prices.variances).filter(|(lane, _)| counts(lane.source));
        let parts = lanes.map(|(lane, price)| {
            let (LaneSource::Own(_, unit) | LaneSource::Shared(unit)) = lane.source else { return 0.0 };
            price * lane.square(units as f64 * unit)
        });
        if range.contains(units) { parts.sum() } else { f64::INFINITY }
    };
    (0..=range.high).map(cost).collect()
}

impl ContentPricing<'_> {
    fn apart(&self) -> Vec<f64> {
        let side = self.table.shared;
        let mut apart = vec![f64::INFINITY; self.table.layers * side];
        for (layer, least) in apart.chunks_exact_mut(side).enumerate() {
            for own in self.places() {
                let cost = self.own_cost(own);
                for (least, cell) in least.iter_mut().zip(self.table.row(layer, own)) {
                    let new = f64::from(*cell) * self.unit + cost;
                    *least = if new < *least { new } else { *least };
                }
            }
        }
        apart
    }

    /// The places in the primaries' own dimensions.
    fn places(&self) -> impl Iterator<Item = [usize; OWN]> {
        let [first, second] = self.grid.own;
        (first.low..=first.high).flat_map(move |x| (second.low..=second.high).map(move |y| [x, y]))
    }

    fn own_cost(&self, own: [usize; OWN]) -> f64 {
        self.own_costs[0][own[0]] + self.own_costs[1][own[1]]
    }

    fn at_all_levels(&self, pays: &[f32]) -> PricedContents {
        let side = self.table.shared;
        // The least cost with a number of primaries, and with the secondaries' part of the shared dimension.
        let with_part = |layer: usize, part: usize| {
            let both = self.apart[layer * side..].iter().zip(&self.shared_costs[part..]);
            both.map(|(a, b)| a + b).fold(f64::INFINITY, f64::min)
        };
        let joint: Vec<f64> = (0..self.table.layers)
            .flat_map(|layer| (0..side).map(move |part| (layer, part)))
            .map(|(layer, part)| with_part(layer, part))
            .collect();
        let roles = self.role_costs();
        let levels = self.problem.ranges.costs.levels.len();
        let mut priced = PricedContents { least: vec![f64::INFINITY; levels], contents: Vec::new() };
        for level in 0..levels {
            let secondaries = SecondaryTable::of(self.grid, (&self.problem.secondaries, pays), level);
            for (primaries, joint) in joint.chunks_exact(side).enumerate() {
                let roles = &roles[primaries * secondaries.layers..][..secondaries.layers];
                let Some(place) = self.cheapest(&secondaries, primaries, joint, roles) else { continue };
                priced.least[level] = priced.least[level].min(place.cost);
                priced.contents.extend(self.content(&secondaries, level, &place));
            }
        }
        let margin = ROUNDING * self.size();
        priced.least.iter_mut().for_each(|least| *least -= margin);
        priced
    }

    /// The cheapest place with a number of primaries; `None` if there is none.
    fn cheapest(
        &self,
        table: &SecondaryTable<'_>,
        primaries: usize,
        joint: &[f64],
        roles: &[f64],
    ) -> Option<CheapPlace> {
        let mut least = CheapPlace { cost: f64::INFINITY, primaries, secondaries: 0, part: 0 };
        for (secondaries, roles) in roles.iter().enumerate().filter(|(_, roles)| roles.is_finite()) {
            for (part, (cell, joint)) in table.row(secondaries).iter().zip(joint).enumerate() {
                let cost = f64::from(*cell) * self.unit + joint + roles;
                if cost < least.cost {
                    least = CheapPlace { cost, primaries, secondaries, part };
                }
            }
        }
        (least.cost < f64::INFINITY).then_some(least)
    }

    /// By the numbers of primaries and secondaries, the priced squares of the lanes that count only these.
    fn role_costs(&self) -> Vec<f64> {
        let [primaries, secondaries] = self.grid.most;
        let cost = |primaries: usize, secondaries: usize| -> f64 {
            let lanes = self.problem.lanes.iter().zip(&self.grid.reach).zip(&self.prices.variances);
            let parts = lanes.map(|((lane, reach), price)| {
                let LaneSource::Roles(of_primary, of_secondary) = lane.source else { return 0.0 };
                let arrives = primaries as f64 * of_primary + secondaries as f64 * of_secondary;
                if lane.allows(arrives, *reach) { price * lane.square(arrives) } else { f64::INFINITY }
            });
            parts.sum()
        };
        let all = (0..=primaries).flat_map(|primary| (0..=secondaries).map(move |second| (primary, second)));
        all.map(|(primary, secondary)| cost(primary, secondary)).collect()
    }

    /// The size of the largest terms of a cost.
    fn size(&self) -> f64 {
        let lanes = self.problem.lanes.iter().zip(&self.grid.reach).zip(&self.prices.variances);
        let squares = lanes.map(|((lane, reach), price)| {
            price * (2.0 * lane.fixed.abs() + 2.0 * lane.mean.abs() + reach).powi(2)
        });
        squares.sum::<f64>() + 2.0 * EXACT * self.unit
    }

    /// The content at a place.
    fn content(&self, table: &SecondaryTable<'_>, level: usize, place: &CheapPlace) -> Option<NodeContent> {
        let side = self.table.shared;
        let CheapPlace { primaries, secondaries, part, .. } = *place;
        let apart = &self.apart[primaries * side..][..side];
        let cost = |own: &usize| apart[*own] + self.shared_costs[own + part];
        let own_part = (0..side - part).min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        let cost = |own: &[usize; OWN]| {
            f64::from(self.table.row(primaries, *own)[own_part]) * self.unit + self.own_cost(*own)
        };
        let own = self.places().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        let square = |lane: &ContentLane| {
            lane.square(match lane.source {
                LaneSource::Roles(primary, secondary) => {
                    primaries as f64 * primary + secondaries as f64 * secondary
                }
                LaneSource::Own(dimension, unit) => own[dimension] as f64 * unit,
                LaneSource::Shared(unit) => (own_part + part) as f64 * unit,
            })
        };
        Some(NodeContent {
            level,
            primaries: counted(self.table.items(primaries, own, own_part)?),
            secondaries: counted(table.items(secondaries, part)?),
            squares: self.problem.lanes.iter().map(square).collect(),
        })
    }
}

/// The types in ascending order, each with its number.
fn counted(mut types: Vec<usize>) -> CountedTypes {
    types.sort_unstable();
    types.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect()
}
