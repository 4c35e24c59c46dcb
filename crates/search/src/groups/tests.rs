//! Worked examples, small enough to be checked on paper. Every node has 9000 MiB memory and
//! 9 CPUs, and keeps one MiB for itself.

mod deep;
mod detours;
mod expendable;
mod storage;

use htools_plan::checker::CheckOptions;
use std::sync::Arc;
use std::time::Duration;

use super::balance::{GroupBalanceOptions, balance, balance_until};
use super::compress::{UntriedReason, compress, compress_until};
use super::health::{Condition, Health};
use super::load::{LoadSource, Loads};
use super::redistribute::{Healing, Redistribution, redistribute, redistribute_until};
use super::status::GroupsStatus;
use super::{RegroupOptions, StayReason, compress};
use crate::why::{GroupObstacle, GroupWhy, StayCause};
use crate::{Deadline, Stopped};
use htools_model::{Cluster, GroupIdx, InstanceIdx, Leg, Rule, Step, StorageMap};
use htools_plan::checker::check_crossings;
use htools_plan::command::commands;
use htools_plan::jobset::jobsets;
use htools_plan::opcode::job;
use htools_plan::work::Work;
use htools_testkit::groups;

/// Nodes with the given free memory. The first letter of a name is the group, and a node with a leading `-` is
/// offline.
fn nodes(free: &[(&str, i64)]) -> Vec<String> {
    let row = |(name, free): &(&str, i64)| {
        let (role, name) = name.strip_prefix('-').map_or(("N", *name), |name| ("Y", name));
        format!("{name}|9000|0|{free}|90000|50000|9|{role}|{}|1||N|0|0", &name[..1])
    };
    free.iter().map(row).collect()
}

/// An instance: name, memory, nodes, template, tags.
fn instance(name: &str, mem: i64, nodes: &str, template: &str) -> String {
    let (primary, secondary) = nodes.split_once(':').unwrap_or((nodes, ""));
    format!("{name}|{mem}|1024|1|running|Y|{primary}|{secondary}|{template}||1")
}

/// A cluster in which the free memory of the nodes follows from the instances.
fn made(groups_: &[&str], names: &[&str], instances: &[(&str, i64, &str, &str)], tags: &[&str]) -> Cluster {
    let used = |node: &str| -> i64 {
        let node = node.trim_start_matches('-');
        let there = instances.iter().filter(|i| i.2.split(':').next() == Some(node));
        there.map(|i| i.1).sum()
    };
    let free: Vec<(&str, i64)> = names.iter().map(|name| (*name, 9000 - used(name))).collect();
    let rows: Vec<String> = instances.iter().map(|(n, m, p, t)| instance(n, *m, p, t)).collect();
    groups(groups_, &nodes(&free), &rows, tags)
}

fn health(cluster: &Cluster, group: GroupIdx) -> Health {
    Condition::of(cluster, group, false).health()
}

const FREELY: RegroupOptions = RegroupOptions { capacity_checks: false, max_moves: None };

fn group(cluster: &Cluster, name: &str) -> GroupIdx {
    cluster.groups.iter().find(|g| g.name == name).unwrap().idx
}

/// The moves, as `instance: nodes -> nodes`.
fn shown<'p>(cluster: &Cluster, steps: impl IntoIterator<Item = &'p Step>) -> Vec<String> {
    let at = |p: htools_model::Placement| {
        let name = |n| cluster.node(n).spec.name.clone();
        p.secondary.map_or_else(|| name(p.primary), |s| format!("{}:{}", name(p.primary), name(s)))
    };
    let line = |p: &Step| format!("{}: {} -> {}", cluster.instance(p.instance).name, at(p.from), at(p.to));
    steps.into_iter().map(line).collect()
}

/// Checks a plan and its final state.
fn checked(cluster: &Cluster, steps: &[Step], after: &Cluster) {
    let replay = check_crossings(cluster, steps).unwrap_or_else(|v| panic!("{v}"));
    assert!(replay.leads_to(after));
}

fn healed(cluster: &Cluster) -> Redistribution {
    healed_with(cluster, &FREELY)
}

