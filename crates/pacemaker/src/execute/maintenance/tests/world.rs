//! A simulated cluster, its nodes and the operator's commands. It outlives the programs that work on it, and checks
//! them at every call.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::SystemTime;

use super::*;
use crate::cib::change::CibChange;
use crate::execute::CibClient;
use crate::execute::past::cluster_id;
use crate::pinning::Foresight;

/// Sign that the program was killed.
pub(super) struct Killed;

/// Fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorldFault {
    KilledBefore,
    KilledAfter,
    NoAnswer,
    LostAnswer,
}

/// A command that was started.
#[derive(Debug, Clone)]
pub(super) struct StartedCommand {
    program: usize,
    step: usize,
    ends: u64,
    status: i32,
}

pub(super) struct World {
    pub names: Vec<String>,
    configuration: String,
    pub standby_before: BTreeSet<String>,
    /// The places of resources, each with its node.
    active: BTreeSet<(String, String)>,
    marks: BTreeMap<String, String>,
    /// The nodes that go down, with the time.
    leaving: BTreeMap<String, u64>,
    /// The nodes that are away, with the time of their return.
    away: BTreeMap<String, u64>,
    pub commands: BTreeMap<String, Vec<StartedCommand>>,
    pub seconds: u64,
    pub calls: usize,
    /// Faults by the number of the call.
    pub faults: BTreeMap<usize, WorldFault>,
    /// Number of the present program.
    pub program: usize,
    /// True if programs do not see the commands of earlier ones.
    pub loses_logs: bool,
    pub max_down: usize,
    /// Nodes whose command fails the first time.
    pub fails: BTreeSet<String>,
    /// Nodes that do not come back the first time.
    pub stays_away: BTreeSet<String>,
    /// A resource whose failures are counted on the first node that is rebooted.
    pub breaks: bool,
    failed_on: Option<String>,
    pub stops: bool,
    pub own: Option<String>,
    pub coordinator: usize,
    pub needless: BTreeSet<String>,
    pub events: Vec<String>,
    /// The history of the run.
    pub history: History,
}

/// Access to a world for a program.
#[derive(Clone)]
pub(super) struct WorldView(pub Rc<RefCell<World>>);

