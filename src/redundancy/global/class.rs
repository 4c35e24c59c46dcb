//! How an instance survives the loss of its primary node.

use crate::model::DiskTemplate;

/// What has to be done with an instance whose node is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Its secondary takes over.
    Failover,
    /// Any node that reaches the storage can run it.
    Relocate,
    /// Its disks are lost with the node: it is created anew.
    Recreate,
}

impl Class {
    /// The class of a disk template, as in Ganeti: block devices count as lost
    /// although balancing moves them, diskless instances as relocatable although
    /// it does not.
    pub fn of(template: DiskTemplate) -> Class {
        match template {
            DiskTemplate::Drbd => Class::Failover,
            DiskTemplate::File | DiskTemplate::Plain | DiskTemplate::BlockDev => Class::Recreate,
            DiskTemplate::Diskless
            | DiskTemplate::SharedFile
            | DiskTemplate::Rbd
            | DiskTemplate::Ext
            | DiskTemplate::Gluster => Class::Relocate,
        }
    }
}
