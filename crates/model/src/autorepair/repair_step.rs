//! Steps of a repair, and notes for instances that are not repaired.

use super::RepairKind;
use crate::{Move, Placement};

/// One of the nodes of a DRBD instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSide {
    /// The node where the instance runs.
    Primary,
    /// The node with the other copy.
    Secondary,
}

/// One step of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairStep {
    /// Connect the copies of the disks with each other.
    Activate,
    /// Rebuild these disks on the side where they are lost.
    Renew(DiskSide, Vec<i64>),
    /// Live-migrate the instance.
    Migrate(Move),
    /// Start the instance on another node, or copy its disks to one.
    Move(Move),
    /// Stop the instance if it should run.
    Stop,
    /// Create empty disks on these nodes.
    Recreate(Placement),
    /// Install the operating system.
    Reinstall,
    /// Start the instance if it should run.
    Start,
}

/// Note to tag an instance with when no repair is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairNote {
    /// The repair needs more than is permitted.
    NoPermission(RepairKind),
    /// The last repair succeeded but did not mend the fault.
    InVain,
    /// A repair has failed: no more are tried until an administrator has looked at it.
    Suspend,
}
