//! Three instances move in a chain, each to the node of the next.

use super::{Neighbourhood, enter, resident, role_at, with_role_at};
use crate::balance::deep::arrangement::{Arrangement, ShiftSet};
use crate::balance::deep::draws::RandomNumbers;

/// An instance that goes to a node ejects one from there, which goes on to another. After three instances, the
/// chain either ends at the last node or closes at the first.
#[derive(Debug)]
pub(crate) struct EjectionChain;

impl Neighbourhood for EjectionChain {
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        if at.seats.is_empty() {
            return false;
        }
        let mut mobile = draws.below(at.seats.len()) as u32;
        let mut secondary = at.terrain.mobiles[mobile as usize].mirrored && draws.below(2) == 1;
        let first = role_at(at.seats[mobile as usize], secondary);
        let length = 2 + draws.below(2);
        for _ in 1..length {
            let Some(to) = draws.pick(&at.terrain.online) else { return false };
            if !enter(at, proposal, mobile, with_role_at(at.seats[mobile as usize], secondary, to)) {
                return false;
            }
            let Some(next) = resident(at, draws, to) else { return false };
            (mobile, secondary) = next;
        }
        let closes = length == 3 && draws.below(2) == 1;
        let last = if closes { Some(first) } else { draws.pick(&at.terrain.online) };
        last.is_some_and(|to| {
            enter(at, proposal, mobile, with_role_at(at.seats[mobile as usize], secondary, to))
        })
    }
}
