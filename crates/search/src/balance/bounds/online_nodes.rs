//! The online nodes and the present score, as the bounds use them.

use super::lanes::{LaneRange, growth, lanewise, least, most, scales};
use htools_model::score::Board;
use htools_model::score::interval::{CountedPart, Running, U, clamp};
use htools_model::score::metrics::{LANES, Lanes, PADDED_LANES};
use htools_model::{Cluster, Mib, NodeIdx};

/// Larger values could overflow when they are squared and summed up.
const LARGEST: f64 = 1e100;

/// Figures up to this can be added a few times without wrapping.
const LARGEST_INTEGER: u64 = 1 << 59;

/// Factor that covers the relative error of a variance; see the error that [`Running::interval`] allows.
pub(super) const VARIANCE_FACTOR: f64 = 1.0 - 1024.0 * U;

/// Relative error of a score that consists of counts, rounded up.
pub(super) const COUNT_ERROR: f64 = 64.0 * U;

/// The online nodes, by row of the board.
pub(super) struct OnlineNodes {
    pub nodes: Vec<NodeIdx>,
    /// Values of the lanes.
    values: Vec<Lanes>,
    pub y: Vec<Lanes>,
    /// Factors that turn amounts into changes of the values.
    pub scale: Vec<Lanes>,
    /// `y` and `scale` again, by lane.
    pub columns: Vec<Column>,
    /// For each lane, the first lane with the same columns.
    pub twin: [usize; LANES],
    /// 1 if the node has exclusive storage, so that disks take whole spindles; otherwise 0.
    pub exclusive: Vec<u8>,
    /// Upper bound of the free spindles, or of the missing ones, of any node with exclusive storage; 0 if there
    /// is no such node.
    pub most_spindles: f64,
    /// Reserved memory in MiB.
    pub reserved: Vec<f64>,
    pub largest_scale: Lanes,
    largest_value: Lanes,
    pub running: Running,
    pub inv_n: f64,
    /// True if more reserve than a move needs may lower the score (docs/search.md, "The reserve"). The bounds
    /// then use the smallest change of the variance that any reserve can cause.
    pub reserve_may_help: bool,
}

/// One lane of all nodes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub y: Vec<f64>,
    pub scale: Vec<f64>,
}

/// Returns true if the figure can be added to a few others without wrapping.
pub(super) fn is_small(x: i64) -> bool {
    x.unsigned_abs() <= LARGEST_INTEGER
}

impl OnlineNodes {
    pub(super) fn new(cluster: &Cluster, board: &Board) -> OnlineNodes {
        let online = board.nodes().iter().copied().filter(|n| board.row(*n).is_some());
        let nodes: Vec<NodeIdx> = online.collect();
        let spec = |n: &NodeIdx| &cluster.node(*n).spec;
        let scale: Vec<Lanes> = nodes.iter().map(|n| scales(spec(n))).collect();
        let mut largest_scale = [0.0; PADDED_LANES];
        for s in &scale {
            (0..PADDED_LANES).for_each(|k| largest_scale[k] = most(s[k].abs(), largest_scale[k]));
        }
        let column =
            |k: usize| Column { y: vec![0.0; nodes.len()], scale: scale.iter().map(|s| s[k]).collect() };
        let mut online = OnlineNodes {
            values: board.rows().to_vec(),
            y: board.rows().to_vec(),
            columns: (0..LANES).map(column).collect(),
            twin: [0; LANES],
            scale,
            exclusive: nodes.iter().map(|n| u8::from(spec(n).exclusive_storage)).collect(),
            most_spindles: most_spindles(cluster, &nodes),
            reserved: nodes.iter().map(|n| reserved(cluster, *n)).collect(),
            largest_scale,
            largest_value: [0.0; PADDED_LANES],
            running: Running::of(board),
            inv_n: 1.0 / nodes.len() as f64,
            reserve_may_help: !board.weights().reserves_never_pay(nodes.len()),
            nodes,
        };
        online.measure(board);
        online
    }

    /// Number of kinds of storage: 2 if some nodes have exclusive storage, otherwise 1.
    pub(super) fn storage_kinds(&self) -> usize {
        if self.most_spindles > 0.0 { 2 } else { 1 }
    }

    /// Computes the statistics again, around the present means.
    pub(super) fn measure(&mut self, board: &Board) {
        self.running = Running::of(board);
        self.largest_value = [0.0; PADDED_LANES];
        for row in 0..self.nodes.len() {
            self.place(row, &board.rows()[row]);
        }
        let first = |k: &usize| (0..*k).find(|j| self.columns[*j] == self.columns[*k]).unwrap_or(*k);
        self.twin = std::array::from_fn(|k| first(&k));
    }

