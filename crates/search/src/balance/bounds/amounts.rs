//! Resources that the instances of one size take from a node.

use super::arrival_costs::ArrivalRole;
use super::lane_loops::smallest_growth;
use super::lanes::{LaneRange, amounts, lanewise, most};
use super::online_nodes::OnlineNodes;
use htools_model::Instance;
use htools_model::score::metrics::{Lanes, PADDED_LANES, lane};

/// A range of amounts, smallest to largest. For a single instance, both ends are the same.
#[derive(Debug, Clone)]
pub(super) struct AmountsBox {
    /// The smallest and the largest amounts; index 0 is for nodes without exclusive storage, 1 for nodes with
    /// it.
    pub lo: [Lanes; 2],
    pub hi: [Lanes; 2],
    /// The smallest and the largest reserve, in MiB.
    pub need: (f64, f64),
}

impl AmountsBox {
    /// The box of some instances. Either all or none must be forthcoming, and either all or none must have a
    /// known number of spindles.
    pub(super) fn of(members: &[&Instance], online: &OnlineNodes) -> AmountsBox {
        let mut boxes = [LaneRange::empty(), LaneRange::empty()];
        let mut need = LaneRange::empty();
        for i in members {
            for exclusive in [0, 1] {
                boxes[exclusive].include(&amounts(i, exclusive == 1));
            }
            let reserved = if i.forthcoming { 0.0 } else { i.mem_reserved().as_f64() };
            need.include(&[reserved; PADDED_LANES]);
        }
        if members[0].spindles.is_none() {
            // If the number of spindles is unknown, the free spindles can change by anything up to this bound.
            for k in [lane::FREE_DISK, lane::FREE_DISK_PLANNED] {
                (boxes[1].lo[k], boxes[1].hi[k]) = (-online.most_spindles, online.most_spindles);
            }
        }
        AmountsBox {
            lo: [boxes[0].lo, boxes[1].lo],
            hi: [boxes[0].hi, boxes[1].hi],
            need: (need.lo[0], need.hi[0]),
        }
    }

    /// Returns true if any amount differs between the instances.
    pub(super) fn is_box(&self) -> bool {
        self.lo != self.hi || self.need.0 != self.need.1
    }

    /// Upper bound of the sum of a move's changes in each lane. An amount leaves one node and arrives at
    /// another, so the two changes have opposite signs.
    pub(super) fn largest_change(&self, online: &OnlineNodes) -> Lanes {
        let largest = |k: usize| {
            let kinds = 0..online.storage_kinds();
            kinds.map(|s| most(self.lo[s][k].abs(), self.hi[s][k].abs())).fold(0.0, most)
        };
        lanewise!(k => {
            let amount = if k == lane::RESERVED_MEM { self.need.1 } else { largest(k) };
            amount * online.largest_scale[k]
        })
    }

    /// Changes of the variances when an instance arrives at the node in `row`: for each lane the smallest
    /// change that any amount in the box causes. The second value is the least growth of the reserved fraction
    /// of the node's memory.
    #[inline(always)]
    pub(super) fn arrival(&self, online: &OnlineNodes, row: usize, role: ArrivalRole) -> (Lanes, f64) {
        let exclusive = usize::from(online.exclusive[row]);
        let (y, s) = (&online.y[row], &online.scale[row]);
        let (lo, hi, lanes) = (&self.lo[exclusive], &self.hi[exclusive], role.lanes());
        let mut change: Lanes = lanewise!(k => {
            lanes[k] * smallest_growth(lo[k], hi[k], s[k], y[k]) * online.inv_n
        });
        let mut reserve = 0.0;
        if role == ArrivalRole::Secondary {
            let k = lane::RESERVED_MEM;
            let more = most(self.need.0 - online.reserved[row], 0.0);
            let further = most(more, online.further_reserve(self.need.1));
            reserve = more * s[k];
            change[k] = smallest_growth(more, further, s[k], y[k]) * online.inv_n;
        }
        (change, reserve)
    }
}
