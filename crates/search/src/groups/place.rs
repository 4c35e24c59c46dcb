//! Finds the best place for an instance in other groups.

use std::collections::HashMap;

use super::health::{Condition, Health};
use super::stage::PlaceStage;
use super::{Setting, StayReason, reach};
use crate::moves::{MoveRules, Trial};
use crate::place;
use crate::place::floor::Floor;
use crate::place::kept_room::{self, RoomGuard};
use crate::place::offers::Offers;
use crate::place::{Conditions, PlaceMetric, PlaceSearch, PlaceTester, Targets};
use crate::why::{GroupObstacle, GroupWhy, Nearest, RefusedPlace, places};
use htools_model::redundancy::global::RedundancyCheck;
use htools_model::score::PairUpdate;
use htools_model::{
    AllocPolicy, Cluster, Concession, Draft, GroupIdx, Instance, InstanceIdx, Move, NodeIdx, Place,
    Placement, Step,
};

/// Places instances of one group in others, one after the other.
#[derive(Debug, Clone)]
pub struct Placing<'s> {
    setting: &'s Setting,
    nodes: Vec<NodeIdx>,
    health: Vec<Health>,
}

impl<'s> Placing<'s> {
    /// Prepares to move instances on a cluster.
    pub(crate) fn new(cluster: &Cluster, setting: &'s Setting) -> Placing<'s> {
        Placing {
            setting,
            nodes: cluster.all_nodes(),
            health: cluster.groups.iter().map(|g| setting.condition(cluster, g.idx).health()).collect(),
        }
    }

    /// Updates the health of a group.
    pub(crate) fn refresh(&mut self, cluster: &Cluster, group: GroupIdx) {
        self.health[group.get()] = self.setting.condition(cluster, group).health();
    }

    pub(crate) fn condition(&self, cluster: &Cluster, group: GroupIdx) -> Condition {
        self.setting.condition(cluster, group)
    }

    /// The health of a group at the last update.
    pub(crate) fn health(&self, group: GroupIdx) -> Health {
        self.health[group.get()]
    }

    /// Moves an instance to the best place in one of some groups. Preferred groups come before those of last
    /// resort; then the smallest score of the whole cluster decides.
    ///
    /// # Errors
    /// The reason why it stays; the cluster is then unchanged.
    pub(crate) fn place(
        &self,
        cluster: &mut Draft,
        idx: InstanceIdx,
        among: impl Fn(GroupIdx) -> bool,
    ) -> Result<Step, StayReason> {
        self.place_on(cluster, &mut None, idx, among)
    }

    /// Like [`place`](Placing::place), with a stage that follows the cluster, if there is one.
    pub(super) fn place_on(
        &self,
        cluster: &mut Draft,
        stage: &mut Option<PlaceStage<'_>>,
        idx: InstanceIdx,
        among: impl Fn(GroupIdx) -> bool,
    ) -> Result<Step, StayReason> {
        if let Some(hold) = reach::hold(cluster, cluster.instance(idx)) {
            return Err(StayReason::Held(hold));
        }
        let instance = cluster.instance(idx).clone();
        let source = cluster.node(instance.primary).spec.group;
        let mut obstacles = Vec::new();
        let mut usable = Vec::new();
        for group in cluster.groups.iter().map(|g| g.idx).filter(|g| *g != source && among(*g)) {
            let (nodes, health) = (cluster.nodes_of(group), self.health[group.get()]);
            match reach::targets(cluster, self.setting, &instance, group, nodes, health) {
                Ok(nodes) => usable.push((group, nodes)),
                Err(obstacle) => obstacles.push(GroupWhy::excluded(group, obstacle)),
            }
        }
        let room = RoomGuard::moving(cluster, &instance, false);
        let start = cluster.mark();
        take_out(cluster, &instance);
        let follow = |cluster: &Cluster, stage: &mut Option<PlaceStage<'_>>| {
            stage.iter_mut().for_each(|stage| stage.follow(cluster, &instance, instance.nodes()));
        };
        follow(cluster, stage);
        match self.best(cluster, stage, &instance, &usable, &room) {
            Some((metric, place)) => {
                let score = if let PlaceMetric::Score(score) = metric { score } else { 0.0 };
                let step = crossing(cluster, &instance, place.placement, score);
                settle(cluster, idx, &place);
                let moved = |stage: &mut PlaceStage<'_>| stage.moved(cluster, &instance, step.from, step.to);
                stage.iter_mut().for_each(moved);
                Ok(step)
            }
            None => {
                let refused = |(group, nodes): &(GroupIdx, Vec<NodeIdx>)| {
                    refused(cluster, &instance, *group, nodes, &room)
                };
                obstacles.extend(usable.iter().map(refused));
                obstacles.sort_by_key(|obstacle| obstacle.group);
                cluster.back_to(start);
                follow(cluster, stage);
                Err(StayReason::NoPlace(obstacles))
            }
        }
    }

