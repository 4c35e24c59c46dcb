//! A simulated Ganeti cluster for tests of maintenances: nodes that reboot, instances that move, and a job queue. It
//! records every broken rule.

use std::collections::{BTreeMap, BTreeSet};

use htools::execute::job::{JobId, JobStatus};
use htools::execute::maintenance::CommandFate;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::redundancy::n_plus_one;
use htools::model::{Cluster, Mib};
use htools::plan::opcode::{Opcode, PowerCommand, ReplaceMode};

/// Time that a node takes to boot, in seconds.
const BOOT: u64 = 90;

/// Time at which a maintenance counts as endless, in seconds.
const ENDLESS: u64 = 200_000;

/// Payload of the panic that stands for a killed program.
pub struct Killed;

/// Fate of a node's maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeFate {
    /// The node reboots and comes back.
    Fine,
    /// The command fails, and the node is not rebooted.
    Fails,
    /// The command succeeds, and the node is not rebooted.
    NoReboot,
    /// The node goes down and does not come back before it is repaired.
    Lost,
    /// The connection of the command breaks, as the node reboots at once.
    Broken,
}

#[derive(Debug, Clone)]
pub struct SimNode {
    pub name: String,
    pub memory: i64,
    pub boot: u32,
    /// Time from which it is up; never if it is lost.
    pub up_from: u64,
    pub drained: bool,
    pub offline: bool,
    pub fate: NodeFate,
    pub reboots: u32,
    /// Number of failures of its health check that are left.
    pub ill: u32,
}

#[derive(Debug, Clone)]
pub struct SimInstance {
    pub name: String,
    pub memory: i64,
    /// `drbd`, `ext` or `plain`.
    pub template: &'static str,
    pub primary: usize,
    pub secondary: Option<usize>,
    pub runs: bool,
}

#[derive(Debug, Clone)]
pub struct SimJob {
    pub comment: String,
    pub opcodes: Vec<Opcode>,
    pub depends: Option<JobId>,
    pub status: JobStatus,
    /// Further looks for which it runs.
    pub looks: u32,
    pub fails: bool,
}

/// An operator's command.
#[derive(Debug, Clone, Copy)]
pub struct SimCommand {
    ends: u64,
    status: i32,
}

pub struct World {
    pub nodes: Vec<SimNode>,
    pub instances: Vec<SimInstance>,
    pub jobs: Vec<SimJob>,
    pub clock: u64,
    pub commands: BTreeMap<(usize, String), SimCommand>,
    /// Reboots to come: the time and the node.
    pub due: Vec<(u64, usize)>,
    /// Numbers of jobs that fail, from 1.
    pub failing_jobs: BTreeSet<u64>,
    /// Numbers of calls at which the program is killed: before they take effect if even, else after.
    pub deaths: BTreeSet<u32>,
    pub calls: u32,
    pub most_down: Option<usize>,
    /// True if instances may be stopped.
    pub may_stop: bool,
    /// True if a reboot upgrades a node.
    pub upgrades: bool,
    /// Nodes that were not N+1 redundant when the batch began.
    pub not_redundant: BTreeSet<String>,
    pub wrong: Vec<String>,
}

impl World {
    /// Counts a call; false if the program dies after it.
    pub fn enter_call(&mut self) -> bool {
        self.calls += 1;
        if self.deaths.contains(&self.calls) {
            if self.calls.is_multiple_of(2) {
                std::panic::resume_unwind(Box::new(Killed));
            }
            return false;
        }
        true
    }

    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    fn is_up(&self, node: usize) -> bool {
        self.nodes[node].up_from <= self.clock
    }

    /// Nodes that are marked or do not answer.
    fn out(&self) -> usize {
        let is_out = |node: &&SimNode| node.drained || node.offline || node.up_from > self.clock;
        self.nodes.iter().filter(is_out).count()
    }

