//! Redundancy verdicts by sums if nodes of a group reach different storage pools.

use htools_model::redundancy::global::{Departures, NodePool, Scope, is_redundant};
use htools_model::{Class, Cluster};
use htools_testkit::cluster;
use proptest::prelude::*;

/// Nodes of three pools with instances on them; a node's size decides how tight it is.
fn pooled(nodes: &[(u8, i64)], instances: &[(usize, i64)]) -> Cluster {
    let mut free: Vec<i64> = nodes.iter().map(|node| node.1 * 1024).collect();
    let mut rows = Vec::new();
    for (at, (node, mem)) in instances.iter().enumerate() {
        let (node, mem) = (node % nodes.len(), mem * 512);
        if free[node] > mem {
            free[node] -= mem;
            rows.push(format!("i{at}|{mem}|10|1|running|Y|n{node}||rbd||1"));
        }
    }
    let row = |at: usize| {
        let ((pool, size), free) = (nodes[at], free[at]);
        format!("n{at}|{}|0|{free}|90000|90000|64|N|u|1|htools:pool:p{pool}", size * 1024)
    };
    let nodes: Vec<String> = (0..nodes.len()).map(row).collect();
    let words = |rows: &[String]| rows.join("\n");
    cluster(&[&words(&nodes)], &[&words(&rows)], &[])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sums give the same verdict as emptying every node, before and after an arrival.
    #[test]
    fn sums_agree_with_emptying(
        nodes in prop::collection::vec((0u8..3, 2i64..9), 3..12),
        instances in prop::collection::vec((any::<usize>(), 1i64..5), 1..30),
    ) {
        let whole = pooled(&nodes, &instances);
        let all = whole.all_nodes();
        for departures in [Departures::BySize, Departures::AsListed] {
            let scope = Scope { departures, ..Scope::default() };
            let Some(arriving) = whole.instances.last() else { return Ok(()) };
            prop_assert_eq!(Class::of(arriving.template), Class::Relocate);
            let mut pool = NodePool::of(&whole, &all, &scope, arriving).expect("an instance reaches one pool");
            if let Some(holds) = pool.holds() {
                prop_assert_eq!(holds, is_redundant(&whole, &all, &scope));
            }
            // The state without the last instance, which then arrives.
            let fewer = pooled(&nodes, &instances[..instances.len() - 1]);
            if fewer.instances.len() == whole.instances.len() {
                continue;
            }
            let mut pool = NodePool::of(&fewer, &all, &scope, arriving).expect("an instance reaches one pool");
            pool.arrive(arriving.primary, arriving.mem_in_use()).expect("a node of the pool");
            if let Some(holds) = pool.holds() {
                prop_assert_eq!(holds, is_redundant(&whole, &all, &scope));
            }
        }
    }
}

/// The instance can go to both nodes, so that sums by failover domain would miss room.
#[test]
fn an_instance_that_reaches_nodes_of_two_kinds_is_not_judged_by_sums() {
    let nodes = [
        "n0|9000|0|8000|9000|9000|9|N|u|1|htools:pool:a",
        "n1|9000|0|9000|9000|9000|9|N|u|1|htools:pool:a,htools:pool:b",
    ];
    let there = cluster(&nodes, &["i|1000|10|1|running|Y|n0||rbd||1"], &[]);
    let pool = NodePool::of(&there, &there.all_nodes(), &Scope::default(), &there.instances[0]);
    assert!(pool.is_none());
}
