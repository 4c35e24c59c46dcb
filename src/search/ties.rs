//! The best of very many moves that are alike: by what they make of their nodes,
//! and then by where these stand.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::score::batch::{Draft, Scorer, Spot};
use crate::score::zones::Zones;

/// Hashes the few numbers of a [`Key`], of which there are very many.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // the upper half of the product depends on all bits
        const ODD: u128 = 0xbf58_476d_1ce4_e5b9;
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * ODD;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// A draft, and the zones of its nodes.
type Key = (u64, u64);

/// Of spots whose nodes stand in the same zones, the one that is first in order.
struct Firsts(HashMap<Key, u32, BuildHasherDefault<Mixer>>);

impl Firsts {
    fn of<O: Ord>(spots: &[(Spot, O)], zones: &Zones) -> Firsts {
        let zone = |row: usize| if row == usize::MAX { 0 } else { u64::from(zones.of_row(row)) + 1 };
        let mut firsts: HashMap<Key, u32, _> = HashMap::default();
        for (at, (spot, order)) in spots.iter().enumerate() {
            let rows = spot.rows;
            let key = (((spot.draft as u64) << 32) | zone(rows[0]), (zone(rows[1]) << 32) | zone(rows[2]));
            let first = firsts.entry(key).or_insert(at as u32);
            if *order < spots[*first as usize].1 {
                *first = at as u32;
            }
        }
        Firsts(firsts)
    }

    fn spots<O>(&self, spots: &[(Spot, O)]) -> Vec<Spot> {
        self.0.values().map(|at| spots[*at as usize].0).collect()
    }
}

/// From spots with their order, those that can have the smallest score and be the first
/// with it, by position; all of them, if nothing can be said.
pub(super) fn contenders<O: Ord>(scorer: &Scorer<'_>, drafts: &[Draft], spots: &[(Spot, O)]) -> Vec<usize> {
    let firsts = || {
        let mut cuts = scorer.cuts_by_sum(drafts)?;
        let firsts = Firsts::of(spots, &cuts.zones());
        scorer.cut_by_squares(&mut cuts, drafts, &firsts.spots(spots))?;
        Some(Firsts::of(spots, &cuts.zones()))
    };
    match firsts() {
        Some(Firsts(firsts)) => firsts.into_values().map(|at| at as usize).collect(),
        None => (0..spots.len()).collect(),
    }
}
