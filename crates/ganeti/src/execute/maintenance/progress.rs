//! Progress of a maintenance: the stage of each node, and the instances that are away from home.

use std::collections::{BTreeMap, BTreeSet};

use crate::execute::journal::Read;
use crate::execute::report::StepReport;
use crate::execute::state::State;
use crate::execute::terms::{BatchKind, BegunBatch, MaintenanceCourse, MaintenanceTerms};
use htools_model::Placement;
use htools_plan::graph::StepIdx;
use htools_plan::work::{Task, Work};

/// Stage of a node in a maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeStage {
    /// Nothing was done to it, or everything was taken back.
    Left,
    /// It may be marked and its instances may be away, but its maintenance has not begun.
    Marked,
    /// Its maintenance has begun and failed, or may still be under way.
    Begun,
    /// It was maintained, but is not in use again.
    Maintained,
    /// It was maintained and is in use again.
    Done,
    /// It needs no maintenance.
    Skipped,
}

impl NodeStage {
    /// Tells if the node may be out of service.
    pub fn is_open(&self) -> bool {
        matches!(self, NodeStage::Marked | NodeStage::Begun | NodeStage::Maintained)
    }
}

/// Instances that the maintenance has moved or stopped, or may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Away {
    /// Placements before the maintenance, by full name.
    pub homes: BTreeMap<String, Placement<String>>,
    /// Full names of the instances that were stopped.
    pub stopped: BTreeSet<String>,
}

/// Progress of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaintenanceProgress {
    /// Stage of each node, by full name, in the order of the terms.
    pub nodes: Vec<(String, NodeStage)>,
    /// Problems of the nodes whose last batch failed.
    pub problems: BTreeMap<String, String>,
    /// Instances away from home.
    pub away: Away,
}

impl MaintenanceProgress {
    /// The progress that a journal records; `None` if it is of another kind of run.
    pub fn of(read: &Read) -> Option<MaintenanceProgress> {
        let terms = read.header.maintenance.as_ref()?;
        Some(MaintenanceProgress::in_state(terms, &read.course, &read.header.work, &read.state))
    }

    pub(super) fn in_state(
        terms: &MaintenanceTerms,
        course: &MaintenanceCourse,
        work: &Work,
        state: &State,
    ) -> MaintenanceProgress {
        let mut stages: BTreeMap<&str, NodeStage> = BTreeMap::new();
        let mut problems = BTreeMap::new();
        for (number, batch) in course.batches.iter().enumerate() {
            for node in &batch.nodes {
                let its = NodeSteps { batch, work, state, node };
                let before = stages.get(node.as_str()).cloned().unwrap_or(NodeStage::Left);
                let stage = match its.stage(before) {
                    NodeStage::Maintained
                        if course.not_rebooted.get(node).is_some_and(|end| number < *end) =>
                    {
                        NodeStage::Begun
                    }
                    stage => stage,
                };
                stages.insert(node, stage);
                match its.problem() {
                    Some(problem) => problems.insert(node.clone(), problem),
                    None => problems.remove(node),
                };
            }
        }
        let stage = |node: &String| match stages.get(node.as_str()) {
            Some(stage) => stage.clone(),
            None if course.skipped.contains_key(node) => NodeStage::Skipped,
            None => NodeStage::Left,
        };
        let nodes = terms.nodes.iter().map(|node| (node.clone(), stage(node))).collect();
        MaintenanceProgress { nodes, problems, away: Away::of(work, state) }
    }

    /// The nodes in a stage, in the order of the terms.
    pub fn at(&self, wanted: &NodeStage) -> Vec<&str> {
        let at = self.nodes.iter().filter(|(_, stage)| stage == wanted);
        at.map(|(node, _)| node.as_str()).collect()
    }

    /// Full names of the nodes that were maintained, or needed no maintenance.
    pub fn renewed(&self) -> impl Iterator<Item = &str> {
        let is_new =
            |stage: &NodeStage| matches!(stage, NodeStage::Maintained | NodeStage::Done | NodeStage::Skipped);
        self.nodes.iter().filter(move |(_, stage)| is_new(stage)).map(|(node, _)| node.as_str())
    }
}

