//! Why places come into no question: for each, the rule in the way, what it asked for
//! and what was there. The places nearest to being possible are kept.

use super::groups::{self, GroupChoice, GroupTrial, TrialResult, Wanted};
use crate::model::{
    Cluster, Draft, EvacMode, GroupIdx, Instance, InstanceIdx, Mirroring, Move, NodeIdx, Placement,
    PolicyBreach, Rule,
};
use crate::search::Stopped;
use crate::search::allocate::{Fit, NoTargets, PlaceObstacle, Targets};
use crate::search::evacuate::Destination;
use crate::search::moves::{MoveRules, Refusal, Trial as MoveTrial, perform};
use crate::search::shortfall::{Role, Shortfall, at_node, shortfall};

/// How many places are kept for each group, or for an instance that is to be moved.
pub const MOST: usize = 20;

/// What is in the way of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct InTheWay {
    /// Full name of the instance.
    pub instance: String,
    /// The groups that were tried for it.
    pub groups: Vec<GroupWhy>,
    /// The moves that were tried, where it stays in its group.
    pub moves: Option<Nearest>,
}

/// What is in the way in one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupWhy {
    /// The group.
    pub group: GroupIdx,
    /// Why not one place was tried.
    pub untried: Option<Untried>,
    /// The places that were refused.
    pub places: Nearest,
}

/// Why not one place of a group was tried.
#[derive(Debug, Clone, PartialEq)]
pub enum Untried {
    /// UUIDs of the networks that the group lacks.
    Networks(Vec<String>),
    /// It has no nodes for it.
    Nodes(NoTargets),
    /// The search ended before.
    NoTime(Stopped),
}

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// The policy of the group.
    Policy(PolicyBreach),
    /// A rule of a node.
    Rule(Rule),
    /// A node could not be emptied afterwards (global N+1).
    Expendability,
    /// The node is offline or drained.
    Offline,
}

/// A place that was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Hurdle {
    /// The move that would lead there, of an instance that exists.
    pub mv: Option<Move>,
    /// The place; without a secondary node if any would meet the same refusal.
    pub place: Placement,
    /// The node that refuses.
    pub node: NodeIdx,
    /// What is in the way.
    pub bar: Bar,
    /// What is missing, if something is.
    pub shortfall: Option<Shortfall>,
}

impl Hurdle {
    fn distance(&self) -> f64 {
        match &self.shortfall {
            Some(shortfall) => shortfall.relative(),
            None if self.bar == Bar::Offline => f64::INFINITY,
            None => 0.0,
        }
    }
}

/// Refused places: those nearest to being possible, and how many there are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nearest {
    /// The nearest ones, nearest first.
    pub kept: Vec<Hurdle>,
    /// All of them.
    pub refused: usize,
}

impl Nearest {
    fn push(&mut self, hurdle: Hurdle) {
        self.refused += 1;
        self.kept.push(hurdle);
        if self.kept.len() >= 8 * MOST {
            self.trim();
        }
    }

    /// Keeps the nearest, in the order tried among equals.
    fn trim(&mut self) {
        self.kept.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
        self.kept.truncate(MOST);
    }

    fn done(mut self) -> Nearest {
        self.trim();
        self
    }
}

/// What was in the way of a new instance in the groups that were tried for it.
pub(super) fn of_choice(cluster: &Cluster, choice: &GroupChoice, wanted: &Wanted<'_>) -> InTheWay {
    let groups = choice.trials.iter().map(|trial| of_group(cluster, trial, wanted)).collect();
    InTheWay { instance: wanted.instance.name.clone(), groups, moves: None }
}

/// What was in the way of a new instance in a group of which not one place was tried.
pub(super) fn of_untried(
    cluster: &Cluster,
    group: GroupIdx,
    wanted: &Wanted<'_>,
    result: TrialResult,
) -> InTheWay {
    let groups = vec![of_group(cluster, &GroupTrial { group, result }, wanted)];
    InTheWay { instance: wanted.instance.name.clone(), groups, moves: None }
}

fn of_group(cluster: &Cluster, trial: &GroupTrial, wanted: &Wanted<'_>) -> GroupWhy {
    let group = trial.group;
    let untried = |untried| GroupWhy { group, untried: Some(untried), places: Nearest::default() };
    match &trial.result {
        TrialResult::NotConnected => {
            let has = &cluster.group(group).networks;
            let lacking = wanted.instance.networks.iter().filter(|n| !has.contains(n));
            untried(Untried::Networks(lacking.cloned().collect()))
        }
        TrialResult::NoTargets(reason) => untried(Untried::Nodes(*reason)),
        TrialResult::NoTime(stopped) => untried(Untried::NoTime(*stopped)),
        TrialResult::Searched(search) => {
            let places = match groups::targets(cluster, group, wanted) {
                // a possible place that was not chosen fell through the check of redundancy
                Ok(targets) => refused_places(cluster, &targets, wanted, search.best.is_none()),
                Err(_) => Nearest::default(),
            };
            GroupWhy { group, untried: None, places }
        }
    }
}

fn refused_places(cluster: &Cluster, targets: &Targets, wanted: &Wanted<'_>, none_held: bool) -> Nearest {
    let fit = Fit::new(cluster, wanted.instance, wanted.conditions);
    let mut nearest = Nearest::default();
    let mut consider = |place: Placement, obstacle: Option<PlaceObstacle>| match obstacle {
        Some(obstacle) => nearest.push(new_hurdle(cluster, wanted.instance, place, obstacle)),
        None if none_held => nearest.push(Hurdle {
            mv: None,
            place,
            node: place.primary,
            bar: Bar::Expendability,
            shortfall: None,
        }),
        None => {}
    };
    match targets {
        Targets::Singles(nodes) => {
            for &primary in nodes {
                consider(Placement { primary, secondary: None }, fit.single(primary).err());
            }
        }
        pairs => {
            for primary in pairs.primaries() {
                for secondary in pairs.partners(cluster, *primary) {
                    let obstacle = fit.pair(*primary, secondary).err();
                    if let Some(PlaceObstacle::Policy(_) | PlaceObstacle::Primary(_)) = obstacle {
                        // whatever the secondary
                        consider(Placement { primary: *primary, secondary: None }, obstacle);
                        break;
                    }
                    consider(Placement { primary: *primary, secondary: Some(secondary) }, obstacle);
                }
            }
        }
    }
    nearest.done()
}

