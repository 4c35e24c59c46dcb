//! Pairs of a primary and a secondary node for instances that can stay, and seats for all others.

use std::collections::HashMap;

use super::super::arrangement::Arrangement;
use super::super::ledgers::Ledgers;
use super::super::terrain::{NOWHERE, Seat};
use super::alike::AlikeGroups;
use super::naming::NodeNaming;

/// Seats by node and kind.
type SeatLists = HashMap<(u32, u32), Vec<u32>>;

/// The seats of a placement while they are given away.
///
/// A seat has the number of the mobile that has it in the placement.
pub(super) struct SeatPairing<'a, 't> {
    at: &'a Arrangement<'t>,
    alike: &'a AlikeGroups,
    seats: Vec<Seat>,
    is_taken: Vec<bool>,
    by_primary: SeatLists,
    by_secondary: SeatLists,
    /// The reserves of nodes for each other with the present pairs.
    ledgers: Ledgers,
    /// For each slot, the most that it keeps for another one in the placement, in MiB.
    levels: Vec<i64>,
}

impl<'a, 't> SeatPairing<'a, 't> {
    pub(super) fn of(at: &'a Arrangement<'t>, alike: &'a AlikeGroups) -> SeatPairing<'a, 't> {
        let ledgers = at.ledgers.clone();
        let most = |slot: u32| ledgers.peer(slot, ledgers.fullest(slot));
        let levels = (0..at.terrain.nodes.len() as u32).map(most).collect();
        let (mut by_primary, mut by_secondary) = (SeatLists::new(), SeatLists::new());
        for (seat, nodes) in at.seats.iter().enumerate() {
            by_primary.entry((nodes.primary, alike.kind[seat])).or_default().push(seat as u32);
            by_secondary.entry((nodes.secondary, alike.mirror_kind[seat])).or_default().push(seat as u32);
        }
        let is_taken = vec![false; at.seats.len()];
        SeatPairing {
            at,
            alike,
            seats: at.seats.clone(),
            is_taken,
            by_primary,
            by_secondary,
            ledgers,
            levels,
        }
    }

    /// Gives each mobile a seat on nodes with new names. Returns the seats by mobile.
    pub(super) fn seat_all(&mut self, naming: &NodeNaming<'_>) -> Vec<Seat> {
        let terrain = self.at.terrain;
        let mobiles = 0..terrain.mobiles.len() as u32;
        let mut found: Vec<Option<Seat>> = vec![None; terrain.mobiles.len()];
        // First those of the plan, then whoever else finds a seat.
        for is_planned in [true, false] {
            for mobile in mobiles.clone() {
                let at = mobile as usize;
                if naming.stays[at] == is_planned && self.keep(mobile, naming.wanted(mobile)) {
                    found[at] = Some(terrain.mobiles[at].home);
                }
            }
        }
        let mut player = vec![NOWHERE; terrain.nodes.len()];
        for (slot, part) in (0..).zip(&naming.part) {
            player[*part as usize] = slot;
        }
        let node = |part: u32| player.get(part as usize).copied().unwrap_or(NOWHERE);
        let seats = self
            .seats
            .iter()
            .map(|seat| Seat { primary: node(seat.primary), secondary: node(seat.secondary) });
        let seats: Vec<Seat> = seats.collect();
        self.seat_others(&seats, found)
    }

    /// Gives a mobile the seat that it wants, if there is one. Returns true if so.
    fn keep(&mut self, mobile: u32, wanted: Seat) -> bool {
        let at = mobile as usize;
        let (kind, mirror_kind) = (self.alike.kind[at], self.alike.mirror_kind[at]);
        let free = |list: Option<&Vec<u32>>| -> Vec<u32> {
            list.into_iter().flatten().copied().filter(|seat| !self.is_taken[*seat as usize]).collect()
        };
        let with_primary = free(self.by_primary.get(&(wanted.primary, kind)));
        let whole = with_primary.iter().find(|seat| self.seats[**seat as usize] == wanted);
        if let Some(seat) = whole {
            self.is_taken[*seat as usize] = true;
            return true;
        }
        if wanted.secondary == NOWHERE {
            return false;
        }
        let with_secondary = free(self.by_secondary.get(&(wanted.secondary, mirror_kind)));
        for one in with_primary {
            for other in &with_secondary {
                if self.exchange_secondaries(one, *other) {
                    self.is_taken[one as usize] = true;
                    return true;
                }
            }
        }
        false
    }

