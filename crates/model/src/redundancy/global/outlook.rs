//! Whether it is certain how the emptying of a node ends, while instances on shared
//! storage leave it one after the other.
//!
//! What sums leave open before the first has left (see [`relocation`](super::relocation))
//! they often decide once a few of them, or the one that is hard to place, have found a node:
//! the sums hold for whatever is still to leave, and for the room that there is by then.

use super::figures::PLAUSIBLE;
use super::relocation::{self, MemoryLoad};
use crate::Mib;

/// What has still to leave, and the room for it.
pub(super) struct Outlook {
    /// Memory in use of what is still there, in the order in which it leaves.
    sizes: Vec<Mib>,
    /// How many of these have left.
    gone: usize,
    /// What the targets have unallocated, descending.
    rooms: Vec<(Mib, i64)>,
}

impl Outlook {
    /// Nothing for absurd amounts, whose sums could overflow.
    pub(super) fn of(sizes: Vec<Mib>, rooms: impl Iterator<Item = Mib>) -> Option<Outlook> {
        let mut rooms: Vec<(Mib, i64)> = rooms.map(|room| (room, 1)).collect();
        rooms.sort_unstable_by(|a, b| b.cmp(a));
        let plausible = rooms.iter().all(|room| (-PLAUSIBLE..PLAUSIBLE).contains(&room.0))
            && sizes.iter().all(|size| (Mib::ZERO..PLAUSIBLE).contains(size));
        plausible.then_some(Outlook { sizes, gone: 0, rooms })
    }

    /// Whether all that is still there finds a target; nothing if that depends on which.
    pub(super) fn verdict(&self) -> Option<bool> {
        let left = &self.sizes[self.gone..];
        let mut load = MemoryLoad::NONE;
        left.iter().for_each(|size| load.add(*size));
        let rooms = || self.rooms.iter().copied();
        relocation::verdict(&load, &self.rooms[..]).or_else(|| relocation::verdict_in_order(left, rooms()))
    }

    /// The next one has left, to a target that has so much room now.
    pub(super) fn leave(&mut self, room: Mib) {
        let before = room + self.sizes[self.gone];
        self.gone += 1;
        let from = self.rooms.partition_point(|r| r.0 > before);
        // behind the one that changes, unless nothing is taken
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
