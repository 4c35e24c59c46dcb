//! What is missing where a node refuses an instance.

use super::moves::{Refusal, Trial};
use crate::model::units::floor_to_i64;
use crate::model::{
    Cluster, DiskTemplate, Instance, Ledger, Mib, Move, NodeIdx, NodeSpec, PolicyBreach, Rule, TagId,
};

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
    /// A size that the policy does not accept.
    Range {
        /// What, e.g. "memory".
        resource: &'static str,
        /// The unit of the amounts.
        unit: &'static str,
        /// What the instance has; nothing if that is not known.
        found: Option<i64>,
        /// The least and the most that is accepted.
        accepted: (i64, i64),
    },
    /// A disk template that the policy does not list.
    Template(DiskTemplate),
}

impl Shortfall {
    /// How much is missing, of what is counted.
    pub fn missing(&self) -> Option<i64> {
        match self {
            Shortfall::Amount { needed, available, .. } => Some(needed.wrapping_sub(*available)),
            _ => None,
        }
    }

    /// How much is missing in proportion to what is needed: what comes first is nearest
    /// to being possible. Infinite where no amount would help.
    pub fn relative(&self) -> f64 {
        let share = |missing: i64, of: i64| missing as f64 / of.max(1) as f64;
        match self {
            Shortfall::Amount { needed, available, .. } => share(needed.saturating_sub(*available), *needed),
            Shortfall::Tags(tags) => tags.len() as f64,
            Shortfall::Range { found: Some(found), accepted: (min, max), .. } => {
                let outside = min.saturating_sub(*found).max(found.saturating_sub(*max));
                share(outside, if found < min { *min } else { *max })
            }
            _ => f64::INFINITY,
        }
    }
}

impl From<PolicyBreach> for Shortfall {
    fn from(breach: PolicyBreach) -> Shortfall {
        let range = |resource, unit, found, accepted| Shortfall::Range { resource, unit, found, accepted };
        let mib = |resource, found: Mib, range: (Mib, Mib)| Shortfall::Range {
            resource,
            unit: "MiB",
            found: Some(found.0),
            accepted: (range.0.0, range.1.0),
        };
        match breach {
            PolicyBreach::Memory { found, range } => mib("memory", found, range),
            PolicyBreach::DiskSize { found, range } => mib("size of a disk", found, range),
            PolicyBreach::Cpus { found, range: accepted } => range("vCPUs", "vCPUs", Some(found), accepted),
            PolicyBreach::Spindles { found, range: accepted } => {
                range("spindles", "spindles", found, accepted)
            }
            PolicyBreach::DiskCount { found, range: accepted } => {
                range("number of disks", "disks", Some(found), accepted)
            }
            PolicyBreach::Template(template) => Shortfall::Template(template),
        }
    }
}

/// How a node is to serve an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// As its primary node.
    Primary,
    /// As the secondary node for this primary.
    SecondaryOf(NodeIdx),
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
    let ledger = trial.found_at(refusal.node).unwrap_or(node.state.ledger);
    if refusal.rule == Rule::MigrationTags {
        let from = trial.migrates_from(mv, refusal.node);
        return Shortfall::Migration(foreign_tags(cluster, from, refusal.node));
    }
    let primary = mv.placement(instance).primary;
    let role = if refusal.role_is_primary { Role::Primary } else { Role::SecondaryOf(primary) };
    at_node(cluster, instance, (refusal.node, &ledger), role, refusal.rule)
}

/// The migration tags of one node that another cannot receive.
pub fn foreign_tags(cluster: &Cluster, from: NodeIdx, to: NodeIdx) -> Vec<String> {
    let received = &cluster.node(to).spec.receivable_tags;
    let tags = &cluster.node(from).spec.migration_tags;
    names(cluster, tags.iter().filter(|tag| !received.contains(*tag)))
}

