//! A node needs to keep less memory for the failure of another.

use super::{Neighbourhood, enter, with_role_at};
use crate::balance::deep::arrangement::{Arrangement, ShiftSet};
use crate::balance::deep::draws::RandomNumbers;

/// Moves one of the instances that determine a node's reserve, perhaps in exchange for another. These are the
/// secondaries whose primary node needs most memory here if it fails. A change drawn without regard to the
/// reserve would rarely hit them.
#[derive(Debug)]
pub(crate) struct ReserveRelief;

impl Neighbourhood for ReserveRelief {
    fn draw(&self, at: &Arrangement<'_>, draws: &mut RandomNumbers, proposal: &mut ShiftSet) -> bool {
        let Some(here) = draws.pick(&at.terrain.online) else { return false };
        let peer = at.ledgers.fullest(here);
        let weighs = |mobile: &&u32| at.seats[**mobile as usize].primary == peer;
        let here_for_peer = || at.residents[here as usize].secondaries.iter().filter(weighs);
        let Some(mobile) = here_for_peer().nth(draws.below(here_for_peer().count())).copied() else {
            return false;
        };
        let Some(there) = draws.pick(&at.terrain.online) else { return false };
        // Either its secondary leaves this node, or its primary leaves the other.
        let secondary = draws.below(4) > 0;
        let from = if secondary { here } else { peer };
        if there == from
            || !enter(at, proposal, mobile, with_role_at(at.seats[mobile as usize], secondary, there))
        {
            return false;
        }
        if draws.below(4) == 0 {
            return true;
        }
        let residents = &at.residents[there as usize];
        let others = if secondary { &residents.secondaries } else { &residents.primaries };
        let Some(other) = draws.pick(others) else { return false };
        at.terrain.is_online(from)
            && enter(at, proposal, other, with_role_at(at.seats[other as usize], secondary, from))
    }
}
