//! Rolling maintenances of simulated clusters: programs die at any call, nodes do not come back, commands, jobs and
//! checks fail, and the run is resumed until everything is done.

mod surroundings;
mod world;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use htools::execute::job::{JobId, RunInfo};
use htools::execute::journal::{self, Header, Journal, JournalForm, OnFailure, Read, StreamPace};
use htools::execute::maintenance::{
    AfterFailure, BatchRules, MaintenanceEnd, MaintenanceLimits, MaintenanceRun, MaintenanceTerms, NodeStage,
    OperatorCommands,
};
use htools::execute::{ClusterId, Ending};
use htools::plan::maintenance::{MigrateTo, NodeMark, NodeTreatment, NodeWork, Return};
use htools::plan::stream::StreamLimits;
use htools::plan::work::{Boots, Work};
use htools_testkit::Paper;
use proptest::prelude::*;

use self::surroundings::{SimClient, SimHost};
use self::world::{Killed, NodeFate, SimInstance, SimNode, World};

/// Runs that end a case which does not end otherwise.
const MOST_RUNS: usize = 60;

#[derive(Debug, Clone)]
struct Case {
    /// Memory of each node in GiB, and the fate of its maintenance.
    nodes: Vec<(i64, NodeFate, u32)>,
    /// For each instance: template, nodes, memory in MiB, and whether it runs.
    instances: Vec<(u8, usize, usize, i64, bool)>,
    most_down: Option<usize>,
    mark: NodeMark,
    work: NodeWork,
    returns: Return,
    after_failure: AfterFailure,
    canary: usize,
    checks_health: bool,
    full_evacuation: bool,
    upgrade: Option<MigrateTo>,
    deaths: BTreeSet<u32>,
    failing_jobs: BTreeSet<u64>,
    stop_after: Option<usize>,
    /// True if resumed runs are on another machine, which does not know the commands of the earlier ones.
    elsewhere: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let fate = prop_oneof![
        12 => Just(NodeFate::Fine),
        1 => Just(NodeFate::Fails),
        1 => Just(NodeFate::NoReboot),
        1 => Just(NodeFate::Lost),
        2 => Just(NodeFate::Broken),
    ];
    let node = (8i64..24, fate, prop_oneof![6 => Just(0u32), 1 => 1u32..3, 1 => Just(200u32)]);
    let instance = (0u8..8, 0usize..100, 0usize..100, 1i64..6, prop::bool::weighted(0.85));
    let work =
        prop_oneof![3 => Just(NodeWork::Command), 1 => Just(NodeWork::Oob), 1 => Just(NodeWork::Person)];
    let after = prop_oneof![Just(AfterFailure::Stop), Just(AfterFailure::Skip), Just(AfterFailure::Continue)];
    let shape = (
        prop::collection::vec(node, 3..8),
        prop::collection::vec(instance, 0..14),
        prop::option::of(1usize..4),
        prop_oneof![3 => Just(NodeMark::Drained), 1 => Just(NodeMark::Offline)],
        work,
        prop_oneof![3 => Just(Return::Home), 1 => Just(Return::Stay)],
        after,
        prop_oneof![2 => Just(0usize), 1 => 1usize..3],
    );
    let trouble = (
        any::<bool>(),
        prop::bool::weighted(0.2),
        prop_oneof![2 => Just(None), 1 => Just(Some(MigrateTo::Newer)), 1 => Just(Some(MigrateTo::Any))],
        prop::collection::btree_set(1u32..400, 0..6),
        prop::collection::btree_set(1u64..60, 0..3),
        prop::option::weighted(0.2, 1usize..4),
        prop::bool::weighted(0.3),
    );
    (shape, trouble).prop_map(|(shape, trouble)| {
        let (nodes, instances, most_down, mark, work, returns, after_failure, canary) = shape;
        let (checks_health, full_evacuation, upgrade, deaths, failing_jobs, stop_after, elsewhere) = trouble;
        Case {
            nodes,
            instances,
            most_down,
            // Ganeti does not ask offline nodes for their boot IDs.
            mark: if work == NodeWork::Person { NodeMark::Drained } else { mark },
            work,
            returns,
            after_failure,
            canary,
            checks_health,
            full_evacuation,
            upgrade,
            deaths,
            failing_jobs,
            stop_after,
            elsewhere,
        }
    })
}

