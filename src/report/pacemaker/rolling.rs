//! Groups of nodes that can be in standby together: text, commands, and the document `htools.standby-groups/1`.

use std::collections::BTreeSet;

use serde::Serialize;

use super::commands::{CommandForm, NoCommands, making};
use crate::model::shown::shown_name;
use crate::pacemaker::WorkingSet;
use crate::pacemaker::cib::change::CibChange;
use crate::pacemaker::pinning::{Foresight, NodeInRole, by_resource};
use crate::pacemaker::rolling::{StandbyBatch, StandbyPlan};
use crate::report::form::json::Generator;

/// Schema of the document.
pub(crate) const SCHEMA: &str = "htools.standby-groups/1";

/// A resource that is elsewhere while nodes are in standby, or in another role, or has fewer instances.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ResourceShift {
    resource: String,
    from: Vec<MovedResourceView>,
    to: Vec<MovedResourceView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct MovedResourceView {
    node: String,
    promoted: bool,
}

/// The resources that change while the nodes of a batch are in standby, in the order of their names.
fn shifts(outlook: &Foresight) -> Vec<ResourceShift> {
    let (now, end) = (outlook.current(), outlook.expected().unwrap_or_else(|| outlook.first()));
    let (now, end) = (by_resource(&now), by_resource(&end));
    let none = BTreeSet::new();
    let views = |places: &BTreeSet<NodeInRole<'_>>| {
        let view = |there: &NodeInRole<'_>| MovedResourceView {
            node: there.node.to_owned(),
            promoted: there.promoted,
        };
        places.iter().map(view).collect()
    };
    let names: BTreeSet<&str> = now.keys().chain(end.keys()).copied().collect();
    let changed = names.into_iter().filter_map(|name| {
        let (from, to) = (now.get(name).unwrap_or(&none), end.get(name).unwrap_or(&none));
        (from != to).then(|| ResourceShift { resource: name.to_owned(), from: views(from), to: views(to) })
    });
    changed.collect()
}

/// Places of resources while the nodes of a batch are in standby, a line for each that changes.
pub(crate) fn moves(batch: &StandbyBatch) -> Vec<String> {
    let place = |there: &MovedResourceView| {
        let role = if there.promoted { " (promoted)" } else { "" };
        format!("{}{role}", shown_name(&there.node))
    };
    let line = |shift: ResourceShift| {
        let to: Vec<String> = shift.to.iter().map(place).collect();
        let to = if to.is_empty() { "stopped".to_owned() } else { to.join(" ") };
        format!("  {} {to}", shown_name(&shift.resource))
    };
    shifts(&batch.outlook).into_iter().map(line).collect()
}

/// Commands for a batch: standby, a pause for the reboot, and the end of the standby. Nodes that were in standby before
/// stay so.
///
/// # Errors
/// If a name may have a meaning to a shell or an option parser.
pub(crate) fn commands(
    form: CommandForm,
    set: &WorkingSet,
    batch: &StandbyBatch,
) -> Result<Vec<String>, NoCommands> {
    let in_standby = |name: &&String| set.hosts.iter().any(|host| host.name == **name && host.state.standby);
    let ours: Vec<&String> = batch.nodes.iter().filter(|name| !in_standby(name)).collect();
    let mut lines = Vec::new();
    // Also those that stay in standby have names that are checked.
    for name in &batch.nodes {
        making(form, &CibChange::Standby(name.clone()))?;
    }
    for name in &ours {
        lines.extend(making(form, &CibChange::Standby((*name).clone()))?);
    }
    lines.push("crm_resource --wait".to_owned());
    lines.push(format!(
        "printf 'Reboot {}; press Enter once that is done: ' && read -r answer",
        batch.nodes.join(", ")
    ));
    for name in &ours {
        lines.extend(making(form, &CibChange::Online((*name).clone()))?);
    }
    lines.push("crm_resource --wait".to_owned());
    Ok(lines)
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct StandbyDocument {
    schema: &'static str,
    generator: Generator,
    coordinator: Option<String>,
    group_count: usize,
    groups: Vec<StandbyGroup>,
    left_out: Vec<LeftOutView>,
}

/// Nodes that can be in standby together.
#[derive(Debug, Clone, Serialize)]
struct StandbyGroup {
    number: usize,
    nodes: Vec<String>,
    moves: Vec<ShiftView>,
    commands: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct ShiftView {
    resource: String,
    from: Vec<MovedResourceView>,
    to: Vec<MovedResourceView>,
}

#[derive(Debug, Clone, Serialize)]
struct LeftOutView {
    node: String,
    why: String,
}

/// The document of a plan, of which the first `shown` groups are shown.
///
/// # Errors
/// As [`commands`].
pub(crate) fn document(
    form: CommandForm,
    set: &WorkingSet,
    plan: &StandbyPlan,
    shown: usize,
) -> Result<StandbyDocument, NoCommands> {
    let mut groups = Vec::new();
    for (number, batch) in (1..).zip(plan.batches.iter().take(shown)) {
        let view = |ResourceShift { resource, from, to }| ShiftView { resource, from, to };
        groups.push(StandbyGroup {
            number,
            nodes: batch.nodes.clone(),
            moves: shifts(&batch.outlook).into_iter().map(view).collect(),
            commands: commands(form, set, batch)?,
        });
    }
    let left_out =
        plan.held.iter().map(|held| LeftOutView { node: held.node.clone(), why: held.why.to_string() });
    Ok(StandbyDocument {
        schema: SCHEMA,
        generator: Generator::this(),
        coordinator: set.coordinator.map(|host| set.host(host).name.clone()),
        group_count: plan.batches.len(),
        groups,
        left_out: left_out.collect(),
    })
}
