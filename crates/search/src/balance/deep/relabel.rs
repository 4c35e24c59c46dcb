//! The same placement with fewer moves: nodes that are alike exchange all that they hold, and instances that are alike
//! exchange their seats.
//!
//! The score stays the same, but many instances can stay where they are. This needs three steps: nodes are named
//! anew so that many instances find their seats ([`naming`]), those take their seats ([`pairing`]), and the others
//! take what is left, with one of their nodes unchanged if possible.

mod alike;
mod naming;
mod pairing;

use rayon::prelude::*;

use super::anneal::Limits;
use super::archive::{Archive, SeenPlacement};
use super::arrangement::{Arrangement, Shift};
use super::terrain::Seat;
use super::{order, placements};
use crate::Deadline;

use self::alike::AlikeGroups;
use self::naming::NodeNaming;
use self::pairing::SeatPairing;

/// Exchanges of names for each node, at most in total, and for all records of an archive.
const EXCHANGES_OF_A_NODE: usize = 5000;
const MOST_EXCHANGES: usize = 2_000_000;
const MOST_EXCHANGES_IN_ALL: usize = 8_000_000;

/// Maximum number of records that are looked at.
const MOST_RECORDS: usize = 16;

/// Knows which nodes and instances of a search are alike.
pub(super) struct Relabelling {
    alike: AlikeGroups,
}

impl Relabelling {
    /// Finds the nodes and instances that are alike. Returns `None` if the rules on moves or the locations keep them apart.
    pub(super) fn of(home: &Arrangement<'_>) -> Option<Relabelling> {
        let terrain = home.terrain;
        let rules = &terrain.rules;
        let is_free = rules.disk_moves && rules.instance_moves && !rules.restricted_migration;
        let is_plain = !terrain.located
            && !terrain.unknown_spindles
            && terrain.restraint.is_none()
            && terrain.room().is_none();
        (is_free && is_plain).then(|| Relabelling { alike: AlikeGroups::of(home) })
    }

    /// The placement with fewer moves, if there is one.
    pub(super) fn shorten<'t>(&self, at: &Arrangement<'t>) -> Option<Arrangement<'t>> {
        let terrain = at.terrain;
        let naming = NodeNaming::of(terrain, &self.alike, &at.seats, exchanges(at));
        let mut pairing = SeatPairing::of(at, &self.alike);
        let seats = pairing.seat_all(&naming);
        let to = |(mobile, seat): (usize, Seat)| Shift { mobile: mobile as u32, to: seat };
        let is_moved = |shift: &Shift| shift.to != terrain.mobiles[shift.mobile as usize].home;
        let shifts: Vec<Shift> = seats.into_iter().enumerate().map(to).filter(is_moved).collect();
        if shifts.len() >= at.moved.len() {
            return None;
        }
        Arrangement::of(terrain).with(&shifts)
    }

    /// Offers some of the archive's records with fewer moves: the one with the best score, and others evenly spaced. The
    /// moves of a shorter one must have an order without detours.
    pub(super) fn shorten_records(
        &self,
        home: &Arrangement<'_>,
        limits: &Limits,
        archive: &mut Archive,
        deadline: &Deadline,
    ) {
        let records: Vec<&SeenPlacement> = archive.front().collect();
        let most = (MOST_EXCHANGES_IN_ALL / exchanges(home).max(1)).clamp(1, MOST_RECORDS);
        let chosen: Vec<&SeenPlacement> =
            records.iter().rev().step_by(records.len().div_ceil(most).max(1)).copied().collect();
        let shorter = |record: &&SeenPlacement| {
            if deadline.reached().is_some() {
                return None;
            }
            let short = self.shorten(&home.clone().with(&record.shifts)?)?;
            (limits.hold(&short.now()) && has_order(home, &short.shifts())).then_some(short)
        };
        let found: Vec<Arrangement<'_>> = chosen.par_iter().filter_map(shorter).collect();
        found.iter().for_each(|short| archive.offer(short));
    }
}

/// Number of exchanges of names: enough for each node to try many parts.
fn exchanges(home: &Arrangement<'_>) -> usize {
    (home.terrain.online.len() * EXCHANGES_OF_A_NODE).min(MOST_EXCHANGES)
}

/// Returns true if the shifts from home have an order without detours.
pub(super) fn has_order(home: &Arrangement<'_>, shifts: &[Shift]) -> bool {
    order::is_direct(home.terrain, &placements(home.terrain, shifts))
}

#[cfg(test)]
mod tests;