/// The plan that repairs a cluster, checked.
fn healed_with(cluster: &Cluster, options: &RegroupOptions) -> Redistribution {
    let plan = redistribute(cluster, options);
    let steps: Vec<Step> = plan.steps().copied().collect();
    checked(cluster, &steps, &plan.after);
    plan
}

#[test]
fn health_in_three_steps() {
    let cluster = made(
        &["a||drbd,ext", "b||drbd,ext", "c||drbd,ext"],
        &["a1", "a2", "b1", "b2", "c1", "-c2"],
        &[
            ("x", 4000, "a1:a2", "drbd"),
            // b2 has 4000 MiB unallocated and keeps 4000 for the failure of b1.
            ("y", 4000, "b1:b2", "drbd"),
            ("z", 5000, "b2", "ext"),
            ("w", 1000, "c1:c2", "drbd"),
        ],
        &[],
    );
    let health_of = |name| health(&cluster, group(&cluster, name));
    assert_eq!(["a", "b", "c"].map(health_of), [Health::Healthy, Health::Weak, Health::Unhealthy]);
    let status = GroupsStatus::of(&cluster);
    assert_eq!(status.health(), Health::Unhealthy);
    let b = &status.groups[1];
    assert_eq!((b.instances, b.capacity.nodes, b.capacity.memory.free), (2, 2, 5000 + 4000));
    // Offline nodes have no memory; 9000 - 1000 is left.
    let c = &status.groups[2];
    assert_eq!((c.capacity.offline, c.capacity.memory.total, c.condition.stranded.len()), (1, 9000, 1));
}

#[test]
fn those_on_offline_nodes_leave_first_then_secondaries_then_primaries() {
    let cluster = made(
        &["a||drbd,ext", "b||drbd,ext"],
        &["a1", "a2", "-a3", "b1", "b2", "b3"],
        &[
            ("gone", 500, "a3", "ext"),
            // a1 has 3000 MiB unallocated, and keeps 4000 for the failure of a2.
            ("big", 6000, "a1", "ext"),
            ("second", 3000, "a2:a1", "drbd"),
            ("small", 1000, "a2:a1", "drbd"),
        ],
        &[],
    );
    let plan = healed(&cluster);
    let moved = shown(&cluster, plan.steps());
    // Moving the largest secondary is enough.
    assert_eq!(moved.len(), 2, "{moved:?}");
    assert!(moved[0].starts_with("gone: a3 -> b"), "{moved:?}");
    assert!(moved[1].starts_with("second: a2:a1 -> b"), "{moved:?}");
    assert_eq!(health(&plan.after, group(&cluster, "a")), Health::Healthy);

    // A node that lacks memory for its own primaries is not helped by moving secondaries.
    let crowded = made(
        &["a||drbd,ext", "b||drbd,ext"],
        &["a1", "a2", "b1", "b2"],
        &[("p", 6000, "a1", "ext"), ("q", 3000, "a1", "ext"), ("s", 100, "a2:a1", "drbd")],
        &[],
    );
    let plan = healed(&crowded);
    let moved = shown(&crowded, plan.steps());
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert!(moved[0].starts_with("p: a1 -> b"), "{moved:?}");
}

#[test]
fn the_worst_group_comes_first() {
    let cluster = made(
        &["a||ext", "b||ext", "c||ext"],
        &["a1", "-a2", "b1", "-b2", "c1", "c2"],
        &[("i", 2000, "a2", "ext"), ("j", 2000, "b2", "ext"), ("k", 2000, "b2", "ext")],
        &[],
    );
    let plan = healed(&cluster);
    let order: Vec<&str> = plan.repairs.iter().map(|r| cluster.group(r.group).name.as_str()).collect();
    assert_eq!(order, ["b", "a"]);
    assert!(plan.heals_all());
}