    /// Exchanges the secondary nodes of two seats, unless a node would have to keep more. Returns true if it did.
    fn exchange_secondaries(&mut self, one: u32, other: u32) -> bool {
        let (a, b) = (self.seats[one as usize], self.seats[other as usize]);
        if a.primary == b.secondary || b.primary == a.secondary {
            return false;
        }
        let need = self.at.terrain.mobiles[one as usize].need;
        let changes = [(a.secondary, a.primary, -need), (b.secondary, b.primary, -need)];
        let arrivals = [(b.secondary, a.primary, need), (a.secondary, b.primary, need)];
        let all: Vec<(u32, u32, i64)> =
            changes.into_iter().chain(arrivals).filter(|change| change.2 != 0).collect();
        for (slot, peer, by) in &all {
            self.ledgers.change_peer(*slot, *peer, *by);
        }
        let holds =
            |slot: u32| self.ledgers.peer(slot, self.ledgers.fullest(slot)) <= self.levels[slot as usize];
        if !holds(a.secondary) || !holds(b.secondary) {
            for (slot, peer, by) in all.iter().rev() {
                self.ledgers.change_peer(*slot, *peer, -by);
            }
            return false;
        }
        (self.seats[one as usize].secondary, self.seats[other as usize].secondary) =
            (b.secondary, a.secondary);
        let mirror_kind = self.alike.mirror_kind[one as usize];
        for (slot, from, to) in [(a.secondary, one, other), (b.secondary, other, one)] {
            let list = self.by_secondary.entry((slot, mirror_kind)).or_default();
            if let Some(seat) = list.iter_mut().find(|seat| **seat == from) {
                *seat = to;
            }
        }
        true
    }

    /// Gives the free seats to the mobiles without one. A mobile keeps one of its nodes if a seat of its kind is there.
    fn seat_others(&self, seats: &[Seat], mut found: Vec<Option<Seat>>) -> Vec<Seat> {
        let terrain = self.at.terrain;
        let mut by_node: HashMap<(u32, u32, bool), Vec<u32>> = HashMap::new();
        let mut by_kind: HashMap<u32, Vec<u32>> = HashMap::new();
        for (at, seat) in seats.iter().enumerate().filter(|(at, _)| !self.is_taken[*at]) {
            let kind = self.alike.kind[at];
            by_node.entry((kind, seat.primary, false)).or_default().push(at as u32);
            by_node.entry((kind, seat.secondary, true)).or_default().push(at as u32);
            by_kind.entry(kind).or_default().push(at as u32);
        }
        let mut is_taken = self.is_taken.clone();
        let mut take = |list: Option<&mut Vec<u32>>| {
            let list = list?;
            while let Some(seat) = list.pop() {
                if !std::mem::replace(&mut is_taken[seat as usize], true) {
                    return Some(seats[seat as usize]);
                }
            }
            None
        };
        for (of_secondary, at_secondary) in [(false, false), (true, true), (true, false), (false, true)] {
            for (at, found) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
                let home = terrain.mobiles[at].home;
                let node = if of_secondary { home.secondary } else { home.primary };
                *found = take(by_node.get_mut(&(self.alike.kind[at], node, at_secondary)));
            }
        }
        let rest = |(at, found): (usize, Option<Seat>)| {
            found.or_else(|| take(by_kind.get_mut(&self.alike.kind[at]))).unwrap_or(terrain.mobiles[at].home)
        };
        found.into_iter().enumerate().map(rest).collect()
    }
}
