//! Faults of an arrangement, and the faults after a change.

use std::ops::Sub;

use super::arrangement::{Arrangement, Counts, Shift, Touch};
use super::terrain::{NOWHERE, SlotStanding, Terrain};
use htools_model::{Ledger, NodeSpec};

/// Counts of faults, worst kind first. Fewer of an earlier kind are better, regardless of the later kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Faults {
    /// Instances on offline nodes, counted once for each role.
    pub left_behind: i64,
    /// Nodes that fail N+1.
    pub failing: i64,
    /// Nodes with more virtual CPUs or spindle weight than their policy allows.
    pub breaches: i64,
    /// Nodes above a limit of their use that the user has set; those above the threshold behind a limit with a margin count
    /// twice.
    pub overloads: i64,
    /// Primaries with the same exclusion tag on a node, beyond the first.
    pub conflicts: i64,
    /// Location costs.
    pub locations: i64,
    /// Instances with the same exclusion tag at a location, beyond the first.
    pub crowded: i64,
    /// Memory that nodes lack for N+1, in MiB, plus the excess over policies, in virtual CPUs and spindle
    /// weight. It is not a fault of its own, but reducing it leads towards fewer faults.
    pub shortage: i64,
    /// Percent above the limits of the nodes' use, in thousandths. Like `shortage`, no fault of its own.
    pub overload: i64,
}

impl Sub for Faults {
    type Output = Faults;

    fn sub(self, other: Faults) -> Faults {
        Faults {
            left_behind: self.left_behind - other.left_behind,
            failing: self.failing - other.failing,
            breaches: self.breaches - other.breaches,
            overloads: self.overloads - other.overloads,
            conflicts: self.conflicts - other.conflicts,
            locations: self.locations - other.locations,
            crowded: self.crowded - other.crowded,
            shortage: self.shortage.wrapping_sub(other.shortage),
            overload: self.overload.wrapping_sub(other.overload),
        }
    }
}

impl Faults {
    /// Only the instances on nodes that must become empty.
    pub(crate) fn left_behind_only(self) -> Faults {
        Faults { left_behind: self.left_behind, ..Faults::default() }
    }

    /// Only the nodes above limits of their use.
    pub(crate) fn overloads_only(self) -> Faults {
        Faults { overloads: self.overloads, overload: self.overload, ..Faults::default() }
    }

    /// The faults without `shortage` and `overload`.
    pub(crate) fn without_shortage(self) -> Faults {
        Faults { shortage: 0, overload: 0, ..self }
    }

    fn of_counts(counts: &Counts) -> Faults {
        Faults {
            left_behind: counts.offline,
            conflicts: counts.conflicts,
            locations: counts.locations,
            crowded: counts.spread,
            ..Faults::default()
        }
    }
}

/// Excess of a slot's node over its policy after adding virtual CPUs and spindle weight.
fn excess(at: &Arrangement<'_>, slot: u32, vcpus: i64, weight: f64) -> i64 {
    let (spec, ledger) = (at.terrain.spec(slot), at.ledgers.ledger(slot));
    let vcpus = ledger.vcpus.wrapping_add(vcpus);
    let over =
        if spec.exceeds_cpu_ratio(vcpus) { vcpus as f64 - spec.vcpu_ratio * spec.cpu_total } else { 0.0 };
    let weight = if spec.exclusive_storage { 0.0 } else { ledger.spindles_used + weight };
    (over.max(0.0) + (weight - spec.spindle_limit).max(0.0)).ceil() as i64
}

/// Percent above the limits of the use of a node, in thousandths.
fn overload(spec: &NodeSpec, ledger: &Ledger) -> i64 {
    (1000.0 * spec.over_limits(ledger)).ceil() as i64
}

/// Faults of a node that is above its limits: one, and another one if it is above a threshold. So a move that brings it
/// below the threshold counts, even if none brings it below the limit.
fn overloads(spec: &NodeSpec, ledger: &Ledger) -> i64 {
    let is_over = overload(spec, ledger) > 0;
    i64::from(is_over) + i64::from(is_over && spec.limits.have_margin() && spec.is_above_threshold(ledger))
}

/// Virtual CPUs and spindle weight that a mobile adds to a node.
fn load(terrain: &Terrain<'_>, mobile: u32, secondary: bool) -> (i64, f64) {
    let instance = terrain.instance(mobile);
    let weight = if instance.template.uses_local_storage() { instance.spindle_use as f64 } else { 0.0 };
    match (instance.forthcoming, secondary) {
        (true, _) => (0, 0.0),
        (false, true) => (0, weight),
        (false, false) => (instance.vcpus_in_use(), weight),
    }
}