impl MaintenanceProgress {
    /// Nodes that were maintained and are not in use again, each with its boot ID before.
    pub(super) fn maintained(
        &self,
        course: &MaintenanceCourse,
        work: &Work,
        state: &State,
    ) -> Vec<(String, String)> {
        let boot = |node: &&str| {
            let batch = course.batches.iter().rev().find(|batch| {
                batch.kind == BatchKind::Maintain && batch.nodes.iter().any(|other| other == node)
            })?;
            let mut own = NodeSteps { batch, work, state, node }.own().collect::<Vec<_>>().into_iter();
            let before = own.find_map(|at| state.boot_before(at))?;
            Some(((*node).to_owned(), before.to_owned()))
        };
        self.at(&NodeStage::Maintained).iter().filter_map(boot).collect()
    }
}

/// The steps of a node in a batch.
struct NodeSteps<'r> {
    batch: &'r BegunBatch,
    work: &'r Work,
    state: &'r State,
    node: &'r str,
}

impl NodeSteps<'_> {
    fn own(&self) -> impl Iterator<Item = StepIdx> + '_ {
        let steps = self.batch.steps.clone().map(StepIdx::new);
        steps.filter(|at| {
            let step = self.work.step(*at);
            step.subject == self.node && !step.task.is_of_instance()
        })
    }

    fn is_done(&self, wanted: impl Fn(&Task) -> bool) -> bool {
        self.own().any(|at| wanted(&self.work.step(at).task) && self.state.is_done(at))
    }

    /// Stage of the node after the batch, given the stage before.
    fn stage(&self, before: NodeStage) -> NodeStage {
        let is_back = self.is_done(|task| matches!(task, Task::CheckCluster(_)));
        match self.batch.kind {
            BatchKind::Maintain => {
                let disrupts = |at: &StepIdx| self.work.step(*at).task.disrupts();
                let disrupted = |at: StepIdx| self.state.boot_before(at).is_some();
                let has_begun = |at: StepIdx| self.state.has_begun(at);
                if is_back {
                    NodeStage::Done
                } else if self.is_done(Task::disrupts) {
                    NodeStage::Maintained
                } else if self.own().filter(disrupts).any(disrupted) {
                    NodeStage::Begun
                } else if before == NodeStage::Begun {
                    // It is not used again after a command that failed, even if this attempt did not get as far.
                    NodeStage::Begun
                } else if self.batch.steps.clone().map(StepIdx::new).any(has_begun) {
                    NodeStage::Marked
                } else {
                    before
                }
            }
            BatchKind::Finish if is_back => NodeStage::Done,
            BatchKind::CallOff if is_back => NodeStage::Left,
            BatchKind::Finish | BatchKind::CallOff => before,
        }
    }

    /// Problem of the node's first step that failed. If an instance's step failed, the node's next step was dropped:
    /// then the problem is that of the first failed step on an instance in the batch.
    fn problem(&self) -> Option<String> {
        let failed = |at: &StepIdx| self.state.has_failed(*at);
        let all = || self.batch.steps.clone().map(StepIdx::new).filter(failed);
        let is_finished = self.is_done(|task| matches!(task, Task::CheckCluster(_)));
        let own = self.own().find(failed);
        let at = own.or_else(|| {
            all().find(|at| self.work.step(*at).task.is_of_instance()).filter(|_| !is_finished)
        })?;
        let step = self.work.step(at);
        let why = StepReport::of(step, self.state.step(at)).message.unwrap_or_default();
        Some(format!("{}: {why}", step.title()))
    }
}

impl Away {
    /// The instances that the steps of a plan have left away from home, or may have.
    fn of(work: &Work, state: &State) -> Away {
        let mut away = Away::default();
        for at in state.steps() {
            let step = work.step(at);
            if step.task == Task::Stop && state.has_begun(at) {
                // A stop that failed may have stopped the instance all the same.
                away.stopped.insert(step.subject.clone());
            }
            if step.task == Task::Start && state.is_done(at) {
                away.stopped.remove(&step.subject);
            }
            // A move that failed may have been done in part.
            for relocation in step.relocations().iter().filter(|_| state.has_begun(at)) {
                let home = away.homes.entry(step.subject.clone()).or_insert_with(|| relocation.from.clone());
                if *home == relocation.to && state.is_done(at) {
                    away.homes.remove(&step.subject);
                }
            }
        }
        away
    }
}
