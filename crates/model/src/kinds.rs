//! The enumerations of the domain: disk templates, run states, allocation
//! policies, hypervisors. Each has one text form, used by every format.

/// A text that names no value of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{value}' is not a {what} (one of {})", .allowed.join(", "))]
pub struct UnknownName {
    /// Kind of value that was expected, e.g. "disk template".
    pub what: &'static str,
    /// The text found.
    pub value: String,
    /// The texts that are accepted.
    pub allowed: Vec<&'static str>,
}

/// Defines an enumeration whose values have one text form each.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// All values, in canonical order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// Their text forms.
            pub const WORDS: &'static [&'static str] = &[$($text),+];

            /// The text form.
            pub const fn as_str(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownName;
            fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|v| v.as_str() == text).ok_or_else(|| $crate::UnknownName {
                    what: $what,
                    value: text.to_owned(),
                    allowed: Self::WORDS.to_vec(),
                })
            }
        }
    };
}
words!(
    /// Disk template: the storage of an instance's disks.
    pub DiskTemplate, "disk template" {
        /// No disks at all.
        Diskless = "diskless",
        /// Files on the node.
        File = "file",
        /// Files on storage that all nodes share.
        SharedFile = "sharedfile",
        /// Logical volumes on the node.
        Plain = "plain",
        /// An existing block device.
        BlockDev = "blockdev",
        /// Logical volumes mirrored between two nodes.
        Drbd = "drbd",
        /// Ceph block devices.
        Rbd = "rbd",
        /// An external storage provider.
        Ext = "ext",
        /// Gluster volumes.
        Gluster = "gluster",
    }
);

/// Keeper of the copies of an instance's disks; decides which moves exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mirroring {
    /// No copies: the instance stays on its node.
    None,
    /// A secondary node (DRBD).
    Internal,
    /// The storage itself: any node can run the instance.
    External,
}

impl DiskTemplate {
    /// Keeper of the copies of the disks.
    pub fn mirroring(self) -> Mirroring {
        match self {
            DiskTemplate::Drbd => Mirroring::Internal,
            DiskTemplate::File | DiskTemplate::Plain => Mirroring::None,
            _ => Mirroring::External,
        }
    }

    /// Tells if disk and spindles count against the node. `file` does not, on purpose: nodes report their volume groups
    /// only.
    pub fn uses_local_storage(self) -> bool {
        matches!(self, DiskTemplate::Plain | DiskTemplate::Drbd)
    }

    /// Tells if instances can move without a stop: their disks are not on their own node alone.
    pub fn is_movable(self) -> bool {
        self.mirroring() != Mirroring::None
    }

    /// Tells if the disks are outside the nodes. False without disks.
    pub fn uses_external_storage(self) -> bool {
        self.mirroring() == Mirroring::External && self != DiskTemplate::Diskless
    }

    /// Tells if instances have a secondary node.
    pub fn has_secondary(self) -> bool {
        self == DiskTemplate::Drbd
    }
}

words!(
    /// The state of an instance, as Ganeti reports it.
    pub RunStatus, "instance status" {
        /// Up, as it should be.
        Running = "running",
        /// Stopped by the administrator.
        AdminDown = "ADMIN_down",
        /// Taken out of service; reserves nothing.
        AdminOffline = "ADMIN_offline",
        /// Should be up and is not.
        ErrorDown = "ERROR_down",
        /// Should be down and is up.
        ErrorUp = "ERROR_up",
        /// Its node does not answer.
        ErrorNodeDown = "ERROR_nodedown",
        /// Its node is marked offline.
        ErrorNodeOffline = "ERROR_nodeoffline",
        /// Runs on another node than recorded.
        ErrorWrongNode = "ERROR_wrongnode",
        /// Stopped from inside.
        UserDown = "USER_down",
    }
);

impl RunStatus {
    /// Running: moves are live migrations, not failovers.
    pub fn is_running(self) -> bool {
        matches!(self, RunStatus::Running | RunStatus::ErrorUp)
    }

    /// Out of service: counts no vCPUs and no reserved memory.
    pub fn is_offline(self) -> bool {
        self == RunStatus::AdminOffline
    }

    /// Tells if its memory is, or should be, in use on the primary node.
    pub fn uses_memory(self) -> bool {
        matches!(
            self,
            RunStatus::Running
                | RunStatus::ErrorUp
                | RunStatus::ErrorNodeDown
                | RunStatus::ErrorNodeOffline
                | RunStatus::ErrorWrongNode
        )
    }
}

words!(
    /// Allocation policy of a group for new instances, best first.
    pub AllocPolicy, "allocation policy" {
        /// Used first.
        Preferred = "preferred",
        /// Used when no preferred group has room.
        LastResort = "last_resort",
        /// Never used.
        Unallocable = "unallocable",
    }
);

words!(
    /// The hypervisor of a node; only kvm is treated specially.
    pub Hypervisor, "hypervisor" {
        /// KVM: the node's own memory cannot be measured (see `--static-kvm-node-memory`).
        Kvm = "kvm",
        /// Xen, paravirtualised.
        XenPvm = "xen-pvm",
        /// Xen, hardware-assisted.
        XenHvm = "xen-hvm",
        /// A change-root environment.
        Chroot = "chroot",
        /// Linux containers.
        Lxc = "lxc",
        /// Ganeti's test stand-in.
        Fake = "fake",
    }
);

words!(
    /// The instances to evacuate from a node.
    pub EvacMode, "evacuation mode" {
        /// Primary instances move away.
        PrimaryOnly = "primary-only",
        /// Copies of secondary instances move away.
        SecondaryOnly = "secondary-only",
        /// Both.
        All = "all",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for t in DiskTemplate::ALL {
            assert_eq!(t.as_str().parse(), Ok(*t));
        }
        for s in RunStatus::ALL {
            assert_eq!(s.as_str().parse(), Ok(*s));
        }
        assert!("drbd8".parse::<DiskTemplate>().is_err());
        assert!("Preferred".parse::<AllocPolicy>().is_err());
    }

    #[test]
    fn only_plain_and_drbd_use_the_nodes_disks() {
        let local: Vec<_> = DiskTemplate::ALL.iter().filter(|t| t.uses_local_storage()).collect();
        assert_eq!(local, [&DiskTemplate::Plain, &DiskTemplate::Drbd]);
    }
}
