//! Nodes that need no maintenance, by the operator's commands `--skip-when` and `--only-when`.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use crate::execute::maintenance::{LeftNode, OperatorCommands, succeeds};
use crate::model::shown::shown_name;
use crate::tools::output::Output;

/// Commands for nodes that run at the same time.
const SIDE_BY_SIDE: usize = 16;

/// Nodes without need of maintenance, and problems of the commands that tell.
#[derive(Debug, Default)]
pub(super) struct Needless {
    pub left: Vec<LeftNode>,
    pub warnings: Vec<String>,
}

impl Needless {
    /// Asks the operator's commands which of these nodes need no maintenance; each command takes at most `limit`. Nodes
    /// for which a command cannot tell are maintained.
    pub(super) fn among(commands: &OperatorCommands, limit: Duration, nodes: &[String]) -> Needless {
        let mut found = Needless::default();
        let mut open = nodes.to_vec();
        let commands =
            [(&commands.skip_when, true, "--skip-when"), (&commands.only_when, false, "--only-when")];
        for (command, skips, option) in commands {
            let Some(command) = command else { continue };
            let answers = ask(command, &open, limit);
            let asked = std::mem::take(&mut open).into_iter().zip(answers);
            for (node, answer) in asked {
                if answer.as_ref().is_ok_and(|success| *success == skips) {
                    let why = format!("{option} says that it needs no maintenance");
                    found.left.push(LeftNode { node, why });
                    continue;
                }
                if let Err(problem) = answer {
                    found.warnings.push(format!("{option} for {}{problem}", shown_name(&node)));
                }
                open.push(node);
            }
        }
        found
    }

    /// Tells if a node needs no maintenance.
    pub(super) fn has(&self, node: &str) -> bool {
        self.left.iter().any(|left| left.node == node)
    }

    /// Prints the nodes and the problems to standard error.
    ///
    /// # Errors
    /// If standard error cannot be written.
    pub(super) fn tell(&self, output: &mut Output) -> anyhow::Result<()> {
        for warning in &self.warnings {
            output.error_line(&format!("Warning: {warning}"))?;
        }
        for LeftNode { node, why } in &self.left {
            output.error_line(&format!("{}: {why}", shown_name(node)))?;
        }
        Ok(())
    }
}

/// Tells for each node if the command succeeds, or why this is unknown.
fn ask(command: &str, nodes: &[String], limit: Duration) -> Vec<Result<bool, String>> {
    let mut answers = Vec::with_capacity(nodes.len());
    for some in nodes.chunks(SIDE_BY_SIDE) {
        thread::scope(|scope| {
            let ask = |node| succeeds(command, node, limit).map_err(|problem| problem.to_string());
            let asked: Vec<_> = some.iter().map(|node| scope.spawn(move || ask(node))).collect();
            let broken = |_| Err(" broke off".to_owned());
            answers.extend(asked.into_iter().map(|thread| thread.join().unwrap_or_else(broken)));
        });
    }
    answers
}

/// Nodes that are known to need maintenance until the next batch begins, so that they are asked only once.
#[derive(Debug, Default)]
pub(super) struct KnownNeed(BTreeSet<String>);

impl KnownNeed {
    /// Asks the commands about the nodes that are not known to need maintenance.
    pub(super) fn needless(
        &mut self,
        commands: &OperatorCommands,
        limit: Duration,
        nodes: &[String],
    ) -> Needless {
        let mut open: Vec<String> = nodes.iter().filter(|node| !self.0.contains(*node)).cloned().collect();
        let found = Needless::among(commands, limit, &open);
        open.retain(|node| !found.has(node));
        self.0.extend(open);
        found
    }

    /// Forgets all nodes.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_is_left_out_once() {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let commands = OperatorCommands {
            skip_when: Some("test {node} != needs".to_owned()),
            only_when: Some("test {node} = needs".to_owned()),
            ..OperatorCommands::default()
        };
        let limit = Duration::from_secs(60);
        let mut known = KnownNeed::default();
        for _ in 0..2 {
            let found = known.needless(&commands, limit, &named(&["one", "needs", "other"]));
            let left: Vec<String> = found.left.into_iter().map(|left| left.node).collect();
            assert_eq!((left, found.warnings), (named(&["one", "other"]), Vec::new()));
        }
        assert_eq!(known.0.into_iter().collect::<Vec<_>>(), named(&["needs"]));
    }
}
