//! Present position of every mobile instance, with the figures of the nodes. A change is appraised on the nodes
//! that it touches only.
//!
//! The score comes from running sums and can have rounding errors. Scores shown to the user are computed again
//! by [`Board`](htools_model::score::Board).

use smallvec::SmallVec;

use super::appraise::{LaneRow, MOST_LANES};
use super::ledgers::Ledgers;
use super::tag_state::TagState;
use super::terrain::{NOWHERE, Seat, SlotStanding, Terrain};

/// A mobile instance and its new seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shift {
    /// Number of the mobile instance.
    pub mobile: u32,
    pub to: Seat,
}

/// Shifts of different mobiles that are made together.
pub(crate) type ShiftSet = SmallVec<[Shift; 4]>;

/// Value of a state and its distance from the start.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Appraisal {
    pub score: f64,
    /// Number of mobiles that are not at home.
    pub moved: i64,
    /// Data to copy for the moved mobiles, in MiB.
    pub data: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub on_failing: i64,
    pub offline: i64,
    pub offline_primaries: i64,
    pub conflicts: i64,
    pub locations: i64,
    pub keys: i64,
    pub spread: i64,
}

/// Changes of one node by a proposal.
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
pub(crate) struct SeatedHere {
    /// Mobiles that have it as their primary node.
    pub primaries: Vec<u32>,
    /// Mobiles that have it as their secondary node.
    pub secondaries: Vec<u32>,
}

/// The state of a search: see the module documentation.
#[derive(Clone)]
pub(crate) struct Arrangement<'t> {
    /// The constant part of the problem.
    pub terrain: &'t Terrain<'t>,
    /// Present seat of each mobile.
    pub seats: Vec<Seat>,
    /// For each slot, the mobiles there.
    pub residents: Vec<SeatedHere>,
    /// For each mobile, its positions in the lists of its two nodes.
    listed: Vec<[u32; 2]>,
    /// The mobiles that are not at home, in no order; `moved_at` has the position of each mobile in this list.
    pub moved: Vec<u32>,
    moved_at: Vec<u32>,
    /// The centred values by slot and lane.
    pub(super) values: Vec<f64>,
    pub(super) centre: Vec<f64>,
    pub(super) sums: LaneRow,
    pub(super) squares: LaneRow,
    pub(super) mem_free: Vec<i64>,
    pub(super) reserved: Vec<i64>,
    pub(super) failing: Vec<bool>,
    primaries: Vec<i64>,
    pub(super) members: Vec<i64>,
    pub(super) counts: Counts,
    pub(super) tags: TagState,
    /// The ledgers on which the rules are checked.
    pub(super) ledgers: Ledgers,
    pub(super) touched: Vec<Touch>,
    /// By touched node and lane, the change before scaling.
    pub(super) changes: Vec<f64>,
    pub(super) pending: Pending,
    pub(super) now: Appraisal,
}

/// Result of the last appraisal, ready for a commit.
#[derive(Clone)]
pub(super) struct Pending {
    /// True if there is a result to commit.
    pub is_ready: bool,
    pub appraisal: Appraisal,
    pub sums: LaneRow,
    pub squares: LaneRow,
    pub counts: Counts,
}

