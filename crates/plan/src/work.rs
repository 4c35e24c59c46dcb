//! A plan ready for execution: all the data that the execution needs, in names and opcodes, so that it can be saved and
//! loaded.

mod builder;
mod names;

use std::collections::HashSet;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

pub use self::builder::Builder;
use self::names::ClusterNames;
use super::checker::CheckOptions;
use super::graph::{Edge, EdgeReason, StepIdx};
use super::jobset::{Jobset, side_by_side};
use super::names::{Impossible, Name, NameOf};
use super::opcode::Opcode;
use htools_model::{Cluster, Concession, Mib, Move, Placement, Step};

/// A move of an instance from one placement to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relocation {
    /// The move.
    #[serde(flatten)]
    pub mv: Move<String>,
    /// Placement before.
    pub from: Placement<String>,
    /// Placement after.
    pub to: Placement<String>,
    /// Concession made for it.
    #[serde(default, skip_serializing_if = "Concession::is_none")]
    pub concession: Concession<String>,
}

/// Operation of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Move an instance.
    Move(Relocation),
    /// Move an instance to another node group, by these moves in turn, as one job.
    Cross(Vec<Relocation>),
    /// Drain a node: it takes no more instances.
    Drain,
    /// Let a node take instances again.
    Undrain,
    /// Add tags to a node.
    Tag,
    /// Remove tags from a node.
    Untag,
    /// Set a node offline.
    SetOffline,
    /// Set a node online.
    SetOnline,
    /// Power a node off, after a final check that the cluster has no instances on it.
    PowerOff,
    /// Power a node on.
    PowerOn,
    /// Wait until a node answers the master, before anything else is done to it.
    Await,
    /// Check that the cluster has no instances on a node.
    ConfirmEmpty,
    /// Power a node off and on again.
    Reboot,
    /// A person reboots the master node, on which the commands of this program run.
    RebootByHand,
    /// Run the operator's command for a node.
    Maintain(Boots),
    /// A person reboots a node; its boot ID tells when that is done.
    AwaitPerson,
    /// Wait until a node is back after its maintenance.
    AwaitBack(Boots),
    /// Run the operator's health check for a node.
    CheckHealth,
    /// Check the cluster after the maintenance of a node: these instances run, and no node has lost its N+1 redundancy.
    CheckCluster(Vec<String>),
    /// Resynchronise the disks of an instance.
    Resync,
    /// Stop an instance.
    Stop,
    /// Start an instance.
    Start,
}

/// Expected effect of a maintenance on the boot ID of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boots {
    /// The node must have a new boot ID afterwards.
    Anew,
    /// The node may keep its boot ID.
    Maybe,
}

impl Task {
    /// Tells if it takes a node out of service: everything before it can still be called off.
    pub fn disrupts(&self) -> bool {
        matches!(self, Task::Reboot | Task::Maintain(_) | Task::AwaitPerson)
    }

    /// Tells if this program does the step itself, so that it has no opcodes.
    fn needs_no_job(&self) -> bool {
        use Task::*;
        matches!(
            self,
            PowerOff
                | PowerOn
                | RebootByHand
                | Await
                | ConfirmEmpty
                | Maintain(_)
                | AwaitPerson
                | AwaitBack(_)
                | CheckHealth
                | CheckCluster(_)
        )
    }

    /// Tells if it is about an instance, not a node.
    pub fn is_of_instance(&self) -> bool {
        matches!(self, Task::Move(_) | Task::Cross(_) | Task::Stop | Task::Start | Task::Resync)
    }

    /// In words, with the name of the object.
    pub fn named(&self, name: impl Display) -> String {
        match self {
            Task::RebootByHand => format!("reboot {name}, the master node, by hand"),
            task => format!("{} {name}", task.as_str()),
        }
    }

