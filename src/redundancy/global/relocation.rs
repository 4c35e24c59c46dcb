//! Whether instances on shared storage all find a node when theirs is lost.
//!
//! Only memory counts. Let r be what the targets have, m the largest instance and M
//! all of them together. If an instance of size q finds no target, each of them holds
//! at least r - q already. So if the sum of max(0, r - m) exceeds M - m, no instance
//! is ever stuck, wherever the others went. If no r exceeds m, or all r together
//! cannot hold M, one is. A target holds at most floor((r - 1) / q) instances of size
//! q and more, and if all sizes are equal, it holds just as many, in any order.
//! An instance of size q that finds no target has at least one earlier one on each that
//! it would have fit at first; so if there are more of these targets than earlier
//! instances, it finds one.

use super::rooms::Rooms;
use crate::model::Mib;

/// Memory in use of several instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Load {
    pub count: i64,
    /// Of all of them.
    pub mem: Mib,
    /// Of the largest.
    pub most: Mib,
    /// Of the smallest.
    pub least: Mib,
}

impl Load {
    pub const NONE: Load = Load { count: 0, mem: Mib::ZERO, most: Mib(i64::MIN), least: Mib(i64::MAX) };

    pub fn add(&mut self, mem: Mib) {
        self.count += 1;
        self.mem += mem;
        self.most = self.most.max(mem);
        self.least = self.least.min(mem);
    }
}

/// What `room` certainly takes while the largest instance of `load` fits.
pub(super) fn sure(room: Mib, load: &Load) -> Mib {
    (room - load.most).max(Mib::ZERO)
}

/// What the targets must certainly take, so that no instance is stuck.
pub(super) fn demand(load: &Load) -> Mib {
    load.mem - load.most
}

/// Whether instances of these sizes, one after the other, certainly find a target in these
/// rooms, wherever the others went.
pub(super) fn is_certain(sizes: impl Iterator<Item = Mib>, rooms: &(impl Rooms + ?Sized)) -> bool {
    let mut gone = Mib::ZERO;
    for (earlier, size) in (0..).zip(sizes) {
        if rooms.beyond(size) <= i128::from(gone.0) && rooms.above(size) <= earlier {
            return false;
        }
        gone += size;
    }
    true
}

/// Whether all instances find a target in these rooms; nothing if that depends on the
/// order.
pub(super) fn verdict(load: &Load, rooms: &(impl Rooms + ?Sized)) -> Option<bool> {
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
    // one MiB has to stay free
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
    use proptest::prelude::*;

    /// Whether no choice of targets leaves one of the instances without any.
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

    proptest! {
        #[test]
        fn what_is_certain_holds_for_all_choices(
            sizes in prop::collection::vec(0i64..12, 0..5),
            rooms in prop::collection::vec(-3i64..30, 0..5),
        ) {
            let counted: Vec<(Mib, i64)> = rooms.iter().map(|room| (Mib(*room), 1)).collect();
            if is_certain(sizes.iter().map(|size| Mib(*size)), &counted[..]) {
                prop_assert!(always_fits(&sizes, &rooms));
            }
        }

        #[test]
        fn verdicts_hold_for_all_choices_and_orders(
            sizes in prop::collection::vec(0i64..12, 0..5),
            rooms in prop::collection::vec(-3i64..30, 0..5),
        ) {
            let counted: Vec<(Mib, i64)> = rooms.iter().map(|room| (Mib(*room), 1)).collect();
            let mut load = Load::NONE;
            sizes.iter().for_each(|size| load.add(Mib(*size)));
            let fits = always_fits(&sizes, &rooms);
            match verdict(&load, &counted[..]) {
                Some(true) => prop_assert!(fits),
                Some(false) => prop_assert!(!fits),
                None => {}
            }
        }
    }
}
