//! Test by sums whether all instances on shared storage find a node when theirs is lost.
//!
//! Only memory counts. Let r be the unallocated memory of a target, m the size of the largest instance, and M the size
//! of all of them together.
//!
//! * If an instance of size q finds no target, each target already holds at least r - q. So if the sum of max(0, r - m)
//!   exceeds M - m, no instance is ever stuck, wherever the others went.
//! * If no r exceeds m, or all targets together cannot hold M, one is stuck.
//! * A target holds at most floor((r - 1) / q) instances of size q or more. If all sizes are equal, it holds exactly as
//!   many, in any order.
//! * If an instance of size q finds no target, every target that it fitted at first holds at least one earlier
//!   instance. So if there are more such targets than earlier instances, it finds one.

use super::rooms::Rooms;
use crate::Mib;

/// Memory in use of several instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemoryLoad {
    pub count: i64,
    /// Of all of them.
    pub mem: Mib,
    /// Of the largest.
    pub most: Mib,
    /// Of the smallest.
    pub least: Mib,
}

impl MemoryLoad {
    pub(super) const NONE: MemoryLoad =
        MemoryLoad { count: 0, mem: Mib::ZERO, most: Mib(i64::MIN), least: Mib(i64::MAX) };

    pub(super) fn add(&mut self, mem: Mib) {
        self.count += 1;
        self.mem += mem;
        self.most = self.most.max(mem);
        self.least = self.least.min(mem);
    }
}

/// Memory that can be used, as 1 MiB must stay free.
fn usable(room: Mib) -> Mib {
    (room - Mib(1)).max(Mib::ZERO)
}

/// Memory that a target with `room` certainly takes before the largest instance of `load` no longer fits.
pub(super) fn sure(room: Mib, load: &MemoryLoad) -> Mib {
    (room - load.most).max(Mib::ZERO)
}

/// Memory that the targets must certainly take, so that no instance is stuck.
pub(super) fn demand(load: &MemoryLoad) -> Mib {
    load.mem - load.most
}

/// Tells if at least as many targets as there are instances have room for the largest.
pub(super) fn has_spare_targets(load: &MemoryLoad, rooms: impl Iterator<Item = (Mib, i64)>) -> bool {
    let mut open = 0;
    rooms.take_while(|room| room.0 > load.most).any(|room| {
        open += room.1;
        open >= load.count
    })
}

/// Tells if instances of these sizes, one after another, find a target; `None` if that depends on the choice of
/// targets. `rooms` has descending amounts with the number of targets for each.
pub(super) fn verdict_in_order(
    sizes: &[Mib],
    rooms: impl Iterator<Item = (Mib, i64)> + Clone,
) -> Option<bool> {
    if are_too_many(sizes, &rooms) {
        return Some(false);
    }
    last_in_doubt(sizes, rooms).is_none().then_some(true)
}

/// Position of the last instance that may find no target, wherever the earlier ones went, provided that these found
/// one.
pub(super) fn last_in_doubt(sizes: &[Mib], rooms: impl Iterator<Item = (Mib, i64)> + Clone) -> Option<usize> {
    let mut gone = DepartedInstances::default();
    let mut last = None;
    for (at, size) in sizes.iter().enumerate() {
        if !gone.leaves_room(*size, rooms.clone()) {
            last = Some(at);
        }
        gone.add(*size);
    }
    last
}

/// Tells if the instances of some size or more cannot all be held, whatever the choice of targets.
fn are_too_many(sizes: &[Mib], rooms: &(impl Iterator<Item = (Mib, i64)> + Clone)) -> bool {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut memory = Mib::ZERO;
    sorted.iter().zip(1i64..).any(|(size, count)| {
        memory += (*size).max(Mib::ZERO);
        if *size <= Mib::ZERO {
            return false;
        }
        let (mut places, mut room) = (0i64, 0i64);
        let enough = rooms.clone().take_while(|r| r.0 > *size).any(|(free, targets)| {
            let free = usable(free).0;
            places = places.saturating_add((free / size.0).saturating_mul(targets));
            room = room.saturating_add(free.saturating_mul(targets));
            places >= count && room >= memory.0
        });
        !enough
    })
}

/// The instances that have left a node, wherever they went.
#[derive(Default)]
struct DepartedInstances {
    sizes: Vec<Mib>,
    memory: i64,
}

impl DepartedInstances {
    fn add(&mut self, size: Mib) {
        let size = size.max(Mib::ZERO);
        let at = self.sizes.partition_point(|s| *s < size);
        self.sizes.insert(at, size);
        self.memory += size.0;
    }