    /// In words, to be followed by the name of the object.
    pub fn as_str(&self) -> &'static str {
        match self {
            Task::Move(_) | Task::Cross(_) => "move",
            Task::Drain => "drain",
            Task::Undrain => "undrain",
            Task::Tag => "tag",
            Task::Untag => "untag",
            Task::SetOffline => "set offline",
            Task::SetOnline => "set online",
            Task::PowerOff => "power off",
            Task::PowerOn => "power on",
            Task::Await => "wait for",
            Task::ConfirmEmpty => "make sure that nothing is on",
            Task::Reboot => "reboot",
            Task::RebootByHand => "reboot by hand",
            Task::Maintain(_) => "run the command for",
            Task::AwaitPerson => "wait for a person to reboot",
            Task::AwaitBack(_) => "wait for the return of",
            Task::CheckHealth => "check the health of",
            Task::CheckCluster(_) => "check the cluster after",
            Task::Resync => "resync the disks of",
            Task::Stop => "stop",
            Task::Start => "start",
        }
    }
}

/// Memory and disks that a step moves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MovedData {
    /// Memory that a live migration copies, in MiB; `None` if the instance does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    /// Disks that are copied when the secondary node is replaced, in MiB.
    pub disk: i64,
    /// True if the instance runs and is stopped while its disks are copied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops: bool,
    /// Names of the node groups that are affected.
    pub groups: Vec<String>,
}

/// One step: an operation on an instance or a node. Journals of older versions also have `after`, which jobsets make
/// redundant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkStep {
    /// Full name of the instance or node.
    pub subject: String,
    /// The task.
    pub task: Task,
    /// Opcodes for Ganeti, in order; empty if this program does the step itself.
    pub opcodes: Vec<Opcode>,
    /// Data that a move copies; older journals do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freight: Option<MovedData>,
}

impl WorkStep {
    /// The step as a part of a sentence.
    pub fn described(&self) -> String {
        match &self.task {
            Task::Move(_) | Task::Cross(_) => format!("instance '{}'", self.subject),
            task if task.is_of_instance() => format!("{} instance '{}'", task.as_str(), self.subject),
            task => format!("{} node '{}'", task.as_str(), self.subject),
        }
    }

    /// The step in words: the name alone for a move.
    pub fn title(&self) -> String {
        match &self.task {
            Task::Move(_) | Task::Cross(_) => self.subject.clone(),
            task => task.named(&self.subject),
        }
    }
}

impl WorkStep {
    /// The moves that it consists of.
    pub fn relocations(&self) -> &[Relocation] {
        match &self.task {
            Task::Move(relocation) => std::slice::from_ref(relocation),
            Task::Cross(legs) => legs,
            _ => &[],
        }
    }

    /// Memory that its new primary node may lack until others have left.
    pub fn lacking(&self) -> Mib {
        self.relocations().iter().map(|relocation| relocation.concession.memory()).sum()
    }

    /// Checks that all names in it are valid in Ganeti.
    ///
    /// # Errors
    /// The first that is not.
    fn check_names(&self) -> Result<(), Impossible> {
        let kind = if self.task.is_of_instance() { NameOf::Instance } else { NameOf::Node };
        Name::of(kind, &self.subject)?;
        self.opcodes.iter().try_for_each(Opcode::check_names)
    }
}

/// The steps of a plan, in an order that respects their dependencies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The steps.
    pub steps: Vec<WorkStep>,
    /// The jobsets. Each begins when the previous one is done.
    pub jobsets: Vec<Jobset>,
    /// Dependencies for a walk without jobsets, as few as the rules need. Sorted by the waiting step, then by the one
    /// that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge<EdgeReason<String>>>,
}

/// Reason that a step of a plan cannot be applied to a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {step}: there is no {kind} '{name}'")]
pub struct Unknown {
    /// Number of the step, from 1.
    pub step: usize,
    /// Instance or node.
    pub kind: &'static str,
    /// The name.
    pub name: String,
}

