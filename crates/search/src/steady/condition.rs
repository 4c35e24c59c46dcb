//! Conditions on which a balancer acts: `memory>85 or cpu>80 or score>5`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use htools_ganeti::execute::history::RoundsAbove;
use htools_model::score::Board;
use htools_model::{Cluster, NodeFigure, NodeIdx, UseLimits};

/// Figure that a threshold is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdFigure {
    /// A figure of each node, in percent.
    Node(NodeFigure),
    /// The score of the node group.
    Score,
}

/// A figure and the value that it must exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// The figure.
    pub figure: ThresholdFigure,
    /// The value, in percent for figures of nodes.
    pub above: f64,
}

/// Thresholds, one of which must be exceeded.
#[derive(Debug, Clone, PartialEq)]
pub struct ActCondition(Vec<Threshold>);

/// Reason that a text is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// A part is not a figure, `>` and a number.
    #[error("'{0}' is not FIGURE>NUMBER, such as memory>85")]
    NoThreshold(String),
    /// An unknown figure.
    #[error("'{0}' is not memory, cpu, vcpus, disk or score")]
    NoFigure(String),
    /// A number that no figure can have.
    #[error("'{0}' is not a number from 0 on")]
    NoNumber(String),
}

impl fmt::Display for ThresholdFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThresholdFigure::Node(figure) => figure.fmt(f),
            ThresholdFigure::Score => f.write_str("score"),
        }
    }
}

impl fmt::Display for ActCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Threshold { figure, above }) in self.0.iter().enumerate() {
            let or = if at == 0 { "" } else { " or " };
            write!(f, "{or}{figure}>{above}")?;
        }
        Ok(())
    }
}

impl FromStr for ActCondition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<ActCondition, ConditionError> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words
            .split(" or ")
            .map(|part| part.replace(' ', "").parse())
            .collect::<Result<_, _>>()
            .map(ActCondition)
    }
}

impl FromStr for Threshold {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Threshold, ConditionError> {
        let (name, number) =
            text.split_once('>').ok_or_else(|| ConditionError::NoThreshold(text.to_owned()))?;
        let figure = match name {
            "score" => ThresholdFigure::Score,
            name => {
                let unknown = |_| ConditionError::NoFigure(name.to_owned());
                ThresholdFigure::Node(name.parse().map_err(unknown)?)
            }
        };
        let above = number.parse::<f64>().ok().filter(|above| above.is_finite() && *above >= 0.0);
        let above = above.ok_or_else(|| ConditionError::NoNumber(number.to_owned()))?;
        Ok(Threshold { figure, above })
    }
}

/// Result of comparing a node group with a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// True if a threshold is exceeded.
    pub is_met: bool,
    /// Score of the group.
    pub score: f64,
    /// The nodes above a threshold, with the figure and its value; a node once for each figure.
    pub nodes: Vec<(NodeIdx, NodeFigure, f64)>,
}

impl ActCondition {
    /// The thresholds.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.0
    }

    /// Tells if the condition is about a figure of nodes.
    pub fn asks_for(&self, figure: NodeFigure) -> bool {
        self.0.iter().any(|threshold| threshold.figure == ThresholdFigure::Node(figure))
    }

    /// The lowest score that is exceeded if the group is to be improved; none if the condition is not about it.
    pub fn score_above(&self) -> Option<f64> {
        let scores = self.0.iter().filter(|threshold| threshold.figure == ThresholdFigure::Score);
        scores.map(|threshold| threshold.above).min_by(f64::total_cmp)
    }

    /// The limits of nodes that the thresholds make, lowered by a margin in percentage points.
    pub fn limits(&self, margin: f64) -> UseLimits {
        let mut limits = UseLimits::default();
        limits.set_margin(margin);
        for Threshold { figure, above } in &self.0 {
            if let ThresholdFigure::Node(figure) = figure {
                limits.set(*figure, (*above - margin).max(0.0));
            }
        }
        limits
    }

    /// Compares the online nodes of the set `nodes` (ascending) with the thresholds.
    pub fn observe(&self, cluster: &Cluster, nodes: &[NodeIdx]) -> Observation {
        let score = Board::new(cluster, nodes).score();
        let (limits, mut found) = (self.limits(0.0), Vec::new());
        for node in nodes.iter().map(|node| cluster.node(*node)).filter(|node| !node.spec.offline) {
            for (figure, limit) in limits.each() {
                let used = node.spec.usage(&node.state.ledger, figure);
                if used > limit {
                    found.push((node.spec.idx, figure, used));
                }
            }
        }
        let is_high = self.score_above().is_some_and(|above| score > above);
        Observation { is_met: !found.is_empty() || is_high, score, nodes: found }
    }

    /// Makes the thresholds, lowered by a margin in percentage points, limits of all nodes: no strict placement lets a
    /// figure rise above them.
    pub fn limit(&self, cluster: &mut Cluster, margin: f64) {
        let limits = self.limits(margin);
        for node in &mut cluster.nodes {
            node.spec.limits = limits;
        }
    }
}

