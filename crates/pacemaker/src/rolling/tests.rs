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
