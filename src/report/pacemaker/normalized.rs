//! The document of `hplace --show-normalized` (`htools.normalized/1`).

use std::collections::BTreeMap;

use serde::Serialize;

use super::changes::{ResourceAction, primitives};
use super::json::{ScoreView, UnsupportedView, amounts, unsupported};
use crate::pacemaker::promotion::Role;
use crate::pacemaker::working_set::{
    LocationScore, NODE_HEALTH, OrderStrength, OrderedPair, OrderedTask, WorkingSet,
};
use crate::pacemaker::{HostIdx, ResourceIdx};
use crate::report::form::json::Generator;

/// Schema of normalized input.
pub(crate) const SCHEMA: &str = "htools.normalized/1";

/// Normalized input: primitives and their dependencies.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NormalizedDocument {
    schema: &'static str,
    generator: Generator,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    guests: Vec<NormalizedGuest>,
    resources: Vec<NormalizedResource>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    promotable: Vec<NormalizedPromotable>,
    locations: Vec<NormalizedLocation>,
    colocations: Vec<NormalizedColocation>,
    orders: Vec<NormalizedOrder>,
    unsupported: Vec<UnsupportedView>,
}

/// A guest node, a remote node, or the node in a container.
#[derive(Debug, Clone, Serialize)]
struct NormalizedGuest {
    node: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    connection: String,
}

#[derive(Debug, Clone, Serialize)]
struct NormalizedResource {
    id: String,
    agent: String,
    group: Option<String>,
    priority: ScoreView,
    stickiness: ScoreView,
    managed: bool,
    stopped: bool,
    allow_migrate: bool,
    utilization: BTreeMap<String, i64>,
    runs_on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    scores: BTreeMap<String, ScoreView>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    promotion_wishes: BTreeMap<String, ScoreView>,
}

#[derive(Debug, Clone, Serialize)]
struct NormalizedPromotable {
    id: String,
    parts: Vec<String>,
    promoted_max: usize,
}

#[derive(Debug, Clone, Serialize)]
struct NormalizedLocation {
    constraint: String,
    resource: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    node: String,
    score: ScoreView,
}

#[derive(Debug, Clone, Serialize)]
struct NormalizedColocation {
    constraint: String,
    resource: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    with: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    with_role: Option<&'static str>,
    score: ScoreView,
    attribute: Option<String>,
    influence: bool,
}

#[derive(Debug, Clone, Serialize)]
struct NormalizedOrder {
    constraint: String,
    first: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_action: Option<&'static str>,
    then: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    then_action: Option<&'static str>,
    kind: &'static str,
    symmetrical: bool,
}

/// The document about an input.
pub(crate) fn document(set: &WorkingSet) -> NormalizedDocument {
    let id = |resource: ResourceIdx| set.resource(resource).id.clone();
    let name = |host: HostIdx| set.host(host).name.clone();
    let location = |location: &LocationScore, role: Option<Role>| NormalizedLocation {
        constraint: location.id.clone(),
        resource: id(location.resource),
        role: role.map(Role::as_str),
        node: name(location.host),
        score: location.score.into(),
    };
    let locations = set.locations.iter().map(|one| location(one, None));
    let of_promoted = set.promotion_locations.iter().map(|one| location(one, Some(Role::Promoted)));
    let health = set.health_scores().map(|(resource, host, score)| NormalizedLocation {
        constraint: NODE_HEALTH.to_owned(),
        resource: id(resource),
        role: None,
        node: name(host),
        score: score.into(),
    });
    let colocations = set.colocations.iter().map(|colocation| NormalizedColocation {
        constraint: colocation.id.clone(),
        resource: id(colocation.dependent),
        role: colocation.dependent_role.map(Role::as_str),
        with: id(colocation.primary),
        with_role: colocation.primary_role.map(Role::as_str),
        score: colocation.score.into(),
        attribute: colocation.attribute.clone(),
        influence: colocation.influence,
    });
    NormalizedDocument {
        schema: SCHEMA,
        generator: Generator::this(),
        guests: set.host_indices().filter_map(|host| guest(set, host)).collect(),
        resources: primitives(set).map(|resource| normalized_resource(set, resource)).collect(),
        promotable: set.clones().filter_map(|clone| promotable(set, clone)).collect(),
        locations: locations.chain(of_promoted).chain(health).collect(),
        colocations: colocations.collect(),
        orders: orders(set),
        unsupported: unsupported(set),
    }
}

