//! What a response says beyond the reference's, if that is wished for: members behind
//! the three that Ganeti reads.

use serde::{Serialize, Serializer};

use super::node_name;
use super::plain::{bar_name, untried_name};
use crate::model::{Cluster, GroupIdx, Placement};
use crate::plan::opcode::{Opcode, job};
use crate::report::json::kind;
use crate::search::allocate::Metric;
use crate::search::allocator::room::Plan;
use crate::search::allocator::why::{GroupWhy, Hurdle, Nearest, Untried, Why};
use crate::search::allocator::{Answer, Choice, Failure, Reply, Room, Trial};
use crate::search::shortfall::Shortfall;

/// Which additions are wished for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wish {
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
struct Goodness(Metric);

impl Serialize for Goodness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Metric::Score(score) => score.serialize(serializer),
            Metric::Lost(lost, disk) => (lost, disk).serialize(serializer),
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
    moves: Option<Places>,
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
    places: Places,
}

#[derive(Debug, Clone, Serialize)]
struct Places {
    refused: usize,
    nearest: Vec<Refusal>,
}

#[derive(Debug, Clone, Serialize)]
struct Refusal {
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    nodes: Vec<String>,
    at: String,
    rule: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shortfall: Option<Amounts>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(in crate::report) enum Amounts {
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
    pub fn of(reply: &Reply, wish: Wish) -> Additions {
        let cluster = &reply.cluster;
        Additions {
            solutions: wish.solutions.then(|| solutions(reply)),
            details: wish.details.then(|| reply.why.iter().map(|why| details(cluster, why)).collect()),
            make_room: match &reply.room {
                Room::NotSought => None,
                Room::NotFound => Some(None),
                Room::Found(plan) => Some(Some(moves(cluster, plan))),
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
    let choice: Option<&Choice> = match &reply.answer {
        Ok(Answer::Allocated { choice, .. }) | Err(Failure::NoGroup(choice)) => Some(choice),
        _ => None,
    };
    let solution = |trial: &Trial| {
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

fn details(cluster: &Cluster, why: &Why) -> Details {
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

fn places(cluster: &Cluster, nearest: &Nearest) -> Places {
    let refusal = |hurdle: &Hurdle| Refusal {
        kind: hurdle.mv.map(kind),
        nodes: nodes(cluster, hurdle.place),
        at: node_name(cluster, hurdle.node),
        rule: bar_name(hurdle.bar),
        shortfall: hurdle.shortfall.as_ref().and_then(amounts),
    };
    Places { refused: nearest.refused, nearest: nearest.kept.iter().map(refusal).collect() }
}

/// What was missing, in numbers or names.
pub(in crate::report) fn amounts(shortfall: &Shortfall) -> Option<Amounts> {
    Some(match shortfall {
        &Shortfall::Amount { resource, unit, needed, available } => {
            Amounts::Missing { resource, unit, needed, available, missing: shortfall.missing() }
        }
        &Shortfall::Range { resource, unit, found, accepted: (min, max) } => {
            Amounts::Outside { resource, unit, found, min, max }
        }
        Shortfall::Tags(tags) | Shortfall::Migration(tags) => Amounts::Tags { tags: tags.clone() },
        Shortfall::Template(template) => Amounts::Template { template: template.as_str() },
        Shortfall::NoSecondary => return None,
    })
}

fn moves(cluster: &Cluster, plan: &Plan) -> Moves {
    let group = group_name(cluster, plan.group);
    let one = |step: &crate::search::Step| {
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
