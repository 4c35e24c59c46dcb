//! Where instances that have to leave a node can go: the free memory of other nodes, as
//! far as sums need it.

use crate::model::Mib;

/// Amounts of free memory.
pub(super) trait Rooms {
    /// How many are more than `size`.
    fn above(&self, size: Mib) -> i64;

    /// What all have beyond `size` together; those that have less count as nothing.
    fn beyond(&self, size: Mib) -> i128;

    /// How many instances of `size`, which is more than 0, all hold together, if a MiB of
    /// each has to stay free.
    fn places(&self, size: Mib) -> i128;
}

fn excess(room: Mib, size: Mib) -> i128 {
    (i128::from(room.0) - i128::from(size.0)).max(0)
}

fn places(room: Mib, size: Mib) -> i128 {
    excess(room, Mib(1)) / i128::from(size.0)
}

/// One after the other: an amount, and how many nodes have it.
impl Rooms for [(Mib, i64)] {
    fn above(&self, size: Mib) -> i64 {
        self.iter().filter(|room| room.0 > size).map(|room| room.1).sum()
    }

    fn beyond(&self, size: Mib) -> i128 {
        self.iter().map(|room| excess(room.0, size) * i128::from(room.1)).sum()
    }

    fn places(&self, size: Mib) -> i128 {
        self.iter().map(|room| places(room.0, size) * i128::from(room.1)).sum()
    }
}

/// The amounts of many nodes in order, so that hardly any is looked at for a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sorted {
    ascending: Vec<Mib>,
    /// At each position, the sum from there to the end.
    sums: Vec<i128>,
}

impl Sorted {
    pub fn of(rooms: impl Iterator<Item = Mib>) -> Sorted {
        let mut ascending: Vec<Mib> = rooms.collect();
        ascending.sort_unstable();
        let mut sorted = Sorted { sums: vec![0; ascending.len() + 1], ascending };
        sorted.add_up(sorted.ascending.len());
        sorted
    }

    /// The sums of the first so many positions, from those behind.
    fn add_up(&mut self, until: usize) {
        for at in (0..until).rev() {
            self.sums[at] = self.sums[at + 1] + i128::from(self.ascending[at].0);
        }
    }

    fn position(&self, size: Mib) -> usize {
        self.ascending.partition_point(|room| *room <= size)
    }

    /// One of the amounts becomes another one.
    pub fn replace(&mut self, old: Mib, new: Mib) {
        let from = self.ascending.partition_point(|room| *room < old);
        if old == new || self.ascending.get(from) != Some(&old) {
            return;
        }
        self.ascending.remove(from);
        let to = self.position(new);
        self.ascending.insert(to, new);
        self.add_up(from.max(to) + 1);
    }

    /// The same with some amounts gone, which were there, and some others added.
    pub fn changed<'a>(&'a self, gone: Vec<Mib>, added: Vec<Mib>) -> Changed<'a> {
        Changed { sorted: self, gone, added }
    }
}

impl Rooms for Sorted {
    fn above(&self, size: Mib) -> i64 {
        (self.ascending.len() - self.position(size)) as i64
    }

    fn beyond(&self, size: Mib) -> i128 {
        self.sums[self.position(size)] - i128::from(self.above(size)) * i128::from(size.0)
    }

    fn places(&self, size: Mib) -> i128 {
        self.ascending[self.position(size)..].iter().map(|room| places(*room, size)).sum()
    }
}

/// Many amounts, of which some are others.
pub(super) struct Changed<'a> {
    sorted: &'a Sorted,
    gone: Vec<Mib>,
    added: Vec<Mib>,
}

impl Changed<'_> {
    /// A sum with those that are gone taken off it, and those that were added.
    fn settled<N>(&self, all: N, of: impl Fn(Mib) -> N) -> N
    where
        N: std::ops::Sub<Output = N> + std::ops::Add<Output = N>,
    {
        let left = self.gone.iter().fold(all, |sum, room| sum - of(*room));
        self.added.iter().fold(left, |sum, room| sum + of(*room))
    }
}

impl Rooms for Changed<'_> {
    fn above(&self, size: Mib) -> i64 {
        self.settled(self.sorted.above(size), |room| i64::from(room > size))
    }

    fn beyond(&self, size: Mib) -> i128 {
        self.settled(self.sorted.beyond(size), |room| excess(room, size))
    }

    fn places(&self, size: Mib) -> i128 {
        self.settled(self.sorted.places(size), |room| places(room, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_in_order_sums_up_as_what_is_not(
            rooms in prop::collection::vec(-3i64..12, 1..12),
            replaced in prop::collection::vec((any::<prop::sample::Index>(), -3i64..12), 0..6),
            changed in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(-3i64..12)), 0..3),
            size in 1i64..12,
        ) {
            let mut rooms: Vec<Mib> = rooms.into_iter().map(Mib).collect();
            let mut sorted = Sorted::of(rooms.iter().copied());
            for (at, new) in replaced {
                let at = at.index(rooms.len());
                sorted.replace(rooms[at], Mib(new));
                rooms[at] = Mib(new);
            }
            prop_assert_eq!(&sorted, &Sorted::of(rooms.iter().copied()));
            let (mut gone, mut added) = (Vec::new(), Vec::new());
            for (at, new) in changed {
                if rooms.is_empty() {
                    break;
                }
                gone.push(rooms.swap_remove(at.index(rooms.len())));
                added.extend(new.map(Mib));
            }
            rooms.extend(&added);
            let counted: Vec<(Mib, i64)> = rooms.iter().map(|room| (*room, 1)).collect();
            let changed = sorted.changed(gone, added);
            let size = Mib(size);
            prop_assert_eq!(changed.above(size), counted[..].above(size));
            prop_assert_eq!(changed.beyond(size), counted[..].beyond(size));
            prop_assert_eq!(changed.places(size), counted[..].places(size));
        }
    }
}
