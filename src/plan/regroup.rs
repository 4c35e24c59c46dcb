//! Moves between groups: what can run at the same time, with which commands and opcodes.

use super::command::{Line, by_jobset};
use super::jobset::{Jobset, disjoint};
use super::opcode::{Opcode, job};
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
pub fn commands(cluster: &Cluster, passage: &Passage) -> Vec<String> {
    let instance = cluster.instance(passage.instance);
    let command = |leg: &Step| {
        let node = |n: NodeIdx| cluster.node(n).spec.name.as_str();
        let verb = verb(cluster, instance, leg.from.primary);
        match leg.mv {
            Move::ReplaceSecondary(t) => {
                format!("gnt-instance replace-disks -n {} {}", node(t), instance.name)
            }
            Move::FailoverTo(t) => format!("gnt-instance {verb} -f -n {} {}", node(t), instance.name),
            _ => format!("gnt-instance {verb} -f {}", instance.name),
        }
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
pub fn command_list(cluster: &Cluster, passages: &[Passage], jobsets: &[Jobset]) -> Vec<Line> {
    by_jobset(jobsets, |position| commands(cluster, &passages[position]))
}
