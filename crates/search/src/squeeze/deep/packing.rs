//! Looks for a placement on the nodes that stay online.
//!
//! First, instances on freed nodes go where they leave least room. Then a simulated annealing packs the instances. Room
//! gathers on few nodes: large instances find a place there, and so do the instances of a node that is lost. Balancing does
//! the opposite and leaves a little room on every node.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::super::trial::GroupScope;
use super::choice::StayingNodes;
use super::cost::{PackingCost, is_on_offline};
use crate::balance::deep::RandomNumbers;
use crate::balance::deep::arrangement::{Arrangement, Shift, ShiftSet};
use crate::balance::deep::neighbourhood::{
    BackHome, EjectionChain, Neighbourhood, OneForSeveral, Relay, SeatSwap, SingleMove,
};
use crate::balance::deep::terrain::{NOWHERE, Seat, Terrain};
use htools_model::{InstanceIdx, Placement};

/// Temperature at the beginning of each stream, in units of the cost. Cold streams move few instances besides those that
/// have to leave, so the steps have an order more often.
const TEMPERATURES: [f64; 3] = [0.1, 0.4, 1.5];

/// Number of streams.
pub(super) const STREAMS: usize = TEMPERATURES.len();

/// Temperature at the end.
const COLD: f64 = 0.05;

/// Number of rounds for each mobile instance, and the bounds for all.
const ROUNDS: u64 = 400;
const FEWEST_ROUNDS: u64 = 20_000;
const MOST_ROUNDS: u64 = 2_000_000;

/// Number of rounds between two checks of the clock.
const STRIDE: u64 = 4096;

/// Number of times in a stream at which a placement without instances left is looked at.
const LOOKS: u64 = 6;

/// Number of nodes that are tried in pairs for an instance that loses both of its nodes.
const MOST_PAIRED: usize = 40;

/// The kinds of changes besides moves of instances that have to leave, each with its probability in 64ths.
const MIX: [(&dyn Neighbourhood, usize); 6] = [
    (&SingleMove, 24),
    (&SeatSwap, 20),
    (&OneForSeveral, 6),
    (&EjectionChain, 4),
    (&BackHome, 6),
    (&Relay, 4),
];

/// The search: see the module documentation.
#[derive(Clone)]
pub(super) struct Packing<'t> {
    scope: &'t GroupScope<'t>,
    at: Arrangement<'t>,
    cost: PackingCost,
    /// For each slot, whether its node is freed.
    is_freed: Vec<bool>,
    /// The mobiles with a role on a freed node, in no order; `left_at` has the position of each mobile in this list.
    left: Vec<u32>,
    left_at: Vec<u32>,
}

