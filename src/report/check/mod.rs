//! Results of `hcheck`: the state of every group and of the cluster, before and after balancing; problems by name;
//! effects of the loss of certain or of any nodes.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod loss;
pub(crate) mod metrics;
pub(crate) mod monitor;
pub(in crate::report) mod problem_rows;
pub(crate) mod problems;
mod statistics;
pub(crate) mod survival;

pub(crate) use statistics::{StatisticsEntry, of_counts};
use statistics::{of_cluster, of_group};

use crate::affinity::UnmetKey;
use crate::load::tag_review::IdleTag;
use crate::model::{Cluster, Step};
use crate::report::form::shell::Assignments;
use crate::search::Stopped;
use crate::search::health::{GroupHealth, ProblemCounts};

/// Prefix of the keys for shells.
pub(crate) const PREFIX: &str = "HCHECK";

/// A cluster at one time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Snapshot {
    /// The groups that have nodes.
    pub groups: Vec<GroupHealth>,
    /// All of them together.
    pub counts: ProblemCounts,
}

impl Snapshot {
    pub(crate) fn of(groups: Vec<GroupHealth>, capacity_checks: bool) -> Snapshot {
        let counts = ProblemCounts::none(capacity_checks) + groups.iter().map(GroupHealth::counts).sum();
        Snapshot { groups, counts }
    }

    /// Tells if there are any problems.
    pub(crate) fn needs_rebalance(&self) -> bool {
        self.counts.any()
    }
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckResult {
    /// The cluster as it is.
    pub initial: Snapshot,
    /// The cluster after balancing, if that was simulated.
    pub rebalanced: Option<Snapshot>,
    /// Balancing steps of each group, in the order of the snapshots.
    pub steps: Vec<Vec<Step>>,
    /// Reason that the balancing of a group ended early, if it did.
    pub stopped: Option<Stopped>,
    /// True if the simulation was turned off.
    pub without_simulation: bool,
    /// Tags without effect.
    pub idle_tags: Vec<IdleTag>,
    /// Customers' affinity keys that are not met where the instance runs.
    pub unmet_keys: Vec<UnmetKey>,
}

impl CheckResult {
    /// The latest known state.
    pub(crate) fn last(&self) -> &Snapshot {
        self.rebalanced.as_ref().unwrap_or(&self.initial)
    }

    /// Number of balancing steps of each group, in the order of the snapshots.
    pub(crate) fn step_counts(&self) -> Vec<usize> {
        self.steps.iter().map(Vec::len).collect()
    }

    /// Tells if the exit status reports problems: any present ones, even if balancing would fix them.
    pub(crate) fn is_unhealthy(&self) -> bool {
        !self.without_simulation && self.initial.needs_rebalance()
    }

    /// Tells if problems remain after balancing, or exist now if nothing was balanced.
    pub(crate) fn leaves_problems(&self) -> bool {
        self.last().needs_rebalance()
    }
}

/// Time of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckStage {
    Initially,
    Rebalanced,
}

impl CheckStage {
    pub(crate) fn text(self) -> &'static str {
        match self {
            CheckStage::Initially => "initially",
            CheckStage::Rebalanced => "after rebalancing",
        }
    }

    fn key(self) -> &'static str {
        match self {
            CheckStage::Initially => "INIT",
            CheckStage::Rebalanced => "FINAL",
        }
    }
}

/// The lines for people.
pub(crate) fn text(check: &CheckResult, cluster: &Cluster) -> Vec<String> {
    let mut lines = vec![
        match (check.without_simulation, check.initial.needs_rebalance()) {
            (true, _) => "Running in no-simulation mode.",
            (false, true) => "Cluster needs rebalancing.",
            (false, false) => "No need to rebalance cluster, no problems found.",
        }
        .to_owned(),
    ];
    let after = check.rebalanced.iter().map(|state| (CheckStage::Rebalanced, state));
    for (when, state) in [(CheckStage::Initially, &check.initial)].into_iter().chain(after) {
        let mut block = |title: String, entries: Vec<StatisticsEntry>| {
            lines.extend([String::new(), format!("{title} {}", when.text())]);
            lines.extend(entries.iter().map(|entry| format!("    {}: {}", entry.label, entry.text())));
        };
        for group in &state.groups {
            let title = format!("Statistics for group {}", cluster.group(group.group).name);
            block(title, of_group(group));
        }
        block("Cluster statistics".to_owned(), of_cluster(state.counts, check.initial.needs_rebalance()));
    }
    lines
}

/// The lines for shells.
pub(crate) fn assignments(check: &CheckResult, cluster: &Cluster) -> Vec<String> {
    let mut lines = Assignments::new(PREFIX);
    for group in &cluster.groups {
        lines.push(&format!("GROUP_UUID_{}", group.idx.get()), &group.uuid);
    }
    for (when, state) in [(CheckStage::Initially, &check.initial), (CheckStage::Rebalanced, check.last())] {
        let mut block = |of: String, entries: Vec<StatisticsEntry>| {
            for entry in entries {
                lines.push(&format!("{}_{of}_{}", when.key(), entry.key), entry.value());
            }
        };
        for group in &state.groups {
            block(format!("GROUP_{}", group.group.get()), of_group(group));
        }
        block("CLUSTER".to_owned(), of_cluster(state.counts, check.initial.needs_rebalance()));
    }
    lines.push("FINAL_CLUSTER_PROBLEMS_LEFT", u8::from(check.leaves_problems()));
    lines.push("OK", 1);
    lines.lines()
}