fn new_hurdle(cluster: &Cluster, instance: &Instance, place: Placement, obstacle: PlaceObstacle) -> Hurdle {
    let (node, role, rule) = match (obstacle, place.secondary) {
        (PlaceObstacle::Policy(breach), _) => {
            let (node, shortfall) = (place.primary, Some(Shortfall::from(breach)));
            return Hurdle { mv: None, place, node, bar: Bar::Policy(breach), shortfall };
        }
        (PlaceObstacle::Secondary(rule), Some(node)) => (node, Role::SecondaryOf(place.primary), rule),
        (PlaceObstacle::Primary(rule) | PlaceObstacle::Secondary(rule), _) => {
            (place.primary, Role::Primary, rule)
        }
    };
    let ledger = &cluster.node(node).state.ledger;
    let shortfall = Some(at_node(cluster, instance, (node, ledger), role, rule));
    Hurdle { mv: None, place, node, bar: Bar::Rule(rule), shortfall }
}

/// What is in the way of an instance that is to be moved within `destination`, as
/// [`evacuate`](crate::search::evacuate::evacuate) tries it.
pub(super) fn of_moves(
    cluster: &Cluster,
    idx: InstanceIdx,
    mode: EvacMode,
    destination: &Destination,
) -> InTheWay {
    let instance = cluster.instance(idx);
    let rules = MoveRules { ignore_soft_errors: destination.ignore_soft_errors, ..MoveRules::default() };
    let mut nearest = Nearest::default();
    let targets = || destination.targets.iter().copied().filter(|t| *t != instance.primary);
    match (instance.template.mirroring(), mode) {
        (Mirroring::None, _) | (Mirroring::External, EvacMode::SecondaryOnly) => {}
        (Mirroring::External, _) => {
            try_all(cluster, idx, targets().map(Move::FailoverTo), &rules, &mut nearest)
        }
        (Mirroring::Internal, EvacMode::PrimaryOnly) => try_failover(cluster, idx, &rules, &mut nearest),
        (Mirroring::Internal, EvacMode::SecondaryOnly) => {
            try_all(cluster, idx, targets().map(Move::ReplaceSecondary), &rules, &mut nearest)
        }
        (Mirroring::Internal, EvacMode::All) => {
            let targets: Vec<NodeIdx> = targets().collect();
            try_pairs(cluster, idx, &targets, &rules, &mut nearest);
        }
    }
    InTheWay { instance: instance.name.clone(), groups: Vec::new(), moves: Some(nearest.done()) }
}

fn try_all(
    cluster: &Cluster,
    idx: InstanceIdx,
    moves: impl Iterator<Item = Move>,
    rules: &MoveRules,
    nearest: &mut Nearest,
) {
    let instance = cluster.instance(idx);
    let trial = MoveTrial::new(cluster, instance, rules);
    for mv in moves {
        if let Err(refusal) = trial.run(mv) {
            nearest.push(move_hurdle(cluster, instance, &trial, mv, refusal));
        }
    }
}

fn move_hurdle(
    cluster: &Cluster,
    instance: &Instance,
    trial: &MoveTrial<'_>,
    mv: Move,
    refusal: Refusal,
) -> Hurdle {
    Hurdle {
        mv: Some(mv),
        place: mv.placement(instance),
        node: refusal.node,
        bar: Bar::Rule(refusal.rule),
        shortfall: Some(shortfall(cluster, instance, trial, mv, refusal)),
    }
}

fn try_failover(cluster: &Cluster, idx: InstanceIdx, rules: &MoveRules, nearest: &mut Nearest) {
    let before = nearest.refused;
    try_all(cluster, idx, [Move::Failover].into_iter(), rules, nearest);
    let instance = cluster.instance(idx);
    let offline = instance.mirror().filter(|m| cluster.node(*m).spec.offline);
    if let (Some(node), true) = (offline, nearest.refused == before) {
        let (mv, place) = (Some(Move::Failover), Move::Failover.placement(instance));
        nearest.push(Hurdle { mv, place, node, bar: Bar::Offline, shortfall: None });
    }
}

/// The steps to two new nodes, as far as each first one gets.
fn try_pairs(
    cluster: &Cluster,
    idx: InstanceIdx,
    targets: &[NodeIdx],
    rules: &MoveRules,
    nearest: &mut Nearest,
) {
    let leave = cluster.node(cluster.instance(idx).primary).spec.offline;
    let mut state = Draft::of(cluster);
    let start = state.mark();
    for &first in targets {
        state.back_to(start);
        let way = [Move::ReplaceSecondary(first), Move::Failover];
        let way = leave.then_some(Move::Failover).into_iter().chain(way);
        let stopped = way.into_iter().find_map(|mv| {
            let before = nearest.refused;
            try_all(&state, idx, [mv].into_iter(), rules, nearest);
            (nearest.refused > before || perform(&mut state, idx, mv, rules).is_err()).then_some(())
        });
        if stopped.is_none() {
            let others = targets.iter().filter(|t| **t != first);
            try_all(&state, idx, others.map(|t| Move::ReplaceSecondary(*t)), rules, nearest);
        }
    }
}