#[test]
fn a_group_is_repaired_as_a_whole_or_left_alone() {
    let cluster = made(
        &["a||plain,ext", "b||ext"],
        &["a1", "-a2", "b1"],
        &[("free", 2000, "a2", "ext"), ("tied", 1000, "a2", "plain"), ("vast", 9500, "a2", "ext")],
        &[],
    );
    let plan = healed(&cluster);
    assert_eq!(plan.steps().count(), 0);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!("{:?}", plan.repairs) };
    let names: Vec<&str> = blocked.iter().map(|b| cluster.instance(b.instance).name.as_str()).collect();
    assert_eq!(names, ["vast", "tied"], "largest first; the one that has a place is not named");
    assert!(
        matches!(&blocked[0].why, StayReason::NoPlace(obstacles) if matches!(&obstacles[..], [GroupWhy { obstacle: None, .. }]))
    );
    assert!(matches!(blocked[1].why, StayReason::Held(StayCause::Immobile(_))));
}

#[test]
fn where_instances_may_go() {
    // One instance on an offline node of `a`, and other groups of every kind.
    let try_with = |rows: &[&str], names: &[&str], tags: &[&str]| {
        let cluster = made(rows, names, &[("i", 2000, "a2", "ext")], tags);
        let plan = healed(&cluster);
        let found: Vec<String> =
            plan.steps().map(|p| cluster.group(p.groups(&cluster).1).name.clone()).collect();
        (found, plan.repairs[0].outcome.clone())
    };
    let names = ["a1", "-a2", "b1", "c1"];
    // A group of last resort is used only if no other has room, even if it is emptier.
    let rows = ["a||ext", "b||ext", "~||ext"];
    let (found, _) = try_with(&rows, &["a1", "-a2", "b1", "~1"], &[]);
    assert_eq!(found, ["b"]);
    let (found, _) = try_with(&["a||ext", "b||rbd", "~||ext"], &["a1", "-a2", "b1", "~1"], &[]);
    assert_eq!(found, ["~"]);
    let obstacles = |outcome: Healing| -> Vec<GroupObstacle> {
        let Healing::Stuck(blocked) = outcome else { panic!("{outcome:?}") };
        let StayReason::NoPlace(obstacles) = &blocked[0].why else { panic!("{blocked:?}") };
        obstacles.iter().filter_map(|why| why.obstacle.clone()).collect()
    };
    // An unallocable group is never used.
    let (_, outcome) = try_with(&["a||ext", "-||ext"], &["a1", "-a2"], &[]);
    assert_eq!(obstacles(outcome), [GroupObstacle::Unallocable]);
    let (_, outcome) = try_with(
        &["a||ext", "b|htools:intergroup:deny|ext", "c||ext,drbd"],
        &["a1", "-a2", "b1", "-c1"],
        &[],
    );
    assert_eq!(obstacles(outcome), [GroupObstacle::Denied, GroupObstacle::Unreached]);
    let (_, outcome) = try_with(&["a|htools:pool:x|ext", "b|htools:pool:y|ext", "c||ext"], &names, &[]);
    assert!(matches!(obstacles(outcome)[..], [GroupObstacle::Pool(_), GroupObstacle::Pool(_)]));
    // All moves between groups are denied.
    let (_, outcome) = try_with(&["a||ext", "b||ext"], &names[..3], &["htools:intergroup:deny"]);
    assert!(matches!(outcome, Healing::Stuck(b) if b[0].why == StayReason::Held(StayCause::Denied)));
}

#[test]
fn groups_that_are_not_healthy_take_nothing() {
    let cluster = made(
        &["a||ext", "b||ext"],
        &["a1", "-a2", "b1", "-b2"],
        &[("i", 2000, "a2", "ext"), ("j", 2000, "b2", "ext")],
        &[],
    );
    let plan = healed(&cluster);
    assert_eq!(plan.steps().count(), 0);
    // Group c helps the first one, which then is healthy and can take the other instance.
    let cluster = made(
        &["a||ext", "b||ext", "c||ext"],
        &["a1", "-a2", "b1", "-b2", "c1"],
        &[("i", 2000, "a2", "ext"), ("j", 2000, "b2", "ext"), ("k", 7000, "c1", "ext")],
        &[],
    );
    let plan = healed(&cluster);
    assert!(!plan.heals_all(), "c has 2000 MiB, and one MiB must stay");
    let smaller = made(
        &["a||ext", "b||ext", "c||ext"],
        &["a1", "-a2", "b1", "-b2", "c1"],
        &[("i", 2000, "a2", "ext"), ("j", 2000, "b2", "ext"), ("k", 6900, "c1", "ext")],
        &[],
    );
    let plan = healed(&smaller);
    assert_eq!(shown(&smaller, plan.steps()), ["i: a2 -> c1", "j: b2 -> a1"]);
}

