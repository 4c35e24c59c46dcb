//! One instance is exchanged for two.

use super::{Neighbourhood, enter, resident, role_at, with_role_at};
use crate::balance::deep::arrangement::{Arrangement, ShiftSet};
use crate::balance::deep::draws::RandomNumbers;

/// An instance goes to a node, and two of the instances there take its place.
#[derive(Debug)]
pub(crate) struct OneForSeveral;

impl Neighbourhood for OneForSeveral {
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        if at.seats.is_empty() {
            return false;
        }
        let one = draws.below(at.seats.len()) as u32;
        let seat = at.seats[one as usize];
        let secondary = at.terrain.mobiles[one as usize].mirrored && draws.below(2) == 1;
        let from = role_at(seat, secondary);
        let Some(to) = draws.pick(&at.terrain.online).filter(|to| *to != from) else { return false };
        if !enter(at, proposal, one, with_role_at(seat, secondary, to)) {
            return false;
        }
        (0..2).all(|_| {
            resident(at, draws, to).is_some_and(|(other, role)| {
                enter(at, proposal, other, with_role_at(at.seats[other as usize], role, from))
            })
        })
    }
}
