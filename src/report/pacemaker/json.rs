//! The document of `hplace --json` (`htools.placement/1`).

use std::collections::BTreeMap;

use serde::Serialize;

use super::changes::{ResourceAction, primitives};
use super::optimum::OptimumView;
use super::parts::{self, PartView};
use super::transition::{self, TransitionDocument};
use super::why as words;
use crate::pacemaker::promotion::Role;
use crate::pacemaker::why::{PlaceReasons, PlacementExplainer};
use crate::pacemaker::working_set::WorkingSet;
use crate::pacemaker::{
    AllPlaced, AllocationScore, Capacities, HostIdx, PlacingError, ResourceChanges, ResourceIdx, Strategy,
    Transition,
};
use crate::report::form::json::Generator;

/// Schema of placements.
pub(crate) const SCHEMA: &str = "htools.placement/1";

/// A number, or the word for an infinity.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum ScoreView {
    Number(i32),
    Word(String),
}

impl From<AllocationScore> for ScoreView {
    fn from(score: AllocationScore) -> ScoreView {
        match score.is_infinite() {
            true => ScoreView::Word(score.to_string()),
            false => ScoreView::Number(score.get()),
        }
    }
}

/// Placement of the resources.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlacementDocument<'a> {
    schema: &'static str,
    generator: Generator,
    pacemaker_version: &'static str,
    strategy: &'static str,
    nodes: Vec<PlacementNode>,
    resources: Vec<PlacementResource>,
    order: Vec<String>,
    placed: usize,
    unplaced: Vec<String>,
    down: Vec<String>,
    moves: usize,
    unsupported: Vec<UnsupportedView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    optimum: Option<OptimumView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<TransitionDocument<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct PlacementNode {
    name: String,
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    capacity: BTreeMap<String, i64>,
    used: BTreeMap<String, i64>,
}

#[derive(Debug, Clone, Serialize)]
struct PlacementResource {
    id: String,
    group: Option<String>,
    node: Option<String>,
    was: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_on: Vec<String>,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    past_role: Option<&'static str>,
    managed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    orphaned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<&'static str>,
    scores: BTreeMap<String, ScoreView>,
    parts: Vec<PartView>,
    reason: Vec<String>,
    room_taken: Vec<RoomTakenView>,
    order_dependent: bool,
}

#[derive(Debug, Clone, Serialize)]
struct RoomTakenView {
    node: String,
    by: Vec<String>,
    give_way: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct UnsupportedView {
    element: String,
    id: String,
    reason: String,
}

/// The document about a placed cluster and the transition to the placement.
///
/// # Errors
/// Those of placing the resources again, to split their scores into parts.
pub(crate) fn document_with_plan<'a>(
    set: &'a WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
    plan: &'a Transition,
) -> Result<PlacementDocument<'a>, PlacingError> {
    let transition = Some(transition::document(set, plan));
    Ok(PlacementDocument { transition, ..document(set, strategy, placed, &plan.changes)? })
}

/// The document about a placed cluster and the changes of its resources.
///
/// # Errors
/// As [`document_with_plan`].
pub(crate) fn document<'a>(
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
    changes: &ResourceChanges,
) -> Result<PlacementDocument<'a>, PlacingError> {
    let id = |resource: ResourceIdx| set.resource(resource).id.clone();
    let actions = || primitives(set).map(|resource| ResourceAction::of(set, changes, resource));
    let is_move = |action: &ResourceAction| matches!(action, ResourceAction::Move | ResourceAction::Migrate);
    let explainer = PlacementExplainer::of(set, strategy, placed)?;
    Ok(PlacementDocument {
        schema: SCHEMA,
        generator: Generator::this(),
        pacemaker_version: set.release.as_str(),
        strategy: placed.method(strategy).as_str(),
        nodes: set.host_indices().map(|host| node(set, placed, host)).collect(),
        resources: primitives(set).filter_map(|one| resource(&explainer, placed, changes, one)).collect(),
        order: placed.records.iter().map(|record| id(record.resource)).collect(),
        placed: placed.records.iter().filter(|record| record.host.is_some()).count(),
        unplaced: placed.unplaced(set).map(id).collect(),
        down: changes.down(set, placed).into_iter().map(id).collect(),
        moves: actions().filter(is_move).count(),
        unsupported: unsupported(set),
        optimum: placed.optimum.as_ref().map(|optimum| OptimumView::of(set, optimum)),
        transition: None,
    })
}

pub(super) fn unsupported(set: &WorkingSet) -> Vec<UnsupportedView> {
    let view = |unsupported: &crate::pacemaker::working_set::Unsupported| UnsupportedView {
        element: unsupported.element.clone(),
        id: unsupported.id.clone(),
        reason: unsupported.reason.clone(),
    };
    set.unsupported.iter().map(view).collect()
}

fn node(set: &WorkingSet, placed: &AllPlaced, host: HostIdx) -> PlacementNode {
    let of = set.host(host);
    let machine = of.guest.filter(|parts| !parts.is_remote_node());
    let left = &placed.remaining[host.get()];
    let used = left
        .iter()
        .map(|(kind, left)| (set.attributes[kind.get()].clone(), of.capacity.get(kind).saturating_sub(left)));
    PlacementNode {
        name: of.name.clone(),
        available: placed.is_available(set, host),
        machine: machine.map(|parts| set.resource(parts.machine).id.clone()),
        capacity: amounts(set, &of.capacity),
        used: used.collect(),
    }
}

pub(super) fn amounts(set: &WorkingSet, capacities: &Capacities) -> BTreeMap<String, i64> {
    capacities.iter().map(|(kind, amount)| (set.attributes[kind.get()].clone(), amount)).collect()
}

fn resource(
    explainer: &PlacementExplainer<'_>,
    placed: &AllPlaced,
    changes: &ResourceChanges,
    resource: ResourceIdx,
) -> Option<PlacementResource> {
    let set = explainer.set;
    let of = set.resource(resource);
    let record = placed.record(resource)?;
    let reasons = explainer.why(resource)?;
    let name = |host: HostIdx| set.host(host).name.clone();
    Some(PlacementResource {
        id: of.id.clone(),
        group: of.group.map(|group| set.resource(group).id.clone()),
        node: record.host.map(name),
        was: of.active.map(name),
        also_on: of.also_on.iter().copied().map(name).collect(),
        action: ResourceAction::of(set, changes, resource).as_str(),
        role: ResourceAction::role(set, changes, resource).map(Role::as_str),
        past_role: ResourceAction::past_role(set, resource).map(Role::as_str),
        managed: set.is_managed(resource),
        orphaned: of.orphaned,
        changed: of.revision.subject(),
        scores: record.scores.iter().map(|(host, score)| (name(host), score.into())).collect(),
        parts: parts::views(set, &explainer.log, resource),
        reason: words::statements(explainer, changes, resource)
            .iter()
            .map(|line| parts::plain(line.trim()))
            .collect(),
        room_taken: room_taken(set, &reasons),
        order_dependent: record.order_dependent,
    })
}

fn room_taken(set: &WorkingSet, reasons: &PlaceReasons) -> Vec<RoomTakenView> {
    let ids = |resources: &[ResourceIdx]| -> Vec<String> {
        resources.iter().map(|resource| set.resource(*resource).id.clone()).collect()
    };
    let view = |taken: &crate::pacemaker::why::RoomTaken| RoomTakenView {
        node: set.host(taken.host).name.clone(),
        by: ids(&taken.by),
        give_way: ids(&taken.give_way),
    };
    reasons.taken.iter().map(view).collect()
}
