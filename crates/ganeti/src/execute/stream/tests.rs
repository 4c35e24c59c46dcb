//! Streams on a simulated cluster: random plans and durations, failures at any step, kills at any point.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::execute::client::ClusterId;
use crate::execute::course::RunTerms;
use crate::execute::fake::{CallFault, FakeCluster, FakeHost, Fate, Killed, Paper};
use crate::execute::job::{JobId, RunInfo};
use crate::execute::journal::{self, Header, Journal, StreamPace};
use crate::execute::report::{Ending, Report, StepState};
use crate::execute::state::State;
use htools_model::{Concession, Move, Placement};
use htools_plan::graph::{Edge, EdgeReason, Strength};
use htools_plan::opcode::Opcode;
use htools_plan::stream::{LimitKey, StreamLimits};
use htools_plan::work::{MovedData, Relocation, Task, Work, WorkStep};

/// A random plan, and the fates of its jobs.
#[derive(Debug, Clone)]
struct Case {
    /// For each step: the nodes that it moves between, the number of its opcodes, and the number of looks for which
    /// each runs.
    steps: Vec<(u8, u8, usize, u64)>,
    edges: Vec<(usize, usize, Strength)>,
    limits: StreamLimits,
    joins: bool,
    fates: Vec<(usize, usize, Fate)>,
}

fn strength() -> impl Strategy<Value = Strength> {
    prop_oneof![3 => Just(Strength::Must), 2 => Just(Strength::Space), 2 => Just(Strength::Should)]
}

fn limits() -> impl Strategy<Value = StreamLimits> {
    let some = || prop::option::of(1usize..4);
    (some(), some(), some(), some(), some()).prop_map(
        |(parallel, out_per_node, in_per_node, syncs, per_group)| StreamLimits {
            parallel,
            out_per_node,
            in_per_node,
            syncs,
            per_group,
        },
    )
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![Just(Fate::Error), Just(Fate::Canceled), Just(Fate::Gone), Just(Fate::Passing)]
}

fn any_case(failures: usize) -> impl Strategy<Value = Case> {
    let steps = prop::collection::vec((0u8..5, 0u8..5, 1usize..4, 0u64..6), 1..12);
    let edges = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), strength()),
        0..16,
    );
    let fates = prop::collection::vec((any::<prop::sample::Index>(), 0usize..3, fate()), 0..=failures);
    (steps, edges, limits(), any::<bool>(), fates).prop_map(|(steps, edges, limits, joins, fates)| {
        let count = steps.len();
        let edge = |(a, b, strength): &(prop::sample::Index, prop::sample::Index, Strength)| {
            let (a, b) = (a.index(count), b.index(count));
            (a != b).then_some((a.min(b), a.max(b), *strength))
        };
        let mut edges: Vec<_> = edges.iter().filter_map(edge).collect();
        edges.sort_by_key(|(before, after, _)| (*after, *before));
        edges.dedup_by_key(|(before, after, _)| (*after, *before));
        let fates = fates.into_iter().map(|(step, part, fate)| (step.index(count), part, fate)).collect();
        Case { steps, edges, limits, joins, fates }
    })
}

fn header(case: &Case, on_failure: OnFailure) -> Header {
    let step = |(number, (from, to, opcodes, _)): (usize, &(u8, u8, usize, u64))| {
        let instance = format!("i{number}");
        let place = |primary: u8, secondary: u8| Placement {
            primary: format!("n{primary}"),
            secondary: Some(format!("n{}", 10 + secondary)),
        };
        let opcode = |_| Opcode::Migrate {
            instance_name: instance.clone(),
            target_node: None,
            allow_runtime_changes: false,
            ignore_ipolicy: false,
            cleanup: false,
            allow_failover: true,
            ignore_hvversions: true,
        };
        let mv = if number % 2 == 0 {
            Move::FailoverTo(format!("n{to}"))
        } else {
            Move::ReplaceSecondary(format!("n{}", 10 + to))
        };
        let end = if number % 2 == 0 { place(*to, *from) } else { place(*from, *to) };
        WorkStep {
            task: Task::Move(Relocation {
                mv,
                from: place(*from, *from),
                to: end,
                concession: Concession::None,
            }),
            freight: Some(MovedData {
                memory: Some(1),
                disk: 1,
                stops: false,
                groups: vec![format!("g{}", from % 2)],
            }),
            opcodes: (0..*opcodes).map(opcode).collect(),
            subject: instance,
        }
    };
    let edge = |(before, after, strength): &(usize, usize, Strength)| Edge {
        before: StepIdx::new(*before),
        after: StepIdx::new(*after),
        strength: *strength,
        why: EdgeReason::Order,
    };
    let work = Work {
        steps: case.steps.iter().enumerate().map(step).collect(),
        jobsets: (0..case.steps.len()).map(|at| vec![StepIdx::new(at)]).collect(),
        edges: case.edges.iter().map(edge).collect(),
    };
    assert_eq!(work.fault(), None);
    Header {
        journal: journal::SCHEMA.to_owned(),
        cluster: ClusterId { name: "fake".into(), uuid: "f".into() },
        run: RunInfo { tool: "hbal".into(), began: 17, comment: "c".into(), reason: "r".into(), priority: 0 },
        after: JobId(100),
        joins_opcodes: case.joins,
        group: "g".into(),
        ignore_soft_errors: false,
        keep_reserve: None,
        stream: Some(StreamPace { limits: case.limits, on_failure }),
        maintenance: None,
        work,
    }
}

