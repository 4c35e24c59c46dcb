//! The document of `hsqueeze --json`: schema `htools.squeeze/1`.

use serde::Serialize;

use super::text::{Tense, planned, size_name, summary};
use crate::model::standby::NodeSize;
use crate::model::{Cluster, Step};
use crate::plan::jobset;
use crate::report::balance::plan::json::{PlanStep, jobsets, steps};
use crate::report::form::json::{Generator, node_name, node_names};
use crate::report::why::json::LackView;
use crate::report::why::words::{EXPOSED, Words, hindrance_words};
use crate::search::Stopped;
use crate::search::squeeze::standby::SizeSource;
use crate::search::squeeze::{Decision, GroupPlan, Reserve, Squeeze, SqueezeOptions, Standby, UnfreedNode};
use crate::search::why::Shortfall;

pub(crate) const SCHEMA: &str = "htools.squeeze/1";

/// The plans of all groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SqueezeDocument {
    schema: &'static str,
    generator: Generator,
    minimal: ReserveSize,
    target: ReserveSize,
    idle: bool,
    summary: String,
    stopped: Option<Stopped>,
    groups: Vec<SqueezedGroup>,
}

/// Free resources that every node must have.
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
    missing: Option<LackView>,
    offline_candidates: Vec<String>,
    online_candidates: Vec<OnlineCandidate>,
    kept: Vec<KeptNode>,
    /// Only if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<NodeProofView>,
    initial_score: f64,
    final_score: f64,
    steps: Vec<PlanStep>,
    jobsets: Vec<Vec<usize>>,
    commands: Vec<String>,
}

/// Lower bound of the number of online nodes.
#[derive(Debug, Clone, Serialize)]
struct NodeProofView {
    fewest: usize,
    online: usize,
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

/// Functions for the commands that documents quote.
pub(crate) struct SqueezeCommands<'a, E> {
    /// Commands of a step.
    pub of_step: &'a dyn Fn(&Step) -> Result<Vec<String>, E>,
    /// Commands of a whole plan.
    pub of_plan: &'a dyn Fn(&GroupPlan) -> Result<Vec<String>, E>,
}

/// The document of some plans, before anything is done.
///
/// # Errors
/// Those of `commands`.
pub(crate) fn document<E>(
    cluster: &Cluster,
    asked: &SqueezeOptions,
    found: &Squeeze,
    commands: &SqueezeCommands<'_, E>,
) -> Result<SqueezeDocument, E> {
    let reserve = |factor: f64| {
        let reserve = Reserve::of(&cluster.policy, factor);
        ReserveSize { factor, memory: reserve.memory().0, vcpus: reserve.vcpus() }
    };
    Ok(SqueezeDocument {
        schema: SCHEMA,
        generator: Generator::of(cluster),
        minimal: reserve(asked.minimal),
        target: reserve(asked.target),
        idle: found.plans.iter().all(GroupPlan::is_idle),
        summary: summary(&planned(found, cluster), Tense::Planned),
        stopped: found.stopped,
        groups: found
            .plans
            .iter()
            .map(|plan| group(cluster, found, plan, commands))
            .collect::<Result<_, _>>()?,
    })
}

fn group<E>(
    cluster: &Cluster,
    found: &Squeeze,
    plan: &GroupPlan,
    commands: &SqueezeCommands<'_, E>,
) -> Result<SqueezedGroup, E> {
    let cluster = plan.start(cluster);
    let there = cluster.group(plan.group);
    let proof = found.proofs.iter().find(|proof| proof.group == plan.group);
    Ok(SqueezedGroup {
        name: there.name.clone(),
        uuid: there.uuid.clone(),
        decision: match plan.decision {
            Decision::Expand => "expand",
            Decision::Nothing => "nothing",
            Decision::Condense => "condense",
        },
        nodes: node_names(cluster, &plan.nodes),
        enough: plan.enough,
        missing: missing(cluster, plan),
        offline_candidates: node_names(cluster, &plan.offline_candidates),
        online_candidates: plan.online_candidates.iter().map(|s| candidate(cluster, s)).collect(),
        kept: plan.kept.iter().map(|k| kept(cluster, k)).collect(),
        proof: proof.map(|proof| NodeProofView { fewest: proof.fewest, online: proof.online }),
        initial_score: plan.initial_score,
        final_score: plan.final_score,
        steps: steps(cluster, &plan.steps, &[], commands.of_step)?,
        jobsets: jobsets(&jobset::jobsets(cluster, &plan.steps)),
        commands: (commands.of_plan)(plan)?,
    })
}

fn missing(cluster: &Cluster, plan: &GroupPlan) -> Option<LackView> {
    let lack = plan.missing.as_ref().map(|refused_place| LackView {
        amount: Some(refused_place.shortfall.as_ref().and_then(Shortfall::missing)),
        ..LackView::of(cluster, refused_place)
    });
    lack.or_else(|| {
        let node = node_name(cluster, plan.exposed?);
        Some(LackView { node, text: EXPOSED.to_owned(), amount: Some(None) })
    })
}

fn candidate(cluster: &Cluster, standby: &Standby) -> OnlineCandidate {
    let figures = |size: NodeSize| {
        let NodeSize { memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles } =
            size;
        SizeFigures { memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles }
    };
    OnlineCandidate {
        node: node_name(cluster, standby.node),
        size_from: size_name(standby.source),
        like: match standby.source {
            SizeSource::Like(model) => Some(node_name(cluster, model)),
            _ => None,
        },
        size: standby.size.map(figures),
    }
}

fn kept(cluster: &Cluster, kept: &UnfreedNode) -> KeptNode {
    let Words { name: reason, text, instance, node: other_node, missing } =
        hindrance_words(&kept.why, cluster);
    KeptNode {
        node: node_name(cluster, kept.node),
        reason,
        text,
        instance: instance.map(|i| cluster.instance(i).name.clone()),
        other_node: other_node.map(|n| node_name(cluster, n)),
        missing,
    }
}
