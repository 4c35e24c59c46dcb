//! Damage to an instance, and the kind of repair for it.

use htools_model::autorepair::{DiskFault, RepairKind};
use htools_model::{Cluster, DiskTemplate, Instance, Mirroring, NodeIdx, Outage, RunStatus};

/// Damage to an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// It should run, its node is well, but it does not run.
    Down,
    /// A copy of its disks is damaged or missing.
    Disks(DiskFault),
    /// Its secondary node is out of use, so that the next failure stops the instance.
    SecondaryOut,
    /// Its primary node is drained, and it can migrate to another one.
    PrimaryDrained,
    /// Its primary node is offline, and its disks are available on another one.
    PrimaryOut,
    /// All nodes with its disks are offline.
    AllOut,
    /// A node with its disks does not answer but is not marked offline, so the instance may still run there.
    Silent(NodeIdx),
    /// Its primary node is offline, and the other node with its disks is drained, so that Ganeti does not start
    /// it there.
    Blocked(NodeIdx),
    /// It runs on a different node than Ganeti expects.
    Elsewhere,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeUse {
    Well,
    Drained,
    Out,
    Silent,
}

fn use_of(cluster: &Cluster, node: NodeIdx) -> NodeUse {
    let spec = &cluster.node(node).spec;
    match (spec.offline, spec.outage) {
        (false, _) => NodeUse::Well,
        (true, Outage::Marked) => NodeUse::Out,
        (true, Outage::Drained) => NodeUse::Drained,
        (true, Outage::Silent) => NodeUse::Silent,
    }
}

impl Damage {
    /// The damage to an instance, if any; `disks` is the known state of its disks.
    pub(crate) fn of(cluster: &Cluster, instance: &Instance, disks: Option<&DiskFault>) -> Option<Damage> {
        if instance.forthcoming {
            return None;
        }
        let primary = use_of(cluster, instance.primary);
        match (instance.template.mirroring(), instance.mirror()) {
            (Mirroring::Internal, mirror) => of_mirrored(cluster, instance, primary, mirror, disks),
            (Mirroring::External, _) => match primary {
                NodeUse::Well => of_status(instance),
                NodeUse::Drained => Some(Damage::PrimaryDrained),
                NodeUse::Out => Some(Damage::PrimaryOut),
                NodeUse::Silent => Some(Damage::Silent(instance.primary)),
            },
            (Mirroring::None, _) => match primary {
                NodeUse::Out => Some(Damage::AllOut),
                NodeUse::Silent => Some(Damage::Silent(instance.primary)),
                // An instance on a drained node has all that it needs.
                NodeUse::Well | NodeUse::Drained => of_status(instance),
            },
        }
    }

    /// The kind of repair; `None` if a person must look at it.
    pub(crate) fn repair(&self) -> Option<RepairKind> {
        match self {
            Damage::SecondaryOut => Some(RepairKind::FixStorage),
            Damage::Disks(fault) => (*fault != DiskFault::BothLost).then_some(RepairKind::FixStorage),
            Damage::PrimaryDrained => Some(RepairKind::Migrate),
            Damage::PrimaryOut | Damage::Down => Some(RepairKind::Failover),
            Damage::AllOut => Some(RepairKind::Reinstall),
            Damage::Silent(_) | Damage::Blocked(_) | Damage::Elsewhere => None,
        }
    }

    /// Urgency if not everything can be repaired at once; lower is more urgent. First come instances that do
    /// not run, then those that the next failure would stop, then healthy ones that should move.
    pub(crate) fn urgency(&self) -> u8 {
        match self {
            Damage::PrimaryOut => 0,
            Damage::Down => 1,
            Damage::AllOut => 2,
            Damage::Disks(DiskFault::PrimaryLost(_)) => 3,
            Damage::Disks(_) | Damage::SecondaryOut => 4,
            Damage::PrimaryDrained => 5,
            Damage::Silent(_) | Damage::Blocked(_) | Damage::Elsewhere => 6,
        }
    }
}

fn of_mirrored(
    cluster: &Cluster,
    instance: &Instance,
    primary: NodeUse,
    mirror: Option<NodeIdx>,
    disks: Option<&DiskFault>,
) -> Option<Damage> {
    let secondary = mirror.map(|mirror| use_of(cluster, mirror));
    match (primary, secondary) {
        (NodeUse::Silent, _) => Some(Damage::Silent(instance.primary)),
        (NodeUse::Out, Some(NodeUse::Well)) => Some(Damage::PrimaryOut),
        (NodeUse::Out, None | Some(NodeUse::Out)) => Some(Damage::AllOut),
        (NodeUse::Out, Some(NodeUse::Drained)) => mirror.map(Damage::Blocked),
        (_, Some(NodeUse::Silent)) => mirror.map(Damage::Silent),
        (_, Some(NodeUse::Out | NodeUse::Drained)) => Some(Damage::SecondaryOut),
        (NodeUse::Drained, Some(NodeUse::Well)) => Some(Damage::PrimaryDrained),
        (NodeUse::Well, Some(NodeUse::Well)) => {
            of_status(instance).or_else(|| disks.cloned().map(Damage::Disks))
        }
        (NodeUse::Well | NodeUse::Drained, None) => of_status(instance),
    }
}

/// The damage to an instance whose node is well.
fn of_status(instance: &Instance) -> Option<Damage> {
    match instance.status {
        RunStatus::ErrorDown => Some(Damage::Down),
        RunStatus::ErrorWrongNode => Some(Damage::Elsewhere),
        _ => None,
    }
}

/// Returns true if the state of the instance's disks must be queried: everything else is well, so they decide.
pub fn disks_matter(cluster: &Cluster, instance: &Instance) -> bool {
    let is_well = |node: NodeIdx| use_of(cluster, node) == NodeUse::Well;
    instance.template == DiskTemplate::Drbd
        && instance.status.is_running()
        && instance.mirror().is_some_and(is_well)
        && is_well(instance.primary)
}
