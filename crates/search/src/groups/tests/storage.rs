//! Tests of disks outside the nodes, nodes without disks, and tags.

use super::*;
use htools_model::score::Board;
use htools_model::{Mib, Obstacle, Rule};

const OUTSIDE: [&str; 5] = ["rbd", "ext", "sharedfile", "gluster", "blockdev"];

/// An instance with one node, 1000 MiB memory and a disk of 900,000 MiB, ten times that of a node.
fn vast(name: &str, node: &str, template: &str) -> String {
    format!("{name}|1000|900000|1|running|Y|{node}||{template}||1")
}

/// Nodes with 90,000 MiB disk, of which 50,000 are free.
fn with_vast(names: &[(&str, i64)], template: &str, node: &str) -> Cluster {
    let row = |name: &str| format!("{name}||drbd,{template}");
    let rows = [vast("v", node, template)];
    groups(&[&row("a"), &row("b")], &nodes(names), &rows, &[])
}

#[test]
fn disks_outside_need_no_room_in_nodes() {
    for template in OUTSIDE {
        let names = [("a1", 9000), ("-a2", 8000), ("b1", 9000), ("b2", 9000)];
        let cluster = with_vast(&names, template, "a2");
        let plan = redistribute(&cluster, &RegroupOptions::default());
        let moved = shown(&cluster, plan.steps());
        assert!(moved.len() == 1 && moved[0].starts_with("v: a2 -> b"), "{template}: {moved:?}");
        let free = |cluster: &Cluster| -> Vec<(Mib, bool)> {
            let ledgers = cluster.nodes.iter().map(|node| &node.state.ledger);
            ledgers.map(|ledger| (ledger.disk_free, ledger.n1_fail)).collect()
        };
        assert_eq!(free(&cluster), [(Mib(50_000), false); 4]);
        assert_eq!(free(&plan.after), free(&cluster), "{template}");
        let steps: Vec<Step> = plan.steps().copied().collect();
        assert_eq!(steps[0].copied(&cluster), Mib::ZERO);
        checked(&cluster, &steps, &plan.after);
    }
    // A DRBD instance of the same size has no place: the nodes of b have 50,000.
    let names = [("a1", 8000), ("-a2", 9000), ("b1", 9000), ("b2", 9000)];
    let inside = groups(
        &["a||drbd", "b||drbd"],
        &nodes(&names),
        &["v|1000|900000|1|running|Y|a1|a2|drbd||1".to_owned()],
        &[],
    );
    let plan = healed(&inside);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!("{:?}", plan.repairs) };
    let StayReason::NoPlace(obstacles) = &blocked[0].why else { panic!("{blocked:?}") };
    let [GroupWhy { obstacle: None, places: nearest, .. }] = &obstacles[..] else { panic!("{obstacles:?}") };
    assert!(
        matches!(nearest.kept[0].obstacle, Obstacle::Primary(Rule::Disk) | Obstacle::Secondary(Rule::Disk)),
        "{nearest:?}"
    );
    // 850,000 of 900,000 are missing, and one MiB must stay free.
    assert_eq!(nearest.kept[0].shortfall.as_ref().unwrap().missing(), Some(850_001));
}

#[test]
fn disks_outside_are_nowhere_in_use() {
    for template in OUTSIDE {
        let names = [("a1", 8000), ("b1", 9000)];
        let cluster = with_vast(&names, template, "a1");
        // 90,000 - 50,000, as without the instance.
        let status = GroupsStatus::of(&cluster);
        let disk = status.groups[0].capacity.disk;
        assert_eq!((disk.total, disk.used, disk.free), (90_000, 40_000, 50_000), "{template}");
        assert_eq!(status.groups[0].score, {
            let mut without = cluster.clone();
            without.instances[0].details_mut().disk = Mib::ZERO;
            Board::new(&without, without.nodes_of(group(&without, "a"))).score()
        });
        // The same holds for the load: no instance uses the disk of a node.
        let loads = Loads::of(&cluster, LoadSource::InUse);
        assert_eq!(["a", "b"].map(|name| loads.relative(group(&cluster, name))[2]), [None, None]);
        // The 900,000 do not count against the 50,000 that are free in b.
        let found = compress(&cluster, &cluster.groups_with_nodes(), &FREELY);
        assert!(matches!(found.candidates[0].outcome, compress::Compressed::Emptied(_)), "{template}");
    }
    // With DRBD both copies count: 2 x 60,000 exceed 2 x 50,000.
    let names = [("a1", 8000), ("a2", 9000), ("b1", 9000), ("b2", 9000)];
    let inside = |disk: i64| {
        let row = format!("v|1000|{disk}|1|running|Y|a1|a2|drbd||1");
        let cluster = groups(&["a||drbd", "b||drbd"], &nodes(&names), &[row], &[]);
        compress(&cluster, &[group(&cluster, "a")], &FREELY).candidates[0].outcome.clone()
    };
    let exceeds = UntriedReason::Exceeds { resource: "disk", used: 120_000, free: 100_000 };
    assert_eq!(inside(60_000), compress::Compressed::Untried(exceeds));
    assert!(matches!(inside(40_000), compress::Compressed::Emptied(_)));
}

/// Nodes of groups without disks: total and free disk are 0.
fn diskless(names: &[(&str, i64)]) -> Vec<String> {
    nodes(names).iter().map(|row| row.replace("|90000|50000|", "|0|0|")).collect()
}

