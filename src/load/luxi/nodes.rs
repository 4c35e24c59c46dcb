//! Nodes, as the master daemon describes them.

use std::collections::HashMap;

use super::rows::{QueryRow, QueryTable};
use crate::input::error::Result;
use crate::load::raw::RawNode;
use crate::load::silent;
use crate::model::shown::shown_name;
use crate::model::{GroupIdx, Mib};

/// What is asked of a node.
pub const FIELDS: &[&str] = &[
    "name",
    "mtotal",
    "mnode",
    "mfree",
    "dtotal",
    "dfree",
    "ctotal",
    "cnos",
    "offline",
    "drained",
    "vm_capable",
    "ndp/spindle_count",
    "group.uuid",
    "tags",
    "ndp/exclusive_storage",
    "sptotal",
    "spfree",
    "ndp/cpu_speed",
];

/// What every node says of itself.
const OWN: [&str; 5] = ["mtotal", "mnode", "mfree", "ctotal", "cnos"];

/// Reads the result of the query; what the user should know about the nodes goes to `warnings`.
pub(super) fn read_nodes(
    table: QueryTable<'_>,
    groups: &HashMap<&str, GroupIdx>,
    warnings: &mut Vec<String>,
) -> Result<Vec<RawNode>> {
    table.each_row(FIELDS, |name, node| read_node(name, &node, groups, warnings))
}

fn read_node(
    name: &str,
    node: &QueryRow<'_, '_>,
    groups: &HashMap<&str, GroupIdx>,
    warnings: &mut Vec<String>,
) -> Result<RawNode> {
    let offline = node.bool("offline")?;
    let drained = node.bool("drained")?;
    let vm_capable = node.bool("vm_capable")?;
    let uuid = node.string("group.uuid")?;
    let group = *groups.get(uuid).ok_or_else(|| {
        node.field_error("group.uuid", &format!("no group has the UUID '{}'", shown_name(uuid)))
    })?;
    let tags = node.strings("tags")?;
    let exclusive_storage = node.bool("ndp/exclusive_storage")?;
    let cpu_speed = node.float("ndp/cpu_speed")?;
    // it was asked and did not answer
    let silent = !offline && vm_capable && OWN.iter().all(|field| node.is_silent(field));
    if silent {
        warnings.push(silent::warning(name));
    }
    // of nodes that are offline or cannot run instances, numbers are zero even where
    // the master gives some
    let live = !offline && vm_capable && !silent;
    let int = |field: &str| if live { node.int(field) } else { Ok(0) };
    let float = |field: &str| if live { node.float(field) } else { Ok(0.0) };
    let spindle_total = if exclusive_storage { int("sptotal")? } else { node.int("ndp/spindle_count")? };
    Ok(RawNode {
        name: name.to_owned(),
        spindle_total,
        mem_total: float("mtotal")?,
        mem_node: Mib(int("mnode")?),
        mem_free: Mib(int("mfree")?),
        cpu_total: float("ctotal")?,
        cpu_node: int("cnos")?,
        // not there where no storage of the kind is enabled
        spindle_free: int("spfree").unwrap_or(0),
        disk_total: float("dtotal").unwrap_or(0.0),
        disk_free: Mib(int("dfree").unwrap_or(0)),
        cpu_speed,
        exclusive_storage,
        offline: !live || drained,
        master: false,
        group,
        tags,
        hypervisor: None,
    })
}
