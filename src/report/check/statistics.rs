//! The values of a block of statistics, with their labels and keys.

use crate::report::balance::components::score;
use crate::search::health::{GroupHealth, ProblemCounts};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatisticsEntry {
    pub key: &'static str,
    pub label: &'static str,
    value: Value,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Count(usize),
    Score(f64),
    Flag(bool),
}

impl StatisticsEntry {
    /// The value for people.
    pub(crate) fn text(&self) -> String {
        match self.value {
            Value::Count(count) => count.to_string(),
            Value::Score(value) => score(value),
            Value::Flag(true) => "True".to_owned(),
            Value::Flag(false) => "False".to_owned(),
        }
    }

    /// The value for shells.
    pub(crate) fn value(&self) -> String {
        match self.value {
            Value::Flag(flag) => u8::from(flag).to_string(),
            _ => self.text(),
        }
    }
}

/// The values of a group.
pub(super) fn of_group(group: &GroupHealth) -> Vec<StatisticsEntry> {
    let mut entries = of_counts(group.counts());
    entries.push(StatisticsEntry { key: "SCORE", label: "Group score", value: Value::Score(group.score) });
    entries
}

/// The values of the cluster with the verdict on it.
pub(super) fn of_cluster(counts: ProblemCounts, needs_rebalance: bool) -> Vec<StatisticsEntry> {
    let mut entries = of_counts(counts);
    entries.push(StatisticsEntry {
        key: "NEED_REBALANCE",
        label: "Cluster is not healthy",
        value: Value::Flag(needs_rebalance),
    });
    entries
}

/// The number of problems of each kind.
pub(crate) fn of_counts(counts: ProblemCounts) -> Vec<StatisticsEntry> {
    let count = |key, label, count| StatisticsEntry { key, label, value: Value::Count(count) };
    let mut entries = vec![
        count("N1_FAIL", "Nodes not N+1 happy", counts.n1_failing),
        count("CONFLICT_TAGS", "Nodes with conflicting instances", counts.conflicting),
        count("OFFLINE_PRI", "Instances having the primary node offline", counts.offline_primary),
        count("OFFLINE_SEC", "Instances having a secondary node offline", counts.offline_secondary),
    ];
    entries.extend(counts.at_risk.map(|nodes| count("GN1_FAIL", "Nodes not directly evacuateable", nodes)));
    entries
}
