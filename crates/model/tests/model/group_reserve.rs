//! The memory that a group keeps for the loss of several nodes at once.

use htools_model::{Draft, GroupIdx, GroupReserve, InstanceIdx, NodeIdx, ReserveChange};
use htools_testkit::cluster;

/// Four nodes with `free` MiB each, and an instance of 1000 MiB on the first two.
fn four(free: i64) -> Draft {
    let node = |name: &str, used: i64| format!("{name}|{}|0|{free}|9000|9000|9|N|u", free + used);
    let nodes = [node("a", 1000), node("b", 1000), node("c", 0), node("d", 0)];
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let instances = ["one|1000|0|1|running|Y|a||ext|", "two|1000|0|1|running|Y|b||ext|"];
    let mut cluster = cluster(&nodes, &instances, &[]);
    cluster.keep_reserve(Some(2));
    cluster.into()
}

#[test]
fn what_is_left_must_exceed_what_is_sent_away() {
    let group = GroupIdx::new(0);
    let margin = |draft: &Draft| draft.group_reserve(group).map(GroupReserve::margin);
    // If a and b are lost, 2000 MiB must move, and the others have 2 * (2001 - 1000) MiB.
    assert_eq!(margin(&four(2001)), Some(2));
    let draft = four(2000);
    assert_eq!(margin(&draft), Some(0));
    let [a, c] = [0, 2].map(NodeIdx::new);
    let change = draft.reserve_change(draft.instance(InstanceIdx::new(0)), a, c);
    // The instance uses memory of c beyond the largest, and the loss of c then costs as much as that of a did before.
    assert_eq!(change, Some(ReserveChange { before: 0, after: 0 }));
    assert!(change.unwrap().is_allowed());
}

/// Two instances of 1000 MiB in the pool x, which some of four nodes with 2001 MiB each reach.
fn pooled(reaching: &[&str]) -> Option<i128> {
    let node = |name: &str, used: i64| {
        let tag = if reaching.contains(&name) { "x" } else { "y" };
        format!("{name}|{}|0|2001|9000|9000|9|N|u|1|htools:pool:{tag}", 2001 + used)
    };
    let nodes = [node("a", 1000), node("b", 1000), node("c", 0), node("d", 0)];
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let instances = ["one|1000|0|1|running|Y|a||ext|", "two|1000|0|1|running|Y|b||ext|"];
    let mut cluster = cluster(&nodes, &instances, &[]);
    cluster.keep_reserve(Some(2));
    cluster.group_reserve(GroupIdx::new(0)).map(GroupReserve::margin)
}

#[test]
fn only_nodes_that_reach_the_disks_count() {
    assert_eq!(pooled(&["a", "b", "c", "d"]), Some(2));
    // The loss of a and c sends 1000 MiB to b, which has 1001 MiB beyond the largest.
    assert_eq!(pooled(&["a", "b", "c"]), Some(3 * 1001 - 2 * 2001));
    assert_eq!(pooled(&["a", "b"]), Some(-2000));
}

#[test]
fn a_change_makes_it_be_found_anew() {
    let mut draft = four(2001);
    let group = GroupIdx::new(0);
    assert_eq!(draft.group_reserve(group).map(GroupReserve::margin), Some(2));
    let mark = draft.mark();
    draft.set_offline(&[NodeIdx::new(3)], true);
    assert_eq!(draft.group_reserve(group).map(GroupReserve::margin), Some(1001 - 2000));
    draft.back_to(mark);
    assert_eq!(draft.group_reserve(group).map(GroupReserve::margin), Some(2));
    let mut cluster = draft.into_cluster();
    cluster.keep_reserve(None);
    assert!(cluster.group_reserve(group).is_none(), "N+1 does not look at groups");
}