    /// Moves an instance to the given nodes of another group, if all rules allow it. Otherwise the cluster is
    /// unchanged.
    pub(crate) fn put(&self, cluster: &mut Draft, idx: InstanceIdx, to: Placement) -> Option<Step> {
        let instance = cluster.instance(idx).clone();
        let group = |n: NodeIdx| cluster.node(n).spec.group;
        let target = group(to.primary);
        if target == group(instance.primary) || reach::hold(cluster, &instance).is_some() {
            return None;
        }
        let (members, health) = (cluster.nodes_of(target), self.health[target.get()]);
        let usable = reach::targets(cluster, self.setting, &instance, target, members, health).ok()?;
        if ![Some(to.primary), to.secondary].into_iter().flatten().all(|n| usable.contains(&n)) {
            return None;
        }
        let room = RoomGuard::moving(cluster, &instance, false);
        let start = cluster.mark();
        take_out(cluster, &instance);
        let fit = PlaceTester::new(cluster, &instance, &Conditions::default());
        let place = fit.at(to).ok();
        let holds = |place: &Place| {
            let scope = self.setting.redundancy.as_ref();
            let members = cluster.nodes_of(target);
            let survives = |scope| RedundancyCheck::new(cluster, members, scope).holds_with(&instance, place);
            room.holds_at(cluster, place) && scope.is_none_or(survives)
        };
        let Some(place) = place.filter(holds) else {
            cluster.back_to(start);
            return None;
        };
        let step = crossing(cluster, &instance, to, 0.0);
        settle(cluster, idx, &place);
        Some(step)
    }

    fn best(
        &self,
        cluster: &Cluster,
        stage: &mut Option<PlaceStage<'_>>,
        instance: &Instance,
        usable: &[(GroupIdx, Vec<NodeIdx>)],
        room: &RoomGuard,
    ) -> Option<(PlaceMetric, Place)> {
        [AllocPolicy::Preferred, AllocPolicy::LastResort].into_iter().find_map(|policy| {
            let of_policy = usable.iter().filter(|(g, _)| cluster.group(*g).alloc_policy == policy);
            let mut nodes: Vec<NodeIdx> = of_policy.flat_map(|(_, nodes)| nodes).copied().collect();
            nodes.sort_unstable();
            let targets = Targets::of(cluster, &nodes, required(instance)).ok()?;
            let quick = stage.as_mut().and_then(|stage| self.quick(cluster, stage, instance, &targets, room));
            quick.unwrap_or_else(|| self.search(cluster, instance, &targets, room).best)
        })
    }

    /// The best place, if the stage has a floor for the search and the move takes no redundancy from any node.
    fn quick(
        &self,
        cluster: &Cluster,
        stage: &mut PlaceStage<'_>,
        instance: &Instance,
        targets: &Targets,
        room: &RoomGuard,
    ) -> Option<Option<(PlaceMetric, Place)>> {
        let best = stage.best(cluster, instance, targets)?;
        let holds = |(_, place): &(f64, Place)| {
            let group = cluster.node(place.placement.primary).spec.group;
            let guard = |scope| RedundancyCheck::new(cluster, cluster.nodes_of(group), scope);
            room.holds_at(cluster, place)
                && self
                    .setting
                    .redundancy
                    .as_ref()
                    .is_none_or(|scope| guard(scope).holds_with(instance, place))
        };
        best.as_ref().is_none_or(holds).then(|| best.map(|(score, place)| (PlaceMetric::Score(score), place)))
    }

    /// Searches for the best place by the score of the whole cluster. Redundancy is checked within the target
    /// group only.
    fn search(
        &self,
        cluster: &Cluster,
        instance: &Instance,
        targets: &Targets,
        room: &RoomGuard,
    ) -> PlaceSearch {
        let conditions = Conditions::default();
        let floor = Floor::new(cluster, &self.nodes, targets, instance);
        if has_no_order(&floor) {
            let mut redundancy = self.setting.redundancy.clone();
            let source = cluster.node(instance.primary).spec.group;
            redundancy.iter_mut().for_each(|scope| {
                scope.exempt.insert(source);
            });
            let conditions = Conditions { redundancy, ..conditions };
            return place::find(cluster, &self.nodes, instance.into(), targets, &conditions);
        }
        let mut offers = Offers::new(instance, &conditions);
        let scope = self.setting.redundancy.as_ref();
        if scope.is_none() && !room.counts() {
            return place::find_on(&floor, &mut offers, None);
        }
        let mut guards: HashMap<GroupIdx, RedundancyCheck<'_>> = HashMap::new();
        let mut holds = |place: &Place| {
            let group = cluster.node(place.placement.primary).spec.group;
            let survives = |scope| {
                let guard = guards.entry(group);
                let guard =
                    guard.or_insert_with(|| RedundancyCheck::new(cluster, cluster.nodes_of(group), scope));
                guard.holds_with(instance, place)
            };
            room.holds_at(cluster, place) && scope.is_none_or(survives)
        };
        // Checking one place is much cheaper than checking the best place on every node.
        let found = place::find_on(&floor, &mut offers, None);
        match &found.best {
            Some((_, place)) if !holds(place) => {
                let mut offers = Offers::new(instance, &conditions);
                place::find_on(&floor, &mut offers, Some(&mut holds))
            }
            _ => found,
        }
    }
}

