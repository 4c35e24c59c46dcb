//! What `hcheck` says: the state of every group and of the cluster, before and after
//! balancing; what is wrong, by name; what the loss of nodes would mean, of some or of any.

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
use crate::model::Cluster;
use crate::report::form::shell::Assignments;
use crate::search::Stopped;
use crate::search::health::{GroupHealth, ProblemCounts};

/// What the keys of the lines for shells begin with.
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
    /// The state that groups make.
    pub(crate) fn of(groups: Vec<GroupHealth>, capacity_checks: bool) -> Snapshot {
        let counts = ProblemCounts::none(capacity_checks) + groups.iter().map(GroupHealth::counts).sum();
        Snapshot { groups, counts }
    }

    /// Whether anything is wrong.
    pub(crate) fn needs_rebalance(&self) -> bool {
        self.counts.any()
    }
}

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckResult {
    /// The cluster as it is.
    pub initial: Snapshot,
    /// The cluster after balancing, if that was simulated.
    pub rebalanced: Option<Snapshot>,
    /// How many steps that took, by group as in the states.
    pub steps: Vec<usize>,
    /// What ended the balancing of a group early, if anything did.
    pub stopped: Option<Stopped>,
    /// Whether there was no simulation because it was not wanted.
    pub without_simulation: bool,
    /// Tags that do nothing.
    pub idle_tags: Vec<IdleTag>,
    /// Customers' affinity keys that are not met where the instance runs.
    pub unmet_keys: Vec<UnmetKey>,
}

impl CheckResult {
    /// The last state that is known.
    pub(crate) fn last(&self) -> &Snapshot {
        self.rebalanced.as_ref().unwrap_or(&self.initial)
    }

    /// Whether the exit status reports problems: whatever is wrong now, even if balancing would mend it.
    pub(crate) fn is_unhealthy(&self) -> bool {
        !self.without_simulation && self.initial.needs_rebalance()
    }

    /// Whether balancing leaves problems; those of now if nothing was balanced.
    pub(crate) fn leaves_problems(&self) -> bool {
        self.last().needs_rebalance()
    }
}

/// When a state is.
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
