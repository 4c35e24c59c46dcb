use std::collections::BTreeSet;

use htools_model::{Concession, Draft, Mib, Move, MovedMeanwhile, Placement, RunStatus, Step};
use htools_plan::checker::{CheckOptions, check};
use htools_plan::rolling::{OutageTime, RollingBound};
use htools_plan::stream::StreamLimits;
use htools_testkit::cluster;
use proptest::prelude::*;

use super::*;
use crate::rolling::Conflicts;
use std::num::NonZeroUsize;

/// A random instance: its nodes, memory in units of 512 MiB, and choices of template, state and tag.
type InstanceDraw = (usize, usize, i64, [u8; 3]);

/// A cluster of up to seven nodes. Each instance that finds no memory is left out.
fn drawn(nodes: &[(i64, u8)], instances: &[InstanceDraw], templates: &[&str]) -> Cluster {
    let mut free: Vec<i64> = nodes.iter().map(|node| node.0 * 1024 - 1024).collect();
    let mut rows = Vec::new();
    for (at, (primary, secondary, units, [template, state, tag])) in instances.iter().enumerate() {
        let (primary, memory) = (primary % nodes.len(), units * 512);
        let secondary = (primary + 1 + secondary % (nodes.len() - 1)) % nodes.len();
        let template = templates[usize::from(*template) % templates.len()];
        let state =
            ["running", "running", "running", "running", "ADMIN_down", "ERROR_down"][usize::from(*state % 6)];
        let runs = state == "running";
        if free[primary] <= memory && runs {
            continue;
        }
        free[primary] -= if runs { memory } else { 0 };
        let secondary = if template == "drbd" { format!("n{secondary}") } else { String::new() };
        let tags = if tag % 8 == 0 { "service:a" } else { "" };
        rows.push(format!("i{at}|{memory}|10240|1|{state}|Y|n{primary}|{secondary}|{template}|{tags}|1|-"));
    }
    let node = |(at, (memory, state)): (usize, &(i64, u8))| {
        let free = free[at];
        let state = if at == 0 {
            "M"
        } else if state % 8 == 0 {
            "Y"
        } else {
            "N"
        };
        format!("n{at}|{}|1024|{free}|900000|800000|99|{state}|u|1||N|1|1|1.0", memory * 1024)
    };
    let nodes: Vec<String> = nodes.iter().enumerate().map(node).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let instances: Vec<&str> = rows.iter().map(String::as_str).collect();
    cluster(&nodes, &instances, &["htools:iextags:service"])
}

fn clusters(templates: &'static [&'static str]) -> impl Strategy<Value = Cluster> {
    let node = (4_i64..24, any::<u8>());
    let instance = (0_usize..7, 0_usize..7, 1_i64..9, any::<[u8; 3]>());
    (prop::collection::vec(node, 2..8), prop::collection::vec(instance, 0..24))
        .prop_map(|(nodes, instances)| drawn(&nodes, &instances, templates))
}

pub(in crate::rolling) fn any_cluster() -> impl Strategy<Value = Cluster> {
    clusters(&["drbd", "drbd", "drbd", "ext", "plain", "rbd"])
}

pub(in crate::rolling) fn any_options() -> impl Strategy<Value = RollingOptions> {
    let upgrade =
        prop_oneof![2 => Just(None), 1 => Just(Some(MigrateTo::Newer)), 1 => Just(Some(MigrateTo::Any))];
    (any::<[bool; 4]>(), 0_u8..8, 0_usize..5, upgrade).prop_map(|([a, b, c, d], offline, most, upgrade)| {
        RollingOptions {
            offline_maintenance: offline == 0,
            ignore_non_redundant: a,
            full_evacuation: b && offline != 0,
            migrate_shared: c,
            honour_run_state: d,
            max_down: NonZeroUsize::new(most),
            keeps_redundancy: true,
            upgrade,
        }
    })
}

