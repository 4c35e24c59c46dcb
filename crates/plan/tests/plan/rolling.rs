//! The work of rolling reboots.

use htools_model::NodeIdx;
use htools_plan::rolling::Reboots;
use htools_plan::shell::Line;
use htools_plan::work::WorkStep;
use htools_search::rolling::{Conflicts, RollingOptions};
use htools_testkit::cluster;

const NODES: [&str; 3] = [
    "n1.x|9000|0|8000|90000|50000|9|N|u|1",
    "n2.x|9000|0|8000|90000|50000|9|N|u|1",
    "n3.x|9000|0|8000|90000|50000|9|M|u|1",
];

/// The commands of the group with the given node.
fn commands(instances: &[&str], node: usize, options: RollingOptions) -> Vec<String> {
    let cluster = cluster(&NODES, instances, &[]);
    let conflicts = Conflicts::among(&cluster, &cluster.all_nodes(), &options).unwrap();
    let parts = conflicts.plan(&cluster, &options).unwrap();
    let at = parts.iter().position(|p| p.nodes.contains(&NodeIdx::new(node))).unwrap();
    let parts = parts.iter().map(|part| (&part.nodes[..], &part.moves[..]));
    let reboots = Reboots::of(&cluster, parts, options.offline_maintenance).unwrap();
    assert_eq!(reboots.work.fault(), None);
    reboots.lines_by_group().unwrap()[at].iter().map(Line::to_string).collect()
}

#[test]
fn away_and_back() {
    let instances = [
        "web|100|1000|1|running|Y|n1.x|n2.x|drbd|",
        "down|100|1000|1|ADMIN_down|Y|n1.x|n2.x|drbd|",
        "local|100|1000|1|running|Y|n1.x||plain|",
        "shared|100|1000|1|ADMIN_down|Y|n1.x||ext|",
        "copy|100|1000|1|running|Y|n2.x|n1.x|drbd|",
    ];
    let expected = [
        "gnt-instance migrate -f web",
        "gnt-instance move -f -n n2.x local",
        "gnt-instance failover -f -n n2.x shared",
        "gnt-node power -f cycle n1.x",
        "until ssh -o BatchMode=yes n1.x true; do sleep 10; done",
        "gnt-instance activate-disks --wait-for-sync web",
        "gnt-instance activate-disks --wait-for-sync copy",
        "gnt-instance migrate -f web",
        "gnt-instance move -f -n n1.x local",
        "gnt-instance failover -f -n n1.x shared",
    ];
    let found = commands(&instances, 0, RollingOptions::default());
    let ours: Vec<&String> = found.iter().filter(|line| !line.contains("n3.x")).collect();
    assert_eq!(ours, expected.iter().collect::<Vec<_>>());
}

#[test]
fn data_leaves_and_comes_back() {
    let options = RollingOptions { full_evacuation: true, ..RollingOptions::default() };
    let found = commands(&["web|100|1000|1|running|Y|n1.x|n2.x|drbd|"], 0, options);
    let expected = [
        "gnt-instance migrate -f web",
        "gnt-instance replace-disks -n n3.x web",
        "gnt-node power -f cycle n1.x",
        "until ssh -o BatchMode=yes n1.x true; do sleep 10; done",
        "gnt-instance replace-disks -n n1.x web",
        "gnt-instance migrate -f web",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_goes_down_with_its_node_is_stopped_and_started() {
    let instances = ["web|100|1000|1|running|Y|n1.x|n2.x|drbd|", "local|100|1000|1|running|Y|n1.x||plain|"];
    let options =
        RollingOptions { offline_maintenance: true, ignore_non_redundant: true, ..RollingOptions::default() };
    let found = commands(&instances, 0, options);
    let expected = [
        "gnt-instance shutdown web",
        "gnt-instance shutdown local",
        "gnt-node power -f cycle n1.x",
        "until ssh -o BatchMode=yes n1.x true; do sleep 10; done",
        "gnt-instance startup web",
        "gnt-instance startup local",
        "gnt-instance activate-disks --wait-for-sync web",
    ];
    let ours: Vec<&String> = found.iter().filter(|line| !line.contains("n3.x")).collect();
    assert_eq!(ours, expected.iter().collect::<Vec<_>>());
}

#[test]
fn what_is_stopped_meanwhile_does_not_migrate() {
    let instances = ["web|100|1000|1|running|Y|n1.x|n2.x|drbd|"];
    let options =
        RollingOptions { offline_maintenance: true, full_evacuation: true, ..RollingOptions::default() };
    let found = commands(&instances, 0, options);
    assert_eq!(found[..2], ["gnt-instance shutdown web", "gnt-instance failover -f web"]);
    assert!(!found.iter().any(|line| line.contains("migrate")), "{found:?}");
    assert_eq!(found.last().unwrap(), "gnt-instance startup web");
}

#[test]
fn the_master_is_left_to_people() {
    let found = commands(&["web|100|1000|1|running|Y|n3.x|n2.x|drbd|"], 2, RollingOptions::default());
    let last = [
        "# n3.x is the master node: reboot it by hand, then run",
        "#   gnt-instance activate-disks --wait-for-sync web",
        "#   gnt-instance migrate -f web",
    ];
    assert_eq!(found[found.len() - 3..], last);
    assert_eq!(found[0], "gnt-instance migrate -f web");
    assert!(!found.iter().any(|line| line.contains("cycle n3.x")));
}

#[test]
fn one_group_is_back_before_the_next_one_goes() {
    let nodes: Vec<String> = (1..=3).map(|n| format!("n{n}|9000|0|8000|90000|80000|9|N|u|1")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let instances = [
        "web|100|1000|1|running|Y|n1|n2|drbd||1",
        "local|100|1000|1|running|Y|n3||plain||1",
        "idle|100|1000|1|ADMIN_down|Y|n2|n1|drbd||1",
    ];
    let cluster = cluster(&nodes, &instances, &[]);
    let [n1, n2, n3] = [0, 1, 2].map(NodeIdx::new);
    let parts: [&[NodeIdx]; 2] = [&[n1], &[n2, n3]];
    let work = Reboots::of(&cluster, parts.map(|nodes| (nodes, &[][..])), false).unwrap().work;
    let titles: Vec<String> = work.steps.iter().map(WorkStep::title).collect();
    let first = ["web", "reboot n1", "wait for n1", "resync the disks of web", "web"];
    let second = ["stop local", "reboot n2", "reboot n3", "wait for n2", "wait for n3"];
    let third = ["resync the disks of web", "start local"];
    assert_eq!(titles, [&first[..], &second[..], &third[..]].concat());
    let waits = |at: usize| -> Vec<usize> {
        let edges = work.edges.iter().filter(|edge| edge.after.get() == at);
        edges.map(|edge| edge.before.get()).collect()
    };
    let found: Vec<Vec<usize>> = (0..titles.len()).map(waits).collect();
    let wanted: [&[usize]; 12] = [&[], &[0], &[1], &[2], &[3], &[4], &[4], &[5], &[6], &[7], &[8], &[9]];
    assert_eq!(found, wanted);
}
