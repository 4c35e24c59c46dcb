//! Limits of the use of nodes, and the figures that they are about.
//!
//! The limits are those of the user (`hbal --only-if`), not of Ganeti: strict placement lets no figure of a node rise
//! above its limit. A node that is above a limit already may keep its instances, and can take those that leave the figure
//! as it is.

use super::instance::Instance;
use super::node::{Ledger, NodeSpec};
use super::units::Mib;
use crate::words;

words!(
    /// Figure of the use of a node, in percent.
    pub NodeFigure, "figure of a node" {
        /// Memory that instances and the node itself take, of all memory.
        Memory = "memory",
        /// Measured processor load, of that which keeps all of the node's processors busy.
        Cpu = "cpu",
        /// Virtual processors, of those that the policy allows.
        Vcpus = "vcpus",
        /// Disk in use, of all disk.
        Disk = "disk",
    }
);

/// All figures, in the order of their limits.
const FIGURES: [NodeFigure; 4] = [NodeFigure::Memory, NodeFigure::Cpu, NodeFigure::Vcpus, NodeFigure::Disk];

/// Highest use of a node by figure, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UseLimits {
    limits: [Option<f64>; 4],
    is_any: bool,
    /// Percentage points by which the limits are below the thresholds that the user has named.
    margin: f64,
    /// True if a figure above its limit is no overload that has to end: no move may raise it, and that is all.
    is_tolerated: bool,
}

impl UseLimits {
    /// Sets the limit of a figure. The lower one counts if it has a limit already.
    pub fn set(&mut self, figure: NodeFigure, percent: f64) {
        let limit = &mut self.limits[figure as usize];
        *limit = Some(limit.map_or(percent, |known| known.min(percent)));
        self.is_any = true;
    }

    /// Sets the percentage points by which all limits are below the thresholds that the user has named.
    pub fn set_margin(&mut self, margin: f64) {
        self.margin = margin;
    }

    /// Tells if limits are below the thresholds.
    pub fn have_margin(&self) -> bool {
        self.margin > 0.0
    }

    /// Lets figures that are above their limits stay there.
    pub fn tolerate(&mut self) {
        self.is_tolerated = true;
    }

    /// Tells if figures above their limits have to fall.
    pub fn must_be_met(&self) -> bool {
        self.is_any && !self.is_tolerated
    }

    /// Tells if any figure has a limit.
    pub fn is_any(&self) -> bool {
        self.is_any
    }

    /// The figures with limits, and these.
    pub fn each(&self) -> impl Iterator<Item = (NodeFigure, f64)> + '_ {
        FIGURES.into_iter().zip(self.limits).filter_map(|(figure, limit)| Some((figure, limit?)))
    }
}

/// A share in percent; 0 of nothing.
fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

impl Ledger {
    /// Changes the amounts behind the figures for an instance that comes (`sign` 1) or leaves (-1). Nothing else changes.
    pub fn change_use(&mut self, instance: &Instance, is_primary: bool, sign: i64) {
        if instance.forthcoming {
            return;
        }
        let signed = |amount: Mib| Mib(amount.0.saturating_mul(sign));
        if is_primary {
            self.mem_instances += signed(instance.mem_in_use());
            self.vcpus = self.vcpus.wrapping_add(instance.vcpus_in_use().wrapping_mul(sign));
            self.load.cpu += sign as f64 * instance.util.cpu;
        }
        self.disk_free -= signed(instance.local_disk());
    }
}

impl NodeSpec {
    /// A figure of the node's use, in percent.
    pub fn usage(&self, ledger: &Ledger, figure: NodeFigure) -> f64 {
        match figure {
            NodeFigure::Memory => {
                let Mib(free) = ledger.mem_unallocated(self);
                percent(self.mem_total - free as f64, self.mem_total)
            }
            NodeFigure::Cpu => percent(ledger.load.cpu, self.cpu_load_full),
            NodeFigure::Vcpus => percent(ledger.vcpus as f64, self.vcpu_ratio * self.cpu_total),
            NodeFigure::Disk => percent(self.disk_total - ledger.disk_free.0 as f64, self.disk_total),
        }
    }

    /// Percent above the limits, in all figures together; 0 if all are kept or what is above is tolerated.
    pub fn over_limits(&self, ledger: &Ledger) -> f64 {
        if !self.limits.must_be_met() {
            return 0.0;
        }
        let over = |(figure, limit): (NodeFigure, f64)| (self.usage(ledger, figure) - limit).max(0.0);
        self.limits.each().map(over).sum()
    }

    /// Tells if a figure is above its threshold, which is the limit without the margin, and that is not tolerated.
    pub fn is_above_threshold(&self, ledger: &Ledger) -> bool {
        let margin = self.limits.margin;
        let is_above = |(figure, limit): (NodeFigure, f64)| self.usage(ledger, figure) > limit + margin;
        self.limits.must_be_met() && self.limits.each().any(is_above)
    }

    /// Tells if a change lets a figure rise that is above its limit then.
    pub fn breaks_limit(&self, before: &Ledger, after: &Ledger) -> bool {
        let breaks = |(figure, limit): (NodeFigure, f64)| {
            let then = self.usage(after, figure);
            then > limit && then > self.usage(before, figure)
        };
        self.limits.is_any && self.limits.each().any(breaks)
    }
}
