//! Graphs in Pacemaker's DOT files, reduced to their actions and the order between them.

use std::collections::{BTreeMap, BTreeSet};

/// The commands of a graph, and all pairs of them in which one precedes the other, directly or not. Pseudo-actions
/// only carry the order, as do monitors, other recurring operations and notifications.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Closure {
    /// The actions in the file's notation: `vm1_start_0 node2`. Instances of clones are without their numbers, which
    /// have no meaning.
    pub actions: BTreeSet<String>,
    /// Pairs of actions in which the first precedes the second.
    pub order: BTreeSet<(String, String)>,
}

/// The actions of a graph that are not dashed, and the edges between them.
#[derive(Debug, Default)]
pub struct BoldGraph<'d> {
    /// The actions; true for one that is only a mark.
    pub actions: BTreeMap<&'d str, bool>,
    /// Pairs of actions in which the first precedes the second.
    pub edges: Vec<(&'d str, &'d str)>,
}

impl<'d> BoldGraph<'d> {
    /// Reads a graph of crm_simulate, or one in its style.
    pub fn read(dot: &'d str) -> BoldGraph<'d> {
        let mut graph = BoldGraph::default();
        for line in dot.lines() {
            let parts: Vec<&str> = line.split('"').collect();
            match parts[..] {
                ["", before, " -> ", after, style] if style.contains("style = bold") => {
                    graph.edges.push((before, after));
                }
                ["", name, ref style @ ..] if style.iter().any(|part| part.contains("style=bold")) => {
                    graph.actions.insert(name, style.contains(&"orange"));
                }
                _ => {}
            }
        }
        graph
    }
}

/// Reduces a graph of crm_simulate, or one in its style. Dashed actions are left out.
pub fn closure(dot: &str) -> Closure {
    let graph = BoldGraph::read(dot);
    let names: BTreeMap<&str, bool> =
        graph.actions.iter().map(|(name, is_mark)| (*name, is_command(name, *is_mark))).collect();
    let mut following: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (before, after) in graph.edges {
        following.entry(before).or_default().push(after);
    }
    let commands = || names.iter().filter(|(_, command)| **command).map(|(name, _)| *name);
    let mut closure = Closure { actions: commands().map(without_number).collect(), ..Closure::default() };
    for command in commands() {
        let mut seen = BTreeSet::new();
        let mut left: Vec<&str> = following.get(command).cloned().unwrap_or_default();
        while let Some(next) = left.pop() {
            let Some(is_command) = names.get(next) else { continue };
            if seen.insert(next) {
                left.extend(following.get(next).into_iter().flatten());
                if *is_command {
                    closure.order.insert((without_number(command), without_number(next)));
                }
            }
        }
    }
    closure
}

/// Tells if an action is a command. Stops by fencing are commands; starts at the end of live migrations are not.
fn is_command(name: &str, is_mark: bool) -> bool {
    let Some((key, _)) = name.split_once(' ') else { return false };
    let is_start = is_mark && key.ends_with("_start_0");
    let interval = key.rsplit_once('_').map_or("0", |(_, interval)| interval);
    let is_recurring = interval != "0" && interval.bytes().all(|letter| letter.is_ascii_digit());
    let other = ["_monitor_", "_notify_", "_clear_failcount_", "_asyncmon_", "_delete_"];
    !is_start
        && !is_recurring
        && key != "Cancel"
        && !key.starts_with("load_stopped_")
        && !other.iter().any(|part| key.contains(part))
}

/// `storage:1_start_0 node2` as `storage_start_0 node2`.
pub fn without_number(action: &str) -> String {
    let Some((resource, rest)) = action.split_once(':') else { return action.to_owned() };
    format!("{resource}{}", rest.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}

/// The differences between both, for people.
pub fn difference(ours: &Closure, theirs: &Closure) -> Vec<String> {
    let mut lines = Vec::new();
    for (whose, one, other) in [("ours", ours, theirs), ("theirs", theirs, ours)] {
        lines.extend(one.actions.difference(&other.actions).map(|action| format!("only {whose}: {action}")));
        let pairs = one.order.difference(&other.order);
        lines.extend(pairs.map(|(before, after)| format!("only {whose}: {before} -> {after}")));
    }
    lines
}
