//! Whether instances on shared storage all find a node when theirs is lost.
//!
//! Only memory counts. Let r be what the targets have, m the largest instance and M
//! all of them together. If an instance of size q finds no target, each of them holds
//! at least r - q already. So if the sum of max(0, r - m) exceeds M - m, no instance
//! is ever stuck, wherever the others went. If no r exceeds m, or all r together
//! cannot hold M, one is. A target holds at most floor((r - 1) / q) instances of size
//! q and more, and if all sizes are equal, it holds just as many, in any order.

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

/// Memory that can be used, if one MiB has to stay free.
fn usable(room: Mib) -> Mib {
    (room - Mib(1)).max(Mib::ZERO)
}

/// What `room` certainly takes while the largest instance of `load` fits.
pub(super) fn sure(room: Mib, load: &Load) -> Mib {
    (room - load.most).max(Mib::ZERO)
}

/// What the targets must certainly take, so that no instance is stuck.
pub(super) fn demand(load: &Load) -> Mib {
    load.mem - load.most
}

/// Whether all instances find a target among `rooms`, of each of which there are
/// several; nothing if that depends on the order.
pub(super) fn verdict(load: &Load, rooms: &[(Mib, i64)]) -> Option<bool> {
    if load.count == 0 {
        return Some(true);
    }
    if !rooms.iter().any(|r| r.0 > load.most && r.1 > 0) {
        return Some(false);
    }
    let total = |f: &dyn Fn(Mib) -> i64| rooms.iter().map(|r| f(r.0).saturating_mul(r.1)).sum::<i64>();
    if total(&|room| sure(room, load).0) > demand(load).0 {
        return Some(true);
    }
    if total(&|room| usable(room).0) < load.mem.0 {
        return Some(false);
    }
    if load.least > Mib::ZERO {
        let places = total(&|room| usable(room).0 / load.least.0);
        if places < load.count {
            return Some(false);
        }
        if load.least == load.most {
            return Some(true);
        }
    }
    None
}
