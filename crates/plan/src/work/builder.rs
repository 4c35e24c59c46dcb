//! Builder of work: steps in names and opcodes, with their dependencies.

use std::collections::HashMap;
use std::convert::Infallible;

use super::{MovedData, Relocation, Task, Work, WorkStep};
use crate::checker::CheckOptions;
use crate::graph::{Edge, EdgeReason, Graph, Precedence, StepIdx, Strength};
use crate::jobset::Jobset;
use crate::names::Impossible;
use crate::needs;
use crate::opcode::{Opcode, step_job};
use htools_model::{Cluster, Concession, Instance, InstanceIdx, Move, NodeIdx, Placement, Step};

/// Work that is built stage by stage. For jobsets, a step waits for the last earlier steps that touch its nodes, and
/// for the previous stage. In the edges, it waits for earlier operations on its nodes, and for steps that it needs.
#[derive(Debug, Default)]
pub struct Builder {
    steps: Vec<WorkStep>,
    graph: Graph<String>,
    edges: Vec<Edge<EdgeReason<String>>>,
    precedence: Precedence,
    /// For each node, the last operation on it and the moves since then.
    open: HashMap<String, Vec<StepIdx>>,
    /// For each instance, the last step that [`touch`](Self::touch) has added.
    latest: HashMap<String, StepIdx>,
    /// The last step that switched the power of a node.
    power: Option<StepIdx>,
    /// The last steps before the last barrier, and the first step after it.
    gate: (Vec<StepIdx>, usize),
}

impl Builder {
    /// One stage: the moves in the given jobsets.
    pub(crate) fn moves(
        &mut self,
        cluster: &Cluster,
        steps: &[Step],
        jobsets: &[Jobset],
        options: CheckOptions,
    ) {
        self.graph.barrier();
        let name = |node: NodeIdx| cluster.node(node).spec.name.clone();
        let steps: Vec<Step> = jobsets.iter().flatten().map(|at| steps[at.get()]).collect();
        let begin = self.steps.len();
        let mut edges = needs::edges(cluster, &steps, options).into_iter().map(|edge| {
            let Ok(why) = edge.why.try_map(|node| Ok::<_, Infallible>(name(node)));
            let Edge { before, after, strength, .. } = edge;
            Edge { before, after, strength, why }
        });
        let mut next = edges.next();
        // Interruptions add steps between the moves.
        let mut placed: Vec<StepIdx> = Vec::with_capacity(steps.len());
        let mut stopped: HashMap<InstanceIdx, StepIdx> = HashMap::new();
        for (number, step) in steps.iter().enumerate() {
            let mut waits = Vec::new();
            while let Some(edge) = next.take_if(|edge| edge.after.get() == number) {
                waits.push(edge);
                next = edges.next();
            }
            let before = |edge: &Edge<EdgeReason<String>>| placed[edge.before.get()];
            let mut waits: Vec<Edge<EdgeReason<String>>> =
                waits.into_iter().map(|edge| Edge { before: before(&edge), ..edge }).collect();
            if let Concession::Interruption { stopped: instance, .. } = step.concession {
                let stop = match stopped.get(&instance) {
                    Some(stop) => *stop,
                    None => self.interrupt(cluster, (instance, step.to.primary), &waits),
                };
                stopped.insert(instance, stop);
                waits.push(room(stop, StepIdx::new(self.steps.len()), name(step.to.primary)));
            }
            if let Some(stop) = stopped.get(&step.instance) {
                let why = EdgeReason::Instance;
                let after = StepIdx::new(self.steps.len());
                waits.push(Edge { before: *stop, after, strength: Strength::Must, why });
            }
            let at = StepIdx::new(self.steps.len());
            waits.iter_mut().for_each(|edge| edge.after = at);
            placed.push(at);
            let mut nodes: Vec<String> = step.nodes(cluster).map(name).collect();
            for node in &nodes {
                let done =
                    self.open.get(node).and_then(|open| open.first()).filter(|before| before.get() < begin);
                waits.extend(done.map(|before| order(*before, at)));
            }
            self.push(WorkStep::moving(cluster, step), &nodes, waits);
            nodes.sort_unstable();
            nodes.dedup();
            nodes.into_iter().for_each(|node| self.open.entry(node).or_default().push(at));
            if let Some(stop) = stopped.remove(&step.instance) {
                self.go_on(cluster, (step.instance, step.to.primary), (stop, at));
            }
        }
    }

