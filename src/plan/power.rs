//! The commands that carry a squeeze out: nodes drained, emptied, tagged and powered
//! down, or powered up, waited for and filled.

use super::command::command_list;
use super::jobset::jobsets;
use super::names::{Impossible, Name};
use super::opcode::PowerCommand;
use super::shell::{Command, Line};
use super::switching::Switching;
use crate::model::standby::{tags_added, tags_outdated, tags_removed};
use crate::model::{Cluster, NodeIdx};

/// The commands of one group on a cluster as it is before them.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn group_commands(cluster: &Cluster, plan: &Switching<'_>) -> Result<Vec<Line>, Impossible> {
    let moves = command_list(cluster, plan.steps, &jobsets(cluster, plan.steps))?;
    match plan.power {
        PowerCommand::PowerOff => condense(cluster, plan.nodes, moves),
        PowerCommand::PowerOn => expand(cluster, plan.nodes, moves),
    }
}

fn condense(cluster: &Cluster, nodes: &[NodeIdx], moves: Vec<Line>) -> Result<Vec<Line>, Impossible> {
    let mut lines = section("Drain Commands");
    for node in nodes {
        lines.push(modify(&["-f", "--auto-promote", "--drained=yes"], &Name::node(cluster, *node)?));
    }
    lines.extend(moves);
    lines.extend(section("Tagging Commands"));
    for node in nodes {
        let name = Name::node(cluster, *node)?;
        lines.extend(tags("remove-tags", &name, &tags_outdated(cluster, *node))?);
        lines.extend(tags("add-tags", &name, &tags_added(cluster, *node))?);
    }
    lines.extend(section("Power Commands"));
    for node in nodes {
        let name = Name::node(cluster, *node)?;
        lines.push(modify(&["-f", "--auto-promote", "--offline=yes"], &name));
        lines.push(power("off", &name));
    }
    Ok(lines)
}

fn expand(cluster: &Cluster, nodes: &[NodeIdx], moves: Vec<Line>) -> Result<Vec<Line>, Impossible> {
    let mut lines = vec![Line::heading("Power Commands")];
    for node in nodes {
        lines.push(power("on", &Name::node(cluster, *node)?));
    }
    for node in nodes {
        let name = Name::node(cluster, *node)?;
        lines.push(wait(&name));
        lines.push(modify(&["-f", "--offline=no"], &name));
        lines.extend(tags("remove-tags", &name, &tags_removed(cluster, *node))?);
    }
    lines.extend(moves);
    Ok(lines)
}

fn section(title: &str) -> Vec<Line> {
    vec![Line::Blank, Line::heading(title)]
}

fn modify(options: &[&'static str], node: &Name) -> Line {
    Line::Run(Command::new(&[&["gnt-node", "modify"], options].concat()).operand(node))
}

/// Switches the power of a node: `on`, `off` or `cycle`.
pub(super) fn power(word: &'static str, node: &Name) -> Line {
    Line::Run(Command::new(&["gnt-node", "power", "-f", word]).operand(node))
}

/// Waits until a node answers.
pub(super) fn wait(node: &Name) -> Line {
    Line::Until(Command::new(&["ssh", "-o", "BatchMode=yes"]).operand(node).word("true"))
}

/// Gives a node tags, or takes them; nothing if there are none.
fn tags(verb: &'static str, node: &Name, tags: &[String]) -> Result<Option<Line>, Impossible> {
    let command = || Command::new(&["gnt-node", verb]).operand(node);
    let tags = Name::tags(tags)?;
    Ok((!tags.is_empty()).then(|| Line::Run(command().operands(&tags))))
}

/// The commands of all groups in which something is done; `several` if there are more groups than
/// one, of which each is named.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn commands(cluster: &Cluster, plans: &[Switching<'_>], several: bool) -> Result<Vec<Line>, Impossible> {
    let mut lines = Vec::new();
    for plan in plans {
        if several {
            lines.push(Line::Blank);
            lines.push(Line::heading_of("Node group", &cluster.group(plan.group).name));
        }
        lines.extend(group_commands(cluster, plan)?);
    }
    if lines.is_empty() {
        lines.push(Line::heading("Nothing to do"));
    }
    Ok(lines)
}

/// What a script is about.
pub const SCRIPT_TITLE: &str = "\
# Powers the nodes down, or up, that hsqueeze planned, and moves instances before
# or after that.
";
