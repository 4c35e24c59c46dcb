//! Runs on a simulated cluster, with faults at any point.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;

use super::fake::{CallFault, FakeCluster, FakeHost, Fate, Killed, Paper};
use super::journal::{self, Header, Journal};
use super::state::JobPart;
use super::*;
use crate::execute::job::{JobId, JobMark, RunInfo};
use htools_model::{Concession, Move, Placement};
use htools_plan::graph::{Edge, EdgeReason, StepIdx, Strength};
use htools_plan::jobset::Jobset;
use htools_plan::opcode::Opcode;
use htools_plan::work::{Relocation, Task, Work, WorkStep};

fn step(number: usize, opcodes: usize) -> WorkStep {
    let instance = format!("i{number}");
    let opcode = |_| Opcode::migrate(&instance, None);
    let place = |primary: &str| Placement { primary: primary.to_owned(), secondary: None };
    WorkStep {
        freight: None,
        opcodes: (0..opcodes).map(opcode).collect(),
        task: Task::Move(Relocation {
            mv: Move::Failover,
            from: place("a"),
            to: place("b"),
            concession: Concession::None,
        }),
        subject: instance,
    }
}

/// A plan of jobsets of these sizes, whose steps have one to three opcodes.
fn header(sets: &[usize], joins: bool) -> Header {
    let mut work = Work::default();
    let mut before: Jobset = Vec::new();
    for size in sets {
        let set: Jobset = (work.steps.len()..work.steps.len() + size).map(StepIdx::new).collect();
        for number in &set {
            work.steps.push(step(number.get(), number.get() % 3 + 1));
            let edge = |before: &StepIdx| {
                let why = EdgeReason::Order;
                Edge { before: *before, after: *number, strength: Strength::Must, why }
            };
            work.edges.extend(before.iter().map(edge));
        }
        before.clone_from(&set);
        work.jobsets.push(set);
    }
    Header {
        journal: journal::SCHEMA.to_owned(),
        cluster: ClusterId { name: "fake".into(), uuid: "f".into() },
        run: RunInfo { tool: "hbal".into(), began: 17, comment: "c".into(), reason: "r".into(), priority: 0 },
        after: JobId(100),
        joins_opcodes: joins,
        group: "g".into(),
        ignore_soft_errors: false,
        keep_reserve: None,
        stream: None,
        maintenance: None,
        work,
    }
}

/// A cluster for a plan; it records violations of the plan's order.
fn cluster(header: &Header, clock: &Rc<Cell<u64>>) -> FakeCluster {
    let mut cluster = FakeCluster::new(header.joins_opcodes, clock);
    cluster.parts = header.parts().collect();
    // Every step of the previous set, and thereby all earlier ones.
    cluster.needs = vec![Vec::new(); header.work.steps.len()];
    for edge in &header.work.edges {
        cluster.needs[edge.after.get()].push(edge.before.get());
    }
    cluster
}

fn state(header: &Header) -> state::State {
    state::State::new(header.parts())
}

/// Checks that a journal is true: jobs that it calls absent or does not know are not in the queue, and all others have
/// the recorded numbers.
fn check_journal(paper: &Paper, cluster: &FakeCluster) {
    let read = journal::parse::<journal::Read>(&paper.bytes.borrow()).map_err(|e| format!("{e:?}")).unwrap();
    for job in &cluster.jobs {
        match read.state.part(job.mark).unwrap() {
            JobPart::Submitting => {}
            part => assert_eq!(part.job(), Some(job.id), "{part:?}"),
        }
    }
    for (mark, part) in read.state.parts() {
        if part.is_done() {
            let job = cluster.jobs.iter().find(|job| job.mark == mark).unwrap();
            assert_eq!(job.status, job::JobStatus::Success);
        }
    }
    assert_eq!(cluster.broken, Vec::<String>::new());
}

/// Executes a whole plan; returns the report and the journal.
fn run(header: &Header, cluster: &mut FakeCluster, host: &mut FakeHost) -> (Report, Paper) {
    let paper = Paper::default();
    let journal = Journal::begin(Box::new(paper.clone()), header).unwrap();
    let report = Runner::new(cluster, host, header, journal, state(header)).walk();
    (report, paper)
}