    fn place(&mut self, row: usize, values: &Lanes) {
        self.values[row] = *values;
        for k in 0..LANES {
            self.y[row][k] = values[k] - self.running.centre(k);
            self.columns[k].y[row] = self.y[row][k];
            self.largest_value[k] = most(values[k].abs(), self.largest_value[k]);
        }
    }

    /// Updates the row of a node that has changed.
    pub(super) fn follow(&mut self, cluster: &Cluster, board: &Board, row: usize) {
        let new = board.rows()[row];
        self.running.replace(&self.values[row], &new);
        self.place(row, &new);
        self.reserved[row] = reserved(cluster, self.nodes[row]);
    }

    /// Further growth of a reserve in MiB, where `need` MiB are kept for one more node; 0 if it cannot lower
    /// the score.
    #[inline(always)]
    pub(super) fn further_reserve(&self, need: f64) -> f64 {
        if self.reserve_may_help { need } else { 0.0 }
    }

    /// Upper bound of the values of a lane after `change` is added.
    pub(super) fn reach(&self, lane: usize, change: f64) -> f64 {
        self.largest_value[lane] + change
    }

    /// Growth of the variance when the values of a node change by `d`, without the effect on the mean
    /// ([`Present::mean_effect`]).
    #[inline(always)]
    pub(super) fn change(&self, row: usize, d: &Lanes) -> Lanes {
        let growth = growth(d, &self.y[row]);
        lanewise!(k => growth[k] * self.inv_n)
    }
}

/// See [`OnlineNodes::most_spindles`].
fn most_spindles(cluster: &Cluster, nodes: &[NodeIdx]) -> f64 {
    let exclusive = nodes.iter().map(|n| cluster.node(*n)).filter(|n| n.spec.exclusive_storage);
    let free = exclusive.map(|n| {
        let l = &n.state.ledger;
        l.spindles_free.unsigned_abs().max(l.spindles_free_planned.unsigned_abs()) as f64
    });
    let of_all: f64 = cluster.instances.iter().map(|i| i.spindles.unwrap_or(0).unsigned_abs() as f64).sum();
    free.fold(None, |largest: Option<f64>, free| Some(largest.unwrap_or(0.0).max(free)))
        .map_or(0.0, |free| free + of_all + 1.0)
}

fn reserved(cluster: &Cluster, node: NodeIdx) -> f64 {
    cluster.node(node).state.ledger.mem_reserved.as_f64()
}

/// Returns true if the figures of the node leave room for calculations and have the expected signs.
pub(super) fn is_plausible(cluster: &Cluster, node: NodeIdx) -> bool {
    let node = cluster.node(node);
    let l = &node.state.ledger;
    let figures = [l.mem_unallocated(&node.spec), l.mem_free_planned, l.disk_free, l.disk_free_planned];
    // With a negative scale, leaving one node and arriving at another would change the sum in the same
    // direction.
    scales(&node.spec).iter().all(|s| *s >= 0.0)
        && figures.iter().all(|x| is_small(x.0))
        && [l.mem_instances.0, l.vcpus, l.vcpus_planned, l.spindles_free, l.spindles_free_planned]
            .iter()
            .all(|x| is_small(*x))
        && node.state.peers.iter().all(|(_, held)| held >= Mib::ZERO && is_small(held.0))
}

/// The present state of the score, in the terms of the bounds.
pub(super) struct Present {
    variance: Lanes,
    /// Subtracted from each variance to cover rounding.
    variance_slack: Lanes,
    weight: Lanes,
    /// Distance of the centre from the mean, times the number of nodes.
    sums: Lanes,
    inv_n: f64,
    /// The score without the deviations, minus a margin for all rounding errors.
    pub rest: f64,
}

