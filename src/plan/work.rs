//! A plan ready to be carried out: everything that its execution has to know, in
//! names and opcodes, so that it can be written down and read again.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::jobset::{Jobset, nodes_of, side_by_side};
use super::opcode::{Opcode, job};
use super::regroup::opcodes;
use crate::model::{Cluster, InstanceIdx, Mib, NodeIdx, Placement};
use crate::search::regroup::Passage;
use crate::search::{Move, Step};

/// Where an instance is, by the names of the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The primary node.
    pub primary: String,
    /// The secondary node, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary: Option<String>,
}

/// How an instance moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// See [`Move::Failover`].
    Failover,
    /// See [`Move::FailoverTo`].
    FailoverTo,
    /// See [`Move::ReplaceSecondary`].
    ReplaceSecondary,
    /// See [`Move::ReplaceAndFailover`].
    ReplaceAndFailover,
    /// See [`Move::ReplacePrimary`].
    ReplacePrimary,
    /// See [`Move::FailoverAndReplace`].
    FailoverAndReplace,
}

impl Way {
    fn of(mv: Move) -> Way {
        match mv {
            Move::Failover => Way::Failover,
            Move::FailoverTo(_) => Way::FailoverTo,
            Move::ReplaceSecondary(_) => Way::ReplaceSecondary,
            Move::ReplaceAndFailover(_) => Way::ReplaceAndFailover,
            Move::ReplacePrimary(_) => Way::ReplacePrimary,
            Move::FailoverAndReplace(_) => Way::FailoverAndReplace,
        }
    }

    fn towards(self, target: Option<NodeIdx>) -> Option<Move> {
        Some(match self {
            Way::Failover => Move::Failover,
            Way::FailoverTo => Move::FailoverTo(target?),
            Way::ReplaceSecondary => Move::ReplaceSecondary(target?),
            Way::ReplaceAndFailover => Move::ReplaceAndFailover(target?),
            Way::ReplacePrimary => Move::ReplacePrimary(target?),
            Way::FailoverAndReplace => Move::FailoverAndReplace(target?),
        })
    }
}

/// How an instance gets from one place to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relocation {
    /// How it moves.
    pub way: Way,
    /// The node that it gets, if the way has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Where it is before.
    pub from: Place,
    /// Where it is afterwards.
    pub to: Place,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// An instance moves.
    Move(Relocation),
    /// An instance moves to another node group, by these moves in turn, as one job.
    Cross(Vec<Relocation>),
    /// A node takes no more instances.
    Drain,
    /// A node takes instances again.
    Undrain,
    /// A node gets tags.
    Tag,
    /// A node loses tags.
    Untag,
    /// A node goes out of use.
    SetOffline,
    /// A node comes into use.
    SetOnline,
    /// A node's power goes off. Only if the cluster says that it holds no instance, just before.
    PowerOff,
    /// A node's power comes on.
    PowerOn,
    /// A node must answer the master before anything else happens to it.
    Await,
    /// The cluster must say that a node holds no instance.
    ConfirmEmpty,
}

impl Task {
    /// In words, before the name of what it is done to.
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
        }
    }
}

/// One step: what is done to what, and what must be done before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkStep {
    /// Full name of the instance or node.
    pub subject: String,
    /// What is done to it.
    pub task: Task,
    /// What Ganeti has to do, in order; nothing if this program does it itself.
    pub opcodes: Vec<Opcode>,
    /// The steps that must be done before this one begins, by their positions. For a move
    /// the last ones before it that touch one of its nodes.
    pub after: Vec<usize>,
}

impl WorkStep {
    /// The step for a sentence.
    pub fn described(&self) -> String {
        match &self.task {
            Task::Move(_) | Task::Cross(_) => format!("instance '{}'", self.subject),
            task => format!("{} node '{}'", task.as_str(), self.subject),
        }
    }

    /// The step in words: the name alone for a move.
    pub fn title(&self) -> String {
        match &self.task {
            Task::Move(_) | Task::Cross(_) => self.subject.clone(),
            task => format!("{} {}", task.as_str(), self.subject),
        }
    }
}

/// The steps of a plan, in an order that respects what they depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The steps.
    pub steps: Vec<WorkStep>,
    /// The jobsets: positions in `steps`. A set begins when the one before is done.
    pub jobsets: Vec<Vec<usize>>,
}

