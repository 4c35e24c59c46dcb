//! Price of each step of a plan: how much worse the final score would be without the moves of its instance.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use crate::moves::{MoveRules, Trial, perform_step};
use htools_model::score::Board;
use htools_model::{Cluster, Draft, GroupIdx, Instance, InstanceIdx, NodeIdx, Placement, Step, Strictness};

/// Maximum number of steps that are made again to find out if they are possible without those of an instance.
const MOST_REPLAYED: usize = 100_000;

/// Prices of successive steps; `cluster` is in its state after the last one. All steps of an instance have the same
/// price, because it is that of all its moves together. It is negative if the score is better without them.
///
/// There is no price (`None`) if the other steps are not possible without those of the instance: it would break a rule
/// on a node of its own that others have come to, or it makes room and returns to where it was. Neither is there a price on
/// nodes with exclusive storage if an instance with an unknown number of spindles moves, because their free spindles
/// then depend on the order of the steps.
pub fn prices(cluster: &Cluster, steps: &[Step], rules: &MoveRules) -> Vec<Option<f64>> {
    let departures = Departures::of(cluster, steps.iter().map(|step| (step.instance, step.from)));
    let mut known = departures.prices(cluster, rules);
    departures.add_replayed(cluster, steps, rules, &mut known);
    steps.iter().map(|step| known.get(&step.instance).copied()).collect()
}

/// Prices of new placements of different instances, as in [`prices`]; `cluster` is in its state before all moves.
pub fn prices_of_placements(
    cluster: &Cluster,
    placements: &[(InstanceIdx, Placement)],
    rules: &MoveRules,
) -> Vec<Option<f64>> {
    let end = placed(cluster, placements);
    let home =
        |(instance, _): &(InstanceIdx, Placement)| (*instance, cluster.instance(*instance).placement());
    let known = Departures::of(&end, placements.iter().map(home)).prices(&end, rules);
    placements.iter().map(|(instance, _)| known.get(instance).copied()).collect()
}

/// The cluster with these instances elsewhere, whether the rules allow it or not.
pub fn placed(cluster: &Cluster, placements: &[(InstanceIdx, Placement)]) -> Cluster {
    let mut draft = Draft::of(cluster);
    let rules = MoveRules::default();
    let elsewhere =
        |(instance, to): &&(InstanceIdx, Placement)| cluster.instance(*instance).placement() != *to;
    for (instance, to) in placements.iter().filter(elsewhere) {
        let trial = Trial::new(&draft, draft.instance(*instance), &rules);
        let outcome = trial.put(*to, |_| Strictness::Unbound).expect("no rule is checked");
        let (location_score, ledgers) = (outcome.location_score, outcome.ledgers());
        draft.relocate(*instance, *to, location_score, &ledgers);
    }
    draft.into_cluster()
}

/// The placements that steps change.
struct Departures {
    /// Placement of each instance before its first step.
    homes: BTreeMap<InstanceIdx, Placement>,
    /// Number of instances that a node gains, or that add to its reserve.
    arrivals: HashMap<NodeIdx, usize>,
    /// True if an instance with an unknown number of spindles moves.
    unknown_spindles: bool,
}

impl Departures {
    /// `left` has the placements that instances leave, in order; `cluster` is in its final state.
    fn of(cluster: &Cluster, left: impl Iterator<Item = (InstanceIdx, Placement)>) -> Departures {
        let mut homes = BTreeMap::new();
        for (instance, from) in left {
            homes.entry(instance).or_insert(from);
        }
        let mut arrivals: HashMap<NodeIdx, usize> = HashMap::new();
        for (instance, home) in &homes {
            for node in gains(cluster.instance(*instance), *home) {
                *arrivals.entry(node).or_default() += 1;
            }
        }
        let unknown_spindles = homes.keys().any(|instance| cluster.instance(*instance).spindles.is_none());
        Departures { homes, arrivals, unknown_spindles }
    }

    /// Price of each instance's moves; none if the others do not fit without them.
    fn prices(&self, cluster: &Cluster, rules: &MoveRules) -> HashMap<InstanceIdx, f64> {
        let boards = self.boards(cluster);
        let known = |(instance, home): (&InstanceIdx, &Placement)| {
            let instance = cluster.instance(*instance);
            let (board, score) = boards.get(&cluster.node(home.primary).spec.group)?;
            let without = self.score_without(cluster, instance, *home, board, rules)?;
            Some((instance.idx, without - score))
        };
        self.homes.par_iter().filter_map(known).collect()
    }

