//! Ledgers of the nodes during a deep search. The rules are checked on them by the model's own operations.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::arrangement::Shift;
use super::tag_state::{PrimaryChange, TagState, location_score};
use super::terrain::{NOWHERE, Seat, Terrain};
use htools_model::score::Touched;
use htools_model::{
    ClusterRoom, DiskCheck, JointReserve, Ledger, Mib, NodeIdx, NodeReserve, NodeRoom, Strictness, TagArrival,
};

/// A change of the memory that a slot keeps for the failure of another, in MiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerChange {
    pub(super) slot: u32,
    pub(super) other: u32,
    pub(super) by: i64,
}

/// The ledgers of all slots: see the module documentation.
#[derive(Clone)]
pub(super) struct Ledgers {
    ledgers: Vec<Ledger>,
    /// For each slot, the memory that it keeps for the failure of each other node, in MiB, largest first. Nodes
    /// without a slot are entered as [`NOWHERE`]: only their largest amounts, as many as nodes may be lost at
    /// once.
    peers: Vec<Vec<(u32, i64)>>,
    /// For each slot, the number of mobiles in a role that they do not have there at home.
    strangers: Vec<u32>,
    /// For each slot, the mobiles that are at home there, with true for secondaries.
    natives: Vec<Vec<(u32, bool)>>,
    /// Room for further instances, if it is kept, and the slots that have changed since it was updated.
    room: Option<(ClusterRoom, Vec<u32>)>,
}

impl Ledgers {
    pub(super) fn of(terrain: &Terrain<'_>) -> Ledgers {
        let slots = terrain.nodes.len();
        let node = |slot: usize| terrain.cluster.node(terrain.nodes[slot]);
        let known: HashMap<NodeIdx, u32> =
            terrain.nodes.iter().enumerate().map(|(at, n)| (*n, at as u32)).collect();
        let peers = (0..slots).map(|slot| {
            let mut peers: Vec<(u32, i64)> = Vec::new();
            let mut unknown = node(slot).spec.joint_losses.max(1);
            for (other, amount) in node(slot).state.peers.iter() {
                match known.get(&other) {
                    Some(other) => peers.push((*other, amount.0)),
                    // Entries come largest first.
                    None if unknown > 0 => {
                        unknown -= 1;
                        peers.push((NOWHERE, amount.0));
                    }
                    None => {}
                }
            }
            peers
        });
        let mut natives = vec![Vec::new(); slots];
        for (mobile, details) in terrain.mobiles.iter().enumerate() {
            natives[details.home.primary as usize].push((mobile as u32, false));
            if details.home.secondary != NOWHERE {
                natives[details.home.secondary as usize].push((mobile as u32, true));
            }
        }
        Ledgers {
            ledgers: (0..slots).map(|slot| node(slot).state.ledger).collect(),
            peers: peers.collect(),
            strangers: vec![0; slots],
            natives,
            room: terrain.room().map(|room| (ClusterRoom::clone(room), Vec::new())),
        }
    }

    pub(super) fn ledger(&self, slot: u32) -> &Ledger {
        &self.ledgers[slot as usize]
    }

    /// The other slot for which a slot keeps most; [`NOWHERE`] if it keeps nothing.
    pub(super) fn fullest(&self, slot: u32) -> u32 {
        self.peers[slot as usize].first().map_or(NOWHERE, |peer| peer.0)
    }

    /// The most that a slot keeps for one other node after some changes, in MiB.
    pub(super) fn reserve_with(&self, slot: u32, changes: &[PeerChange]) -> i64 {
        let here = || changes.iter().filter(|change| change.slot == slot);
        let sum =
            |other: u32| here().filter(|change| change.other == other).map(|change| change.by).sum::<i64>();
        // Amounts are sorted, so the first that does not change is the largest of the unchanged ones.
        let same = self.peers[slot as usize].iter().find(|peer| here().all(|change| change.other != peer.0));
        let most = same.map_or(0, |peer| peer.1);
        here().fold(most, |most, change| most.max(self.peer(slot, change.other) + sum(change.other)))
    }

    /// The memory that a slot keeps for the loss of several nodes at once.
    fn joint(&self, terrain: &Terrain<'_>, slot: u32) -> JointReserve {
        let amounts = self.peers[slot as usize].iter().map(|peer| Mib(peer.1));
        JointReserve::of(amounts, terrain.spec(slot).joint_losses)
    }