    pub fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.clock += 1;
            assert!(self.clock < ENDLESS, "the maintenance does not end");
            let (now, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.due).into_iter().partition(|(at, _)| *at <= self.clock);
            self.due = later;
            now.into_iter().for_each(|(_, node)| self.reboot(node));
        }
    }

    fn reboot(&mut self, node: usize) {
        let is_lost = self.nodes[node].fate == NodeFate::Lost;
        let clock = self.clock;
        let its = &mut self.nodes[node];
        its.reboots += 1;
        its.boot += 1;
        its.up_from = if is_lost { u64::MAX } else { clock + BOOT };
        let name = its.name.clone();
        if self.nodes[node].reboots > 1 {
            self.wrong.push(format!("{name} was rebooted again"));
        }
        if !(self.nodes[node].drained || self.nodes[node].offline) {
            self.wrong.push(format!("{name} was rebooted without a mark"));
        }
        if let Some(victim) = self.instances.iter().find(|i| i.primary == node && i.runs) {
            self.wrong.push(format!("{name} was rebooted while {} ran there", victim.name));
        }
        if self.most_down.is_some_and(|most| self.out() > most) {
            self.wrong.push(format!("{} nodes were out of service at once", self.out()));
        }
        let new: Vec<String> = self.failing().difference(&self.not_redundant).cloned().collect();
        if !new.is_empty() {
            self.wrong.push(format!("{} lost redundancy by the reboot of {name}", new.join(", ")));
        }
    }

    /// Nodes that are not N+1 redundant.
    pub fn failing(&self) -> BTreeSet<String> {
        let cluster = self.cluster();
        let failing = n_plus_one::Failures::of(&cluster, &cluster.all_nodes()).nodes;
        failing.into_iter().map(|node| cluster.node(node).spec.name.clone()).collect()
    }

    /// The cluster as Ganeti describes it.
    pub fn cluster(&self) -> Cluster {
        let mut content = "g|u|preferred||\n\n".to_owned();
        for (at, node) in self.nodes.iter().enumerate() {
            let used: i64 =
                self.instances.iter().filter(|i| i.primary == at && i.runs).map(|i| i.memory).sum();
            let free = node.memory - 1024 - used;
            let flag = match (node.drained || node.offline || !self.is_up(at), at) {
                (true, _) => "Y",
                (false, 0) => "M",
                (false, _) => "N",
            };
            content += &format!(
                "{}|{}|1024|{free}|{}|{}|8|{flag}|u|4||N|4|1|1.0\n",
                node.name,
                node.memory,
                1 << 24,
                1 << 24
            );
        }
        content += "\n";
        for instance in &self.instances {
            let status = if instance.runs { "running" } else { "ADMIN_down" };
            let secondary = instance.secondary.map_or("", |node| &self.nodes[node].name);
            let primary = &self.nodes[instance.primary].name;
            content += &format!(
                "{}|{}|1024|1|{status}|Y|{primary}|{secondary}|{}||1|-\n",
                instance.name, instance.memory, instance.template
            );
        }
        content += "\n\n";
        let raw = text::parse(&content, "world").expect("a valid text");
        let mut cluster = merge(raw, &MergeOptions::default()).expect("no selection");
        finish(&mut cluster, Mib::ZERO);
        cluster
    }

    /// Starts a command for a node.
    pub fn start(&mut self, step: usize, node: &str, is_check: bool) {
        let Some(at) = self.node(node) else { return };
        let now = self.clock;
        let key = (step, node.to_owned());
        if self.commands.get(&key).is_some_and(|command| command.ends > now) {
            return;
        }
        let status = if is_check {
            let its = &mut self.nodes[at];
            its.ill = its.ill.saturating_sub(1);
            i32::from(its.ill > 0)
        } else {
            match self.nodes[at].fate {
                NodeFate::Fails => 1,
                NodeFate::Broken => 255,
                _ => 0,
            }
        };
        if !is_check && !matches!(self.nodes[at].fate, NodeFate::Fails | NodeFate::NoReboot) {
            self.due.push((now + 5, at));
        }
        self.commands.insert(key, SimCommand { ends: now + 8, status });
    }

    pub fn fate(&self, step: usize, node: &str) -> CommandFate {
        match self.commands.get(&(step, node.to_owned())) {
            None => CommandFate::Unknown,
            Some(command) if command.ends > self.clock => CommandFate::Running,
            Some(command) => CommandFate::Ended { status: Some(command.status), last_words: String::new() },
        }
    }

    /// Advances the queue.
    pub fn advance(&mut self) {
        self.pass(1);
        for at in 0..self.jobs.len() {
            let job = self.jobs[at].clone();
            if job.status.is_final() {
                continue;
            }
            let before = job.depends.map(|JobId(id)| self.jobs[usize::try_from(id).unwrap() - 1].status);
            self.jobs[at].status = match before {
                Some(status) if status.is_final() && status != JobStatus::Success => JobStatus::Error,
                Some(status) if !status.is_final() => JobStatus::Waiting,
                _ if job.looks > 0 => {
                    self.jobs[at].looks -= 1;
                    JobStatus::Running
                }
                _ => {
                    let done = !job.fails && job.opcodes.iter().all(|opcode| self.carry_out(opcode));
                    if done { JobStatus::Success } else { JobStatus::Error }
                }
            };
        }
    }

    /// Carries an opcode out; false if it fails.
    fn carry_out(&mut self, opcode: &Opcode) -> bool {
        match opcode {
            Opcode::NodeSetParams { node_name, offline, drained, .. } => {
                let Some(at) = self.node(node_name) else { return false };
                let up = self.is_up(at);
                let node = &mut self.nodes[at];
                if !up && *offline != Some(true) {
                    return false;
                }
                if let Some(on) = offline {
                    node.offline = *on;
                    node.drained &= !on;
                }
                if let Some(on) = drained {
                    if node.offline {
                        return false;
                    }
                    node.drained = *on;
                }
                if self.most_down.is_some_and(|most| self.out() > most) {
                    self.wrong.push(format!("{} nodes are out of service at once", self.out()));
                }
                true
            }
            Opcode::OobCommand { node_names, command: PowerCommand::PowerCycle, .. } => {
                for name in node_names {
                    let Some(at) = self.node(name) else { return false };
                    match self.nodes[at].fate {
                        NodeFate::Fails => return false,
                        NodeFate::NoReboot => {}
                        _ => self.reboot(at),
                    }
                }
                true
            }
            Opcode::Migrate { instance_name, target_node, .. } => {
                self.migrate(instance_name, target_node.as_deref())
            }
            Opcode::ReplaceDisks { instance_name, mode: ReplaceMode::NewSecondary, remote_node, .. } => {
                let target = remote_node.as_deref().and_then(|name| self.node(name));
                let (Some(at), Some(target)) = (self.instance(instance_name), target) else { return false };
                let takes = self.is_up(target) && !self.nodes[target].drained && !self.nodes[target].offline;
                if takes && self.instances[at].primary != target {
                    self.instances[at].secondary = Some(target);
                }
                takes
            }
            Opcode::Startup { instance_name, .. } => {
                let Some(at) = self.instance(instance_name) else { return false };
                let up = self.is_up(self.instances[at].primary);
                self.instances[at].runs |= up;
                up
            }
            Opcode::Shutdown { instance_name, .. } => {
                let Some(at) = self.instance(instance_name) else { return false };
                if !self.may_stop || self.instances[at].template == "drbd" {
                    self.wrong.push(format!("{instance_name} was stopped"));
                }
                self.instances[at].runs = false;
                true
            }
            Opcode::ActivateDisks { instance_name, .. } => {
                let Some(at) = self.instance(instance_name) else { return false };
                let nodes = [Some(self.instances[at].primary), self.instances[at].secondary];
                nodes.into_iter().flatten().all(|node| self.is_up(node))
            }
            other => {
                self.wrong.push(format!("unexpected {other:?}"));
                false
            }
        }
    }

    fn instance(&self, name: &str) -> Option<usize> {
        self.instances.iter().position(|instance| instance.name == name)
    }

    fn migrate(&mut self, name: &str, target: Option<&str>) -> bool {
        let Some(at) = self.instance(name) else { return false };
        let instance = &self.instances[at];
        let target = match (instance.template, target) {
            ("drbd", None) => instance.secondary,
            ("ext", Some(target)) => self.node(target),
            _ => None,
        };
        let Some(target) = target else { return false };
        let takes = self.is_up(target) && !self.nodes[target].drained && !self.nodes[target].offline;
        if !takes || !self.is_up(instance.primary) {
            return false;
        }
        let used: i64 =
            self.instances.iter().filter(|i| i.primary == target && i.runs).map(|i| i.memory).sum();
        if self.instances[at].runs && used + self.instances[at].memory > self.nodes[target].memory - 1024 {
            // After a failed move, others may have taken the room at home. Ganeti refuses, and a later run tries again.
            if !self.jobs.iter().any(|job| job.fails) {
                self.wrong.push(format!("{} has no room for {name}", self.nodes[target].name));
            }
            return false;
        }
        let from = self.instances[at].primary;
        let is_new = |node: usize| self.nodes[node].reboots > 0;
        if self.upgrades && self.instances[at].runs && is_new(from) && !is_new(target) {
            self.wrong.push(format!("{name} migrated from a new node to an old one"));
        }
        if self.instances[at].template == "drbd" {
            self.instances[at].secondary = Some(from);
        }
        self.instances[at].primary = target;
        true
    }
}
