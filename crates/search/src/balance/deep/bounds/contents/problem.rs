//! What one node can hold, on a grid: kinds of items by whole amounts, and for each lane which amounts it counts.

use super::super::levels::ItemKind;
use super::super::ranges::{Range, RangeProblem, roles};

/// Number of dimensions of which only primaries take.
pub(super) const OWN: usize = 2;

/// Maximum number of types of primaries and secondaries.
const MOST_TYPES: usize = 200;

/// A unit divides the least amount by no more than this.
const MOST_PARTS: u32 = 64;

/// An amount is a multiple of a unit if it differs from one by no more than this share.
const ALMOST_WHOLE: f64 = 1e-12;

/// Values of nodes that differ by no more than this share are equal.
const ALMOST_EQUAL: f64 = 1e-13;

/// The bound by whole contents of nodes: equal nodes, and items whose amounts are multiples of units.
#[derive(Debug, Clone)]
pub(super) struct ContentProblem<'a> {
    pub ranges: &'a RangeProblem,
    /// Number of nodes.
    pub nodes: usize,
    pub lanes: Vec<ContentLane>,
    pub primaries: Vec<PrimaryType>,
    pub secondaries: Vec<SecondaryType>,
}

/// A lane: how its value follows from what the node holds.
#[derive(Debug, Clone)]
pub(super) struct ContentLane {
    /// The value of what cannot move.
    pub fixed: f64,
    /// The mean of all values.
    pub mean: f64,
    /// The least and the most that movable items add.
    pub arrivals: Range,
    pub source: LaneSource,
}

/// The amounts that a lane counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LaneSource {
    /// The same for each primary, and the same for each secondary.
    Roles(f64, f64),
    /// Units of a dimension of which only primaries take.
    Own(usize, f64),
    /// Units of the dimension of which secondaries take, too.
    Shared(f64),
}

/// Primaries that are equal on the grid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PrimaryType {
    pub own: [usize; OWN],
    pub shared: usize,
    pub count: f64,
    /// The index of one of these items.
    pub sample: usize,
}

/// Secondaries that are equal on the grid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SecondaryType {
    pub shared: usize,
    /// The lowest level of its node: an index into the levels.
    pub level: usize,
    pub count: f64,
    /// The index of one of these items.
    pub sample: usize,
}

/// The whole amounts of a lane by item: of its primary and of its secondary.
type WholeAmounts = Vec<[usize; 2]>;

impl<'a> ContentProblem<'a> {
    /// `None` if the nodes hold different amounts that cannot move, or the amounts do not fit a small grid.
    pub(super) fn of(problem: &'a RangeProblem) -> Option<ContentProblem<'a>> {
        let (mut own, mut shared): (Vec<WholeAmounts>, Option<WholeAmounts>) = (Vec::new(), None);
        let mut lanes = Vec::new();
        for lane in 0..problem.means.len() {
            let fixed = equal(problem.kinds.iter().map(|kind| kind.fixed[lane]))?;
            let source = match role_amounts(&problem.items, lane) {
                Some((primary, secondary)) => LaneSource::Roles(primary, secondary),
                None => {
                    let (unit, amounts) = whole_amounts(&problem.items, lane)?;
                    let at = own.iter().position(|known| *known == amounts).unwrap_or(own.len());
                    if at < OWN && amounts.iter().all(|of| of[1] == 0) {
                        if at == own.len() {
                            own.push(amounts);
                        }
                        LaneSource::Own(at, unit)
                    } else if *shared.get_or_insert_with(|| amounts.clone()) == amounts {
                        LaneSource::Shared(unit)
                    } else {
                        return None;
                    }
                }
            };
            let arrivals = problem.arrivals(lane);
            lanes.push(ContentLane { fixed, mean: problem.means[lane], arrivals, source });
        }
        let (mut primaries, mut secondaries) = (Vec::new(), Vec::new());
        for (sample, item) in problem.items.iter().enumerate() {
            let of_own = std::array::from_fn(|dimension| own.get(dimension).map_or(0, |of| of[sample][0]));
            let [primary, secondary] = shared.as_ref().map_or([0; 2], |of| of[sample]);
            let new = PrimaryType { own: of_own, shared: primary, count: item.count, sample };
            add(&mut primaries, new, |a, b| (a.own, a.shared) == (b.own, b.shared), |of| &mut of.count);
            if item.secondary.is_some() {
                let new = SecondaryType { shared: secondary, level: item.level, count: item.count, sample };
                add(
                    &mut secondaries,
                    new,
                    |a, b| (a.level, a.shared) == (b.level, b.shared),
                    |of| &mut of.count,
                );
            }
        }
        if primaries.len() + secondaries.len() > MOST_TYPES {
            return None;
        }
        Some(ContentProblem { ranges: problem, nodes: problem.nodes as usize, lanes, primaries, secondaries })
    }
}

/// Adds items to the type that is the same, or as a new one.
fn add<T>(types: &mut Vec<T>, new: T, same: impl Fn(&T, &T) -> bool, count: impl Fn(&mut T) -> &mut f64) {
    match types.iter().position(|known| same(known, &new)) {
        Some(at) => {
            let mut new = new;
            *count(&mut types[at]) += *count(&mut new);
        }
        None => types.push(new),
    }
}

/// The mean of some numbers; `None` if they are not equal.
fn equal(numbers: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let low = numbers.clone().fold(f64::INFINITY, f64::min);
    let high = numbers.fold(f64::NEG_INFINITY, f64::max);
    (high - low <= ALMOST_EQUAL * (high.abs() + low.abs())).then(|| f64::midpoint(low, high))
}

/// The amounts of each primary and of each secondary, if they are the same for all items.
fn role_amounts(items: &[ItemKind], lane: usize) -> Option<(f64, f64)> {
    let primary = items.first()?.primary[lane];
    let mut secondaries = items.iter().filter_map(|item| Some(item.secondary.as_ref()?[lane]));
    let secondary = secondaries.clone().next().unwrap_or(0.0);
    let same =
        items.iter().all(|item| item.primary[lane] == primary) && secondaries.all(|of| of == secondary);
    (same && primary * secondary >= 0.0).then_some((primary, secondary))
}

/// The amounts of a lane as multiples of a unit, and the unit with the sign of the amounts; `None` if there is none.
fn whole_amounts(items: &[ItemKind], lane: usize) -> Option<(f64, WholeAmounts)> {
    let all = || items.iter().flat_map(roles).map(|(amounts, _)| amounts[lane]).filter(|of| *of != 0.0);
    let least = all().map(f64::abs).fold(f64::INFINITY, f64::min);
    let sign = all().next()?.signum();
    let whole = |amount: f64, unit: f64| {
        let (units, nearest) = (amount / unit, (amount / unit).round());
        let fits = nearest >= 0.0 && (units - nearest).abs() <= ALMOST_WHOLE * nearest && nearest < 1e6;
        fits.then_some(nearest as usize)
    };
    let unit = (1..=MOST_PARTS)
        .map(|parts| sign * least / f64::from(parts))
        .find(|unit| all().all(|amount| whole(amount, *unit).is_some()))?;
    let of_item = |item: &ItemKind| {
        let secondary = item.secondary.as_ref().map_or(0.0, |of| of[lane]);
        Some([whole(item.primary[lane], unit)?, whole(secondary, unit)?])
    };
    Some((unit, items.iter().map(of_item).collect::<Option<_>>()?))
}
