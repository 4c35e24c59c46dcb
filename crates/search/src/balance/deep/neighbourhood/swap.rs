//! Two instances change places.

use super::{Neighbourhood, enter, resident, role_at, with_role_at};
use crate::balance::deep::arrangement::{Arrangement, ShiftSet};
use crate::balance::deep::draws::RandomNumbers;

/// A role of one instance and a role of another exchange nodes.
#[derive(Debug)]
pub(crate) struct SeatSwap;

impl Neighbourhood for SeatSwap {
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        if at.seats.is_empty() {
            return false;
        }
        let one = draws.below(at.seats.len()) as u32;
        let seat = at.seats[one as usize];
        let secondary = at.terrain.mobiles[one as usize].mirrored && draws.below(2) == 1;
        let from = role_at(seat, secondary);
        let Some(to) = draws.pick(&at.terrain.online).filter(|to| *to != from) else { return false };
        // An offline node can give instances, but not receive them.
        if !at.terrain.is_online(from) {
            return false;
        }
        // Usually the same role is exchanged, so that memory and reserve stay about the same.
        let there = &at.residents[to as usize];
        let same = if secondary { &there.secondaries } else { &there.primaries };
        let drawn = match draws.below(8) {
            0 => resident(at, draws, to),
            _ => draws.pick(same).map(|mobile| (mobile, secondary)),
        };
        let Some((other, role)) = drawn else { return false };
        enter(at, proposal, one, with_role_at(seat, secondary, to))
            && enter(at, proposal, other, with_role_at(at.seats[other as usize], role, from))
    }
}