fn cluster(case: &Case, header: &Header, clock: &Rc<Cell<u64>>) -> FakeCluster {
    let mut cluster = FakeCluster::new(case.joins, clock);
    cluster.parts = header.parts().collect();
    cluster.needs = vec![Vec::new(); case.steps.len()];
    cluster.follows = cluster.needs.clone();
    for (before, after, strength) in &case.edges {
        match strength {
            Strength::Should => cluster.follows[*after].push(*before),
            _ => cluster.needs[*after].push(*before),
        }
    }
    cluster.limits = case.limits;
    cluster.counted = header.work.steps.iter().map(LimitKey::of).collect();
    cluster.lasts = case.steps.iter().map(|(.., looks)| *looks).collect();
    let fate = |(step, part, fate): &(usize, usize, Fate)| {
        (JobMark { step: StepIdx::new(*step), part: *part }, *fate)
    };
    cluster.fates = case.fates.iter().map(fate).collect();
    cluster
}

fn run(header: &Header, cluster: &mut FakeCluster, host: &mut FakeHost, terms: RunTerms) -> Report {
    let journal = Journal::begin(Box::new(Paper::default()), header).unwrap();
    Runner::new(cluster, host, header, journal, State::new(header.parts())).with(terms).walk()
}

/// The steps that must follow one of the given steps that were not done.
fn followers(case: &Case, not_done: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut dropped = BTreeSet::new();
    // Edges are sorted by the step that waits.
    for (before, after, strength) in &case.edges {
        let lacks = not_done.contains(before) || dropped.contains(before);
        if lacks && *strength != Strength::Should {
            dropped.insert(*after);
        }
    }
    dropped
}

fn of_state(report: &Report, states: &[StepState]) -> BTreeSet<usize> {
    let steps = report.steps.iter().enumerate();
    steps.filter(|(_, step)| states.contains(&step.state)).map(|(at, _)| at).collect()
}

