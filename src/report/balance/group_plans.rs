//! The document of `hbal --json` with `--worst-group` or `--all-groups`: schema
//! `htools.group-plans/1`.

use serde::Serialize;

use super::deep::json::DeepView;
use super::plan::json::{BalancedGroup, EndingView, PlanStep};
use crate::report::cluster::json::{ClusterView, NodesView};
use crate::report::form::json::{Generator, Score};
use crate::search::Stopped;

/// The name of the schema.
pub(crate) const SCHEMA: &str = "htools.group-plans/1";

/// Which groups were to be balanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChosenGroups {
    /// The worst that can be improved.
    WorstGroup,
    AllGroups,
}

/// A plan for several groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupPlansDocument {
    pub schema: &'static str,
    pub generator: Generator,
    /// Which groups were to be balanced.
    pub choice: ChosenGroups,
    /// What ended the searches, if they did not end by themselves.
    pub stopped: Option<Stopped>,
    /// The cluster before the first step.
    pub cluster: ClusterView,
    /// The groups: all in their order, or the worst first.
    pub groups: Vec<GroupPlanView>,
    /// The steps of all groups, group after group.
    pub steps: Vec<PlanStep>,
    /// Numbers of the steps that can run at the same time, in order.
    pub jobsets: Vec<Vec<usize>>,
    /// The nodes of the groups that have steps, after the last step.
    pub nodes_after: NodesView,
}

/// What came of one group.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupPlanView {
    pub group: BalancedGroup,
    /// How its search ended; none if it had none.
    pub ending: Option<EndingView>,
    /// What ended its search, if it did not end by itself.
    pub stopped: Option<Stopped>,
    /// The score before the first step.
    pub initial_score: Score,
    /// The part of it that reserving memory makes unavoidable.
    pub unavoidable_score: f64,
    /// The score after the last step.
    pub final_score: Score,
    /// Numbers of its steps.
    pub steps: Vec<usize>,
    /// What was found, where it was not step after step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepView>,
}
