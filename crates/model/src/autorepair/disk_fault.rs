//! What is wrong with the disks of an instance whose nodes are both in use.

/// What is wrong with copies of the disks of a DRBD instance. Disks are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskFault {
    /// The two copies do not speak to each other, and both are there.
    Apart,
    /// The secondary node has lost its copies of these disks.
    SecondaryLost(Vec<i64>),
    /// The primary node has lost its copies of these disks: the instance works on those of its secondary.
    PrimaryLost(Vec<i64>),
    /// Each of the nodes has lost copies.
    BothLost,
}

/// How much of one disk there is, by what Ganeti says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskSight {
    /// Whether the instance's node cannot use its own copy.
    pub primary_lost: bool,
    /// Whether the other node cannot use its copy.
    pub secondary_lost: bool,
    /// Whether changes do not get to the other node, and nothing is being done about it.
    pub degraded: bool,
}

impl DiskFault {
    /// What is wrong with the disks of an instance, if something is.
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