    /// Board and score of each group that instances leave.
    fn boards(&self, cluster: &Cluster) -> BTreeMap<GroupIdx, (Board, f64)> {
        let mut boards = BTreeMap::new();
        for home in self.homes.values() {
            let group = cluster.node(home.primary).spec.group;
            boards.entry(group).or_insert_with(|| {
                let board = Board::new(cluster, cluster.nodes_of(group));
                let score = board.score();
                (board, score)
            });
        }
        boards
    }

    /// Tells if figures of the instance's nodes depend on the order of the steps.
    fn depends_on_order(&self, cluster: &Cluster, instance: &Instance, home: Placement) -> bool {
        let mut nodes = home.nodes().chain(instance.placement().nodes());
        self.unknown_spindles && nodes.any(|node| cluster.node(node).spec.exclusive_storage)
    }

    /// The final score with the instance at home; `None` if a rule forbids it on a node that others have come to.
    fn score_without(
        &self,
        cluster: &Cluster,
        instance: &Instance,
        home: Placement,
        board: &Board,
        rules: &MoveRules,
    ) -> Option<f64> {
        let end = instance.placement();
        if end == home || self.depends_on_order(cluster, instance, home) {
            return None;
        }
        let own: Vec<NodeIdx> = gains(instance, home).collect();
        // Nothing else came to such a node, or the instance runs there anyway, so it is no worse off than before.
        let is_as_before = |node: NodeIdx| {
            let arrivals = self.arrivals.get(&node).copied().unwrap_or(0);
            let stays = node == home.primary && node == end.primary;
            stays || arrivals == own.iter().filter(|own| **own == node).count()
        };
        let strictness = |node: NodeIdx| match (is_as_before(node), rules.ignore_soft_errors) {
            (true, _) => Strictness::Unbound,
            (false, true) => Strictness::Forced,
            (false, false) => Strictness::Strict,
        };
        let score = score_at(cluster, instance, home, board, strictness)?;
        let is_bound = !rules.ignore_soft_errors && self.homes.len() > 1;
        let breaks = || breaks_reserve(cluster, instance, home) || breaks_room(cluster, instance, home);
        (!is_bound || !breaks()).then_some(score)
    }

    /// Adds the prices of instances without which all other steps are possible, although a rule forbids them at home.
    /// For example, that rule was broken before the plan.
    fn add_replayed(
        &self,
        cluster: &Cluster,
        steps: &[Step],
        rules: &MoveRules,
        known: &mut HashMap<InstanceIdx, f64>,
    ) {
        let unknown = self.homes.iter().filter(|(instance, home)| {
            let is_fixed = !self.depends_on_order(cluster, cluster.instance(**instance), **home);
            is_fixed && !known.contains_key(instance)
        });
        let unknown = unknown.take(MOST_REPLAYED / steps.len().max(1));
        let unknown: Vec<(InstanceIdx, Placement)> =
            unknown.map(|(instance, home)| (*instance, *home)).collect();
        if unknown.is_empty() {
            return;
        }
        let homes: Vec<(InstanceIdx, Placement)> =
            self.homes.iter().map(|(instance, home)| (*instance, *home)).collect();
        let mut start = Draft::from(placed(cluster, &homes));
        let boards = self.boards(cluster);
        for (idx, home) in unknown {
            let mark = start.mark();
            let mut others = steps.iter().filter(|step| step.instance != idx);
            let is_possible = others.all(|step| perform_step(&mut start, step, rules).is_ok());
            start.back_to(mark);
            let Some((board, score)) = boards.get(&cluster.node(home.primary).spec.group) else { continue };
            let instance = cluster.instance(idx);
            let without = match instance.placement() == home {
                true => Some(*score),
                false => score_at(cluster, instance, home, board, |_| Strictness::Unbound),
            };
            if let Some(without) = without.filter(|_| is_possible) {
                known.insert(idx, without - score);
            }
        }
    }
}

