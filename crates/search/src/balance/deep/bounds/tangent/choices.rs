//! What a mobile gains along a tangent if it moves, and what it copies.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{TangentData, TangentGains};
use crate::balance::deep::terrain::{NOWHERE, Seat};

/// Number of nodes that are kept for each role: two of them can be those of the home seat.
const CHEAPEST: usize = 3;

/// For a primary and for a secondary, the online nodes with the least costs along a tangent, cheapest first.
pub(super) type CheapestNodes = [SmallVec<[u32; CHEAPEST]>; 2];

/// The best move of a mobile along a tangent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// Decrease of the tangent's value apart from the reserves, less the price of the data.
    pub gain: f64,
    pub seat: Seat,
    /// Data to move, in MiB.
    pub data: i64,
}

impl TangentData<'_> {
    /// Cost of a role of a mobile on a node along a tangent; 0 on a node that does not count.
    fn cost(&self, mobile: u32, slot: u32, secondary: bool, slopes: &[f64]) -> f64 {
        let Some(row) = self.row.get(slot as usize).filter(|row| **row != usize::MAX) else { return 0.0 };
        let (width, amounts) = (self.terrain.width(), self.terrain.amounts(mobile, slot, secondary));
        slopes[row * width..][..width].iter().zip(amounts).map(|(slope, amount)| slope * amount).sum()
    }

    /// For each role of a mobile, the first of the cheapest online nodes.
    pub(super) fn cheapest(&self, mobile: u32, slopes: &[f64]) -> CheapestNodes {
        let is_mirrored = self.terrain.mobiles[mobile as usize].mirrored;
        [false, true].map(|secondary| {
            let mut best: SmallVec<[(f64, u32); CHEAPEST + 1]> = SmallVec::new();
            for slot in self.terrain.online.iter().filter(|_| is_mirrored || !secondary) {
                let cost = self.cost(mobile, *slot, secondary, slopes);
                let at = best.partition_point(|(other, _)| *other <= cost);
                if at < CHEAPEST {
                    best.insert(at, (cost, *slot));
                    best.truncate(CHEAPEST);
                }
            }
            best.into_iter().map(|(_, slot)| slot).collect()
        })
    }

    /// For each mobile, the best move with a price for each MiB of data; `None` if there is none.
    pub(super) fn choices(&self, tangent: &TangentGains, data_price: f64) -> Vec<Option<Choice>> {
        let kinds = &self.terrain.kinds;
        let choose = |mobile: u32| {
            self.choose(mobile, tangent, &tangent.cheapest[kinds[mobile as usize] as usize], data_price)
        };
        (0..self.terrain.mobiles.len() as u32).into_par_iter().map(choose).collect()
    }

    /// The best move of one mobile. Roles are looked at one by one, so that both may go to the same third node.
    fn choose(
        &self,
        mobile: u32,
        tangent: &TangentGains,
        cheapest: &CheapestNodes,
        data_price: f64,
    ) -> Option<Choice> {
        let details = &self.terrain.mobiles[mobile as usize];
        let home = details.home;
        let cost = |slot: u32, secondary: bool| (slot, self.cost(mobile, slot, secondary, &tangent.slopes));
        let away = |secondary: bool| {
            let mut slots = cheapest[usize::from(secondary)].iter();
            slots.find(|slot| **slot != home.primary && **slot != home.secondary)
        };
        let places = |secondary: bool| -> SmallVec<[(u32, f64); CHEAPEST]> {
            let own = [home.primary, home.secondary];
            let own = own.iter().take(if details.mirrored { 2 } else { 0 });
            own.chain(away(secondary)).map(|slot| cost(*slot, secondary)).collect()
        };
        let primaries = places(false);
        let secondaries =
            if details.mirrored { places(true) } else { [(NOWHERE, 0.0)].into_iter().collect() };
        let here = cost(home.primary, false).1 + cost(home.secondary, true).1 + self.counted[mobile as usize];
        let mut best: Option<Choice> = None;
        for (primary, of_primary) in &primaries {
            for (secondary, of_secondary) in &secondaries {
                let seat = Seat { primary: *primary, secondary: *secondary };
                let is_own = *primary == home.primary || *primary == home.secondary;
                if seat == home || (primary == secondary && is_own) {
                    continue;
                }
                let data = self.terrain.data(mobile, seat);
                let gain = here - of_primary - of_secondary - data_price * data as f64;
                if best.is_none_or(|best| gain > best.gain) {
                    best = Some(Choice { gain, seat, data });
                }
            }
        }
        best
    }
}
