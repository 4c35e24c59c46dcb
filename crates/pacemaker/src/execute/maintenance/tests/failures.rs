//! Nodes that fail, and runs that end early.

use super::*;

fn ready(nodes: usize) -> (WorldView, Paper) {
    (WorldView::of(World::new(nodes, &[])), Paper::default())
}

fn names(end: &CibMaintenanceEnd) -> Vec<&str> {
    end.left.iter().map(|left| left.node.as_str()).collect()
}

#[test]
fn a_command_that_fails_leaves_its_node_in_standby_and_named() {
    let (world, sheet) = ready(3);
    world.0.borrow_mut().fails.insert("n2".to_owned());
    let all = terms(&world.0.borrow());
    let end = begin(&world, all, &sheet).unwrap();
    // n1 coordinates the cluster and comes last.
    assert_eq!((end.ending.clone(), names(&end)), (Ending::Failed, vec!["n1", "n2", "n3"]));
    assert_eq!(end.left[1].why, "the command failed with exit status 3");
    assert_eq!(world.0.borrow().left_in_standby(), ["n2"]);
    assert_eq!(resume(&world, &sheet).unwrap().ending, Ending::Done);
    world.0.borrow().is_done();
}

#[test]
fn others_go_on_if_that_is_asked_for() {
    let (world, sheet) = ready(5);
    world.0.borrow_mut().stays_away.insert("n3".to_owned());
    let mut all = terms(&world.0.borrow());
    (all.after_failure, all.max_down) = (AfterFailure::Skip, Some(2));
    let end = begin(&world, all, &sheet).unwrap();
    assert_eq!((end.ending.clone(), names(&end)), (Ending::Failed, vec!["n3"]));
    assert_eq!(end.left[0].why, "it was not back within 60 s");
    assert_eq!(world.0.borrow().left_in_standby(), ["n3"]);
}

#[test]
fn a_failure_of_a_resource_stops_the_run() {
    let (world, sheet) = ready(3);
    world.0.borrow_mut().breaks = true;
    let mut all = terms(&world.0.borrow());
    let end = begin(&world, all.clone(), &sheet).unwrap();
    assert_eq!(end.left[1].why, "r1#monitor_10000 failed on n1");
    assert_eq!(world.0.borrow().left_in_standby(), ["n2"]);
    // With `continue`, it is a warning.
    let (world, sheet) = ready(3);
    world.0.borrow_mut().breaks = true;
    all.after_failure = AfterFailure::Continue;
    assert_eq!(begin(&world, all, &sheet).unwrap().ending, Ending::Done);
    let events = world.0.borrow().events.join("\n");
    assert!(events.contains("Warning: r1#monitor_10000 failed on n1"), "{events}");
    world.0.borrow().is_done();
}

#[test]
fn the_own_node_is_left_to_another_program() {
    let (world, sheet) = ready(3);
    world.0.borrow_mut().own = Some("n3".to_owned());
    let all = terms(&world.0.borrow());
    let end = begin(&world, all, &sheet).unwrap();
    assert_eq!((end.ending.clone(), names(&end)), (Ending::Failed, vec!["n3"]));
    assert!(end.left[0].why.contains("resume the run on another node"), "{end:?}");
    world.0.borrow_mut().own = Some("n1".to_owned());
    assert_eq!(resume(&world, &sheet).unwrap().ending, Ending::Done);
    world.0.borrow().is_done();
}

#[test]
fn a_request_to_stop_leaves_no_node_in_standby_before_its_command() {
    let (world, sheet) = ready(3);
    world.0.borrow_mut().stops = true;
    let all = terms(&world.0.borrow());
    let end = begin(&world, all, &sheet).unwrap();
    assert_eq!(end.ending, Ending::Interrupted);
    assert!(world.0.borrow().left_in_standby().is_empty());
    world.0.borrow_mut().stops = false;
    assert_eq!(resume(&world, &sheet).unwrap().ending, Ending::Done);
    world.0.borrow().is_done();
}

#[test]
fn a_node_that_is_not_rebooted_is_named() {
    let (world, sheet) = ready(3);
    let mut all = terms(&world.0.borrow());
    all.commands.node = Some("true".to_owned());
    let end = begin(&world, all.clone(), &sheet).unwrap();
    assert_eq!(end.left[1].why, "it was not rebooted: it has not left the cluster in 60 s");
    let (world, sheet) = ready(3);
    all.reboots = false;
    assert_eq!(begin(&world, all, &sheet).unwrap().ending, Ending::Done);
    assert!(world.0.borrow().left_in_standby().is_empty());
}

#[test]
fn a_person_reboots_the_nodes() {
    let (world, sheet) = ready(3);
    let mut all = terms(&world.0.borrow());
    (all.work, all.commands.node) = (CibNodeWork::Person, None);
    // The program dies while the person is at the first node.
    world.0.borrow_mut().faults.insert(12, world::WorldFault::KilledBefore);
    assert_eq!(begin(&world, all, &sheet), None);
    assert_eq!(world.0.borrow().left_in_standby(), ["n2"]);
    assert_eq!(resume(&world, &sheet).unwrap().ending, Ending::Done);
    let world = world.0.borrow();
    let waits =
        |node: &str| world.events.iter().filter(|text| text.starts_with(&format!("{node} is ready"))).count();
    assert_eq!(["n1", "n2", "n3"].map(waits), [1, 2, 1], "{:?}", world.events);
    assert!(world.left_in_standby().is_empty());
}

#[test]
fn records_that_cannot_follow() {
    let world = World::new(3, &[]);
    let mut read = CibMaintenanceRead::begin(header(terms(&world))).unwrap();
    let node = || "n1".to_owned();
    for wrong in [
        CibMaintenanceRecord::Beginning { node: node() },
        CibMaintenanceRecord::Maintained { node: node() },
        CibMaintenanceRecord::Returned { nodes: vec![node()] },
        CibMaintenanceRecord::Emptied {},
        CibMaintenanceRecord::Skipped { node: "n9".to_owned(), why: String::new() },
    ] {
        assert!(read.apply(&wrong).is_err(), "{wrong:?}");
    }
    let other = CibMaintenanceHeader { journal: "x".to_owned(), ..read.header };
    assert!(CibMaintenanceRead::begin(other).is_err());
}
