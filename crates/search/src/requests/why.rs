//! Explains why places are impossible: the rule in the way, the required amount, and the amount available. Only
//! the places nearest to being possible are kept.

use super::groups;
use super::groups::{GroupChoice, GroupTrial, PlaceRequirements};
use crate::moves::{MoveRules, Trial, perform};
use crate::place::evacuation::Destination;
use crate::place::kept_room::{self, RoomGuard};
use crate::place::{PlaceTester, Reserves};
use crate::why::{GroupWhy, Nearest, RefusedPlace, places};
use htools_model::{Cluster, Draft, EvacMode, InstanceIdx, Mirroring, Move, NodeIdx, Obstacle, Rule};

/// Obstacles for one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementObstacles {
    /// Full name of the instance.
    pub instance: String,
    /// The groups that were tried for it.
    pub groups: Vec<GroupWhy>,
    /// The moves that were tried, if the instance stays in its group.
    pub moves: Option<Nearest>,
}

/// The obstacles for a new instance in the groups that were tried for it.
pub(super) fn of_choice(
    cluster: &Cluster,
    choice: &GroupChoice,
    wanted: &PlaceRequirements<'_>,
) -> PlacementObstacles {
    let groups = choice.trials.iter().map(|trial| of_group(cluster, trial, wanted)).collect();
    PlacementObstacles { instance: wanted.instance.name.clone(), groups, moves: None }
}

fn of_group(cluster: &Cluster, trial: &GroupTrial, wanted: &PlaceRequirements<'_>) -> GroupWhy {
    let group = trial.group;
    let search = match &trial.result {
        Ok(search) => search,
        Err(obstacle) => return GroupWhy::excluded(group, obstacle.clone()),
    };
    let mut nearest = Nearest::default();
    if let Ok(targets) = &groups::targets(cluster, group, wanted) {
        let mut reserves = Reserves::of(cluster, wanted.instance, wanted.conditions);
        let room = RoomGuard::of(cluster, wanted.conditions.ignore_soft_errors);
        let fit = PlaceTester::new(cluster, wanted.instance, wanted.conditions);
        let of_place = |place, obstacle| RefusedPlace::of_place(cluster, wanted.instance, place, obstacle);
        for (place, obstacle) in places(cluster, targets, wanted.instance, wanted.conditions) {
            // A possible place that was not chosen failed a check of the whole group.
            let whole = || {
                if !reserves.hold(place.primary) {
                    return of_place(place, Obstacle::Primary(Rule::GroupReserve));
                }
                let found = fit.at(place).ok();
                let no_room = found
                    .and_then(|found| RefusedPlace::of_room(cluster, &room, place, &kept_room::ends(&found)));
                no_room.unwrap_or_else(|| of_place(place, Obstacle::Expendability))
            };
            let refused_place = match obstacle {
                Some(obstacle) => Some(of_place(place, obstacle)),
                None => (search.best.is_none() && wanted.rule.is_none()).then(whole),
            };
            refused_place.into_iter().for_each(|refused_place| nearest.push(refused_place));
        }
    }
    GroupWhy { group, obstacle: None, places: nearest }
}

/// The obstacles for an instance that must move within `destination`; the moves are those that
/// [`evacuate`](crate::place::evacuation::evacuate) tries.
pub(crate) fn of_moves(
    cluster: &Cluster,
    idx: InstanceIdx,
    mode: EvacMode,
    destination: &Destination,
) -> PlacementObstacles {
    let instance = cluster.instance(idx);
    let rules = MoveRules { ignore_soft_errors: destination.ignore_soft_errors, ..MoveRules::default() };
    let mut refused = RefusedMoves { idx, rules, nearest: Nearest::default() };
    let targets: Vec<NodeIdx> =
        destination.targets.iter().copied().filter(|t| *t != instance.primary).collect();
    match (instance.template.mirroring(), mode) {
        (Mirroring::None, _) | (Mirroring::External, EvacMode::SecondaryOnly) => {}
        (Mirroring::External, _) => {
            refused.all_pass(cluster, targets.into_iter().map(Move::FailoverTo));
        }
        (Mirroring::Internal, EvacMode::PrimaryOnly) => {
            let offline = instance.mirror().filter(|m| cluster.node(*m).spec.offline);
            if let (true, Some(node)) = (refused.all_pass(cluster, [Move::Failover]), offline) {
                refused.nearest.push(RefusedPlace::offline(instance, Move::Failover, node));
            }
        }
        (Mirroring::Internal, EvacMode::SecondaryOnly) => {
            refused.all_pass(cluster, targets.into_iter().map(Move::ReplaceSecondary));
        }
        (Mirroring::Internal, EvacMode::All) => refused.try_pairs(cluster, &targets),
    }
    PlacementObstacles { instance: instance.name.clone(), groups: Vec::new(), moves: Some(refused.nearest) }
}

struct RefusedMoves {
    idx: InstanceIdx,
    rules: MoveRules,
    nearest: Nearest,
}

impl RefusedMoves {
    /// Tries moves. Returns true if all are possible.
    fn all_pass(&mut self, cluster: &Cluster, moves: impl IntoIterator<Item = Move>) -> bool {
        let before = self.nearest.refused;
        let trial = Trial::new(cluster, cluster.instance(self.idx), &self.rules);
        for mv in moves {
            if let Err(refusal) = trial.run(mv) {
                self.nearest.push(RefusedPlace::of_move(cluster, &trial, mv, refusal));
            }
        }
        self.nearest.refused == before
    }

    /// Tries the steps to each pair of new nodes, as far as they are possible.
    fn try_pairs(&mut self, cluster: &Cluster, targets: &[NodeIdx]) {
        let leave = cluster.node(cluster.instance(self.idx).primary).spec.offline;
        let mut state = Draft::of(cluster);
        let start = state.mark();
        for &first in targets {
            state.back_to(start);
            let way = [Move::ReplaceSecondary(first), Move::Failover];
            let mut way = leave.then_some(Move::Failover).into_iter().chain(way);
            let arrives = way.all(|mv| {
                self.all_pass(&state, [mv]) && perform(&mut state, self.idx, mv, &self.rules).is_ok()
            });
            if arrives {
                let others = targets.iter().filter(|t| **t != first);
                self.all_pass(&state, others.map(|t| Move::ReplaceSecondary(*t)));
            }
        }
    }
}
