//! Where every mobile is, with the figures of the nodes: what a change would lead to is worked out
//! on the nodes that it touches only.
//!
//! The score is computed from sums that are carried along, so it may be wrong by rounding; what is
//! shown to anybody is computed anew by [`Board`](crate::score::Board).

use smallvec::SmallVec;

use super::ledgers::Ledgers;
use super::tag_state::TagState;
use super::terrain::{NOWHERE, Seat, SlotStanding, Terrain};
use crate::score::metrics::LANES;

/// A mobile and where it is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    /// Which mobile.
    pub mobile: u32,
    /// Where it goes.
    pub to: Seat,
}

/// Shifts that are made together, of different mobiles.
pub type ShiftSet = SmallVec<[Shift; 4]>;

/// What a state is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Appraisal {
    /// The score.
    pub score: f64,
    /// How many mobiles are not at home.
    pub moved: i64,
    /// What moving them copies, in MiB.
    pub data: i64,
}

/// The counts of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub on_failing: i64,
    pub offline: i64,
    pub offline_primaries: i64,
    pub conflicts: i64,
    pub locations: i64,
    pub spread: i64,
}

/// What a proposal does to one node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub slot: u32,
    /// Memory that becomes free, in MiB.
    pub mem: i64,
    /// The reserve afterwards, in MiB.
    pub reserved: i64,
    pub primaries: i64,
    pub members: i64,
    pub failing: bool,
}

/// The mobiles of one node.
#[derive(Debug, Clone, Default)]
pub struct SeatedHere {
    /// Those whose primary node it is.
    pub primaries: Vec<u32>,
    /// Those whose secondary node it is.
    pub secondaries: Vec<u32>,
}

/// See the module.
pub struct Arrangement<'t> {
    /// What does not change.
    pub terrain: &'t Terrain<'t>,
    /// By mobile, where it is.
    pub seats: Vec<Seat>,
    /// By slot, who is there.
    pub residents: Vec<SeatedHere>,
    /// By mobile, its places in the lists of its two nodes.
    listed: Vec<[u32; 2]>,
    /// The mobiles that are not at home, in no order, and by mobile its place among them.
    pub moved: Vec<u32>,
    moved_at: Vec<u32>,
    /// By slot and lane, the centred values.
    values: Vec<f64>,
    /// The centre of each lane.
    centre: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
    pub(super) mem_free: Vec<i64>,
    pub(super) reserved: Vec<i64>,
    pub(super) failing: Vec<bool>,
    primaries: Vec<i64>,
    pub(super) members: Vec<i64>,
    pub(super) counts: Counts,
    pub(super) tags: TagState,
    /// What the rules are checked on.
    pub(super) ledgers: Ledgers,
    pub(super) touched: Vec<Touch>,
    /// By touched node and lane: by how much it changes, before it is scaled.
    changes: Vec<f64>,
    pub(super) pending: Option<Pending>,
    now: Appraisal,
}

/// What was last appraised, ready to be carried out.
pub(super) struct Pending {
    appraisal: Appraisal,
    sums: [f64; LANES],
    squares: [f64; LANES],
    pub counts: Counts,
}

