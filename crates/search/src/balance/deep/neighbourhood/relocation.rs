//! One instance moves.

use super::{Neighbourhood, enter, with_role_at};
use crate::balance::deep::arrangement::{Arrangement, ShiftSet};
use crate::balance::deep::draws::RandomNumbers;
use crate::balance::deep::terrain::Seat;

/// Moves any instance to any other node. A mirrored instance changes one role or both, or its nodes swap roles.
#[derive(Debug)]
pub(crate) struct SingleMove;

impl Neighbourhood for SingleMove {
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        let mobile = draws.below(at.seats.len()) as u32;
        let Some(slot) = draws.pick(&at.terrain.online) else { return false };
        let Some(seat) = at.seats.get(mobile as usize).copied() else { return false };
        let to = if !at.terrain.mobiles[mobile as usize].mirrored {
            Seat { primary: slot, ..seat }
        } else {
            match draws.below(16) {
                0..7 => with_role_at(seat, false, slot),
                7..14 => with_role_at(seat, true, slot),
                14 => Seat { primary: seat.secondary, secondary: seat.primary },
                _ => {
                    let Some(other) = draws.pick(&at.terrain.online) else { return false };
                    Seat { primary: slot, secondary: other }
                }
            }
        };
        enter(at, proposal, mobile, to)
    }
}
