//! The lack of a node that refuses an instance.

use crate::place::kept_room::{RoomGuard, RoomNumbers, ends};
use crate::place::{Conditions, PlaceTester};
use htools_model::units::floor_to_i64;
use htools_model::{
    Cluster, DiskTemplate, Instance, Ledger, Mib, NodeIdx, Obstacle, Placement, PolicyBreach, ReserveChange,
    Rule, TagId,
};

/// The required amount and the available one.
#[derive(Debug, Clone, PartialEq)]
pub enum Shortfall {
    /// Too small an amount of a resource.
    Amount {
        /// Name of the resource, such as "memory".
        resource: &'static str,
        /// The unit of the amounts.
        unit: &'static str,
        /// Amount that the instance needs.
        needed: i64,
        /// Amount that it could have.
        available: i64,
    },
    /// Exclusion tags that primaries of the node already have.
    Tags(Vec<String>),
    /// Migration tags that the node cannot receive.
    Migration(Vec<String>),
    /// Storage pools of the instance that the node does not reach.
    Pools(Vec<String>),
    /// A constraint of the cluster keeps the instance off the node.
    KeptOut,
    /// The node takes nothing more (`--no-target`).
    ClosedNode,
    /// The node would rise above a limit of its use (`--only-if`).
    UseLimit,
    /// The instance has no secondary.
    NoSecondary,
    /// A size that the policy does not accept.
    Range {
        /// Name of the resource, such as "memory".
        resource: &'static str,
        /// The unit of the amounts.
        unit: &'static str,
        /// Size of the instance; `None` if it is unknown.
        found: Option<i64>,
        /// The smallest and the largest accepted size.
        accepted: (i64, i64),
    },
    /// A disk template that the policy does not list.
    Template(DiskTemplate),
}

impl Shortfall {
    /// The migration tags of one node that another cannot receive.
    pub(super) fn migration(cluster: &Cluster, from: NodeIdx, to: NodeIdx) -> Shortfall {
        let received = &cluster.node(to).spec.receivable_tags;
        let tags = &cluster.node(from).spec.migration_tags;
        Shortfall::Migration(names(cluster, tags.iter().filter(|tag| !received.contains(*tag))))
    }

    /// The lack of a group's reserve for the loss of several nodes at once, in MiB, before and after an
    /// instance comes.
    pub(super) fn group_reserve(ReserveChange { before, after }: ReserveChange) -> Shortfall {
        let amount = |amount: i128| i64::try_from(amount).unwrap_or(i64::MAX);
        Shortfall::Amount {
            resource: "memory of the group beyond the reserve that is kept",
            unit: "MiB",
            needed: amount(before.max(1).saturating_sub(after)),
            available: amount((before - 1).max(0)),
        }
    }

    /// The lack of room for further instances after an instance has come.
    pub(super) fn kept_room(RoomNumbers { needed, fitting }: RoomNumbers) -> Shortfall {
        Shortfall::Amount {
            resource: "room for further instances",
            unit: "instances",
            needed,
            available: fitting,
        }
    }

    /// The missing amount, if the lack is an amount.
    pub fn missing(&self) -> Option<i64> {
        match self {
            Shortfall::Amount { needed, available, .. } => Some(needed.wrapping_sub(*available)),
            _ => None,
        }
    }

