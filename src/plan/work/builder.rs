//! Plans as work: in names and opcodes, each step with those that it waits for.

use std::collections::{BTreeSet, HashMap};

use super::{NamedPlacement, Relocation, Task, Way, Work, WorkStep};
use crate::model::{Cluster, NodeIdx, Placement};
use crate::plan::jobset::{Jobset, nodes_of};
use crate::plan::names::Impossible;
use crate::plan::opcode::{Opcode, job};
use crate::plan::regroup::opcodes;
use crate::search::Step;
use crate::search::regroup::Passage;

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
    ///
    /// # Errors
    /// A name that Ganeti cannot have: no jobs are made with it, and no command is given it.
    pub fn finish(self) -> Result<Work, Impossible> {
        self.work.steps.iter().try_for_each(WorkStep::check_names)?;
        Ok(self.work)
    }
}

fn relocation(cluster: &Cluster, step: &Step) -> Relocation {
    let name = |node: NodeIdx| cluster.node(node).spec.name.clone();
    let place = |p: Placement| NamedPlacement { primary: name(p.primary), secondary: p.secondary.map(name) };
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