impl<'t> Packing<'t> {
    /// The search with every instance at home.
    pub(super) fn of(
        scope: &'t GroupScope<'t>,
        terrain: &'t Terrain<'t>,
        choice: &StayingNodes,
    ) -> Packing<'t> {
        let mut new = Packing {
            scope,
            at: Arrangement::of(terrain),
            cost: PackingCost::of(scope, terrain, choice),
            is_freed: terrain.nodes.iter().map(|node| choice.freed.contains(node)).collect(),
            left: Vec::new(),
            left_at: vec![NOWHERE; terrain.mobiles.len()],
        };
        (0..terrain.mobiles.len() as u32).for_each(|mobile| new.note_left(mobile));
        new
    }

    /// Returns true if no instance is left on a freed node, and no node lacks room.
    fn is_done(&self) -> bool {
        self.left.is_empty() && !self.at.terrain.online.iter().any(|slot| self.cost.is_lacking(*slot))
    }

    /// The new placements of the instances that moved.
    pub(super) fn placements(&self) -> Vec<(InstanceIdx, Placement)> {
        let terrain = self.at.terrain;
        let mut moved = self.at.moved.clone();
        moved.sort_unstable();
        let to = |mobile: u32| terrain.placement(mobile, self.at.seats[mobile as usize]);
        moved.into_iter().map(|mobile| (terrain.mobiles[mobile as usize].instance, to(mobile))).collect()
    }

    /// Moves the instances that have to leave, the largest first, each to where the cost is least.
    pub(super) fn place(&mut self) {
        let terrain = self.at.terrain;
        let mut left = self.left.clone();
        left.sort_by(|a, b| self.cost.size(*b).total_cmp(&self.cost.size(*a)).then(a.cmp(b)));
        for mobile in left {
            let home = terrain.mobiles[mobile as usize].home;
            let mut seats = match home.secondary {
                NOWHERE => terrain.seats_with_way(mobile, &terrain.online, false),
                secondary if terrain.is_online(home.primary) || terrain.is_online(secondary) => {
                    terrain.seats_with_way(mobile, &terrain.online, false)
                }
                _ => terrain.seats_with_way(mobile, &self.roomiest(), true),
            };
            seats.retain(|to| !is_on_offline(terrain, *to));
            let cost = |to| self.cost.change(terrain, &self.at.seats, &[Shift { mobile, to }]);
            let mut seats: Vec<(f64, Seat)> = seats.into_iter().map(|to| (cost(to), to)).collect();
            seats.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            seats.into_iter().any(|(_, to)| self.make(&[Shift { mobile, to }]));
        }
    }

    /// The online slots with most room, in order.
    fn roomiest(&self) -> Vec<u32> {
        let mut slots = self.at.terrain.online.clone();
        let room = |slot: u32| self.cost.squared_room(slot);
        slots.sort_by(|a, b| room(*b).total_cmp(&room(*a)).then(a.cmp(b)));
        slots.truncate(MOST_PAIRED);
        slots.sort_unstable();
        slots
    }

    /// Packs the instances in one of the random streams. `look` is called at times when no instance is left, until it
    /// breaks.
    pub(super) fn anneal(&mut self, stream: usize, mut look: impl FnMut(&Packing<'t>) -> ControlFlow<()>) {
        let mut draws = RandomNumbers::stream(stream as u64);
        let mut proposal = ShiftSet::new();
        let rounds = (ROUNDS * self.at.seats.len() as u64).clamp(FEWEST_ROUNDS, MOST_ROUNDS);
        let (hot, mut temperature) = (TEMPERATURES[stream % STREAMS], TEMPERATURES[stream % STREAMS]);
        let mut was_left = false;
        for round in 0..=rounds {
            if round % STRIDE == 0 {
                if self.scope.has_to_end() {
                    return;
                }
                temperature = hot * (COLD / hot).powf(round as f64 / rounds as f64);
            }
            let is_due = round % (rounds / LOOKS) == 0 || (was_left && self.left.is_empty());
            was_left = !self.left.is_empty();
            if is_due && self.is_done() && look(self).is_break() {
                return;
            }
            proposal.clear();
            if self.draw(&mut draws, &mut proposal) {
                let change = self.cost.change(self.at.terrain, &self.at.seats, &proposal);
                if change <= 0.0 || change < -temperature * (1.0 - draws.unit()).ln() {
                    self.make(&proposal);
                }
            }
        }
    }

    /// Draws a change. Returns false if the draw gave none.
    fn draw(&self, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        if !self.left.is_empty() && draws.below(4) == 0 {
            return self.draw_leaving(draws, proposal);
        }
        let mut drawn = draws.below(64);
        for (neighbourhood, share) in MIX {
            if drawn < share {
                return neighbourhood.draw(&self.at, draws, proposal);
            }
            drawn -= share;
        }
        false
    }

    /// Moves an instance that has to leave to a node, and perhaps another one from there out of its way.
    fn draw_leaving(&self, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        let terrain = self.at.terrain;
        let (Some(mobile), Some(slot)) = (draws.pick(&self.left), draws.pick(&terrain.online)) else {
            return false;
        };
        let seat = self.at.seats[mobile as usize];
        let kept = [seat.primary, seat.secondary].into_iter().find(|slot| terrain.is_online(*slot));
        let other = match (kept, seat.secondary) {
            (_, NOWHERE) => NOWHERE,
            (Some(kept), _) => kept,
            (None, _) => draws.pick(&terrain.online).unwrap_or(NOWHERE),
        };
        let to = if other == NOWHERE || draws.below(2) == 0 {
            Seat { primary: slot, secondary: other }
        } else {
            Seat { primary: other, secondary: slot }
        };
        if !self.enter(proposal, mobile, to) {
            return false;
        }
        if draws.below(2) == 0 {
            return true;
        }
        let residents = &self.at.residents[slot as usize];
        let all = residents.primaries.len() + residents.secondaries.len();
        let resident = residents.primaries.iter().chain(&residents.secondaries).nth(draws.below(all));
        let (Some(resident), Some(aside)) = (resident, draws.pick(&terrain.online)) else { return false };
        let seat = self.at.seats[*resident as usize];
        let to = if seat.primary == slot {
            Seat { primary: aside, ..seat }
        } else {
            Seat { secondary: aside, ..seat }
        };
        *resident != mobile && to != seat && self.enter(proposal, *resident, to)
    }

    /// Adds a shift, if the mobile can reach the seat.
    fn enter(&self, proposal: &mut ShiftSet, mobile: u32, to: Seat) -> bool {
        let terrain = self.at.terrain;
        let is_home = to == terrain.mobiles[mobile as usize].home;
        let possible = to.primary != to.secondary && (is_home || terrain.entry(mobile, to).is_some());
        if possible {
            proposal.push(Shift { mobile, to });
        }
        possible
    }

    /// Makes a proposal, if the rules allow it.
    fn make(&mut self, proposal: &[Shift]) -> bool {
        let from: SmallVec<[Seat; 4]> =
            proposal.iter().map(|shift| self.at.seats[shift.mobile as usize]).collect();
        self.at.appraise(proposal);
        let made = self.at.commit(proposal);
        if made {
            for (shift, from) in proposal.iter().zip(from) {
                self.cost.enter(self.at.terrain, from, *shift);
                self.note_left(shift.mobile);
            }
        }
        made
    }

    /// Enters a mobile in the list of those that are left, or removes it.
    fn note_left(&mut self, mobile: u32) {
        let seat = self.at.seats[mobile as usize];
        let is_freed = |slot: u32| self.is_freed.get(slot as usize) == Some(&true);
        let is_left = is_freed(seat.primary) || is_freed(seat.secondary);
        let at = self.left_at[mobile as usize];
        if is_left && at == NOWHERE {
            self.left_at[mobile as usize] = self.left.len() as u32;
            self.left.push(mobile);
        } else if !is_left && at != NOWHERE {
            self.left.swap_remove(at as usize);
            if let Some(other) = self.left.get(at as usize) {
                self.left_at[*other as usize] = at;
            }
            self.left_at[mobile as usize] = NOWHERE;
        }
    }
}
