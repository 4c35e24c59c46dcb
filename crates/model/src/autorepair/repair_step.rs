//! What repairs are made of, and what is noted without one.

use super::RepairKind;
use crate::{Move, Placement};

/// One of the nodes of a DRBD instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSide {
    /// Where it runs.
    Primary,
    /// Where the other copy is.
    Secondary,
}

/// A part of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairStep {
    /// The copies of the disks are connected with each other.
    Activate,
    /// Copies of these disks are made anew where they are lost.
    Renew(DiskSide, Vec<i64>),
    /// The instance moves as it runs.
    Migrate(Move),
    /// The instance is started elsewhere, or its disks are copied to another node.
    Move(Move),
    /// The instance is stopped, if it should run.
    Stop,
    /// Empty disks are made on these nodes.
    Recreate(Placement),
    /// The operating system is installed.
    Reinstall,
    /// The instance is started, if it should run.
    Start,
}

/// What a tag is to say of an instance for which nothing is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairNote {
    /// That it needs more than what is permitted.
    NoPermission(RepairKind),
    /// That the last repair, which ended well, has mended nothing.
    InVain,
    /// After one that has failed, that nothing is tried any more until somebody has looked.
    Suspend,
}
