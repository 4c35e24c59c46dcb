//! Kinds of refusal, and counts of each.

use crate::words;
use std::fmt;

words!(
    /// The kinds of refusal that Ganeti's tools count and report, in the order of
    /// their reports.
    pub FailKind, "kind of failure" {
        /// Memory, including what N+1 reserves.
        Mem = "FailMem",
        /// Disk.
        Disk = "FailDisk",
        /// Virtual CPUs.
        Cpu = "FailCPU",
        /// The cluster could no longer lose a node (global N+1).
        N1 = "FailN1",
        /// Exclusion tags.
        Tags = "FailTags",
        /// Migration tags.
        Mig = "FailMig",
        /// Number of disks.
        DiskCount = "FailDiskCount",
        /// Spindles.
        Spindles = "FailSpindles",
        /// Never occurs; the reference reports it nevertheless.
        Internal = "FailInternal",
    }
);

/// Number of refusals of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailCounts([u64; FailKind::ALL.len()]);

impl FailCounts {
    /// One refusal of one kind.
    pub fn one(kind: FailKind) -> FailCounts {
        let mut counts = FailCounts::default();
        counts.add(kind, 1);
        counts
    }

    /// Number of refusals of `kind`.
    pub fn get(&self, kind: FailKind) -> u64 {
        self.0[kind as usize]
    }

    /// Adds `times` refusals of `kind`.
    pub fn add(&mut self, kind: FailKind, times: u64) {
        self.0[kind as usize] += times;
    }

    /// Subtracts `times` refusals of `kind`.
    pub fn remove(&mut self, kind: FailKind, times: u64) {
        self.0[kind as usize] -= times;
    }

    /// All refusals together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// All kinds with their counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (FailKind, u64)> + '_ {
        FailKind::ALL.iter().copied().map(|kind| (kind, self.get(kind)))
    }

    /// All kinds by descending count, in order among equals.
    pub fn by_frequency(&self) -> Vec<(FailKind, u64)> {
        let mut kinds: Vec<_> = self.iter().collect();
        kinds.sort_by_key(|k| std::cmp::Reverse(k.1));
        kinds
    }
}

impl std::ops::AddAssign for FailCounts {
    fn add_assign(&mut self, other: FailCounts) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

impl fmt::Display for FailCounts {
    /// The kinds that occurred, as `FailMem: 3, FailN1: 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (kind, count)) in self.iter().filter(|k| k.1 > 0).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{}: {count}", kind.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shown_in_order_and_sorted_by_frequency() {
        let mut counts = FailCounts::one(FailKind::Spindles);
        counts.add(FailKind::N1, 3);
        counts.add(FailKind::Mem, 1);
        assert_eq!(counts.to_string(), "FailMem: 1, FailN1: 3, FailSpindles: 1");
        assert_eq!(counts.total(), 5);
        let order: Vec<FailKind> = counts.by_frequency().iter().take(4).map(|k| k.0).collect();
        assert_eq!(order, [FailKind::N1, FailKind::Mem, FailKind::Spindles, FailKind::Disk]);
        assert_eq!(FailCounts::default().to_string(), "");
    }
}
