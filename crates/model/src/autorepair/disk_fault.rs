//! Disk faults of an instance whose nodes are both in use.

/// Fault of the copies of a DRBD instance's disks. Disks are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskFault {
    /// Both copies are there, but they are not connected.
    Apart,
    /// The secondary node has lost its copies of these disks.
    SecondaryLost(Vec<i64>),
    /// The primary node has lost its copies of these disks: the instance works on those of its secondary.
    PrimaryLost(Vec<i64>),
    /// Each of the nodes has lost copies.
    BothLost,
}

/// State of the two copies of one disk, as Ganeti reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskSight {
    /// The primary node cannot use its own copy.
    pub primary_lost: bool,
    /// The secondary node cannot use its copy.
    pub secondary_lost: bool,
    /// Changes do not reach the other node, and no resynchronisation is under way.
    pub degraded: bool,
}

impl DiskFault {
    /// Returns the fault of an instance's disks, if there is one.
    pub fn of(disks: &[DiskSight]) -> Option<DiskFault> {
        let those = |lost: fn(&DiskSight) -> bool| -> Vec<i64> {
            (0..).zip(disks).filter(|(_, disk)| lost(disk)).map(|(at, _)| at).collect()
        };
        let (primary, secondary) = (those(|disk| disk.primary_lost), those(|disk| disk.secondary_lost));
        match (primary.is_empty(), secondary.is_empty()) {
            (false, false) => Some(DiskFault::BothLost),
            (false, true) => Some(DiskFault::PrimaryLost(primary)),
            (true, false) => Some(DiskFault::SecondaryLost(secondary)),
            (true, true) => disks.iter().any(|disk| disk.degraded).then_some(DiskFault::Apart),
        }
    }
}