/// Faults that kill the program at a call: after `calls` good ones, before or after the request is carried out.
fn killed_at(calls: usize, after: bool) -> VecDeque<CallFault> {
    let last = if after { CallFault::KilledAfter } else { CallFault::KilledBefore };
    iter::repeat_n(CallFault::None, calls).chain([last]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Steps that need not follow a failed one are done, and those that must are dropped. Nothing is done twice, too
    /// early, or beyond the limits.
    #[test]
    fn failures_drop_what_must_follow(case in any_case(3)) {
        let header = header(&case, OnFailure::Continue);
        let mut host = FakeHost::default();
        let mut cluster = cluster(&case, &header, &host.clock);
        let report = run(&header, &mut cluster, &mut host, RunTerms::default());
        prop_assert_eq!(&cluster.broken, &Vec::<String>::new());
        use StepState::*;
        let failed = of_state(&report, &[Failed, Unknown, Begun]);
        let dropped = of_state(&report, &[Dropped]);
        let expected: BTreeSet<usize> = followers(&case, &failed).difference(&failed).copied().collect();
        prop_assert_eq!(&dropped, &expected);
        let done = of_state(&report, &[Done]);
        prop_assert_eq!(done.len() + failed.len() + dropped.len(), case.steps.len(), "{:?}", report);
        prop_assert_eq!(report.ending, if failed.is_empty() { Ending::Done } else { Ending::Failed });
    }

    /// After a failure no other step begins.
    #[test]
    fn failures_stop(case in any_case(2)) {
        let header = header(&case, OnFailure::Stop);
        let mut host = FakeHost::default();
        let mut cluster = cluster(&case, &header, &host.clock);
        let report = run(&header, &mut cluster, &mut host, RunTerms::default());
        prop_assert_eq!(&cluster.broken, &Vec::<String>::new());
        let failed = of_state(&report, &[StepState::Failed, StepState::Unknown]);
        prop_assert_eq!(report.ending == Ending::Failed, !failed.is_empty());
        prop_assert!(report.count(&[StepState::Running]) == 0);
    }

    /// A run that is killed at any points, any number of times, and paused in between, does every step once in the end.
    #[test]
    fn streams_are_resumed(
        case in any_case(0),
        kills in prop::collection::vec((0usize..30, any::<bool>()), 0..5),
        paused in prop::option::of((0u64..20, 0u64..40)),
    ) {
        let header = header(&case, OnFailure::Stop);
        let paper = Paper::default();
        let mut host = FakeHost { paused, ..FakeHost::default() };
        let mut cluster = cluster(&case, &header, &host.clock);
        Journal::begin(Box::new(paper.clone()), &header).unwrap();
        for kill in kills.into_iter().map(Some).chain([None]) {
            cluster.faults = kill.map(|(calls, after)| killed_at(calls, after)).unwrap_or_default();
            let (journal::Read { state, .. }, journal) = paper.go_on();
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let mut runner = Runner::new(&mut cluster, &mut host, &header, journal, state);
                runner.settle().unwrap_or_else(|| runner.walk())
            }));
            prop_assert_eq!(&cluster.broken, &Vec::<String>::new());
            match ended {
                Ok(report) => prop_assert_eq!(report.ending, Ending::Done),
                Err(killed) => prop_assert!(killed.is::<Killed>(), "a panic"),
            }
        }
        prop_assert_eq!(cluster.jobs.len(), header.parts().sum::<usize>());
    }

    /// Steps that would end too late do not begin, and are left for a run that resumes.
    #[test]
    fn windows_close(case in any_case(0), minutes in 0u64..40) {
        let header = header(&case, OnFailure::Stop);
        let mut host = FakeHost::default();
        let mut cluster = cluster(&case, &header, &host.clock);
        let deadline = SystemTime::UNIX_EPOCH + Duration::from_secs(minutes);
        let seconds = vec![8.0; case.steps.len()];
        let terms = RunTerms { seconds, deadline: Some(deadline), ..RunTerms::default() };
        let report = run(&header, &mut cluster, &mut host, terms);
        prop_assert_eq!(&cluster.broken, &Vec::<String>::new());
        let done = report.count(&[StepState::Done]);
        prop_assert_eq!(done + report.count(&[StepState::NotStarted]), case.steps.len());
        prop_assert_eq!(report.ending, if done == case.steps.len() { Ending::Done } else { Ending::OutOfTime });
        prop_assert!(minutes >= 8 || done == 0);
    }
}

#[test]
fn what_passes_is_tried_again_and_nothing_else() {
    let case = Case {
        steps: vec![(0, 1, 1, 0), (1, 2, 1, 0)],
        edges: vec![(0, 1, Strength::Must)],
        limits: StreamLimits::default(),
        joins: true,
        fates: vec![(0, 0, Fate::Passing)],
    };
    let header = header(&case, OnFailure::Stop);
    let mut host = FakeHost::default();
    let mut cluster = cluster(&case, &header, &host.clock);
    let report = run(&header, &mut cluster, &mut host, RunTerms::default());
    assert_eq!((report.ending, cluster.jobs.len()), (Ending::Done, 3));
    let again = |event: &&Event| matches!(event, Event::Again { .. });
    assert_eq!(host.events.iter().filter(again).count(), 1);
}

#[test]
fn a_node_that_boots_holds_nobody_up() {
    let case = Case {
        steps: vec![(0, 1, 1, 0), (1, 2, 1, 0), (2, 3, 1, 0)],
        edges: vec![(0, 2, Strength::Must)],
        limits: StreamLimits::default(),
        joins: true,
        fates: Vec::new(),
    };
    let mut header = header(&case, OnFailure::Stop);
    let node = WorkStep { task: Task::Await, opcodes: Vec::new(), subject: "n1".into(), freight: None };
    header.work.steps[0] = node;
    for (answers_from, ending, jobs) in [(95, Ending::Done, 2), (10_000, Ending::Failed, 1)] {
        let mut host = FakeHost::default();
        let mut cluster = cluster(&case, &header, &host.clock);
        (cluster.needs, cluster.answers_from) = (Vec::new(), answers_from);
        let report = run(&header, &mut cluster, &mut host, RunTerms::default());
        assert_eq!((report.ending, cluster.jobs.len()), (ending, jobs), "{:?}", report.steps);
        let ended = |step: usize| {
            host.events.iter().position(|e| matches!(e, Event::StepEnded { step: s, .. } if *s == step))
        };
        assert!(ended(2) < ended(1), "{:?}", host.events);
    }
}

