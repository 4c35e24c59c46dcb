//! Reasons why a change is impossible: the rule in the way, the lack, and the places that come nearest.
//!
//! All searches use these types. A [`StayCause`] keeps an instance in its place, a [`GroupObstacle`] excludes a whole
//! group, and a [`Obstacle`] a single place. A [`RefusedPlace`] is a refused place with its lack, and [`Nearest`] has
//! those nearest to being possible. `report::why` turns them into the words of each tool.

mod shortfall;

pub use shortfall::{Shortfall, missing};

use super::Stopped;
use super::groups::health::Health;
use super::moves::{Refusal, Trial};
use super::place::kept_room::RoomGuard;
use super::place::{Conditions, NoTargets, PlaceTester, Targets};
use htools_model::{
    Cluster, GroupIdx, Immobile, Instance, Ledger, Move, NodeIdx, Obstacle, Placement, PoolIdx, Rule,
};

/// Maximum number of places that are kept.
pub(crate) const MOST: usize = 20;

/// The reason why an instance does not move at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StayCause {
    /// It cannot or must not move.
    Immobile(Immobile),
    /// Its auto_balance flag is off.
    NotAutoBalanced,
    /// Only instances with an offline node are being moved (`-E`).
    NothingToEvacuate,
    /// It could only go with its disks copied, which is switched off (`--no-disk-moves`).
    NoDiskMoves,
    /// It could only go by migration or failover, which is switched off (`--no-instance-moves`).
    NoInstanceMoves,
    /// It does not exist yet.
    Forthcoming,
    /// No instance may leave its group.
    Denied,
    /// The source names a secondary node, but its disk template does not use one.
    NominalSecondary,
    /// Both its nodes are offline.
    NoOnlineNode,
    /// Its primary node is offline, and its secondary node cannot run it or does not accept migrations from
    /// there.
    NoFailover(NodeIdx, Rule),
}

/// The reason why a whole group cannot take an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupObstacle {
    /// No instance may move into it.
    Denied,
    /// It accepts no new instances.
    Unallocable,
    /// It is not healthy.
    Health(Health),
    /// It does not reach a pool of the instance.
    Pool(PoolIdx),
    /// UUIDs of networks of the instance that it lacks.
    Networks(Vec<String>),
    /// It has no nodes for it.
    Nodes(NoTargets),
    /// It has no online node that reaches the instance's pools; for DRBD, not two.
    Unreached,
    /// No node accepts migrations from the instance's node.
    Migration(NodeIdx),
    /// Some node could not be emptied any more (global N+1).
    Expendability,
    /// The rule by which primary nodes are chosen leaves none.
    NoPrimary,
    /// The search ended before it was tried.
    NoTime(Stopped),
}

impl GroupObstacle {
    /// Checks that the group has all networks of the instance.
    pub(crate) fn networks(
        cluster: &Cluster,
        group: GroupIdx,
        instance: &Instance,
    ) -> Result<(), GroupObstacle> {
        let there = cluster.group(group);
        let lacking = instance.networks.iter().filter(|n| !there.networks.contains(n));
        if there.connects(instance) {
            Ok(())
        } else {
            Err(GroupObstacle::Networks(lacking.cloned().collect()))
        }
    }
}

/// Obstacles in one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupWhy {
    /// The group.
    pub group: GroupIdx,
    /// The reason why no place was tried, or why no possible place was chosen.
    pub obstacle: Option<GroupObstacle>,
    /// The places that were refused.
    pub places: Nearest,
}

impl GroupWhy {
    /// A group that is excluded as a whole.
    pub(crate) fn excluded(group: GroupIdx, obstacle: GroupObstacle) -> GroupWhy {
        GroupWhy { group, obstacle: Some(obstacle), places: Nearest::default() }
    }
}

/// A place that was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedPlace {
    /// The move to the place, if the instance exists already.
    pub mv: Option<Move>,
    /// The place; without a secondary node if any secondary gets the same refusal.
    pub place: Placement,
    /// The node that refuses.
    pub node: NodeIdx,
    /// The rule in the way.
    pub obstacle: Obstacle,
    /// The lack, if it is one of resources or tags.
    pub shortfall: Option<Shortfall>,
}

impl RefusedPlace {
    /// The place, refused by a node with the given ledger.
    pub(crate) fn new(
        cluster: &Cluster,
        instance: &Instance,
        place: Placement,
        node: NodeIdx,
        ledger: &Ledger,
        obstacle: Obstacle,
    ) -> RefusedPlace {
        let shortfall = missing(cluster, instance, place.primary, node, ledger, obstacle);
        RefusedPlace { mv: None, place, node, obstacle, shortfall }
    }

    /// A place that is refused in its present state.
    pub(crate) fn of_place(
        cluster: &Cluster,
        instance: &Instance,
        place: Placement,
        obstacle: Obstacle,
    ) -> RefusedPlace {
        let node = match obstacle {
            Obstacle::Secondary(_) => place.secondary.unwrap_or(place.primary),
            _ => place.primary,
        };
        RefusedPlace::new(cluster, instance, place, node, &cluster.node(node).state.ledger, obstacle)
    }

    /// A possible place that leaves too little room for further instances; `None` if it leaves enough.
    pub(crate) fn of_room(
        cluster: &Cluster,
        guard: &RoomGuard,
        place: Placement,
        ends: &[(NodeIdx, Ledger)],
    ) -> Option<RefusedPlace> {
        let numbers = guard.numbers(cluster, ends).filter(|_| !guard.holds(cluster, ends))?;
        Some(RefusedPlace {
            mv: None,
            place,
            node: place.primary,
            obstacle: Obstacle::Primary(Rule::KeptRoom),
            shortfall: Some(Shortfall::kept_room(numbers)),
        })
    }

