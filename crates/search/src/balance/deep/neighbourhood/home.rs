//! An instance goes back to its present node in the cluster, which saves a move.

use super::{Neighbourhood, enter, resident, role_at, with_role_at};
use crate::balance::deep::arrangement::{Arrangement, ShiftSet};
use crate::balance::deep::draws::RandomNumbers;

#[derive(Debug)]
pub(crate) struct BackHome;

impl Neighbourhood for BackHome {
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        let Some(mobile) = draws.pick(&at.moved) else { return false };
        enter(at, proposal, mobile, at.terrain.mobiles[mobile as usize].home)
    }
}

/// A moved instance goes home, and another moves in its place: from the node to which it returns, or to the
/// node that it leaves. The number of moves stays the same.
#[derive(Debug)]
pub(crate) struct Relay;

impl Neighbourhood for Relay {
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        let Some(mobile) = draws.pick(&at.moved) else { return false };
        let (seat, home) = (at.seats[mobile as usize], at.terrain.mobiles[mobile as usize].home);
        let secondary = seat.primary == home.primary;
        let (here, there) = (role_at(home, secondary), role_at(seat, secondary));
        if !enter(at, proposal, mobile, home) {
            return false;
        }
        match draws.below(3) {
            0 | 1 => {
                let Some((other, role)) = resident(at, draws, here) else { return false };
                let to = if draws.below(2) == 0 { Some(there) } else { draws.pick(&at.terrain.online) };
                let to = to.map(|to| with_role_at(at.seats[other as usize], role, to));
                to.is_some_and(|to| enter(at, proposal, other, to))
            }
            _ => {
                let other = draws.below(at.seats.len()) as u32;
                let role = at.terrain.mobiles[other as usize].mirrored && secondary;
                enter(at, proposal, other, with_role_at(at.seats[other as usize], role, there))
            }
        }
    }
}