/// Works out what was missing when `rule` kept a node, with these numbers, from taking an
/// instance.
pub fn at_node(
    cluster: &Cluster,
    instance: &Instance,
    (node, ledger): (NodeIdx, &Ledger),
    role: Role,
    rule: Rule,
) -> Shortfall {
    let node = cluster.node(node);
    let spec = &node.spec;
    let mib = |resource, needed: Mib, available: Mib| Shortfall::Amount {
        resource,
        unit: "MiB",
        needed: needed.0,
        available: available.0,
    };
    let one = Mib(1);
    match (rule, role) {
        // one MiB has to stay unallocated
        (Rule::Memory, _) => mib("memory", instance.mem_in_use(), ledger.mem_unallocated(spec) - one),
        (Rule::Redundancy, Role::Primary) => {
            let free = ledger.mem_unallocated(spec) - ledger.mem_reserved - one;
            mib("memory beyond the N+1 reserve", instance.mem_in_use(), free.max(Mib::ZERO))
        }
        (Rule::Redundancy, Role::SecondaryOf(primary)) => {
            let held = node.state.peers.get(primary);
            let free = ledger.mem_unallocated(spec) - held - one;
            mib("memory for a failover (N+1)", instance.mem_reserved(), free.max(Mib::ZERO))
        }
        (Rule::MemoryForFailover, _) => {
            mib("memory for a failover", instance.mem_reserved(), ledger.mem_unallocated(spec) - one)
        }
        (Rule::PlannedMemory, _) => {
            let needed = if role == Role::Primary { instance.mem } else { instance.mem_reserved() };
            mib("memory with all planned instances", needed, ledger.mem_free_planned - one)
        }
        (Rule::Disk, _) => mib("disk", instance.disk, ledger.disk_free - one),
        (Rule::DiskReserve, _) => {
            mib("disk above the minimum", instance.disk, ledger.disk_free - spec.disk_low)
        }
        (Rule::PlannedDisk, _) => {
            mib("disk with all planned instances", instance.disk, ledger.disk_free_planned - one)
        }
        (Rule::PlannedDiskReserve, _) => {
            let free = ledger.disk_free_planned - spec.disk_low;
            mib("disk above the minimum with all planned instances", instance.disk, free)
        }
        (Rule::CpuRatio, _) => vcpus("vCPUs under the policy's ratio", instance, spec, ledger.vcpus),
        (Rule::PlannedCpuRatio, _) => vcpus(
            "vCPUs under the policy's ratio with all planned instances",
            instance,
            spec,
            ledger.vcpus_planned,
        ),
        (Rule::Spindles, _) => spindles(instance, ledger.spindles_free),
        (Rule::PlannedSpindles, _) => spindles(instance, ledger.spindles_free_planned),
        (Rule::SpindleRatio, _) => spindle_use(instance, spec, ledger.spindles_used),
        (Rule::PlannedSpindleRatio, _) => spindle_use(instance, spec, ledger.spindles_used_planned),
        (Rule::ExclusionTag, _) => {
            let there = |tag: &&TagId| node.state.tag_count.get(**tag) > 0;
            Shortfall::Tags(names(cluster, instance.exclusion_tags.iter().filter(there).copied()))
        }
        // migrations are between nodes, and their shortfall is worked out there
        (Rule::NotMirrored | Rule::MigrationTags, _) => Shortfall::NoSecondary,
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
    fn found_at(&self, node: NodeIdx) -> Option<Ledger> {
        if node == self.instance().primary {
            return Some(*self.primary_left());
        }
        self.mirror_left().filter(|_| Some(node) == self.instance().mirror()).copied()
    }

    /// The node from which a move migrates the instance to `to`.
    fn migrates_from(&self, mv: Move, to: NodeIdx) -> NodeIdx {
        let instance = self.instance();
        match (mv, instance.mirror()) {
            (Move::ReplacePrimary(target), Some(mirror)) if target == to => mirror,
            _ => instance.primary,
        }
    }
}
