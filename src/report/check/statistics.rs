//! The values of a block of statistics, with their labels and keys.

use crate::report::components::score;
use crate::search::health::ProblemCounts;

#[derive(Debug, Clone, PartialEq)]
pub struct StatisticsEntry {
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
    pub fn text(&self) -> String {
        match self.value {
            Value::Count(count) => count.to_string(),
            Value::Score(value) => score(value),
            Value::Flag(true) => "True".to_owned(),
            Value::Flag(false) => "False".to_owned(),
        }
    }

    /// The value for shells.
    pub fn value(&self) -> String {
        match self.value {
            Value::Flag(flag) => u8::from(flag).to_string(),
            _ => self.text(),
        }
    }
}

/// The values of a group, which has a score, or of the cluster, which has none but is
/// healthy or not.
pub fn entries(counts: ProblemCounts, group_score: Option<f64>) -> Vec<StatisticsEntry> {
    let count = |key, label, count| StatisticsEntry { key, label, value: Value::Count(count) };
    let mut entries = vec![
        count("N1_FAIL", "Nodes not N+1 happy", counts.n1_failing),
        count("CONFLICT_TAGS", "Nodes with conflicting instances", counts.conflicting),
        count("OFFLINE_PRI", "Instances having the primary node offline", counts.offline_primary),
        count("OFFLINE_SEC", "Instances having a secondary node offline", counts.offline_secondary),
    ];
    entries.extend(counts.at_risk.map(|nodes| count("GN1_FAIL", "Nodes not directly evacuateable", nodes)));
    entries.push(match group_score {
        Some(score) => StatisticsEntry { key: "SCORE", label: "Group score", value: Value::Score(score) },
        None => StatisticsEntry {
            key: "NEED_REBALANCE",
            label: "Cluster is not healthy",
            value: Value::Flag(counts.any()),
        },
    });
    entries
}
