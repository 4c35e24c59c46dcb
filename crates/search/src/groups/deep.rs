//! Balances the load of groups by a search for all moves together instead of the best next one.
//!
//! The assignment of instances to groups is annealed. Each move has a price: the minimum gain of a move plus
//! the cost of copying. Places within the groups are ignored at first. Then:
//!
//! 1. The moves are made on a draft, largest gain first.
//! 2. Moves that a group refuses are forbidden, and the other instances are assigned again.
//! 3. Single moves are added to the result. If the step-by-step search alone gives a better plan, that one is
//!    used.

use std::collections::HashSet;

use ordered_float::OrderedFloat;
use rayon::prelude::*;
use smallvec::SmallVec;

use super::balance::{GroupBalanceOptions, step_by_step};
use super::detour::PlanSoFar;
use super::health::Health;
use super::load::{LoadState, Loads};
use super::{Placing, Setting, reach};
use crate::balance::deep::RandomNumbers;
use crate::{Deadline, Stopped};
use htools_model::{AllocPolicy, Cluster, GroupIdx, Instance, InstanceIdx, Step};

/// Number of times that the assignment is repeated without the refused moves.
const ROUNDS: u64 = 4;

/// Number of independent random streams. The result depends on it, but not on the number of threads.
const STREAMS: u64 = 4;

/// Number of changes between two checks of the clock.
const STRIDE: u64 = 4096;

/// Share of a run in which moves get cheaper. In the rest only the temperature falls, by the factor `COLD`.
const FALLING: f64 = 0.8;
const COLD: f64 = 1e-2;

/// The temperature, in prices of a move.
const HEAT: f64 = 0.02;

/// Some instances with their new groups.
type Regrouping = SmallVec<[(InstanceIdx, GroupIdx); 2]>;

/// Default number of changes to try: one or two seconds for a thousand instances.
fn usual_effort(cluster: &Cluster) -> u64 {
    (cluster.instances.len() as u64).saturating_mul(20_000).clamp(4_000_000, 40_000_000)
}

/// Balances the load of the groups.
pub(super) fn even_out<'s>(
    cluster: &Cluster,
    setting: &'s Setting,
    shapes: &'s [usize],
    options: &'s GroupBalanceOptions,
    start: &Loads,
    deadline: &'s Deadline,
) -> (PlanSoFar<'s>, Option<Stopped>) {
    let begin = || PlanSoFar::begin(cluster, setting, options);
    let (mut best, mut stopped) = step_by_step(cluster, setting, shapes, options, begin(), deadline);
    let effort = options.effort.unwrap_or_else(|| usual_effort(cluster));
    let worth = |course: &PlanSoFar<'_>| {
        let price = |step: &Step| options.price(cluster.instance(step.instance));
        course.loads.score().max(options.min_score) + course.steps.iter().map(price).sum::<f64>()
    };
    let mut choices = Choices::of(cluster, setting, shapes);
    for round in 0..ROUNDS {
        if stopped.is_some() || choices.mobiles.is_empty() {
            break;
        }
        let wanted = assign(cluster, options, start, &choices, effort, round, deadline);
        let (course, refused) = make(begin(), &wanted, cluster, options);
        let (course, ended) = step_by_step(cluster, setting, shapes, options, course, deadline);
        stopped = ended.or(deadline.reached());
        choices.forbid(cluster, &refused, &course.placing);
        if worth(&course) < worth(&best) - 1e-9 {
            best = course;
        }
        if refused.is_empty() {
            break;
        }
    }
    (best, stopped)
}

/// Possible targets of the instances.
struct Choices<'s> {
    /// Instances that can move, each with its possible groups.
    mobiles: Vec<(InstanceIdx, Vec<GroupIdx>)>,
    /// For each instance, a number shared by those for which groups have the same places.
    shapes: &'s [usize],
}

