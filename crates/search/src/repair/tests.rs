use super::*;
use htools_model::Outage;
use htools_testkit::groups;

const P: &str = "ganeti:watcher:autorepair:";
const NOW: i64 = 1_795_250_944;

fn node(name: &str, flag: &str, group: &str) -> String {
    format!("{name}|4000|0|4000|60000|60000|32|{flag}|{group}|4")
}

/// An instance of 100 MiB with its name, nodes, disk template and tag, which may be empty.
fn row(name: &str, status: &str, nodes: (&str, &str), template: &str, tag: &str) -> String {
    let tag = if tag.is_empty() { String::new() } else { format!("{P}{tag}") };
    format!("{name}|100|1000|1|{status}|Y|{}|{}|{template}|{tag}|1", nodes.0, nodes.1)
}

/// The decision in a few words.
fn words(cluster: &Cluster, case: &RepairCase) -> String {
    let name = |node: NodeIdx| cluster.node(node).spec.name.clone();
    match &case.decision {
        RepairDecision::Well => "well".to_owned(),
        RepairDecision::Repair(kind, way, before) => {
            let to: Vec<String> = way.to.nodes().map(name).collect();
            let again =
                before.as_ref().map_or(String::new(), |tag| format!(" after attempt {}", tag.attempt()));
            format!("{kind} to {}{again}", to.join(":"))
        }
        RepairDecision::Later(kind, LimitReached::All(most)) => format!("{kind} later, at most {most}"),
        RepairDecision::Later(kind, LimitReached::Node(node, most)) => {
            format!("{kind} later, at most {most} on {}", name(*node))
        }
        RepairDecision::Changed(kind) => format!("{kind}, but it has changed"),
        RepairDecision::NoRoom(kind, no_way) => format!("{kind} impossible: {}", no_way.refused.refused),
        RepairDecision::BeyondPermission { needed, permitted, noted } => {
            format!("{needed} beyond {permitted}{}", if *noted { ", noted" } else { "" })
        }
        RepairDecision::NotPermitted { refused: RepairPermission::Suspended(until), .. } => {
            format!("suspended {until:?}")
        }
        RepairDecision::NotPermitted { .. } => "not enabled".to_owned(),
        RepairDecision::ForPeople => format!("for people: {:?}", case.damage),
        RepairDecision::UnderWay(_) => "under way".to_owned(),
        RepairDecision::InVain(_) => "in vain".to_owned(),
        RepairDecision::BackOff(tag, until) => format!("attempt {} until {until}", tag.attempt()),
        RepairDecision::GiveUp(tag) => format!("given up after {}", tag.attempt()),
        RepairDecision::Failed(_) => "failed".to_owned(),
        RepairDecision::Unclear(why) => why.to_string(),
    }
}

fn decided(cluster: &Cluster, options: &RepairOptions) -> Vec<String> {
    let cases = decide_all(cluster, &HashMap::new(), options);
    cases.iter().map(|case| words(cluster, case)).collect()
}

