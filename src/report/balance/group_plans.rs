//! The document of `hbal --json` with `--worst-group` or `--all-groups`: schema `htools.group-plans/1`.

use serde::Serialize;

use super::deep::json::DeepView;
use super::plan::json::{BalancedGroup, EndingView, PlanStep};
use crate::report::cluster::json::{ClusterView, NodesView};
use crate::report::form::json::{Generator, Score};
use crate::search::Stopped;

pub(crate) const SCHEMA: &str = "htools.group-plans/1";

/// Groups to balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChosenGroups {
    /// The worst group that can be improved.
    WorstGroup,
    AllGroups,
}

/// A plan for several groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupPlansDocument {
    pub schema: &'static str,
    pub generator: Generator,
    pub choice: ChosenGroups,
    /// Reason that the searches ended early, if they did.
    pub stopped: Option<Stopped>,
    /// The cluster before the first step.
    pub cluster: ClusterView,
    /// The groups: all in their order, or the worst one first.
    pub groups: Vec<GroupPlanView>,
    /// The steps of all groups, group after group.
    pub steps: Vec<PlanStep>,
    /// Numbers of the steps that can run at the same time, in order.
    pub jobsets: Vec<Vec<usize>>,
    /// The nodes of the groups that have steps, after the last step.
    pub nodes_after: NodesView,
}

/// Result for one group.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupPlanView {
    pub group: BalancedGroup,
    /// End of its search; none if it had no search.
    pub ending: Option<EndingView>,
    /// Reason that its search ended early, if it did.
    pub stopped: Option<Stopped>,
    /// The score before the first step.
    pub initial_score: Score,
    /// The part of it that is due to unavoidable memory reserves.
    pub unavoidable_score: f64,
    /// The score after the last step.
    pub final_score: Score,
    /// Numbers of its steps.
    pub steps: Vec<usize>,
    /// Result of the deep search, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepView>,
}