    /// Stops a running instance on a node as late as possible: after all other steps that the step waits for. So the
    /// instance is not stopped for longer than needed.
    fn interrupt(
        &mut self,
        cluster: &Cluster,
        (instance, node): (InstanceIdx, NodeIdx),
        waits: &[Edge<EdgeReason<String>>],
    ) -> StepIdx {
        let at = StepIdx::new(self.steps.len());
        let waits = waits.iter().map(|edge| Edge { after: at, ..edge.clone() }).collect();
        let name = &cluster.instance(instance).name;
        let step = instance_step(name, Task::Stop, Opcode::shutdown(name));
        self.push(step, &[cluster.node(node).spec.name.clone()], waits);
        at
    }

    /// Starts an instance that was stopped, after its move or what became of the move.
    fn go_on(
        &mut self,
        cluster: &Cluster,
        (instance, node): (InstanceIdx, NodeIdx),
        (stop, moved): (StepIdx, StepIdx),
    ) {
        let at = StepIdx::new(self.steps.len());
        let edge = |before, strength| Edge { before, after: at, strength, why: EdgeReason::Instance };
        let name = &cluster.instance(instance).name;
        let step = instance_step(name, Task::Start, Opcode::startup(name));
        let waits = vec![edge(stop, Strength::Must), edge(moved, Strength::Should)];
        self.push(step, &[cluster.node(node).spec.name.clone()], waits);
    }

    /// Number of steps so far.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Makes all later steps wait for all earlier ones, in the edges as well.
    pub(crate) fn barrier(&mut self) {
        let all: Vec<StepIdx> = (self.gate.1..self.steps.len()).map(StepIdx::new).collect();
        if !all.is_empty() {
            self.gate = (self.precedence.last(&all), self.steps.len());
        }
    }

    /// One stage: moves, each of a different instance, in any order.
    pub(crate) fn free_moves(&mut self, cluster: &Cluster, steps: &[Step]) {
        self.graph.barrier();
        for step in steps {
            let nodes = step.nodes(cluster).map(|node| cluster.node(node).spec.name.clone()).collect();
            self.touch(WorkStep::moving(cluster, step), nodes);
        }
    }

    /// One stage: an operation on instances where they are, by one opcode. It affects their primary nodes or, if it
    /// concerns disks, all their nodes.
    pub(crate) fn instances(
        &mut self,
        cluster: &Cluster,
        task: &Task,
        instances: &[&Instance],
        opcode: impl Fn(&str) -> Opcode,
    ) {
        self.graph.barrier();
        for instance in instances {
            let nodes = match task {
                Task::Resync => instance.nodes().collect(),
                _ => vec![instance.primary],
            };
            let nodes = nodes.into_iter().map(|node| cluster.node(node).spec.name.clone()).collect();
            self.touch(instance_step(&instance.name, task.clone(), opcode(&instance.name)), nodes);
        }
    }

    /// One stage: starts of instances, wherever they are.
    pub fn starts<'i>(&mut self, instances: impl IntoIterator<Item = &'i str>) {
        self.graph.barrier();
        for name in instances {
            self.touch(instance_step(name, Task::Start, Opcode::startup(name)), Vec::new());
        }
    }

    /// Adds a step on an instance, which waits for the last operation on the instance or its nodes.
    fn touch(&mut self, step: WorkStep, mut nodes: Vec<String>) {
        let at = StepIdx::new(self.steps.len());
        nodes.sort_unstable();
        nodes.dedup();
        let is_of_node = |before: &StepIdx| !self.steps[before.get()].task.is_of_instance();
        let done = nodes.iter().filter_map(|node| self.open.get(node)?.first().copied());
        let mut waits: Vec<Edge<EdgeReason<String>>> =
            done.filter(is_of_node).map(|before| order(before, at)).collect();
        let its_last = self.latest.insert(step.subject.clone(), at);
        let why = || EdgeReason::Instance;
        waits.extend(its_last.map(|before| Edge { before, after: at, strength: Strength::Must, why: why() }));
        self.push(step, &nodes, waits);
        nodes.into_iter().for_each(|node| self.open.entry(node).or_default().push(at));
    }

    /// One stage: an operation on nodes, by these opcodes.
    pub fn nodes(
        &mut self,
        task: &Task,
        nodes: impl IntoIterator<Item = String>,
        opcodes: impl Fn(&str) -> Vec<Opcode>,
    ) {
        self.graph.barrier();
        for node in nodes {
            let at = StepIdx::new(self.steps.len());
            let before = self.open.insert(node.clone(), vec![at]).unwrap_or_default();
            let mut waits: Vec<Edge<EdgeReason<String>>> =
                before.into_iter().map(|before| order(before, at)).collect();
            if matches!(task, Task::PowerOn | Task::PowerOff) {
                let last = self.power.replace(at);
                let why = EdgeReason::Power;
                waits.extend(last.map(|before| Edge { before, after: at, strength: Strength::Should, why }));
            }
            let step = WorkStep {
                subject: node.clone(),
                task: task.clone(),
                opcodes: opcodes(&node),
                freight: None,
            };
            self.push(step, &[node], waits);
        }
    }

    /// Adds a step with its dependencies, the strongest first. Dependencies that the others imply are left out.
    fn push(&mut self, step: WorkStep, nodes: &[String], mut waits: Vec<Edge<EdgeReason<String>>>) {
        self.graph.push(nodes.iter().cloned());
        let at = StepIdx::new(self.steps.len());
        self.steps.push(step);
        let begin = self.gate.1;
        if waits.iter().all(|edge| edge.before.get() < begin) {
            waits.extend(self.gate.0.iter().map(|before| order(*before, at)));
        }
        waits.sort_by_key(|edge| edge.before);
        waits.dedup_by_key(|edge| edge.before);
        let hard = |edge: &&Edge<EdgeReason<String>>| edge.strength != Strength::Should;
        let direct: Vec<StepIdx> = waits.iter().filter(hard).map(|edge| edge.before).collect();
        let direct = self.precedence.last(&direct);
        self.precedence.push(&direct);
        self.edges.extend(waits.into_iter().filter(|edge| !hard(&edge) || direct.contains(&edge.before)));
    }

    /// Returns the work.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti: no job or command may contain it.
    pub fn finish(self) -> Result<Work, Impossible> {
        self.steps.iter().try_for_each(WorkStep::check_names)?;
        Ok(Work { jobsets: self.graph.jobsets(), steps: self.steps, edges: self.edges })
    }
}

