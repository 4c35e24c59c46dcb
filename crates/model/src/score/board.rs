//! The score of a set of nodes, computed in exactly the reference's order.
//!
//! Ties between moves are decided by the last bit of the score. So sums run over the online nodes in ascending order,
//! in two passes, without reassociation. Lanes are independent of each other, so the compiler can use vector registers
//! without changing a bit.

use multiversion::multiversion;
use smallvec::SmallVec;

use super::metrics::{Aggregate, Counted, LANES, Lanes, METRICS, Metric, PADDED_LANES, TABLE, lanes};
use super::spread::Spread;
use crate::metrics::AFFINITY;
use crate::{Cluster, Instance, Ledger, NodeIdx, NodeSet, NodeSpec, Weights};

/// The values of all metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Components {
    /// One value for each metric, in table order. Empty for an empty set of nodes.
    pub values: Vec<f64>,
    /// Weights of the metrics.
    pub weights: Weights,
}

impl Components {
    /// The metrics with their values and weights, in table order. A metric that is not part of Ganeti's score is
    /// included only if its weight is not 0.
    pub fn parts(&self) -> impl Iterator<Item = (&'static Metric, f64, f64)> + '_ {
        let part =
            |(at, (metric, value)): (usize, (&'static Metric, &f64))| (metric, *value, self.weights.of(at));
        let counts = |(metric, _, weight): &(&Metric, f64, f64)| metric.name != AFFINITY || *weight != 0.0;
        TABLE.iter().zip(&self.values).enumerate().map(part).filter(counts)
    }

    /// The score: the weighted sum, in table order. 0 without components.
    pub fn score(&self) -> f64 {
        weighted(&self.weights, &self.values)
    }
}

/// The weighted sum of the metrics' values, in table order.
pub(crate) fn weighted(weights: &Weights, values: &[f64]) -> f64 {
    values.iter().enumerate().fold(0.0, |sum, (at, value)| sum + weights.part(at, *value))
}

/// A node in a state other than the one on the board.
#[derive(Debug, Clone, Copy)]
pub struct Touched<'a> {
    /// The node.
    pub spec: &'a NodeSpec,
    /// Its state on the board.
    pub before: &'a Ledger,
    /// Its new state.
    pub after: Ledger,
}

/// Marks offline nodes of the set.
const OFFLINE: u32 = u32::MAX;

/// A set of nodes with everything that its score needs.
#[derive(Debug, Clone)]
pub struct Board {
    weights: Weights,
    nodes: NodeSet,
    /// For each node of the set, its row, or [`OFFLINE`].
    row_of: Vec<u32>,
    /// The values of the online nodes of the set, in order.
    rows: Vec<Lanes>,
    /// The same values by lane.
    columns: Vec<Vec<f64>>,
    /// For each lane, the first lane with bit-identical values.
    twins: [usize; LANES],
    counted: Counted,
    spread: Spread,
}

impl Board {
    /// The board of the set `nodes` (ascending) of a cluster.
    pub fn new(cluster: &Cluster, nodes: &[NodeIdx]) -> Board {
        let mut row_of = Vec::with_capacity(nodes.len());
        let mut rows = Vec::with_capacity(nodes.len());
        let mut counted = Counted::default();
        for node in nodes.iter().map(|n| cluster.node(*n)) {
            counted = counted + Counted::of_node(node);
            if node.spec.offline {
                row_of.push(OFFLINE);
            } else {
                row_of.push(rows.len() as u32);
                rows.push(lanes(&node.spec, &node.state.ledger));
            }
        }
        let columns: Vec<Vec<f64>> = (0..LANES).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
        let equal = |a: usize, b: usize| rows.iter().all(|row| row[a].to_bits() == row[b].to_bits());
        let twins = std::array::from_fn(|k| (0..k).find(|j| equal(*j, k)).unwrap_or(k));
        Board {
            weights: cluster.weights,
            nodes: NodeSet::of(cluster.nodes.len(), nodes),
            row_of,
            rows,
            columns,
            twins,
            counted,
            spread: Spread::of(cluster, nodes),
        }
    }

    /// One lane's values of the online nodes, in order.
    pub(super) fn column(&self, lane: usize) -> &[f64] {
        &self.columns[lane]
    }

    /// The first lane with bit-identical values: an earlier lane, or the lane itself.
    pub(super) fn twin(&self, lane: usize) -> usize {
        self.twins[lane]
    }

    /// Sum and deviation of each lane.
    pub(super) fn moments(&self) -> (Lanes, Lanes) {
        let (sums, variances) = self.moments_squared();
        (sums, variances.map(f64::sqrt))
    }

    /// Sum and variance of each lane.
    pub(super) fn moments_squared(&self) -> (Lanes, Lanes) {
        two_passes(&self.rows, &[])
    }

    /// Weights of the metrics.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The set of nodes.
    pub fn nodes(&self) -> &[NodeIdx] {
        self.nodes.nodes()
    }

    /// The values of the online nodes, in order.
    pub fn rows(&self) -> &[Lanes] {
        &self.rows
    }

    /// The row of a node, if it is online and in the set.
    pub fn row(&self, node: NodeIdx) -> Option<usize> {
        let row = self.row_of[self.nodes.position(node)?];
        (row != OFFLINE).then_some(row as usize)
    }

    /// Tells if a node is in the set.
    pub fn contains(&self, node: NodeIdx) -> bool {
        self.nodes.position(node).is_some()
    }

    /// The counts of the set.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// Spread of services over locations.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// All metrics of the current state.
    pub fn components(&self) -> Components {
        let values = if self.nodes().is_empty() { Vec::new() } else { self.values(&[], 0).to_vec() };
        Components { values, weights: self.weights }
    }

    /// The score of the current state.
    pub fn score(&self) -> f64 {
        self.components().score()
    }

    /// The score with some nodes in other states and the spread's surplus changed by `spread_change`.
    pub fn score_with(&self, touched: &[Touched<'_>], spread_change: i64) -> f64 {
        weighted(&self.weights, &self.values(touched, spread_change))
    }

    /// The counts with some nodes in other states. Nodes outside the set are ignored.
    pub(crate) fn counted_with(&self, touched: &[Touched<'_>]) -> Counted {
        touched
            .iter()
            .filter(|t| self.contains(t.spec.idx))
            .fold(self.counted, |sum, t| sum - Counted::of(t.spec, t.before) + Counted::of(t.spec, &t.after))
    }

    fn values(&self, touched: &[Touched<'_>], spread_change: i64) -> [f64; METRICS] {
        let (sums, variances) = two_passes(&self.rows, &self.replaced(touched));
        let counted = self.counted_with(touched);
        self.values_of(counted, spread_change, |lane| (sums[lane], variances[lane].sqrt()))
    }

    /// The rows that touched nodes replace, in ascending order.
    pub(super) fn replaced(&self, touched: &[Touched<'_>]) -> ReplacedRows {
        let rows = touched.iter().filter_map(|t| Some((self.row(t.spec.idx)?, lanes(t.spec, &t.after))));
        let mut rows: ReplacedRows = rows.collect();
        rows.sort_unstable_by_key(|row| row.0);
        rows
    }

    /// The values of all metrics, from the counts and the sum and deviation of each lane.
    pub(super) fn values_of(
        &self,
        counted: Counted,
        spread_change: i64,
        moments: impl Fn(usize) -> (f64, f64),
    ) -> [f64; METRICS] {
        TABLE.map(|metric| match metric.kind {
            Aggregate::Deviation(lane) => moments(lane).1,
            Aggregate::Sum(lane) => moments(lane).0,
            Aggregate::Spread => (self.spread.surplus() + spread_change) as f64,
            kind => counted.value(kind),
        })
    }

    /// Takes over the new states of touched nodes, and the move of `instance` from one primary node (none, if it is
    /// new) to another.
    pub fn commit(
        &mut self,
        touched: &[Touched<'_>],
        instance: &Instance,
        from: Option<&NodeSpec>,
        to: &NodeSpec,
    ) {
        self.counted = self.counted_with(touched);
        if from.is_none_or(|from| from.idx != to.idx) {
            self.spread.relocate(instance, from, to);
        }
        for t in touched {
            if let Some(row) = self.row(t.spec.idx) {
                let values = lanes(t.spec, &t.after);
                self.rows[row] = values;
                for k in 0..LANES {
                    self.columns[k][row] = values[k];
                    if values[k].to_bits() != values[self.twins[k]].to_bits() {
                        self.twins[k] = k;
                    }
                }
            }
        }
    }
}

/// New values for some rows, ascending by row.
pub(crate) type ReplacedRows = SmallVec<[(usize, Lanes); 4]>;

/// All rows in order as slices, with `replaced` (ascending) in place of the rows that it names.
fn stretches<'a>(rows: &'a [Lanes], replaced: &'a [(usize, Lanes)]) -> SmallVec<[&'a [Lanes]; 9]> {
    let mut stretches = SmallVec::new();
    let mut from = 0;
    for (row, values) in replaced {
        stretches.push(&rows[from..*row]);
        stretches.push(std::slice::from_ref(values));
        from = row + 1;
    }
    stretches.push(&rows[from..]);
    stretches
}

/// Sum and variance of each lane. Wider registers change no bit: each lane is summed by itself, in order.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn two_passes(rows: &[Lanes], replaced: &[(usize, Lanes)]) -> (Lanes, Lanes) {
    let mut sums = [0.0; PADDED_LANES];
    let mut squares = [0.0; PADDED_LANES];
    if rows.is_empty() {
        return (sums, squares);
    }
    let stretches = stretches(rows, replaced);
    for stretch in &stretches {
        for row in *stretch {
            for lane in 0..PADDED_LANES {
                sums[lane] += row[lane];
            }
        }
    }
    let n = rows.len() as f64;
    let means = sums.map(|sum| sum / n);
    for stretch in &stretches {
        for row in *stretch {
            for lane in 0..PADDED_LANES {
                let d = row[lane] - means[lane];
                squares[lane] += d * d;
            }
        }
    }
    (sums, squares.map(|s| s / n))
}
