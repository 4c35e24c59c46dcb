//! The transition graph as XML, in the format of crm_simulate -G, without digests and timeouts.

use std::fmt::Write;

use super::key;
use crate::model::shown::escaped;
use crate::pacemaker::WorkingSet;
use crate::pacemaker::transition::{ActionTask, Transition, TransitionAction};
use crate::plan::graph::StepIdx;

/// The graph: a synapse for each action, with the actions that must be complete before it. Actions have ids from 1. As
/// in Pacemaker's graph, actions that can never be executed are included.
pub fn xml(set: &WorkingSet, transition: &Transition) -> String {
    let mut out = String::from("<transition_graph transition_id=\"0\">\n");
    // Writing to a string cannot fail.
    for step in transition.all() {
        let action = transition.step(step);
        let priority = action.resource.map_or(0, |resource| set.resource(resource).priority.get());
        let priority = if priority > 0 { format!(" priority=\"{priority}\"") } else { String::new() };
        let _ = writeln!(out, "  <synapse id=\"{}\"{priority}>\n    <action_set>", step.get());
        let (element, attributes) = head(set, action, step);
        match inner(set, action) {
            Some(inner) => {
                let _ = writeln!(out, "      <{element}{attributes}>\n{inner}      </{element}>");
            }
            None => {
                let _ = writeln!(out, "      <{element}{attributes}/>");
            }
        }
        out.push_str("    </action_set>\n");
        let triggers: Vec<StepIdx> = transition.before(step).map(|edge| edge.before).collect();
        if triggers.is_empty() {
            out.push_str("    <inputs/>\n");
        } else {
            out.push_str("    <inputs>\n");
            for trigger in triggers {
                let (element, attributes) = head(set, transition.step(trigger), trigger);
                let _ = writeln!(out, "      <trigger>\n        <{element}{attributes}/>\n      </trigger>");
            }
            out.push_str("    </inputs>\n");
        }
        out.push_str("  </synapse>\n");
    }
    out.push_str("</transition_graph>\n");
    out
}

/// The element of an action, and its attributes.
fn head(set: &WorkingSet, action: &TransitionAction, step: StepIdx) -> (&'static str, String) {
    let host = action.host.map(|host| set.host(host));
    let name = host.map_or("", |host| host.name.as_str());
    let (element, operation, key) = match action.task {
        ActionTask::Fence => {
            let key = format!("stonith-{name}-{}", action.fencing(set).word());
            let element = if action.pseudo { "pseudo_event" } else { "crm_event" };
            (element, "stonith".to_owned(), key)
        }
        ActionTask::Unfence => ("crm_event", "stonith".to_owned(), format!("stonith-{name}-on")),
        ActionTask::Shutdown => ("crm_event", "do_shutdown".to_owned(), format!("do_shutdown-{name}")),
        ActionTask::LoadStopped | ActionTask::EnoughStarted => {
            ("pseudo_event", key(set, action), key(set, action))
        }
        task if action.pseudo => ("pseudo_event", task.to_string(), key(set, action)),
        task => ("rsc_op", task.to_string(), key(set, action)),
    };
    let mut attributes = format!(
        " id=\"{}\" operation=\"{}\" operation_key=\"{}\"",
        step.number(),
        escaped(&operation),
        escaped(&key)
    );
    if let Some(host) = host.filter(|_| !action.pseudo) {
        let (name, id) = (escaped(&host.name), escaped(&host.id));
        let _ = write!(attributes, " on_node=\"{name}\" on_node_uuid=\"{id}\"");
    }
    (element, attributes)
}

/// Content of the element of an action that is sent to a resource.
fn inner(set: &WorkingSet, action: &TransitionAction) -> Option<String> {
    let resource = set.resource(action.resource.filter(|_| !action.pseudo)?);
    let id = escaped(&resource.id);
    let mut parts = resource.agent.split(':').map(escaped);
    let mut inner = match (parts.next(), parts.next(), parts.next()) {
        (Some(class), Some(provider), Some(kind)) => {
            format!(
                "        <primitive id=\"{id}\" class=\"{class}\" provider=\"{provider}\" type=\"{kind}\"/>\n"
            )
        }
        (class, kind, _) => {
            let (class, kind) = (class.unwrap_or_default(), kind.unwrap_or_default());
            format!("        <primitive id=\"{id}\" class=\"{class}\" type=\"{kind}\"/>\n")
        }
    };
    if let (Some(host), Some(peer)) = (action.host, action.peer) {
        let (here, there) = (escaped(&set.host(host).name), escaped(&set.host(peer).name));
        let (source, target) = match action.task {
            ActionTask::MigrateFrom => (there, here),
            _ => (here, there),
        };
        let _ = writeln!(
            inner,
            "        <attributes CRM_meta_migrate_source=\"{source}\" CRM_meta_migrate_target=\"{target}\"/>"
        );
    }
    Some(inner)
}
