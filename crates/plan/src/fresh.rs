//! Comparison of a plan with a cluster that was reloaded.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::work::Work;
use htools_model::shown::shown_name;
use htools_model::{Cluster, GroupIdx, Instance, Node, NodeIdx};

/// Changes in a group since a plan was made: nodes and instances that were added, removed or moved, and nodes that went
/// offline or online; one line each. Objects are identified by name. Sizes and loads are not compared, as the plan's
/// checker covers them.
pub fn differences(before: &Cluster, group: GroupIdx, now: &Cluster) -> Vec<String> {
    let uuid = &before.group(group).uuid;
    let Some(group_now) = now.groups.iter().find(|group| group.uuid == *uuid) else {
        return vec![format!("node group '{}' no longer exists", shown_name(&before.group(group).name))];
    };
    let mut found = Vec::new();
    let nodes = (before.nodes_of(group), now.nodes_of(group_now.idx));
    let is_offline = |cluster: &Cluster, nodes: &[NodeIdx]| -> Vec<(String, String)> {
        let state = |node: &NodeIdx| {
            let spec = &cluster.node(*node).spec;
            let state = if spec.offline { "offline" } else { "in use" };
            (spec.name.clone(), state.to_owned())
        };
        nodes.iter().map(state).collect()
    };
    compare("node", &is_offline(before, nodes.0), &is_offline(now, nodes.1), &mut found);
    let placed = |cluster: &Cluster, group: GroupIdx| -> Vec<(String, String)> {
        let instances = cluster.instances_of(group).into_iter();
        let instances = instances.map(|instance| cluster.instance(instance));
        instances.map(|instance| (instance.name.clone(), place(cluster, instance))).collect()
    };
    compare("instance", &placed(before, group), &placed(now, group_now.idx), &mut found);
    found
}

/// A short fingerprint of the facts about groups that a plan depends on: the names of their nodes, their offline flags,
/// and the placements of their instances.
pub fn fingerprint(cluster: &Cluster, groups: &[GroupIdx]) -> String {
    let mut lines = Vec::new();
    for group in groups {
        lines.push(format!("group {}", cluster.group(*group).uuid));
        let nodes = cluster.nodes_of(*group).iter().map(|node| &cluster.node(*node).spec);
        lines.extend(nodes.map(|spec| format!("node {} {}", spec.name, spec.offline)));
        let instances = cluster.instances_of(*group).into_iter().map(|instance| cluster.instance(instance));
        lines.extend(
            instances.map(|instance| format!("instance {} {}", instance.name, place(cluster, instance))),
        );
    }
    lines.sort_unstable();
    half_digest(lines.join("\n"))
}

/// Half of SHA-256, in 32 hexadecimal digits.
pub fn half_digest(text: impl AsRef<[u8]>) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The steps of some work that no longer fit a cluster, one line each. Instances or nodes are gone, or instances are
/// not where the first step that moves them has them.
pub fn broken_steps(work: &Work, now: &Cluster) -> Vec<String> {
    let nodes: HashMap<&str, &Node> = now.nodes.iter().map(|node| (node.spec.name.as_str(), node)).collect();
    let instances: HashMap<&str, &Instance> = now.instances.iter().map(|i| (i.name.as_str(), i)).collect();
    let mut moved: HashSet<&str> = HashSet::new();
    let mut broken = Vec::new();
    for at in work.all() {
        let step = work.step(at);
        let Some(first) = step.relocations().first() else { continue };
        let name = shown_name(&step.subject);
        let mut say = |problem: String| broken.push(format!("step {at}, instance '{name}': {problem}"));
        let Some(instance) = instances.get(step.subject.as_str()) else {
            say("it is gone".to_owned());
            continue;
        };
        let name = |node: NodeIdx| now.node(node).spec.name.as_str();
        let here = (name(instance.primary), instance.mirror().map(name));
        let there = (first.from.primary.as_str(), first.from.secondary.as_deref());
        let mirrored = instance.template.has_secondary();
        let there = (there.0, there.1.filter(|_| mirrored));
        if moved.insert(&step.subject) && here != there {
            let shown = |place: (&str, Option<&str>)| {
                let secondary = place.1.map(|node| format!(":{}", shown_name(node))).unwrap_or_default();
                format!("{}{secondary}", shown_name(place.0))
            };
            say(format!("it is on {}, but the plan moves it from {}", shown(here), shown(there)));
        }
        let targets = step.relocations().iter().flat_map(|relocation| relocation.mv.clone().targets());
        for target in targets {
            match nodes.get(target.as_str()) {
                None => say(format!("node '{}' no longer exists", shown_name(&target))),
                Some(node) if node.spec.offline => say(format!("node '{}' is offline", shown_name(&target))),
                Some(_) => {}
            }
        }
    }
    broken
}

/// A name that two instances of a group share. Jobs identify instances by name, so the meaning of a plan would be
/// unclear.
pub fn repeated_name(cluster: &Cluster, group: GroupIdx) -> Option<&str> {
    let mut seen = HashSet::new();
    let names = cluster.instances_of(group).into_iter().map(|instance| &*cluster.instance(instance).name);
    names.into_iter().find(|name| !seen.insert(*name))
}

fn place(cluster: &Cluster, instance: &Instance) -> String {
    let name = |node: NodeIdx| shown_name(&cluster.node(node).spec.name);
    match instance.secondary {
        Some(secondary) => format!("on {} and {}", name(instance.primary), name(secondary)),
        None => format!("on {}", name(instance.primary)),
    }
}

fn compare(kind: &str, before: &[(String, String)], now: &[(String, String)], found: &mut Vec<String>) {
    let by_name: HashMap<&str, &str> =
        now.iter().map(|(name, state)| (name.as_str(), state.as_str())).collect();
    let known: HashMap<&str, &str> =
        before.iter().map(|(name, state)| (name.as_str(), state.as_str())).collect();
    for (name, state) in before {
        let shown = shown_name(name);
        match by_name.get(name.as_str()) {
            None => found.push(format!("{kind} '{shown}' no longer exists")),
            Some(now) if now != state => found.push(format!("{kind} '{shown}' is {now}, and was {state}")),
            Some(_) => {}
        }
    }
    for (name, state) in now.iter().filter(|(name, _)| !known.contains_key(name.as_str())) {
        found.push(format!("{kind} '{}' is new, {state}", shown_name(name)));
    }
}
