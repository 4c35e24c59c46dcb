//! Runs on a simulated cluster, killed at any call.

mod roles;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, SystemTime};

use super::*;
use crate::cib::change::{CibChange, LocationPin};
use crate::cib::parse;
use crate::pinning::{ExpectedPlace, Foresight, current};
use htools_ganeti::execute::Ending;
use htools_ganeti::execute::journal::{self, Journal, JournalForm};
use htools_testkit::Paper;

/// Fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CibFault {
    /// The program is killed before anything is done.
    KilledBefore,
    /// The program is killed after it was done.
    KilledAfter,
    /// Nothing is done, and the call fails.
    NoAnswer,
    /// It was done, but the answer is lost.
    LostAnswer,
}

/// Sign that the program was killed.
struct Killed;

/// A simulated Pacemaker cluster that does what it should, one round per wait.
struct FakeCib {
    configuration: String,
    active: BTreeMap<String, String>,
    calls: usize,
    fault: Option<(usize, CibFault)>,
    /// Number of waits in which it does not come to rest.
    slow: usize,
    /// A resource that it never starts.
    stops: Option<&'static str>,
    changes: Vec<CibChange>,
}

const SMALL: &str = include_str!("../../../../data/pacemaker-small.xml");

impl FakeCib {
    /// The small cluster, where two resources run, with a stickiness or without.
    fn new(stickiness: u32) -> FakeCib {
        let defaults = format!(
            r#"<rsc_defaults><meta_attributes id="d"><nvpair id="d-s" name="resource-stickiness" value="{stickiness}"/></meta_attributes></rsc_defaults>"#
        );
        let configuration = SMALL.replace("<constraints/>", &format!("<constraints/>{defaults}"));
        let on = |name: &str| (name.to_owned(), "node2".to_owned());
        FakeCib {
            configuration,
            active: BTreeMap::from([on("rsc-small"), on("rsc-medium")]),
            calls: 0,
            fault: None,
            slow: 1,
            stops: None,
            changes: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let (before, rest) = self.configuration.split_once("<status>").unwrap();
        let (_, after) = rest.split_once("</status>").unwrap();
        let state = |node: &str| {
            let element = |(id, at): (&String, &String)| {
                let op = format!(
                    r#"<lrm_rsc_op id="{id}_last_0" operation_key="{id}_start_0" operation="start" call-id="5" rc-code="0" transition-key="1:1:0:x" op-status="0" interval="0" op-digest="f2317cad3d54cec5d7d7aa7d0bf35cf8"/>"#
                );
                (at == node).then(|| {
                    format!(r#"<lrm_resource id="{id}" class="ocf" provider="pacemaker" type="Dummy">{op}</lrm_resource>"#)
                })
            };
            let resources: String = self.active.iter().filter_map(element).collect();
            format!(
                r#"<node_state id="{node}" uname="{node}" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="{node}"><lrm_resources>{resources}</lrm_resources></lrm></node_state>"#
            )
        };
        format!("{before}<status>{}{}</status>{after}", state("node1"), state("node2"))
    }

    /// Performs a call, with its fault if it has one.
    fn call<T>(&mut self, action: impl FnOnce(&mut FakeCib) -> T) -> Result<T, CibCallError> {
        let now = self.calls;
        self.calls += 1;
        let fault = self.fault.filter(|(at, _)| *at == now).map(|(_, fault)| fault);
        let lost = || Err(CibCallError::Nonsense("no answer".to_owned()));
        match fault {
            Some(CibFault::KilledBefore) => resume_unwind(Box::new(Killed)),
            Some(CibFault::NoAnswer) => return lost(),
            _ => {}
        }
        let done = action(self);
        match fault {
            Some(CibFault::KilledAfter) => resume_unwind(Box::new(Killed)),
            Some(CibFault::LostAnswer) => lost(),
            _ => Ok(done),
        }
    }
}

impl CibClient for FakeCib {
    fn document(&mut self) -> Result<String, CibCallError> {
        self.call(|cluster| cluster.text())
    }

    fn make(&mut self, change: &CibChange) -> Result<(), CibCallError> {
        self.call(|cluster| {
            cluster.changes.push(change.clone());
            cluster.configuration = change.made_in(&cluster.configuration, "t").unwrap();
        })
    }

    fn await_rest(&mut self, _: Duration) -> Result<bool, CibCallError> {
        self.call(|cluster| {
            if cluster.slow > 0 {
                cluster.slow -= 1;
                return false;
            }
            let end = Foresight::of(&cluster.text(), "t").unwrap().expected().unwrap();
            let stops = cluster.stops;
            let runs = end.into_iter().filter(|place| stops != Some(place.resource.as_str()));
            cluster.active = runs.filter_map(|place| Some((place.resource, place.node?))).collect();
            true
        })
    }
}

#[derive(Default)]
struct Onlooker {
    seconds: RefCell<u64>,
    stops: bool,
    events: Vec<CibEvent>,
}

impl CibHost for Onlooker {
    fn event(&mut self, event: &CibEvent) {
        self.events.push(event.clone());
    }
}

impl CibSurroundings for Onlooker {
    fn unanswered(&mut self, why: String) {
        self.event(&CibEvent::NoAnswer(why));
    }
    fn wants_to_stop(&self) -> bool {
        self.stops
    }
    fn pause(&mut self, _: Duration) {}
    fn now(&self) -> SystemTime {
        *self.seconds.borrow_mut() += 1;
        SystemTime::UNIX_EPOCH + Duration::from_secs(*self.seconds.borrow())
    }
}

fn pins() -> Vec<LocationPin> {
    let pin = |resource: &str, node: &str| LocationPin {
        id: format!("hplace-{resource}"),
        resource: resource.to_owned(),
        node: node.to_owned(),
        promoted: false,
    };
    vec![pin("rsc-large", "node2"), pin("rsc-medium", "node1")]
}

fn header(cluster: &FakeCib, releases: bool) -> CibHeader {
    let text = cluster.text();
    let place = |name: &str, node: &str| ExpectedPlace {
        resource: name.to_owned(),
        node: Some(node.to_owned()),
        promoted: false,
    };
    CibHeader {
        journal: SCHEMA.to_owned(),
        cluster: "node1,node2".to_owned(),
        began: 17,
        change: CibChange::Pin(pins()),
        was: current(&parse(&text, "t").unwrap()),
        expected: vec![
            place("rsc-small", "node2"),
            place("rsc-medium", "node1"),
            place("rsc-large", "node2"),
        ],
        then: releases.then(|| CibChange::Unpin(pins())),
        limit: 600,
    }
}

fn walk(
    cluster: &mut dyn CibClient,
    header: CibHeader,
    sheet: &Paper,
    host: &mut Onlooker,
) -> (Ending, CibRead) {
    let journal = Journal::begin(Box::new(sheet.clone()), &header).unwrap();
    CibRunner::new(cluster, host, journal, CibRead::begin(header).unwrap()).walk()
}

fn resume(cluster: &mut dyn CibClient, sheet: &Paper) -> (Ending, CibRead) {
    let (read, journal) = sheet.go_on();
    let mut host = Onlooker::default();
    let mut runner = CibRunner::new(cluster, &mut host, journal, read);
    runner.resumed().unwrap();
    runner.walk()
}

/// Checks that everything that a journal calls done was done.
fn check(sheet: &Paper, cluster: &FakeCib) {
    let read: CibRead = journal::parse(&sheet.bytes.borrow()).map_err(|e| e.1).unwrap();
    let mut made = None;
    for (task, state) in read.header.tasks().iter().zip(&read.tasks) {
        match (task, state) {
            (CibTask::Make(change), TaskState::Done) => made = Some(*change),
            // It may have been made.
            (CibTask::Make(_), TaskState::Begun) => return,
            _ => {}
        }
    }
    match made {
        Some(change) => assert!(change.is_made_in(&cluster.configuration, "t").unwrap()),
        None => assert!(cluster.changes.is_empty()),
    }
}

fn at_the_end(cluster: &FakeCib, releases: bool) {
    let runs = |name: &str, node: &str| cluster.active.get(name).is_some_and(|at| at == node);
    assert!(runs("rsc-small", "node2") && runs("rsc-medium", "node1") && runs("rsc-large", "node2"));
    let there = CibChange::Pin(pins()).is_made_in(&cluster.configuration, "t").unwrap();
    let gone = CibChange::Unpin(pins()).is_made_in(&cluster.configuration, "t").unwrap();
    assert_eq!((there, gone), (!releases, releases));
}

#[test]
fn a_run_survives_a_kill_at_every_call() {
    for releases in [false, true] {
        let mut calls = 0;
        for at in 0.. {
            for fault in
                [CibFault::KilledBefore, CibFault::KilledAfter, CibFault::NoAnswer, CibFault::LostAnswer]
            {
                let (mut cluster, sheet) = (FakeCib::new(1), Paper::default());
                let header = header(&cluster, releases);
                cluster.fault = Some((at, fault));
                let mut host = Onlooker::default();
                let run = catch_unwind(AssertUnwindSafe(|| walk(&mut cluster, header, &sheet, &mut host)));
                check(&sheet, &cluster);
                calls = cluster.calls;
                cluster.fault = None;
                let ending = match run {
                    Ok((ending, _)) if ending == Ending::Done => ending,
                    _ => resume(&mut cluster, &sheet).0,
                };
                assert_eq!(ending, Ending::Done, "{fault:?} at call {at}");
                check(&sheet, &cluster);
                at_the_end(&cluster, releases);
            }
            if at > calls {
                break;
            }
        }
        assert!(calls >= if releases { 8 } else { 5 }, "{calls}");
    }
}

#[test]
fn an_interrupt_ends_the_wait_and_the_run_goes_on_later() {
    let (mut cluster, sheet) = (FakeCib::new(1), Paper::default());
    let header = header(&cluster, false);
    let mut host = Onlooker { stops: true, ..Onlooker::default() };
    let (ending, read) = walk(&mut cluster, header, &sheet, &mut host);
    assert_eq!((ending, read.next(), cluster.calls), (Ending::Interrupted, Some(0), 0));
    assert_eq!(resume(&mut cluster, &sheet).0, Ending::Done);
    at_the_end(&cluster, false);
}

#[test]
fn a_cluster_that_has_changed_is_left_alone() {
    let (mut cluster, sheet) = (FakeCib::new(1), Paper::default());
    let planned = header(&cluster, false);
    cluster.active.insert("rsc-small".to_owned(), "node1".to_owned());
    let (ending, read) = walk(&mut cluster, planned.clone(), &sheet, &mut Onlooker::default());
    let why = "the cluster has changed since this was planned: rsc-small is on node1, not on node2";
    assert_eq!((ending, &read.tasks[0]), (Ending::Failed, &TaskState::Failed(why.to_owned())));
    // There is less room than when this was planned.
    let (mut cluster, sheet) = (FakeCib::new(1), Paper::default());
    cluster.configuration =
        cluster.configuration.replace(r#"name="cpu" value="4""#, r#"name="cpu" value="3""#);
    let (ending, read) = walk(&mut cluster, planned, &sheet, &mut Onlooker::default());
    let TaskState::Failed(why) = &read.tasks[0] else { panic!("{read:?}") };
    assert!(why.starts_with("the cluster would no longer reach the planned state: "), "{why}");
    assert_eq!((ending, cluster.changes.len()), (Ending::Failed, 0));
    // Once everything is as it was, the same journal goes on.
    cluster.configuration = FakeCib::new(1).configuration;
    assert_eq!(resume(&mut cluster, &sheet).0, Ending::Done);
    at_the_end(&cluster, false);
}

#[test]
fn what_stickiness_does_not_hold_is_not_let_go() {
    let (mut cluster, sheet) = (FakeCib::new(0), Paper::default());
    let header = header(&cluster, true);
    let (ending, read) = walk(&mut cluster, header, &sheet, &mut Onlooker::default());
    let TaskState::Failed(why) = &read.tasks[3] else { panic!("{read:?}") };
    assert!(why.contains("rsc-large is stopped, not on node2"), "{why}");
    assert_eq!((ending, cluster.changes.len()), (Ending::Failed, 1));
    at_the_end(&cluster, false);
}

#[test]
fn an_end_that_is_not_the_planned_one_is_told() {
    let (mut cluster, sheet) = (FakeCib::new(1), Paper::default());
    let header = header(&cluster, false);
    cluster.stops = Some("rsc-large");
    let (ending, read) = walk(&mut cluster, header.clone(), &sheet, &mut Onlooker::default());
    let why = TaskState::Failed("rsc-large is stopped, not on node2".to_owned());
    assert_eq!((ending, &read.tasks[2]), (Ending::Failed, &why));
    // it never comes to rest
    let (mut cluster, sheet) = (FakeCib::new(1), Paper::default());
    cluster.slow = usize::MAX;
    let (ending, read) = walk(&mut cluster, header, &sheet, &mut Onlooker::default());
    let why = TaskState::Failed("the cluster was not at rest within 600 s".to_owned());
    assert_eq!((ending, &read.tasks[1]), (Ending::Failed, &why));
}

/// The disk is full after any number of bytes. Nothing is done that was not recorded before, and the run ends well once
/// there is room. The same holds if the half line stays, as after a crash.
#[test]
fn a_full_disk_at_any_byte() {
    let header = header(&FakeCib::new(1), false);
    let whole = Paper::default();
    walk(&mut FakeCib::new(1), header.clone(), &whole, &mut Onlooker::default());
    let all = whole.bytes.borrow().len();
    for (room, can_be_cut) in (0..all).flat_map(|room| [(room, true), (room, false)]) {
        let mut cluster = FakeCib::new(1);
        let paper = Paper { room, can_be_cut, ..Paper::default() };
        let Ok(journal) = Journal::begin(Box::new(paper.clone()), &header) else { continue };
        let read = CibRead::begin(header.clone()).unwrap();
        let (ending, _) = CibRunner::new(&mut cluster, &mut Onlooker::default(), journal, read).walk();
        assert!(matches!(ending, Ending::Unrecorded(_) | Ending::Done), "{ending:?}");
        let (read, _): (CibRead, _) = paper.go_on();
        assert_eq!(cluster.changes.len(), usize::from(read.tasks[0] != TaskState::Open));
        assert_eq!(resume(&mut cluster, &paper).0, Ending::Done);
        assert_eq!(cluster.changes.len(), 1);
    }
}

#[test]
fn records_that_cannot_follow() {
    let cluster = FakeCib::new(1);
    let mut read = CibRead::begin(header(&cluster, false)).unwrap();
    for wrong in [
        CibRecord::Done { task: 0 },
        CibRecord::Beginning { task: 1 },
        CibRecord::Beginning { task: 9 },
        CibRecord::Failed { task: 0, why: "x".to_owned() },
    ] {
        assert!(read.apply(&wrong).is_err(), "{wrong:?}");
    }
    read.apply(&CibRecord::Beginning { task: 0 }).unwrap();
    read.apply(&CibRecord::Beginning { task: 0 }).unwrap();
    read.apply(&CibRecord::Done { task: 0 }).unwrap();
    assert!(read.apply(&CibRecord::Beginning { task: 0 }).is_err());
    assert_eq!(read.next(), Some(1));
    let other = CibHeader { journal: "x".to_owned(), ..read.header };
    assert!(CibRead::begin(other).is_err());
}
