//! Instances that a source keeps out of nodes.

use htools_model::redundancy::global::{NodePool, Scope, is_redundant};
use htools_model::{Cluster, InstanceIdx, NodeIdx, Rule, Strictness, TagArrival};
use htools_testkit::cluster;

/// Two nodes with an instance each; the third one has room.
fn three_nodes() -> Cluster {
    let nodes = [
        "n0|9000|0|5000|9000|9000|9|N|u|1",
        "n1|9000|0|3000|9000|9000|9|N|u|1",
        "n2|9000|0|9000|9000|9000|9|N|u|1",
    ];
    let instances = ["a|4000|10|1|running|Y|n0||ext||1", "b|6000|10|1|running|Y|n1||ext||1"];
    cluster(&nodes, &instances, &[])
}

fn a() -> InstanceIdx {
    InstanceIdx::new(0)
}

fn n2() -> NodeIdx {
    NodeIdx::new(2)
}

#[test]
fn a_node_refuses_what_is_kept_out_of_it_also_where_rules_are_softest() {
    let mut cluster = three_nodes();
    let arrive = |cluster: &Cluster, instance: usize, strictness| {
        let node = cluster.node(n2());
        let instance = cluster.instance(InstanceIdx::new(instance));
        node.state.ledger.add_primary(&node.spec, instance, 0, TagArrival::default(), strictness).err()
    };
    assert_eq!(arrive(&cluster, 0, Strictness::Strict), None);
    cluster.keep_out(&[(a(), n2())]);
    for strictness in [Strictness::Strict, Strictness::Forced, Strictness::Crowded] {
        assert_eq!(arrive(&cluster, 0, strictness), Some(Rule::KeptOut));
        assert_eq!(arrive(&cluster, 1, strictness), None, "the other one is welcome");
    }
}

#[test]
fn a_node_that_refuses_an_instance_does_not_count_for_it_when_its_node_is_lost() {
    let mut cluster = three_nodes();
    let (nodes, scope) = (cluster.all_nodes(), Scope::default());
    assert!(is_redundant(&cluster, &nodes, &scope));
    cluster.keep_out(&[(a(), n2())]);
    assert!(!is_redundant(&cluster, &nodes, &scope), "n1 has no room for it");
    let newcomer = cluster.instance(InstanceIdx::new(1)).clone();
    let mut pool = NodePool::of(&cluster, &nodes, &scope, &newcomer);
    assert_ne!(pool.as_mut().and_then(NodePool::holds), Some(true));
}
