//! Moves instances of a Ganeti cluster to the nodes where their keys would have them started today.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use ordered_float::OrderedFloat;

use super::choose::{Misplaced, misplaced_among, misplacement};
use super::fleet::Fleet;
use super::occupancy::{Occupancy, started_with};
use htools_model::{Concession, Draft, InstanceIdx, Mirroring, Move, NodeIdx, Rule, Step};
use htools_search::MoveRules;
use htools_search::moves::Trial;

/// Moves, and machines that cannot be moved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyRelocations {
    /// The moves, in an order in which each is allowed. Every instance moves at most once. Steps have no scores.
    pub steps: Vec<Step>,
    /// Machines that should be elsewhere but cannot be moved after these moves.
    pub stuck: Vec<StuckMachine>,
}

/// A machine that stays although its keys prefer another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StuckMachine {
    /// Position of the machine.
    pub machine: usize,
    /// The node that would be chosen, if any.
    pub node: Option<usize>,
    /// Ganeti's rule against the move; `None` if no such move exists.
    pub rule: Option<Rule>,
}

/// Moves instances that would be started on another node today, the one with the largest gain first, until the rules
/// allow no more moves. Instances whose node is as good stay. After every move the remaining ones are checked again.
/// `misplaced` must be the result of [`misplaced`](super::misplaced) before the first move.
pub fn relocations(cluster: &mut Draft, fleet: &Fleet, misplaced: Vec<Misplaced>) -> KeyRelocations {
    let mut fleet = fleet.clone();
    let mut occupancy = Occupancy::of(&fleet);
    let instances = instances(cluster, &fleet);
    let mut found = KeyRelocations::default();
    let mut moved: HashSet<usize> = HashSet::new();
    let mut waiting = by_gain(misplaced);
    loop {
        let before = found.steps.len();
        found.stuck.clear();
        for machine in std::mem::take(&mut waiting) {
            if moved.contains(&machine) {
                continue;
            }
            let Some(Misplaced { node, .. }) = misplacement(&fleet, &occupancy, machine) else { continue };
            let stuck = |rule| StuckMachine { machine, node, rule };
            let Some((instance, to)) = instances[machine].zip(node.map(NodeIdx::new)) else {
                found.stuck.push(stuck(None));
                continue;
            };
            match relocate(cluster, instance, to) {
                Ok(step) => {
                    shift(&mut fleet, &mut occupancy, machine, to.get());
                    moved.insert(machine);
                    found.steps.push(step);
                }
                Err(rule) => found.stuck.push(stuck(rule)),
            }
        }
        if found.steps.len() == before {
            return found;
        }
        waiting = by_gain(misplaced_among(&fleet, &occupancy));
    }
}

/// For each machine, its instance; `None` if several have its name.
fn instances(cluster: &Draft, fleet: &Fleet) -> Vec<Option<InstanceIdx>> {
    let mut by_name: HashMap<&str, Option<InstanceIdx>> = HashMap::new();
    for instance in &cluster.instances {
        let known = by_name.entry(&instance.name).or_insert(Some(instance.idx));
        *known = known.filter(|other| *other == instance.idx);
    }
    fleet.machines.iter().map(|machine| by_name.get(machine.name.as_str()).copied().flatten()).collect()
}

/// The machines by gain, largest first.
fn by_gain(mut misplaced: Vec<Misplaced>) -> Vec<usize> {
    let gain = |one: &Misplaced| one.gain.map(|(system, customer)| OrderedFloat(system + customer));
    misplaced.sort_by_key(|one| Reverse(gain(one)));
    misplaced.into_iter().map(|one| one.machine).collect()
}

/// Moves a machine to another node of the fleet.
fn shift(fleet: &mut Fleet, occupancy: &mut Occupancy, machine: usize, to: usize) {
    let keys = started_with(fleet, &fleet.machines[machine]);
    let details = &mut fleet.machines[machine];
    if let Some(from) = details.node.replace(to) {
        occupancy.stop(from, details, &keys);
    }
    occupancy.start(to, details, &keys);
}

