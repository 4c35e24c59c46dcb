//! Which instances are broken, what would mend each of them, and whether that may be done: harep's decisions.
//!
//! What may be done is said by tags ([`permission`]), and what is under way or has failed, too ([`RepairHistory`]). A decision is
//! made for each instance by itself.

use crate::model::autorepair::{
    Contradiction, RepairHistory, RepairKind, RepairPermission, RepairState, permission,
};
use crate::model::{Cluster, DiskTemplate, Instance, InstanceIdx};

/// What is wrong with an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// Its secondary node is out of use: the next failure takes the instance away.
    SecondaryOut,
    /// Its primary node is out of use, and the secondary is not.
    PrimaryOut,
    /// All nodes that have its disks are out of use.
    AllOut,
}

impl Damage {
    /// What is wrong with an instance whose disks are on its nodes; others can be started anywhere, which is no
    /// repair of theirs. Nodes that are drained or run no instances are out of use.
    pub fn of(cluster: &Cluster, instance: &Instance) -> Option<Damage> {
        let is_out = |node| cluster.node(node).spec.offline;
        let primary_out = is_out(instance.primary);
        match instance.template {
            DiskTemplate::Drbd => match (primary_out, instance.mirror().map(is_out)) {
                (true, Some(true) | None) => Some(Damage::AllOut),
                (true, Some(false)) => Some(Damage::PrimaryOut),
                (false, Some(true)) => Some(Damage::SecondaryOut),
                (false, Some(false) | None) => None,
            },
            DiskTemplate::Plain => primary_out.then_some(Damage::AllOut),
            _ => None,
        }
    }

    /// What mends it.
    pub fn repair(self) -> RepairKind {
        match self {
            Damage::SecondaryOut => RepairKind::FixStorage,
            Damage::PrimaryOut => RepairKind::Failover,
            Damage::AllOut => RepairKind::Reinstall,
        }
    }
}

/// What is to be done about an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairDecision {
    /// Nothing: it is well.
    Well,
    /// A repair.
    Repair(RepairKind),
    /// The repair that it needs is more than what is permitted.
    BeyondPermission {
        /// What it needs.
        needed: RepairKind,
        /// What is permitted.
        permitted: RepairKind,
    },
    /// Nothing is permitted.
    NotPermitted(RepairPermission),
    /// A repair is under way.
    UnderWay,
    /// A repair has failed; somebody has to look.
    Failed,
    /// Its tags contradict each other; somebody has to look.
    Unclear(Box<Contradiction>),
}

/// What is to be done about an instance at a moment, in seconds since 1970, by its tags as they are in the cluster.
pub fn decide(cluster: &Cluster, instance: InstanceIdx, now: i64) -> RepairDecision {
    let its = cluster.instance(instance);
    match RepairHistory::of(&its.tags) {
        Err(contradiction) => return RepairDecision::Unclear(contradiction),
        Ok(RepairHistory { state: RepairState::Pending(_), .. }) => return RepairDecision::UnderWay,
        Ok(RepairHistory { state: RepairState::Failure(_), .. }) => return RepairDecision::Failed,
        Ok(RepairHistory { state: RepairState::Healthy(_), .. }) => {}
    }
    let Some(damage) = Damage::of(cluster, its) else { return RepairDecision::Well };
    let needed = damage.repair();
    match permission(cluster, instance, now) {
        RepairPermission::UpTo(permitted) if needed <= permitted => RepairDecision::Repair(needed),
        RepairPermission::UpTo(permitted) => RepairDecision::BeyondPermission { needed, permitted },
        refused => RepairDecision::NotPermitted(refused),
    }
}

#[cfg(test)]
mod tests;
