//! The document of `hbal --json`: schema `htools.plan/1`.

use serde::Serialize;

use crate::model::{Cluster, Concession, Step};
use crate::plan::command::{commands, step_notation};
use crate::plan::jobset::Jobset;
use crate::plan::names::Impossible;
use crate::report::balance::deep::json::DeepView;
use crate::report::balance::explain::json::Explained;
use crate::report::cluster::json::{ClusterView, NodesView};
use crate::report::form::json::{Generator, Nodes, Score, kind, texts};
use crate::search::Stopped;

pub(crate) const SCHEMA: &str = "htools.plan/1";

/// Ending of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EndingView {
    /// The cluster has no instances.
    Empty,
    /// Nothing could be gained from the start.
    Balanced,
    /// No step improves the score.
    NoSolution,
    /// The plan has steps.
    Improved,
    /// Only explanations were asked for.
    Explained,
    /// `--only-if` or `--moves-per-day` does not allow any move now.
    NotNow,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlanDocument {
    pub schema: &'static str,
    pub generator: Generator,
    pub ending: EndingView,
    /// Reason that the search ended early, if it did.
    pub stopped: Option<Stopped>,
    /// The group that was balanced; none in an empty cluster.
    pub group: Option<BalancedGroup>,
    /// The group's nodes and instances before the first step.
    pub cluster: ClusterView,
    /// The score before the first step.
    pub initial_score: Option<Score>,
    /// The part of it that is due to unavoidable memory reserves.
    pub unavoidable_score: Option<f64>,
    /// The score after the last step.
    pub final_score: Option<Score>,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// Numbers of the steps that can run at the same time, in order.
    pub jobsets: Vec<Vec<usize>>,
    /// The group's nodes after the last step; none without steps.
    pub nodes_after: NodesView,
    /// Explanations of the instances asked about.
    pub explanations: Vec<Explained>,
    /// Result of the deep search, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepView>,
}

impl PlanDocument {
    /// A document without a group and without steps.
    pub(crate) fn new(ending: EndingView, cluster: ClusterView) -> PlanDocument {
        PlanDocument {
            schema: SCHEMA,
            generator: Generator::this(),
            ending,
            stopped: None,
            group: None,
            cluster,
            initial_score: None,
            unavoidable_score: None,
            final_score: None,
            steps: Vec::new(),
            jobsets: Vec::new(),
            nodes_after: NodesView::default(),
            explanations: Vec::new(),
            deep: None,
        }
    }
}

/// The group that was balanced.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BalancedGroup {
    pub name: String,
    pub uuid: String,
    /// Number of its nodes.
    pub nodes: usize,
    /// Number of instances whose primary is in it.
    pub instances: usize,
    /// Nodes that fail N+1 at the start.
    pub bad_nodes: Vec<String>,
    /// Instances on these nodes.
    pub bad_instances: usize,
    /// Nodes that break their policy at the start.
    pub policy_violating_nodes: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlanStep {
    number: usize,
    instance: String,
    #[serde(rename = "move")]
    kind: &'static str,
    notation: String,
    from: Nodes,
    to: Nodes,
    score: f64,
    /// Increase of the final score if the moves of the instance are left out; null if the others do not fit then.
    /// Absent if the plan has no prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Option<f64>>,
    /// Memory missing on the new primary node until other instances have left it, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    lacking: Option<i64>,
    /// The instance that is stopped in the meantime.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    commands: Vec<String>,
}

/// The steps of a plan, each with its price, if known, and its commands from `commands`.
///
/// # Errors
/// Those of `commands`.
pub(crate) fn steps<E>(
    cluster: &Cluster,
    steps: &[Step],
    prices: &[Option<f64>],
    commands: impl Fn(&Step) -> Result<Vec<String>, E>,
) -> Result<Vec<PlanStep>, E> {
    let row = |(number, step): (usize, &Step)| {
        Ok(PlanStep {
            number,
            instance: cluster.instance(step.instance).name.clone(),
            kind: match step.copies_while_stopped(cluster) {
                true => "move-disks",
                false => kind(step.mv),
            },
            notation: step_notation(cluster, step),
            from: Nodes::of(cluster, step.from),
            to: Nodes::of(cluster, step.to),
            score: step.score,
            price: prices.get(number - 1).copied(),
            lacking: Some(step.concession.memory().0).filter(|memory| *memory > 0),
            stopped: match step.concession {
                Concession::Interruption { stopped, .. } => Some(cluster.instance(stopped).name.clone()),
                _ => None,
            },
            commands: commands(step)?,
        })
    };
    (1..).zip(steps).map(row).collect()
}

/// The commands of a step on a Ganeti cluster.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(crate) fn ganeti_commands(cluster: &Cluster, step: &Step) -> Result<Vec<String>, Impossible> {
    Ok(texts(&commands(cluster, step)?))
}

pub(crate) fn jobsets(jobsets: &[Jobset]) -> Vec<Vec<usize>> {
    jobsets.iter().map(|set| set.iter().map(|step| step.get() + 1).collect()).collect()
}