impl Arrangement<'_> {
    pub(crate) fn faults(&self) -> Faults {
        let mut faults = Faults::of_counts(&self.counts);
        for slot in &self.terrain.online {
            let at = *slot as usize;
            if self.failing[at] && self.members[at] > 0 {
                faults.failing += 1;
                faults.shortage += (self.reserved[at] - self.mem_free[at] + 1).max(1);
            }
            let over = overload(self.terrain.spec(*slot), self.ledgers.ledger(*slot));
            faults.overloads += overloads(self.terrain.spec(*slot), self.ledgers.ledger(*slot));
            faults.overload += over;
            let excess = excess(self, *slot, 0, 0.0);
            faults.breaches += i64::from(excess > 0);
            faults.shortage += excess;
        }
        faults
    }

    /// Faults after the proposal that was appraised last; `now` are the present faults.
    pub(crate) fn faults_then(&self, now: &Faults, proposal: &[Shift]) -> Faults {
        let pending = &self.pending;
        if !pending.is_ready {
            return *now;
        }
        let mut then = Faults {
            failing: now.failing,
            breaches: now.breaches,
            shortage: now.shortage,
            overloads: now.overloads,
            overload: now.overload,
            ..Faults::of_counts(&pending.counts)
        };
        for touch in &self.touched {
            let slot = touch.slot as usize;
            if self.terrain.standing[slot] != SlotStanding::Online {
                continue;
            }
            let before =
                (self.failing[slot] && self.members[slot] > 0, self.reserved[slot] - self.mem_free[slot]);
            let after = (
                touch.failing && self.members[slot] + touch.members > 0,
                touch.reserved - self.mem_free[slot] - touch.mem,
            );
            for ((failing, lacks), sign) in [(before, -1), (after, 1)] {
                if failing {
                    then.failing += sign;
                    then.shortage += sign * (lacks + 1).max(1);
                }
            }
            let spec = self.terrain.spec(touch.slot);
            if spec.limits.is_any() {
                let now = *self.ledgers.ledger(touch.slot);
                for (ledger, sign) in [(now, -1), (self.ledger_then(touch, proposal), 1)] {
                    let over = overload(spec, &ledger);
                    then.overloads += sign * overloads(spec, &ledger);
                    then.overload += sign * over;
                }
            }
            let (vcpus, weight) = self.load_change(touch, proposal);
            for (excess, sign) in
                [(excess(self, touch.slot, 0, 0.0), -1), (excess(self, touch.slot, vcpus, weight), 1)]
            {
                then.breaches += sign * i64::from(excess > 0);
                then.shortage += sign * excess;
            }
        }
        then
    }

    /// The ledger of a slot's node with the use that it has after a proposal.
    fn ledger_then(&self, touch: &Touch, proposal: &[Shift]) -> Ledger {
        let mut ledger = *self.ledgers.ledger(touch.slot);
        self.each_role(touch, proposal, |mobile, secondary, sign| {
            ledger.change_use(self.terrain.instance(mobile), !secondary, sign);
        });
        ledger
    }

    fn load_change(&self, touch: &Touch, proposal: &[Shift]) -> (i64, f64) {
        let mut change = (0, 0.0);
        self.each_role(touch, proposal, |mobile, secondary, sign| {
            let (vcpus, weight) = load(self.terrain, mobile, secondary);
            change = (change.0 + sign * vcpus, change.1 + sign as f64 * weight);
        });
        change
    }

    /// Calls `role` with each mobile that leaves (-1) or enters (1) the slot, and whether it is a secondary there.
    fn each_role(&self, touch: &Touch, proposal: &[Shift], mut role: impl FnMut(u32, bool, i64)) {
        for shift in proposal {
            for (seat, sign) in [(self.seats[shift.mobile as usize], -1), (shift.to, 1)] {
                for (slot, secondary) in [(seat.primary, false), (seat.secondary, true)] {
                    if slot == touch.slot && slot != NOWHERE {
                        role(shift.mobile, secondary, sign);
                    }
                }
            }
        }
    }

    /// Returns true if the node of the slot is offline or must be emptied.
    pub(super) fn is_to_be_left(&self, slot: u32) -> bool {
        self.terrain.standing.get(slot as usize) == Some(&SlotStanding::Offline)
    }

    /// Returns true if the mobile exists and is on a node that is offline or must be emptied.
    pub(super) fn is_left_behind(&self, mobile: u32) -> bool {
        if self.terrain.mobiles[mobile as usize].counts == 0 {
            return false;
        }
        let seat = self.seats[mobile as usize];
        self.is_to_be_left(seat.primary) || self.is_to_be_left(seat.secondary)
    }

    /// Returns true if the node of the slot fails N+1.
    pub(super) fn fails(&self, slot: u32) -> bool {
        self.terrain.is_online(slot) && self.failing[slot as usize]
    }

    /// Returns true if the node of the slot exceeds its policy.
    pub(super) fn exceeds(&self, slot: u32) -> bool {
        self.terrain.is_online(slot) && excess(self, slot, 0, 0.0) > 0
    }

    /// Returns true if the node of the slot is above a limit of its use.
    pub(super) fn is_overloaded(&self, slot: u32) -> bool {
        self.terrain.is_online(slot) && overload(self.terrain.spec(slot), self.ledgers.ledger(slot)) > 0
    }

    /// Returns true if the node of the slot is above a threshold of its use.
    pub(super) fn is_above_threshold(&self, slot: u32) -> bool {
        self.is_overloaded(slot) && self.terrain.spec(slot).is_above_threshold(self.ledgers.ledger(slot))
    }

    /// Returns true if the mobile is on a node that is above a limit of its use.
    pub(super) fn is_overloading(&self, mobile: u32) -> bool {
        let seat = self.seats[mobile as usize];
        [seat.primary, seat.secondary].into_iter().any(|slot| self.is_overloaded(slot))
    }

    /// Returns true if the node of the slot has any fault, apart from tags.
    pub(super) fn has_fault(&self, slot: u32) -> bool {
        self.is_to_be_left(slot) || self.fails(slot) || self.exceeds(slot) || self.is_overloaded(slot)
    }

    /// Returns true if the mobile is involved in any fault.
    pub(crate) fn is_in_fault(&self, mobile: u32) -> bool {
        let seat = self.seats[mobile as usize];
        [seat.primary, seat.secondary].into_iter().any(|slot| self.has_fault(slot))
            || self.tags.meets(self.terrain, mobile, seat)
    }
}