/// Executes a plan without faults, with these fates of jobs.
fn run_with(sets: &[usize], joins: bool, fates: Vec<(JobMark, Fate)>) -> (Report, FakeCluster) {
    let header = header(sets, joins);
    let mut host = FakeHost::default();
    let mut cluster = cluster(&header, &host.clock);
    cluster.fates = fates;
    let (report, paper) = run(&header, &mut cluster, &mut host);
    check_journal(&paper, &cluster);
    (report, cluster)
}

#[test]
fn everything_goes_well() {
    for joins in [true, false] {
        let (report, cluster) = run_with(&[2, 1, 3], joins, Vec::new());
        assert_eq!(report.ending, Ending::Done);
        assert_eq!(report.count(&[StepState::Done]), 6);
        assert_eq!(cluster.jobs.len(), if joins { 6 } else { 1 + 2 + 3 + 1 + 2 + 3 });
    }
}

#[test]
fn chains_wait_for_each_other_in_the_queue() {
    let (_, cluster) = run_with(&[3], false, Vec::new());
    let depends: Vec<Option<JobId>> = cluster.jobs.iter().map(|job| job.depends).collect();
    let job = |id| Some(JobId(id));
    // The first step has one job, the next two, the last three.
    assert_eq!(depends, [None, None, job(102), None, job(104), job(105)]);
}

/// The cleanup commands after a step, as the report has them.
fn way_out(report: &Report, step: usize) -> Vec<String> {
    report.steps[step].cleanup.iter().map(ToString::to_string).collect()
}

#[test]
fn migrations_that_may_be_half_done_are_told_with_the_way_out() {
    let mark = |part| JobMark { step: StepIdx::new(2), part };
    let command = "gnt-instance migrate --cleanup -f i2";
    for joins in [true, false] {
        // The step is one job with three migrations, or three jobs.
        for (fate, told) in [
            (Fate::Error, true),
            // It was last seen running.
            (Fate::Gone, true),
            (Fate::Canceled, false),
            (Fate::Success, false),
        ] {
            let (report, _) = run_with(&[3], joins, vec![(mark(0), fate)]);
            assert_eq!(way_out(&report, 2), if told { vec![command] } else { Vec::new() }, "{fate:?}");
            assert_eq!(report.cleanup().len(), usize::from(told));
        }
    }
}

#[test]
fn the_journal_keeps_what_may_be_half_done() {
    let header = header(&[2], true);
    let mut host = FakeHost::default();
    let mut cluster = cluster(&header, &host.clock);
    let mark = |step| JobMark { step: StepIdx::new(step), part: 0 };
    cluster.fates = vec![(mark(0), Fate::Error), (mark(1), Fate::Gone)];
    let (report, paper) = run(&header, &mut cluster, &mut host);
    let (read, _) = paper.go_on::<journal::Read>();
    let again = Report::of(Ending::Failed, &read.header.work, &read.state);
    assert_eq!(again, report);
    assert_eq!(way_out(&again, 0), ["gnt-instance migrate --cleanup -f i0"]);
    assert_eq!(way_out(&again, 1), ["gnt-instance migrate --cleanup -f i1"]);
}

#[test]
fn jobs_that_left_the_queue_after_a_program_was_killed_may_be_half_done() {
    let header = header(&[1], true);
    let paper = Paper::default();
    let journal = Journal::begin(Box::new(paper.clone()), &header).unwrap();
    let mut host = FakeHost::default();
    let mut cluster = cluster(&header, &host.clock);
    cluster.fates = vec![(JobMark { step: StepIdx::new(0), part: 0 }, Fate::Gone)];
    cluster.faults = vec![CallFault::None, CallFault::KilledBefore].into();
    let killed = catch_unwind(AssertUnwindSafe(|| {
        Runner::new(&mut cluster, &mut host, &header, journal, state(&header)).walk()
    }));
    assert!(killed.unwrap_err().is::<Killed>());
    // Its progress was not seen.
    (0..9).for_each(|_| drop(cluster.next_change(&[], std::time::Duration::ZERO)));
    let (read, journal): (journal::Read, _) = paper.go_on();
    let mut runner = Runner::new(&mut cluster, &mut host, &header, journal, read.state);
    let report = runner.settle().expect("it is over");
    assert_eq!(way_out(&report, 0), ["gnt-instance migrate --cleanup -f i0"]);
}

