//! Optional additions to a response: further members after the three that Ganeti reads.

use serde::{Serialize, Serializer};

use crate::model::{Cluster, GroupIdx, Placement};
use crate::plan::opcode::{Opcode, job};
use crate::report::why::json::{Details, nodes};
use crate::search::place::PlaceMetric;
use crate::search::requests::room::RoomPlan;
use crate::search::requests::{Answer, Failure, GroupChoice, GroupTrial, Reply, RoomFound};

/// Additions to include in a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WishedAdditions {
    /// The best place in every group (`--all-solutions`).
    pub solutions: bool,
    /// The obstacles (`--json`).
    pub details: bool,
}

/// The additional members of a response; those not asked for are absent.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Additions {
    #[serde(skip_serializing_if = "Option::is_none")]
    solutions: Option<Vec<Solution>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Vec<Details>>,
    /// Null if there is no way to make room.
    #[serde(skip_serializing_if = "Option::is_none")]
    make_room: Option<Option<Moves>>,
}

/// Quality of a place: a score, or the instances lost by size and the disk left free.
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
    pub(super) fn of(reply: &Reply, wish: WishedAdditions) -> Additions {
        let cluster = &reply.cluster;
        Additions {
            solutions: wish.solutions.then(|| solutions(reply)),
            details: wish.details.then(|| reply.why.iter().map(|why| Details::of(cluster, why)).collect()),
            make_room: match &reply.room {
                RoomFound::NotSearched => None,
                RoomFound::NotFound => Some(None),
                RoomFound::Found(plan) => Some(Some(moves(cluster, plan))),
            },
        }
    }
}

fn group_name(cluster: &Cluster, group: GroupIdx) -> String {
    cluster.group(group).name.clone()
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