impl Present {
    /// The present state, if no move adds more than `largest_change` to a lane. Returns `None` if the figures
    /// are too large for bounds.
    pub(super) fn of(
        online: &OnlineNodes,
        board: &Board,
        score: f64,
        largest_change: &Lanes,
    ) -> Option<Present> {
        let running = &online.running;
        let (n, inv_n) = (running.n(), online.inv_n);
        let mut present = Present {
            variance: [0.0; PADDED_LANES],
            variance_slack: [0.0; PADDED_LANES],
            weight: [0.0; PADDED_LANES],
            sums: [0.0; PADDED_LANES],
            inv_n,
            rest: 0.0,
        };
        let mut slack = 0.0;
        for k in 0..LANES {
            let extra = online.reach(k, largest_change[k]);
            if !(extra < LARGEST) {
                return None;
            }
            present.variance[k] = (running.squares(k) - running.sum(k) * running.sum(k) * inv_n) * inv_n;
            present.variance_slack[k] = (1024.0 * U * running.squares(k) + running.drift(k)) * inv_n;
            present.weight[k] = running.weight(k);
            present.sums[k] = running.sum(k).abs();
            let error = running.reference_error(k, 0.0, 3.0 * extra * inv_n) + 64.0 * U * extra;
            slack += running.weight(k) * error;
        }
        let reserved = running.reserved_total();
        // A larger factor than the weight is harmless, a smaller one is not.
        let reserved_weight = running.reserved_weight().max(1.0);
        let counts = CountedPart::of(board.weights(), &board.counted(), board.spread().surplus());
        // The sum may have much larger terms than its result: affinity keys can have negative costs.
        slack += 4.0 * U * (n + 16.0) * (reserved_weight * reserved.abs() + score.abs() + 2.0 * counts.size);
        slack += reserved_weight * running.reserved_drift();
        slack += 2.0 * COUNT_ERROR * counts.size;
        present.rest = counts.score + running.reserved_weight() * reserved - 2.0 * slack;
        slack.is_finite().then_some(present)
    }

    /// Weight of a lane's deviation.
    pub(super) fn weight(&self, lane: usize) -> f64 {
        self.weight[lane]
    }

    /// Upper bound of the amount by which the effect on the means lowers the variances, which
    /// [`OnlineNodes::change`] leaves out. All changes of a lane add up to at most `total`.
    #[inline(always)]
    pub(super) fn mean_effect(&self, total: &Lanes) -> Lanes {
        lanewise!(k => (2.0 * self.sums[k] + total[k]) * total[k] * self.inv_n * self.inv_n)
    }

    /// The part of the radicand that does not depend on the move.
    #[inline(always)]
    pub(super) fn offset(&self, mean_effect: &Lanes) -> Lanes {
        lanewise!(k => {
            (self.variance[k] - mean_effect[k]) * VARIANCE_FACTOR - self.variance_slack[k]
        })
    }

    /// The offset for further changes after `change`.
    pub(super) fn offset_after(&self, offset: &Lanes, change: &Lanes) -> Lanes {
        lanewise!(k => offset[k] + VARIANCE_FACTOR * change[k])
    }

    /// Lower bounds of the weighted deviations if the variances change by `change`. `offset` comes from
    /// [`offset`](Present::offset).
    #[inline(always)]
    pub(super) fn deviations(&self, offset: &Lanes, change: &Lanes) -> Lanes {
        lanewise!(k => self.weight[k] * clamp(offset[k] + VARIANCE_FACTOR * change[k]).sqrt())
    }

    /// Slopes of the chords: for each lane, that of the line below the deviation over a range of changes.
    pub(super) fn slopes(&self, offset: &Lanes, range: &LaneRange) -> Lanes {
        let range = self.reachable(offset, range);
        let (lo, hi) = (self.deviations(offset, &range.lo), self.deviations(offset, &range.hi));
        lanewise!(k => {
            let width = range.hi[k] - range.lo[k];
            if width > 0.0 { ((hi[k] - lo[k]) / width).clamp(0.0, STEEPEST) } else { 0.0 }
        })
    }

    /// Sum over all lanes of the largest constants that keep lines with these slopes below the deviations over
    /// the range. Deviations are concave, so only the ends of the range matter.
    #[inline(always)]
    pub(super) fn intercept(&self, offset: &Lanes, slopes: &Lanes, range: &LaneRange) -> f64 {
        let range = self.reachable(offset, range);
        let (lo, hi) = (self.deviations(offset, &range.lo), self.deviations(offset, &range.hi));
        let mut sum = 0.0;
        for k in 0..PADDED_LANES {
            sum += least(lo[k] - slopes[k] * range.lo[k], hi[k] - slopes[k] * range.hi[k]);
        }
        sum
    }

    /// The range without the part in which a variance would be negative. There the deviation counts as 0 and is
    /// not concave, and a rising line is highest at the upper end.
    #[inline(always)]
    fn reachable(&self, offset: &Lanes, range: &LaneRange) -> LaneRange {
        let lo = lanewise!(k => least(most(range.lo[k], -offset[k] / VARIANCE_FACTOR), range.hi[k]));
        LaneRange { lo, hi: range.hi }
    }
}

/// Limit on the slope; a steeper chord would only enlarge rounding errors.
const STEEPEST: f64 = 1e12;
