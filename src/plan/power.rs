//! The commands that carry a squeeze out: nodes drained, emptied, tagged and powered
//! down, or powered up, waited for and filled.

use super::command::command_list;
use super::jobset::{Jobset, jobsets};
use super::names::{Impossible, Name};
use super::shell::{Command, Line};
use crate::model::{Cluster, NodeIdx};
use crate::search::squeeze::standby::{NodeSize, SIZE_TAG};
use crate::search::squeeze::{AUTO, Decision, GroupPlan, is_standby};

/// The tags that a node gets when it is powered down: one that makes it a standby node,
/// unless it is one already, and one that remembers its size.
pub fn tags_added(cluster: &Cluster, node: NodeIdx) -> Vec<String> {
    let there = cluster.node(node);
    let has = |tag: &String| there.spec.tags.contains(tag);
    let auto = (!is_standby(cluster, node)).then(|| AUTO.to_owned());
    let size = Some(size_when_empty(cluster, node).tag()).filter(|tag| !has(tag));
    auto.into_iter().chain(size).collect()
}

/// The tags that a node loses when it is powered down: older ones about its size.
pub fn tags_outdated(cluster: &Cluster, node: NodeIdx) -> Vec<String> {
    let current = size_when_empty(cluster, node).tag();
    let tags = cluster.node(node).spec.tags.iter();
    tags.filter(|tag| tag.starts_with(SIZE_TAG) && **tag != current).cloned().collect()
}

/// The tags that a node loses when it is powered up: the one it got from the program.
pub fn tags_removed(cluster: &Cluster, node: NodeIdx) -> Vec<String> {
    cluster.node(node).spec.tags.iter().filter(|tag| *tag == AUTO).cloned().collect()
}

/// The size of a node without its instances.
fn size_when_empty(cluster: &Cluster, node: NodeIdx) -> NodeSize {
    let there = cluster.node(node);
    let state = &there.state;
    let on_node = state.primaries.iter().chain(&state.secondaries).map(|i| cluster.instance(*i));
    let mut size = NodeSize::of(there);
    for instance in on_node {
        size.free_disk = size.free_disk.wrapping_add(instance.local_disk().0);
        if there.spec.exclusive_storage {
            size.free_spindles = size.free_spindles.wrapping_add(instance.spindles.unwrap_or(0));
        }
    }
    size
}

/// The commands of one group on a cluster as it is before them.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn group_commands(cluster: &Cluster, plan: &GroupPlan) -> Result<Vec<Line>, Impossible> {
    let sets: Vec<Jobset> = jobsets(cluster, &plan.steps);
    let moves = command_list(cluster, &plan.steps, &sets)?;
    match plan.decision {
        Decision::Nothing => Ok(Vec::new()),
        Decision::Condense => condense(cluster, &plan.nodes, moves),
        Decision::Expand => expand(cluster, &plan.nodes, moves),
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

/// The commands of all groups.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn commands(cluster: &Cluster, plans: &[GroupPlan]) -> Result<Vec<Line>, Impossible> {
    let mut lines = Vec::new();
    for plan in plans.iter().filter(|plan| plan.decision != Decision::Nothing) {
        if plans.len() > 1 {
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
