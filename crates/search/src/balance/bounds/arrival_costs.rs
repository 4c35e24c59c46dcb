//! Cost of the arrival of an instance of one size, for each node.

use super::lane_loops::{LaneOf, ReserveNeed, add_arrivals, add_reserves, smallest};
use super::lanes::{LaneRange, MEMBER, NONE, PRIMARY, RESERVE, lanewise};
use super::online_nodes::OnlineNodes;
use super::size::SizeBox;
use super::{FAILOVER, FAILOVER_AND_REPLACE, REPLACE_SECONDARY};
use htools_model::score::interval::counted_score;
use htools_model::score::metrics::{Counted, LANES, Lanes, lane};
use htools_model::{Cluster, DiskCheck, Mib, Strictness, TagArrival};

/// Role in which an instance arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ArrivalRole {
    Primary,
    Secondary,
}

impl ArrivalRole {
    /// Role of the new node in the moves of a slot.
    pub(super) fn of_target(slot: usize) -> Option<ArrivalRole> {
        match slot {
            FAILOVER => None,
            REPLACE_SECONDARY | FAILOVER_AND_REPLACE => Some(ArrivalRole::Secondary),
            _ => Some(ArrivalRole::Primary),
        }
    }

    /// The lanes that an arrival changes.
    pub(super) fn lanes(self) -> Lanes {
        let own = if self == ArrivalRole::Primary { &PRIMARY } else { &RESERVE };
        lanewise!(k => own[k] + MEMBER[k])
    }
}

/// Key of the arrivals that share a row of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ArrivalKind {
    pub size: u32,
    pub role: ArrivalRole,
    /// True if the node refuses the arrival only where it is impossible.
    pub forced: bool,
    /// Kind of the node ([`TagKinds`](super::kinds::TagKinds)) from which the instance migrates; set only if it
    /// restricts the targets.
    pub from: Option<u32>,
    /// The storage pools that the instance needs ([`PoolKinds`](super::kinds::PoolKinds)), if they are told
    /// apart.
    pub pools: Option<u32>,
}

/// Number of nodes in one stretch of a row.
pub(super) const STRETCH: usize = 64;

/// Costs of one kind of arrival, indexed by row of [`OnlineNodes`].
pub(super) struct ArrivalRow {
    pub arrival: ArrivalKind,
    /// Part of the cost that is not a deviation; infinite if the node refuses.
    pub fixed: Vec<f64>,
    /// `fixed` plus the price of the changed deviations.
    pub cost: Vec<f64>,
    /// The smallest cost of each stretch.
    pub stretches: Vec<f64>,
    pub smallest: f64,
}

impl ArrivalRow {
    pub(super) fn new(arrival: ArrivalKind, nodes: usize) -> ArrivalRow {
        ArrivalRow {
            arrival,
            fixed: vec![f64::INFINITY; nodes],
            cost: vec![f64::INFINITY; nodes],
            stretches: vec![f64::INFINITY; nodes.div_ceil(STRETCH)],
            smallest: f64::INFINITY,
        }
    }

    /// Updates the fixed cost of the node in `row`, or its refusal. The rows of nodes that instances cannot reach
    /// stay as they are at the beginning.
    pub(super) fn inspect(&mut self, cluster: &Cluster, online: &OnlineNodes, size: &SizeBox, row: usize) {
        let node = cluster.node(online.nodes[row]);
        let (spec, ledger, i) = (&node.spec, &node.state.ledger, &size.smallest);
        let strictness = if self.arrival.forced { Strictness::Forced } else { Strictness::Strict };
        let after = match self.arrival.role {
            ArrivalRole::Primary => ledger.add_primary(spec, i, 0, TagArrival::default(), strictness).ok(),
            ArrivalRole::Secondary => {
                ledger.add_secondary(spec, i, Mib::ZERO, strictness, DiskCheck::Needed).ok()
            }
        };
        self.fixed[row] = after.map_or(f64::INFINITY, |after| {
            counted_score(&cluster.weights, &(Counted::of(spec, &after) - Counted::of(spec, ledger)), 0)
        });
    }