    /// The lack relative to the need; the smallest is nearest to being possible. Infinite if no amount would
    /// help.
    pub(crate) fn relative(&self) -> f64 {
        let share = |missing: i64, whole: i64| missing as f64 / whole.max(1) as f64;
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
        let mib = |resource, found: Mib, (min, max): (Mib, Mib)| {
            range(resource, "MiB", Some(found.0), (min.0, max.0))
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

/// Computes the lack behind `obstacle`, which keeps a node from taking an instance. `ledger` is that of the node,
/// and `primary` would be the primary node of the instance.
pub fn missing(
    cluster: &Cluster,
    instance: &Instance,
    primary: NodeIdx,
    node: NodeIdx,
    ledger: &Ledger,
    obstacle: Obstacle,
) -> Option<Shortfall> {
    let (rule, is_primary) = match obstacle {
        Obstacle::Policy(breach) => return Some(breach.into()),
        Obstacle::Primary(rule) => (rule, true),
        Obstacle::Secondary(rule) => (rule, false),
        Obstacle::Expendability | Obstacle::Offline | Obstacle::Lost => return None,
    };
    let there = cluster.node(node);
    let spec = &there.spec;
    let unallocated = ledger.mem_unallocated(spec);
    let amount = |resource, unit, needed, available| Shortfall::Amount { resource, unit, needed, available };
    let mib = |resource, needed: Mib, available: Mib| amount(resource, "MiB", needed.0, available.0);
    let vcpus = |resource, used: i64| {
        let limit = floor_to_i64(spec.vcpu_ratio * spec.cpu_total);
        amount(resource, "vCPUs", instance.vcpus_in_use(), limit.wrapping_sub(used))
    };
    let spindles =
        |free: i64| amount("free spindles", "spindles", instance.spindles.unwrap_or(i64::MAX), free);
    let spindle_use = |used: f64| {
        let available = floor_to_i64(spec.spindle_limit - used);
        amount("spindle weight under the policy's ratio", "spindles", instance.spindle_use, available)
    };
    // This much must stay free.
    let one = Mib(1);
    Some(match rule {
        Rule::Memory => mib("memory", instance.mem_in_use(), unallocated - one),
        Rule::Redundancy if is_primary => {
            let free = (unallocated - ledger.mem_reserved - one).max(Mib::ZERO);
            mib("memory beyond the N+1 reserve", instance.mem_in_use(), free)
        }
        Rule::Redundancy => {
            let free = (unallocated - there.state.peers.get(primary) - one).max(Mib::ZERO);
            mib("memory for a failover (N+1)", instance.mem_reserved(), free)
        }
        Rule::JointReserve if is_primary => {
            let free = (unallocated - ledger.joint.sum - one).max(Mib::ZERO);
            mib("memory beyond the reserve that is kept", instance.mem_in_use(), free)
        }
        Rule::JointReserve => {
            let peer = there.state.peers.get(primary);
            let grows = ledger.joint.raised(peer, instance.mem_reserved()).sum - ledger.joint.sum;
            let free = (unallocated - ledger.joint.sum - one).max(Mib::ZERO);
            mib("memory for the reserve that is kept", grows, free)
        }
        Rule::GroupReserve => {
            let reserve = cluster.reserve_for_newcomer(instance, spec)?;
            return Some(Shortfall::group_reserve(reserve.change(node)));
        }
        Rule::KeptRoom => {
            let alone = Placement { primary, secondary: None };
            let place = PlaceTester::new(cluster, instance, &Conditions::default()).at(alone).ok()?;
            let numbers = RoomGuard::of(cluster, false).numbers(cluster, &ends(&place))?;
            return Some(Shortfall::kept_room(numbers));
        }
        Rule::MemoryForFailover => mib("memory for a failover", instance.mem_reserved(), unallocated - one),
        Rule::PlannedMemory => {
            let needed = if is_primary { instance.mem } else { instance.mem_reserved() };
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
        Rule::CpuRatio => vcpus("vCPUs under the policy's ratio", ledger.vcpus),
        Rule::UseLimit => Shortfall::UseLimit,
        Rule::PlannedCpuRatio => {
            vcpus("vCPUs under the policy's ratio with all planned instances", ledger.vcpus_planned)
        }
        Rule::Spindles => spindles(ledger.spindles_free),
        Rule::PlannedSpindles => spindles(ledger.spindles_free_planned),
        Rule::SpindleRatio => spindle_use(ledger.spindles_used),
        Rule::PlannedSpindleRatio => spindle_use(ledger.spindles_used_planned),
        Rule::ExclusionTag => {
            let met = |tag: &TagId| there.state.tag_count.get(*tag) > 0;
            Shortfall::Tags(names(cluster, instance.exclusion_tags.iter().copied().filter(met)))
        }
        Rule::MigrationTags => Shortfall::migration(cluster, instance.primary, node),
        Rule::NotMirrored => Shortfall::NoSecondary,
        Rule::KeptOut => Shortfall::KeptOut,
        Rule::ClosedNode => Shortfall::ClosedNode,
        Rule::Pool => {
            let missing = instance.needs.without(&spec.offers).filter(|need| Some(*need) != instance.open);
            Shortfall::Pools(missing.map(|tag| cluster.tag_table.pool_name(tag).to_owned()).collect())
        }
    })
}

fn names(cluster: &Cluster, tags: impl Iterator<Item = TagId>) -> Vec<String> {
    tags.map(|tag| cluster.tag_table.name(tag).to_owned()).collect()
}
