//! New names for nodes, so that many instances find a seat of their kind where they are.

use super::super::draws::RandomNumbers;
use super::super::terrain::{NOWHERE, Terrain};
use super::alike::AlikeGroups;
use crate::balance::deep::terrain::Seat;

/// Temperatures at the beginning and at the end, in instances that stay.
const TEMPERATURE: (f64, f64) = (1.5, 0.1);

/// The free seats of a node by the kind that they are for, in order of the kinds.
#[derive(Debug, Clone, Default)]
struct FreeSeats(Vec<(u32, u32)>);

impl FreeSeats {
    fn position(&self, kind: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&kind, |entry| entry.0)
    }

    fn add(&mut self, kind: u32) {
        match self.position(kind) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (kind, 1)),
        }
    }

    fn has(&self, kind: u32) -> bool {
        self.position(kind).is_ok_and(|at| self.0[at].1 > 0)
    }

    fn take(&mut self, kind: u32) {
        if let Ok(at) = self.position(kind) {
            self.0[at].1 -= 1;
        }
    }
}

/// For each node, the *part* that it plays: the node of the placement all of whose seats it takes over.
pub(super) struct NodeNaming<'a> {
    terrain: &'a Terrain<'a>,
    alike: &'a AlikeGroups,
    /// For each slot, the part that it plays.
    pub part: Vec<u32>,
    /// For each mobile, true if it finds both of its roles at home.
    pub stays: Vec<bool>,
    staying: usize,
    /// For each slot, the mobiles that are at home there.
    natives: Vec<Vec<u32>>,
    /// By part, the free seats for primaries and for secondaries.
    primaries: Vec<FreeSeats>,
    secondaries: Vec<FreeSeats>,
}

impl<'a> NodeNaming<'a> {
    /// Finds names by a number of random exchanges.
    pub(super) fn of(
        terrain: &'a Terrain<'a>,
        alike: &'a AlikeGroups,
        seats: &[Seat],
        exchanges: usize,
    ) -> NodeNaming<'a> {
        let slots = terrain.nodes.len();
        let mut naming = NodeNaming {
            terrain,
            alike,
            part: (0..slots as u32).collect(),
            stays: vec![false; seats.len()],
            staying: 0,
            natives: vec![Vec::new(); slots],
            primaries: vec![FreeSeats::default(); slots],
            secondaries: vec![FreeSeats::default(); slots],
        };
        for (mobile, seat) in seats.iter().enumerate() {
            let home = terrain.mobiles[mobile].home;
            naming.natives[home.primary as usize].push(mobile as u32);
            naming.primaries[seat.primary as usize].add(alike.kind[mobile]);
            if seat.secondary != NOWHERE {
                naming.secondaries[seat.secondary as usize].add(alike.mirror_kind[mobile]);
                naming.natives[home.secondary as usize].push(mobile as u32);
            }
        }
        for mobile in 0..seats.len() as u32 {
            naming.keep(mobile);
        }
        naming.improve(exchanges);
        naming
    }

    /// Exchanges names at random under a falling temperature.
    fn improve(&mut self, exchanges: usize) {
        let pool: Vec<(u32, u32)> = (0..)
            .zip(&self.alike.nodes)
            .flat_map(|(group, nodes)| nodes.iter().map(move |slot| (group, *slot)))
            .collect();
        let mut draws = RandomNumbers::stream(0);
        let (mut left, mut came) = (Vec::new(), Vec::new());
        for round in 0..exchanges {
            let share = round as f64 / exchanges as f64;
            let temperature = TEMPERATURE.0 * (TEMPERATURE.1 / TEMPERATURE.0).powf(share);
            let Some((group, one)) = draws.pick(&pool) else { return };
            let Some(other) = draws.pick(&self.alike.nodes[group as usize]).filter(|other| *other != one)
            else {
                continue;
            };
            let before = self.staying;
            left.clear();
            came.clear();
            self.vacate(one, &mut left);
            self.vacate(other, &mut left);
            self.part.swap(one as usize, other as usize);
            let first = draws.below(64);
            self.fill(one, first, &mut came);
            self.fill(other, first, &mut came);
            let gain = self.staying as f64 - before as f64;
            if gain < 0.0 && gain >= temperature * (1.0 - draws.unit()).ln() {
                continue;
            }
            if gain < 0.0 {
                for mobile in &came {
                    self.release(*mobile);
                }
                self.part.swap(one as usize, other as usize);
                for mobile in &left {
                    self.keep(*mobile);
                }
            }
        }
    }

    /// Frees the seats of all mobiles that stay on a slot in either role.
    fn vacate(&mut self, slot: u32, left: &mut Vec<u32>) {
        for at in 0..self.natives[slot as usize].len() {
            let mobile = self.natives[slot as usize][at];
            if self.stays[mobile as usize] {
                self.release(mobile);
                left.push(mobile);
            }
        }
    }

    /// Lets all mobiles stay on a slot that find their seats. `first` changes who comes first.
    fn fill(&mut self, slot: u32, first: usize, came: &mut Vec<u32>) {
        let natives = self.natives[slot as usize].len();
        for at in 0..natives {
            let mobile = self.natives[slot as usize][(at + first) % natives];
            if self.keep(mobile) {
                came.push(mobile);
            }
        }
    }

    /// The home of a mobile as parts.
    pub(super) fn wanted(&self, mobile: u32) -> Seat {
        let home = self.terrain.mobiles[mobile as usize].home;
        let part = |slot: u32| self.part.get(slot as usize).copied().unwrap_or(NOWHERE);
        Seat { primary: part(home.primary), secondary: part(home.secondary) }
    }

    /// Lets a mobile stay, if there are seats for it. Returns true if it did not stay before.
    fn keep(&mut self, mobile: u32) -> bool {
        let (Seat { primary, secondary }, at) = (self.wanted(mobile), mobile as usize);
        let (kind, mirror_kind) = (self.alike.kind[at], self.alike.mirror_kind[at]);
        let is_free = !self.stays[at]
            && self.primaries[primary as usize].has(kind)
            && (secondary == NOWHERE || self.secondaries[secondary as usize].has(mirror_kind));
        if is_free {
            self.primaries[primary as usize].take(kind);
            if secondary != NOWHERE {
                self.secondaries[secondary as usize].take(mirror_kind);
            }
            self.stays[at] = true;
            self.staying += 1;
        }
        is_free
    }

    fn release(&mut self, mobile: u32) {
        let (Seat { primary, secondary }, at) = (self.wanted(mobile), mobile as usize);
        self.primaries[primary as usize].add(self.alike.kind[at]);
        if secondary != NOWHERE {
            self.secondaries[secondary as usize].add(self.alike.mirror_kind[at]);
        }
        self.stays[at] = false;
        self.staying -= 1;
    }
}
