//! Description of an instance in an allocator message, whether it exists or is to be created.

use crate::input::error::Result;
use crate::input::json::{Json, Object};
use crate::load::raw::RawInstance;
use htools_model::{Disk, DiskTemplate, Mib, NodeIdx, RunStatus};

/// An instance without a placement.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Full name.
    pub name: String,
    /// Memory.
    pub mem: Mib,
    /// Total disk on each of its nodes.
    pub disk: Mib,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// Virtual CPUs.
    pub vcpus: i64,
    /// State.
    pub status: RunStatus,
    /// Storage of its disks.
    pub template: DiskTemplate,
    /// Weight on the nodes' spindles.
    pub spindle_use: i64,
    /// Its tags.
    pub tags: Vec<String>,
    /// UUIDs of the networks of its interfaces, if known.
    pub networks: Vec<Option<String>>,
    /// Planned, not yet created.
    pub forthcoming: bool,
}

impl Description {
    pub(in crate::load) fn placed_on(self, primary: NodeIdx, secondary: Option<NodeIdx>) -> RawInstance {
        RawInstance {
            name: self.name,
            mem: self.mem,
            disk: self.disk,
            disks: self.disks,
            vcpus: self.vcpus,
            status: self.status,
            auto_balance: true,
            primary,
            secondary,
            template: self.template,
            spindle_use: self.spindle_use,
            tags: self.tags,
            networks: self.networks,
            forthcoming: self.forthcoming,
        }
    }
}

/// Reads the description of the instance `name` on `nodes` nodes. Without a disk template, its disks are taken to be in
/// the volume groups of its nodes (the pool `internal/lvm`).
pub(super) fn read_description(name: &str, object: &Object<'_, '_>, nodes: usize) -> Result<Description> {
    let template = match (object.get("disk_template"), nodes) {
        (Some(_), _) => object.enumeration("disk_template")?,
        (None, 0 | 1) => DiskTemplate::Plain,
        (None, _) => DiskTemplate::Drbd,
    };
    Ok(Description {
        name: name.to_owned(),
        disk: Mib(object.int("disk_space_total")?),
        disks: object.each_object("disks", |disk| {
            Ok(Disk { size: Mib(disk.int("size")?), spindles: disk.optional_int("spindles")? })
        })?,
        mem: Mib(object.int("memory")?),
        vcpus: object.int("vcpus")?,
        tags: object.strings("tags")?,
        template,
        spindle_use: object.int("spindle_use")?,
        networks: object.each_object("nics", read_nic)?,
        status: match object.get("admin_state") {
            Some(Json::String(state)) if state == "down" => RunStatus::AdminDown,
            Some(Json::String(state)) if state == "offline" => RunStatus::AdminOffline,
            // This includes a new instance, which has no state yet.
            _ => RunStatus::Running,
        },
        // The reference treats any other value as false.
        forthcoming: object.get("forthcoming") == Some(&Json::Bool(true)),
    })
}

/// Reads the network of an interface. The other keys are only checked; newer versions of Ganeti have other modes
/// (`ext`), and modes have no meaning here.
fn read_nic(nic: Object<'_, '_>) -> Result<Option<String>> {
    for key in ["mac", "ip", "mode", "link", "bridge"] {
        nic.optional_string(key)?;
    }
    Ok(nic.optional_string("network")?.map(str::to_owned))
}
