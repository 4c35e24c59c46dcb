//! Bounds of single moves, computed from the square roots instead of their chords.

use multiversion::multiversion;

use super::amounts::AmountsBox;
use super::arrival_costs::{ArrivalRole, ArrivalRow};
use super::lane_loops::smallest_growth;
use super::lanes::{NONE, most, sum};
use super::online_nodes::{Column, OnlineNodes, Present, VARIANCE_FACTOR};
use htools_model::score::interval::clamp;
use htools_model::score::metrics::{LANES, Lanes, lane};

/// Number of nodes processed at once.
const WIDTH: usize = 8;

/// Moves of one slot that take one instance to the nodes of some rows.
pub(super) struct SlotArrivals<'a> {
    online: &'a OnlineNodes,
    present: &'a Present,
    /// The amounts of this instance only.
    amounts: &'a AmountsBox,
    row: &'a ArrivalRow,
    /// Offset of the size, with the changes by the departure.
    offset: Lanes,
    /// Part of the score that is not a deviation and does not depend on the new node.
    rest: f64,
    /// The lanes that an arrival changes.
    changing: Vec<Changing<'a>>,
    /// The reserve's lane, if it changes.
    reserve: Option<Changing<'a>>,
    /// Sum of the deviations of all other lanes.
    constant: f64,
}

/// A lane, or several lanes with equal values, that an arrival changes.
struct Changing<'a> {
    column: &'a Column,
    lo: f64,
    hi: f64,
    offset: f64,
    weight: f64,
}

impl<'a> SlotArrivals<'a> {
    pub(super) fn new(
        online: &'a OnlineNodes,
        present: &'a Present,
        amounts: &'a AmountsBox,
        row: &'a ArrivalRow,
        offset: Lanes,
        rest: f64,
    ) -> SlotArrivals<'a> {
        let deviations = present.deviations(&offset, &NONE);
        let lanes = row.arrival.role.lanes();
        let (lo, hi) = (&amounts.lo[0], &amounts.hi[0]);
        let changing = |k: usize, lo: f64, hi: f64| Changing {
            column: &online.columns[k],
            lo,
            hi,
            offset: offset[k],
            weight: present.weight(k),
        };
        let (mut of_lanes, mut constant) = (Vec::with_capacity(LANES), 0.0);
        let mut seen: Vec<usize> = Vec::with_capacity(LANES);
        for k in (0..LANES).filter(|k| *k != lane::RESERVED_MEM) {
            if lanes[k] == 0.0 || (lo[k] == 0.0 && hi[k] == 0.0) {
                constant += deviations[k];
                continue;
            }
            let twin = seen
                .iter()
                .position(|j| online.twin[*j] == online.twin[k] && lo[*j] == lo[k] && hi[*j] == hi[k]);
            match twin {
                Some(at) => {
                    let twin: &mut Changing<'_> = &mut of_lanes[at];
                    twin.weight += present.weight(k);
                    twin.offset = twin.offset.min(offset[k]);
                }
                None => {
                    seen.push(k);
                    of_lanes.push(changing(k, lo[k], hi[k]));
                }
            }
        }
        let k = lane::RESERVED_MEM;
        let reserve =
            (row.arrival.role == ArrivalRole::Secondary).then(|| changing(k, amounts.need.0, amounts.need.1));
        constant += if reserve.is_some() { 0.0 } else { deviations[k] };
        SlotArrivals { online, present, amounts, row, offset, rest, changing: of_lanes, reserve, constant }
    }

    /// The bounds of the moves to the nodes in some rows.
    pub(super) fn bounds(&self, rows: &[u32]) -> Vec<f64> {
        match self.online.storage_kinds() {
            1 => bounds(self, rows),
            _ => rows.iter().map(|row| self.bound(*row as usize)).collect(),
        }
    }

    /// The bound for one node with any kind of storage.
    fn bound(&self, at: usize) -> f64 {
        let (change, reserve) = self.amounts.arrival(self.online, at, self.row.arrival.role);
        let deviations = self.present.deviations(&self.offset, &change);
        let reserve = self.online.running.reserved_weight() * reserve;
        self.rest + self.row.fixed[at] + reserve + sum(&deviations)
    }
}

/// The values at the given rows.
#[inline(always)]
fn gather(values: &[f64], rows: &[usize; WIDTH]) -> [f64; WIDTH] {
    let mut gathered = [0.0; WIDTH];
    for k in 0..WIDTH {
        gathered[k] = values[rows[k]];
    }
    gathered
}

/// Body of [`SlotArrivals::bounds`], for nodes that all have the same kind of storage.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn bounds(arrivals: &SlotArrivals, rows: &[u32]) -> Vec<f64> {
    let inv_n = arrivals.online.inv_n;
    let reserved_weight = arrivals.online.running.reserved_weight();
    let mut all = Vec::with_capacity(rows.len().next_multiple_of(WIDTH));
    for chunk in rows.chunks(WIDTH) {
        // Missing rows of the last chunk are filled up with the first one.
        let mut at = [chunk[0] as usize; WIDTH];
        for (at, row) in at.iter_mut().zip(chunk) {
            *at = *row as usize;
        }
        let mut bounds = gather(&arrivals.row.fixed, &at);
        for lane in &arrivals.changing {
            let (y, scale) = (gather(&lane.column.y, &at), gather(&lane.column.scale, &at));
            for k in 0..WIDTH {
                let change = smallest_growth(lane.lo, lane.hi, scale[k], y[k]) * inv_n;
                bounds[k] += lane.weight * clamp(lane.offset + VARIANCE_FACTOR * change).sqrt();
            }
        }
        if let Some(lane) = &arrivals.reserve {
            let (y, scale) = (gather(&lane.column.y, &at), gather(&lane.column.scale, &at));
            let reserved = gather(&arrivals.online.reserved, &at);
            let further = arrivals.online.further_reserve(lane.hi);
            for k in 0..WIDTH {
                let more = most(lane.lo - reserved[k], 0.0);
                let change = smallest_growth(more, most(more, further), scale[k], y[k]) * inv_n;
                bounds[k] += reserved_weight * (more * scale[k])
                    + lane.weight * clamp(lane.offset + VARIANCE_FACTOR * change).sqrt();
            }
        }
        all.extend(bounds.map(|bound| bound + arrivals.rest + arrivals.constant));
    }
    all.truncate(rows.len());
    all
}
