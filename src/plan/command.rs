//! The commands that carry a plan out by hand.

use super::jobset::Jobset;
use super::names::{Impossible, Name};
use super::shell::{Command, Line};
use crate::model::{Cluster, Concession, Leg, Move, NodeIdx, Placement, Step};

/// The commands of one step, in order. Names are full names: an alias may mean
/// nothing, or something else, where the commands run.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn commands(cluster: &Cluster, step: &Step) -> Result<Vec<Command>, Impossible> {
    let name = Name::instance(cluster.instance(step.instance))?;
    let command = |(leg, from, _)| leg_command(cluster, leg, verb(cluster, step, from), &name);
    let stop = match step.concession {
        Concession::Interruption { stopped, .. } => {
            let stopped = Name::instance(cluster.instance(stopped))?;
            Some(Command::new(&["gnt-instance", "shutdown"]).operand(&stopped))
        }
        _ => None,
    };
    let restarts = step.concession == Concession::Restart;
    let start = restarts.then(|| Command::new(&["gnt-instance", "startup"]).operand(&name));
    let legs = step.legs().map(command);
    stop.map(Ok).into_iter().chain(legs).chain(start.map(Ok)).collect()
}

/// The command of one leg; with `verb` the instance changes its primary node, to one that is named
/// where its storage leaves a choice.
pub(super) fn leg_command(
    cluster: &Cluster,
    leg: Leg,
    verb: &'static str,
    instance: &Name,
) -> Result<Command, Impossible> {
    let change = Command::new(&["gnt-instance", verb, "-f"]);
    let command = match leg {
        Leg::Failover => change,
        Leg::FailoverTo(node) => change.option("-n", &Name::node(cluster, node)?),
        Leg::ReplaceSecondary(node) => {
            Command::new(&["gnt-instance", "replace-disks"]).option("-n", &Name::node(cluster, node)?)
        }
    };
    Ok(command.operand(instance))
}

/// A running instance migrates; another one is failed over. On its way to another group an
/// instance leaves an offline node first, where nothing runs; then it runs if it should.
fn verb(cluster: &Cluster, step: &Step, from: Placement) -> &'static str {
    let instance = cluster.instance(step.instance);
    let offline = |at: Placement| step.crosses(cluster) && cluster.node(at.primary).spec.offline;
    if step.concession == Concession::Restart {
        return "failover";
    }
    let runs = match offline(step.from) {
        true => instance.status.uses_memory(),
        false => instance.status.is_running(),
    };
    if runs && !offline(from) { "migrate" } else { "failover" }
}

/// What stands before the commands of a script.
pub const BALANCE_TITLE: &str = "\
# Carries out the moves that hbal planned, in order. Jobs of one jobset touch
# different nodes; they may also be started side by side.
";

/// The same for moves between groups.
pub const REGROUP_TITLE: &str = "\
# Carries out the moves between node groups that hgroup planned, in order. Jobs of one
# jobset touch different nodes; they may also be started side by side.
";

/// The list of all commands, by jobset and job.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn command_list(cluster: &Cluster, steps: &[Step], jobsets: &[Jobset]) -> Result<Vec<Line>, Impossible> {
    let mut lines = Vec::new();
    for (number, set) in (1..).zip(jobsets) {
        lines.push(Line::Blank);
        lines.push(Line::heading(format_args!("jobset {number}, {} jobs", set.len())));
        for (job, position) in (1..).zip(set) {
            lines.push(Line::Job(format!("job {number}/{job}")));
            lines.push(Line::Check);
            lines.extend(commands(cluster, &steps[position.get()])?.into_iter().map(Line::Run));
        }
    }
    Ok(lines)
}

/// How a move is written in step lines: `f` for a change of the primary to the
/// secondary, `r:NODE` for a new secondary, `fa:NODE` for any other node.
pub fn notation(cluster: &Cluster, mv: Move) -> String {
    let alias = |n: NodeIdx| cluster.node(n).spec.alias();
    let letters = mv.legs().map(|leg| match leg {
        Leg::Failover => "f".to_owned(),
        Leg::FailoverTo(t) => format!("fa:{}", alias(t)),
        Leg::ReplaceSecondary(t) => format!("r:{}", alias(t)),
    });
    letters.collect::<Vec<_>>().join(" ")
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
        let step = Step {
            instance: InstanceIdx::new(0),
            mv,
            from: here,
            to: here,
            score: 0.0,
            concession: Concession::None,
        };
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
