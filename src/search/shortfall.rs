//! What is missing where a node refuses an instance.

use super::moves::{Move, Refusal, Trial};
use crate::model::units::floor_to_i64;
use crate::model::{Cluster, Instance, Ledger, Mib, NodeSpec, Rule, TagId};

/// What a rule asked for and what was there.
#[derive(Debug, Clone, PartialEq)]
pub enum Shortfall {
    /// Too little of something that is counted.
    Amount {
        /// What, e.g. "memory".
        resource: &'static str,
        /// The unit of the amounts.
        unit: &'static str,
        /// What the instance needs.
        needed: i64,
        /// What it could have.
        available: i64,
    },
    /// Exclusion tags that primaries of the node already have.
    Tags(Vec<String>),
    /// Migration tags that the node cannot receive.
    Migration(Vec<String>),
    /// The instance has no secondary.
    NoSecondary,
}

impl Shortfall {
    /// How much is missing, of what is counted.
    pub fn missing(&self) -> Option<i64> {
        match self {
            Shortfall::Amount { needed, available, .. } => Some(needed.wrapping_sub(*available)),
            _ => None,
        }
    }
}

/// Works out what was missing when `refusal` ended the move `mv` of an instance.
pub fn shortfall(
    cluster: &Cluster,
    instance: &Instance,
    trial: &Trial<'_>,
    mv: Move,
    refusal: Refusal,
) -> Shortfall {
    let node = cluster.node(refusal.node);
    let spec = &node.spec;
    let ledger = trial.found_at(refusal.node).unwrap_or(node.state.ledger);
    let as_primary = refusal.role_is_primary;
    let mib = |resource, needed: Mib, available: Mib| Shortfall::Amount {
        resource,
        unit: "MiB",
        needed: needed.0,
        available: available.0,
    };
    let one = Mib(1);
    match refusal.rule {
        // one MiB has to stay unallocated
        Rule::Memory => mib("memory", instance.mem_in_use(), ledger.mem_unallocated(spec) - one),
        Rule::Redundancy if as_primary => {
            let free = ledger.mem_unallocated(spec) - ledger.mem_reserved - one;
            mib("memory beyond the N+1 reserve", instance.mem_in_use(), free.max(Mib::ZERO))
        }
        Rule::Redundancy => {
            let primary = mv.placement(instance).primary;
            let held = node.state.peers.get(primary);
            let free = ledger.mem_unallocated(spec) - held - one;
            mib("memory for a failover (N+1)", instance.mem_reserved(), free.max(Mib::ZERO))
        }
        Rule::MemoryForFailover => {
            mib("memory for a failover", instance.mem_reserved(), ledger.mem_unallocated(spec) - one)
        }
        Rule::PlannedMemory => {
            let needed = if as_primary { instance.mem } else { instance.mem_reserved() };
            mib("memory with all planned instances", needed, ledger.mem_free_planned - one)
        }
        Rule::Disk => mib("disk", instance.disk, ledger.disk_free - one),
        Rule::DiskReserve => mib("disk above the minimum", instance.disk, ledger.disk_free - spec.disk_low),
        Rule::PlannedDisk => {
            mib("disk with all planned instances", instance.disk, ledger.disk_free_planned - one)
        }
        Rule::PlannedDiskReserve => {
            let free = ledger.disk_free_planned - spec.disk_low;
            mib("disk above the minimum with all planned instances", instance.disk, free)
        }
        Rule::CpuRatio => vcpus("vCPUs under the policy's ratio", instance, spec, ledger.vcpus),
        Rule::PlannedCpuRatio => vcpus(
            "vCPUs under the policy's ratio with all planned instances",
            instance,
            spec,
            ledger.vcpus_planned,
        ),
        Rule::Spindles => spindles(instance, ledger.spindles_free),
        Rule::PlannedSpindles => spindles(instance, ledger.spindles_free_planned),
        Rule::SpindleRatio => spindle_use(instance, spec, ledger.spindles_used),
        Rule::PlannedSpindleRatio => spindle_use(instance, spec, ledger.spindles_used_planned),
        Rule::ExclusionTag => {
            let there = |tag: &&TagId| node.state.tag_count.get(**tag) > 0;
            Shortfall::Tags(names(cluster, instance.exclusion_tags.iter().filter(there).copied()))
        }
        Rule::MigrationTags => {
            let from = &cluster.node(trial.migrates_from(mv, refusal.node)).spec;
            let foreign = from.migration_tags.iter().filter(|tag| !spec.receivable_tags.contains(*tag));
            Shortfall::Migration(names(cluster, foreign))
        }
        Rule::NotMirrored => Shortfall::NoSecondary,
    }
}

fn vcpus(resource: &'static str, instance: &Instance, spec: &NodeSpec, used: i64) -> Shortfall {
    let limit = floor_to_i64(spec.vcpu_ratio * spec.cpu_total);
    let available = limit.wrapping_sub(used);
    Shortfall::Amount { resource, unit: "vCPUs", needed: instance.vcpus_in_use(), available }
}

fn spindles(instance: &Instance, free: i64) -> Shortfall {
    let needed = instance.spindles.unwrap_or(i64::MAX);
    Shortfall::Amount { resource: "free spindles", unit: "spindles", needed, available: free }
}

fn spindle_use(instance: &Instance, spec: &NodeSpec, used: f64) -> Shortfall {
    let available = floor_to_i64(spec.spindle_limit - used);
    let resource = "spindle weight under the policy's ratio";
    Shortfall::Amount { resource, unit: "spindles", needed: instance.spindle_use, available }
}

fn names(cluster: &Cluster, tags: impl Iterator<Item = TagId>) -> Vec<String> {
    tags.map(|tag| cluster.tag_table.name(tag).to_owned()).collect()
}

impl Trial<'_> {
    /// The numbers that the instance finds on one of its own nodes: without
    /// itself. Nothing for other nodes.
    fn found_at(&self, node: crate::model::NodeIdx) -> Option<Ledger> {
        if node == self.instance().primary {
            return Some(*self.primary_left());
        }
        self.mirror_left().filter(|_| Some(node) == self.instance().mirror()).copied()
    }

    /// The node from which a move migrates the instance to `to`.
    fn migrates_from(&self, mv: Move, to: crate::model::NodeIdx) -> crate::model::NodeIdx {
        let instance = self.instance();
        match (mv, instance.mirror()) {
            (Move::ReplacePrimary(target), Some(mirror)) if target == to => mirror,
            _ => instance.primary,
        }
    }
}