/// The part of an observation on which a run acts.
#[derive(Debug, Clone, PartialEq)]
pub struct DueNow {
    /// The nodes that were above a threshold for long enough.
    pub nodes: Vec<(NodeIdx, NodeFigure, f64)>,
    /// True if these nodes, or the score, were above for long enough.
    pub is_due: bool,
    /// Most rounds in a row, this one included.
    pub round: usize,
}

impl Observation {
    /// What was above a threshold of the condition in `wanted` rounds in a row, this one included.
    pub fn due(
        &self,
        condition: &ActCondition,
        cluster: &Cluster,
        past: &RoundsAbove,
        wanted: usize,
    ) -> DueNow {
        let round_of = |node: NodeIdx| 1 + past.of_node(&cluster.node(node).spec.name);
        let is_high = condition.score_above().is_some_and(|above| self.score > above);
        let of_score = if is_high { 1 + past.score } else { 0 };
        let round = self.nodes.iter().map(|(node, ..)| round_of(*node)).fold(of_score, usize::max);
        let due = self.nodes.iter().copied().filter(|(node, ..)| round_of(*node) >= wanted);
        DueNow { nodes: due.collect(), is_due: round >= wanted, round }
    }
}

/// Lets the nodes whose full names are not among `due` stay above their limits.
pub fn tolerate_others(cluster: &mut Cluster, due: &BTreeSet<String>) {
    for node in cluster.nodes.iter_mut().filter(|node| !due.contains(&node.spec.name)) {
        node.spec.limits.tolerate();
    }
}

/// Tells if none of the nodes is above a limit that it must meet.
pub fn is_relieved(cluster: &Cluster, nodes: &[NodeIdx]) -> bool {
    let is_over = |node: &NodeIdx| {
        let node = cluster.node(*node);
        node.spec.over_limits(&node.state.ledger) > 0.0
    };
    !nodes.iter().any(is_over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_shown() {
        let shown = |text: &str| text.parse::<ActCondition>().map(|condition| condition.to_string());
        assert_eq!(shown("memory>85"), Ok("memory>85".to_owned()));
        assert_eq!(
            shown(" memory > 85  or cpu>80.5 or score>3"),
            Ok("memory>85 or cpu>80.5 or score>3".to_owned())
        );
        let why = |text: &str| text.parse::<ActCondition>().unwrap_err().to_string();
        assert_eq!(why("memory"), "'memory' is not FIGURE>NUMBER, such as memory>85");
        assert_eq!(why("mem>85"), "'mem' is not memory, cpu, vcpus, disk or score");
        for number in ["", "x", "-1", "NaN", "inf"] {
            assert_eq!(why(&format!("cpu>{number}")), format!("'{number}' is not a number from 0 on"));
        }
        for text in ["", "or", "cpu>1 or", "cpu>1 and memory>2", "cpu<3"] {
            assert!(text.parse::<ActCondition>().is_err(), "{text}");
        }
        let twice: ActCondition = "cpu>80 or cpu>70".parse().unwrap();
        assert_eq!(twice.limits(0.0).each().collect::<Vec<_>>(), [(NodeFigure::Cpu, 70.0)]);
    }
}