impl Case {
    fn world(&self) -> World {
        let nodes: Vec<SimNode> = (0..)
            .zip(&self.nodes)
            .map(|(at, (memory, fate, ill))| SimNode {
                name: format!("n{at}"),
                memory: memory << 10,
                boot: 1,
                up_from: 0,
                drained: false,
                offline: false,
                fate: if self.work == NodeWork::Person { NodeFate::Fine } else { *fate },
                reboots: 0,
                ill: *ill,
            })
            .collect();
        let mut free: Vec<i64> = nodes.iter().map(|node| node.memory - 1024).collect();
        let mut instances = Vec::new();
        for (at, (template, primary, secondary, memory, runs)) in self.instances.iter().enumerate() {
            let (primary, memory) = (primary % nodes.len(), memory << 10);
            let secondary = (primary + 1 + secondary % (nodes.len() - 1)) % nodes.len();
            // All but some are mirrored.
            let template = if *template == 0 { "ext" } else { "drbd" };
            if free[primary] > memory {
                free[primary] -= memory;
                instances.push(SimInstance {
                    name: format!("i{at}"),
                    memory,
                    template,
                    primary,
                    secondary: (template == "drbd").then_some(secondary),
                    runs: *runs,
                });
            }
        }
        World {
            nodes,
            instances,
            jobs: Vec::new(),
            clock: 0,
            commands: BTreeMap::new(),
            due: Vec::new(),
            failing_jobs: self.failing_jobs.clone(),
            deaths: self.deaths.clone(),
            calls: 0,
            most_down: self.most_down,
            may_stop: false,
            upgrades: self.upgrade.is_some(),
            not_redundant: BTreeSet::new(),
            wrong: Vec::new(),
        }
    }

    fn header(&self, world: &World) -> Header {
        let on_failure = match self.after_failure {
            AfterFailure::Stop => OnFailure::Stop,
            _ => OnFailure::Continue,
        };
        Header {
            journal: journal::SCHEMA.to_owned(),
            cluster: ClusterId { name: "w".into(), uuid: "w".into() },
            run: RunInfo {
                tool: "hroller".into(),
                began: 17,
                comment: "c".into(),
                reason: "r".into(),
                priority: 0,
            },
            after: JobId(0),
            joins_opcodes: false,
            group: String::new(),
            ignore_soft_errors: false,
            keep_reserve: None,
            stream: Some(StreamPace { limits: StreamLimits::default(), on_failure }),
            maintenance: Some(MaintenanceTerms {
                // The master is maintained by nobody here.
                nodes: world.nodes.iter().skip(1).map(|node| node.name.clone()).collect(),
                treatment: NodeTreatment {
                    mark: self.mark,
                    work: self.work,
                    boots: Boots::Anew,
                    returns: self.returns,
                    checks_health: self.checks_health,
                    upgrade: self.upgrade,
                },
                commands: OperatorCommands {
                    node: Some("reboot".to_owned()),
                    health: Some("health".to_owned()),
                    ..OperatorCommands::default()
                },
                rules: BatchRules {
                    migrate_shared: true,
                    full_evacuation: self.full_evacuation,
                    max_down: self.most_down,
                    canary: self.canary,
                    soak: 600,
                    ..BatchRules::default()
                },
                after_failure: self.after_failure,
                limits: MaintenanceLimits { command: 600, boot: 300, check: 60 },
            }),
            work: Work::default(),
        }
    }
}

