//! The online nodes in order, as runs of nodes of one kind.

use super::kinds::{KindIdx, Kinds};
use crate::model::{Cluster, NodeIdx};

/// The rows of a score by kind.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    nodes: Vec<NodeIdx>,
    runs: Vec<(KindIdx, usize)>,
}

impl Rows {
    /// The rows of `nodes` (ascending).
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx], kinds: &Kinds) -> Rows {
        let online: Vec<NodeIdx> = nodes.iter().copied().filter(|n| !cluster.node(*n).spec.offline).collect();
        let mut rows = Rows { nodes: Vec::new(), runs: Vec::new() };
        for node in &online {
            let kind = kinds.of_node(*node);
            match rows.runs.last_mut() {
                Some((last, count)) if *last == kind => *count += 1,
                _ => rows.runs.push((kind, 1)),
            }
        }
        rows.nodes = online;
        rows
    }

    /// The node of a row.
    pub fn node(&self, row: usize) -> NodeIdx {
        self.nodes[row]
    }

    /// The runs, in order: kind and number of rows.
    pub fn runs(&self) -> &[(KindIdx, usize)] {
        &self.runs
    }

    /// Gives a row another kind.
    pub fn set(&mut self, row: usize, kind: KindIdx) {
        let mut start = 0;
        let Some(at) = self.runs.iter().position(|run| {
            start += run.1;
            start > row
        }) else {
            return;
        };
        let (old, count) = self.runs[at];
        if old == kind {
            return;
        }
        let before = row - (start - count);
        let after = count - before - 1;
        let parts = [(old, before), (kind, 1), (old, after)].into_iter().filter(|part| part.1 > 0);
        self.runs.splice(at..=at, parts);
        // one of the parts may go on what stands beside it
        let last = (at + 2).min(self.runs.len() - 1);
        for k in (at.max(1)..=last).rev() {
            if self.runs[k - 1].0 == self.runs[k].0 {
                self.runs[k - 1].1 += self.runs[k].1;
                self.runs.remove(k);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_follow_changes(changes in prop::collection::vec((0usize..9, 0usize..3), 0..40)) {
            let mut plain = [0usize; 9];
            let mut rows = Rows { nodes: (0..9).map(NodeIdx::new).collect(), runs: vec![(0, 9)] };
            for (row, kind) in changes {
                plain[row] = kind;
                rows.set(row, kind);
                let flat: Vec<usize> =
                    rows.runs().iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count)).collect();
                prop_assert_eq!(&flat, &plain);
                prop_assert!(rows.runs().windows(2).all(|pair| pair[0].0 != pair[1].0));
            }
        }
    }
}
