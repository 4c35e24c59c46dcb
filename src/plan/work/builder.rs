//! Plans as work: in names and opcodes, each step with those that it waits for.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;

use super::{Relocation, Task, Work, WorkStep};
use crate::model::{Cluster, Move, NodeIdx, Placement, Step};
use crate::plan::jobset::Jobset;
use crate::plan::names::Impossible;
use crate::plan::opcode::{Opcode, job};

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
                let nodes = step.nodes(cluster).map(|node| cluster.node(node).spec.name.clone());
                (work_step(cluster, step), nodes.collect())
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

fn relocation(cluster: &Cluster, mv: Move, from: Placement, to: Placement) -> Relocation {
    let name = |node: NodeIdx| Ok::<_, Infallible>(cluster.node(node).spec.name.clone());
    let (Ok(mv), Ok(from), Ok(to)) = (mv.try_map(name), from.try_map(name), to.try_map(name));
    Relocation { mv, from, to }
}

fn work_step(cluster: &Cluster, step: &Step) -> WorkStep {
    let instance = cluster.instance(step.instance);
    let leg = |(leg, from, to)| Some(relocation(cluster, Move::of_legs([leg])?, from, to));
    WorkStep {
        subject: instance.name.clone(),
        task: match step.crosses(cluster) {
            true => Task::Cross(step.legs().filter_map(leg).collect()),
            false => Task::Move(relocation(cluster, step.mv, step.from, step.to)),
        },
        opcodes: job(cluster, instance, &[step.mv]),
        after: Vec::new(),
    }
}