/// One program, from the beginning or resumed; `None` if it was killed.
fn run_program(
    world: &Rc<RefCell<World>>,
    header: &Header,
    paper: &Paper,
    stop_after: Option<usize>,
) -> Option<MaintenanceEnd> {
    let is_new = paper.bytes.borrow().is_empty();
    let (read, journal): (Read, Journal) = if is_new {
        let journal = Journal::begin(Box::new(paper.clone()), header).unwrap();
        (Read::begin(header.clone()).unwrap(), journal)
    } else {
        paper.go_on()
    };
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut client = SimClient(Rc::clone(world));
        let mut host = SimHost { world: Rc::clone(world), stop_after, batches: 0 };
        MaintenanceRun::new(&mut client, &mut host, read, journal).unwrap().carry_out().0
    }));
    match ran {
        Ok(end) => Some(end),
        Err(panic) if panic.is::<Killed>() => None,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Repairs what has failed, as an operator would before the run is resumed.
fn repair(world: &mut World) {
    world.failing_jobs.clear();
    let clock = world.clock;
    for node in &mut world.nodes {
        if node.up_from == u64::MAX {
            node.up_from = clock;
        }
        node.fate = NodeFate::Fine;
        node.ill = 0;
    }
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let world = case.world();
    let header = case.header(&world);
    let before = world.instances.clone();
    let world = Rc::new(RefCell::new(world));
    let paper = Paper::default();
    let mut stop_after = case.stop_after;
    for number in 0.. {
        prop_assert!(number < MOST_RUNS, "the run does not end");
        let ended = run_program(&world, &header, &paper, stop_after);
        {
            let mut world = world.borrow_mut();
            prop_assert_eq!(&world.wrong, &Vec::<String>::new());
            if case.elsewhere && ended.is_none() {
                world.commands.clear();
            }
        }
        let Some(end) = ended else { continue };
        // Nodes that are still marked are named.
        let world_now = world.borrow();
        for node in world_now.nodes.iter().filter(|node| node.drained || node.offline) {
            let named = end.left.iter().any(|left| left.node == node.name);
            prop_assert!(named, "{} is left marked without a word: {:?}", node.name, end);
        }
        drop(world_now);
        match &end.ending {
            Ending::Done => break,
            Ending::Interrupted => stop_after = None,
            Ending::Failed => {
                let stuck = end.left.iter().all(|left| {
                    let stage = end.progress.nodes.iter().find(|(name, _)| *name == left.node).unwrap();
                    stage.1 == NodeStage::Left
                });
                let quiet = {
                    let world = world.borrow();
                    world.failing_jobs.is_empty()
                        && world.nodes.iter().all(|n| n.fate == NodeFate::Fine && n.ill == 0)
                };
                if stuck && quiet {
                    // The rules keep these nodes up, or nothing is wrong with them any more.
                    break;
                }
                repair(&mut world.borrow_mut());
            }
            other => return Err(TestCaseError::fail(format!("unexpected {other:?}"))),
        }
    }
    let world = world.borrow();
    for node in &world.nodes {
        prop_assert!(!node.drained && !node.offline, "{} is still marked", node.name);
    }
    for (was, is) in before.iter().zip(&world.instances) {
        prop_assert_eq!(was.runs, is.runs, "{}", was.name);
        let is_new = |node: usize| world.nodes[node].reboots > 0;
        let is_held = case.upgrade.is_some() && is_new(is.primary) && !is_new(was.primary);
        if case.returns == Return::Home && !is_held {
            prop_assert_eq!((was.primary, was.secondary), (is.primary, is.secondary), "{}", &was.name);
        }
    }
    let (read, _): (Read, Journal) = paper.go_on();
    let progress = htools::execute::maintenance::MaintenanceProgress::of(&read).unwrap();
    for (name, stage) in &progress.nodes {
        let reboots = world.nodes[world.node(name).unwrap()].reboots;
        prop_assert_eq!(reboots, u32::from(*stage == NodeStage::Done), "{}", name);
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 3000 };
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 500, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_dies_or_fails_the_maintenance_comes_to_its_end(case in cases()) {
        check(&case)?;
    }
}