impl<'s> Choices<'s> {
    /// Finds the possible targets. Groups that are not healthy are included, since they may become so when
    /// instances leave. Groups of last resort are left to single moves, which come last.
    fn of(cluster: &Cluster, setting: &Setting, shapes: &'s [usize]) -> Choices<'s> {
        let groups: Vec<_> = (cluster.groups.iter())
            .filter(|g| g.alloc_policy == AllocPolicy::Preferred)
            .map(|g| (g.idx, cluster.nodes_of(g.idx).to_vec()))
            .collect();
        let mobile = |instance: &Instance| {
            if reach::hold(cluster, instance).is_some() {
                return None;
            }
            let home = cluster.node(instance.primary).spec.group;
            let takes = |(group, nodes): &&(GroupIdx, Vec<_>)| {
                *group != home
                    && reach::targets(cluster, setting, instance, *group, nodes, Health::Healthy).is_ok()
            };
            let targets: Vec<GroupIdx> = groups.iter().filter(takes).map(|(group, _)| *group).collect();
            (!targets.is_empty()).then_some((instance.idx, targets))
        };
        let mobiles = cluster.instances.par_iter().filter_map(mobile).collect();
        Choices { mobiles, shapes }
    }

    /// Forbids moves that groups refused in a plan. A group that was still not healthy at the end takes no
    /// instance. Other groups take no instance of the same shape from the same group.
    fn forbid(&mut self, cluster: &Cluster, refused: &[(InstanceIdx, GroupIdx)], placing: &Placing<'_>) {
        let key = |shapes: &[usize], instance: InstanceIdx, target: GroupIdx| {
            let home = cluster.node(cluster.instance(instance).primary).spec.group;
            (shapes[instance.get()], home, target)
        };
        let shapes = self.shapes;
        let kinds: HashSet<_> = refused.iter().map(|(i, target)| key(shapes, *i, *target)).collect();
        let ill: HashSet<GroupIdx> = (refused.iter().map(|(.., target)| *target))
            .filter(|target| placing.health(*target) != Health::Healthy)
            .collect();
        for (instance, targets) in &mut self.mobiles {
            targets.retain(|t| !ill.contains(t) && !kinds.contains(&key(shapes, *instance, *t)));
        }
        self.mobiles.retain(|(_, targets)| !targets.is_empty());
    }
}

/// The best of several assignments: the instances that change the group, in order.
fn assign(
    cluster: &Cluster,
    options: &GroupBalanceOptions,
    start: &Loads,
    choices: &Choices<'_>,
    effort: u64,
    round: u64,
    deadline: &Deadline,
) -> Vec<(InstanceIdx, GroupIdx)> {
    let one = |stream: u64| {
        let mut walk = Walk::new(cluster, options, start, choices);
        walk.anneal(effort / STREAMS, RandomNumbers::stream(round * STREAMS + stream), deadline);
        (walk.best_worth, walk.best)
    };
    let found: Vec<(f64, Vec<Option<GroupIdx>>)> = (0..STREAMS).into_par_iter().map(one).collect();
    let best = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, best)| best);
    let moved = choices.mobiles.iter().zip(best.unwrap_or_default());
    moved.filter_map(|((instance, _), target)| Some((*instance, target?))).collect()
}

/// State of a run.
struct Walk<'a> {
    options: &'a GroupBalanceOptions,
    choices: &'a Choices<'a>,
    loads: Loads,
    state: LoadState,
    /// For each mobile, its new group if it changes.
    targets: Vec<Option<GroupIdx>>,
    prices: Vec<f64>,
    homes: Vec<GroupIdx>,
    /// Number of moved instances, the price of the moves, and the limit on their number.
    moved: usize,
    price: f64,
    most: usize,
    best: Vec<Option<GroupIdx>>,
    best_worth: f64,
}

/// A mobile and its new group; `None` sends it home.
type Transfer = (usize, Option<GroupIdx>);

