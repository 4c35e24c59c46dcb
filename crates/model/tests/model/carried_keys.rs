//! Costs of the affinity keys of instances on their nodes.

use htools_model::{AffinityKey, CarriedKey, Cluster, InstanceIdx, KeyScope, KeysTooHeavy, NodeIdx};
use htools_testkit::cluster;

fn key(name: &str, value: f64, weight: f64) -> CarriedKey {
    AffinityKey { name: name.to_owned(), value, weight }.into()
}

/// Three instances on two nodes, the second of which has a key.
fn carrying(keys: [Vec<CarriedKey>; 3]) -> Cluster {
    let mut cluster = cluster(
        &["a|9000|0|9000|9000|9000|9|N|u|1", "b|9000|0|9000|9000|9000|9|N|u|1"],
        &["i|1|0|1|running|Y|a||ext|", "j|1|0|1|running|Y|a||ext|", "k|1|0|1|running|Y|b||ext|"],
        &[],
    );
    let carried: Vec<_> = (0..).map(InstanceIdx::new).zip(keys).collect();
    let own = [(NodeIdx::new(1), vec![key("_ssd", 1.0, 0.0)])];
    cluster.carry_keys(&carried, &own).unwrap();
    cluster
}

fn costs(cluster: &Cluster) -> [i64; 2] {
    [0, 1].map(|n| cluster.nodes[n].state.ledger.key_cost)
}

#[test]
fn pairs_of_keys_count_both_ways() {
    // The keys of i and j are a quarter apart; i attracts j, and j repels i.
    let cluster = carrying([
        vec![key("shop", 1.0, 8.0)],
        vec![key("shop", 1.25, -2.0), key("other", 1.0, 50.0)],
        vec![key("_ssd", 1.0, 3.0), key("shop", 9.0, 100.0)],
    ]);
    assert_eq!(costs(&cluster), [-4_500_000, -3_000_000]);
    let [i, j, k] = [0, 1, 2].map(|at| &cluster.instances[at].keys);
    assert_eq!((i.most(), j.most(), k.most()), (4_500_000, 4_500_000, 3_000_000));
    assert_eq!((i.cost_beside(j), j.cost_beside(i), i.cost_beside(k)), (-4_500_000, -4_500_000, 0));
    let there = &cluster.nodes[0].state.key_count;
    assert_eq!((i.cost_among(there), k.cost(there)), (-4_500_000, 0));
    assert_eq!(cluster.least_key_cost(&cluster.all_nodes()), -7_500_000);
}

#[test]
fn what_repels_costs_and_is_no_wish() {
    let apart = || vec![key("web", 1.0, -5.0)];
    let cluster = carrying([apart(), apart(), apart()]);
    assert_eq!(costs(&cluster), [10_000_000, 0]);
    let keys = &cluster.instances[0].keys;
    assert_eq!((keys.most(), keys.dislikes(&cluster.nodes[0].state.key_count)), (0, 20_000_000));
    assert_eq!(keys.own_costs().map(|(_, cost)| cost).collect::<Vec<_>>(), [10_000_000]);
}

#[test]
fn copies_are_compared_with_nodes_only() {
    let copy = |value, weight| CarriedKey { scope: KeyScope::Copy, ..key("ds", value, weight) };
    let own = |value| CarriedKey { scope: KeyScope::Node, ..key("ds", value, 0.0) };
    let mut cluster = carrying([vec![], vec![], vec![]]);
    let carried = [
        vec![copy(1.0, 8.0), key("ds", 1.0, 50.0)],
        vec![copy(1.0, 8.0), key("other", 1.0, 3.0)],
        vec![copy(1.0, -4.0), key("ds", 1.0, 2.0)],
    ];
    let carried: Vec<_> = (0..).map(InstanceIdx::new).zip(carried).collect();
    let nodes = [(NodeIdx::new(0), vec![own(1.25)]), (NodeIdx::new(1), vec![own(2.0)])];
    cluster.carry_keys(&carried, &nodes).unwrap();
    // A customer's key of the same name has no worth beside a copy; nor have two copies beside each other.
    assert_eq!(costs(&cluster), [-12_000_000, 0]);
    let [i, j, k] = [0, 1, 2].map(|at| &cluster.instances[at].keys);
    assert_eq!((i.cost_beside(j), i.cost_beside(k), j.home(), k.home()), (0, -52_000_000, 6_000_000, 0));
    assert_eq!(j.own_costs().map(|(_, cost)| cost).collect::<Vec<_>>(), [-6_000_000, 0]);
    assert_eq!(k.cost(&cluster.nodes[0].state.key_count), 3_000_000 - 52_000_000);
}

#[test]
fn sums_that_are_not_exact_are_refused() {
    let mut cluster = carrying([vec![], vec![], vec![]]);
    let heavy = [(InstanceIdx::new(0), vec![key("k", 1.0, 1e12)])];
    assert_eq!(cluster.carry_keys(&heavy, &[]), Err(KeysTooHeavy));
}
