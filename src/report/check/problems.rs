//! What is wrong, by name (`--list-problems`).

use super::{CheckResult, Snapshot, When};
use crate::load::tag_review::{IdleTag, Owner, Reason};
use crate::model::shown::printable;
use crate::model::{Cluster, InstanceIdx, NodeIdx};
use crate::search::health::GroupHealth;

/// Most characters of a line.
const LINE: usize = 2000;

/// All problems, line by line, with headings.
pub fn problem_lines(check: &CheckResult, cluster: &Cluster) -> Vec<String> {
    let mut lines = Vec::new();
    let after = check.rebalanced.iter().map(|state| (When::Rebalanced, state));
    for (when, state) in [(When::Initially, &check.initial)].into_iter().chain(after) {
        lines.extend(of_state(state, cluster, when));
    }
    if !check.idle_tags.is_empty() {
        lines.extend([String::new(), "Tags without effect".to_owned()]);
        lines.extend(check.idle_tags.iter().map(|tag| format!("    {}", tag_text(tag))));
    }
    if lines.is_empty() {
        lines.extend([String::new(), "No problems found".to_owned()]);
    }
    lines.iter().map(|line| printable(line, LINE)).collect()
}

fn of_state(state: &Snapshot, cluster: &Cluster, when: When) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &state.groups {
        let problems = of_group(group, cluster, when);
        if !problems.is_empty() {
            let name = &cluster.group(group.group).name;
            lines.extend([String::new(), format!("Problems of group {name} {}", when.text())]);
            lines.extend(problems.iter().map(|problem| format!("    {problem}")));
        }
    }
    lines
}

fn of_group(group: &GroupHealth, cluster: &Cluster, when: When) -> Vec<String> {
    let node = |n: &NodeIdx| cluster.node(*n).spec.name.as_str();
    let instance = |i: &InstanceIdx| cluster.instance(*i).name.as_str();
    let mut lines = Vec::new();
    let n1 = group.n1_failing.iter();
    lines.extend(n1.map(|n| format!("{}: lacks memory for instances that fail over to it", node(n))));
    for conflict in &group.conflicts {
        let names: Vec<&str> = conflict.instances.iter().map(instance).collect();
        let tag = cluster.tag_table.name(conflict.tag);
        lines.push(format!(
            "{}: exclusion tag {tag} more than once: {}",
            node(&conflict.node),
            names.join(", ")
        ));
    }
    // after balancing, instances are elsewhere than the cluster says
    let is_on = |i: &InstanceIdx, which: &str| {
        let at = cluster.instance(*i);
        let place = if which == "primary" { Some(at.primary) } else { at.mirror() };
        match (when, place) {
            (When::Initially, Some(place)) => {
                format!("{}: its {which} node {} is offline", instance(i), node(&place))
            }
            _ => format!("{}: its {which} node is offline", instance(i)),
        }
    };
    lines.extend(group.offline_primary.iter().map(|i| is_on(i, "primary")));
    lines.extend(group.offline_secondary.iter().map(|i| is_on(i, "secondary")));
    let at_risk = group.at_risk.iter().flatten();
    lines
        .extend(at_risk.map(|n| format!("{}: not all its instances would find a place without it", node(n))));
    lines
}

fn tag_text(idle: &IdleTag) -> String {
    let owner = match &idle.owner {
        Owner::Cluster => "the cluster".to_owned(),
        Owner::Group(name) => format!("group {name}"),
        Owner::Node(name) => format!("node {name}"),
        Owner::Instance(name) => format!("instance {name}"),
    };
    let reason = match idle.reason {
        Reason::Unknown => "means nothing there",
        Reason::Malformed => "is incomplete",
        Reason::Unused => "matches nothing",
    };
    format!("{} of {owner}: {reason}", idle.tag)
}
