//! DRBD redundancy: the memory that nodes reserve for each other.

use htools_model::Cluster;
use htools_model::redundancy::n_plus_one::{Failures, unavoidable_score};
use htools_testkit::cluster;

/// `a` has `free` MiB and is the secondary for 3000 MiB of `b`; `role` is `a`'s.
fn pair(free: i64, role: &str) -> Cluster {
    let used = 4000 - free;
    cluster(
        &[&format!("a|4000|0|{free}|9000|8000|9|{role}|u"), "b|4000|0|1000|9000|8000|9|N|u"],
        &[
            &format!("own|{used}|1000|1|running|Y|a||ext|"),
            "backed|3000|1000|1|running|Y|b|a|drbd|",
            "stopped|500|0|1|ADMIN_down|Y|a||ext|",
        ],
        &[],
    )
}

#[test]
fn more_must_be_unallocated_than_is_reserved() {
    let failures = |free, role| {
        let cluster = pair(free, role);
        let failures = Failures::of(&cluster, &cluster.all_nodes());
        (failures.nodes.len(), failures.instances)
    };
    assert_eq!(failures(3001, "N"), (0, 0));
    // Equal is not enough. All instances of the node are counted, whatever their role and state.
    assert_eq!(failures(3000, "N"), (1, 3));
    assert_eq!(failures(3000, "Y"), (0, 0), "offline nodes are no failures");
}

#[test]
fn a_single_node_reserves_nothing_unavoidably() {
    let cluster = pair(3001, "N");
    let nodes = cluster.all_nodes();
    assert_eq!(unavoidable_score(&cluster, &nodes), 0.25 * (3000.0 / 4000.0 - 3000.0 / 8000.0));
    assert_eq!(unavoidable_score(&cluster, &nodes[..1]), 0.0);
}
