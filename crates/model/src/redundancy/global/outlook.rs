//! Early verdict while a node is being emptied: is it already certain whether its instances on shared storage find a
//! place?
//!
//! Sums may leave the verdict open at first (see [`relocation`](super::relocation)). They often decide once a few
//! instances, or the one that is hard to place, have found a node: the sums hold for the instances that are still to
//! leave and the room that is left.

use super::figures::PLAUSIBLE;
use super::relocation::{self, MemoryLoad};
use crate::Mib;

/// The instances still to leave, and the room for them.
pub(super) struct Outlook {
    /// Memory in use of all instances that leave, in order of departure.
    sizes: Vec<Mib>,
    /// Number of these that have left.
    gone: usize,
    /// Unallocated memory of the targets, descending.
    rooms: Vec<(Mib, i64)>,
}

impl Outlook {
    /// Returns `None` for implausible amounts, whose sums could overflow.
    pub(super) fn of(sizes: Vec<Mib>, rooms: impl Iterator<Item = Mib>) -> Option<Outlook> {
        let mut rooms: Vec<(Mib, i64)> = rooms.map(|room| (room, 1)).collect();
        rooms.sort_unstable_by(|a, b| b.cmp(a));
        let plausible = rooms.iter().all(|room| (-PLAUSIBLE..PLAUSIBLE).contains(&room.0))
            && sizes.iter().all(|size| (Mib::ZERO..PLAUSIBLE).contains(size));
        plausible.then_some(Outlook { sizes, gone: 0, rooms })
    }

    /// Tells if all remaining instances find a target; `None` if that depends on the choice of targets.
    pub(super) fn verdict(&self) -> Option<bool> {
        let left = &self.sizes[self.gone..];
        let mut load = MemoryLoad::NONE;
        left.iter().for_each(|size| load.add(*size));
        let rooms = || self.rooms.iter().copied();
        relocation::verdict(&load, &self.rooms[..]).or_else(|| relocation::verdict_in_order(left, rooms()))
    }

    /// Records that the next instance has left, to a target that now has `room` left.
    pub(super) fn leave(&mut self, room: Mib) {
        let before = room + self.sizes[self.gone];
        self.gone += 1;
        let from = self.rooms.partition_point(|r| r.0 > before);
        // This is past the changed entry, unless the instance takes no memory.
        let to = self.rooms.partition_point(|r| r.0 > room);
        if from < to {
            self.rooms[from..to].rotate_left(1);
            self.rooms[to - 1] = (room, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_stay_in_order() {
        let amounts = |o: &Outlook| o.rooms.iter().map(|r| r.0.0).collect::<Vec<i64>>();
        let sizes = [4, 0, 9, 2].map(Mib).to_vec();
        let mut outlook = Outlook::of(sizes, [3, 9, 7, 9, 12].into_iter().map(Mib)).unwrap();
        let after = [
            (8, vec![9, 9, 8, 7, 3]),
            (9, vec![9, 9, 8, 7, 3]),
            (0, vec![9, 8, 7, 3, 0]),
            (1, vec![9, 8, 7, 1, 0]),
        ];
        for (room, rooms) in after {
            outlook.leave(Mib(room));
            assert_eq!(amounts(&outlook), rooms);
        }
        assert_eq!(outlook.verdict(), Some(true));
    }
}
