//! Classes of instances by how they survive the loss of their primary node.

use super::index::NodeIdx;
use super::instance::Instance;
use super::kinds::DiskTemplate;

/// Recovery that an instance needs when its primary node is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Fail over to its secondary.
    Failover,
    /// Start on any other node that reaches its storage.
    Relocate,
    /// Create it anew: its disks are lost with the node.
    Recreate,
}

impl Class {
    /// The class of a disk template. As in Ganeti, block devices count as lost, although balancing moves them.
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

/// Tells if an instance whose primary node is lost has lost its disks as well; `is_lost` names the lost nodes.
pub fn loses_data(instance: &Instance, is_lost: impl Fn(NodeIdx) -> bool) -> bool {
    match Class::of(instance.template) {
        Class::Failover => instance.mirror().is_none_or(is_lost),
        Class::Relocate => false,
        Class::Recreate => true,
    }
}