/// All moves of a part, failovers included.
fn moves(cluster: &Cluster, part: &Part, options: &RollingOptions) -> Vec<MovedMeanwhile> {
    let mut moves = part.moves.clone();
    for instance in &cluster.instances {
        let from = instance.placement();
        let is_listed = part.moves.iter().any(|moved| moved.instance == instance.idx);
        let leaves = part.nodes.contains(&from.primary) && options.must_fail_over(instance);
        if let Some(mirror) = instance.mirror().filter(|_| leaves && !is_listed) {
            let to = Placement { primary: mirror, secondary: Some(from.primary) };
            moves.push(MovedMeanwhile { instance: instance.idx, from, to });
        }
    }
    moves
}

fn step(instance: InstanceIdx, from: Placement, to: Placement) -> Step {
    let mv = match (from.secondary, to.secondary) {
        (Some(old), Some(new)) if old == to.primary && new == from.primary => Move::Failover,
        (Some(_), Some(new)) if from.primary == to.primary => Move::ReplaceSecondary(new),
        (Some(old), Some(new)) if old == to.primary => Move::FailoverAndReplace(new),
        (Some(_), Some(new)) if new == from.primary => Move::ReplaceAndFailover(to.primary),
        (Some(_), Some(new)) => Move::ReplaceBoth(to.primary, new),
        _ => Move::FailoverTo(to.primary),
    };
    Step { instance, mv, from, to, score: 0.0, concession: Concession::None }
}

/// Unallocated memory beyond the largest reserve of a node, counted from scratch.
fn beyond_reserve(cluster: &Cluster, places: &[Placement], node: NodeIdx) -> Mib {
    let mut room = cluster.node(node).spec.mem_for_instances();
    let mut reserved = vec![Mib::ZERO; cluster.nodes.len()];
    for (instance, place) in cluster.instances.iter().zip(places) {
        if place.primary == node {
            room -= instance.mem_in_use();
        }
        if place.secondary == Some(node) && instance.template.has_secondary() {
            reserved[place.primary.get()] += instance.mem_reserved();
        }
    }
    room - reserved.into_iter().max().unwrap_or(Mib::ZERO)
}

/// Number of pairs of primaries on a node that have the same exclusion tag.
fn clashing(cluster: &Cluster, places: &[Placement], node: NodeIdx) -> usize {
    let here = cluster.instances.iter().zip(places).filter(|(_, place)| place.primary == node);
    let tagged = here.filter(|(instance, _)| instance.exclusion_tags.iter().next().is_some()).count();
    tagged * tagged.saturating_sub(1) / 2
}

/// Problem of the state with a batch down, counted from scratch.
fn problem(cluster: &Cluster, down: &[NodeIdx], places: &[Placement]) -> Option<String> {
    let before: Vec<Placement> = cluster.instances.iter().map(|i| i.placement()).collect();
    for node in cluster.nodes.iter().filter(|node| !down.contains(&node.spec.idx) && !node.spec.offline) {
        let idx = node.spec.idx;
        if beyond_reserve(cluster, &before, idx) > Mib::ZERO
            && beyond_reserve(cluster, places, idx) <= Mib::ZERO
        {
            return Some(format!("{} is no longer N+1-safe", node.spec.name));
        }
        if clashing(cluster, places, idx) > clashing(cluster, &before, idx) {
            return Some(format!("{} has more clashing tags", node.spec.name));
        }
    }
    for ((instance, place), old) in cluster.instances.iter().zip(places).zip(&before) {
        let arrives = place.primary != old.primary;
        let spec = &cluster.node(place.primary).spec;
        let used: Mib = cluster
            .instances
            .iter()
            .zip(places)
            .filter(|(_, other)| other.primary == place.primary)
            .map(|(other, _)| other.mem_in_use())
            .sum();
        if arrives && (spec.offline || down.contains(&place.primary) || used >= spec.mem_for_instances()) {
            return Some(format!("{} has no place on {}", instance.name, spec.name));
        }
    }
    None
}

