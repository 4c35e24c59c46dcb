use super::*;

const SMALL: &str = include_str!("../../../../data/pacemaker-small.xml");

fn rules(spare: usize) -> StandbyRules {
    StandbyRules { spare, most: usize::MAX, last: Vec::new() }
}

#[test]
fn a_node_whose_resources_find_no_room_stays_up() {
    let rules = rules(1);
    let planner = StandbyPlanner::new(SMALL, "t", &rules).unwrap();
    let nodes: Vec<String> = planner.set().hosts.iter().map(|host| host.name.clone()).collect();
    let plan = planner.all(&nodes).unwrap();
    let batches: Vec<Vec<String>> = plan.batches.into_iter().map(|batch| batch.nodes).collect();
    assert_eq!(batches, [["node1"]]);
    let held: Vec<String> = plan.held.iter().map(|held| format!("{}: {}", held.node, held.why)).collect();
    assert_eq!(held, ["node2: rsc-medium would stop"]);
}

#[test]
fn quorum_and_limits() {
    for (rules, why) in
        [(rules(0), NodeHold::Quorum), (StandbyRules { most: 0, ..rules(1) }, NodeHold::EnoughDown)]
    {
        let planner = StandbyPlanner::new(SMALL, "t", &rules).unwrap();
        let held = planner.first(&["node1".to_owned()], usize::MAX).unwrap_err();
        assert_eq!(held, [HeldNode { node: "node1".to_owned(), why }]);
    }
    let rules = rules(1);
    let planner = StandbyPlanner::new(SMALL, "t", &rules).unwrap();
    let held = planner.first(&["node9".to_owned()], usize::MAX).unwrap_err();
    assert_eq!(held[0].why, NodeHold::Unknown);
}

#[test]
fn votes() {
    let answer = "Votequorum information\n----\nExpected votes:   5\nTotal votes:      5\nQuorum:           3  \nFlags:            Quorate \n\nMembership information\n----\n    Nodeid      Votes Name\n         1          1 n1 (local)\n         2          2 n2\n";
    let votes = ClusterVotes::parse(answer).unwrap();
    assert_eq!(votes, ClusterVotes { total: 5, quorum: 3, most: 2 });
    assert_eq!(votes.spare_nodes(), 1);
    assert_eq!(ClusterVotes { total: 2, quorum: 1, most: 1 }.spare_nodes(), 1);
    assert_eq!(ClusterVotes { total: 2, quorum: 0, most: 1 }.spare_nodes(), 1);
    assert_eq!(ClusterVotes::parse("Cannot initialize CMAP service"), None);
}

/// A promotable clone on db1 and db2.
const DRBD: &str = include_str!("../../../../tests/fixtures/pacemaker/promoted/no-room-for-the-database.xml");

#[test]
fn clones_may_have_fewer_instances_but_no_role_is_lost() {
    let set = crate::cib::parse(DRBD, "t").unwrap();
    let place = |resource: &str, node: &str, promoted: bool| crate::foresight::ExpectedPlace {
        resource: resource.to_owned(),
        node: Some(node.to_owned()),
        promoted,
    };
    let before = [place("disk", "db1", true), place("disk", "db2", false)];
    let down = std::collections::BTreeSet::from(["db1"]);
    assert_eq!(loss(&set, &before, &[place("disk", "db2", true)], &down), None);
    let demoted = loss(&set, &before, &[place("disk", "db2", false)], &down);
    assert_eq!(demoted, Some(NodeHold::Demotes("disk".to_owned())));
    let stays = loss(&set, &before, &[place("disk", "db1", true)], &down);
    assert_eq!(stays, Some(NodeHold::Stays("disk".to_owned())));
    assert_eq!(loss(&set, &before, &[], &down), Some(NodeHold::Stops("disk".to_owned())));
    let none = std::collections::BTreeSet::new();
    let fewer = loss(&set, &before, &[place("disk", "db2", true)], &none);
    assert_eq!(fewer, Some(NodeHold::Stops("disk".to_owned())));
    assert_eq!(left_on("db1", &[], &before), Some("disk"));
    assert_eq!(left_on("db1", &before, &before), None);
}

/// A node is tried in the state of the document if the forecasts after other batches give a role no place.
#[test]
fn every_node_of_a_promotable_clone_has_its_turn() {
    let rules = StandbyRules { last: vec!["db1".to_owned()], ..rules(1) };
    let text = DRBD.replace("placement-strategy", "no-strategy");
    let planner = StandbyPlanner::new(&text, "t", &rules).unwrap();
    let nodes: Vec<String> = planner.set().hosts.iter().map(|host| host.name.clone()).collect();
    let plan = planner.all(&nodes).unwrap();
    let order: Vec<&str> = plan.batches.iter().flat_map(|batch| &batch.nodes).map(String::as_str).collect();
    assert!(plan.held.is_empty(), "{:?}", plan.held);
    assert_eq!(order.last(), Some(&"db1"), "{order:?}");
}
