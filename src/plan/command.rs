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
    let mut lines = Vec::new();
    for (number, set) in (1..).zip(jobsets) {
        lines.push(Line::Text(String::new()));
        lines.push(Line::Text(format!("echo jobset {number}, {} jobs", set.len())));
        for (job, position) in (1..).zip(set) {
            lines.push(Line::Text(format!("  echo job {number}/{job}")));
            lines.push(Line::Check);
            let commands = commands(cluster, &steps[*position]);
            lines.extend(commands.into_iter().map(|c| Line::Text(format!("  {c}"))));
        }
    }
    lines
}

/// What stands before the commands of a script. The stop file is the one that
/// administrators know.
const SCRIPT_HEAD: &str = "\
#!/bin/sh

# Carries out the moves that hbal planned, in order. Jobs of one jobset touch
# different nodes; they may also be started side by side.
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
    let mut text = SCRIPT_HEAD.to_owned();
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
