//! Single moves that take an instance from its home to a seat.

use super::terrain::{Mobile, NOWHERE, Seat, Terrain};
use htools_model::{Move, NodeIdx, Strictness};

/// A move to a seat, and the strictness of the rules on its new nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Way {
    /// The move, with slots for nodes.
    pub mv: Move<u32>,
    /// Strictness on the new primary.
    pub primary: Strictness,
    /// Strictness on the new secondary.
    pub secondary: Strictness,
}

impl Terrain<'_> {
    /// The single move from `from` to another seat, if the rules on moves and the states of the nodes allow
    /// one. Room on the nodes is not checked.
    pub(crate) fn way(&self, mobile: u32, from: Seat, to: Seat) -> Option<Way> {
        if self.mobiles[mobile as usize].mirrored {
            self.mirrored_way(from, to)
        } else {
            self.single_way(mobile, from, to)
        }
    }

    /// Strictness of the rules on the new primary and the new secondary of a mobile that goes from home to a seat, if it
    /// can get there.
    pub(crate) fn entry(&self, mobile: u32, to: Seat) -> Option<[Strictness; 2]> {
        let Mobile { home, mirrored, .. } = self.mobiles[mobile as usize];
        let way = self.way(mobile, home, to).map(|way| [way.primary, way.secondary]);
        let is_lost = self.in_two_moves && mirrored;
        way.or_else(|| (is_lost && self.is_reached_in_two_moves(home, to)).then_some([Strictness::Forced; 2]))
    }

    /// Returns true if an instance with two offline nodes can get a new secondary, and then leave its primary.
    fn is_reached_in_two_moves(&self, from: Seat, to: Seat) -> bool {
        let is_left = |slot: u32| self.spec(slot).offline;
        let fails_over = |by: u32| self.migrates(from.primary, by);
        let directly = fails_over(to.primary);
        let through = !self.rules.restricted_migration
            && fails_over(to.secondary)
            && self.migrates(to.secondary, to.primary);
        self.rules.disk_moves
            && self.rules.instance_moves
            && [from.primary, from.secondary].into_iter().all(is_left)
            && [to.primary, to.secondary].into_iter().all(|slot| self.is_online(slot))
            && to.primary != to.secondary
            && (directly || through)
    }

    /// Like [`Terrain::way`], as a move between nodes.
    pub(crate) fn move_between(&self, mobile: u32, from: Seat, to: Seat) -> Option<Move> {
        let node = |slot: u32| -> Result<NodeIdx, ()> { self.nodes.get(slot as usize).copied().ok_or(()) };
        self.way(mobile, from, to)?.mv.try_map(node).ok()
    }

    /// The seats on some slots that a mobile can reach from home. With `both`, seats that change both of its
    /// nodes are included.
    pub(crate) fn seats_with_way(&self, mobile: u32, slots: &[u32], both: bool) -> Vec<Seat> {
        let home = self.mobiles[mobile as usize].home;
        let (p, s) = (home.primary, home.secondary);
        let seat = |(primary, secondary): (u32, u32)| Seat { primary, secondary };
        let mut seats: Vec<Seat> = if s == NOWHERE {
            slots.iter().map(|slot| seat((*slot, NOWHERE))).collect()
        } else {
            let one = slots.iter().flat_map(|slot| [(p, *slot), (*slot, p), (*slot, s), (s, *slot)]);
            let pairs = slots.iter().flat_map(|slot| slots.iter().map(|other| (*slot, *other)));
            one.chain([(s, p)]).chain(pairs.filter(|_| both)).map(seat).collect()
        };
        seats.sort_unstable();
        seats.dedup();
        seats.retain(|to| self.entry(mobile, *to).is_some());
        seats
    }

    pub(super) fn strictness(&self, forced: bool) -> Strictness {
        if forced || self.rules.ignore_soft_errors { Strictness::Forced } else { Strictness::Strict }
    }

    /// Data to move when a mobile goes from its home to a seat, in MiB: copied disks, and memory sent over the
    /// network.
    pub(crate) fn data(&self, mobile: u32, seat: Seat) -> i64 {
        let details = &self.mobiles[mobile as usize];
        if seat == details.home {
            return 0;
        }
        let (p, s, t, u) = (details.home.primary, details.home.secondary, seat.primary, seat.secondary);
        if !details.mirrored {
            let instance = self.instance(mobile);
            return if instance.template.is_movable() { details.mem } else { details.disk };
        }
        let copies = i64::from(t != p && t != s) + i64::from(u != p && u != s);
        let migrations = match (t == p, u == s) {
            (true, _) => 0,
            (false, true) => 2,
            (false, false) => 1 + i64::from(copies == 2 && self.spec(p).offline),
        };
        copies * details.disk + migrations * details.mem
    }

    /// Average data of a move in MiB, if each mirrored instance copies its disk once.
    pub(crate) fn data_of_a_move(&self) -> f64 {
        let data = |mobile: u32| {
            let details = &self.mobiles[mobile as usize];
            details.mem as f64 + if details.mirrored { details.disk as f64 } else { 0.0 }
        };
        let sum: f64 = (0..self.mobiles.len() as u32).map(data).sum();
        (sum / self.mobiles.len().max(1) as f64).max(1.0)
    }

    fn single_way(&self, mobile: u32, from: Seat, to: Seat) -> Option<Way> {
        let named = self.instance(mobile).secondary;
        let node = self.nodes[to.primary as usize];
        let possible = self.rules.instance_moves
            && self.is_online(to.primary)
            && to.primary != from.primary
            && to.secondary == NOWHERE
            && named != Some(node)
            && (self.migrates(from.primary, to.primary) || !self.instance(mobile).template.is_movable());
        let strictness = self.strictness(self.spec(from.primary).offline);
        possible.then_some(Way {
            mv: Move::FailoverTo(to.primary),
            primary: strictness,
            secondary: strictness,
        })
    }

    fn mirrored_way(&self, from: Seat, to: Seat) -> Option<Way> {
        let (p, s, t, u) = (from.primary, from.secondary, to.primary, to.secondary);
        let rules = &self.rules;
        let [p_offline, s_offline] = [p, s].map(|slot| self.spec(slot).offline);
        let mirror_usable = self.is_online(s) && rules.instance_moves;
        // Restricted migration forbids leaving an online node, except for a change of roles.
        let leaves = rules.disk_moves && rules.instance_moves && (p_offline || !rules.restricted_migration);
        let usable = |slot: u32| self.is_online(slot);
        let (mv, possible, primary, secondary) = if (t, u) == (s, p) {
            (Move::Failover, mirror_usable && self.migrates(p, s), p_offline, p_offline)
        } else if t == p {
            (Move::ReplaceSecondary(u), rules.disk_moves && usable(u), true, s_offline)
        } else if u == p {
            (Move::ReplaceAndFailover(t), leaves && usable(t) && self.migrates(p, t), false, s_offline)
        } else if u == s {
            let goes = mirror_usable && !rules.restricted_migration && usable(t);
            let migrates = self.migrates(p, s) && self.migrates(s, t);
            (Move::ReplacePrimary(t), leaves && goes && migrates, p_offline, p_offline)
        } else if t == s {
            let goes = leaves && mirror_usable && usable(u) && self.migrates(p, s);
            (Move::FailoverAndReplace(u), goes, p_offline, p_offline)
        } else if !p_offline {
            let goes = leaves && usable(t) && usable(u) && self.migrates(p, t);
            (Move::ReplaceBoth(t, u), goes, false, false)
        } else {
            let goes = leaves && mirror_usable && !rules.restricted_migration && usable(t) && usable(u);
            let migrates = self.migrates(p, s) && self.migrates(s, t);
            (Move::FailoverAndReplaceBoth(t, u), goes && migrates, false, false)
        };
        let possible = possible && t != u && (t, u) != (p, s);
        let [primary, secondary] = [primary, secondary].map(|forced| self.strictness(forced));
        possible.then_some(Way { mv, primary, secondary })
    }
}
