//! Appraises a proposal on the nodes that it touches. Deep searches spend most of their time here.
//!
//! Lanes are handled a row at a time. Rows have one of a few fixed lengths, so that the compiler can unroll the
//! loops over them. Entries beyond the last lane are zero and have no effect.

use smallvec::SmallVec;

use super::arrangement::{Appraisal, Arrangement, Counts, Shift, Touch};
use super::ledgers::PeerChange;
use super::terrain::{NOWHERE, SlotStanding};

/// Length of the longest row.
pub(super) const MOST_LANES: usize = 16;

/// One number for each lane.
pub(super) type LaneRow = [f64; MOST_LANES];

/// Length of the rows for this number of lanes.
pub(super) fn stride(lanes: usize) -> usize {
    match lanes {
        0..=4 => 4,
        5..=8 => 8,
        _ => MOST_LANES,
    }
}

/// The row number `at` in a list of rows.
fn row<const W: usize>(rows: &[f64], at: usize) -> &[f64; W] {
    rows[at * W..].first_chunk().expect("every row is whole")
}

impl Arrangement<'_> {
    /// Appraises a proposal, whether the rules allow it or not.
    pub(crate) fn appraise(&mut self, proposal: &[Shift]) -> Appraisal {
        match self.terrain.stride() {
            4 => self.appraise_rows::<4>(proposal),
            8 => self.appraise_rows::<8>(proposal),
            _ => self.appraise_rows::<MOST_LANES>(proposal),
        }
    }

    /// The score with the given counts instead of the present ones.
    pub(super) fn score_of(&self, counts: &Counts) -> f64 {
        self.score_rows::<MOST_LANES>(&self.sums, &self.squares, counts)
    }

    fn score_rows<const W: usize>(&self, sums: &[f64; W], squares: &[f64; W], counts: &Counts) -> f64 {
        let (terrain, weights) = (self.terrain, &self.terrain.weights);
        let n = terrain.online.len() as f64;
        let inv_n = 1.0 / n;
        let of_lane: &LaneRow = terrain.lane_weights();
        let mut parts = [0.0; W];
        for k in 0..W {
            let mean = sums[k] * inv_n;
            parts[k] = of_lane[k] * (squares[k] * inv_n - mean * mean).max(0.0).sqrt();
        }
        let mut score = terrain.constant + parts.iter().sum::<f64>();
        if let Some(k) = terrain.lanes.reserve {
            score += weights.reserved * (sums[k] + n * self.centre[k]);
        }
        score
            + weights.on_failing * counts.on_failing as f64
            + weights.offline * counts.offline as f64
            + weights.offline_primaries * counts.offline_primaries as f64
            + weights.conflicts * counts.conflicts as f64
            + weights.locations * counts.locations as f64
            + weights.keys * counts.keys as f64
            + weights.spread * counts.spread as f64
    }

    fn appraise_rows<const W: usize>(&mut self, proposal: &[Shift]) -> Appraisal {
        self.touched.clear();
        self.changes.clear();
        let (mut moved, mut data) = (self.now.moved, self.now.data);
        for shift in proposal {
            let from = self.seats[shift.mobile as usize];
            self.touch_seats::<W>(shift);
            let home = self.terrain.mobiles[shift.mobile as usize].home;
            moved += i64::from(shift.to != home) - i64::from(from != home);
            data += self.terrain.data(shift.mobile, shift.to) - self.terrain.data(shift.mobile, from);
        }
        if self.terrain.lanes.reserve.is_some() {
            self.reserve(proposal);
        }
        let (mut sums, mut squares) = (*row::<W>(&self.sums, 0), *row::<W>(&self.squares, 0));
        let mut counts = self.counts;
        for at in 0..self.touched.len() {
            self.add_touched::<W>(at, &mut sums, &mut squares, &mut counts);
        }
        self.tags.count(self.terrain, &self.seats, proposal, &mut counts);
        let score = self.score_rows(&sums, &squares, &counts);
        let pending = &mut self.pending;
        pending.is_ready = true;
        pending.appraisal = Appraisal { score, moved, data };
        pending.sums[..W].copy_from_slice(&sums);
        pending.squares[..W].copy_from_slice(&squares);
        pending.counts = counts;
        pending.appraisal
    }

    /// Adds the new state of one touched node to sums and counts.
    fn add_touched<const W: usize>(
        &mut self,
        at: usize,
        sums: &mut [f64; W],
        squares: &mut [f64; W],
        counts: &mut Counts,
    ) {
        let touch = &mut self.touched[at];
        let slot = touch.slot as usize;
        if let Some(k) = self.terrain.lanes.reserve {
            self.changes[at * W + k] = (touch.reserved - self.reserved[slot]) as f64;
        }
        let members = self.members[slot] + touch.members;
        touch.failing = self.mem_free[slot] + touch.mem <= touch.reserved;
        match self.terrain.standing[slot] {
            SlotStanding::Online => {
                let before = if self.failing[slot] { self.members[slot] } else { 0 };
                counts.on_failing += if touch.failing { members } else { 0 } - before;
                let (values, scale) =
                    (row::<W>(&self.values, slot), row::<W>(self.terrain.scale(touch.slot), 0));
                let changes = row::<W>(&self.changes, at);
                for k in 0..W {
                    let change = changes[k] * scale[k];
                    sums[k] += change;
                    squares[k] += change * (2.0 * values[k] + change);
                }
            }
            SlotStanding::Offline => {
                counts.offline += touch.members;
                counts.offline_primaries += touch.primaries;
            }
            SlotStanding::Outside => {}
        }
    }

    /// Records the changes that a shift causes on the nodes that it leaves and enters. A role that stays on its
    /// node changes nothing, except that the reserve of a secondary depends on its primary.
    fn touch_seats<const W: usize>(&mut self, shift: &Shift) {
        let (mobile, from, to) = (shift.mobile, self.seats[shift.mobile as usize], shift.to);
        if from.primary != to.primary {
            self.touch::<W>(mobile, from.primary, false, -1.0);
            self.touch::<W>(mobile, to.primary, false, 1.0);
        }
        if from.secondary != to.secondary {
            self.touch::<W>(mobile, from.secondary, true, -1.0);
            self.touch::<W>(mobile, to.secondary, true, 1.0);
        } else if from.secondary != NOWHERE {
            self.touched_at::<W>(from.secondary);
        }
    }

    fn touch<const W: usize>(&mut self, mobile: u32, slot: u32, secondary: bool, sign: f64) {
        // The mender also asks for the state without an instance.
        if slot == NOWHERE {
            return;
        }
        let terrain = self.terrain;
        let (details, by) = (&terrain.mobiles[mobile as usize], if sign < 0.0 { -1 } else { 1 });
        let at = self.touched_at::<W>(slot);
        let amounts = row::<W>(terrain.amounts(mobile, slot, secondary), 0);
        let changes: &mut [f64; W] = self.changes[at * W..].first_chunk_mut().expect("every row is whole");
        for k in 0..W {
            changes[k] += sign * amounts[k];
        }
        let touch = &mut self.touched[at];
        touch.members += by * details.counts;
        if !secondary {
            touch.mem -= by * details.mem;
            touch.primaries += by * details.counts;
        }
    }

    /// The position of a slot in the list of touched slots; a new slot is appended.
    fn touched_at<const W: usize>(&mut self, slot: u32) -> usize {
        if let Some(at) = self.touched.iter().position(|t| t.slot == slot) {
            return at;
        }
        let reserved = self.reserved[slot as usize];
        self.touched.push(Touch { slot, mem: 0, reserved, primaries: 0, members: 0, failing: false });
        self.changes.extend_from_slice(&[0.0; W]);
        self.touched.len() - 1
    }

    /// Computes the reserves of the nodes that a proposal touches.
    fn reserve(&mut self, proposal: &[Shift]) {
        let mut changes: SmallVec<[PeerChange; 8]> = SmallVec::new();
        for shift in proposal {
            let need = self.terrain.mobiles[shift.mobile as usize].need;
            if need == 0 {
                continue;
            }
            let from = self.seats[shift.mobile as usize];
            changes.push(PeerChange { slot: from.secondary, other: from.primary, by: -need });
            changes.push(PeerChange { slot: shift.to.secondary, other: shift.to.primary, by: need });
        }
        for touch in &mut self.touched {
            if changes.iter().any(|change| change.slot == touch.slot) {
                touch.reserved = self.ledgers.reserve_with(touch.slot, &changes);
            }
        }
    }
}
