//! The document of `hsqueeze --json`: schema `htools.squeeze/1`.

use serde::Serialize;

use super::plan::{PlanStep, jobsets, steps};
use super::{Generator, texts};
use crate::model::{Cluster, InstanceIdx, NodeIdx};
use crate::plan::jobset;
use crate::plan::names::Impossible;
use crate::plan::power::group_commands;
use crate::report::explain::shortfall_text;
use crate::report::squeeze::{EXPOSED, Tense, obstacle_name, obstacle_text, planned, size_name, summary};
use crate::search::Stopped;
use crate::search::squeeze::standby::{NodeSize, SizeSource};
use crate::search::squeeze::{
    Decision, GroupPlan, Harm, Hindrance, Kept, Lack, Reserve, Squeeze, SqueezeOptions, Standby,
};

/// The name of the schema.
pub const SCHEMA: &str = "htools.squeeze/1";

/// The plans of all groups.
#[derive(Debug, Clone, Serialize)]
pub struct SqueezeDocument {
    schema: &'static str,
    generator: Generator,
    minimal: ReserveSize,
    target: ReserveSize,
    idle: bool,
    summary: String,
    stopped: Option<Stopped>,
    groups: Vec<SqueezedGroup>,
}

/// The room that every node must have.
#[derive(Debug, Clone, Serialize)]
struct ReserveSize {
    factor: f64,
    memory: i64,
    vcpus: i64,
}

#[derive(Debug, Clone, Serialize)]
struct SqueezedGroup {
    name: String,
    uuid: String,
    decision: &'static str,
    nodes: Vec<String>,
    enough: bool,
    missing: Option<Missing>,
    offline_candidates: Vec<String>,
    online_candidates: Vec<OnlineCandidate>,
    kept: Vec<KeptNode>,
    initial_score: f64,
    final_score: f64,
    steps: Vec<PlanStep>,
    jobsets: Vec<Vec<usize>>,
    commands: Vec<String>,
}

/// What a node lacks.
#[derive(Debug, Clone, Serialize)]
struct Missing {
    node: String,
    text: String,
    amount: Option<i64>,
}

#[derive(Debug, Clone, Serialize)]
struct OnlineCandidate {
    node: String,
    size_from: &'static str,
    like: Option<String>,
    size: Option<SizeFigures>,
}

#[derive(Debug, Clone, Serialize)]
struct SizeFigures {
    memory: i64,
    node_memory: i64,
    disk: i64,
    free_disk: i64,
    cpus: i64,
    node_cpus: i64,
    spindles: i64,
    free_spindles: i64,
}

/// A node that stays online.
#[derive(Debug, Clone, Serialize)]
struct KeptNode {
    node: String,
    reason: &'static str,
    text: String,
    instance: Option<String>,
    other_node: Option<String>,
    missing: Option<i64>,
}

/// The document of some plans, as they are before anything is done.
///
/// # Errors
/// A name that Ganeti cannot have: there would be commands with it.
pub fn document(
    cluster: &Cluster,
    asked: &SqueezeOptions,
    found: &Squeeze,
) -> Result<SqueezeDocument, Impossible> {
    let reserve = |factor: f64| {
        let reserve = Reserve::of(&cluster.policy, factor);
        ReserveSize { factor, memory: reserve.memory().0, vcpus: reserve.vcpus() }
    };
    Ok(SqueezeDocument {
        schema: SCHEMA,
        generator: Generator::this(),
        minimal: reserve(asked.minimal),
        target: reserve(asked.target),
        idle: found.plans.iter().all(GroupPlan::is_idle),
        summary: summary(&planned(found, cluster), Tense::Planned),
        stopped: found.stopped,
        groups: found.plans.iter().map(|plan| group(cluster, plan)).collect::<Result<_, _>>()?,
    })
}

fn name(cluster: &Cluster, node: NodeIdx) -> String {
    cluster.node(node).spec.name.clone()
}

fn group(cluster: &Cluster, plan: &GroupPlan) -> Result<SqueezedGroup, Impossible> {
    let names = |nodes: &[NodeIdx]| nodes.iter().map(|n| name(cluster, *n)).collect();
    let there = cluster.group(plan.group);
    let lines = group_commands(cluster, plan)?;
    Ok(SqueezedGroup {
        name: there.name.clone(),
        uuid: there.uuid.clone(),
        decision: match plan.decision {
            Decision::Expand => "expand",
            Decision::Nothing => "nothing",
            Decision::Condense => "condense",
        },
        nodes: names(&plan.nodes),
        enough: plan.enough,
        missing: missing(cluster, plan),
        offline_candidates: names(&plan.offline_candidates),
        online_candidates: plan.online_candidates.iter().map(|s| candidate(cluster, s)).collect(),
        kept: plan.kept.iter().map(|k| kept(cluster, k)).collect(),
        initial_score: plan.initial_score,
        final_score: plan.final_score,
        steps: steps(cluster, &plan.steps)?,
        jobsets: jobsets(&jobset::jobsets(cluster, &plan.steps)),
        commands: texts(lines.iter().filter(|line| line.is_command())),
    })
}

fn missing(cluster: &Cluster, plan: &GroupPlan) -> Option<Missing> {
    let lack = plan.missing.as_ref().map(|Lack { node, shortfall, .. }| Missing {
        node: name(cluster, *node),
        text: shortfall_text(shortfall),
        amount: shortfall.missing(),
    });
    lack.or_else(|| {
        let node = name(cluster, plan.exposed?);
        Some(Missing { node, text: EXPOSED.to_owned(), amount: None })
    })
}

fn candidate(cluster: &Cluster, standby: &Standby) -> OnlineCandidate {
    let figures = |size: NodeSize| {
        let NodeSize { memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles } =
            size;
        SizeFigures { memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles }
    };
    OnlineCandidate {
        node: name(cluster, standby.node),
        size_from: size_name(standby.source),
        like: match standby.source {
            SizeSource::Like(model) => Some(name(cluster, model)),
            _ => None,
        },
        size: standby.size.map(figures),
    }
}

fn kept(cluster: &Cluster, kept: &Kept) -> KeptNode {
    let instance = |i: &InstanceIdx| Some(cluster.instance(*i).name.clone());
    let (instance, other_node, missing) = match &kept.why {
        Hindrance::NotInReach(i) | Hindrance::SecondaryOf(i) | Hindrance::Fixed(i) | Hindrance::Stays(i) => {
            (instance(i), None, None)
        }
        Hindrance::Memory(missing) => (None, None, Some(*missing)),
        Hindrance::Reserve(lack) => (None, Some(name(cluster, lack.node)), lack.shortfall.missing()),
        Hindrance::Redundancy(node)
        | Hindrance::Expendable(node)
        | Hindrance::Exposed(node)
        | Hindrance::Worse(Harm::Exclusion { node, .. } | Harm::Policy { node, .. }) => {
            (None, Some(name(cluster, *node)), None)
        }
        Hindrance::Worse(Harm::SharedLocation | Harm::DesiredLocation)
        | Hindrance::Master
        | Hindrance::LeftAlone
        | Hindrance::LastNode
        | Hindrance::MaxNodes
        | Hindrance::Unlikely
        | Hindrance::NotTried => (None, None, None),
    };
    KeptNode {
        node: name(cluster, kept.node),
        reason: obstacle_name(&kept.why),
        text: obstacle_text(&kept.why, cluster),
        instance,
        other_node,
        missing,
    }
}