#[test]
fn a_failure_stops_what_comes_after_and_nothing_else() {
    for fate in [Fate::Error, Fate::Canceled, Fate::Gone] {
        let (report, cluster) =
            run_with(&[2, 1], true, vec![(JobMark { step: StepIdx::new(0), part: 0 }, fate)]);
        assert_eq!(report.ending, Ending::Failed);
        let states: Vec<StepState> = report.steps.iter().map(|step| step.state).collect();
        let expected = if fate == Fate::Gone { StepState::Unknown } else { StepState::Failed };
        assert_eq!(states, [expected, StepState::Done, StepState::NotStarted]);
        assert_eq!(cluster.jobs.len(), 2);
        assert!(report.steps[0].message.as_ref().unwrap().contains("job 101"), "{report:?}");
    }
}

#[test]
fn a_drained_queue_is_a_failure_with_its_reason() {
    let header = header(&[1, 1], true);
    let mut host = FakeHost::default();
    let mut cluster = cluster(&header, &host.clock);
    cluster.faults = vec![CallFault::Drained].into();
    let (report, _) = run(&header, &mut cluster, &mut host);
    assert_eq!(report.ending, Ending::Failed);
    assert_eq!(report.steps[0].message.as_deref(), Some("not submitted: the queue is drained"));
    assert_eq!(cluster.jobs.len(), 0);
}

#[test]
fn a_wish_to_stop_lets_jobs_end_and_begins_none() {
    let header = header(&[2, 2], true);
    let mut host = FakeHost { stop_after: Some(1), ..FakeHost::default() };
    let mut cluster = cluster(&header, &host.clock);
    let (report, _) = run(&header, &mut cluster, &mut host);
    assert_eq!(report.ending, Ending::Interrupted);
    let states: Vec<StepState> = report.steps.iter().map(|step| step.state).collect();
    use StepState::{Done, NotStarted};
    assert_eq!(states, [Done, Done, NotStarted, NotStarted]);
}

#[test]
fn the_last_jobset_is_not_interrupted() {
    let header = header(&[2], true);
    let mut host = FakeHost { stop_after: Some(1), ..FakeHost::default() };
    let mut cluster = cluster(&header, &host.clock);
    assert_eq!(run(&header, &mut cluster, &mut host).0.ending, Ending::Done);
}

/// If the disk is full after any number of bytes, the journal stays true, and the run completes once there is room. The
/// same holds if half a line stays, as after a crash.
#[test]
fn a_full_disk_at_any_byte() {
    let header = header(&[1, 1], true);
    let all =
        run(&header, &mut cluster(&header, &Rc::default()), &mut FakeHost::default()).1.bytes.borrow().len();
    for (room, can_be_cut) in (0..all).flat_map(|room| [(room, true), (room, false)]) {
        let mut host = FakeHost::default();
        let mut cluster = cluster(&header, &host.clock);
        let paper = Paper { room, can_be_cut, ..Paper::default() };
        let Ok(journal) = Journal::begin(Box::new(paper.clone()), &header) else {
            assert!(!can_be_cut || paper.bytes.borrow().is_empty());
            continue;
        };
        let report = Runner::new(&mut cluster, &mut host, &header, journal, state(&header)).walk();
        // Only the last line, which records the end, may be missing without an error.
        assert!(matches!(report.ending, Ending::Unrecorded(_) | Ending::Done), "{report:?}");
        assert!(!can_be_cut || paper.bytes.borrow().ends_with(b"\n"));
        check_journal(&paper, &cluster);
        let (read, journal): (journal::Read, _) = paper.go_on();
        assert!(!(can_be_cut && journal.is_cut_off()));
        let mut runner = Runner::new(&mut cluster, &mut host, &header, journal, read.state);
        let report = runner.settle().unwrap_or_else(|| runner.walk());
        assert_eq!((report.ending, cluster.jobs.len()), (Ending::Done, 2));
        check_journal(&paper, &cluster);
        assert!(!paper.go_on::<journal::Read>().1.is_cut_off());
    }
}

#[test]
fn what_ganeti_has_no_job_for_is_done_in_its_turn() {
    for (task, done) in [(Task::PowerOff, true), (Task::ConfirmEmpty, false)] {
        let mut header = header(&[1, 1, 1], true);
        header.work.steps[1] = WorkStep { task, opcodes: Vec::new(), ..step(1, 0) };
        let mut host = FakeHost::default();
        let mut cluster = cluster(&header, &host.clock);
        cluster.needs.clear();
        let (report, _) = run(&header, &mut cluster, &mut host);
        assert_eq!(host.performed.len(), 1);
        assert_eq!(report.ending, if done { Ending::Done } else { Ending::Failed });
        assert_eq!(cluster.jobs.len(), if done { 2 } else { 1 });
    }
}

