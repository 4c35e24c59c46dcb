//! The sizes of the instances that a cluster is filled with.

use super::Settings;
use crate::model::{Disk, FailKind, Instance, InstanceIdx, Mib, NodeIdx, RunStatus, TagSet, Utilisation};

/// The size of an instance with one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Memory.
    pub memory: Mib,
    /// The size of its disk.
    pub disk: Mib,
    /// Virtual CPUs.
    pub vcpus: i64,
    /// The physical spindles of its disk.
    pub spindles: i64,
}

/// By how much memory shrinks at a time.
const MEMORY_UNIT: Mib = Mib(64);
/// By how much the disk shrinks at a time.
const DISK_UNIT: Mib = Mib(256);

impl Size {
    /// The size with a little less of what `kind` complains about. Nothing if that
    /// cannot be made smaller.
    pub fn shrunk(self, kind: FailKind) -> Option<Size> {
        match kind {
            FailKind::Mem => {
                let memory = self.memory - MEMORY_UNIT;
                (memory >= MEMORY_UNIT).then_some(Size { memory, ..self })
            }
            FailKind::Disk => {
                let disk = self.disk - DISK_UNIT;
                (disk >= DISK_UNIT).then_some(Size { disk, ..self })
            }
            FailKind::Cpu => {
                let vcpus = self.vcpus.wrapping_sub(1);
                (vcpus >= 1).then_some(Size { vcpus, ..self })
            }
            FailKind::Spindles => {
                let spindles = self.spindles.wrapping_sub(1);
                (spindles >= 1).then_some(Size { spindles, ..self })
            }
            FailKind::N1 | FailKind::Tags | FailKind::Mig | FailKind::DiskCount | FailKind::Internal => None,
        }
    }

    /// An instance of this size, the next one after `number` others.
    pub(super) fn instance(self, settings: &Settings, number: usize) -> Instance {
        let name = format!("new-{number}");
        Instance {
            idx: InstanceIdx::new(0),
            alias_len: name.len(),
            name,
            mem: self.memory,
            disk: self.disk,
            disks: vec![Disk { size: self.disk, spindles: Some(self.spindles) }],
            spindles: Some(self.spindles),
            vcpus: self.vcpus,
            status: RunStatus::Running,
            auto_balance: true,
            template: settings.template,
            spindle_use: settings.spindle_use,
            tags: Vec::new(),
            exclusion_tags: Vec::new(),
            desired_locations: TagSet::default(),
            networks: Vec::new(),
            forthcoming: false,
            immobile: None,
            util: Utilisation::default(),
            primary: NodeIdx::new(0),
            secondary: None,
            location_score: 0,
        }
    }
}
