//! Free memory of the nodes that can take instances from a lost node, summarised for the tests by sums.

use std::cmp::Reverse;
use std::iter;

use crate::Mib;

/// Amounts of free memory.
pub(super) trait Rooms {
    /// Number of amounts above `size`.
    fn above(&self, size: Mib) -> i64;

    /// Sum of the memory beyond `size`; nodes with less count as 0.
    fn beyond(&self, size: Mib) -> i128;

    /// Number of instances of `size` (above 0) that fit, if 1 MiB must stay free on each node.
    fn places(&self, size: Mib) -> i128;

    /// The amounts in descending order, each with the number of nodes. An amount may come in several entries, those
    /// with negative numbers first.
    fn descending(&self) -> impl Iterator<Item = (Mib, i64)> + Clone;
}

fn excess(room: Mib, size: Mib) -> i128 {
    (i128::from(room.0) - i128::from(size.0)).max(0)
}

fn places(room: Mib, size: Mib) -> i128 {
    excess(room, Mib(1)) / i128::from(size.0)
}

/// Descending amounts, each with the number of nodes that have it.
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

    fn descending(&self) -> impl Iterator<Item = (Mib, i64)> + Clone {
        self.iter().copied()
    }
}

/// Sorted amounts of many nodes with their partial sums, so that a sum takes logarithmic time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sorted {
    ascending: Vec<Mib>,
    /// For each position, the sum from there to the end; 0 at the end.
    sums: Vec<i128>,
}

impl Sorted {
    /// No amounts.
    pub(super) const NONE: Sorted = Sorted { ascending: Vec::new(), sums: Vec::new() };

    pub(super) fn of(rooms: impl Iterator<Item = Mib>) -> Sorted {
        let mut ascending: Vec<Mib> = rooms.collect();
        ascending.sort_unstable();
        let mut sorted = Sorted { sums: vec![0; ascending.len()], ascending };
        sorted.add_up(sorted.ascending.len());
        sorted
    }

    /// The sum from a position to the end.
    fn sum_from(&self, at: usize) -> i128 {
        self.sums.get(at).copied().unwrap_or(0)
    }

    /// Recomputes the sums before `until` from those behind.
    fn add_up(&mut self, until: usize) {
        for at in (0..until).rev() {
            self.sums[at] = self.sum_from(at + 1) + i128::from(self.ascending[at].0);
        }
    }

    fn position(&self, size: Mib) -> usize {
        self.ascending.partition_point(|room| *room <= size)
    }

    /// Replaces one of the amounts by another.
    pub(super) fn replace(&mut self, old: Mib, new: Mib) {
        let from = self.ascending.partition_point(|room| *room < old);
        if old == new || self.ascending.get(from) != Some(&old) {
            return;
        }
        self.ascending.remove(from);
        let to = self.position(new);
        self.ascending.insert(to, new);
        self.add_up(from.max(to) + 1);
    }

    /// A view with the amounts `gone`, which must exist, removed and `added` inserted.
    pub(super) fn changed<'a>(&'a self, gone: Vec<Mib>, added: Vec<Mib>) -> ChangedAmounts<'a> {
        let with = |rooms: Vec<Mib>, count: i64| rooms.into_iter().map(move |room| (room, count));
        let mut changes: Vec<(Mib, i64)> = with(gone, -1).chain(with(added, 1)).collect();
        changes.sort_unstable_by_key(|(room, count)| (Reverse(*room), *count));
        ChangedAmounts { sorted: self, changes }
    }
}

impl Rooms for Sorted {
    fn above(&self, size: Mib) -> i64 {
        (self.ascending.len() - self.position(size)) as i64
    }

    fn beyond(&self, size: Mib) -> i128 {
        self.sum_from(self.position(size)) - i128::from(self.above(size)) * i128::from(size.0)
    }

    fn places(&self, size: Mib) -> i128 {
        self.ascending[self.position(size)..].iter().map(|room| places(*room, size)).sum()
    }

    fn descending(&self) -> impl Iterator<Item = (Mib, i64)> + Clone {
        self.ascending.iter().rev().map(|room| (*room, 1))
    }
}

/// View of many amounts with a few changes.
pub(super) struct ChangedAmounts<'a> {
    sorted: &'a Sorted,
    /// Removed (-1) and inserted (1) amounts; descending, removals first.
    changes: Vec<(Mib, i64)>,
}

impl Rooms for ChangedAmounts<'_> {
    fn above(&self, size: Mib) -> i64 {
        self.sorted.above(size) + self.changes[..].above(size)
    }

    fn beyond(&self, size: Mib) -> i128 {
        self.sorted.beyond(size) + self.changes[..].beyond(size)
    }

    fn places(&self, size: Mib) -> i128 {
        self.sorted.places(size) + self.changes[..].places(size)
    }

    fn descending(&self) -> impl Iterator<Item = (Mib, i64)> + Clone {
        let mut sorted = self.sorted.descending().peekable();
        let mut changes = self.changes.iter().copied().peekable();
        iter::from_fn(move || match (sorted.peek(), changes.peek()) {
            (Some(room), Some(change)) if change.0 < room.0 => sorted.next(),
            (Some(_), None) => sorted.next(),
            _ => changes.next(),
        })
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
            rooms.sort_unstable_by_key(|room| Reverse(*room));
            let counted: Vec<(Mib, i64)> = rooms.iter().map(|room| (*room, 1)).collect();
            let changed = sorted.changed(gone, added);
            let descending: Vec<(Mib, i64)> = changed.descending().collect();
            prop_assert!(descending.is_sorted_by_key(|(room, _)| Reverse(*room)));
            let number = |rooms: &[(Mib, i64)], room: Mib| rooms.iter().filter(|r| r.0 == room).map(|r| r.1).sum::<i64>();
            for (at, (room, _)) in descending.iter().enumerate() {
                prop_assert_eq!(number(&descending, *room), number(&counted, *room));
                prop_assert!(number(&descending[..at], *room) <= number(&counted, *room));
            }
            prop_assert!(rooms.iter().all(|room| descending.iter().any(|r| r.0 == *room)));
            let size = Mib(size);
            prop_assert_eq!(changed.above(size), counted[..].above(size));
            prop_assert_eq!(changed.beyond(size), counted[..].beyond(size));
            prop_assert_eq!(changed.places(size), counted[..].places(size));
        }
    }
}
