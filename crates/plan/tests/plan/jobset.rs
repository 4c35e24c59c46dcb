//! Jobsets of moves.

use htools_model::{Draft, Move, NodeIdx, Step};
use htools_plan::jobset::{Jobset, jobsets, side_by_side};
use htools_search::{BalanceOptions, Balancer};
use htools_testkit::{cluster, sets};

#[test]
fn steps_join_those_behind_them() {
    let nodes = ["15000", "19000", "19000", "18000", "14000"];
    let nodes: Vec<String> =
        (0..).zip(nodes).map(|(n, free)| format!("N{n}|20000|0|{free}|1000|1000|9|N|u|1")).collect();
    let instances = [(2000, 3), (3000, 4), (1000, 1), (2000, 4), (1000, 4), (2000, 0), (1000, 2), (3000, 0)];
    let instances: Vec<String> = (0..)
        .zip(instances)
        .map(|(i, (mem, node))| format!("i{i}|{mem}|0|1|running|Y|N{node}||ext||1"))
        .collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
    let mut cluster = Draft::from(cluster(&nodes, &instances, &[]));
    let all = cluster.all_nodes();
    let mut balancer = Balancer::new(&mut cluster, &all, BalanceOptions::default());
    let steps: Vec<Step> = std::iter::from_fn(|| balancer.next_step()).collect();
    let to = |n| Move::FailoverTo(NodeIdx::new(n));
    assert_eq!(steps.iter().map(|s| s.mv).collect::<Vec<_>>(), [to(1), to(2), to(3)]);
    // The second step shares no node with the first but runs after it, in one jobset with the third.
    assert_eq!(jobsets(&cluster, &steps), sets(&[&[0], &[1, 2]]));
}

#[test]
fn plans_side_by_side() {
    let plans = [(3, sets(&[&[0], &[1, 2]])), (0, vec![]), (3, sets(&[&[0, 1], &[], &[2]]))];
    let plans = plans.iter().map(|(count, sets)| (*count, &sets[..]));
    assert_eq!(side_by_side(plans), sets(&[&[0, 3, 4], &[1, 2], &[5]]));
    assert_eq!(side_by_side([]), Vec::<Jobset>::new());
}

#[test]
fn no_steps_no_jobsets() {
    assert_eq!(jobsets(&cluster(&[], &[], &[]), &[]), Vec::<Jobset>::new());
}
