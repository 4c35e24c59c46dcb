//! The online nodes in order, as runs of nodes of one kind.

use super::kinds::{KindIdx, Kinds};
use htools_model::score::exact_sums::{MOST_VALUES, Mix};
use htools_model::{Cluster, NodeIdx};

/// The rows of a score by kind.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    nodes: Vec<NodeIdx>,
    runs: Vec<(KindIdx, usize)>,
    few_kinds: Option<FewKinds>,
}

/// Rows of only a few kinds.
#[derive(Debug, Clone)]
pub(crate) struct FewKinds {
    kinds: Vec<KindIdx>,
    mix: Mix,
}

impl FewKinds {
    fn of(runs: &[(KindIdx, usize)]) -> Option<FewKinds> {
        let mut kinds: Vec<KindIdx> = Vec::with_capacity(MOST_VALUES);
        for (kind, _) in runs {
            if !kinds.contains(kind) {
                if kinds.len() == MOST_VALUES {
                    return None;
                }
                kinds.push(*kind);
            }
        }
        let few_kinds = FewKinds { kinds, mix: Mix::default() };
        let mix = Mix::new(runs.iter().filter_map(|(kind, count)| Some((few_kinds.value(*kind)?, *count))));
        Some(FewKinds { mix, ..few_kinds })
    }

    /// The kinds; the position of a kind is its number in [`FewKinds::mix`].
    pub(crate) fn kinds(&self) -> &[KindIdx] {
        &self.kinds
    }

    pub(crate) fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Number of a kind in [`FewKinds::mix`].
    pub(crate) fn value(&self, kind: KindIdx) -> Option<usize> {
        self.kinds.iter().position(|k| *k == kind)
    }

    /// Number of a kind, adding it if it is new; `None` if there are too many kinds.
    fn value_or_new(&mut self, kind: KindIdx) -> Option<usize> {
        if let Some(value) = self.value(kind) {
            return Some(value);
        }
        let totals = self.mix.totals();
        if let Some(gone) = (0..self.kinds.len()).find(|value| totals[*value] == 0) {
            self.kinds[gone] = kind;
            return Some(gone);
        }
        (self.kinds.len() < MOST_VALUES).then(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        })
    }
}

impl Rows {
    /// The rows of `nodes` (ascending).
    pub(crate) fn of(cluster: &Cluster, nodes: &[NodeIdx], kinds: &Kinds) -> Rows {
        let online: Vec<NodeIdx> = nodes.iter().copied().filter(|n| !cluster.node(*n).spec.offline).collect();
        let mut runs: Vec<(KindIdx, usize)> = Vec::new();
        for node in &online {
            let kind = kinds.of_node(*node);
            match runs.last_mut() {
                Some((last, count)) if *last == kind => *count += 1,
                _ => runs.push((kind, 1)),
            }
        }
        Rows { nodes: online, few_kinds: FewKinds::of(&runs), runs }
    }

    pub(crate) fn node(&self, row: usize) -> NodeIdx {
        self.nodes[row]
    }

    /// The runs, in order: kind and number of rows.
    pub(crate) fn runs(&self) -> &[(KindIdx, usize)] {
        &self.runs
    }

    /// The rows, if they are of only a few kinds.
    pub(crate) fn few_kinds(&self) -> Option<&FewKinds> {
        self.few_kinds.as_ref()
    }

    /// Changes the kind of a row.
    pub(crate) fn set(&mut self, row: usize, kind: KindIdx) {
        let Some((at, before)) = self.find(row) else { return };
        let (old, count) = self.runs[at];
        if old == kind {
            return;
        }
        // One of the parts may join a neighbouring run.
        let (from, to) = (at.saturating_sub(1), (at + 2).min(self.runs.len()));
        let parts = [(old, before), (kind, 1), (old, count - before - 1)];
        let mut runs: Vec<(KindIdx, usize)> = Vec::with_capacity(5);
        for part in self.runs[from..at].iter().chain(&parts).chain(&self.runs[at + 1..to]) {
            match runs.last_mut() {
                _ if part.1 == 0 => {}
                Some(last) if last.0 == part.0 => last.1 += part.1,
                _ => runs.push(*part),
            }
        }
        self.few_kinds = self.few_kinds.take().and_then(|mut few_kinds| {
            few_kinds.value_or_new(kind)?;
            let runs: Vec<(usize, usize)> =
                runs.iter().filter_map(|run| Some((few_kinds.value(run.0)?, run.1))).collect();
            few_kinds.mix.replace(from..to, &runs);
            Some(few_kinds)
        });
        self.runs.splice(from..to, runs);
        if self.few_kinds.is_none() {
            self.few_kinds = FewKinds::of(&self.runs);
        }
    }

    /// The run of a row, and the row's position in it.
    fn find(&self, row: usize) -> Option<(usize, usize)> {
        if let Some(few_kinds) = &self.few_kinds {
            return few_kinds.mix.find(row);
        }
        let mut start = 0;
        for (at, run) in self.runs.iter().enumerate() {
            if row < start + run.1 {
                return Some((at, row - start));
            }
            start += run.1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_follow_changes(changes in prop::collection::vec((0usize..9, 0usize..7), 0..40)) {
            let mut plain = [0usize; 9];
            let runs = vec![(0, 9)];
            let nodes = (0..9).map(NodeIdx::new).collect();
            let mut rows = Rows { nodes, few_kinds: FewKinds::of(&runs), runs };
            for (row, kind) in changes {
                plain[row] = kind;
                rows.set(row, kind);
                let kinds = HashSet::from(plain);
                prop_assert_eq!(rows.few_kinds().is_some(), kinds.len() <= MOST_VALUES);
                if let Some(few_kinds) = rows.few_kinds() {
                    let value = |kind: usize| few_kinds.value(kind).expect("all kinds have values");
                    let mix = Mix::new(rows.runs().iter().map(|(kind, count)| (value(*kind), *count)));
                    prop_assert_eq!(few_kinds.mix(), &mix);
                }
                let flat: Vec<usize> =
                    rows.runs().iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count)).collect();
                prop_assert_eq!(&flat, &plain);
                prop_assert!(rows.runs().windows(2).all(|pair| pair[0].0 != pair[1].0));
            }
        }
    }
}
