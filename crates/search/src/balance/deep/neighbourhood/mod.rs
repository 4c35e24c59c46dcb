//! Kinds of changes that the search tries. Each neighbourhood draws one change at random.

mod chain;
mod home;
mod relief;
mod relocation;
mod several;
mod swap;

use super::arrangement::{Arrangement, Shift, ShiftSet};
use super::draws::RandomNumbers;
use super::terrain::{NOWHERE, Seat};

pub(crate) use chain::EjectionChain;
pub(crate) use home::{BackHome, Relay};
pub(crate) use relief::ReserveRelief;
pub(crate) use relocation::SingleMove;
pub(crate) use several::OneForSeveral;
pub(crate) use swap::SeatSwap;

/// One kind of change.
pub(crate) trait Neighbourhood: Sync {
    /// Draws a change: shifts of different mobiles to seats that they can reach. Returns false if the draw gave
    /// no change.
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool;
}

/// Adds a shift, if the mobile can reach the seat and is not in the proposal already.
fn enter(at: &Arrangement<'_>, proposal: &mut ShiftSet, mobile: u32, to: Seat) -> bool {
    let home = at.terrain.mobiles[mobile as usize].home;
    let possible = to != at.seats[mobile as usize]
        && to.primary != to.secondary
        && proposal.iter().all(|shift| shift.mobile != mobile)
        && (to == home || at.terrain.entry(mobile, to).is_some());
    if possible {
        proposal.push(Shift { mobile, to });
    }
    possible
}

/// A random mobile on a slot, with true if it is a secondary there.
fn resident(at: &Arrangement<'_>, draws: &mut RandomNumbers, slot: u32) -> Option<(u32, bool)> {
    let residents = &at.residents[slot as usize];
    let (primaries, secondaries) = (residents.primaries.len(), residents.secondaries.len());
    let drawn = draws.below(primaries + secondaries);
    if drawn < primaries {
        Some((residents.primaries[drawn], false))
    } else {
        residents.secondaries.get(drawn - primaries).map(|mobile| (*mobile, true))
    }
}

/// The seat of a mobile after one of its roles has gone to another slot. If that slot has its other role, the
/// roles are swapped.
fn with_role_at(seat: Seat, secondary: bool, slot: u32) -> Seat {
    let swapped = Seat { primary: seat.secondary, secondary: seat.primary };
    if secondary {
        if seat.primary == slot { swapped } else { Seat { secondary: slot, ..seat } }
    } else if seat.secondary == slot && slot != NOWHERE {
        swapped
    } else {
        Seat { primary: slot, ..seat }
    }
}

/// The slot of one of a mobile's roles.
fn role_at(seat: Seat, secondary: bool) -> u32 {
    if secondary { seat.secondary } else { seat.primary }
}

#[cfg(test)]
mod tests;
