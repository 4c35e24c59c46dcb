//! Moves between groups: what can run at the same time, with which commands and opcodes.

use super::command::{by_jobset, go, replace};
use super::jobset::{Jobset, disjoint};
use super::names::{Impossible, Name};
use super::opcode::{Opcode, job};
use super::shell::{Command, Line};
use crate::model::{Cluster, Instance, NodeIdx, Placement};
use crate::search::regroup::Passage;
use crate::search::{Move, Step};

/// What stands before the commands of a script.
pub const SCRIPT_TITLE: &str = "\
# Carries out the moves between node groups that hgroup planned, in order. Jobs of one
# jobset touch different nodes; they may also be started side by side.
";

/// Groups the moves of a plan as hbal groups its steps: those of a jobset touch different
/// nodes.
pub fn jobsets(passages: &[Passage]) -> Vec<Jobset> {
    let nodes = |p: &Passage| -> Vec<NodeIdx> {
        let both = |at: Placement| [Some(at.primary), at.secondary].into_iter().flatten();
        both(p.from).chain(both(p.to)).collect()
    };
    let touched: Vec<Vec<NodeIdx>> = passages.iter().map(nodes).collect();
    disjoint(&touched)
}

/// What Ganeti has to do for a move, in order.
pub fn opcodes(cluster: &Cluster, passage: &Passage) -> Vec<Opcode> {
    let moves: Vec<Move> = passage.legs.iter().map(|leg| leg.mv).collect();
    job(cluster, cluster.instance(passage.instance), &moves)
}

/// The commands of a move, in order, with full names.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn commands(cluster: &Cluster, passage: &Passage) -> Result<Vec<Command>, Impossible> {
    let instance = cluster.instance(passage.instance);
    let name = Name::instance(instance)?;
    let command = |leg: &Step| {
        let node = |n: NodeIdx| Name::node(cluster, n);
        let verb = verb(cluster, instance, leg.from.primary);
        Ok(match leg.mv {
            Move::ReplaceSecondary(t) => replace(&name, &node(t)?),
            Move::FailoverTo(t) => go(verb, &name, Some(&node(t)?)),
            _ => go(verb, &name, None),
        })
    };
    passage.legs.iter().map(command).collect()
}

/// What runs migrates. Nothing runs on an offline node; what has been failed over from there
/// runs if it should.
fn verb(cluster: &Cluster, instance: &Instance, from: NodeIdx) -> &'static str {
    let offline = |node: NodeIdx| cluster.node(node).spec.offline;
    let runs = match offline(instance.primary) {
        true => instance.status.uses_memory(),
        false => instance.status.is_running(),
    };
    if runs && !offline(from) { "migrate" } else { "failover" }
}

/// The list of all commands, by jobset and job.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn command_list(
    cluster: &Cluster,
    passages: &[Passage],
    jobsets: &[Jobset],
) -> Result<Vec<Line>, Impossible> {
    by_jobset(jobsets, |position| commands(cluster, &passages[position]))
}
