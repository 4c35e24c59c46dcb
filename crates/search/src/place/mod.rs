//! Possible places for a new instance, and the best of them.

mod aftermath;
pub(crate) mod bounds;
pub(crate) mod dedicated;
pub mod evacuation;
mod exact;
mod fit;
pub(crate) mod floor;
pub(crate) mod kept_room;
pub(crate) mod kinds;
pub(crate) mod offers;
mod pairs;
pub mod plain;
mod rows;
mod select;
pub(crate) mod shelf;
mod singles;
mod targets;

pub(crate) use aftermath::{PlacementChecks, Reserves};
pub use fit::PlaceTester;
pub use targets::{NoTargets, Targets};

use self::floor::Floor;
use self::offers::Offers;
use self::shelf::Shelf;
use htools_model::redundancy::global::Scope;
use htools_model::score::PairUpdate;
use htools_model::{Cluster, FailCounts, Instance, NodeIdx, Place, Strictness};

/// Conditions on the place of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Ignore soft limits of the primary node (`--ignore-soft-errors`).
    pub ignore_soft_errors: bool,
    /// Every node in this scope must be expendable afterwards: emptying it must be possible.
    pub redundancy: Option<Scope>,
}

impl Conditions {
    /// Strictness of the limits of the primary node.
    fn strictness(&self) -> Strictness {
        if self.ignore_soft_errors { Strictness::Forced } else { Strictness::Strict }
    }
}

/// Quality of a place; smaller is better.
#[derive(Debug, Clone, PartialEq)]
pub enum PlaceMetric {
    /// Score of the set of nodes afterwards.
    Score(f64),
    /// On nodes with exclusive storage: the other instances that could have been placed there instead, by size,
    /// and the disk space left.
    Lost(Vec<i64>, i64),
}

/// Result of a search for a place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlaceSearch {
    /// The best place, with its quality.
    pub best: Option<(PlaceMetric, Place)>,
    /// Number of possible places that were not discarded.
    pub successes: u64,
    /// Number of impossible places, by kind of refusal.
    pub failures: FailCounts,
}

/// An instance that needs a place.
#[derive(Debug, Clone, Copy)]
pub struct InstanceToPlace<'a> {
    /// The instance; its present nodes are ignored.
    pub instance: &'a Instance,
    /// The instance to use for checks of redundancy.
    pub redundancy_as: &'a Instance,
}

impl<'a> From<&'a Instance> for InstanceToPlace<'a> {
    fn from(instance: &'a Instance) -> InstanceToPlace<'a> {
        InstanceToPlace { instance, redundancy_as: instance }
    }
}

/// Searches for the best place for an instance among `targets`. The score is that of `nodes` (ascending). Ties
/// go to the place tried last.
pub fn find(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    newcomer: InstanceToPlace<'_>,
    targets: &Targets,
    conditions: &Conditions,
) -> PlaceSearch {
    if matches!(targets, Targets::Partners(..)) {
        return plain::find(cluster, nodes, newcomer, targets, conditions);
    }
    let floor = Floor::new(cluster, nodes, targets, newcomer.instance);
    let pairs = !matches!(targets, Targets::Singles(_));
    if pairs && PairUpdate::of(&floor.board).score(floor.board.weights(), 0).is_nan() {
        // Ties between scores that are not numbers depend on the order of all pairs.
        return plain::find(cluster, nodes, newcomer, targets, conditions);
    }
    let mut offers = Offers::new(newcomer.instance, conditions);
    match PlacementChecks::of(cluster, nodes, newcomer, conditions) {
        None => find_on(&floor, &mut offers, None),
        Some(mut checks) => find_on(&floor, &mut offers, Some(&mut |place| checks.holds(place))),
    }
}

/// Searches for the best place on a floor for which `holds` is true.
pub(crate) fn find_on(
    floor: &Floor<'_>,
    offers: &mut Offers<'_>,
    holds: Option<&mut dyn FnMut(&Place) -> bool>,
) -> PlaceSearch {
    match (floor.targets, holds) {
        (Targets::Singles(_), None) => singles::find(floor, offers, |_| true),
        (Targets::Singles(_), Some(holds)) => singles::find(floor, offers, holds),
        (_, None) => pairs::find(floor, offers),
        (_, Some(holds)) => pairs::find_checked(floor, offers, holds),
    }
}

/// Counts the possible places on a floor, and the refusals of the others. It does not choose a place.
pub(crate) fn count_on(floor: &Floor<'_>, offers: &mut Offers<'_>) -> PlaceSearch {
    match floor.targets {
        Targets::Singles(_) => {
            let (failures, successes) = singles::count(floor, offers);
            PlaceSearch { best: None, successes, failures }
        }
        _ => PlaceSearch { best: None, ..pairs::find(floor, offers) },
    }
}

/// The best single node except `not`; true if the result is the same for all alike nodes.
pub(crate) fn best_elsewhere(
    floor: &Floor<'_>,
    offers: &mut Offers<'_>,
    not: NodeIdx,
) -> Option<(Place, bool)> {
    singles::best_elsewhere(floor, offers, not)
}

/// The best place on a floor with the score afterwards, ignoring redundancy.
pub(crate) fn best_on(floor: &Floor<'_>, offers: &mut Offers<'_>) -> Option<(f64, Place)> {
    match floor.targets {
        Targets::Singles(_) => singles::best(floor, offers),
        _ => pairs::best(floor, offers),
    }
}

/// The best place on a floor of single nodes, using a shelf for the instance.
pub(crate) fn best_from(floor: &Floor<'_>, offers: &mut Offers<'_>, shelf: &mut Shelf) -> Option<Place> {
    singles::best_from(floor, offers, shelf)
}