    /// Tells if they certainly leave room for one more instance of this size.
    fn leaves_room(&self, size: Mib, rooms: impl Iterator<Item = (Mib, i64)>) -> bool {
        // Number of targets with at least `d` more than the size, and their sum of memory beyond the size.
        let (mut targets, mut beyond) = (0i64, 0i64);
        rooms.take_while(|r| r.0 > size).any(|(room, count)| {
            let d = room - size;
            targets += count;
            beyond = beyond.saturating_add(d.0.saturating_mul(count));
            beyond > self.memory || d.0.saturating_mul(targets) > self.within(d)
        })
    }

    /// Upper bound of their memory in targets that must each take at least `most`: no instance counts more than `most`.
    fn within(&self, most: Mib) -> i64 {
        let smaller = self.sizes.partition_point(|s| *s < most);
        let sum: Mib = self.sizes[..smaller].iter().copied().sum();
        sum.0.saturating_add(most.0.saturating_mul((self.sizes.len() - smaller) as i64))
    }
}

/// Tells if all instances find a target; `None` if that depends on the order or on the choice of targets.
pub(super) fn verdict(load: &MemoryLoad, rooms: &(impl Rooms + ?Sized)) -> Option<bool> {
    if load.count == 0 {
        return Some(true);
    }
    let targets = rooms.above(load.most);
    if targets <= 0 {
        return Some(false);
    }
    if targets >= load.count || rooms.beyond(load.most) > i128::from(demand(load).0) {
        return Some(true);
    }
    // On every target 1 MiB must stay free.
    if rooms.beyond(Mib(1)) < i128::from(load.mem.0) {
        return Some(false);
    }
    if load.least > Mib::ZERO {
        if rooms.places(load.least) < i128::from(load.count) {
            return Some(false);
        }
        if load.least == load.most {
            return Some(true);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redundancy::global::rooms::Sorted;
    use proptest::prelude::*;

    /// Tells if every choice of targets places all instances.
    fn always_fits(sizes: &[i64], rooms: &[i64]) -> bool {
        let [size, rest @ ..] = sizes else { return true };
        let targets: Vec<usize> = (0..rooms.len()).filter(|at| rooms[*at] > *size).collect();
        !targets.is_empty()
            && targets.iter().all(|at| {
                let mut left = rooms.to_vec();
                left[*at] -= size;
                always_fits(rest, &left)
            })
    }

    /// Tells if some choice of targets places all instances.
    fn ever_fits(sizes: &[i64], rooms: &[i64]) -> bool {
        let [size, rest @ ..] = sizes else { return true };
        (0..rooms.len()).filter(|at| rooms[*at] > *size).any(|at| {
            let mut left = rooms.to_vec();
            left[at] -= size;
            ever_fits(rest, &left)
        })
    }

    fn counted(rooms: &[i64]) -> Vec<(Mib, i64)> {
        let mut sorted = rooms.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let mut counted: Vec<(Mib, i64)> = Vec::new();
        for room in sorted {
            match counted.last_mut() {
                Some((last, count)) if last.0 == room => *count += 1,
                _ => counted.push((Mib(room), 1)),
            }
        }
        counted
    }

    proptest! {
        #[test]
        fn what_is_certain_holds_for_all_choices(
            sizes in prop::collection::vec(0i64..12, 0..5),
            rooms in prop::collection::vec(-3i64..30, 0..5),
        ) {
            let sizes_in_mib: Vec<Mib> = sizes.iter().map(|size| Mib(*size)).collect();
            // Check the rooms as they are, and with one added that is excluded from the count.
            let mut with_own = rooms.clone();
            with_own.push(7);
            let own = [Mib(7)];
            let sorted = [&rooms, &with_own].map(|r| Sorted::of(r.iter().map(|room| Mib(*room))));
            for rooms_of in [sorted[0].changed(Vec::new(), Vec::new()), sorted[1].changed(own.to_vec(), Vec::new())] {
                match verdict_in_order(&sizes_in_mib, rooms_of.descending()) {
                    Some(true) => prop_assert!(always_fits(&sizes, &rooms)),
                    Some(false) => prop_assert!(!ever_fits(&sizes, &rooms)),
                    None => {}
                }
            }
        }

        #[test]
        fn verdicts_hold_for_all_choices_and_orders(
            sizes in prop::collection::vec(0i64..12, 0..5),
            rooms in prop::collection::vec(-3i64..30, 0..5),
        ) {
            let counted = counted(&rooms);
            let mut load = MemoryLoad::NONE;
            sizes.iter().for_each(|size| load.add(Mib(*size)));
            let fits = always_fits(&sizes, &rooms);
            if has_spare_targets(&load, counted.iter().copied()) {
                prop_assert!(fits);
            }
            match verdict(&load, &counted[..]) {
                Some(true) => prop_assert!(fits),
                Some(false) => prop_assert!(!fits),
                None => {}
            }
        }
    }
}
