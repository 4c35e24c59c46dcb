//! What `hspace` found: how much more a cluster could hold.
//!
//! A [`FillStart`] and two [`AllocationRun`]s are the result; people ([`text`]), shells
//! ([`shell`]) and programs ([`json`]) get different views of it.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod map;
pub(crate) mod metrics;
mod shares;
pub(crate) mod shell;
mod statistics;
pub(crate) mod text;

pub(crate) use shares::CapacityShare;
pub(crate) use statistics::{TotalAmounts, Totals};

use crate::model::{Cluster, DiskTemplate, FailKind, Instance, InstanceDetails};
use crate::search::fill::{FillSettings, Filled, Size};

/// A cluster before it is filled, and how it is filled.
#[derive(Debug, Clone)]
pub(crate) struct FillStart {
    pub settings: FillSettings,
    /// The cluster in numbers.
    pub totals: Totals,
    /// Whether a node gives its disks out by whole spindles, so that spindles are
    /// of interest.
    pub exclusive_storage: bool,
}

impl FillStart {
    /// Looks at a cluster.
    pub(crate) fn of(cluster: &Cluster, settings: FillSettings) -> FillStart {
        FillStart {
            settings,
            totals: Totals::of(cluster),
            exclusive_storage: cluster.nodes.iter().any(|n| n.spec.exclusive_storage),
        }
    }

    /// How the disks of the new instances are stored.
    pub(crate) fn template(&self) -> DiskTemplate {
        self.settings.template
    }
}

/// Which of the two allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllocationKind {
    /// With sizes that shrink.
    Tiered,
    /// With one fixed size.
    Standard,
}

/// Instances of one size that were placed one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tier {
    pub size: Size,
    pub count: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct AllocationRun {
    pub kind: AllocationKind,
    /// The sizes that it began with: one, or (tiered) one or more.
    pub sizes: Vec<Size>,
    /// What came of it.
    pub filled: Filled,
    /// The filled cluster in numbers.
    pub totals: Totals,
    /// Nothing was tried, because the cluster has to be mended first.
    pub hopeless: bool,
}

impl AllocationRun {
    /// An allocation that is done.
    pub(crate) fn of(kind: AllocationKind, sizes: &[Size], filled: Filled, hopeless: bool) -> AllocationRun {
        AllocationRun { kind, sizes: sizes.to_vec(), totals: Totals::of(&filled.cluster), filled, hopeless }
    }

    /// Number of instances that were placed.
    pub(crate) fn allocated(&self) -> usize {
        self.filled.added.len()
    }

    /// The instances that were placed, in order.
    pub(crate) fn placed(&self) -> impl Iterator<Item = &Instance> {
        self.filled.added.iter().map(|i| self.filled.cluster.instance(*i))
    }

    /// The instances that were placed, by size, in order. A size comes again if
    /// others were placed between.
    pub(crate) fn tiers(&self) -> Vec<Tier> {
        let mut tiers: Vec<Tier> = Vec::new();
        for size in self.placed().map(size_of) {
            match tiers.last_mut().filter(|tier| tier.size == size) {
                Some(tier) => tier.count += 1,
                None => tiers.push(Tier { size, count: 1 }),
            }
        }
        tiers
    }

    /// Why places were refused at the last attempt, and how often: the most frequent
    /// kind first. All kinds, unless nothing was tried at all.
    pub(crate) fn reasons(&self) -> Vec<(FailKind, u64)> {
        let mut reasons = self.filled.failures.by_frequency();
        if self.hopeless {
            reasons.truncate(1);
        }
        reasons
    }

    /// The most frequent kind of refusal; the first kind of all if nothing was
    /// refused.
    pub(crate) fn main_reason(&self) -> FailKind {
        self.reasons().first().map_or(FailKind::ALL[0], |reason| reason.0)
    }
}

/// The size of a new instance.
pub(crate) fn size_of(instance: &Instance) -> Size {
    let InstanceDetails { mem, disk, vcpus, spindles, .. } = **instance;
    Size { memory: mem, disk, vcpus, spindles: spindles.unwrap_or_default() }
}

/// For whom the lines on standard output are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Shell,
}

impl Form {
    /// About the cluster before it is filled.
    pub(crate) fn cluster(self, start: &FillStart) -> Vec<String> {
        match self {
            Form::Text => text::cluster(start),
            Form::Shell => shell::cluster(start),
        }
    }

    /// About what an allocation fills in.
    pub(crate) fn request(self, start: &FillStart, run: &AllocationRun) -> Vec<String> {
        match self {
            Form::Text => text::request(start, run),
            Form::Shell => shell::request(start, run),
        }
    }

    /// About what came of an allocation.
    pub(crate) fn result(self, start: &FillStart, run: &AllocationRun) -> Vec<String> {
        match self {
            Form::Text => text::result(start, run),
            Form::Shell => shell::result(start, run),
        }
    }

    pub(crate) fn end(self) -> Vec<String> {
        match self {
            Form::Text => Vec::new(),
            Form::Shell => shell::end(),
        }
    }
}

#[cfg(test)]
mod tests;