impl World {
    pub(super) fn new(nodes: usize, standby: &[usize]) -> World {
        let names: Vec<String> = (1..=nodes).map(|number| format!("n{number}")).collect();
        let standby_before: BTreeSet<String> = standby.iter().map(|at| names[*at].clone()).collect();
        let mut xml = String::from(
            r#"<configuration><crm_config><cluster_property_set id="o"><nvpair id="o-s" name="stonith-enabled" value="false"/></cluster_property_set></crm_config><nodes>"#,
        );
        for name in &names {
            let pair = if standby_before.contains(name) { "on" } else { "off" };
            let given = match pair {
                "on" => format!(
                    r#"<instance_attributes id="nodes-{name}"><nvpair id="nodes-{name}-standby" name="standby" value="on"/></instance_attributes>"#
                ),
                _ => String::new(),
            };
            let _ = write!(xml, r#"<node id="{name}" uname="{name}">{given}</node>"#);
        }
        xml.push_str("</nodes><resources>");
        for number in 1..=4 {
            let _ =
                write!(xml, r#"<primitive id="r{number}" class="ocf" provider="pacemaker" type="Dummy"/>"#);
        }
        xml.push_str(r#"<clone id="c"><primitive id="i" class="ocf" provider="pacemaker" type="Dummy"/></clone></resources><constraints/><rsc_defaults><meta_attributes id="d"><nvpair id="d-s" name="resource-stickiness" value="1"/></meta_attributes></rsc_defaults></configuration>"#);
        let mut world = World {
            names,
            configuration: xml,
            standby_before,
            active: BTreeSet::new(),
            marks: BTreeMap::new(),
            leaving: BTreeMap::new(),
            away: BTreeMap::new(),
            commands: BTreeMap::new(),
            seconds: 1,
            calls: 0,
            faults: BTreeMap::new(),
            program: 0,
            loses_logs: false,
            max_down: usize::MAX,
            fails: BTreeSet::new(),
            stays_away: BTreeSet::new(),
            breaks: false,
            failed_on: None,
            stops: false,
            own: None,
            coordinator: 0,
            needless: BTreeSet::new(),
            events: Vec::new(),
            history: History::default(),
        };
        world.settle();
        world
    }

    pub(super) fn text(&self) -> String {
        let dc = &self.names[self.coordinator];
        let mut text = format!(
            r#"<cib crm_feature_set="3.16.1" validate-with="pacemaker-3.9" epoch="1" num_updates="0" admin_epoch="0" have-quorum="1" dc-uuid="{dc}">{}<status>"#,
            self.configuration
        );
        for node in &self.names {
            if self.away.contains_key(node) {
                let _ = write!(
                    text,
                    r#"<node_state id="{node}" uname="{node}" in_ccm="false" crmd="offline" join="down" expected="down"/>"#
                );
                continue;
            }
            let _ = write!(
                text,
                r#"<node_state id="{node}" uname="{node}" in_ccm="true" crmd="online" join="member" expected="member"><transient_attributes id="{node}"><instance_attributes id="status-{node}">"#
            );
            if let Some(mark) = self.marks.get(node) {
                let _ = write!(text, r#"<nvpair id="status-{node}-m" name="{MARK}" value="{mark}"/>"#);
            }
            if self.failed_on.as_ref() == Some(node) {
                let _ = write!(
                    text,
                    r#"<nvpair id="status-{node}-f" name="fail-count-r1#monitor_10000" value="1"/>"#
                );
            }
            text.push_str("</instance_attributes></transient_attributes>");
            let _ = write!(text, r#"<lrm id="{node}"><lrm_resources>"#);
            for (resource, at) in &self.active {
                if at == node {
                    let _ = write!(
                        text,
                        r#"<lrm_resource id="{resource}" class="ocf" provider="pacemaker" type="Dummy"><lrm_rsc_op id="{resource}_last_0" operation_key="{resource}_start_0" operation="start" call-id="5" rc-code="0" transition-key="1:1:0:x" op-status="0" interval="0" op-digest="f2317cad3d54cec5d7d7aa7d0bf35cf8"/></lrm_resource>"#
                    );
                }
            }
            text.push_str("</lrm_resources></lrm></node_state>");
        }
        text.push_str("</status></cib>");
        text
    }

    /// The cluster does what it has to do.
    fn settle(&mut self) {
        let end = Foresight::of(&self.text(), "t").unwrap().expected().unwrap();
        self.active = end.into_iter().filter_map(|place| Some((place.resource, place.node?))).collect();
    }

    fn is_in_standby(&self, node: &str) -> bool {
        self.configuration.contains(&format!(r#"id="nodes-{node}-standby" name="standby" value="on""#))
    }

    fn configuration_document(&self) -> String {
        format!("<cib>{}</cib>", self.configuration)
    }

    /// Lets time pass: nodes go down and come back.
    fn pass(&mut self, seconds: u64) {
        self.seconds += seconds;
        let now = self.seconds;
        let due: Vec<String> =
            self.leaving.iter().filter(|(_, at)| **at <= now).map(|(node, _)| node.clone()).collect();
        for node in due {
            self.leaving.remove(&node);
            self.marks.remove(&node);
            self.active.retain(|(_, at)| *at != node);
            let back = if self.stays_away.remove(&node) { now + 1000 } else { now + 5 };
            self.away.insert(node.clone(), back);
            if self.breaks && self.failed_on.is_none() {
                self.failed_on = self.names.iter().find(|other| **other != node).cloned();
            }
        }
        self.away.retain(|_, back| *back > now);
        self.check();
    }

    /// The state at any time: enough nodes are in use, and the members have quorum.
    fn check(&self) {
        let out = |node: &&String| {
            self.away.contains_key(*node) || self.is_in_standby(node) && !self.standby_before.contains(*node)
        };
        let down = self.names.iter().filter(out).count();
        assert!(down <= self.max_down, "{down} nodes are down");
        assert!(2 * (self.names.len() - self.away.len()) > self.names.len(), "no quorum");
    }

    /// Asserts that the cluster is as it was before, and that every node was maintained once.
    pub(super) fn is_done(&self) {
        for node in &self.names {
            assert_eq!(self.is_in_standby(node), self.standby_before.contains(node), "standby of {node}");
            let good = self.commands.get(node).into_iter().flatten().filter(|one| one.status == 0).count();
            assert_eq!(good, usize::from(!self.needless.contains(node)), "commands of {node}");
        }
        for resource in ["r1", "r2", "r3", "r4", "i"] {
            assert!(self.active.iter().any(|(one, _)| one == resource), "{resource} does not run");
        }
    }

    /// The nodes that are in standby and were not before.
    pub(super) fn left_in_standby(&self) -> Vec<String> {
        let left = |node: &&String| self.is_in_standby(node) && !self.standby_before.contains(*node);
        self.names.iter().filter(left).cloned().collect()
    }
}

impl WorldView {
    pub(super) fn of(world: World) -> WorldView {
        WorldView(Rc::new(RefCell::new(world)))
    }

    fn fault(&self) -> Option<WorldFault> {
        let mut world = self.0.borrow_mut();
        let call = world.calls;
        world.calls += 1;
        world.faults.get(&call).copied()
    }

    /// Performs a call with its fault, if it has one.
    fn call<T>(&self, action: impl FnOnce(&mut World) -> T) -> Result<T, CibCallError> {
        let fault = self.fault();
        match fault {
            Some(WorldFault::KilledBefore) => resume_unwind(Box::new(Killed)),
            Some(WorldFault::NoAnswer) => return Err(CibCallError::Nonsense("no answer".to_owned())),
            _ => {}
        }
        let done = action(&mut self.0.borrow_mut());
        self.0.borrow().check();
        match fault {
            Some(WorldFault::KilledAfter) => resume_unwind(Box::new(Killed)),
            Some(WorldFault::LostAnswer) => Err(CibCallError::Nonsense("no answer".to_owned())),
            _ => Ok(done),
        }
    }
}

impl CibClient for WorldView {
    fn document(&mut self) -> Result<String, CibCallError> {
        self.call(|world| world.text())
    }

    fn make(&mut self, change: &CibChange) -> Result<(), CibCallError> {
        self.call(|world| {
            let made = change.made_in(&world.configuration_document(), "t").unwrap();
            world.configuration = made["<cib>".len()..made.len() - "</cib>".len()].to_owned();
        })
    }

    fn await_rest(&mut self, _: Duration) -> Result<bool, CibCallError> {
        self.call(|world| {
            world.pass(1);
            world.settle();
            true
        })
    }
}

impl CibMaintenanceClient for WorldView {
    fn own_node(&mut self) -> Result<Option<String>, CibCallError> {
        self.call(|world| world.own.clone())
    }

    fn votes(&mut self) -> Result<Option<ClusterVotes>, CibCallError> {
        self.call(|world| {
            let (all, away) = (world.names.len(), world.away.len());
            Some(ClusterVotes { total: all - away, quorum: all / 2 + 1, most: 1 })
        })
    }

    fn set_mark(&mut self, node: &str, value: &str) -> Result<(), CibCallError> {
        self.call(|world| {
            if !world.away.contains_key(node) {
                world.marks.insert(node.to_owned(), value.to_owned());
            }
        })
    }
}

impl World {
    /// Adds a line to the history.
    pub fn note(&mut self, event: HistoryEvent) {
        self.history.0.push(HistoryLine::now(&cluster_id("test"), "hroller", event));
    }
}

impl CibMaintenanceHost for WorldView {
    fn event(&mut self, event: &CibMaintenanceEvent) {
        let mut world = self.0.borrow_mut();
        if let CibMaintenanceEvent::Waiting(node) = event {
            // A person reboots it.
            let at = world.seconds + 10;
            world.leaving.entry(node.clone()).or_insert(at);
        }
        world.events.push(event.to_string());
    }

    fn batch(&mut self, read: &CibMaintenanceRead) {
        self.0.borrow_mut().note(HistoryEvent::Batch(read.batch_moves()));
    }

    fn is_in_time(&self) -> bool {
        true
    }

    fn needless(&mut self, _: &CibMaintenanceTerms, nodes: &[String]) -> Vec<LeftNode> {
        let world = self.0.borrow();
        let is_needless = |node: &&String| world.needless.contains(*node);
        let left = |node: &String| LeftNode { node: node.clone(), why: "needless".to_owned() };
        nodes.iter().filter(is_needless).map(left).collect()
    }

    fn start_command(&mut self, run: &CommandRun<'_>) -> Result<(), NodeTaskError> {
        let start = |world: &mut World| {
            let node = run.node.to_owned();
            if run.command != "reboot" {
                return;
            }
            let now = world.seconds;
            let earlier = world.commands.entry(node.clone()).or_default();
            // It is not started twice.
            if earlier.iter().any(|one| one.step == run.mark.step.get() && one.ends > now) {
                return;
            }
            assert!(earlier.iter().all(|one| one.status != 0), "{node} is maintained twice");
            assert!(world.active.iter().all(|(_, at)| *at != node), "something runs on {node}");
            assert!(!world.away.contains_key(&node), "{node} is away");
            let status = i32::from(world.fails.remove(&node)) * 3;
            let command =
                StartedCommand { program: world.program, step: run.mark.step.get(), ends: now + 3, status };
            world.commands.entry(node.clone()).or_default().push(command);
            if status == 0 {
                world.leaving.insert(node, now + 4);
            }
        };
        // A start always has an answer.
        match self.fault() {
            Some(WorldFault::KilledBefore) => resume_unwind(Box::new(Killed)),
            fault => {
                start(&mut self.0.borrow_mut());
                if fault == Some(WorldFault::KilledAfter) {
                    resume_unwind(Box::new(Killed));
                }
                Ok(())
            }
        }
    }

    fn command_fate(&mut self, run: &CommandRun<'_>) -> CommandFate {
        let world = self.0.borrow();
        let mut its = world.commands.get(run.node).into_iter().flatten();
        let found = its.rfind(|one| one.step == run.mark.step.get());
        match found {
            _ if run.command != "reboot" => CommandFate::Ended { status: Some(0), last_words: String::new() },
            None => CommandFate::Unknown,
            Some(one) if world.loses_logs && one.program != world.program => CommandFate::Unknown,
            Some(one) if one.ends > world.seconds => CommandFate::Running,
            Some(one) => CommandFate::Ended { status: Some(one.status), last_words: String::new() },
        }
    }

    fn kill_command(&mut self, _: &CommandRun<'_>) {}
}

impl CibSurroundings for WorldView {
    fn unanswered(&mut self, why: String) {
        self.event(&CibMaintenanceEvent::NoAnswer(why));
    }

    fn wants_to_stop(&self) -> bool {
        self.0.borrow().stops
    }

    fn pause(&mut self, time: Duration) {
        self.0.borrow_mut().pass(time.as_secs().max(1));
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.0.borrow().seconds)
    }
}