/// A node that is no member of the cluster, with the resources behind it.
fn guest(set: &WorkingSet, host: HostIdx) -> Option<NormalizedGuest> {
    let node = set.host(host);
    let parts = node.guest?;
    let id = |resource: ResourceIdx| set.resource(resource).id.clone();
    Some(NormalizedGuest {
        node: node.name.clone(),
        kind: match node.replica {
            true => "container",
            false if parts.is_remote_node() => "remote",
            false => "guest",
        },
        machine: (!parts.is_remote_node()).then(|| id(parts.machine)),
        connection: id(parts.connection),
    })
}

/// A promotable clone.
fn promotable(set: &WorkingSet, clone: ResourceIdx) -> Option<NormalizedPromotable> {
    let promotion = set.resource(clone).promotion.as_ref()?;
    let parts = set.primitives(&clone);
    Some(NormalizedPromotable {
        id: set.resource(clone).id.clone(),
        parts: parts.iter().map(|part| set.resource(*part).id.clone()).collect(),
        promoted_max: if promotion.unwanted { 0 } else { promotion.most },
    })
}

fn normalized_resource(set: &WorkingSet, resource: ResourceIdx) -> NormalizedResource {
    let of = set.resource(resource);
    let name = |host: HostIdx| set.host(host).name.clone();
    NormalizedResource {
        id: of.id.clone(),
        agent: of.agent.clone(),
        group: of.group.map(|group| set.resource(group).id.clone()),
        priority: of.priority.into(),
        stickiness: of.stickiness.into(),
        managed: set.is_managed(resource),
        stopped: of.stopped,
        allow_migrate: of.allow_migrate,
        utilization: amounts(set, &of.utilization),
        runs_on: of.active.map(name),
        role: ResourceAction::past_role(set, resource).map(Role::as_str),
        scores: of.scores.iter().map(|(host, score)| (name(host), score.into())).collect(),
        promotion_wishes: set
            .promotion_wishes(resource)
            .map(|one| (name(one.host), one.score.into()))
            .collect(),
    }
}

/// The order constraints, and the orders between the members of groups.
fn orders(set: &WorkingSet) -> Vec<NormalizedOrder> {
    let id = |resource: ResourceIdx| set.resource(resource).id.clone();
    let of_groups = set.groups().flat_map(|group| {
        set.in_order(group).windows(2).map(move |pair| NormalizedOrder {
            constraint: id(group),
            first: id(pair[0]),
            first_action: None,
            then: id(pair[1]),
            then_action: None,
            kind: "mandatory",
            symmetrical: true,
        })
    });
    let action = |task: OrderedTask| (task != OrderedTask::Start).then(|| task.as_str());
    let given = set.orders.iter().map(|order| NormalizedOrder {
        constraint: order.id.clone(),
        first: id(order.first),
        first_action: action(order.tasks.first),
        then: id(order.then),
        then_action: action(order.tasks.then),
        kind: match order.strength {
            OrderStrength::Mandatory => "mandatory",
            OrderStrength::Optional => "optional",
            OrderStrength::Serialize => "serialize",
        },
        symmetrical: order.symmetrical,
    });
    let of_choices = set.choices.iter().flat_map(|choice| {
        let pairs = choice.firsts.iter().flat_map(|first| {
            choice.dependents.iter().map(|then| OrderedPair { first: *first, then: *then })
        });
        pairs.map(|pair| NormalizedOrder {
            constraint: choice.id.clone(),
            first: id(pair.first),
            first_action: None,
            then: id(pair.then),
            then_action: None,
            kind: "one_of",
            symmetrical: choice.stops.contains(&pair),
        })
    });
    given.chain(of_choices).chain(of_groups).collect()
}