fn check_part(cluster: &Cluster, part: &Part, options: &RollingOptions) {
    let moves = moves(cluster, part, options);
    let out = moves.iter().map(|moved| step(moved.instance, moved.from, moved.to));
    let back = moves.iter().rev().map(|moved| step(moved.instance, moved.to, moved.from));
    let physical = CheckOptions { ignore_soft_errors: true };
    let steps: Vec<Step> = out.chain(back).collect();
    // A node that is drained can be planned for, too. Its instances return once it is in use.
    let mut in_use = Draft::of(cluster);
    in_use.set_offline(&part.nodes, false);
    let down = check(&in_use, &cluster.all_nodes(), &steps[..moves.len()], physical).unwrap();
    let places: Vec<Placement> = cluster.instances.iter().map(|i| down.placement(i.idx)).collect();
    assert_eq!(problem(cluster, &part.nodes, &places), None, "{part:?}");
    assert!(check(&in_use, &cluster.all_nodes(), &steps, physical).unwrap().leads_to(cluster));
    for (instance, place) in cluster.instances.iter().zip(&places) {
        let stays = options.offline_maintenance
            || instance.status != RunStatus::Running
            || (options.ignore_non_redundant && instance.mirror().is_none());
        assert!(stays || !part.nodes.contains(&place.primary), "{} is down", instance.name);
        let both = instance.nodes().filter(|node| part.nodes.contains(node)).count() > 1;
        assert!(!both || instance.status != RunStatus::Running);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_batch_leaves_a_safe_cluster(
        cluster in any_cluster(),
        options in any_options(),
        chosen in any::<u8>(),
        down in 0_usize..3,
        seconds in prop::collection::vec(0.0..900.0, 8),
        upgraded in prop::collection::btree_set(0_usize..8, 0..4),
    ) {
        let selected: Vec<NodeIdx> =
            cluster.all_nodes().into_iter().filter(|node| chosen & 1 << node.get() != 0).collect();
        let planner = match SafePlanner::new(&cluster, &selected, &options, down) {
            Ok(planner) => planner,
            Err(NoSafePlan::NoNodes) => {
                prop_assert!(selected.is_empty());
                return Ok(());
            }
            Err(NoSafePlan::EnoughDown { .. }) => {
                prop_assert!(options.max_down.is_some_and(|most| most.get() <= down));
                return Ok(());
            }
        };
        let upgraded = upgraded.into_iter().filter(|node| *node < cluster.nodes.len()).map(NodeIdx::new);
        let planner = planner.with_upgraded(upgraded);
        let plan = planner.plan(&seconds);
        let mut nodes: Vec<NodeIdx> = plan.parts.iter().flat_map(|part| part.nodes.clone()).collect();
        nodes.extend(plan.left_out.iter().map(|one| one.node));
        nodes.sort_unstable();
        prop_assert_eq!(nodes, selected);
        for part in &plan.parts {
            check_part(&cluster, part, &options);
            prop_assert!(options.max_down.is_none_or(|most| part.nodes.len() + down <= most.get()));
        }
        let is_master = |node: &NodeIdx| node.get() == 0;
        let with_master = plan.parts.iter().position(|part| part.nodes.iter().any(is_master));
        prop_assert!(with_master.is_none_or(|at| at + 1 == plan.parts.len()));
        prop_assert!(with_master.is_none_or(|at| plan.parts[at].nodes.last().is_some_and(is_master)));
        prop_assert_eq!(planner.plan(&seconds), plan);
    }

    #[test]
    fn nodes_are_left_out_for_a_reason_only(cluster in clusters(&["drbd"])) {
        let options = RollingOptions { keeps_redundancy: true, ..RollingOptions::default() };
        let planner = SafePlanner::new(&cluster, &cluster.all_nodes(), &options, 0).unwrap();
        let left_out: BTreeSet<NodeIdx> = planner.left_out().iter().map(|one| one.node).collect();
        for node in cluster.all_nodes() {
            prop_assert_eq!(left_out.contains(&node), !is_safe(&cluster, &[node], &options));
        }
    }

    /// All divisions of small clusters are tried.
    #[test]
    fn no_division_is_below_the_bound(
        cluster in clusters(&["drbd"]),
        most in 0_usize..4,
        times in prop::collection::vec(0_u32..500, 8),
    ) {
        let options = RollingOptions {
            keeps_redundancy: true,
            max_down: NonZeroUsize::new(most),
            ..RollingOptions::default()
        };
        let planner = SafePlanner::new(&cluster, &cluster.all_nodes(), &options, 0).unwrap();
        let count = planner.nodes().len();
        let seconds: Vec<f64> = times.iter().take(count).map(|time| f64::from(*time)).collect();
        let least: Vec<OutageTime> =
            seconds.iter().map(|time| OutageTime { least: *time, busy: *time }).collect();
        let bound = RollingBound::of(planner.rules(), &least, StreamLimits::default());
        let mut best = Best { batches: usize::MAX, seconds: f64::INFINITY };
        let trial = Trial { planner: &planner, seconds: &seconds, safe: safe_sets(&planner) };
        trial.divide(0, &mut Vec::new(), &mut best);
        if count > 0 {
            prop_assert!(bound.batches <= best.batches, "{bound:?}");
            prop_assert!(bound.seconds <= best.seconds + 1e-6, "{bound:?} {}", best.seconds);
            // The known rules are all that there are if every instance is mirrored, so the plan is the best one.
            prop_assert_eq!(bound.batches, best.batches);
            let plan = planner.plan(&seconds);
            prop_assert_eq!(plan.parts.len(), best.batches);
            prop_assert!((bound.seconds - best.seconds).abs() < 1e-6, "{bound:?} {}", best.seconds);
            prop_assert!(plan.postponed.is_empty());
        }
    }
}

/// The best division of a cluster.
struct Best {
    batches: usize,
    seconds: f64,
}

/// Tells if mirrored instances can fail over from all of these nodes at once.
fn is_safe(cluster: &Cluster, nodes: &[NodeIdx], options: &RollingOptions) -> bool {
    let part = Part { nodes: nodes.to_vec(), moves: Vec::new() };
    let mut places: Vec<Placement> = cluster.instances.iter().map(|i| i.placement()).collect();
    for moved in moves(cluster, &part, options) {
        places[moved.instance.get()] = moved.to;
    }
    let both = |i: &htools_model::Instance| i.nodes().filter(|node| nodes.contains(node)).count() > 1;
    problem(cluster, nodes, &places).is_none() && !cluster.instances.iter().any(both)
}

/// For each set of nodes, as bits, true if it is a batch: its nodes can go down in any order.
fn safe_sets(planner: &SafePlanner<'_>) -> Vec<bool> {
    let nodes = planner.nodes();
    let is_batch = |bits: usize| {
        let batch: Vec<NodeIdx> =
            nodes.iter().enumerate().filter(|(at, _)| bits & 1 << at != 0).map(|(_, node)| *node).collect();
        let most = planner.options.max_down.map_or(usize::MAX, |most| most.get());
        batch.len() <= most && is_safe(planner.cluster, &batch, &planner.options)
    };
    let mut safe: Vec<bool> = (0..1 << nodes.len()).map(is_batch).collect();
    for bits in 1..safe.len() {
        safe[bits] &= (0..nodes.len()).all(|at| bits & 1 << at == 0 || safe[bits & !(1 << at)]);
    }
    safe
}

struct Trial<'t> {
    planner: &'t SafePlanner<'t>,
    seconds: &'t [f64],
    safe: Vec<bool>,
}