/// A dependency between operations on a node.
fn order(before: StepIdx, after: StepIdx) -> Edge<EdgeReason<String>> {
    Edge { before, after, strength: Strength::Must, why: EdgeReason::Order }
}

/// A dependency on room that another step makes.
fn room(before: StepIdx, after: StepIdx, node: String) -> Edge<EdgeReason<String>> {
    Edge { before, after, strength: Strength::Space, why: EdgeReason::Room(node) }
}

impl WorkStep {
    /// The step that moves an instance.
    pub fn moving(cluster: &Cluster, step: &Step) -> WorkStep {
        let instance = cluster.instance(step.instance);
        let leg =
            |(leg, from, to)| Some(relocation(cluster, Move::of_legs([leg])?, (from, to), Concession::None));
        WorkStep {
            subject: instance.name.clone(),
            task: if step.crosses(cluster) {
                Task::Cross(step.legs().filter_map(leg).collect())
            } else {
                Task::Move(relocation(cluster, step.mv, (step.from, step.to), step.concession))
            },
            opcodes: step_job(cluster, step),
            freight: Some(freight(cluster, step)),
        }
    }

    /// The steps of one move of a plan: the move itself, with the stop and start that it needs.
    pub(crate) fn of_move(cluster: &Cluster, step: &Step) -> Vec<WorkStep> {
        let name = |instance: InstanceIdx| cluster.instance(instance).name.as_str();
        let mut steps = Vec::new();
        if let Concession::Interruption { stopped, .. } = step.concession {
            steps.push(instance_step(name(stopped), Task::Stop, Opcode::shutdown(name(stopped))));
        }
        steps.push(WorkStep::moving(cluster, step));
        if step.concession == Concession::Restart {
            let its = name(step.instance);
            steps.push(instance_step(its, Task::Start, Opcode::startup(its)));
        }
        steps
    }
}

/// A step on an instance where it is.
fn instance_step(instance: &str, task: Task, opcode: Opcode) -> WorkStep {
    WorkStep { subject: instance.to_owned(), task, opcodes: vec![opcode], freight: None }
}

fn relocation(
    cluster: &Cluster,
    mv: Move,
    (from, to): (Placement, Placement),
    concession: Concession,
) -> Relocation {
    let name = |node: NodeIdx| Ok::<_, Infallible>(cluster.node(node).spec.name.clone());
    let (Ok(mv), Ok(from), Ok(to)) = (mv.try_map(name), from.try_map(name), to.try_map(name));
    let Ok(concession) = concession.try_map(|i| Ok::<_, Infallible>(cluster.instance(i).name.clone()));
    Relocation { mv, from, to, concession }
}

fn freight(cluster: &Cluster, step: &Step) -> MovedData {
    let instance = cluster.instance(step.instance);
    let migrates = step.legs().any(|(_, from, _)| step.migrates(cluster, from));
    let mut groups: Vec<String> =
        step.nodes(cluster).map(|node| cluster.group(cluster.node(node).spec.group).name.clone()).collect();
    groups.sort_unstable();
    groups.dedup();
    let stops = step.copies_while_stopped(cluster) && instance.status.is_running();
    MovedData { memory: migrates.then_some(instance.mem.0), disk: instance.disk.0, stops, groups }
}
