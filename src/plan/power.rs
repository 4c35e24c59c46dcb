//! The commands that carry a squeeze out: nodes drained, emptied, tagged and powered
//! down, or powered up, waited for and filled.

use super::command::{Line, command_list};
use super::jobset::{Jobset, jobsets};
use super::maintenance::quoted;
use crate::model::{Cluster, NodeIdx};
use crate::search::squeeze::standby::{SIZE_TAG, Size};
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
fn size_when_empty(cluster: &Cluster, node: NodeIdx) -> Size {
    let there = cluster.node(node);
    let state = &there.state;
    let on_node = state.primaries.iter().chain(&state.secondaries).map(|i| cluster.instance(*i));
    let mut size = Size::of(there);
    for instance in on_node {
        size.free_disk = size.free_disk.wrapping_add(instance.local_disk().0);
        if there.spec.exclusive_storage {
            size.free_spindles = size.free_spindles.wrapping_add(instance.spindles.unwrap_or(0));
        }
    }
    size
}

/// The commands of one group on a cluster as it is before them.
pub fn group_commands(cluster: &Cluster, plan: &GroupPlan) -> Vec<Line> {
    let sets: Vec<Jobset> = jobsets(cluster, &plan.steps);
    let moves = command_list(cluster, &plan.steps, &sets);
    let name = |n: &NodeIdx| quoted(&cluster.node(*n).spec.name);
    let on_each = |command: &str| -> Vec<String> {
        plan.nodes.iter().map(|n| format!("  {command} {}", name(n))).collect()
    };
    let mut lines = Lines::default();
    match plan.decision {
        Decision::Nothing => {}
        Decision::Condense => {
            lines.section("Drain Commands", on_each("gnt-node modify -f --auto-promote --drained=yes"));
            lines.0.extend(moves);
            lines.section("Tagging Commands", plan.nodes.iter().flat_map(|n| tagging(cluster, *n)));
            let off = plan.nodes.iter().flat_map(|n| {
                let name = name(n);
                [
                    format!("  gnt-node modify -f --auto-promote --offline=yes {name}"),
                    format!("  gnt-node power -f off {name}"),
                ]
            });
            lines.section("Power Commands", off);
        }
        Decision::Expand => {
            lines.text("echo Power Commands");
            on_each("gnt-node power -f on").into_iter().for_each(|line| lines.text(line));
            for node in &plan.nodes {
                let name = name(node);
                lines.text(format!("  until ssh -o BatchMode=yes {name} true; do sleep 10; done"));
                lines.text(format!("  gnt-node modify -f --offline=no {name}"));
                let tags = words(&tags_removed(cluster, *node));
                if !tags.is_empty() {
                    lines.text(format!("  gnt-node remove-tags {name}{tags}"));
                }
            }
            lines.0.extend(moves);
        }
    }
    lines.0
}

fn tagging(cluster: &Cluster, node: NodeIdx) -> impl Iterator<Item = String> {
    let name = quoted(&cluster.node(node).spec.name);
    let command = |verb: &str, tags: Vec<String>| {
        (!tags.is_empty()).then(|| format!("  gnt-node {verb}-tags {name}{}", words(&tags)))
    };
    let outdated = command("remove", tags_outdated(cluster, node));
    outdated.into_iter().chain(command("add", tags_added(cluster, node)))
}

fn words(tags: &[String]) -> String {
    let plain = |tag: &String| tag.chars().all(|c| c.is_ascii_alphanumeric() || "._-:/+@".contains(c));
    tags.iter().map(|tag| if plain(tag) { format!(" {tag}") } else { format!(" {}", quoted(tag)) }).collect()
}

/// The commands of all groups.
pub fn commands(cluster: &Cluster, plans: &[GroupPlan]) -> Vec<Line> {
    let mut lines = Lines::default();
    for plan in plans.iter().filter(|plan| plan.decision != Decision::Nothing) {
        if plans.len() > 1 {
            lines.text("");
            lines.text(format!("echo Node group {}", quoted(&cluster.group(plan.group).name)));
        }
        lines.0.extend(group_commands(cluster, plan));
    }
    if lines.0.is_empty() {
        lines.text("echo Nothing to do");
    }
    lines.0
}

#[derive(Default)]
struct Lines(Vec<Line>);

impl Lines {
    fn text(&mut self, line: impl Into<String>) {
        self.0.push(Line::Text(line.into()));
    }

    fn section(&mut self, title: &str, lines: impl IntoIterator<Item = String>) {
        self.text("");
        self.text(format!("echo {title}"));
        lines.into_iter().for_each(|line| self.text(line));
    }
}

/// What a script is about.
pub const SCRIPT_TITLE: &str = "\
# Powers the nodes down, or up, that hsqueeze planned, and moves instances before
# or after that.
";
