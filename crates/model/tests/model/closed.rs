//! Nodes that take nothing more.

use htools_model::{DiskCheck, InstanceIdx, Mib, NodeIdx, Rule, Strictness, TagArrival};
use htools_testkit::cluster;

#[test]
fn a_closed_node_refuses_both_roles_but_keeps_the_disk_of_a_primary_that_leaves() {
    let nodes = [
        "n0|9000|0|5000|9000|8000|9|N|u|1",
        "n1|9000|0|9000|9000|8000|9|N|u|1",
        "n2|9000|0|5000|9000|8000|9|N|u|1",
    ];
    let instances = ["a|4000|1000|1|running|Y|n0|n1|drbd||1", "b|4000|1000|1|running|Y|n2|n1|drbd||1"];
    let mut cluster = cluster(&nodes, &instances, &[]);
    cluster.nodes[0].spec.closed = true;
    let here = cluster.node(NodeIdx::new(0));
    let [a, b] = [0, 1].map(|at| cluster.instance(InstanceIdx::new(at)));
    let primary =
        |strictness| here.state.ledger.add_primary(&here.spec, b, 0, TagArrival::default(), strictness).err();
    let secondary = |instance, strictness| {
        let ledger = here.state.ledger;
        ledger.add_secondary(&here.spec, instance, Mib::ZERO, strictness, DiskCheck::Needed).err()
    };
    for strictness in [Strictness::Strict, Strictness::Crowded] {
        assert_eq!(primary(strictness), Some(Rule::ClosedNode));
        assert_eq!(secondary(b, strictness), Some(Rule::ClosedNode));
        assert_eq!(secondary(a, strictness), None, "its disk is here");
    }
    assert_eq!([primary(Strictness::Forced), secondary(b, Strictness::Forced)], [None, None]);
    // A new instance is nowhere, though its placeholder is the first node.
    let mut new = b.clone();
    (new.primary, new.secondary) = (NodeIdx::new(0), None);
    assert_eq!(secondary(&new, Strictness::Strict), Some(Rule::ClosedNode));
}