#[test]
fn a_group_that_was_healed_helps_another() {
    // Only b can take the instances on a2. So b must be repaired first, though a is worse.
    let cluster = made(
        &["a||ext", "b||ext,rbd", "c||rbd"],
        &["a1", "-a2", "b1", "-b2", "c1"],
        &[("i", 2000, "a2", "ext"), ("j", 2000, "a2", "ext"), ("k", 2000, "b2", "rbd")],
        &[],
    );
    let plan = healed(&cluster);
    assert_eq!(shown(&cluster, plan.steps()), ["k: b2 -> c1", "i: a2 -> b1", "j: a2 -> b1"]);
    assert!(plan.heals_all());
}

#[test]
fn drbd_goes_one_copy_at_a_time() {
    let rows = ["a||drbd", "b||drbd"];
    let moves = |names: &[&str]| {
        let cluster = made(&rows, names, &[("i", 1000, "a1:a2", "drbd"), ("j", 10, "b1:b2", "drbd")], &[]);
        let plan = healed(&cluster);
        let step = *plan.steps().next().unwrap();
        let legs: Vec<Leg> = step.mv.legs().collect();
        for (_, from, to) in step.legs() {
            assert!(to.nodes().any(|node| from.nodes().any(|before| before == node)));
        }
        assert_eq!(job(&cluster, cluster.instance(step.instance), &[step.mv]).len(), legs.len());
        let lines: Vec<String> = commands(&cluster, &step).unwrap().iter().map(ToString::to_string).collect();
        (legs, lines)
    };
    let (legs, lines) = moves(&["a1", "-a2", "b1", "b2"]);
    assert!(matches!(legs[..], [Leg::ReplaceSecondary(_), Leg::Failover, Leg::ReplaceSecondary(_)]));
    let wanted = [
        "gnt-instance replace-disks -n b2 i",
        "gnt-instance migrate -f i",
        "gnt-instance replace-disks -n b1 i",
    ];
    assert_eq!(lines, wanted);
    // The instance leaves the offline node first, and then it runs again.
    let (legs, lines) = moves(&["-a1", "a2", "b1", "b2"]);
    assert_eq!((legs[0], legs.len()), (Leg::Failover, 4));
    assert_eq!(lines[0], "gnt-instance failover -f i");
    assert_eq!(lines[1..], wanted);
}

#[test]
fn drbd_without_an_online_node_stays() {
    let cluster =
        made(&["a||drbd", "b||drbd"], &["-a1", "-a2", "b1", "b2"], &[("i", 1000, "a1:a2", "drbd")], &[]);
    let plan = healed(&cluster);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!() };
    assert_eq!(blocked[0].why, StayReason::Held(StayCause::NoOnlineNode));
    // The same happens if the secondary has no memory to run it.
    let cluster = made(
        &["a||drbd,ext", "b||drbd,ext"],
        &["-a1", "a2", "b1", "b2"],
        &[("i", 3000, "a1:a2", "drbd"), ("j", 6000, "a2", "ext")],
        &[],
    );
    let plan = healed(&cluster);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!("{:?}", plan.repairs) };
    assert!(matches!(blocked[0].why, StayReason::Held(StayCause::NoFailover(_, Rule::Memory))));
}

