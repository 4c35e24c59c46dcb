//! Ganeti clusters under Pacemaker's placement strategies.

use htools::affinity::bridges::ganeti;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{Cluster, Mib};
use htools::pacemaker::{AllPlaced, AllocationScore, Strategy, WorkingSet, place};

/// Two groups; node4 is offline.
const CLUSTER: &str = "\
rack1|uuid-1|preferred||
rack2|uuid-2|preferred||

node1|8192|0|8192|102400|102400|8|M|uuid-1|1|ssd|N|0|1|1.0
node2|8192|0|8192|102400|102400|8|N|uuid-1|1||N|0|1|1.0
node3|8192|0|8192|102400|102400|8|N|uuid-2|1||N|0|1|1.0
node4|8192|0|8192|102400|102400|8|Y|uuid-2|1||N|0|1|1.0

mirrored|1024|10240|1|running|Y|node1|node2|drbd||1|-|N
lost|1024|10240|1|running|Y|node4|node3|drbd||1|-|N
gone|1024|10240|1|running|Y|node4||plain||1|-|N
local|2048|20480|1|running|Y|node2||plain||1|-|N
shared1|1024|10240|1|running|Y|node1||ext|svc:web|1|-|N
shared2|1024|10240|1|running|Y|node1||ext|svc:web|1|-|N
down|4096|10240|2|ADMIN_down|Y|node1||ext||1|-|N
fixed|1024|10240|1|running|N|node1||ext|svc:web|1|-|N

htools:iextags:svc
|128,1,1024,1,1,1|128,1,1024,1,1,1;32768,8,1048576,16,8,12|plain,drbd,ext|4.0|32.0
";

fn cluster() -> Cluster {
    let raw = text::parse_bytes(CLUSTER.as_bytes(), "made up").unwrap();
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib::ZERO);
    cluster
}

fn placed(stickiness: i64, strategy: Strategy) -> (WorkingSet, AllPlaced) {
    let set = ganeti::working_set(&cluster(), AllocationScore::of(stickiness));
    let placed = place(&set, strategy).unwrap();
    (set, placed)
}

/// Node of an instance.
fn place_of<'a>(set: &'a WorkingSet, placed: &AllPlaced, name: &str) -> Option<&'a str> {
    let resource = set.resource_indices().find(|of| set.resource(*of).id == name).unwrap();
    placed.host(resource).map(|host| set.host(host).name.as_str())
}

#[test]
fn disks_and_groups_say_where_an_instance_can_go() {
    for strategy in [Strategy::Utilization, Strategy::Balanced, Strategy::Minimal] {
        let (set, placed) = placed(0, strategy);
        let of = |name| place_of(&set, &placed, name);
        assert_eq!(of("lost"), Some("node3"), "its other node, {strategy}");
        assert_eq!(of("gone"), None, "{strategy}");
        assert_eq!(of("local"), Some("node2"), "{strategy}");
        assert!(matches!(of("mirrored"), Some("node1" | "node2")), "{strategy}");
        assert!(matches!(of("shared1"), Some("node1" | "node2")), "its group, {strategy}");
        assert_eq!(of("down"), None, "{strategy}");
        assert_eq!(of("fixed"), Some("node1"), "{strategy}");
        let unplaced: Vec<&str> = placed.unplaced(&set).map(|of| set.resource(of).id.as_str()).collect();
        assert_eq!(unplaced, ["gone"], "{strategy}");
    }
}

#[test]
fn exclusion_tags_part_and_stickiness_keeps() {
    let (set, free) = placed(0, Strategy::Balanced);
    let apart = |placed: &AllPlaced| {
        ["shared1", "shared2"]
            .map(|name| place_of(&set, placed, name))
            .iter()
            .filter(|of| **of == Some("node2"))
            .count()
    };
    // There are three instances for two nodes, so one can join the fixed one on node1. The other must be on node2.
    assert!(apart(&free) >= 1);
    let (_, held) = placed(100_000, Strategy::Balanced);
    assert_eq!(place_of(&set, &held, "mirrored"), Some("node1"));
    assert_eq!(apart(&held), 0, "they would rather stay");
}

#[test]
fn what_nodes_have_is_what_instances_can_have() {
    let (set, placed) = placed(1, Strategy::Utilization);
    let left = |name: &str, kind: &str| {
        let host = set.host_indices().find(|host| set.host(*host).name == name).unwrap();
        let kind = set.attribute_indices().find(|of| set.attributes[of.get()] == kind).unwrap();
        (set.host(host).capacity.get(kind), placed.remaining[host.get()].get(kind))
    };
    // node3 takes the instance of the offline node; its disks were there before.
    assert_eq!(left("node3", "vcpus"), (31, 30));
    assert_eq!(left("node3", "disk"), (102_400, 92_160));
    assert_eq!(left("node3", "memory").1, left("node3", "memory").0 - 1024);
    assert_eq!(left("node4", "disk"), (102_400, 102_400));
    // A mirror and local disks.
    assert_eq!(left("node2", "disk"), (102_400, 102_400 - 10_240 - 20_480));
}

/// Many instances with the same tag are spread evenly, and as fast as others.
#[test]
fn many_with_one_tag_are_spread() {
    let mut text = "rack|uuid-1|preferred||\n\n".to_owned();
    for node in 0..20 {
        text += &format!("node{node}|65536|0|65536|1024000|1024000|32|N|uuid-1|1||N|0|1|1.0\n");
    }
    text.push('\n');
    for vm in 0..500 {
        text += &format!("vm{vm}|1024|10240|1|running|Y|node0||ext|svc:web|1|-|N\n");
    }
    text += "\nhtools:iextags:svc\n";
    text += CLUSTER.lines().last().unwrap();
    let mut whole =
        merge(text::parse_bytes(text.as_bytes(), "made up").unwrap(), &MergeOptions::default()).unwrap();
    finish(&mut whole, Mib::ZERO);
    let set = ganeti::working_set(&whole, AllocationScore::of(1));
    for strategy in [Strategy::Utilization, Strategy::Balanced, Strategy::Minimal] {
        let placed = place(&set, strategy).unwrap();
        let mut counts = vec![0; set.hosts.len()];
        placed.records.iter().filter_map(|record| record.host).for_each(|host| counts[host.get()] += 1);
        assert_eq!(counts, vec![25; 20], "{strategy}");
    }
}

/// In a single group with shared storage, every node is reachable, so the questions about room can be answered.
#[test]
fn one_group_of_shared_storage_is_symmetric() {
    let one: String = CLUSTER
        .lines()
        .filter(|line| {
            !["rack2", "node3", "node4", "mirrored", "lost", "gone", "local"]
                .iter()
                .any(|of| line.starts_with(of))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let mut whole =
        merge(text::parse_bytes(one.as_bytes(), "one").unwrap(), &MergeOptions::default()).unwrap();
    finish(&mut whole, Mib::ZERO);
    let set = ganeti::working_set(&whole, AllocationScore::ZERO);
    assert!(set.symmetric && set.locations.is_empty());
    assert!(!ganeti::working_set(&cluster(), AllocationScore::ZERO).symmetric);
}