impl<'a> Walk<'a> {
    fn new(
        cluster: &Cluster,
        options: &'a GroupBalanceOptions,
        start: &Loads,
        choices: &'a Choices<'a>,
    ) -> Walk<'a> {
        let (loads, state) = (start.clone(), start.outlook());
        let mobiles = &choices.mobiles;
        let targets = vec![None; mobiles.len()];
        Walk {
            options,
            choices,
            prices: mobiles.iter().map(|(i, _)| options.price(cluster.instance(*i))).collect(),
            homes: mobiles.iter().map(|(i, _)| loads.home(*i)).collect(),
            moved: 0,
            price: 0.0,
            most: options.regroup.max_moves.unwrap_or(usize::MAX),
            best: targets.clone(),
            best_worth: state.score.max(options.min_score),
            targets,
            loads,
            state,
        }
    }

    /// Draws a change: one instance moves, two change places, or one moves and another goes home.
    fn draw(&self, draws: &mut RandomNumbers) -> SmallVec<[Transfer; 2]> {
        let mobiles = &self.choices.mobiles;
        let kind = draws.below(8);
        let one = draws.below(mobiles.len());
        let other = draws.below(mobiles.len());
        let target = draws.pick(&mobiles[one].1);
        match kind {
            0..=2 => SmallVec::from_slice(&[(one, target)]),
            3 => SmallVec::from_slice(&[(one, None)]),
            4 if one != other => SmallVec::from_slice(&[(one, target), (other, None)]),
            _ => {
                let at = |m: usize| self.targets[m].unwrap_or(self.homes[m]);
                let to = |m: usize, group: GroupIdx| {
                    let goes = self.homes[m] == group || mobiles[m].1.contains(&group);
                    goes.then(|| (m, Some(group).filter(|g| *g != self.homes[m])))
                };
                match (to(one, at(other)), to(other, at(one))) {
                    (Some(a), Some(b)) if one != other => SmallVec::from_slice(&[a, b]),
                    _ => SmallVec::from_slice(&[(one, target)]),
                }
            }
        }
    }

    /// Removes the changes that have no effect.
    fn real(&self, mut changes: SmallVec<[Transfer; 2]>) -> SmallVec<[Transfer; 2]> {
        changes.retain(|(m, to)| self.targets[*m] != *to);
        changes
    }

    /// Number of moved instances, price and score after some changes.
    fn after(&self, changes: &[Transfer]) -> (usize, f64, f64) {
        let (mut moved, mut price) = (self.moved, self.price);
        let mut regrouping = Regrouping::new();
        for (m, to) in changes {
            let was = self.targets[*m];
            moved = moved + usize::from(to.is_some()) - usize::from(was.is_some());
            price +=
                self.prices[*m] * (f64::from(u8::from(to.is_some())) - f64::from(u8::from(was.is_some())));
            regrouping.push((self.choices.mobiles[*m].0, to.unwrap_or(self.homes[*m])));
        }
        let score = self.state.after(&self.loads, &regrouping);
        (moved, price, score.max(self.options.min_score))
    }

    fn make(&mut self, changes: &[Transfer], moved: usize, price: f64) {
        for (m, to) in changes {
            self.loads.shift(self.choices.mobiles[*m].0, to.unwrap_or(self.homes[*m]));
            self.targets[*m] = *to;
        }
        self.state = self.loads.outlook();
        (self.moved, self.price) = (moved, price);
    }

    fn score(&self) -> f64 {
        self.state.score.max(self.options.min_score)
    }

    /// The largest gain of any single move.
    fn largest_gain(&self) -> f64 {
        let gains = self.choices.mobiles.iter().flat_map(|(instance, targets)| {
            targets.iter().map(|target| self.state.gain(&self.loads, *instance, *target))
        });
        gains.fold(0.0, f64::max)
    }

    /// Performs one run. Moves are so expensive at first that no instance moves. Then the price falls to its
    /// real value, so that the run passes every number of moves, the fewest first.
    fn anneal(&mut self, effort: u64, mut draws: RandomNumbers, deadline: &Deadline) {
        let mean = self.prices.iter().sum::<f64>() / self.prices.len() as f64;
        let price = mean.max(1e-6 * self.state.score).max(f64::MIN_POSITIVE);
        let dear = (self.largest_gain() / price).max(1.0);
        let (mut factor, mut temperature) = (dear, 0.0);
        for round in 0..effort {
            if round % STRIDE == 0 {
                if deadline.reached().is_some() {
                    return;
                }
                let share = round as f64 / effort as f64;
                factor = dear.powf((1.0 - share / FALLING).max(0.0));
                let cold = COLD.powf(((share - FALLING) / (1.0 - FALLING)).max(0.0));
                temperature = HEAT * factor * price * cold;
                self.loads.refresh();
                self.state = self.loads.outlook();
            }
            let changes = self.real(self.draw(&mut draws));
            if changes.is_empty() {
                continue;
            }
            let (moved, cost, score) = self.after(&changes);
            let change = score - self.score() + factor * (cost - self.price);
            let goes = change <= 0.0 || change < -temperature * (1.0 - draws.unit()).ln();
            if !goes || (moved > self.most && moved > self.moved) {
                continue;
            }
            self.make(&changes, moved, cost);
            if score + cost < self.best_worth - 1e-9 && moved <= self.most {
                self.best_worth = score + cost;
                self.best.clone_from(&self.targets);
            }
        }
    }
}

/// Makes the wanted moves, largest gain first, as far as the groups have places. Also returns the moves that
/// they refused to the end.
fn make<'s>(
    mut course: PlanSoFar<'s>,
    wanted: &[(InstanceIdx, GroupIdx)],
    cluster: &Cluster,
    options: &GroupBalanceOptions,
) -> (PlanSoFar<'s>, Vec<(InstanceIdx, GroupIdx)>) {
    let mut left = wanted.to_vec();
    while !left.is_empty() {
        let outlook = course.loads.outlook();
        let cost = |instance: InstanceIdx| options.cost(cluster.instance(instance));
        let gain = |(i, to): &(InstanceIdx, GroupIdx)| outlook.gain(&course.loads, *i, *to) - cost(*i);
        // A group that is not healthy takes no instance until enough have left it.
        let heals = |(i, _): &(InstanceIdx, GroupIdx)| {
            course.placing.health(course.loads.home(*i)) != Health::Healthy
        };
        let rank = |change: &(InstanceIdx, GroupIdx)| (heals(change), OrderedFloat(gain(change)));
        let mut order: Vec<_> = left.iter().map(rank).zip(0..).collect();
        order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let made = order.into_iter().find_map(|(_, at)| {
            let (instance, target) = left[at];
            let step = course.placing.place(&mut course.after, instance, |group| group == target);
            step.ok().map(|step| (at, step))
        });
        let Some((at, step)) = made else { break };
        let (instance, target) = left.remove(at);
        let source = course.loads.home(instance);
        course.placing.refresh(&course.after, source);
        course.loads.relocate(instance, target);
        course.steps.push(Step { score: course.loads.score(), ..step });
    }
    (course, left)
}
