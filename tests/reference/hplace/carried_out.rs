//! The changes that are carried out of a graph, some of whose actions wait for each other or for what never happens.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{BoldGraph, Closure, without_number};
use super::summary::instance_of;

/// Actions that change a resource.
const CHANGES: [&str; 6] = ["start", "stop", "promote", "demote", "migrate_to", "migrate_from"];

/// Tells if an action of a graph precedes itself.
pub fn has_circle(graph: &Closure) -> bool {
    graph.order.iter().any(|(before, after)| before == after)
}

/// The changes of a graph that wait for nothing, or only for what is carried out. Marks carry only the order.
pub fn of_graph(dot: &str) -> BTreeSet<String> {
    let graph = BoldGraph::read(dot);
    let mut waits: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (before, after) in graph.edges {
        waits.entry(after).or_default().push(before);
    }
    let mut done: BTreeSet<&str> = BTreeSet::new();
    loop {
        let is_next = |name: &&str| {
            let mut before = waits.get(name).into_iter().flatten();
            !done.contains(name) && before.all(|one| done.contains(one) || !graph.actions.contains_key(one))
        };
        let next: Vec<&str> = graph.actions.keys().copied().filter(is_next).collect();
        if next.is_empty() {
            break;
        }
        done.extend(next);
    }
    let counts = |name: &&str| is_change(name) && !graph.actions[name];
    done.into_iter().filter(counts).map(without_number).collect()
}

/// Tells if an action changes a resource or fences a node.
fn is_change(name: &str) -> bool {
    name.starts_with("stonith '") || CHANGES.iter().any(|change| name.contains(&format!("_{change}_0 ")))
}

/// The changes that crm_simulate carries out by its answer, in the notation of its graph: `vm1_start_0 node2`.
pub fn of_answer(answer: &str) -> BTreeSet<String> {
    let action = |line: &str| {
        if let Some(fencing) = line.strip_prefix("Fencing ") {
            let (node, kind) = fencing.split_once(" (")?;
            return Some(format!("stonith '{}' {node}", kind.trim_end_matches(')')));
        }
        let mut words = line.strip_prefix("Resource action: ")?.split_whitespace();
        let (resource, action, "on", node) = (words.next()?, words.next()?, words.next()?, words.next()?)
        else {
            return None;
        };
        CHANGES.contains(&action).then(|| format!("{}_{action}_0 {node}", instance_of(resource)))
    };
    answer.lines().filter_map(action).collect()
}