/// Why a step of a plan means nothing on a cluster.
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
    /// The steps of the given jobsets, in their order, for a cluster whose names they get.
    pub fn of(cluster: &Cluster, steps: &[Step], jobsets: &[Jobset]) -> Work {
        let mut builder = Builder::default();
        builder.moves(cluster, steps, jobsets);
        builder.finish()
    }

    /// Work that touches different nodes, and can be done at the same time: the steps one
    /// behind the other, the first jobsets together, the second ones, and so on.
    pub fn side_by_side(all: impl IntoIterator<Item = Work>) -> Work {
        let all: Vec<Work> = all.into_iter().collect();
        let jobsets = side_by_side(all.iter().map(|work| (work.steps.len(), &work.jobsets[..])));
        let mut steps: Vec<WorkStep> = Vec::new();
        for work in all {
            let offset = steps.len();
            steps.extend(work.steps.into_iter().map(|mut step| {
                step.after.iter_mut().for_each(|at| *at += offset);
                step
            }));
        }
        Work { steps, jobsets }
    }

    /// The moves among `positions` on a cluster, for the checker.
    ///
    /// # Errors
    /// The first name that the cluster does not know.
    pub fn steps_on(&self, cluster: &Cluster, positions: &[usize]) -> Result<Vec<Step>, Unknown> {
        let names = Names::of(cluster);
        let moves = positions.iter().filter_map(|at| match &self.steps[*at].task {
            Task::Move(relocation) => Some((at + 1, &self.steps[*at].subject, relocation)),
            _ => None,
        });
        moves.map(|(number, instance, relocation)| names.step(instance, relocation, number)).collect()
    }

    /// The moves between groups among `positions` on a cluster, for the checker.
    ///
    /// # Errors
    /// The first name that the cluster does not know.
    pub fn passages_on(&self, cluster: &Cluster, positions: &[usize]) -> Result<Vec<Passage>, Unknown> {
        let names = Names::of(cluster);
        let moves = positions.iter().filter_map(|at| match &self.steps[*at].task {
            Task::Cross(legs) => Some((at + 1, &self.steps[*at].subject, legs)),
            _ => None,
        });
        moves.filter_map(|(number, instance, legs)| names.passage(cluster, instance, legs, number)).collect()
    }

    /// What is wrong with work that was read: positions that do not exist or come too late.
    pub fn fault(&self) -> Option<String> {
        let count = self.steps.len();
        let mut listed: Vec<usize> = self.jobsets.iter().flatten().copied().collect();
        listed.sort_unstable();
        if !listed.iter().copied().eq(0..count) {
            return Some(format!("the jobsets do not list each of the {count} steps once"));
        }
        let mut jobset = vec![0; count];
        for (number, set) in self.jobsets.iter().enumerate() {
            set.iter().for_each(|step| jobset[*step] = number);
        }
        for (at, step) in self.steps.iter().enumerate() {
            if let Some(later) = step.after.iter().find(|other| **other >= at) {
                return Some(format!("step {} waits for step {}", at + 1, later.saturating_add(1)));
            }
            if let Some(later) = step.after.iter().find(|other| jobset[**other] > jobset[at]) {
                return Some(format!("step {} waits for a later jobset, for step {}", at + 1, later + 1));
            }
            let by_ganeti =
                !matches!(step.task, Task::PowerOff | Task::PowerOn | Task::Await | Task::ConfirmEmpty);
            if step.opcodes.is_empty() && by_ganeti {
                return Some(format!("step {} has no opcodes", at + 1));
            }
        }
        None
    }
}

/// Work that is put together, jobset by jobset. A step waits for the last ones before it
/// that touch one of its nodes.
#[derive(Debug, Default)]
pub struct Builder {
    work: Work,
    /// By node, the last step that touches it.
    last: HashMap<String, usize>,
}

impl Builder {
    /// Moves, in their jobsets.
    pub fn moves(&mut self, cluster: &Cluster, steps: &[Step], jobsets: &[Jobset]) {
        for set in jobsets {
            self.set(set.iter().map(|at| {
                let step = &steps[*at];
                let nodes = nodes_of(cluster, step).map(|node| cluster.node(node).spec.name.clone());
                (work_step(cluster, step), nodes.collect())
            }));
        }
    }

