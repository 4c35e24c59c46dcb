//! Maintenances of a simulated cluster, whose program dies at any call.

mod deaths;
mod failures;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use htools_ganeti::execute::history::{History, HistoryEvent, HistoryLine};
use htools_ganeti::execute::journal::{Journal, JournalForm};
use htools_ganeti::execute::maintenance::{AfterFailure, MaintenanceLimits, OperatorCommands};
use htools_testkit::Paper;
use world::{World, WorldView};

/// Terms for all nodes of a world.
fn terms(world: &World) -> CibMaintenanceTerms {
    let node =
        |name: &String| MaintainedNode { name: name.clone(), standby: world.standby_before.contains(name) };
    CibMaintenanceTerms {
        nodes: world.names.iter().map(node).collect(),
        commands: OperatorCommands { node: Some("reboot".to_owned()), ..OperatorCommands::default() },
        work: CibNodeWork::Command,
        reboots: true,
        max_down: None,
        canary: 0,
        soak: 0,
        after_failure: AfterFailure::Stop,
        limits: MaintenanceLimits { command: 100, boot: 60, check: 20 },
        rest: 60,
        skip_unsupported: false,
    }
}

fn header(terms: CibMaintenanceTerms) -> CibMaintenanceHeader {
    let journal = MAINTENANCE_SCHEMA.to_owned();
    CibMaintenanceHeader { journal, cluster: "test".to_owned(), began: 17, terms }
}

/// Begins a run.
fn begin(world: &WorldView, terms: CibMaintenanceTerms, sheet: &Paper) -> Option<CibMaintenanceEnd> {
    let header = header(terms);
    let journal = Journal::begin(Box::new(sheet.clone()), &header).unwrap();
    let read = CibMaintenanceRead::begin(header).unwrap();
    carry_out(world, journal, read)
}

/// Takes a run up again.
fn resume(world: &WorldView, sheet: &Paper) -> Option<CibMaintenanceEnd> {
    let (read, journal) = sheet.go_on();
    carry_out(world, journal, read)
}

/// The history has the moves of all batches, and the outcome of each.
fn check_history(world: &WorldView, read: &CibMaintenanceRead, end: &CibMaintenanceEnd) {
    let mut world = world.0.borrow_mut();
    let ended = read.ended(end);
    world.note(HistoryEvent::Ended(ended.clone()));
    let runs = world.history.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].begun, read.begun("J", "test"));
    assert_eq!(runs[0].begun.moves.len(), ended.outcomes.len());
    if end.ending == Ending::Done {
        assert!(ended.outcomes.iter().all(|outcome| outcome == "done"), "{ended:?}");
    }
}

/// The end of a run; `None` if the program was killed.
fn carry_out(world: &WorldView, journal: Journal, read: CibMaintenanceRead) -> Option<CibMaintenanceEnd> {
    let (mut client, mut host) = (world.clone(), world.clone());
    world.0.borrow_mut().note(HistoryEvent::Begun(read.begun("J", "test")));
    let run = AssertUnwindSafe(|| CibMaintenanceRun::new(&mut client, &mut host, journal, read).carry_out());
    match catch_unwind(run) {
        Ok((end, read)) => {
            check_history(world, &read, &end);
            Some(end)
        }
        Err(cause) if cause.is::<world::Killed>() => None,
        Err(cause) => std::panic::resume_unwind(cause),
    }
}
