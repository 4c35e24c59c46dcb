//! Warnings about a cluster, besides the placement of its resources.

use crate::model::shown::shown_name;
use crate::pacemaker::transition::WaitCircle;
use crate::pacemaker::{AllPlaced, HostIdx, ResourceIdx, Transition, WorkingSet};

use super::first_few;
use super::transition::reason;

/// The warnings about a placed cluster and the transition to its placement, without the word.
pub(super) fn texts(set: &WorkingSet, placed: &AllPlaced, plan: &Transition) -> Vec<String> {
    let circles = plan.circles.iter().map(|circle| {
        format!(
            "{}; Pacemaker never starts these actions, nor those that wait for them",
            in_a_circle(set, circle)
        )
    });
    circles.chain(nothing_fences(set)).chain(lost(set, placed, plan)).chain(by_chance(set, placed)).collect()
}

/// A circle of resources that wait for each other, with the reasons.
pub(crate) fn in_a_circle(set: &WorkingSet, circle: &WaitCircle) -> String {
    let names = circle.resources.iter().map(|one| shown_name(&set.resource(*one).id));
    let reasons: Vec<String> = circle.reasons.iter().map(|why| reason(set, *why)).collect();
    format!("{} wait for each other in a circle ({})", first_few(names), reasons.join(", "))
}

/// The resources for which Pacemaker's own result depends on the order of nodes in its memory.
fn by_chance(set: &WorkingSet, placed: &AllPlaced) -> Option<String> {
    let by_chance = placed.records.iter().filter(|record| record.order_dependent && record.host.is_some());
    let names: Vec<String> = by_chance.map(|record| shown_name(&set.resource(record.resource).id)).collect();
    let names = Some(names).filter(|names| !names.is_empty())?;
    Some(format!(
        "Pacemaker may place these and later resources elsewhere, because nodes are equally free and its internal order decides: {}",
        first_few(names.into_iter())
    ))
}

fn nothing_fences(set: &WorkingSet) -> Option<String> {
    let text = "Pacemaker starts, stops and moves nothing: stonith-enabled is true (the default), but there is no fencing device";
    set.frozen.then(|| text.to_owned())
}

/// The resources that stay down on lost nodes that are not fenced, node by node.
fn lost(set: &WorkingSet, placed: &AllPlaced, plan: &Transition) -> Vec<String> {
    let down = plan.changes.down(set, placed);
    let line = |host: HostIdx| {
        let is_there = |one: &&ResourceIdx| plan.changes.get(**one).runs_on() == Some(host);
        let names: Vec<String> =
            down.iter().filter(is_there).map(|one| shown_name(&set.resource(*one).id)).collect();
        let node = shown_name(&set.host(host).name);
        let names = Some(names).filter(|names| !names.is_empty())?;
        let names = first_few(names.into_iter());
        Some(format!(
            "{node} is lost and cannot be fenced, so its resources are not started elsewhere: {names}"
        ))
    };
    set.host_indices().filter_map(line).collect()
}
