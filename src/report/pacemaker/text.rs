//! Placement of resources and remaining capacity of hosts, for people.

use super::changes::{ResourceAction, primitives, remarks};
use super::{optimum, warnings, why};
use crate::model::shown::shown_name;
use crate::pacemaker::why::{PlaceReasons, PlacementExplainer};
use crate::pacemaker::{
    AllPlaced, HostIdx, PlacingError, ResourceChanges, ResourceIdx, Strategy, Transition, WorkingSet,
    by_shown_name,
};
use crate::report::form::table::{Align, Table};

/// The lines about a whole cluster and the transition to its placement.
///
/// # Errors
/// Those of placing the resources again, to find out why some have no place.
pub(crate) fn lines(
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
    plan: &Transition,
) -> Result<Vec<String>, PlacingError> {
    let mut lines = vec![format!(
        "Strategy {}: {} nodes, {} resources",
        placed.method(strategy),
        set.hosts.len(),
        primitives(set).count()
    )];
    lines.push(String::new());
    lines.extend(resources(set, &plan.changes));
    lines.push(String::new());
    lines.extend(hosts(set, placed));
    let unplaced = unplaced(set, strategy, placed)?;
    if !unplaced.is_empty() {
        lines.push(String::new());
    }
    lines.extend(unplaced);
    let over = overcommitted(set, placed);
    if !over.is_empty() {
        lines.push(String::new());
        lines.push(format!("Warning: the resources need more than these nodes have: {}", over.join(", ")));
    }
    let warnings = warnings::texts(set, placed, plan);
    if !warnings.is_empty() {
        lines.push(String::new());
        lines.extend(warnings.iter().map(|text| format!("Warning: {text}")));
    }
    if let Some(optimum) = &placed.optimum {
        lines.push(String::new());
        lines.extend(optimum::lines(set, optimum));
    }
    Ok(lines)
}

/// Resources that should run but have no place, with the reason: a line each.
///
/// # Errors
/// As [`lines`].
pub(crate) fn unplaced(
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
) -> Result<Vec<String>, PlacingError> {
    let unplaced: Vec<ResourceIdx> = placed.unplaced(set).collect();
    if unplaced.is_empty() {
        return Ok(Vec::new());
    }
    let explainer = PlacementExplainer::of(set, strategy, placed)?;
    let line = |reasons: PlaceReasons| {
        let name = shown_name(&set.resource(reasons.resource).id);
        match set.hosts.is_empty() {
            true => format!("Not placed: {name} (there is no node)"),
            false => format!("Not placed: {name} ({})", why::short(set, &reasons)),
        }
    };
    Ok(unplaced.into_iter().filter_map(|resource| explainer.why(resource)).map(line).collect())
}

/// The action on a resource, in a few words; `-` if it stays where it is.
pub(super) fn action_text(set: &WorkingSet, changes: &ResourceChanges, resource: ResourceIdx) -> String {
    let of = set.resource(resource);
    match ResourceAction::of(set, changes, resource) {
        ResourceAction::None if changes.roles[resource.get()].is_blocked => {
            ResourceAction::words(set, changes, resource)
        }
        ResourceAction::None if !set.is_managed(resource) => "unmanaged".to_owned(),
        ResourceAction::None if of.stopped && of.active.is_none() => "stopped on purpose".to_owned(),
        ResourceAction::None if of.active.is_none() => "stays stopped".to_owned(),
        ResourceAction::None => "-".to_owned(),
        ResourceAction::Held => "cannot be stopped".to_owned(),
        ResourceAction::Blocked => "not started".to_owned(),
        _ => ResourceAction::words(set, changes, resource),
    }
}

fn resources(set: &WorkingSet, changes: &ResourceChanges) -> Vec<String> {
    let name = |host: Option<HostIdx>| host.map_or("-".to_owned(), |host| shown_name(&set.host(host).name));
    let mut table = Table::new(["Resource", "Was", "Now", "Action"].map(|title| (title, Align::Left)));
    for resource in primitives(set) {
        let of = set.resource(resource);
        let change = changes.get(resource);
        let text = action_text(set, changes, resource);
        let was: Vec<String> = of.active_hosts().map(|host| name(Some(host))).collect();
        let was = if was.is_empty() { name(None) } else { was.join(",") };
        table.push(vec![
            shown_name(&of.id),
            was,
            name(change.runs_on()),
            text + &remarks(set, changes, resource),
        ]);
    }
    trimmed(&table)
}

fn hosts(set: &WorkingSet, placed: &AllPlaced) -> Vec<String> {
    let kinds: Vec<_> = set.attribute_indices().collect();
    let titles = kinds.iter().map(|kind| (shown_name(&set.attributes[kind.get()]), Align::Right));
    let first = [("Node".to_owned(), Align::Left), ("State".to_owned(), Align::Left)];
    let mut table = Table::new(first.into_iter().chain(titles));
    for host in by_shown_name(set) {
        let of = set.host(host);
        let cell = |kind: &_| {
            let (before, after) = (of.capacity.get(*kind), placed.remaining[host.get()].get(*kind));
            format!("{after} of {before} free")
        };
        let cells = kinds.iter().map(cell);
        table.push([shown_name(&of.name), state(set, host).to_owned()].into_iter().chain(cells).collect());
    }
    trimmed(&table)
}

pub(super) fn state(set: &WorkingSet, host: HostIdx) -> &'static str {
    let state = set.host(host).state;
    match () {
        () if state.unclean => "lost",
        () if state.joining => "joining",
        () if !state.online => "offline",
        () if state.shutting_down => "leaving",
        () if state.standby => "standby",
        () if state.maintenance => "maintenance",
        () => "online",
    }
}

/// The hosts whose capacity is exceeded.
pub(super) fn overcommitted(set: &WorkingSet, placed: &AllPlaced) -> Vec<String> {
    let is_over = |host: &HostIdx| {
        let had = &set.host(*host).capacity;
        placed.remaining[host.get()].iter().any(|(kind, left)| left < 0 && left < had.get(kind))
    };
    by_shown_name(set).into_iter().filter(is_over).map(|host| shown_name(&set.host(host).name)).collect()
}

/// The lines of a table without blanks at their ends.
pub(super) fn trimmed(table: &Table) -> Vec<String> {
    table.lines("").iter().map(|line| line.trim().to_owned()).collect()
}