/// Returns true if scores are not numbers, so that ties depend on the order of all pairs.
pub(super) fn has_no_order(floor: &Floor<'_>) -> bool {
    !matches!(floor.targets, Targets::Singles(_))
        && PairUpdate::of(&floor.board).score(floor.board.weights(), 0).is_nan()
}

/// The step that moves an instance to one or two nodes of another group.
///
/// An instance on external storage changes its node. A DRBD instance first leaves an offline primary node. Then
/// one node of the other group becomes its secondary and takes over, and the other node becomes the new
/// secondary. So one complete copy of the disks exists at any time.
pub fn crossing(cluster: &Cluster, instance: &Instance, to: Placement, score: f64) -> Step {
    let from = Placement { primary: instance.primary, secondary: instance.mirror() };
    let mv = match from.secondary.and(to.secondary) {
        Some(other) if cluster.node(from.primary).spec.offline => {
            Move::FailoverAndReplaceBoth(to.primary, other)
        }
        Some(other) => Move::ReplaceBoth(to.primary, other),
        None => Move::FailoverTo(to.primary),
    };
    Step { instance: instance.idx, mv, from, to, score, concession: Concession::None }
}

/// Number of nodes that an instance needs.
fn required(instance: &Instance) -> i64 {
    if instance.template.has_secondary() { 2 } else { 1 }
}

/// Removes an instance from the ledgers of its nodes.
fn take_out(cluster: &mut Draft, instance: &Instance) {
    let rules = MoveRules::default();
    let trial = Trial::new(cluster, instance, &rules);
    let mirror = instance.mirror().zip(trial.mirror_left().copied());
    let left = [(instance.primary, *trial.primary_left())].into_iter().chain(mirror);
    left.collect::<Vec<_>>().into_iter().for_each(|(node, ledger)| cluster.set_ledger(node, ledger));
}

/// Moves an instance to nodes that are known to accept it.
pub(super) fn put_back(cluster: &mut Draft, idx: InstanceIdx, to: Placement) -> Option<()> {
    let instance = cluster.instance(idx).clone();
    take_out(cluster, &instance);
    let place = PlaceTester::new(cluster, &instance, &Conditions::default()).at(to).ok()?;
    settle(cluster, idx, &place);
    Some(())
}

/// Enters an instance that was taken out at its new place.
fn settle(cluster: &mut Draft, idx: InstanceIdx, place: &Place) {
    let secondary = place.placement.secondary.zip(place.secondary);
    let ledgers: Vec<_> = [(place.placement.primary, place.primary)].into_iter().chain(secondary).collect();
    cluster.relocate(idx, place.placement, place.location_score, &ledgers);
}

/// The reasons why the nodes of a group refuse an instance that was taken out.
fn refused(
    cluster: &Cluster,
    instance: &Instance,
    group: GroupIdx,
    nodes: &[NodeIdx],
    room: &RoomGuard,
) -> GroupWhy {
    let Ok(targets) = Targets::of(cluster, nodes, required(instance)) else {
        return GroupWhy::excluded(group, GroupObstacle::Unreached);
    };
    let fit = PlaceTester::new(cluster, instance, &Conditions::default());
    let mut nearest = Nearest::default();
    for (place, obstacle) in places(cluster, &targets, instance, &Conditions::default()) {
        let refused_place = match obstacle {
            Some(obstacle) => Some(RefusedPlace::of_place(cluster, instance, place, obstacle)),
            None => fit
                .at(place)
                .ok()
                .and_then(|found| RefusedPlace::of_room(cluster, room, place, &kept_room::ends(&found))),
        };
        let Some(refused_place) = refused_place else {
            return GroupWhy::excluded(group, GroupObstacle::Expendability);
        };
        nearest.push(refused_place);
    }
    GroupWhy { group, obstacle: None, places: nearest }
}
