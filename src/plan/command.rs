//! The commands that carry a plan out by hand.

use super::jobset::Jobset;
use super::names::{Impossible, Name};
use super::shell::{Command, Line};
use crate::model::{Cluster, Instance, NodeIdx};
use crate::search::{Move, Step};

/// The commands of one step, in order. Names are full names: an alias may mean
/// nothing, or something else, where the commands run.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn commands(cluster: &Cluster, step: &Step) -> Result<Vec<Command>, Impossible> {
    let instance = cluster.instance(step.instance);
    let name = Name::instance(instance)?;
    let target = step.mv.target().map(|node| Name::node(cluster, node)).transpose()?;
    let go = |to: Option<&Name>| go(verb(instance), &name, to);
    let replace = || target.as_ref().map(|node| replace(&name, node));
    Ok(match step.mv {
        Move::Failover => vec![go(None)],
        Move::FailoverTo(_) => vec![go(target.as_ref())],
        Move::ReplaceSecondary(_) => replace().into_iter().collect(),
        Move::ReplaceAndFailover(_) => replace().into_iter().chain([go(None)]).collect(),
        Move::ReplacePrimary(_) => [go(None)].into_iter().chain(replace()).chain([go(None)]).collect(),
        Move::FailoverAndReplace(_) => [go(None)].into_iter().chain(replace()).collect(),
    })
}

/// A running instance migrates; another one is failed over.
fn verb(instance: &Instance) -> &'static str {
    if instance.status.is_running() { "migrate" } else { "failover" }
}

/// An instance changes its primary node, to one that is named where its storage leaves a choice.
pub(super) fn go(verb: &'static str, instance: &Name, to: Option<&Name>) -> Command {
    let command = Command::new(&["gnt-instance", verb, "-f"]);
    to.into_iter().fold(command, |command, node| command.option("-n", node)).operand(instance)
}

/// The disks of an instance are copied to a new secondary node.
pub(super) fn replace(instance: &Name, node: &Name) -> Command {
    Command::new(&["gnt-instance", "replace-disks"]).option("-n", node).operand(instance)
}

/// What stands before the commands of a script.
pub const SCRIPT_TITLE: &str = "\
# Carries out the moves that hbal planned, in order. Jobs of one jobset touch
# different nodes; they may also be started side by side.
";

/// The list of all commands, by jobset and job.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn command_list(cluster: &Cluster, steps: &[Step], jobsets: &[Jobset]) -> Result<Vec<Line>, Impossible> {
    by_jobset(jobsets, |position| commands(cluster, &steps[position]))
}

/// Commands by jobset and job, given those of each position.
pub(super) fn by_jobset(
    jobsets: &[Jobset],
    commands: impl Fn(usize) -> Result<Vec<Command>, Impossible>,
) -> Result<Vec<Line>, Impossible> {
    let mut lines = Vec::new();
    for (number, set) in (1..).zip(jobsets) {
        lines.push(Line::Blank);
        lines.push(Line::heading(format_args!("jobset {number}, {} jobs", set.len())));
        for (job, position) in (1..).zip(set) {
            lines.push(Line::Job(format!("job {number}/{job}")));
            lines.push(Line::Check);
            lines.extend(commands(*position)?.into_iter().map(Line::Run));
        }
    }
    Ok(lines)
}

/// How a move is written in step lines: `f` for a change of the primary to the
/// secondary, `r:NODE` for a new secondary, `fa:NODE` for any other node.
pub fn notation(cluster: &Cluster, mv: Move) -> String {
    let alias = |n: NodeIdx| cluster.node(n).spec.alias();
    match mv {
        Move::Failover => "f".to_owned(),
        Move::FailoverTo(t) => format!("fa:{}", alias(t)),
        Move::ReplaceSecondary(t) => format!("r:{}", alias(t)),
        Move::ReplaceAndFailover(t) => format!("r:{} f", alias(t)),
        Move::ReplacePrimary(t) => format!("f r:{} f", alias(t)),
        Move::FailoverAndReplace(t) => format!("f r:{}", alias(t)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{InstanceIdx, Placement};
    use crate::testing::cluster;

    const NODES: [&str; 3] = [
        "n1.x|9000|0|8000|90000|80000|9|N|u",
        "n2.x|9000|0|9000|90000|80000|9|N|u",
        "n3.x|9000|0|9000|90000|90000|9|N|u",
    ];

    /// The commands of a move of an instance in the given state.
    fn commands_of(mv: Move, status: &str) -> Vec<String> {
        let instance = format!("web.x|1000|10000|1|{status}|Y|n1.x|n2.x|drbd|");
        let cluster = cluster(&NODES, &[&instance], &[]);
        let here = Placement { primary: NodeIdx::new(0), secondary: Some(NodeIdx::new(1)) };
        let step = Step { instance: InstanceIdx::new(0), mv, from: here, to: here, score: 0.0 };
        commands(&cluster, &step).unwrap().iter().map(Command::to_string).collect()
    }

    #[test]
    fn moves_become_commands_with_full_names() {
        let t = NodeIdx::new(2);
        let (go, copy) = ("gnt-instance migrate -f web.x", "gnt-instance replace-disks -n n3.x web.x");
        for (mv, expected) in [
            (Move::Failover, vec![go]),
            (Move::FailoverTo(t), vec!["gnt-instance migrate -f -n n3.x web.x"]),
            (Move::ReplaceSecondary(t), vec![copy]),
            (Move::ReplaceAndFailover(t), vec![copy, go]),
            (Move::ReplacePrimary(t), vec![go, copy, go]),
            (Move::FailoverAndReplace(t), vec![go, copy]),
        ] {
            assert_eq!(commands_of(mv, "running"), expected, "{mv:?}");
        }
    }

    #[test]
    fn what_does_not_run_fails_over() {
        assert_eq!(commands_of(Move::Failover, "ADMIN_down"), ["gnt-instance failover -f web.x"]);
        assert_eq!(commands_of(Move::Failover, "ERROR_up"), ["gnt-instance migrate -f web.x"]);
    }
}
