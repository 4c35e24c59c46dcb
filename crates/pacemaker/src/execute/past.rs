//! Runs on Pacemaker clusters as the history has them.

use std::collections::{BTreeMap, BTreeSet};

use super::maintenance::{CibMaintenanceEnd, CibMaintenanceRead, CibNodeStage};
use super::record::{CibHeader, CibRead, TaskState};
use crate::foresight::{ExpectedPlace, NodeInRole, by_resource};
use htools_ganeti::execute::history::{BatchMoves, PlannedMove, RunBegun, RunEnded};
use htools_ganeti::execute::{ClusterId, Ending, StepState};
use htools_model::Placement;

/// Identifies a cluster by the names of its nodes, because a Pacemaker cluster need not have a name.
pub fn cluster_id(nodes: &str) -> ClusterId {
    ClusterId { name: nodes.to_owned(), uuid: nodes.to_owned() }
}

/// The resources that run on other nodes afterwards. What starts or stops does not move.
fn moves(before: &[ExpectedPlace], after: &[ExpectedPlace]) -> Vec<PlannedMove> {
    let (before, after) = (by_resource(before), by_resource(after));
    let names = |resource: &str, places: &BTreeMap<&str, BTreeSet<NodeInRole<'_>>>| {
        places
            .get(resource)
            .into_iter()
            .flatten()
            .map(|role| role.node.to_owned())
            .collect::<BTreeSet<String>>()
    };
    let mut moves = Vec::new();
    for resource in after.keys() {
        let (now, then) = (names(resource, &before), names(resource, &after));
        // The instances of a clone are not told apart.
        for (from, to) in now.difference(&then).zip(then.difference(&now)) {
            let on = |node: &String| Placement { primary: node.clone(), secondary: None };
            moves.push(PlannedMove { instance: (*resource).to_owned(), from: on(from), to: on(to) });
        }
    }
    moves
}

impl CibHeader {
    /// Beginning of the run, for the history.
    pub fn begun(&self, journal: &str, reason: &str) -> RunBegun {
        RunBegun {
            run: self.began,
            journal: journal.to_owned(),
            reason: reason.to_owned(),
            score: None,
            moves: moves(&self.was, &self.expected),
        }
    }
}

impl CibRead {
    /// End of the run, for the history.
    pub fn ended(&self, ending: &Ending) -> RunEnded {
        let outcome = match self.tasks.first() {
            _ if *ending == Ending::Done => StepState::Done,
            Some(TaskState::Begun | TaskState::Done) => StepState::Unknown,
            _ => StepState::NotStarted,
        };
        let moves = moves(&self.header.was, &self.header.expected).len();
        RunEnded {
            run: self.header.began,
            ending: ending.word().to_owned(),
            score: None,
            outcomes: vec![outcome.to_string(); moves],
        }
    }
}

impl CibMaintenanceRead {
    /// Moves of each batch so far, as its nodes are emptied.
    fn moves(&self) -> impl Iterator<Item = Vec<PlannedMove>> {
        self.batches.iter().map(|batch| moves(&batch.before, &batch.expected))
    }

    /// Beginning of the run, for the history.
    pub fn begun(&self, journal: &str, reason: &str) -> RunBegun {
        RunBegun {
            run: self.header.began,
            journal: journal.to_owned(),
            reason: reason.to_owned(),
            score: None,
            moves: self.moves().flatten().collect(),
        }
    }

    /// The last batch, for the history.
    pub fn batch_moves(&self) -> BatchMoves {
        let mut all: Vec<Vec<PlannedMove>> = self.moves().collect();
        let moves = all.pop().unwrap_or_default();
        BatchMoves { run: self.header.began, earlier: all.iter().map(Vec::len).sum(), moves }
    }

    /// End of the run, for the history.
    pub fn ended(&self, end: &CibMaintenanceEnd) -> RunEnded {
        let is_emptied = |node: &String| {
            self.stage(node)
                .is_some_and(|stage| (CibNodeStage::Emptied..=CibNodeStage::Done).contains(&stage))
        };
        let outcomes = self.batches.iter().zip(self.moves()).flat_map(|(batch, moves)| {
            let is_made = batch.nodes.iter().all(is_emptied);
            let outcome = if is_made { StepState::Done } else { StepState::Unknown };
            vec![outcome.to_string(); moves.len()]
        });
        RunEnded {
            run: self.header.began,
            ending: end.ending.word().to_owned(),
            score: None,
            outcomes: outcomes.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(all: &[(&str, &str)]) -> Vec<ExpectedPlace> {
        let place = |(resource, node): &(&str, &str)| ExpectedPlace {
            resource: (*resource).to_owned(),
            node: (!node.is_empty()).then(|| (*node).to_owned()),
            promoted: false,
        };
        all.iter().map(place).collect()
    }

    #[test]
    fn only_what_changes_its_node_moves() {
        let before = [("a", "n1"), ("b", "n1"), ("c", ""), ("d", "n2"), ("e", "n1"), ("e", "n2")];
        let after = [("a", "n2"), ("b", "n1"), ("c", "n1"), ("d", ""), ("e", "n2"), ("e", "n3")];
        let moves = moves(&places(&before), &places(&after));
        let told = moves.iter().map(|made| {
            [made.instance.as_str(), made.from.primary.as_str(), made.to.primary.as_str()].join(" ")
        });
        assert_eq!(told.collect::<Vec<_>>(), ["a n1 n2", "e n1 n3"]);
    }
}