/// The first leg, away from the offline node, obeys the migration tags like any failover: a2 must accept
/// migrations from a1. Otherwise it only has to be possible.
#[test]
fn drbd_leaves_an_offline_node_by_the_migration_tags() {
    let names = ["-a1", "a2", "b1", "b2"];
    let tagged = |own: &str| {
        let mut rows = nodes(&names.map(|name| (name, if name == "-a1" { 8000 } else { 9000 })));
        for (row, tag) in rows.iter_mut().zip(["hv:1", own, own, own]) {
            *row = row.replace("|1||N|", &format!("|1|{tag}|N|"));
        }
        let instances = [instance("i", 1000, "a1:a2", "drbd")];
        groups(&["a||drbd", "b||drbd"], &rows, &instances, &["htools:migration:hv"])
    };
    let cluster = tagged("hv:1");
    assert_eq!(healed(&cluster).steps().count(), 1);
    let cluster = tagged("hv:2");
    let plan = healed(&cluster);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!("{:?}", plan.repairs) };
    let a2 = cluster.instances[0].secondary.unwrap();
    assert_eq!(blocked[0].why, StayReason::Held(StayCause::NoFailover(a2, Rule::MigrationTags)));
}

#[test]
fn no_more_moves_than_wanted() {
    let cluster = made(
        &["a||ext", "b||ext", "c||ext"],
        &["a1", "-a2", "b1", "-b2", "c1"],
        &[("i", 10, "a2", "ext"), ("j", 10, "b2", "ext"), ("k", 10, "b2", "ext")],
        &[],
    );
    let plan = redistribute(&cluster, &RegroupOptions { max_moves: Some(1), ..FREELY });
    assert_eq!(plan.repairs[1].outcome, Healing::TooLong(2));
    assert_eq!(shown(&cluster, plan.steps()).len(), 1);
}

#[test]
fn a_node_must_remain_expendable() {
    // b1 and b2 can be emptied onto each other only while both have 4500 MiB free.
    let cluster = made(
        &["a||ext", "b||ext"],
        &["a1", "-a2", "b1", "b2"],
        &[("i", 2000, "a2", "ext"), ("x", 4000, "b1", "ext"), ("y", 4000, "b2", "ext")],
        &[],
    );
    assert!(healed(&cluster).heals_all());
    let careful = redistribute(&cluster, &RegroupOptions::default());
    let Healing::Stuck(blocked) = &careful.repairs[0].outcome else { panic!("{:?}", careful.repairs) };
    let b = group(&cluster, "b");
    assert_eq!(
        blocked[0].why,
        StayReason::NoPlace(vec![GroupWhy::excluded(b, GroupObstacle::Expendability)])
    );
}

#[test]
fn groups_that_can_be_emptied() {
    let cluster = made(
        &["a||ext", "b||ext", "c||rbd", "d|htools:intergroup:deny|ext", "e||ext"],
        &["a1", "b1", "c1", "d1", "e1"],
        &[
            ("x", 3000, "a1", "ext"),
            ("y", 8000, "b1", "ext"),
            ("z", 1000, "c1", "rbd"),
            ("w", 1000, "d1", "ext"),
        ],
        &[],
    );
    let all = cluster.groups_with_nodes();
    let found = compress(&cluster, &all, &FREELY);
    let outcomes: Vec<_> = found.candidates.iter().map(|c| &c.outcome).collect();
    assert!(matches!(outcomes[0], compress::Compressed::Emptied(p) if shown(&cluster, p) == ["x: a1 -> e1"]));
    assert!(matches!(outcomes[1], compress::Compressed::Emptied(_)));
    assert_eq!(*outcomes[2], compress::Compressed::Untried(UntriedReason::Isolated));
    assert_eq!(*outcomes[3], compress::Compressed::Untried(UntriedReason::Denied));
    assert_eq!(*outcomes[4], compress::Compressed::Untried(UntriedReason::Empty));
    // All nodes have 5 x 9000, of which the instances take 13,000.
    assert_eq!((found.total.nodes, found.total.memory.total, found.total.memory.free), (5, 45000, 32000));
    // Freeing b saves its node.
    let won = found.candidates[1].capacity;
    assert_eq!((won.nodes, won.memory.total, won.memory.free, won.vcpus.total), (1, 9000, 1000, 36));
    // a has more free memory than b.
    let choice = found.choice().unwrap();
    assert_eq!(choice.group, group(&cluster, "a"));
    let after = choice.after(&cluster, &FREELY);
    checked(&cluster, choice.steps(), &after);
    assert_eq!(after.instances_of(choice.group), []);
    assert!(after.groups.iter().all(|g| health(&after, g.idx) == Health::Healthy));
}

