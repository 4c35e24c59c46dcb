use super::super::condense::{TrialWay, condense_by};
use super::super::tests::group;
use super::super::*;
use super::*;
use crate::Deadline;
use htools_testkit::cluster;

/// Nodes of 4,000 MiB with these free amounts; the first is the master.
fn nodes(free: &[i64]) -> Vec<String> {
    let row = |(at, free): (usize, &i64)| {
        let role = if at == 0 { "M" } else { "N" };
        format!("n{at}|4000|0|{free}|90000|80000|9|{role}|u|1")
    };
    free.iter().enumerate().map(row).collect()
}

fn built(free: &[i64], instances: &[&str]) -> Cluster {
    let nodes = nodes(free);
    cluster(&nodes.iter().map(String::as_str).collect::<Vec<_>>(), instances, &[])
}

/// The names of the nodes that are freed beyond an empty plan, at most `most`, and the plan, replayed by the checker.
fn freed(cluster: &Cluster, most: usize, options: &SqueezeOptions) -> (Vec<String>, GroupPlan) {
    let deadline = Deadline::never();
    let watch = SqueezeWatch { deadline: &deadline, progress: &|_| {} };
    let scope = GroupScope::of(cluster, group(), options, watch);
    let (nothing, _) = condense_by(&scope, 0, cluster, TrialWay::Anew);
    let (plan, after) = free_more(&scope, most, cluster, &nothing).expect("some nodes can be freed");
    let mut switched = Draft::of(cluster);
    plan.switch(&mut switched);
    let replay =
        htools_plan::checker::check(&switched, cluster.nodes_of(group()), &plan.steps, Default::default());
    assert!(replay.expect("every step is possible").leads_to(&after));
    assert_eq!(scope.objection(&after, &plan.nodes, false), None);
    (plan.nodes.iter().map(|n| cluster.node(*n).spec.name.clone()).collect(), plan)
}

fn options() -> SqueezeOptions {
    SqueezeOptions { reach: Reach::Drbd, capacity_checks: false, target: 0.0, ..SqueezeOptions::default() }
}

#[test]
fn an_instance_that_loses_both_nodes_takes_two_moves() {
    // The first three nodes have most memory in use.
    let cluster = built(
        &[2000, 2000, 2000, 3700, 4000],
        &[
            "a|2000|10|1|running|Y|n0||ext||1",
            "b|2000|10|1|running|Y|n1||ext||1",
            "c|2000|10|1|running|Y|n2||ext||1",
            "d|300|10|1|running|Y|n3|n4|drbd||1",
        ],
    );
    let (names, plan) = freed(&cluster, 2, &options());
    assert_eq!(names, ["n3", "n4"]);
    let steps: Vec<&str> = plan.steps.iter().map(|s| cluster.instance(s.instance).name.as_str()).collect();
    assert_eq!(steps, ["d", "d"]);
    // The limit is the reason for the others, but for the master.
    assert_eq!(
        plan.kept.iter().map(|kept| &kept.why).collect::<Vec<_>>(),
        [&Hindrance::Master, &Hindrance::MaxNodes, &Hindrance::MaxNodes,]
    );
}

#[test]
fn room_gathers_where_a_lost_node_needs_it() {
    // Five nodes hold 9,000 MiB. Four can, and the loss of each, only if one of them stays almost empty.
    let mut rows: Vec<String> = Vec::new();
    for node in 0..5 {
        for at in 0..3 {
            rows.push(format!("i{node}{at}|600|10|1|running|Y|n{node}||ext||1"));
        }
    }
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let cluster = built(&[2200; 5], &rows);
    let checked = SqueezeOptions { capacity_checks: true, ..options() };
    let (names, plan) = freed(&cluster, usize::MAX, &checked);
    assert_eq!(names.len(), 1);
    assert_eq!(fewest_online(&cluster, group(), &checked), 4);
    assert!(plan.kept[1..].iter().all(|kept| kept.why == Hindrance::Fewest), "{:?}", plan.kept);
    assert_eq!(freed(&cluster, usize::MAX, &options()).0.len(), 2);
}

#[test]
fn instances_that_may_not_move_keep_their_node() {
    // Without --drbd, n1 and n2 stay, though n3 holds more.
    let cluster = built(
        &[4000, 3900, 4000, 3000, 4000],
        &["d|100|10|1|running|Y|n1|n2|drbd||1", "a|1000|10|1|running|Y|n3||ext||1"],
    );
    let fixed = SqueezeOptions { reach: Reach::External, ..options() };
    let (names, plan) = freed(&cluster, usize::MAX, &fixed);
    assert_eq!(names, ["n3", "n4"]);
    assert!(plan.kept.iter().any(|kept| matches!(kept.why, Hindrance::SecondaryOf(_))));
}