impl Work {
    /// The steps in the given jobsets, with the names that the cluster has for them.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn of(
        cluster: &Cluster,
        steps: &[Step],
        jobsets: &[Jobset],
        options: CheckOptions,
    ) -> Result<Work, Impossible> {
        let mut builder = Builder::default();
        builder.moves(cluster, steps, jobsets, options);
        builder.finish()
    }

    /// These steps, one by one, in these jobsets: with their opcodes, sizes and edges on a cluster.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub fn rebuilt(
        cluster: &Cluster,
        steps: &[Step],
        jobsets: Vec<Jobset>,
        options: CheckOptions,
    ) -> Result<Work, Impossible> {
        let steps_in_order: Vec<Jobset> = vec![(0..steps.len()).map(StepIdx::new).collect()];
        let work = Work::of(cluster, steps, &steps_in_order, options)?;
        Ok(Work { jobsets, ..work })
    }

    /// Joins work on different nodes that can be done at the same time. Steps follow one another; the first jobsets are
    /// joined, then the second ones, and so on.
    pub fn side_by_side(all: impl IntoIterator<Item = Work>) -> Work {
        let all: Vec<Work> = all.into_iter().collect();
        let jobsets = side_by_side(all.iter().map(|work| (work.steps.len(), &work.jobsets[..])));
        let (mut steps, mut edges) = (Vec::new(), Vec::new());
        for work in all {
            edges.extend(work.edges.into_iter().map(|edge| edge.behind(steps.len())));
            steps.extend(work.steps);
        }
        Work { steps, jobsets, edges }
    }

    /// The moves among some steps, for the checker.
    ///
    /// # Errors
    /// The first that does not fit the cluster.
    pub fn steps_on(&self, cluster: &Cluster, wanted: &[StepIdx]) -> Result<Vec<Step>, Unknown> {
        let names = ClusterNames::of(cluster);
        let steps = wanted.iter().map(|at| (at.number(), self.step(*at)));
        let moves = steps.map(|(number, step)| match &step.task {
            Task::Move(relocation) => names.step(&step.subject, relocation, number).map(Some),
            Task::Cross(legs) => names.crossing(&step.subject, legs, number).map(Some),
            _ => Ok(None),
        });
        moves.filter_map(Result::transpose).collect()
    }

    /// Appends work that begins when this work has ended. Returns the positions of its steps.
    pub fn append(&mut self, work: Work) -> std::ops::Range<usize> {
        let begin = self.steps.len();
        let behind = |step: StepIdx| StepIdx::new(step.get() + begin);
        self.jobsets.extend(work.jobsets.into_iter().map(|set| set.into_iter().map(behind).collect()));
        self.edges.extend(work.edges.into_iter().map(|edge| edge.behind(begin)));
        self.steps.extend(work.steps);
        begin..self.steps.len()
    }

    /// The steps that take a node out of service, and those that one of them must follow. The others can begin even if
    /// nothing more is to be taken out of service.
    pub fn leading_to_disruption(&self) -> HashSet<StepIdx> {
        let mut found: HashSet<StepIdx> = self.all().filter(|at| self.step(*at).task.disrupts()).collect();
        // Edges are sorted by the step that waits.
        for edge in self.edges.iter().rev() {
            if found.contains(&edge.after) {
                found.insert(edge.before);
            }
        }
        found
    }

    /// All steps, in order.
    pub fn all(&self) -> impl Iterator<Item = StepIdx> + use<> {
        (0..self.steps.len()).map(StepIdx::new)
    }

    /// The step at a position.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn step(&self, step: StepIdx) -> &WorkStep {
        &self.steps[step.get()]
    }

    /// Fault of work that was loaded: a position that does not exist or comes too late, or a name that is not valid in
    /// Ganeti.
    pub fn fault(&self) -> Option<String> {
        let count = self.steps.len();
        let mut listed: Vec<StepIdx> = self.jobsets.iter().flatten().copied().collect();
        listed.sort_unstable();
        if !listed.iter().copied().eq((0..count).map(StepIdx::new)) {
            return Some(format!("the jobsets do not list each of the {count} steps once"));
        }
        let mut jobset = vec![0; count];
        for (number, set) in self.jobsets.iter().enumerate() {
            set.iter().for_each(|step| jobset[step.get()] = number);
        }
        for Edge { before, after, .. } in &self.edges {
            if before >= after || after.get() >= count {
                return Some(format!("step {after} waits for step {before}"));
            }
            if jobset[before.get()] >= jobset[after.get()] {
                return Some(format!(
                    "step {after} waits for step {before}, which is in no jobset before its own"
                ));
            }
        }
        if !self.edges.is_sorted_by_key(|edge| (edge.after, edge.before)) {
            return Some("what steps wait for is out of order".to_owned());
        }
        for (at, step) in self.steps.iter().enumerate() {
            if step.opcodes.is_empty() && !step.task.needs_no_job() {
                return Some(format!("step {} has no opcodes", at + 1));
            }
            if let Err(error) = step.check_names() {
                return Some(format!("step {}: {error}", at + 1));
            }
        }
        None
    }
}
