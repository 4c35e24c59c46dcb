//! Problems by name (`--list-problems`).

use super::{CheckResult, CheckStage, Snapshot};
use crate::affinity::UnmetKey;
use crate::load::tag_review::{IdleTag, Owner, Reason};
use crate::model::shown::printable;
use crate::model::{Cluster, InstanceIdx, NodeIdx};
use crate::search::health::GroupHealth;

/// Maximum length of a line, in characters.
const LINE: usize = 2000;

/// All problems, line by line, with headings.
pub(crate) fn problem_lines(check: &CheckResult, cluster: &Cluster) -> Vec<String> {
    let mut lines = Vec::new();
    let after = check.rebalanced.iter().map(|state| (CheckStage::Rebalanced, state));
    for (when, state) in [(CheckStage::Initially, &check.initial)].into_iter().chain(after) {
        lines.extend(of_state(state, cluster, when));
    }
    if !check.idle_tags.is_empty() {
        lines.extend([String::new(), "Tags without effect".to_owned()]);
        lines.extend(check.idle_tags.iter().map(|tag| format!("    {}", tag_text(tag))));
    }
    if !check.unmet_keys.is_empty() {
        lines.extend([String::new(), "Affinity keys that are not met".to_owned()]);
        lines.extend(check.unmet_keys.iter().map(|of| format!("    {}", unmet_text(of))));
    }
    if lines.is_empty() {
        lines.extend([String::new(), "No problems found".to_owned()]);
    }
    lines.iter().map(|line| printable(line, LINE)).collect()
}

fn of_state(state: &Snapshot, cluster: &Cluster, when: CheckStage) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &state.groups {
        let problems = of_group(group, cluster, when);
        if !problems.is_empty() {
            let name = &cluster.group(group.group).name;
            lines.extend([String::new(), format!("Problems of group {name} {}", when.text())]);
            lines.extend(problems.iter().map(|Problem { subject, text }| format!("    {subject}: {text}")));
        }
    }
    lines
}

/// A problem of a node or an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Full name of the node or instance.
    pub subject: String,
    /// Description.
    pub text: String,
}

/// The problems of a group, by name. After a simulation, instances are not where the cluster has them.
pub(crate) fn of_group(group: &GroupHealth, cluster: &Cluster, when: CheckStage) -> Vec<Problem> {
    let of_node = |n: NodeIdx, text: String| Problem { subject: cluster.node(n).spec.name.clone(), text };
    let instance = |i: &InstanceIdx| cluster.instance(*i).name.as_str();
    let lacks = "lacks memory for instances that fail over to it";
    let mut problems: Vec<Problem> = group.n1_failing.iter().map(|n| of_node(*n, lacks.to_owned())).collect();
    for conflict in &group.conflicts {
        let names: Vec<&str> = conflict.instances.iter().map(instance).collect();
        let tag = cluster.tag_table.name(conflict.tag);
        problems.push(of_node(
            conflict.node,
            format!("exclusion tag {tag} more than once: {}", names.join(", ")),
        ));
    }
    let is_on = |i: &InstanceIdx, which: &str| {
        let at = cluster.instance(*i);
        let place = if which == "primary" { Some(at.primary) } else { at.mirror() };
        let text = match (when, place) {
            (CheckStage::Initially, Some(place)) => {
                format!("its {which} node {} is offline", cluster.node(place).spec.name)
            }
            _ => format!("its {which} node is offline"),
        };
        Problem { subject: at.name.clone(), text }
    };
    problems.extend(group.offline_primary.iter().map(|i| is_on(i, "primary")));
    problems.extend(group.offline_secondary.iter().map(|i| is_on(i, "secondary")));
    let stuck = "not all its instances would find a place without it";
    problems.extend(group.at_risk.iter().flatten().map(|n| of_node(*n, stuck.to_owned())));
    problems
}

/// An unmet key with the reason.
pub(crate) fn unmet_text(of: &UnmetKey) -> String {
    let UnmetKey { machine, node, key } = of;
    format!("{machine} on {node}: {}={}, weight {}: {}", key.name, key.value, key.weight, unmet_reason(of))
}

/// The reason that a key is not met.
pub(crate) fn unmet_reason(of: &UnmetKey) -> &'static str {
    if of.is_missing() { "nothing there meets it" } else { "something there meets it" }
}

/// A tag without effect, with the reason.
pub(crate) fn tag_text(idle: &IdleTag) -> String {
    let owner = match &idle.owner {
        Owner::Cluster => "the cluster".to_owned(),
        Owner::Group(name) => format!("group {name}"),
        Owner::Node(name) => format!("node {name}"),
        Owner::Instance(name) => format!("instance {name}"),
    };
    let reason = match idle.reason {
        Reason::Unknown => "means nothing there".to_owned(),
        Reason::Malformed => "is incomplete".to_owned(),
        Reason::Unused => "matches nothing".to_owned(),
        Reason::Key(fault) => fault.to_string(),
    };
    format!("{} of {owner}: {reason}", idle.tag)
}