    /// The target of a move that would end on an offline node.
    pub(crate) fn offline(instance: &Instance, mv: Move, node: NodeIdx) -> RefusedPlace {
        RefusedPlace {
            mv: Some(mv),
            place: mv.placement(instance),
            node,
            obstacle: Obstacle::Offline,
            shortfall: None,
        }
    }

    pub(crate) fn of_move(cluster: &Cluster, trial: &Trial<'_>, mv: Move, refusal: Refusal) -> RefusedPlace {
        let (instance, node) = (trial.instance(), refusal.node);
        let place = mv.placement(instance);
        let obstacle = if refusal.role_is_primary {
            Obstacle::Primary(refusal.rule)
        } else {
            Obstacle::Secondary(refusal.rule)
        };
        // On its own nodes, the instance does not count against itself.
        let left = match node {
            node if node == instance.primary => Some(trial.primary_left()),
            node => trial.mirror_left().filter(|_| Some(node) == instance.mirror()),
        };
        let ledger = left.unwrap_or(&cluster.node(node).state.ledger);
        let mut refused_place = RefusedPlace::new(cluster, instance, place, node, ledger, obstacle);
        if let (Rule::MigrationTags, Move::ReplacePrimary(to), Some(from)) =
            (refusal.rule, mv, instance.mirror().filter(|_| mv.target() == Some(node)))
        {
            refused_place.shortfall = Some(Shortfall::migration(cluster, from, to));
        }
        if let (Rule::GroupReserve, Some(change)) = (refusal.rule, trial.reserve_change(node)) {
            refused_place.shortfall = Some(Shortfall::group_reserve(change));
        }
        if let (Rule::KeptRoom, Some(numbers)) = (refusal.rule, trial.room_numbers(mv)) {
            refused_place.shortfall = Some(Shortfall::kept_room(numbers));
        }
        RefusedPlace { mv: Some(mv), ..refused_place }
    }

    /// Distance from being possible; the smallest comes first.
    fn distance(&self) -> f64 {
        match &self.shortfall {
            Some(shortfall) => shortfall.relative(),
            None if self.obstacle == Obstacle::Expendability => 0.0,
            None => f64::INFINITY,
        }
    }
}

/// Refused places: the nearest ones, and the number of all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nearest {
    /// The nearest ones, nearest first; among equals in the order tried.
    pub kept: Vec<RefusedPlace>,
    /// Number of all refused places.
    pub refused: usize,
}

impl Nearest {
    /// Collects some refused places.
    pub(crate) fn of(refused_places: impl Iterator<Item = RefusedPlace>) -> Nearest {
        let mut nearest = Nearest::default();
        refused_places.for_each(|refused_place| nearest.push(refused_place));
        nearest
    }

    pub(super) fn push(&mut self, refused_place: RefusedPlace) {
        self.refused += 1;
        let distance = refused_place.distance();
        let at = self.kept.partition_point(|known| known.distance().total_cmp(&distance).is_le());
        if at < MOST {
            self.kept.truncate(MOST - 1);
            self.kept.insert(at, refused_place);
        }
    }
}

/// All places for a new instance, with the rule in the way. If the primary refuses whatever the secondary is,
/// the place has no secondary and is the last one with that primary.
pub(super) fn places<'a>(
    cluster: &'a Cluster,
    targets: &'a Targets,
    instance: &'a Instance,
    conditions: &Conditions,
) -> impl Iterator<Item = (Placement, Option<Obstacle>)> + 'a {
    let fit = PlaceTester::new(cluster, instance, conditions);
    targets.primaries().iter().flat_map(move |&primary| {
        let single = matches!(targets, Targets::Singles(_)).then_some(None);
        let mut is_refused = false;
        single.into_iter().chain(targets.partners(cluster, primary).map(Some)).map_while(move |secondary| {
            if is_refused {
                return None;
            }
            let obstacle = fit.at(Placement { primary, secondary }).err();
            is_refused = matches!(obstacle, Some(Obstacle::Policy(_) | Obstacle::Primary(_)));
            Some((Placement { primary, secondary: secondary.filter(|_| !is_refused) }, obstacle))
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_are_kept_in_the_order_tried(lacks in prop::collection::vec(-2_i64..12, 0..70)) {
            let refused_place = |(at, lack): (usize, &i64)| {
                let node = NodeIdx::new(at);
                let (obstacle, shortfall) = match lack {
                    -2 => (Obstacle::Offline, None),
                    -1 => (Obstacle::Expendability, None),
                    &needed => (Obstacle::Primary(Rule::Memory), Some(Shortfall::Amount {
                        resource: "memory", unit: "MiB", needed: 10, available: 10 - needed,
                    })),
                };
                RefusedPlace { mv: None, place: Placement { primary: node, secondary: None }, node, obstacle, shortfall }
            };
            let mut all: Vec<RefusedPlace> = lacks.iter().enumerate().map(refused_place).collect();
            let mut nearest = Nearest::default();
            all.iter().for_each(|refused_place| nearest.push(refused_place.clone()));
            all.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
            all.truncate(MOST);
            prop_assert_eq!(nearest, Nearest { kept: all, refused: lacks.len() });
        }
    }
}