/// The score of a board with the instance elsewhere; `None` if a rule forbids it.
fn score_at(
    cluster: &Cluster,
    instance: &Instance,
    to: Placement,
    board: &Board,
    strictness: impl Fn(NodeIdx) -> Strictness,
) -> Option<f64> {
    let outcome = Trial::new(cluster, instance, &MoveRules::default()).put(to, strictness).ok()?;
    let spec = |node: NodeIdx| &cluster.node(node).spec;
    let spread = match to.primary == instance.primary {
        true => 0,
        false => board.spread().change(instance, Some(spec(instance.primary)), Some(spec(to.primary))),
    };
    Some(board.score_with(outcome.touched(), spread))
}

/// The nodes that gain something by the instance's moves from `home`: its new primary node, and its secondary node,
/// whose reserve depends on both nodes.
fn gains(instance: &Instance, home: Placement) -> impl Iterator<Item = NodeIdx> + use<> {
    let end = instance.placement();
    let primary = Some(end.primary).filter(|node| *node != home.primary);
    let secondary = instance.mirror().filter(|_| end != home);
    primary.into_iter().chain(secondary)
}

/// Returns true if the return of the instance costs its group the reserve for the loss of several nodes.
fn breaks_reserve(cluster: &Cluster, instance: &Instance, home: Placement) -> bool {
    let is_bound = !cluster.node(home.primary).spec.offline && home.primary != instance.primary;
    let change = is_bound.then(|| cluster.reserve_change(instance, instance.primary, home.primary)).flatten();
    change.is_some_and(|change| !change.is_allowed())
}

/// Returns true if the return of the instance costs the cluster the room that it keeps.
fn breaks_room(cluster: &Cluster, instance: &Instance, home: Placement) -> bool {
    let is_lost = |node: NodeIdx| cluster.node(node).spec.offline;
    let Some(room) = cluster.room().filter(|_| !home.nodes().any(is_lost)) else { return false };
    let trial = Trial::new(cluster, instance, &MoveRules::default());
    let Ok(outcome) = trial.put(home, |_| Strictness::Unbound) else { return false };
    let changes = outcome.touched().iter().map(|t| (t.spec.idx, room.node_room(t.spec, &t.after)));
    !room.allows(&changes.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BalanceOptions;
    use crate::balance::run;
    use htools_model::Draft;
    use htools_testkit::cluster;

    /// Instances on an offline node without memory, and one on a node where others fit.
    fn sample() -> Cluster {
        cluster(
            &[
                "a|9000|0|5000|9000|5000|9|M|u",
                "b|9000|0|9000|9000|5000|9|N|u",
                "c|0|0|0|9000|9000|9|Y|u",
                "d|9000|0|9000|9000|9000|9|N|u",
            ],
            &["one|2000|2000|1|running|Y|c|a|drbd|", "two|2000|2000|1|running|Y|a|b|drbd|"],
            &[],
        )
    }

    fn balanced() -> (Draft, Vec<Step>) {
        let mut draft = Draft::from(sample());
        let nodes = draft.all_nodes();
        let steps = run(&mut draft, &nodes, BalanceOptions::default()).steps;
        (draft, steps)
    }

    /// An offline node has no room by the rules, but the instance can be left there, at the price of the score.
    #[test]
    fn leaving_an_offline_node_has_a_price() {
        let (draft, steps) = balanced();
        let first = steps.iter().position(|step| draft.node(step.from.primary).spec.offline).unwrap();
        let found = prices(&draft, &steps, &MoveRules::default());
        assert!(found[first].unwrap() > 4.0, "{found:?}");
    }

    /// All steps of an instance have the price of all its moves together.
    #[test]
    fn an_instance_has_one_price() {
        let (draft, steps) = balanced();
        let home = steps[0].from;
        let there = draft.instance(steps[0].instance).placement();
        let between = Placement { primary: there.primary, secondary: Some(home.primary) };
        let twice = [Step { to: between, ..steps[0] }, Step { from: between, to: there, ..steps[0] }];
        let found = prices(&draft, &twice, &MoveRules::default());
        assert!(found[0].is_some());
        assert_eq!(found[0], found[1]);
        let back = [Step { from: there, to: home, ..steps[0] }, Step { from: home, to: there, ..steps[0] }];
        // It ends where it began, and no other step needs the way.
        assert_eq!(prices(&draft, &back, &MoveRules::default()), [Some(0.0), Some(0.0)]);
    }
}