    /// The memory that a slot keeps for the failure of another, in MiB.
    pub(super) fn peer(&self, slot: u32, other: u32) -> i64 {
        self.peers[slot as usize].iter().find(|peer| peer.0 == other).map_or(0, |peer| peer.1)
    }

    pub(super) fn change_peer(&mut self, slot: u32, other: u32, by: i64) {
        let peers = &mut self.peers[slot as usize];
        let mut amount = by;
        if let Some(at) = peers.iter().position(|peer| peer.0 == other) {
            amount += peers.remove(at).1;
        }
        if amount > 0 {
            let at = peers.iter().position(|peer| peer.1 <= amount).unwrap_or(peers.len());
            peers.insert(at, (other, amount));
        }
    }

    /// Performs a proposal. Returns false, without any change, if a rule forbids it. `seats` are the seats
    /// before it.
    pub(super) fn shift(
        &mut self,
        terrain: &Terrain<'_>,
        seats: &[Seat],
        proposal: &[Shift],
        tags: &TagState,
    ) -> bool {
        self.update_room(terrain);
        let mut saved: SmallVec<[(u32, Ledger); 8]> = SmallVec::new();
        for shift in proposal {
            let from = seats[shift.mobile as usize];
            for slot in [from.primary, from.secondary, shift.to.primary, shift.to.secondary] {
                if slot != NOWHERE && !saved.iter().any(|s| s.0 == slot) {
                    saved.push((slot, self.ledgers[slot as usize]));
                }
            }
        }
        let mut changed: SmallVec<[PrimaryChange; 8]> = SmallVec::new();
        for shift in proposal {
            let from = seats[shift.mobile as usize];
            self.leave(terrain, shift.mobile, from, tags, &changed);
            changed.push(PrimaryChange { mobile: shift.mobile, slot: from.primary, by: -1 });
        }
        for (at, shift) in proposal.iter().enumerate() {
            let absent = |mobile: u32| match proposal.iter().position(|s| s.mobile == mobile) {
                Some(other) if other >= at => Seat { primary: NOWHERE, secondary: NOWHERE },
                Some(other) => proposal[other].to,
                None => seats[mobile as usize],
            };
            if !self.arrive(terrain, *shift, seats[shift.mobile as usize], absent, tags, &changed) {
                self.take_back(terrain, seats, proposal, at, &saved);
                return false;
            }
            changed.push(PrimaryChange { mobile: shift.mobile, slot: shift.to.primary, by: 1 });
        }
        let is_allowed = terrain.restraint.is_none_or(|allows| {
            let touched = saved.iter().map(|(slot, before)| {
                let (spec, after) = (terrain.spec(*slot), *self.ledger(*slot));
                Touched { spec, before, after }
            });
            allows(&touched.collect::<SmallVec<[Touched<'_>; 8]>>())
        });
        let is_allowed = is_allowed && self.keeps_room(terrain, &saved);
        if !is_allowed {
            self.take_back(terrain, seats, proposal, proposal.len(), &saved);
        }
        is_allowed
    }

    /// Takes back a proposal of which all shifts have left their seats, and the first `arrived` have arrived.
    fn take_back(
        &mut self,
        terrain: &Terrain<'_>,
        seats: &[Seat],
        proposal: &[Shift],
        arrived: usize,
        saved: &[(u32, Ledger)],
    ) {
        for (at, shift) in proposal.iter().enumerate() {
            if at < arrived {
                self.count_in(terrain, shift.mobile, shift.to, -1);
            }
            self.count_in(terrain, shift.mobile, seats[shift.mobile as usize], 1);
        }
        for (slot, ledger) in saved {
            self.ledgers[*slot as usize] = *ledger;
        }
        // The changed slots are as they were.
        self.room.iter_mut().for_each(|(_, changed)| changed.clear());
    }

    /// Brings the room up to date.
    fn update_room(&mut self, terrain: &Terrain<'_>) {
        let Some((room, changed)) = &mut self.room else { return };
        for slot in changed.drain(..) {
            let now = room.node_room(terrain.spec(slot), &self.ledgers[slot as usize]);
            room.enter(terrain.nodes[slot as usize], now);
        }
    }

    /// Returns true if enough room is left after a proposal that has changed some slots.
    fn keeps_room(&self, terrain: &Terrain<'_>, saved: &[(u32, Ledger)]) -> bool {
        let Some((room, _)) = &self.room else { return true };
        let change = |(slot, _): &(u32, Ledger)| {
            (terrain.nodes[*slot as usize], room.node_room(terrain.spec(*slot), self.ledger(*slot)))
        };
        room.allows(&saved.iter().map(change).collect::<SmallVec<[(NodeIdx, NodeRoom); 8]>>())
    }

    /// Moves many mobiles from their homes: first all leave, then they arrive one by one. Updates `seats` and
    /// `tags`. If a rule forbids an arrival, it returns false, and all of these values are invalid.
    pub(super) fn settle(
        &mut self,
        terrain: &Terrain<'_>,
        shifts: &[Shift],
        seats: &mut [Seat],
        tags: &mut TagState,
    ) -> bool {
        for shift in shifts {
            self.lift(terrain, shift.mobile, seats, tags);
        }
        let arrived = shifts.iter().all(|shift| self.land(terrain, *shift, seats, tags));
        self.update_room(terrain);
        arrived && self.room.as_ref().is_none_or(|(room, _)| room.holds())
    }

    /// Takes a mobile off its nodes. Updates `seats` and `tags`.
    pub(super) fn lift(
        &mut self,
        terrain: &Terrain<'_>,
        mobile: u32,
        seats: &mut [Seat],
        tags: &mut TagState,
    ) {
        let seat = &mut seats[mobile as usize];
        self.leave(terrain, mobile, *seat, tags, &[]);
        tags.enter(terrain, mobile, *seat, -1);
        *seat = Seat { primary: NOWHERE, secondary: NOWHERE };
    }

    /// Puts a mobile on a seat that was lifted from its home. Updates `seats` and `tags`. Returns false, without
    /// any change, if a rule forbids it.
    pub(super) fn land(
        &mut self,
        terrain: &Terrain<'_>,
        shift: Shift,
        seats: &mut [Seat],
        tags: &mut TagState,
    ) -> bool {
        let home = terrain.mobiles[shift.mobile as usize].home;
        let arrived = self.arrive(terrain, shift, home, |m| seats[m as usize], tags, &[]);
        if arrived {
            tags.enter(terrain, shift.mobile, shift.to, 1);
            seats[shift.mobile as usize] = shift.to;
        }
        arrived
    }

    /// Adds a mobile to the values kept beside the ledgers, or removes it if `by` is -1.
    fn count_in(&mut self, terrain: &Terrain<'_>, mobile: u32, seat: Seat, by: i64) {
        if let Some((_, changed)) = &mut self.room {
            changed.extend([seat.primary, seat.secondary].into_iter().filter(|slot| *slot != NOWHERE));
        }
        let details = &terrain.mobiles[mobile as usize];
        if seat.secondary != NOWHERE {
            if details.need > 0 {
                self.change_peer(seat.secondary, seat.primary, by * details.need);
            }
            if seat.secondary != details.home.secondary {
                self.strangers[seat.secondary as usize] =
                    self.strangers[seat.secondary as usize].wrapping_add_signed(by as i32);
            }
        }
        if seat.primary != details.home.primary {
            self.strangers[seat.primary as usize] =
                self.strangers[seat.primary as usize].wrapping_add_signed(by as i32);
        }
    }

    fn leave(
        &mut self,
        terrain: &Terrain<'_>,
        mobile: u32,
        from: Seat,
        tags: &TagState,
        changed: &[PrimaryChange],
    ) {
        let (instance, details) = (terrain.instance(mobile), &terrain.mobiles[mobile as usize]);
        let met = if details.tagged {
            tags.departure(terrain, mobile, from.primary, changed)
        } else {
            TagArrival::default()
        };
        let location = location_score(terrain, mobile, from);
        let ledger = &mut self.ledgers[from.primary as usize];
        *ledger = ledger.remove_primary(terrain.spec(from.primary), instance, location, met);
        self.count_in(terrain, mobile, from, -1);
        if from.secondary != NOWHERE {
            let largest = Mib(self.reserve_with(from.secondary, &[]));
            let left = NodeReserve { largest, joint: self.joint(terrain, from.secondary) };
            let ledger = &mut self.ledgers[from.secondary as usize];
            *ledger = ledger.remove_secondary(terrain.spec(from.secondary), instance, left);
        }
    }

    fn arrive(
        &mut self,
        terrain: &Terrain<'_>,
        Shift { mobile, to }: Shift,
        from: Seat,
        seat_of: impl Fn(u32) -> Seat,
        tags: &TagState,
        changed: &[PrimaryChange],
    ) -> bool {
        let (instance, details) = (terrain.instance(mobile), &terrain.mobiles[mobile as usize]);
        let strict = terrain.strictness(false);
        let entry = if to == details.home { Some([strict; 2]) } else { terrain.entry(mobile, to) };
        let Some([mut primary, secondary]) = entry else { return false };
        if to.primary == from.primary {
            primary = Strictness::Forced;
        } else if to.primary == details.home.primary {
            primary = strict;
        }
        let arrival = if details.tagged {
            tags.arrival(terrain, mobile, to.primary, changed)
        } else {
            TagArrival::default()
        };
        let location = location_score(terrain, mobile, to);
        let before = self.ledgers[to.primary as usize];
        // The rules do not apply to an instance on a node that it never left.
        let returns = to.primary == details.home.primary && self.strangers[to.primary as usize] == 0;
        let new_primary = if returns {
            let seat = |m: u32| if m == mobile { Seat { secondary: NOWHERE, ..to } } else { seat_of(m) };
            let mut ledger = self.natives_only(terrain, to.primary, seat);
            ledger.tag_conflicts = before.tag_conflicts + arrival.conflicts;
            ledger.key_cost = before.key_cost + arrival.key_cost;
            ledger.location_sum +=
                details.counts * terrain.spec(to.primary).location_cost(instance, location);
            Some(ledger)
        } else {
            before.add_primary(terrain.spec(to.primary), instance, location, arrival, primary).ok()
        };
        let Some(new_primary) = new_primary else { return false };
        let mut new_secondary = None;
        if to.secondary != NOWHERE {
            let before = self.ledgers[to.secondary as usize];
            // If the primary has changed, the secondary is entered again and must obey the rules.
            let returns = to == details.home && self.strangers[to.secondary as usize] == 0;
            let peer = self.peer(to.secondary, to.primary);
            let new = if returns {
                let seat = |m: u32| if m == mobile { Seat { primary: NOWHERE, ..to } } else { seat_of(m) };
                let mut ledger = self.natives_only(terrain, to.secondary, seat);
                (ledger.tag_conflicts, ledger.key_cost) = (before.tag_conflicts, before.key_cost);
                ledger.mem_reserved = before.mem_reserved.max(Mib(peer + details.need));
                ledger.joint = before.joint.raised(Mib(peer), Mib(details.need));
                let node = terrain.cluster.node(terrain.nodes[to.secondary as usize]);
                ledger.update_n1(&node.spec);
                // Other secondaries of the same primary may have come to this node.
                (!ledger.lacks_more_than(&node.state.ledger, &node.spec)).then_some(ledger)
            } else {
                let spec = terrain.spec(to.secondary);
                let disk = if spec.offline { DiskCheck::Ignored } else { DiskCheck::Needed };
                before.add_secondary(spec, instance, Mib(peer), secondary, disk).ok()
            };
            let Some(new) = new else { return false };
            new_secondary = Some(new);
        }
        self.ledgers[to.primary as usize] = new_primary;
        if let Some(new) = new_secondary {
            self.ledgers[to.secondary as usize] = new;
        }
        self.count_in(terrain, mobile, to, 1);
        if to.secondary != NOWHERE {
            self.ledgers[to.secondary as usize].joint = self.joint(terrain, to.secondary);
        }
        true
    }

    /// The ledger of a slot on which only mobiles are that are at home there. The reserve, the tag conflicts
    /// and the affinity costs are the present ones.
    fn natives_only(&self, terrain: &Terrain<'_>, slot: u32, seat_of: impl Fn(u32) -> Seat) -> Ledger {
        let now = self.ledgers[slot as usize];
        let (spec, node) = (terrain.spec(slot), terrain.cluster.node(terrain.nodes[slot as usize]));
        let mut ledger = node.state.ledger;
        let mut complete = true;
        for (mobile, secondary) in &self.natives[slot as usize] {
            let (seat, instance) = (seat_of(*mobile), terrain.instance(*mobile));
            if *secondary && seat.secondary != slot {
                ledger = ledger.remove_secondary(spec, instance, now.reserve());
                complete = false;
            } else if !secondary && seat.primary != slot {
                ledger =
                    ledger.remove_primary(spec, instance, instance.location_score, TagArrival::default());
                complete = false;
            }
        }
        if !complete || ledger.mem_reserved != now.mem_reserved {
            ledger.mem_reserved = now.mem_reserved;
            ledger.update_n1(spec);
        }
        ledger.joint = now.joint;
        // A mobile whose secondary has changed has another location score than at home.
        ledger.location_sum = now.location_sum;
        ledger
    }
}