    /// Computes the cost in one row and widens `range` by the changes of the variances. The smallest costs are
    /// not updated.
    fn assess(&mut self, online: &OnlineNodes, size: &SizeBox, row: usize, range: &mut LaneRange) {
        if self.fixed[row] == f64::INFINITY {
            self.cost[row] = f64::INFINITY;
            return;
        }
        let (change, reserve) = size.amounts.arrival(online, row, self.arrival.role);
        range.include(&change);
        let reserve = online.running.reserved_weight() * reserve;
        self.cost[row] = self.fixed[row] + reserve + size.price(&change);
    }

    /// Computes all costs. Returns the range of the changes of the variances.
    pub(super) fn assess_all(&mut self, online: &OnlineNodes, size: &SizeBox) -> LaneRange {
        let mut range = LaneRange::empty();
        if online.storage_kinds() == 1 {
            range = self.assess_by_lane(online, size);
        } else {
            for row in 0..self.cost.len() {
                self.assess(online, size, row, &mut range);
            }
        }
        for stretch in 0..self.stretches.len() {
            self.summarise(stretch);
        }
        self.smallest = smallest(&self.stretches);
        range
    }

    /// Computes all costs lane by lane, for nodes that all have the same kind of storage.
    fn assess_by_lane(&mut self, online: &OnlineNodes, size: &SizeBox) -> LaneRange {
        let mut range = LaneRange { lo: NONE, hi: NONE };
        let lanes = self.arrival.role.lanes();
        let (lo, hi) = (&size.amounts.lo[0], &size.amounts.hi[0]);
        self.cost.copy_from_slice(&self.fixed);
        for k in 0..LANES {
            if lanes[k] == 0.0 || (lo[k] == 0.0 && hi[k] == 0.0) {
                continue;
            }
            let same = |j: usize| online.twin[j] == online.twin[k] && lo[j] == lo[k] && hi[j] == hi[k];
            // Lanes with the same columns are computed together.
            if (0..k).any(|j| lanes[j] == 1.0 && same(j)) {
                continue;
            }
            let twins = || (k..LANES).filter(|j| lanes[*j] == 1.0 && same(*j));
            let slope: f64 = twins().map(|j| size.slopes[j]).sum();
            let lane = LaneOf { column: &online.columns[k], slope, inv_n: online.inv_n };
            let (least, most) = add_arrivals(lo[k], hi[k], &lane, &self.fixed, &mut self.cost);
            twins().for_each(|j| (range.lo[j], range.hi[j]) = (least, most));
        }
        if self.arrival.role == ArrivalRole::Secondary {
            let k = lane::RESERVED_MEM;
            let lane = LaneOf { column: &online.columns[k], slope: size.slopes[k], inv_n: online.inv_n };
            let (least, most) = size.amounts.need;
            let need = ReserveNeed {
                least,
                further: online.further_reserve(most),
                weight: online.running.reserved_weight(),
            };
            (range.lo[k], range.hi[k]) =
                add_reserves(&need, &online.reserved, &lane, &self.fixed, &mut self.cost);
        }
        range
    }

    /// Does the same as [`assess_all`](ArrivalRow::assess_all) for some rows only.
    pub(super) fn assess_some(&mut self, online: &OnlineNodes, size: &SizeBox, rows: &[usize]) -> LaneRange {
        let mut range = LaneRange::empty();
        // A node that refused before and still refuses changes nothing.
        let refuses = |row: usize| self.fixed[row] == f64::INFINITY && self.cost[row] == f64::INFINITY;
        if rows.iter().all(|row| refuses(*row)) {
            return range;
        }
        for row in rows {
            self.assess(online, size, *row, &mut range);
            self.summarise(row / STRETCH);
        }
        self.smallest = smallest(&self.stretches);
        range
    }

    fn summarise(&mut self, stretch: usize) {
        let end = self.cost.len().min((stretch + 1) * STRETCH);
        self.stretches[stretch] = smallest(&self.cost[stretch * STRETCH..end]);
    }

    /// The rows whose cost is at most `limit`.
    pub(super) fn up_to(&self, limit: f64) -> impl Iterator<Item = usize> + '_ {
        let near = self.stretches.iter().enumerate().filter(move |(_, cost)| **cost <= limit);
        near.flat_map(move |(stretch, _)| {
            let from = stretch * STRETCH;
            let costs = &self.cost[from..self.cost.len().min(from + STRETCH)];
            costs.iter().enumerate().filter(move |(_, cost)| **cost <= limit).map(move |(at, _)| from + at)
        })
    }
}