impl<'t> Arrangement<'t> {
    /// Everything at home.
    pub fn of(terrain: &'t Terrain<'t>) -> Arrangement<'t> {
        let (slots, mobiles) = (terrain.nodes.len(), terrain.mobiles.len());
        let mut new = Arrangement {
            terrain,
            seats: terrain.mobiles.iter().map(|m| m.home).collect(),
            residents: vec![SeatedHere::default(); slots],
            listed: vec![[NOWHERE; 2]; mobiles],
            moved: Vec::new(),
            moved_at: vec![NOWHERE; mobiles],
            values: Vec::new(),
            centre: Vec::new(),
            sums: Vec::new(),
            squares: Vec::new(),
            mem_free: Vec::new(),
            reserved: Vec::new(),
            failing: Vec::new(),
            primaries: Vec::new(),
            members: Vec::new(),
            counts: Counts::default(),
            tags: TagState::of(terrain),
            ledgers: Ledgers::of(terrain),
            touched: Vec::new(),
            changes: Vec::new(),
            pending: None,
            now: Appraisal { score: 0.0, moved: 0, data: 0 },
        };
        for mobile in 0..mobiles as u32 {
            new.enter_lists(mobile);
        }
        new.take_figures();
        new.now.score = new.score_of(&new.sums, &new.squares, &new.counts);
        new
    }

    /// What it is worth.
    pub fn now(&self) -> Appraisal {
        self.now
    }

    /// The centred value of a slot's lane.
    pub fn value(&self, slot: u32, lane: usize) -> f64 {
        self.values[slot as usize * self.terrain.width() + lane]
    }

    /// The value of a slot's lane.
    pub fn raw_value(&self, slot: u32, lane: usize) -> f64 {
        self.value(slot, lane) + self.centre[lane]
    }

    /// The mean of a lane's centred values.
    pub fn mean(&self, lane: usize) -> f64 {
        self.sums[lane] / self.terrain.online.len() as f64
    }

    /// What the deviations and the reserve add to the score.
    pub fn deviations(&self) -> f64 {
        self.score_of(&self.sums, &self.squares, &Counts::default())
    }

    /// Memory that is free on a slot beyond its reserve, in MiB.
    pub fn room(&self, slot: u32) -> i64 {
        self.mem_free[slot as usize] - self.reserved[slot as usize]
    }

    /// Reads the figures of all nodes off their ledgers.
    pub(super) fn take_figures(&mut self) {
        let terrain = self.terrain;
        let width = terrain.width();
        self.values = vec![0.0; terrain.nodes.len() * width];
        let mut counts = Counts::default();
        for list in [&mut self.mem_free, &mut self.reserved, &mut self.primaries, &mut self.members] {
            list.clear();
        }
        self.failing.clear();
        for slot in 0..terrain.nodes.len() as u32 {
            let (spec, ledger) = (terrain.spec(slot), self.ledgers.ledger(slot));
            let lanes = crate::score::metrics::lanes(spec, ledger);
            for (at, k) in terrain.lanes.lane.iter().enumerate() {
                self.values[slot as usize * width + at] = lanes[*k];
            }
            self.mem_free.push(ledger.mem_unallocated(spec).0);
            self.reserved.push(ledger.mem_reserved.0);
            self.failing.push(ledger.n1_fail);
            self.primaries.push(ledger.primaries);
            let members = ledger.primaries + ledger.secondaries;
            self.members.push(members);
            match terrain.standing[slot as usize] {
                SlotStanding::Online => {
                    counts.on_failing += if ledger.n1_fail { members } else { 0 };
                    counts.conflicts += ledger.tag_conflicts;
                    counts.locations += ledger.location_sum;
                }
                SlotStanding::Offline => {
                    counts.offline += members;
                    counts.offline_primaries += ledger.primaries;
                }
                SlotStanding::Outside => {}
            }
        }
        counts.spread = self.tags.surplus();
        self.counts = counts;
        let n = terrain.online.len() as f64;
        let online = || terrain.online.iter().map(|slot| *slot as usize * width);
        self.centre = (0..width).map(|k| online().map(|at| self.values[at + k]).sum::<f64>() / n).collect();
        for slot in 0..terrain.nodes.len() {
            for k in 0..width {
                self.values[slot * width + k] -= self.centre[k];
            }
        }
        self.sums = (0..width).map(|k| online().map(|at| self.values[at + k]).sum()).collect();
        self.squares = (0..width).map(|k| online().map(|at| self.values[at + k].powi(2)).sum()).collect();
    }

    fn score_of(&self, sums: &[f64], squares: &[f64], counts: &Counts) -> f64 {
        let (lanes, weights) = (&self.terrain.lanes, &self.terrain.weights);
        let n = self.terrain.online.len() as f64;
        let inv_n = 1.0 / n;
        let mut score = self.terrain.constant;
        for k in 0..lanes.weight.len() {
            let mean = sums[k] * inv_n;
            score += lanes.weight[k] * (squares[k] * inv_n - mean * mean).max(0.0).sqrt();
        }
        if let Some(k) = lanes.reserve {
            score += weights.reserved * (sums[k] + n * self.centre[k]);
        }
        score
            + weights.on_failing * counts.on_failing as f64
            + weights.offline * counts.offline as f64
            + weights.offline_primaries * counts.offline_primaries as f64
            + weights.conflicts * counts.conflicts as f64
            + weights.locations * counts.locations as f64
            + weights.spread * counts.spread as f64
    }

    /// What a proposal would lead to, whether the rules allow it or not.
    pub fn appraise(&mut self, proposal: &[Shift]) -> Appraisal {
        self.touched.clear();
        self.changes.clear();
        let (mut moved, mut data) = (self.now.moved, self.now.data);
        for shift in proposal {
            let from = self.seats[shift.mobile as usize];
            self.touch(shift.mobile, from, -1.0);
            self.touch(shift.mobile, shift.to, 1.0);
            let home = self.terrain.mobiles[shift.mobile as usize].home;
            moved += i64::from(shift.to != home) - i64::from(from != home);
            data += self.terrain.data(shift.mobile, shift.to) - self.terrain.data(shift.mobile, from);
        }
        if self.terrain.lanes.reserve.is_some() {
            self.reserve(proposal);
        }
        let width = self.terrain.width();
        let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
        sums[..width].copy_from_slice(&self.sums);
        squares[..width].copy_from_slice(&self.squares);
        let mut counts = self.counts;
        for (at, touch) in self.touched.iter_mut().enumerate() {
            let changes = &mut self.changes[at * width..][..width];
            let slot = touch.slot as usize;
            if let Some(k) = self.terrain.lanes.reserve {
                changes[k] = (touch.reserved - self.reserved[slot]) as f64;
            }
            let mem = self.mem_free[slot] + touch.mem;
            let members = self.members[slot] + touch.members;
            touch.failing = mem <= touch.reserved;
            match self.terrain.standing[slot] {
                SlotStanding::Online => {
                    let before = if self.failing[slot] { self.members[slot] } else { 0 };
                    counts.on_failing += if touch.failing { members } else { 0 } - before;
                    let (scale, values) =
                        (self.terrain.scale(touch.slot), &self.values[slot * width..][..width]);
                    for k in 0..width {
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
        self.tags.count(self.terrain, &self.seats, proposal, &mut counts);
        let score = self.score_of(&sums[..width], &squares[..width], &counts);
        let appraisal = Appraisal { score, moved, data };
        self.pending = Some(Pending { appraisal, sums, squares, counts });
        appraisal
    }

    fn touch(&mut self, mobile: u32, seat: Seat, sign: f64) {
        let terrain = self.terrain;
        let width = terrain.width();
        let (of, by) = (&terrain.mobiles[mobile as usize], sign as i64);
        for (slot, secondary) in [(seat.primary, false), (seat.secondary, true)] {
            if slot == NOWHERE {
                continue;
            }
            let at = match self.touched.iter().position(|t| t.slot == slot) {
                Some(at) => at,
                None => {
                    let reserved = self.reserved[slot as usize];
                    let new = Touch { slot, mem: 0, reserved, primaries: 0, members: 0, failing: false };
                    self.touched.push(new);
                    self.changes.resize(self.changes.len() + width, 0.0);
                    self.touched.len() - 1
                }
            };
            let touch = &mut self.touched[at];
            for (lane, amount) in
                self.changes[at * width..].iter_mut().zip(terrain.amounts(mobile, slot, secondary))
            {
                *lane += sign * amount;
            }
            touch.members += by * of.counts;
            if !secondary {
                touch.mem -= by * of.mem;
                touch.primaries += by * of.counts;
            }
        }
    }

    /// Works the reserves of the nodes that a proposal touches out.
    fn reserve(&mut self, proposal: &[Shift]) {
        let mut changes: SmallVec<[(u32, u32, i64); 8]> = SmallVec::new();
        for shift in proposal {
            let need = self.terrain.mobiles[shift.mobile as usize].need;
            if need == 0 {
                continue;
            }
            let from = self.seats[shift.mobile as usize];
            changes.push((from.secondary, from.primary, -need));
            changes.push((shift.to.secondary, shift.to.primary, need));
        }
        for touch in &mut self.touched {
            if changes.iter().any(|(slot, ..)| *slot == touch.slot) {
                touch.reserved = self.ledgers.reserve_with(touch.slot, &changes);
            }
        }
    }

    /// Carries out the proposal that was appraised last; `false`, and nothing happens, if a rule forbids it.
    pub fn commit(&mut self, proposal: &[Shift]) -> bool {
        let Some(pending) = self.pending.take() else { return false };
        if !self.ledgers.shift(self.terrain, &self.seats, proposal, &self.tags) {
            return false;
        }
        let width = self.terrain.width();
        for at in 0..self.touched.len() {
            let touch = self.touched[at];
            let slot = touch.slot as usize;
            let scale = self.terrain.scale(touch.slot);
            for k in 0..width {
                self.values[slot * width + k] += self.changes[at * width + k] * scale[k];
            }
            self.mem_free[slot] += touch.mem;
            self.reserved[slot] = touch.reserved;
            self.primaries[slot] += touch.primaries;
            self.members[slot] += touch.members;
            self.failing[slot] = touch.failing;
        }
        self.sums.copy_from_slice(&pending.sums[..width]);
        self.squares.copy_from_slice(&pending.squares[..width]);
        self.counts = pending.counts;
        self.now = pending.appraisal;
        self.tags.shift(self.terrain, &self.seats, proposal);
        for shift in proposal {
            self.leave_lists(shift.mobile);
            self.seats[shift.mobile as usize] = shift.to;
            self.enter_lists(shift.mobile);
            self.note_moved(shift.mobile);
        }
        if self.terrain.odd_spindles {
            self.refresh();
        }
        true
    }

    /// The state to which shifts lead from everything at home; nothing if the rules no longer allow it in this
    /// order.
    pub fn with(terrain: &'t Terrain<'t>, shifts: &[Shift]) -> Option<Arrangement<'t>> {
        let mut new = Arrangement::of(terrain);
        let mut seats = new.seats.clone();
        if !new.ledgers.settle(terrain, shifts, (&mut seats, &mut new.tags)) {
            return None;
        }
        for shift in shifts {
            new.leave_lists(shift.mobile);
            new.seats[shift.mobile as usize] = shift.to;
            new.enter_lists(shift.mobile);
            new.note_moved(shift.mobile);
            new.now.data += terrain.data(shift.mobile, shift.to);
        }
        new.now.moved = new.moved.len() as i64;
        new.refresh();
        Some(new)
    }

    /// Makes everything that was carried along anew, so that rounding does not add up.
    pub fn refresh(&mut self) {
        self.take_figures();
        self.now.score = self.score_of(&self.sums, &self.squares, &self.counts);
    }

    fn note_moved(&mut self, mobile: u32) {
        let is_moved = self.seats[mobile as usize] != self.terrain.mobiles[mobile as usize].home;
        let at = self.moved_at[mobile as usize];
        if is_moved && at == NOWHERE {
            self.moved_at[mobile as usize] = self.moved.len() as u32;
            self.moved.push(mobile);
        } else if !is_moved && at != NOWHERE {
            self.moved.swap_remove(at as usize);
            if let Some(other) = self.moved.get(at as usize) {
                self.moved_at[*other as usize] = at;
            }
            self.moved_at[mobile as usize] = NOWHERE;
        }
    }

    fn enter_lists(&mut self, mobile: u32) {
        let seat = self.seats[mobile as usize];
        let list = &mut self.residents[seat.primary as usize].primaries;
        self.listed[mobile as usize][0] = list.len() as u32;
        list.push(mobile);
        if seat.secondary != NOWHERE {
            let list = &mut self.residents[seat.secondary as usize].secondaries;
            self.listed[mobile as usize][1] = list.len() as u32;
            list.push(mobile);
        }
    }

    fn leave_lists(&mut self, mobile: u32) {
        let seat = self.seats[mobile as usize];
        for (role, slot) in [seat.primary, seat.secondary].into_iter().enumerate() {
            if slot == NOWHERE {
                continue;
            }
            let residents = &mut self.residents[slot as usize];
            let list = if role == 0 { &mut residents.primaries } else { &mut residents.secondaries };
            let at = self.listed[mobile as usize][role];
            list.swap_remove(at as usize);
            if let Some(other) = list.get(at as usize) {
                self.listed[*other as usize][role] = at;
            }
        }
    }
}
