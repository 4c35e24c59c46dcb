//! What a response says beyond the reference's, if that is wished for: members behind
//! the three that Ganeti reads.

use serde::{Serialize, Serializer};

use super::node_name;
use super::plain::{bar_name, untried_name};
use crate::model::{Cluster, GroupIdx, Placement};
use crate::plan::opcode::{Opcode, job};
use crate::report::json::kind;
use crate::search::allocate::PlaceMetric;
use crate::search::allocator::room::RoomPlan;
use crate::search::allocator::why::{GroupWhy, Hurdle, InTheWay, Nearest, Untried};
use crate::search::allocator::{Answer, Failure, GroupChoice, GroupTrial, Reply, RoomFound};
use crate::search::shortfall::Shortfall;

/// Which additions are wished for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WishedAdditions {
    /// The best place of every group (`--all-solutions`).
    pub solutions: bool,
    /// What was in the way (`--json`).
    pub details: bool,
}

/// The additional members of a response; those that are not wished for are absent.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Additions {
    #[serde(skip_serializing_if = "Option::is_none")]
    solutions: Option<Vec<Solution>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Vec<Details>>,
    /// Null if there is no way to make room.
    #[serde(skip_serializing_if = "Option::is_none")]
    make_room: Option<Option<Moves>>,
}

/// How good a place is: a score, or the instances lost by size and the disk that stays
/// free.
#[derive(Debug, Clone)]
struct Goodness(PlaceMetric);

impl Serialize for Goodness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            PlaceMetric::Score(score) => score.serialize(serializer),
            PlaceMetric::Lost(lost, disk) => (lost, disk).serialize(serializer),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct Solution {
    group: String,
    policy: &'static str,
    nodes: Vec<String>,
    score: Goodness,
}

#[derive(Debug, Clone, Serialize)]
struct Details {
    instance: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<PlacesView>,
}

#[derive(Debug, Clone, Serialize)]
struct GroupDetails {
    group: String,
    policy: &'static str,
    /// Why no place was tried, if none was.
    untried: Option<&'static str>,
    /// UUIDs of networks that the group lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    networks: Vec<String>,
    #[serde(flatten)]
    places: PlacesView,
}

#[derive(Debug, Clone, Serialize)]
struct PlacesView {
    refused: usize,
    nearest: Vec<RefusalAddition>,
}

#[derive(Debug, Clone, Serialize)]
struct RefusalAddition {
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    nodes: Vec<String>,
    at: String,
    rule: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shortfall: Option<AmountsView>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(in crate::report) enum AmountsView {
    Missing { resource: &'static str, unit: &'static str, needed: i64, available: i64, missing: Option<i64> },
    Outside { resource: &'static str, unit: &'static str, found: Option<i64>, min: i64, max: i64 },
    Tags { tags: Vec<String> },
    Template { template: &'static str },
}

#[derive(Debug, Clone, Serialize)]
struct Moves {
    group: String,
    nodes: Vec<String>,
    score: Goodness,
    moves: Vec<OneMove>,
}

#[derive(Debug, Clone, Serialize)]
struct OneMove {
    instance: String,
    group: String,
    nodes: Vec<String>,
    jobs: Vec<Opcode>,
}

impl Additions {
    pub fn of(reply: &Reply, wish: WishedAdditions) -> Additions {
        let cluster = &reply.cluster;
        Additions {
            solutions: wish.solutions.then(|| solutions(reply)),
            details: wish.details.then(|| reply.why.iter().map(|why| details(cluster, why)).collect()),
            make_room: match &reply.room {
                RoomFound::NotSought => None,
                RoomFound::NotFound => Some(None),
                RoomFound::Found(plan) => Some(Some(moves(cluster, plan))),
            },
        }
    }
}

fn group_name(cluster: &Cluster, group: GroupIdx) -> String {
    cluster.group(group).name.clone()
}

fn nodes(cluster: &Cluster, place: Placement) -> Vec<String> {
    [Some(place.primary), place.secondary].into_iter().flatten().map(|n| node_name(cluster, n)).collect()
}

fn solutions(reply: &Reply) -> Vec<Solution> {
    let cluster = &reply.cluster;
    let choice: Option<&GroupChoice> = match &reply.answer {
        Ok(Answer::Allocated { choice, .. }) | Err(Failure::NoGroup(choice)) => Some(choice),
        _ => None,
    };
    let solution = |trial: &GroupTrial| {
        let (metric, place) = trial.best()?;
        Some(Solution {
            group: group_name(cluster, trial.group),
            policy: cluster.group(trial.group).alloc_policy.as_str(),
            nodes: nodes(cluster, place.placement),
            score: Goodness(metric.clone()),
        })
    };
    choice.map(|c| c.ranked(cluster).into_iter().filter_map(solution).collect()).unwrap_or_default()
}

fn details(cluster: &Cluster, why: &InTheWay) -> Details {
    Details {
        instance: why.instance.clone(),
        groups: why.groups.iter().map(|g| group_details(cluster, g)).collect(),
        moves: why.moves.as_ref().map(|m| places(cluster, m)),
    }
}

fn group_details(cluster: &Cluster, why: &GroupWhy) -> GroupDetails {
    GroupDetails {
        group: group_name(cluster, why.group),
        policy: cluster.group(why.group).alloc_policy.as_str(),
        untried: why.untried.as_ref().map(untried_name),
        networks: match &why.untried {
            Some(Untried::Networks(networks)) => networks.clone(),
            _ => Vec::new(),
        },
        places: places(cluster, &why.places),
    }
}

fn places(cluster: &Cluster, nearest: &Nearest) -> PlacesView {
    let refusal = |hurdle: &Hurdle| RefusalAddition {
        kind: hurdle.mv.map(kind),
        nodes: nodes(cluster, hurdle.place),
        at: node_name(cluster, hurdle.node),
        rule: bar_name(hurdle.bar),
        shortfall: hurdle.shortfall.as_ref().and_then(amounts),
    };
    PlacesView { refused: nearest.refused, nearest: nearest.kept.iter().map(refusal).collect() }
}

/// What was missing, in numbers or names.
pub(in crate::report) fn amounts(shortfall: &Shortfall) -> Option<AmountsView> {
    Some(match shortfall {
        &Shortfall::Amount { resource, unit, needed, available } => {
            AmountsView::Missing { resource, unit, needed, available, missing: shortfall.missing() }
        }
        &Shortfall::Range { resource, unit, found, accepted: (min, max) } => {
            AmountsView::Outside { resource, unit, found, min, max }
        }
        Shortfall::Tags(tags) | Shortfall::Migration(tags) => AmountsView::Tags { tags: tags.clone() },
        Shortfall::Template(template) => AmountsView::Template { template: template.as_str() },
        Shortfall::NoSecondary => return None,
    })
}

fn moves(cluster: &Cluster, plan: &RoomPlan) -> Moves {
    let group = group_name(cluster, plan.group);
    let one = |step: &crate::model::Step| {
        let instance = cluster.instance(step.instance);
        let to = Placement {
            secondary: step.to.secondary.filter(|_| instance.template.has_secondary()),
            ..step.to
        };
        OneMove {
            instance: instance.name.clone(),
            group: group.clone(),
            nodes: nodes(cluster, to),
            jobs: job(cluster, instance, &[step.mv]),
        }
    };
    Moves {
        moves: plan.steps.iter().map(one).collect(),
        nodes: nodes(cluster, plan.place),
        score: Goodness(plan.metric.clone()),
        group,
    }
}