#[test]
fn groups_that_use_more_than_is_free_elsewhere() {
    let cluster = made(
        &["a||ext", "b||ext"],
        &["a1", "b1"],
        &[("x", 5000, "a1", "ext"), ("y", 5000, "b1", "ext")],
        &[],
    );
    let found = compress(&cluster, &cluster.groups_with_nodes(), &FREELY);
    let unfit = UntriedReason::Exceeds { resource: "memory", used: 5000, free: 4000 };
    assert_eq!(found.candidates[0].outcome, compress::Compressed::Untried(unfit));
    assert!(found.choice().is_none());
}

fn options(min_gain: f64, move_cost: f64) -> GroupBalanceOptions {
    GroupBalanceOptions { regroup: FREELY, min_gain, move_cost, ..GroupBalanceOptions::default() }
}

/// Four equal instances of a template in one of two groups with two nodes each.
fn uneven(template: &str) -> Cluster {
    let nodes = if template == "drbd" { "a1:a2" } else { "a1" };
    let instances: Vec<_> = ["i", "j", "k", "l"].map(|name| (name, 1000, nodes, template)).into();
    made(&["a||drbd,ext", "b||drbd,ext"], &["a1", "a2", "b1", "b2"], &instances, &[])
}

#[test]
fn load_is_evened_out() {
    let cluster = uneven("ext");
    let loads = Loads::of(&cluster, LoadSource::InUse);
    // All are on a, so its load is twice the mean and that of b is 0; the same holds for memory.
    let (a, b) = (group(&cluster, "a"), group(&cluster, "b"));
    assert_eq!((loads.relative(a)[0], loads.relative(b)[0]), (Some(2.0), Some(0.0)));
    assert_eq!(loads.relative(a)[2], None, "no disks of nodes are in use");
    assert_eq!(loads.score(), 200.0);
    let plan = balance(&cluster, &options(0.01, 0.0));
    let scores: Vec<f64> = plan.steps.iter().map(|s| s.score).collect();
    assert_eq!(scores, [100.0, 0.0]);
    let steps = plan.steps;
    checked(&cluster, &steps, &plan.after);
    assert_eq!(balance(&plan.after, &options(0.01, 0.0)).steps.len(), 0);
    // Balancing stops at a score of 100.
    let enough = GroupBalanceOptions { min_score: 100.0, ..options(0.01, 0.0) };
    assert_eq!(balance(&cluster, &enough).steps.len(), 1);
    let one = RegroupOptions { max_moves: Some(1), ..FREELY };
    let short = GroupBalanceOptions { regroup: one, ..options(0.01, 0.0) };
    assert_eq!(balance(&cluster, &short).steps.len(), 1);
    // The second step gains only 100, too, less than the minimum.
    assert_eq!(balance(&cluster, &options(100.5, 0.0)).steps.len(), 0);
    let measured = GroupBalanceOptions { loads: LoadSource::Measured, ..options(0.01, 0.0) };
    // Without measurements every load is 1: cpu, memory, disk and network.
    assert_eq!(balance(&cluster, &measured).before.score(), 400.0);
}

#[test]
fn what_is_found_in_time_is_the_plan() {
    let over = Deadline::new(Some(Duration::ZERO), Arc::default());
    let cluster = uneven("ext");
    let options = options(0.01, 0.0);
    assert_eq!(balance(&cluster, &options).stopped, None);
    // One step is made, or none if there is nothing to do.
    let plan = balance_until(&cluster, &options, &over);
    assert_eq!((plan.steps.len(), plan.stopped), (1, Some(Stopped::TimeLimit)));
    let plan = balance_until(&balance(&cluster, &options).after, &options, &over);
    assert_eq!((plan.steps.len(), plan.stopped), (0, None));
    let found = compress_until(&cluster, &cluster.groups_with_nodes(), &FREELY, &over);
    assert_eq!(found.candidates[0].outcome, compress::Compressed::NoTime(Stopped::TimeLimit));
    // Results that need no search are given in any case.
    assert_eq!(found.candidates[1].outcome, compress::Compressed::Untried(UntriedReason::Empty));
    assert_eq!(found.stopped, Some(Stopped::TimeLimit));
    let broken =
        made(&["a||drbd,ext", "b||drbd,ext"], &["-a1", "a2", "b1"], &[("i", 1000, "a1", "ext")], &[]);
    assert!(redistribute(&broken, &FREELY).heals_all());
    let plan = redistribute_until(&broken, &FREELY, &over);
    assert_eq!((plan.steps().count(), plan.stopped), (0, Some(Stopped::TimeLimit)));
    assert_eq!(plan.repairs[0].outcome, Healing::NoTime(Stopped::TimeLimit));
}