    /// Moves between groups, in their jobsets.
    pub fn passages(&mut self, cluster: &Cluster, passages: &[Passage], jobsets: &[Jobset]) {
        for set in jobsets {
            self.set(set.iter().map(|at| {
                let passage = &passages[*at];
                let legs = passage.legs.iter().flat_map(|leg| [leg.from, leg.to]);
                let nodes = legs.flat_map(|at| [Some(at.primary), at.secondary]).flatten();
                let names: BTreeSet<String> = nodes.map(|n| cluster.node(n).spec.name.clone()).collect();
                let step = WorkStep {
                    subject: cluster.instance(passage.instance).name.clone(),
                    task: Task::Cross(passage.legs.iter().map(|leg| relocation(cluster, leg)).collect()),
                    opcodes: opcodes(cluster, passage),
                    after: Vec::new(),
                };
                (step, names.into_iter().collect())
            }));
        }
    }

    /// One jobset: something that is done to nodes, by these opcodes.
    pub fn nodes(
        &mut self,
        task: &Task,
        nodes: impl IntoIterator<Item = String>,
        opcodes: impl Fn(&str) -> Vec<Opcode>,
    ) {
        self.set(nodes.into_iter().map(|node| {
            let opcodes = opcodes(&node);
            let task = task.clone();
            (WorkStep { subject: node.clone(), task, opcodes, after: Vec::new() }, vec![node])
        }));
    }

    /// One jobset, unless it is empty: steps, and the nodes that they touch.
    fn set(&mut self, steps: impl Iterator<Item = (WorkStep, Vec<String>)>) {
        let begin = self.work.steps.len();
        for (step, nodes) in steps {
            let at = self.work.steps.len();
            let after: BTreeSet<usize> = nodes.iter().filter_map(|n| self.last.get(n)).copied().collect();
            self.last.extend(nodes.into_iter().map(|node| (node, at)));
            self.work.steps.push(WorkStep { after: after.into_iter().collect(), ..step });
        }
        if self.work.steps.len() > begin {
            self.work.jobsets.push((begin..self.work.steps.len()).collect());
        }
    }

    /// The work.
    pub fn finish(self) -> Work {
        self.work
    }
}

fn relocation(cluster: &Cluster, step: &Step) -> Relocation {
    let name = |node: NodeIdx| cluster.node(node).spec.name.clone();
    let place = |p: Placement| Place { primary: name(p.primary), secondary: p.secondary.map(name) };
    Relocation {
        way: Way::of(step.mv),
        target: step.mv.target().map(name),
        from: place(step.from),
        to: place(step.to),
    }
}

fn work_step(cluster: &Cluster, step: &Step) -> WorkStep {
    let instance = cluster.instance(step.instance);
    WorkStep {
        subject: instance.name.clone(),
        task: Task::Move(relocation(cluster, step)),
        opcodes: job(cluster, instance, &[step.mv]),
        after: Vec::new(),
    }
}

/// What the names of a cluster mean.
struct Names<'c> {
    nodes: HashMap<&'c str, NodeIdx>,
    instances: HashMap<&'c str, InstanceIdx>,
}

