//! Results of `hspace`: the number of instances that a cluster can still hold.
//!
//! The result is a [`FillStart`] and two [`AllocationRun`]s. People ([`text`]), shells ([`shell`]) and programs
//! ([`json`]) get different views of it.

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

/// A cluster before it is filled, and the settings for filling it.
#[derive(Debug, Clone)]
pub(crate) struct FillStart {
    pub settings: FillSettings,
    /// Totals of the cluster.
    pub totals: Totals,
    /// True if some node allocates disks by whole spindles, so that spindles matter.
    pub exclusive_storage: bool,
}

impl FillStart {
    /// Collects the totals of a cluster.
    pub(crate) fn of(cluster: &Cluster, settings: FillSettings) -> FillStart {
        FillStart {
            settings,
            totals: Totals::of(cluster),
            exclusive_storage: cluster.nodes.iter().any(|n| n.spec.exclusive_storage),
        }
    }

    /// Disk template of the new instances.
    pub(crate) fn template(&self) -> DiskTemplate {
        self.settings.template
    }
}

/// Kind of allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllocationKind {
    /// Instances of shrinking sizes.
    Tiered,
    /// Instances of one fixed size.
    Standard,
}

/// Instances of one size that were placed one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tier {
    pub size: Size,
    pub count: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct AllocationRun {
    pub kind: AllocationKind,
    /// The initial sizes: one, or one or more for the tiered allocation.
    pub sizes: Vec<Size>,
    /// Result of the search.
    pub filled: Filled,
    /// Totals of the filled cluster.
    pub totals: Totals,
    /// True if nothing was tried, because the cluster must be repaired first.
    pub hopeless: bool,
    /// Upper bound of the number of instances, if it was asked for.
    pub proof: Option<CapacityProof>,
}

/// Upper bound of the number of instances that any placement adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapacityProof {
    /// The bound; `None` if nothing limits the number.
    pub most: Option<usize>,
    /// Number of instances that were placed.
    placed: usize,
}

impl CapacityProof {
    /// Share of the bound that was not placed; 0 if the bound is 0, and `None` without a bound.
    pub(crate) fn gap(&self) -> Option<f64> {
        let most = self.most?;
        let missing = most.saturating_sub(self.placed);
        Some(if most == 0 { 0.0 } else { missing as f64 / most as f64 })
    }
}

impl AllocationRun {
    /// A finished allocation.
    pub(crate) fn of(kind: AllocationKind, sizes: &[Size], filled: Filled, hopeless: bool) -> AllocationRun {
        let totals = Totals::of(&filled.cluster);
        AllocationRun { kind, sizes: sizes.to_vec(), totals, filled, hopeless, proof: None }
    }

    /// The same with an upper bound of the number of instances.
    pub(crate) fn with_bound(self, most: Option<usize>) -> AllocationRun {
        let proof = CapacityProof { most, placed: self.allocated() };
        AllocationRun { proof: Some(proof), ..self }
    }

    /// Number of instances that were placed.
    pub(crate) fn allocated(&self) -> usize {
        self.filled.added.len()
    }

    /// The instances that were placed, in order.
    pub(crate) fn placed(&self) -> impl Iterator<Item = &Instance> {
        self.filled.added.iter().map(|i| self.filled.cluster.instance(*i))
    }

    /// The placed instances by size, in order. A size recurs if other sizes were placed in between.
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

    /// The kinds of refusal at the last attempt with their counts, the most frequent first. All kinds are listed,
    /// unless nothing was tried.
    pub(crate) fn reasons(&self) -> Vec<(FailKind, u64)> {
        let mut reasons = self.filled.failures.by_frequency();
        if self.hopeless {
            reasons.truncate(1);
        }
        reasons
    }

    /// The most frequent kind of refusal; the first kind if nothing was refused.
    pub(crate) fn main_reason(&self) -> FailKind {
        self.reasons().first().map_or(FailKind::ALL[0], |reason| reason.0)
    }
}

/// The size of a new instance.
pub(crate) fn size_of(instance: &Instance) -> Size {
    let InstanceDetails { mem, disk, vcpus, spindles, .. } = **instance;
    Size { memory: mem, disk, vcpus, spindles: spindles.unwrap_or_default() }
}

/// Audience of the lines on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Shell,
}

impl Form {
    /// The lines about the cluster before it is filled.
    pub(crate) fn cluster(self, start: &FillStart) -> Vec<String> {
        match self {
            Form::Text => text::cluster(start),
            Form::Shell => shell::cluster(start),
        }
    }

    /// The lines about the request of an allocation.
    pub(crate) fn request(self, start: &FillStart, run: &AllocationRun) -> Vec<String> {
        match self {
            Form::Text => text::request(start, run),
            Form::Shell => shell::request(start, run),
        }
    }

    /// The lines about the result of an allocation.
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