/// Moves an instance, if there is a move and the rules allow it.
fn relocate(cluster: &mut Draft, idx: InstanceIdx, to: NodeIdx) -> Result<Step, Option<Rule>> {
    let instance = cluster.instance(idx);
    let mv = match instance.template.mirroring() {
        Mirroring::External => Move::FailoverTo(to),
        Mirroring::Internal if instance.mirror() == Some(to) => Move::Failover,
        _ => return Err(None),
    };
    if !instance.is_movable() {
        return Err(None);
    }
    let outcome = Trial::new(cluster, instance, &MoveRules::default()).run(mv);
    let outcome = outcome.map_err(|refusal| Some(refusal.rule))?;
    let (from, placement) = (instance.placement(), outcome.placement);
    let (location_score, ledgers) = (outcome.location_score, outcome.ledgers());
    cluster.relocate(idx, placement, location_score, &ledgers);
    // The scores of these steps are not used.
    let score = f64::NAN;
    Ok(Step { instance: idx, mv, from, to: placement, score, concession: Concession::None })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{FleetFigures, fleet_of, misplaced};
    use htools_model::Cluster;
    use htools_plan::checker::{CheckOptions, check};
    use htools_testkit::cluster;

    fn planned(cluster: &Cluster) -> (KeyRelocations, Draft) {
        let mut draft = Draft::of(cluster);
        let fleet = fleet_of(cluster, FleetFigures::default());
        let misplaced = misplaced(&fleet);
        (relocations(&mut draft, &fleet, misplaced), draft)
    }

    fn nodes(count: usize) -> Vec<String> {
        let keys = "htools:key:_ssd:1,htools:key:_gpu:1,htools:key:_tape:1";
        let key = |at: usize| if at == 1 { keys } else { "" };
        (0..count).map(|at| format!("n{at}|40000|0|30000|90000|80000|9|N|u|1|{}", key(at))).collect()
    }

    fn made(nodes: &[String], instances: &[String]) -> Cluster {
        let words = |all: &[String]| all.iter().map(|line| line.clone().leak() as &str).collect::<Vec<_>>();
        cluster(&words(nodes), &words(instances), &[])
    }

    #[test]
    fn wishes_move_what_can_move() {
        let on = |name: &str, rest: &str| format!("{name}|4000|100|1|running|Y|{rest}");
        let cluster = made(
            &nodes(3),
            &[
                on("fast", "n0||ext|htools:key:customer:_ssd:1:5"),
                on("mirrored", "n0|n1|drbd|htools:key:customer:_gpu:1:4"),
                on("local", "n0||plain|htools:key:customer:_tape:1:5"),
                on("content", "n2||ext|"),
            ],
        );
        let (found, after) = planned(&cluster);
        let moves: Vec<(usize, Move)> =
            found.steps.iter().map(|step| (step.instance.get(), step.mv)).collect();
        assert_eq!(moves, [(0, Move::FailoverTo(NodeIdx::new(1))), (1, Move::Failover)]);
        assert_eq!(found.stuck, []);
        assert_eq!(after.instances[1].primary.get(), 1);
    }

    #[test]
    fn what_rules_forbid_is_told() {
        let cluster =
            made(&nodes(2), &["fast|4000|100|40|running|Y|n0||ext|htools:key:customer:_ssd:1:5".to_owned()]);
        let (found, _) = planned(&cluster);
        assert_eq!(found.steps, []);
        assert_eq!(found.stuck, [StuckMachine { machine: 0, node: Some(1), rule: Some(Rule::CpuRatio) }]);
    }

    proptest! {
        #[test]
        fn plans_are_allowed_and_move_everybody_once(
            shape in prop::collection::vec((0usize..4, 0usize..4, 0usize..3, 1i64..9, -3i32..4), 1..14),
        ) {
            let instance = |(at, (node, other, kind, gib, weight)): (usize, &(usize, usize, usize, i64, i32))| {
                let mirror = (kind == &1 && other != node).then_some(other);
                let template = if mirror.is_some() { "drbd" } else { "ext" };
                let mirror = mirror.map(|n| format!("n{n}")).unwrap_or_default();
                let tag = format!("htools:key:customer:k:{}:{weight}", at % 3);
                format!("i{at}|{}|100|1|running|Y|n{node}|{mirror}|{template}|{tag}", gib * 500)
            };
            let instances: Vec<String> = shape.iter().enumerate().map(instance).collect();
            let cluster = made(&nodes(4), &instances);
            let (found, after) = planned(&cluster);
            prop_assert!(check(&cluster, &cluster.all_nodes(), &found.steps, CheckOptions::default()).is_ok());
            let mut moved: Vec<InstanceIdx> = found.steps.iter().map(|step| step.instance).collect();
            moved.sort_unstable();
            moved.dedup();
            prop_assert_eq!(moved.len(), found.steps.len());
            for step in &found.steps {
                prop_assert_eq!(after.instance(step.instance).placement(), step.to);
            }
        }
    }
}
