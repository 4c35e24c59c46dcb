//! Tests of nodes that cannot be emptied onto the others of their group, and of making room.

use super::*;

#[test]
fn a_group_whose_nodes_cannot_be_emptied_is_weak() {
    let cluster = made(
        &["a||ext", "b||ext"],
        &["a1", "a2", "b1", "b2"],
        &[("x", 6000, "a1", "ext"), ("y", 6001, "a2", "ext")],
        &[],
    );
    let status = GroupsStatus::of(&cluster);
    assert_eq!(status.groups[0].condition.at_risk, cluster.nodes_of(group(&cluster, "a")));
    assert_eq!([0, 1].map(|g| status.groups[g].health()), [Health::Weak, Health::Healthy]);
    let plan = healed_with(&cluster, &RegroupOptions::default());
    assert_eq!(shown(&cluster, plan.steps()), ["y: a2 -> b2"]);
    assert!(plan.heals_all());
    // Without global N+1, there is nothing to do.
    assert_eq!(redistribute(&cluster, &FREELY).repairs, []);
}

#[test]
fn a_group_whose_nodes_cannot_be_emptied_takes_nothing() {
    let cluster = made(
        &["a||ext", "b||ext"],
        &["-a1", "a2", "b1", "b2"],
        &[("x", 2000, "a1", "ext"), ("y", 6000, "b1", "ext"), ("z", 6000, "b2", "ext")],
        &[],
    );
    let plan = healed_with(&cluster, &RegroupOptions::default());
    let [first, second] = &plan.repairs[..] else { panic!("{:?}", plan.repairs) };
    assert_eq!(first.group, group(&cluster, "a"));
    let Healing::Stuck(blocked) = &first.outcome else { panic!("{first:?}") };
    let obstacle = GroupWhy::excluded(group(&cluster, "b"), GroupObstacle::Health(Health::Weak));
    assert_eq!(blocked[0].why, StayReason::NoPlace(vec![obstacle]));
    assert!(matches!(second.outcome, Healing::Stuck(_)));
    assert_eq!(shown(&cluster, healed(&cluster).steps()), ["x: a1 -> b2"]);
}

#[test]
fn what_copies_no_disks_leaves_the_node_to_which_another_fails_over() {
    let cluster = made(
        &["a||drbd,ext", "b||drbd,ext"],
        &["a1", "-a2", "a3", "b1", "b2"],
        &[("d", 1500, "a2:a1", "drbd"), ("f", 6000, "a1", "ext"), ("g", 1600, "a1", "ext")],
        &[],
    );
    for options in [FREELY, RegroupOptions::default()] {
        let plan = healed_with(&cluster, &options);
        assert_eq!(shown(&cluster, plan.steps()), ["f: a1 -> b2", "d: a2:a1 -> b1:b2"]);
        assert!(plan.heals_all());
    }
}

#[test]
fn what_copies_no_disks_leaves_the_group_to_which_another_goes() {
    // c has no disks, and b has room for only one of the two.
    let cluster = made(
        &["a||drbd", "b||drbd,ext", "c||ext"],
        &["a1", "-a2", "b1", "b2", "c1", "c2"],
        &[("d", 5000, "a2:a1", "drbd"), ("e", 5000, "b1", "ext"), ("f", 3000, "b2", "ext")],
        &[],
    );
    let plan = healed(&cluster);
    assert_eq!(shown(&cluster, plan.steps()), ["e: b1 -> c2", "d: a2:a1 -> b1:b2"]);
}