#[test]
fn a_job_that_nobody_recorded_is_a_contradiction() {
    let header = header(&[1, 1], true);
    let mut host = FakeHost::default();
    let mut cluster = cluster(&header, &host.clock);
    let (_, paper) = run(&header, &mut cluster, &mut host);
    // As if the journal had been cut off after its first line.
    let bytes = paper.bytes.borrow().clone();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let read = journal::parse::<journal::Read>(&bytes[..end]).map_err(|e| e.1).unwrap();
    let journal = Journal::begin(Box::new(Paper::default()), &header).unwrap();
    let report =
        Runner::new(&mut cluster, &mut host, &header, journal, read.state).settle().expect("it is over");
    assert!(matches!(report.ending, Ending::Contradiction(_)), "{report:?}");
    assert_eq!(cluster.jobs.len(), 2);
}

fn any_fault() -> impl Strategy<Value = CallFault> {
    use CallFault::*;
    prop_oneof![
        8 => Just(CallFault::None),
        1 => Just(NotSent),
        1 => Just(LostAfter),
        1 => Just(LostBefore),
        1 => (0u64..400).prop_map(Late),
        1 => Just(Nonsense),
    ]
}

fn any_fate() -> impl Strategy<Value = (JobMark, Fate)> {
    let fate = prop_oneof![Just(Fate::Error), Just(Fate::Canceled), Just(Fate::Gone)];
    (0usize..8, 0usize..3, fate)
        .prop_map(|(step, part, fate)| (JobMark { step: StepIdx::new(step), part }, fate))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever fails, no job is submitted twice or too early, and the journal is true.
    #[test]
    fn faults_do_no_harm(
        sets in prop::collection::vec(1usize..4, 1..5),
        joins: bool,
        faults in prop::collection::vec(any_fault(), 0..40),
        fates in prop::collection::vec(any_fate(), 0..2),
        stop_after in prop::option::of(0usize..30),
    ) {
        let header = header(&sets, joins);
        let mut host = FakeHost { stop_after, ..FakeHost::default() };
        let mut cluster = cluster(&header, &host.clock);
        (cluster.faults, cluster.fates) = (faults.into(), fates.clone());
        let (report, paper) = run(&header, &mut cluster, &mut host);
        check_journal(&paper, &cluster);
        match report.ending {
            Ending::Done => prop_assert!(report.steps.iter().all(|step| step.state == StepState::Done)),
            Ending::Failed => prop_assert!(!fates.is_empty()),
            Ending::Interrupted => prop_assert!(stop_after.is_some()),
            Ending::Lost(_) => {}
            Ending::OutOfTime | Ending::Unrecorded(_) | Ending::Contradiction(_) => prop_assert!(false, "{report:?}"),
        }
    }

    /// A run that is killed at any points, any number of times, completes once it is resumed.
    #[test]
    fn resumed_runs_complete(
        sets in prop::collection::vec(1usize..4, 1..5),
        joins: bool,
        kills in prop::collection::vec((0usize..20, any::<bool>()), 1..5),
    ) {
        let header = header(&sets, joins);
        let paper = Paper::default();
        let mut host = FakeHost::default();
        let mut cluster = cluster(&header, &host.clock);
        Journal::begin(Box::new(paper.clone()), &header).unwrap();
        for kill in kills.into_iter().map(Some).chain([None]) {
            if let Some((calls, after)) = kill {
                cluster.faults = vec![CallFault::None; calls].into();
                cluster.faults.push_back(if after { CallFault::KilledAfter } else { CallFault::KilledBefore });
            } else {
                cluster.faults.clear();
            }
            let (read, journal): (journal::Read, _) = paper.go_on();
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let mut runner = Runner::new(&mut cluster, &mut host, &header, journal, read.state);
                runner.settle().unwrap_or_else(|| runner.walk())
            }));
            check_journal(&paper, &cluster);
            match ended {
                Ok(report) => prop_assert_eq!(report.ending, Ending::Done),
                Err(killed) => prop_assert!(killed.is::<Killed>(), "a panic"),
            }
        }
        let count: usize = header.parts().sum();
        prop_assert_eq!(cluster.jobs.len(), count);
    }
}