#[test]
fn copies_cost() {
    let cluster = uneven("drbd");
    // Of cpu, memory and disk: a step gains 150, and copies 2 GiB.
    assert_eq!(balance(&cluster, &options(0.01, 74.0)).steps.len(), 2);
    assert_eq!(balance(&cluster, &options(0.01, 75.0)).steps.len(), 0);
    let both = made(
        &["a||drbd,ext", "b||drbd,ext"],
        &["a1", "a2", "b1", "b2"],
        &[("d", 4000, "a1:a2", "drbd"), ("e", 1000, "a1", "ext"), ("f", 1000, "a1", "ext")],
        &[],
    );
    let plan = balance(&both, &options(0.01, 0.0));
    // d would gain more, but e copies nothing.
    let first = &plan.steps[0];
    assert_eq!(both.instance(first.instance).name, "e");
    assert_eq!(first.copied(&both).0, 0);
}

#[test]
fn plans_are_data_for_the_execution() {
    let cluster = uneven("drbd");
    let plan = balance(&cluster, &options(0.01, 0.0));
    let steps = plan.steps;
    let sets = jobsets(&cluster, &steps);
    let work = Work::of(&cluster, &steps, &sets, CheckOptions::default()).unwrap();
    assert_eq!(work.fault(), None);
    // Each instance is one job, so its legs cannot overtake each other.
    let legs: Vec<usize> = work.steps.iter().map(|step| step.opcodes.len()).collect();
    assert_eq!(legs, steps.iter().map(|step| step.legs().count()).collect::<Vec<_>>());
    // Reading the names back gives the same steps.
    let read: Work = serde_json::from_str(&serde_json::to_string(&work).unwrap()).unwrap();
    let again = read.steps_on(&cluster, &read.all().collect::<Vec<_>>()).unwrap();
    let ends = |step: &Step| (step.instance, step.mv, step.from, step.to);
    assert_eq!(again.iter().map(ends).collect::<Vec<_>>(), steps.iter().map(ends).collect::<Vec<_>>());
    assert!(check_crossings(&cluster, &again).is_ok());
}

#[test]
fn networks_have_to_be_there() {
    let mut cluster = made(&["a||ext", "b||ext"], &["a1", "-a2", "b1"], &[("i", 10, "a2", "ext")], &[]);
    cluster.instances[0].details_mut().networks = ["net".into()].into();
    let plan = healed(&cluster);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!() };
    let b = group(&cluster, "b");
    assert_eq!(
        blocked[0].why,
        StayReason::NoPlace(vec![GroupWhy::excluded(b, GroupObstacle::Networks(vec!["net".into()]))])
    );
    cluster.groups[1].networks = vec!["net".into()];
    assert!(healed(&cluster).heals_all());
}

#[test]
fn policies_and_pools_are_of_the_target() {
    let cluster = made(&["a||ext", "b||ext"], &["a1", "-a2", "b1"], &[("i", 10, "a2", "ext")], &[]);
    let storage = StorageMap::of(&cluster);
    assert!(storage.missing(group(&cluster, "b"), InstanceIdx::new(0)).is_none());
    let mut strict = cluster.clone();
    strict.groups[1].policy.ranges[0].min.memory.0 = 11;
    let plan = healed(&strict);
    assert!(!plan.heals_all());
}
