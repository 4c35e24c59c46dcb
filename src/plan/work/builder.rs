//! Plans as work: in names and opcodes, each step with those that it waits for.

use std::convert::Infallible;

use super::{Relocation, Task, Work, WorkStep};
use crate::model::{Cluster, Move, NodeIdx, Placement, Step};
use crate::plan::graph::Graph;
use crate::plan::jobset::Jobset;
use crate::plan::names::Impossible;
use crate::plan::opcode::{Opcode, job};

/// Work that is put together, stage by stage: a step waits for the last ones before it that
/// touch one of its nodes, and for the stage before.
#[derive(Debug, Default)]
pub struct Builder {
    steps: Vec<WorkStep>,
    graph: Graph<String>,
}

impl Builder {
    /// One stage: moves, those of the given jobsets.
    pub fn moves(&mut self, cluster: &Cluster, steps: &[Step], jobsets: &[Jobset]) {
        self.graph.barrier();
        for at in jobsets.iter().flatten() {
            let step = &steps[at.get()];
            let nodes: Vec<String> =
                step.nodes(cluster).map(|node| cluster.node(node).spec.name.clone()).collect();
            self.push(work_step(cluster, step), nodes);
        }
    }

    /// One stage: something that is done to nodes, by these opcodes.
    pub fn nodes(
        &mut self,
        task: &Task,
        nodes: impl IntoIterator<Item = String>,
        opcodes: impl Fn(&str) -> Vec<Opcode>,
    ) {
        self.graph.barrier();
        for node in nodes {
            let opcodes = opcodes(&node);
            let task = task.clone();
            self.push(WorkStep { subject: node.clone(), task, opcodes, after: Vec::new() }, [node]);
        }
    }

    fn push(&mut self, step: WorkStep, nodes: impl IntoIterator<Item = String>) {
        let at = self.graph.push(nodes);
        self.steps.push(WorkStep { after: self.graph.before(at).to_vec(), ..step });
    }

    /// The work.
    ///
    /// # Errors
    /// A name that Ganeti cannot have: no jobs are made with it, and no command is given it.
    pub fn finish(self) -> Result<Work, Impossible> {
        self.steps.iter().try_for_each(WorkStep::check_names)?;
        Ok(Work { jobsets: self.graph.jobsets(), steps: self.steps })
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