impl Trial<'_> {
    /// Tries all divisions of the nodes from `node` on. Batches are sets of bits.
    fn divide(&self, node: usize, batches: &mut Vec<usize>, best: &mut Best) {
        if node == self.planner.nodes().len() {
            let slowest = |batch: &usize| {
                let its = (0..node).filter(|at| batch & 1 << at != 0);
                its.map(|at| self.seconds[at]).fold(0.0, f64::max)
            };
            best.batches = best.batches.min(batches.len());
            best.seconds = best.seconds.min(batches.iter().map(slowest).sum());
            return;
        }
        for at in 0..batches.len() {
            batches[at] |= 1 << node;
            if self.safe[batches[at]] {
                self.divide(node + 1, batches, best);
            }
            batches[at] &= !(1 << node);
        }
        batches.push(1 << node);
        self.divide(node + 1, batches, best);
        batches.pop();
    }
}

const NODES: [&str; 4] = [
    "n0|9000|0|8000|90000|50000|9|M|u|1",
    "n1|9000|0|8000|90000|50000|9|N|u|1",
    "n2|9000|0|8000|90000|50000|9|N|u|1",
    "n3|9000|0|8000|90000|50000|9|Y|u|1",
];

fn safe() -> RollingOptions {
    RollingOptions { keeps_redundancy: true, ..RollingOptions::default() }
}