#[test]
fn nodes_without_disks_are_balanced() {
    let names = [("a1", 8000), ("a2", 8000), ("b1", 9000)];
    let rows = [vast("v", "a1", "ext"), vast("w", "a2", "ext")];
    let cluster = groups(&["a||drbd,ext", "b||drbd,ext"], &diskless(&names), &rows, &[]);
    // Such a node is like one with all of its disk free. The share is 1 on both, and the deviation is 0.
    let a = cluster.nodes_of(group(&cluster, "a")).to_vec();
    let share = |n: &htools_model::NodeIdx| {
        let node = cluster.node(*n);
        node.state.ledger.free_disk_ratio(&node.spec)
    };
    assert_eq!(a.iter().map(share).collect::<Vec<_>>(), [1.0, 1.0]);
    assert_eq!(GroupsStatus::of(&cluster).groups[0].score, 0.0);
    // A node with half of its disk in use deviates from them: (1, 1/2) by 1/4, with a weight of 0.5, and once
    // more in the planned view.
    let mut mixed = diskless(&names);
    mixed[1] = "a2|9000|0|8000|90000|45000|9|N|a|1||N|0|0".to_owned();
    let mixed = groups(&["a||drbd,ext", "b||drbd,ext"], &mixed, &rows, &[]);
    assert_eq!(GroupsStatus::of(&mixed).groups[0].score, 0.25);
    // A group without disks has no load of that kind, whatever the others use.
    let names = [("a1", 8000), ("a2", 9000), ("b1", 9000)];
    let mut rows = nodes(&names);
    rows[2] = diskless(&names)[2].clone();
    let drbd = ["d|1000|9000|1|running|Y|a1|a2|drbd||1".to_owned()];
    let cluster = groups(&["a||drbd,ext", "b||drbd,ext"], &rows, &drbd, &[]);
    let loads = Loads::of(&cluster, LoadSource::InUse);
    assert_eq!(["a", "b"].map(|name| loads.relative(group(&cluster, name))[2]), [Some(1.0), None]);
    // It takes no instance that needs disks.
    assert!(StorageMap::of(&cluster).missing(group(&cluster, "b"), InstanceIdx::new(0)).is_some());
}

/// An instance with a tag on an offline node of `a`, and nodes of `b` with the given tags; the first of these
/// has an instance with the tag `svc:x`.
fn tagged(cluster_tags: &[&str], tag: &str, from: &str, others: [&str; 2]) -> Cluster {
    let row = |name: &str, free: i64, role: char, group: char, tag: &str| {
        format!("{name}|9000|0|{free}|90000|50000|9|{role}|{group}|1|{tag}|N|0|0")
    };
    let rows = [
        row("a1", 9000, 'N', 'a', ""),
        row("a2", 8000, 'Y', 'a', from),
        row("b1", 8000, 'N', 'b', others[0]),
        row("b2", 2000, 'N', 'b', others[1]),
    ];
    let instances = [
        format!("i|1000|1024|1|running|Y|a2||ext|{tag}|1"),
        "j|1000|1024|1|running|Y|b1||ext|svc:x|1".to_owned(),
        "k|7000|1024|1|running|Y|b2||ext||1".to_owned(),
    ];
    groups(&["a||ext", "b||ext"], &rows, &instances, cluster_tags)
}

#[test]
fn tags_count() {
    let moved = |cluster: &Cluster| shown(cluster, healed(cluster).steps());
    // b1 is the emptier one.
    assert_eq!(moved(&tagged(&[], "svc:x", "", ["", ""])), ["i: a2 -> b1"]);
    // It must not join another instance with the exclusion tag.
    assert_eq!(moved(&tagged(&["htools:iextags:svc"], "svc:x", "", ["", ""])), ["i: a2 -> b2"]);
    // It does not go to an undesired location.
    let location = ["htools:nlocation:power", "htools:desiredlocation:power"];
    assert_eq!(moved(&tagged(&location, "power:x", "", ["power:y", "power:x"])), ["i: a2 -> b2"]);
    assert_eq!(moved(&tagged(&location, "power:y", "", ["power:y", "power:x"])), ["i: a2 -> b1"]);
    // It does not go to a node that does not accept migrations from its own.
    let migration = ["htools:migration:hv"];
    assert_eq!(moved(&tagged(&migration, "", "hv:1", ["hv:2", "hv:1"])), ["i: a2 -> b2"]);
    let none = tagged(&migration, "", "hv:1", ["hv:2", "hv:2"]);
    let plan = healed(&none);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!("{:?}", plan.repairs) };
    let b = group(&none, "b");
    assert_eq!(
        blocked[0].why,
        StayReason::NoPlace(vec![GroupWhy::excluded(b, GroupObstacle::Migration(none.instances[0].primary))])
    );
}

#[test]
fn what_is_missing_is_said() {
    let cluster = made(
        &["a||ext", "b||ext"],
        &["a1", "-a2", "b1", "b2"],
        &[("i", 5000, "a2", "ext"), ("j", 6000, "b1", "ext"), ("k", 7000, "b2", "ext")],
        &[],
    );
    let plan = healed(&cluster);
    let Healing::Stuck(blocked) = &plan.repairs[0].outcome else { panic!("{:?}", plan.repairs) };
    let StayReason::NoPlace(obstacles) = &blocked[0].why else { panic!("{blocked:?}") };
    let [GroupWhy { obstacle: None, places: nearest, .. }] = &obstacles[..] else { panic!("{obstacles:?}") };
    // b1 has 3000 of 5000 MiB, b2 only 2000; one MiB must stay free.
    assert_eq!(cluster.node(nearest.kept[0].node).spec.name, "b1");
    assert_eq!((nearest.refused, nearest.kept[0].shortfall.as_ref().unwrap().missing()), (2, Some(2001)));
}
