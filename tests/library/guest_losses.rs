//! Losses of nodes in clusters with guest nodes, remote nodes and bundles, compared with recorded answers of crm_simulate:
//! the places after `--node-fail`. For a remote node, its history and that of its connection were removed, and starts of
//! the connection had failed everywhere.

use std::fs;
use std::path::Path;

use htools::pacemaker::loss::{HostLoss, losses};
use htools::pacemaker::optimal::{PlacingLimits, ThenGoal};
use htools::pacemaker::pinning::ForesightError;
use htools::pacemaker::{HostIdx, ResourceChanges, ResourceIdx, WorkingSet, at_rest, cib, optimal, place};
use htools::search::Deadline;

use super::pacemaker::beside_members;

const DIRECTORY: &str = "tests/fixtures/pacemaker/losses";

/// The cluster of a document at rest.
fn resting(file: &Path) -> Option<WorkingSet> {
    let text = fs::read_to_string(file).unwrap();
    let set = cib::parse(&text, "t").unwrap();
    at_rest(&text, "t", set.strategy()).unwrap()
}

/// The places of all primitives after a loss, in words.
fn after(set: &WorkingSet, loss: &HostLoss) -> Vec<String> {
    let place = |one: ResourceIdx| {
        let is_lost =
            loss.hosts.iter().any(|host| set.host(*host).guest.is_some_and(|parts| parts.connection == one));
        let gone = is_lost || loss.down.contains(&one);
        let host = loss.targets.get(&one).copied().or(set.resource(one).active).filter(|_| !gone)?;
        set.resource(one).is_primitive().then(|| format!("{} {}", set.common_name(one), set.host(host).name))
    };
    let mut places: Vec<String> = set.resource_indices().filter_map(place).collect();
    places.sort();
    places
}

#[test]
fn losses_are_those_of_crm_simulate() {
    let mut compared = 0;
    for name in ["bundle", "guest-node", "remote-node"] {
        let set = resting(&Path::new(DIRECTORY).join(format!("{name}.xml"))).unwrap();
        let all = losses(&set, set.strategy(), 1).unwrap();
        for loss in &all {
            let node = &set.host(loss.hosts[0]).name;
            let Ok(recorded) = fs::read_to_string(Path::new(DIRECTORY).join(format!("{name}.{node}.txt")))
            else {
                continue;
            };
            assert_eq!(after(&set, loss), recorded.lines().collect::<Vec<_>>(), "{name} without {node}");
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
}

/// Guest nodes and containers are lost with their hosts only, and have no vote.
#[test]
fn members_and_remote_nodes_are_lost() {
    let lost = |name: &str| {
        let set = resting(&Path::new(DIRECTORY).join(format!("{name}.xml"))).unwrap();
        let all = losses(&set, set.strategy(), 1).unwrap();
        let mut names: Vec<String> = all.iter().map(|loss| set.host(loss.hosts[0]).name.clone()).collect();
        names.sort();
        assert!(all.iter().all(|loss| loss.quorum));
        names.join(" ")
    };
    assert_eq!(lost("guest-node"), "n1 n2 n3");
    assert_eq!(lost("remote-node"), "n1 n2 n3 r1");
    assert_eq!(lost("bundle"), "n1 n2 n3");
}

/// Nearly every recorded cluster with such nodes comes to rest, and has nothing more to do then. What follows after the loss
/// of any two of its nodes is known, or refused in a few of them.
#[test]
fn clusters_come_to_rest() {
    let (mut quiet, mut restless, mut refused) = (0, 0, 0);
    for file in beside_members() {
        let Some(set) = resting(&file) else {
            restless += 1;
            continue;
        };
        quiet += 1;
        let placed = place(&set, set.strategy()).unwrap();
        let changes = ResourceChanges::of(&set, set.strategy(), &placed);
        for one in set.resource_indices().filter(|one| set.resource(*one).is_primitive()) {
            let details = set.resource(one);
            assert_eq!(changes.get(one).runs_on(), details.active, "{}: {}", file.display(), details.id);
        }
        match losses(&set, set.strategy(), 2) {
            Ok(_) => {}
            Err(ForesightError::Unsupported { .. }) => refused += 1,
            Err(error) => panic!("{}: {error}", file.display()),
        }
    }
    assert!(quiet > 50 && restless * 10 < quiet && refused * 10 < quiet, "{quiet}, {restless}, {refused}");
}

/// The best placement keeps what is pinned, leaves no VM out, and runs nothing on a guest node besides.
#[test]
fn the_best_placement_keeps_what_is_inside() {
    for file in beside_members() {
        let set = cib::parse(&fs::read_to_string(&file).unwrap(), "t").unwrap();
        let limits = PlacingLimits { steps: 2_000, moves: None, deadline: Deadline::never() };
        let best = optimal(&set, ThenGoal::Balanced, &limits).unwrap();
        let optimum = best.optimum.as_ref().unwrap();
        let is_inside = |host: HostIdx| set.host(host).guest.is_some();
        for record in best.records.iter().filter(|record| set.is_managed(record.resource)) {
            let id = &set.resource(record.resource).id;
            assert!(
                optimum.pinned.contains(&record.resource) || !record.host.is_some_and(is_inside),
                "{}: {id}",
                file.display()
            );
        }
    }
}

/// Without a fencing device, nothing is started elsewhere, and a guest node is down with its host.
#[test]
fn a_guest_node_stays_down_with_its_machine() {
    let text = fs::read_to_string(Path::new(DIRECTORY).join("guest-node.xml")).unwrap();
    let device = r#"class="stonith" type="fence_ipmilan""#;
    let text = text.replace(device, r#"class="ocf" provider="pacemaker" type="Dummy""#);
    let set = at_rest(&text, "t", cib::parse(&text, "t").unwrap().strategy()).unwrap().unwrap();
    let all = losses(&set, set.strategy(), 1).unwrap();
    let host_of_all = all.iter().find(|loss| set.host(loss.hosts[0]).name == "n1").unwrap();
    let mut down: Vec<&str> = host_of_all.down.iter().map(|one| set.resource(*one).id.as_str()).collect();
    down.sort_unstable();
    assert_eq!((down, host_of_all.restarted.len()), (vec!["A", "B", "C", "g1", "vm"], 0));
}
