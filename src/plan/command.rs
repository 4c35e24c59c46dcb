//! The commands that carry a plan out by hand.

use super::jobset::Jobset;
use crate::model::{Cluster, Instance, NodeIdx};
use crate::search::{Move, Step};

/// The commands of one step, in order. Names are full names: an alias may mean
/// nothing, or something else, where the commands run.
pub fn commands(cluster: &Cluster, step: &Step) -> Vec<String> {
    let instance = cluster.instance(step.instance);
    let node = |n: NodeIdx| cluster.node(n).spec.name.as_str();
    let name = &instance.name;
    let go = || format!("gnt-instance {} -f {name}", verb(instance));
    let replace = |t| format!("gnt-instance replace-disks -n {} {name}", node(t));
    match step.mv {
        Move::Failover => vec![go()],
        Move::FailoverTo(t) => vec![format!("gnt-instance {} -f -n {} {name}", verb(instance), node(t))],
        Move::ReplaceSecondary(t) => vec![replace(t)],
        Move::ReplaceAndFailover(t) => vec![replace(t), go()],
        Move::ReplacePrimary(t) => vec![go(), replace(t), go()],
        Move::FailoverAndReplace(t) => vec![go(), replace(t)],
    }
}

/// A running instance migrates; another one is failed over.
fn verb(instance: &Instance) -> &'static str {
    if instance.status.is_running() { "migrate" } else { "failover" }
}

/// A line of a command list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Printed and written alike.
    Text(String),
    /// The point where a script looks whether it should stop; not printed.
    Check,
}

/// The list of all commands, by jobset and job.
pub fn command_list(cluster: &Cluster, steps: &[Step], jobsets: &[Jobset]) -> Vec<Line> {
    by_jobset(jobsets, |position| commands(cluster, &steps[position]))
}

/// Commands by jobset and job, given those of each position.
pub(super) fn by_jobset(jobsets: &[Jobset], commands: impl Fn(usize) -> Vec<String>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, set) in (1..).zip(jobsets) {
        lines.push(Line::Text(String::new()));
        lines.push(Line::Text(format!("echo jobset {number}, {} jobs", set.len())));
        for (job, position) in (1..).zip(set) {
            lines.push(Line::Text(format!("  echo job {number}/{job}")));
            lines.push(Line::Check);
            lines.extend(commands(*position).into_iter().map(|c| Line::Text(format!("  {c}"))));
        }
    }
    lines
}

/// What stands before the commands of a script. The stop file is the one that
/// administrators know.
const SCRIPT_TITLE: &str = "\
# Carries out the moves that hbal planned, in order. Jobs of one jobset touch
# different nodes; they may also be started side by side.
";
const SCRIPT_HEAD: &str = "\
# The script stops at the first command that fails, and before the next job
# once this file exists: /tmp/stop-htools

set -e

check() {
  if [ -e /tmp/stop-htools ]; then
    echo 'Stopping: /tmp/stop-htools exists'
    exit 0
  fi
}

";

/// A shell script of the commands.
pub fn script(lines: &[Line]) -> String {
    script_titled(SCRIPT_TITLE, lines)
}

/// A shell script of commands that begins by saying what they are for.
pub fn script_titled(title: &str, lines: &[Line]) -> String {
    let mut text = format!("#!/bin/sh\n\n{title}{SCRIPT_HEAD}");
    for line in lines {
        text.push_str(match line {
            Line::Text(line) => line,
            Line::Check => "  check",
        });
        text.push('\n');
    }
    text
}

/// The commands for a person: indented, without the points to stop at.
pub fn listing(lines: &[Line]) -> Vec<String> {
    let text = |line: &Line| match line {
        Line::Text(line) => Some(format!("  {line}")),
        Line::Check => None,
    };
    lines.iter().filter_map(text).collect()
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
        commands(&cluster, &step)
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
