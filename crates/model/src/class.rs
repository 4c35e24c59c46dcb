//! How an instance survives the loss of its primary node.

use super::index::NodeIdx;
use super::instance::Instance;
use super::kinds::DiskTemplate;

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
    /// although balancing moves them.
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

/// Whether an instance whose node is lost has lost its disks as well, given which nodes are.
pub fn loses_data(instance: &Instance, is_lost: impl Fn(NodeIdx) -> bool) -> bool {
    match Class::of(instance.template) {
        Class::Failover => instance.mirror().is_none_or(is_lost),
        Class::Relocate => false,
        Class::Recreate => true,
    }
}