/// The cluster of the specification's transcript, and harep's decision about each instance.
#[test]
fn decisions_by_nodes_and_tags() {
    let nodes = [
        node("n1", "N", "g1"),
        node("n2", "Y", "g1"),
        node("n3", "Y", "g1"),
        node("n4", "N", "g1"),
        node("m1", "Y", "g2"),
    ];
    let old = NOW - 10_000;
    let rows = [
        ("ok", ("n1", ""), "plain", String::new(), "well"),
        ("sec", ("n1", "n2"), "drbd", String::new(), "fix-storage to n1:n4"),
        ("pri", ("n2", "n1"), "drbd", String::new(), "failover to n1:n2"),
        ("both", ("n2", "n3"), "drbd", String::new(), "reinstall beyond failover"),
        ("pl", ("m1", ""), "plain", String::new(), "not enabled"),
        ("susp", ("n2", "n1"), "drbd", "suspend".into(), "suspended None"),
        ("suspt", ("n2", "n1"), "drbd", "suspend:9999999999".into(), "suspended Some(9999999999)"),
        ("suspold", ("n2", "n1"), "drbd", "suspend:100".into(), "failover to n1:n2"),
        ("ext", ("n2", ""), "ext", String::new(), "failover to n4"),
        ("failed", ("n2", "n1"), "drbd", "result:failover:aaaa:1300000000:failure:12+13".into(), "failed"),
        ("succ", ("n2", "n1"), "drbd", format!("result:failover:bbbb:{old}:success:12"), "failover to n1:n2"),
        ("vain", ("n2", "n1"), "drbd", format!("result:failover:bbbb:{}:success:12", NOW - 100), "in vain"),
        (
            "stage",
            ("n2", "n1"),
            "drbd",
            format!("result:fix-storage:bbbb:{}:success:12", NOW - 100),
            "failover to n1:n2",
        ),
        (
            "enop",
            ("n2", "n3"),
            "drbd",
            "result:reinstall:cccc:1300000000:enoperm:".into(),
            "reinstall beyond failover, noted",
        ),
        ("pend", ("n2", "n1"), "drbd", "pending:failover:dddd:1300000000:55".into(), "under way"),
        ("mig", ("n2", "n1"), "drbd", "migrate".into(), "failover beyond migrate"),
        ("both2", ("n2", "n3"), "drbd", "reinstall".into(), "reinstall to n4:n1"),
        ("lost", ("n2", ""), "drbd", "reinstall".into(), "reinstall to n4:n1"),
        ("alone", ("n1", ""), "drbd", "reinstall".into(), "well"),
    ];
    let instances: Vec<String> =
        rows.iter().map(|(name, at, template, tag, _)| row(name, "ADMIN_down", *at, template, tag)).collect();
    let cluster = groups(&[&format!("g1|{P}failover|"), "g2||"], &nodes, &instances, &[]);
    for ((name, .., expected), found) in rows.iter().zip(decided(&cluster, &RepairOptions::at(NOW))) {
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn tags_that_contradict_each_other_are_left_to_people() {
    let nodes = [node("n1", "Y", "g"), node("n2", "Y", "g"), node("n3", "N", "g"), node("n4", "N", "g")];
    let tags = format!("reinstall,{P}pending:failover:u1:100:1,{P}result:failover:u2:200:success:2");
    let rows =
        [row("x", "running", ("n1", "n2"), "drbd", &tags), row("y", "running", ("n1", "n2"), "drbd", "")];
    let cluster = groups(&["g||"], &nodes, &rows, &[&format!("{P}reinstall")]);
    assert_eq!(
        decided(&cluster, &RepairOptions::at(300)),
        [
            format!(
                "found tag \"{P}result:failover:u2:200:success:2\", but the older tag \"{P}pending:failover:u1:100:1\" says that a repair is under way"
            ),
            // The contradiction does not prevent the repair of other instances.
            "reinstall to n4:n3".to_owned()
        ]
    );
}

/// The decision depends on the node's flags in Ganeti, not only on whether it is out of use.
#[test]
fn drained_and_silent_nodes_are_no_dead_ones() {
    let nodes = [
        node("n1", "N", "g"),
        node("dr", "Y", "g"),
        node("si", "Y", "g"),
        node("de", "Y", "g"),
        node("n2", "N", "g"),
    ];
    let rows = [
        (("dr", "n1"), "drbd", "migrate to n1:dr"),
        (("dr", "de"), "drbd", "fix-storage to dr:n"),
        (("de", "dr"), "drbd", "for people: Some(Blocked(NodeIdx(1)))"),
        (("si", "n1"), "drbd", "for people: Some(Silent(NodeIdx(2)))"),
        (("n1", "si"), "drbd", "for people: Some(Silent(NodeIdx(2)))"),
        (("n1", "dr"), "drbd", "fix-storage to n1:n2"),
        (("dr", ""), "plain", "well"),
        (("de", ""), "plain", "reinstall to n"),
        (("de", ""), "file", "reinstall to n"),
        (("dr", ""), "rbd", "migrate to n"),
        (("de", ""), "diskless", "failover to n"),
        (("si", ""), "sharedfile", "for people: Some(Silent(NodeIdx(2)))"),
    ];
    let instances: Vec<String> = (1..)
        .zip(rows)
        .map(|(at, (nodes, template, _))| row(&format!("i{at}"), "running", nodes, template, ""))
        .collect();
    let mut cluster = groups(&["g||"], &nodes, &instances, &[&format!("{P}reinstall")]);
    cluster.nodes[1].spec.outage = Outage::Drained;
    cluster.nodes[2].spec.outage = Outage::Silent;
    for ((nodes, template, expected), found) in rows.iter().zip(decided(&cluster, &RepairOptions::at(NOW))) {
        let is_so = if expected.ends_with("to n") || expected.ends_with(":n") {
            found.starts_with(expected)
        } else {
            found == *expected
        };
        assert!(is_so, "{template} on {nodes:?}: {found}");
    }
}

#[test]
fn instances_that_are_down_and_disks_that_are_not_whole() {
    let nodes = [node("n1", "N", "g"), node("n2", "N", "g")];
    let rows = [
        row("down", "ERROR_down", ("n1", "n2"), "drbd", ""),
        row("gone", "ERROR_wrongnode", ("n1", "n2"), "drbd", ""),
        row("up", "ERROR_up", ("n1", "n2"), "drbd", ""),
        row("user", "USER_down", ("n1", "n2"), "drbd", ""),
        row("apart", "running", ("n1", "n2"), "drbd", ""),
        row("bare", "running", ("n1", "n2"), "drbd", ""),
        row("lost", "running", ("n1", "n2"), "drbd", ""),
    ];
    let cluster = groups(&["g||"], &nodes, &rows, &[&format!("{P}failover")]);
    let disks = HashMap::from([
        (InstanceIdx::new(4), DiskFault::Apart),
        (InstanceIdx::new(5), DiskFault::SecondaryLost(vec![1])),
        (InstanceIdx::new(6), DiskFault::BothLost),
    ]);
    let cases = decide_all(&cluster, &disks, &RepairOptions::at(NOW));
    let steps = |case: &RepairCase| match &case.decision {
        RepairDecision::Repair(kind, way, _) => format!("{kind}: {:?}", way.steps),
        _ => words(&cluster, case),
    };
    assert_eq!(
        cases.iter().map(steps).collect::<Vec<_>>(),
        [
            "failover: [Start]",
            "for people: Some(Elsewhere)",
            "well",
            "well",
            "fix-storage: [Activate]",
            "fix-storage: [Activate, Renew(Secondary, [1])]",
            "for people: Some(Disks(BothLost))",
        ]
    );
}

#[test]
fn what_is_urgent_comes_first_where_there_are_limits() {
    let nodes = [node("n1", "N", "g"), node("n2", "N", "g"), node("de", "Y", "g"), node("n3", "N", "g")];
    let rows = [
        row("a", "running", ("n1", "de"), "drbd", ""),
        row("b", "running", ("n2", "de"), "drbd", ""),
        row("c", "ERROR_nodeoffline", ("de", "n1"), "drbd", ""),
        row("d", "running", ("n3", "n1"), "drbd", "pending:failover:u:1:1"),
    ];
    let cluster = groups(&["g||"], &nodes, &rows, &[&format!("{P}failover")]);
    let options = RepairOptions { limit: Some(2), ..RepairOptions::at(NOW) };
    let later = "fix-storage later, at most 2";
    assert_eq!(decided(&cluster, &options), [later, later, "failover to n1:de", "under way"]);
    let options = RepairOptions { max_per_node: Some(2), ..RepairOptions::at(NOW) };
    assert_eq!(
        decided(&cluster, &options),
        ["fix-storage later, at most 2 on n1", "fix-storage to n2:n3", "failover to n1:de", "under way"]
    );
}

/// The earlier repairs leave no room for the last one.
#[test]
fn no_more_fails_over_than_fits() {
    let nodes = [node("n1", "N", "g"), node("de", "Y", "g")];
    let big = |name: &str| format!("{name}|1800|1000|1|ERROR_nodeoffline|Y|de|n1|drbd||1");
    let cluster = groups(&["g||"], &nodes, &[big("a"), big("b"), big("c")], &[&format!("{P}failover")]);
    assert_eq!(
        decided(&cluster, &RepairOptions::at(NOW)),
        ["failover to n1:de", "failover to n1:de", "failover impossible: 1"]
    );
}

#[test]
fn after_failures_the_pause_grows_and_ends() {
    let nodes = [node("n1", "N", "g"), node("de", "Y", "g")];
    let failed = |id: &str, ago: i64| {
        let tag = format!("result:failover:{id}:{}:failure:7", NOW - ago);
        let rows = [row("a", "ERROR_nodeoffline", ("de", "n1"), "drbd", &tag)];
        let cluster = groups(&["g||"], &nodes, &rows, &[&format!("{P}failover")]);
        decided(&cluster, &RepairOptions { most_failures: 3, ..RepairOptions::at(NOW) }).remove(0)
    };
    assert_eq!(failed("u", 299), format!("attempt 1 until {}", NOW + 1));
    assert_eq!(failed("u", 300), "failover to n1:de after attempt 1");
    assert_eq!(failed("u.2", 300), format!("attempt 2 until {}", NOW + 300));
    assert_eq!(failed("u.2", 600), "failover to n1:de after attempt 2");
    assert_eq!(failed("u.3", 9_000), "given up after 3");
}
