//! What instances of one size take from a node.

use super::arrival_costs::ArrivalRole;
use super::lane_loops::smallest_growth;
use super::lanes::{LaneRange, amounts, lanewise, most};
use super::online_nodes::OnlineNodes;
use htools_model::Instance;
use htools_model::score::metrics::{Lanes, PADDED_LANES, lane};

/// A box of amounts, from a smallest to a largest; of one instance, they are the
/// same.
#[derive(Debug, Clone)]
pub(super) struct AmountsBox {
    /// The smallest and the largest amounts, on nodes without and with exclusive
    /// storage.
    pub lo: [Lanes; 2],
    pub hi: [Lanes; 2],
    /// The smallest reserve, in MiB, and the largest.
    pub need: (f64, f64),
}

impl AmountsBox {
    /// The box of some instances, all forthcoming or none, all with known numbers of
    /// spindles or none.
    pub(super) fn of(members: &[&Instance], ground: &OnlineNodes) -> AmountsBox {
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
            // the arrival of an unknown number makes the free ones what they never are
            for k in [lane::FREE_DISK, lane::FREE_DISK_PLANNED] {
                (boxes[1].lo[k], boxes[1].hi[k]) = (-ground.most_spindles, ground.most_spindles);
            }
        }
        AmountsBox {
            lo: [boxes[0].lo, boxes[1].lo],
            hi: [boxes[0].hi, boxes[1].hi],
            need: (need.lo[0], need.hi[0]),
        }
    }

    /// Whether there is more than one amount of anything.
    pub(super) fn is_box(&self) -> bool {
        self.lo != self.hi || self.need.0 != self.need.1
    }

    /// The most that a lane's values change altogether: what leaves one node arrives
    /// at another.
    pub(super) fn largest_change(&self, ground: &OnlineNodes) -> Lanes {
        let largest = |k: usize| {
            let kinds = 0..ground.storage_kinds();
            kinds.map(|s| most(self.lo[s][k].abs(), self.hi[s][k].abs())).fold(0.0, most)
        };
        lanewise!(k => {
            let amount = if k == lane::RESERVED_MEM { self.need.1 } else { largest(k) };
            amount * ground.largest_scale[k]
        })
    }

    /// The changes of variances when an instance arrives at the node of a row: the
    /// smallest that any size of the box leads to, lane by lane. Also returned: by
    /// how much the reserved part of the node's memory grows at least.
    #[inline(always)]
    pub(super) fn arrival(&self, ground: &OnlineNodes, row: usize, role: ArrivalRole) -> (Lanes, f64) {
        let exclusive = usize::from(ground.exclusive[row]);
        let (y, s) = (&ground.y[row], &ground.scale[row]);
        let (lo, hi, lanes) = (&self.lo[exclusive], &self.hi[exclusive], role.lanes());
        let mut change: Lanes = lanewise!(k => {
            lanes[k] * smallest_growth(lo[k], hi[k], s[k], y[k]) * ground.inv_n
        });
        let mut reserve = 0.0;
        if role == ArrivalRole::Secondary {
            let k = lane::RESERVED_MEM;
            let more = most(self.need.0 - ground.reserved[row], 0.0);
            let further = most(more, ground.further_reserve(self.need.1));
            reserve = more * s[k];
            change[k] = smallest_growth(more, further, s[k], y[k]) * ground.inv_n;
        }
        (change, reserve)
    }
}
