//! The transition graph for Graphviz, in the format of crm_simulate -D.

use std::fmt::Write;

use super::key;
use crate::pacemaker::transition::{
    ResourceChange, ResourceChanges, Transition, TransitionAction, WaitReason,
};
use crate::pacemaker::{HostIdx, WorkingSet};
use crate::plan::graph::StepIdx;

/// The graph. Executed actions are bold, and labels of pseudo actions are orange. Actions that are not executed, and
/// waits that a migration drops, are dashed and red.
pub fn dot(set: &WorkingSet, transition: &Transition) -> String {
    let quoted = |text: String| text.replace('\\', "\\\\").replace('"', "\\\"");
    let name = |step: StepIdx| quoted(label(set, transition.step(step)));
    let mut out = String::from("digraph \"g\" {\n");
    // Writing to a string cannot fail.
    for step in transition.all() {
        let font = if transition.step(step).pseudo { "orange" } else { "black" };
        let _ = writeln!(out, "\"{}\" [ style=bold color=\"green\" fontcolor=\"{font}\"]", name(step));
    }
    let mut not_done = |id: &str, task: &str, host: HostIdx| {
        let name = quoted(format!("{id}_{task}_0 {}", set.host(host).name));
        let _ = writeln!(out, "\"{name}\" [ style=dashed color=\"red\" fontcolor=\"black\"]");
    };
    let ResourceChanges { by_resource, causes, .. } = &transition.changes;
    let changed = by_resource.iter().zip(causes).zip(&set.resources);
    // Changes that only wait in a circle are among the steps.
    for ((change, _), of) in changed.filter(|((_, cause), _)| **cause != Some(WaitReason::Circle)) {
        match change {
            ResourceChange::Blocked(host) => not_done(&of.id, "start", *host),
            ResourceChange::Held(host) => not_done(&of.id, "stop", *host),
            _ => {}
        }
    }
    for (edges, style) in [(&transition.edges, "bold"), (&transition.dropped, "dashed")] {
        for edge in edges {
            let (before, after) = (name(edge.before), name(edge.after));
            let _ = writeln!(out, "\"{before}\" -> \"{after}\" [ style = {style}]");
        }
    }
    out.push_str("}\n");
    out
}

fn label(set: &WorkingSet, action: &TransitionAction) -> String {
    let key = key(set, action);
    action.host.map_or(key.clone(), |host| format!("{key} {}", set.host(host).name))
}