impl<'t> Arrangement<'t> {
    /// The arrangement with every mobile at home.
    pub(crate) fn of(terrain: &'t Terrain<'t>) -> Arrangement<'t> {
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
            sums: [0.0; MOST_LANES],
            squares: [0.0; MOST_LANES],
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
            pending: Pending {
                is_ready: false,
                appraisal: Appraisal::default(),
                sums: [0.0; MOST_LANES],
                squares: [0.0; MOST_LANES],
                counts: Counts::default(),
            },
            now: Appraisal::default(),
        };
        for mobile in 0..mobiles as u32 {
            new.enter_lists(mobile);
        }
        new.take_figures();
        new.now.score = new.score_of(&new.counts);
        new
    }

    /// Appraisal of the present state.
    pub(crate) fn now(&self) -> Appraisal {
        self.now
    }

    /// The centred value of a slot's lane.
    pub(crate) fn value(&self, slot: u32, lane: usize) -> f64 {
        self.values[slot as usize * self.terrain.stride() + lane]
    }

    /// The value of a slot's lane.
    pub(crate) fn raw_value(&self, slot: u32, lane: usize) -> f64 {
        self.value(slot, lane) + self.centre[lane]
    }

    /// The mean of a lane's centred values.
    pub(crate) fn mean(&self, lane: usize) -> f64 {
        self.sums[lane] / self.terrain.online.len() as f64
    }

    /// Contribution of the deviations and the reserve to the score.
    pub(crate) fn deviations(&self) -> f64 {
        self.score_of(&Counts::default())
    }

    /// Memory that is free on a slot beyond its reserve, in MiB.
    pub(crate) fn room(&self, slot: u32) -> i64 {
        self.mem_free[slot as usize] - self.reserved[slot as usize]
    }

    /// Reads the figures of all nodes from their ledgers.
    pub(super) fn take_figures(&mut self) {
        let terrain = self.terrain;
        let (width, stride) = (terrain.width(), terrain.stride());
        self.values = vec![0.0; terrain.nodes.len() * stride];
        let mut counts = Counts::default();
        for list in [&mut self.mem_free, &mut self.reserved, &mut self.primaries, &mut self.members] {
            list.clear();
        }
        self.failing.clear();
        for slot in 0..terrain.nodes.len() as u32 {
            let (spec, ledger) = (terrain.spec(slot), self.ledgers.ledger(slot));
            let lanes = htools_model::score::metrics::lanes(spec, ledger);
            for (at, k) in terrain.lanes.lane.iter().enumerate() {
                self.values[slot as usize * stride + at] = lanes[*k];
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
                    counts.keys += ledger.key_cost;
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
        let online = || terrain.online.iter().map(|slot| *slot as usize * stride);
        self.centre = (0..width).map(|k| online().map(|at| self.values[at + k]).sum::<f64>() / n).collect();
        for slot in 0..terrain.nodes.len() {
            for k in 0..width {
                self.values[slot * stride + k] -= self.centre[k];
            }
        }
        for k in 0..width {
            self.sums[k] = online().map(|at| self.values[at + k]).sum();
            self.squares[k] = online().map(|at| self.values[at + k].powi(2)).sum();
        }
    }

    /// Performs the proposal that was appraised last. Returns false, without any change, if a rule forbids it.
    pub(crate) fn commit(&mut self, proposal: &[Shift]) -> bool {
        let ready = std::mem::take(&mut self.pending.is_ready);
        if !ready || !self.ledgers.shift(self.terrain, &self.seats, proposal, &self.tags) {
            return false;
        }
        let stride = self.terrain.stride();
        for at in 0..self.touched.len() {
            let touch = self.touched[at];
            let slot = touch.slot as usize;
            let scale = self.terrain.scale(touch.slot);
            for k in 0..self.terrain.width() {
                self.values[slot * stride + k] += self.changes[at * stride + k] * scale[k];
            }
            self.mem_free[slot] += touch.mem;
            self.reserved[slot] = touch.reserved;
            self.primaries[slot] += touch.primaries;
            self.members[slot] += touch.members;
            self.failing[slot] = touch.failing;
        }
        self.sums = self.pending.sums;
        self.squares = self.pending.squares;
        self.counts = self.pending.counts;
        self.now = self.pending.appraisal;
        self.tags.shift(self.terrain, &self.seats, proposal);
        for shift in proposal {
            self.leave_lists(shift.mobile);
            self.seats[shift.mobile as usize] = shift.to;
            self.enter_lists(shift.mobile);
            self.note_moved(shift.mobile);
        }
        if self.terrain.unknown_spindles {
            self.refresh();
        }
        true
    }

    /// Performs shifts from the state in which every mobile is at home. Returns `None` if the rules do not
    /// allow them in this order.
    pub(crate) fn with(self, shifts: &[Shift]) -> Option<Arrangement<'t>> {
        let (terrain, mut new) = (self.terrain, self);
        let mut seats = new.seats.clone();
        if !new.ledgers.settle(terrain, shifts, &mut seats, &mut new.tags) {
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

    /// The moves that lead here from home.
    pub(crate) fn shifts(&self) -> Vec<Shift> {
        self.moved.iter().map(|mobile| Shift { mobile: *mobile, to: self.seats[*mobile as usize] }).collect()
    }

    /// Computes all running sums again, so that rounding errors do not accumulate.
    pub(crate) fn refresh(&mut self) {
        self.take_figures();
        self.now.score = self.score_of(&self.counts);
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