/// One instance is stopped so that another can take its place: stop, move, move, start, and one unrelated step.
fn interrupted(joins: bool, fates: Vec<(usize, usize, Fate)>, stream: Option<OnFailure>) -> (Case, Header) {
    use Strength::{Must, Should, Space};
    let edges = vec![(0, 1, Space), (0, 2, Must), (1, 2, Space), (0, 3, Must), (2, 3, Should)];
    let case = Case {
        steps: vec![(0, 0, 1, 2), (1, 0, 2, 3), (0, 1, 1, 1), (1, 1, 1, 0), (2, 3, 1, 4)],
        edges,
        limits: StreamLimits::default(),
        joins,
        fates,
    };
    let mut header = header(&case, stream.unwrap_or(OnFailure::Stop));
    if stream.is_none() {
        header.stream = None;
    }
    for (at, task) in [(0, Task::Stop), (3, Task::Start)] {
        let step = &mut header.work.steps[at];
        (step.subject, step.task) = ("i2".to_owned(), task);
    }
    (case, header)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// However a run ends, and however often it was killed before, a stopped instance is started again.
    #[test]
    fn who_was_stopped_is_started(
        joins in any::<bool>(),
        fates in prop::collection::vec((0usize..5, 0usize..2, fate()), 0..2),
        stream in prop::option::of(prop_oneof![Just(OnFailure::Stop), Just(OnFailure::Continue)]),
        kills in prop::collection::vec((0usize..20, any::<bool>()), 0..3),
        minutes in prop::option::of(0u64..60),
        stop_after in prop::option::of(0usize..16),
    ) {
        let (case, header) = interrupted(joins, fates, stream);
        let paper = Paper::default();
        let mut host = FakeHost { stop_after, ..FakeHost::default() };
        let mut cluster = cluster(&case, &header, &host.clock);
        // A shutdown that failed may nevertheless have stopped the instance.
        cluster.needs[3].clear();
        Journal::begin(Box::new(paper.clone()), &header).unwrap();
        for kill in kills.into_iter().map(Some).chain([None]) {
            cluster.faults = kill.map(|(calls, after)| killed_at(calls, after)).unwrap_or_default();
            let (journal::Read { state, .. }, journal) = paper.go_on();
            let deadline = minutes.map(|minutes| SystemTime::UNIX_EPOCH + Duration::from_secs(minutes));
            let terms = RunTerms { seconds: vec![8.0; 5], deadline, ..RunTerms::default() };
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let mut runner = Runner::new(&mut cluster, &mut host, &header, journal, state).with(terms);
                runner.settle().unwrap_or_else(|| {
                    if runner.started_too_early().is_some() { runner.abandon() } else { runner.walk() }
                })
            }));
            prop_assert_eq!(&cluster.broken, &Vec::<String>::new());
            let submitted = |step: usize| cluster.jobs.iter().position(|job| job.mark.step.get() == step);
            match ended {
                Ok(report) => {
                    prop_assert_eq!(report.steps[0].began, submitted(3).is_some(), "{:?}", report);
                    // If another instance took its place, it continues to its own new place.
                    use StepState::{Done, Failed, Unknown};
                    let state = |step: usize| report.steps[step].state;
                    prop_assert!(state(1) != Done || matches!(state(2), Done | Failed | Unknown), "{:?}", report);
                    prop_assert!(submitted(2).is_none() || submitted(2) < submitted(3));
                    // No other instance takes its place once it is running again.
                    prop_assert!(submitted(3).is_none() || submitted(1).is_none_or(|at| Some(at) < submitted(3)));
                    prop_assert!(submitted(1).is_none() || submitted(0) < submitted(1));
                    prop_assert!(submitted(3).is_none() || submitted(0) < submitted(3));
                }
                Err(killed) => prop_assert!(killed.is::<Killed>(), "a panic"),
            }
        }
    }
}