fn left_out(instances: &[&str]) -> Vec<(usize, StaysUp)> {
    let cluster = cluster(&NODES, instances, &["htools:iextags:service"]);
    let selected: Vec<NodeIdx> = cluster.all_nodes().into_iter().take(3).collect();
    let planner = SafePlanner::new(&cluster, &selected, &safe(), 0).unwrap();
    planner.left_out().iter().map(|one| (one.node.get(), one.why)).collect()
}

#[test]
fn the_reason_names_what_is_in_the_way() {
    let (instance, node) = (InstanceIdx::new(0), NodeIdx::new);
    let found = left_out(&["a|1000|1|1|running|Y|n1|n3|drbd|"]);
    assert_eq!(found, [(1, StaysUp::SecondaryOut { instance, node: node(3) })]);
    let found = left_out(&["a|1000|60000|1|running|Y|n1||plain|"]);
    assert_eq!(found, [(1, StaysUp::NoTarget { instance })]);
    let tagged = ["a|100|1|1|running|Y|n1|n2|drbd|service:x", "b|100|1|1|running|Y|n2||ext|service:x"];
    let rule = Rule::ExclusionTag;
    assert_eq!(left_out(&tagged)[0], (1, StaysUp::Refused { instance, node: node(2), rule }));
    let large = ["a|4000|1|1|running|Y|n1|n2|drbd|", "b|5000|1|1|running|Y|n0|n2|drbd|"];
    let unsafe_then = StaysUp::Redundancy { node: node(2) };
    assert_eq!(left_out(&large), [(0, unsafe_then), (1, unsafe_then)]);
}

#[test]
fn nodes_that_are_down_count() {
    let cluster = cluster(&NODES, &[], &[]);
    let at_most = |most| RollingOptions { max_down: NonZeroUsize::new(most), ..safe() };
    let sizes = |most, down| -> Result<Vec<usize>, NoSafePlan> {
        let plan = SafePlanner::new(&cluster, &cluster.all_nodes(), &at_most(most), down)?.plan(&[]);
        Ok(plan.parts.iter().map(|part| part.nodes.len()).collect())
    };
    assert_eq!(sizes(0, 3), Ok(vec![4]));
    assert_eq!(sizes(3, 1), Ok(vec![2, 2]));
    assert_eq!(sizes(2, 1), Ok(vec![1, 1, 1, 1]));
    assert_eq!(sizes(2, 2), Err(NoSafePlan::EnoughDown { down: 2, most: 2 }));
    let none = SafePlanner::new(&cluster, &[], &safe(), 0).unwrap_err();
    assert_eq!(none, NoSafePlan::NoNodes);
}

#[test]
fn without_redundancy_to_keep_the_pairs_are_those_of_the_graph() {
    let instances = ["a|100|1|1|running|Y|n0|n2|drbd|", "b|100|1|1|running|Y|n1|n2|drbd|"];
    let cluster = cluster(&NODES, &instances, &[]);
    let selected: Vec<NodeIdx> = cluster.all_nodes().into_iter().take(3).collect();
    let options = RollingOptions::default();
    let plain = Conflicts::among(&cluster, &selected, &options).unwrap().plan(&cluster, &options).unwrap();
    let plan = SafePlanner::new(&cluster, &selected, &options, 0).unwrap().plan(&[]);
    assert_eq!(plan.parts.len(), plain.len());
    // Two nodes that both fail over to a third one may be down together if that has room.
    let plan = SafePlanner::new(&cluster, &selected, &safe(), 0).unwrap().plan(&[]);
    assert_eq!(plan.parts.len(), 2);
}