impl<'c> Names<'c> {
    fn of(cluster: &'c Cluster) -> Names<'c> {
        Names {
            nodes: cluster.nodes.iter().map(|node| (node.spec.name.as_str(), node.spec.idx)).collect(),
            instances: cluster.instances.iter().map(|i| (i.name.as_str(), i.idx)).collect(),
        }
    }

    fn step(&self, instance: &str, step: &Relocation, number: usize) -> Result<Step, Unknown> {
        let unknown = |kind, name: &str| Unknown { step: number, kind, name: name.to_owned() };
        let node =
            |name: &String| self.nodes.get(name.as_str()).copied().ok_or_else(|| unknown("node", name));
        let place = |place: &Place| {
            let secondary = place.secondary.as_ref().map(node).transpose()?;
            Ok(Placement { primary: node(&place.primary)?, secondary })
        };
        let known = self.instances.get(instance).copied();
        let target = step.target.as_ref().map(node).transpose()?;
        Ok(Step {
            instance: known.ok_or_else(|| unknown("instance", instance))?,
            mv: step.way.towards(target).ok_or_else(|| unknown("node", ""))?,
            from: place(&step.from)?,
            to: place(&step.to)?,
            score: 0.0,
        })
    }
}

impl Names<'_> {
    /// A move between groups; nothing if it has no legs.
    fn passage(
        &self,
        cluster: &Cluster,
        instance: &str,
        legs: &[Relocation],
        number: usize,
    ) -> Option<Result<Passage, Unknown>> {
        let legs: Result<Vec<Step>, Unknown> =
            legs.iter().map(|leg| self.step(instance, leg, number)).collect();
        let legs = match legs {
            Ok(legs) => legs,
            Err(unknown) => return Some(Err(unknown)),
        };
        let (from, to) = (legs.first()?.from, legs.last()?.to);
        let group = |p: Placement| cluster.node(p.primary).spec.group;
        let (source, target) = (group(from), group(to));
        let instance = legs.first()?.instance;
        // the checker asks for neither
        let (copied, score) = (Mib::ZERO, 0.0);
        Some(Ok(Passage { instance, source, target, from, to, legs, copied, score }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::jobset::jobsets;
    use crate::search::{BalanceOptions, Balancer};
    use crate::testing::cluster;

    /// Three nodes, all instances on the first two; and the plan that balances them.
    fn planned() -> (Cluster, Vec<Step>) {
        let nodes = ["n1|9000|0|3000|90000|30000|9|N|u|1", "n2|9000|0|3000|90000|30000|9|N|u|1"];
        let nodes: Vec<&str> = nodes.into_iter().chain(["n3|9000|0|9000|90000|90000|9|N|u|1"]).collect();
        let instances: Vec<String> = (0..6)
            .map(|i| {
                let (p, s) = if i % 2 == 0 { ("n1", "n2") } else { ("n2", "n1") };
                format!("i{i}|2000|10000|1|running|Y|{p}|{s}|drbd||1")
            })
            .collect();
        let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
        let start = cluster(&nodes, &instances, &[]);
        let mut end = start.clone();
        let all = end.all_nodes();
        let mut balancer = Balancer::new(&mut end, &all, BalanceOptions::default());
        let steps: Vec<Step> = std::iter::from_fn(|| balancer.next_step()).collect();
        (start, steps)
    }

    #[test]
    fn plans_come_back_from_names() {
        let (start, steps) = planned();
        assert!(!steps.is_empty());
        let work = Work::of(&start, &steps, &jobsets(&start, &steps));
        let text = serde_json::to_string(&work).unwrap();
        let read: Work = serde_json::from_str(&text).unwrap();
        assert_eq!(read, work);
        assert_eq!(read.fault(), None);
        let all: Vec<usize> = (0..steps.len()).collect();
        let without_scores: Vec<Step> = steps.iter().map(|step| Step { score: 0.0, ..*step }).collect();
        assert_eq!(read.steps_on(&start, &all).unwrap(), without_scores);
    }

    #[test]
    fn steps_wait_for_the_last_ones_on_their_nodes() {
        let (start, steps) = planned();
        let work = Work::of(&start, &steps, &jobsets(&start, &steps));
        for (at, step) in work.steps.iter().enumerate() {
            let nodes = |step: &WorkStep| -> Vec<String> {
                let Task::Move(relocation) = &step.task else { panic!("{step:?}") };
                let places = [&relocation.from, &relocation.to];
                places.iter().flat_map(|p| [Some(p.primary.clone()), p.secondary.clone()]).flatten().collect()
            };
            for node in nodes(step) {
                let last = (0..at).rev().find(|other| nodes(&work.steps[*other]).contains(&node));
                assert!(last.is_none_or(|last| step.after.contains(&last)), "{at}: {last:?}");
            }
        }
    }

    #[test]
    fn unknown_names_are_told() {
        let (start, steps) = planned();
        let mut work = Work::of(&start, &steps, &jobsets(&start, &steps));
        work.steps[0].subject = "nobody".into();
        let error = work.steps_on(&start, &[0]).unwrap_err();
        assert_eq!(error.to_string(), "step 1: there is no instance 'nobody'");
    }
}
