//! Tests of instances that would move twice.

use super::*;
use crate::groups::balance::Balance;
use htools_model::TagTable;

const ALL: [&str; 3] = ["a||drbd,plain,ext", "b||drbd,plain,ext", "c||drbd,plain,ext"];
const NAMES: [&str; 5] = ["a1", "b1", "b2", "c1", "-c2"];
const THREE: [(&str, i64, &str, &str); 3] =
    [("x", 1, "a1", "ext"), ("p", 2, "a1", "plain"), ("z", 4, "c1:c2", "drbd")];

/// A cluster whose instances have a load each: this number of CPUs, and 1000 MiB for each CPU.
fn made_of(rows: &[&str], names: &[&str], instances: &[(&str, i64, &str, &str)]) -> Cluster {
    let instances: Vec<_> = instances.iter().map(|(n, load, at, t)| (*n, 1000 * load, *at, *t)).collect();
    let mut cluster = made(rows, names, &instances, &[]);
    for instance in &mut cluster.instances {
        let details = instance.details_mut();
        details.vcpus = details.mem.0 / 1000;
        // The instance `q` stays where it is.
        details.auto_balance = details.name != "q";
    }
    cluster
}

/// The plan of a cluster. Checks that every step gains and nothing is left to do afterwards.
fn planned(cluster: &Cluster) -> (Vec<String>, Balance) {
    let plan = balance(cluster, &options(0.01, 0.0));
    checked(cluster, &plan.steps, &plan.after);
    let scores = plan.steps.iter().map(|step| step.score);
    let scores: Vec<f64> = [plan.before.score()].into_iter().chain(scores).collect();
    assert!(scores.is_sorted_by(|a, b| a > b), "{scores:?}");
    assert_eq!(balance(&plan.after, &options(0.01, 0.0)).steps.len(), 0);
    (shown(cluster, &plan.steps), plan)
}

/// b has two nodes, and a node of c is offline. The loads over the online nodes are 3, 0, 4 at first. Moves
/// that copy nothing come first. x moves to b, which gives 2, 0.5, 4; it cannot go to c, since z is on an
/// offline node there. Then z goes to b: 2, 2.5, 0. Now c takes x: 2, 2, 1, and no move is better.
///
/// Without the stop of x: z goes to b, which gives 3, 2, 0 and deviates less than 3, 0, 4. Then x goes to c.
#[test]
fn an_instance_goes_directly() {
    let cluster = made_of(&ALL, &NAMES, &THREE);
    let one = RegroupOptions { max_moves: Some(1), ..FREELY };
    let first = balance(&cluster, &GroupBalanceOptions { regroup: one, ..options(0.01, 0.0) });
    let first = shown(&cluster, &first.steps);
    assert!(first.len() == 1 && first[0].starts_with("x: a1 -> b"), "{first:?}");
    let (moves, plan) = planned(&cluster);
    assert_eq!(moves.len(), 2, "{moves:?}");
    assert!(moves[0].starts_with("z: c1:c2 -> b"), "{moves:?}");
    assert_eq!(moves[1], "x: a1 -> c1");
    assert_eq!(plan.loads, Loads::of(&plan.after, LoadSource::InUse));
}

/// The same cluster, but nothing can migrate from a to c, so x needs the stop.
#[test]
fn a_way_that_is_forbidden_is_not_taken() {
    let mut cluster = made_of(&ALL, &NAMES, &THREE);
    let mut tags = TagTable::default();
    let mut set = |names: &[&str]| names.iter().map(|name| tags.intern(name)).collect();
    let of_nodes = [("a", "1", ["1", "1"]), ("b", "2", ["1", "3"]), ("c", "3", ["2", "3"])];
    for (group, own, from) in of_nodes {
        for node in cluster.nodes.iter_mut().filter(|node| node.spec.name.starts_with(group)) {
            node.spec.migration_tags = set(&[own]);
            node.spec.receivable_tags = set(&[own, from[0], from[1]]);
        }
    }
    let (moves, _) = planned(&cluster);
    let x: Vec<&String> = moves.iter().filter(|line| line.starts_with("x:")).collect();
    assert!(x.len() == 2 && x[0].starts_with("x: a1 -> b") && x[1].ends_with(" -> c1"), "{moves:?}");
}

/// a and c have two nodes each, and c accepts DRBD only; q stays. The loads are 4, 1, 0 at first. Moves that
/// copy nothing come first: x to b gives 3.5, 2, 0. Then z goes to c: 0.5, 2, 3; and x back to a: 1, 1, 3.
/// Moving z alone does the same: 4, 1, 0 becomes 1, 1, 3.
#[test]
fn what_comes_back_stays() {
    let cluster = made_of(
        &["a||drbd,plain,ext", "b||ext", "c||drbd"],
        &["a1", "a2", "b1", "c1", "c2"],
        &[("x", 1, "a1", "ext"), ("p", 1, "a1", "plain"), ("z", 6, "a1:a2", "drbd"), ("q", 1, "b1", "ext")],
    );
    let (moves, _) = planned(&cluster);
    assert!(moves.len() == 1 && moves[0].starts_with("z: a1:a2 -> c"), "{moves:?}");
}

/// x must make room for z on a, and cannot go to c while z is on an offline node there. The loads are 1.5, 1, 6
/// at first; 1, 2, 6 with x on b; 4, 2, 0 with z on a; and 4, 1, 1 with x on c.
#[test]
fn a_stop_that_is_needed_stays() {
    let cluster = made_of(
        &["a||drbd,plain,ext", "b||ext", "c||drbd,ext"],
        &["a1", "a2", "b1", "c1", "-c2"],
        &[("x", 1, "a1", "ext"), ("p", 2, "a1", "plain"), ("z", 6, "c1:c2", "drbd"), ("q", 1, "b1", "ext")],
    );
    let (moves, _) = planned(&cluster);
    assert_eq!(moves, ["x: a1 -> b1", "z: c1:c2 -> a2:a1", "x: b1 -> c1"]);
}
