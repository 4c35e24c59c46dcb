//! Nodes, as RAPI describes them.

use std::collections::HashMap;

use crate::input::error::Result;
use crate::input::json::{Body, Budget, Json, Object, WantedParts};
use crate::load::raw::RawNode;
use crate::load::silent;
use crate::model::shown::shown_name;
use crate::model::{GroupIdx, Mib};

/// What is read of a node.
const SHAPE: WantedParts = WantedParts::Keys(&[
    ("name", WantedParts::Whole),
    ("offline", WantedParts::Whole),
    ("drained", WantedParts::Whole),
    ("vm_capable", WantedParts::Whole),
    ("ndparams", WantedParts::Whole),
    ("group.uuid", WantedParts::Whole),
    ("sptotal", WantedParts::Whole),
    ("spfree", WantedParts::Whole),
    ("mtotal", WantedParts::Whole),
    ("mnode", WantedParts::Whole),
    ("mfree", WantedParts::Whole),
    ("dtotal", WantedParts::Whole),
    ("dfree", WantedParts::Whole),
    ("ctotal", WantedParts::Whole),
    ("cnos", WantedParts::Whole),
    ("tags", WantedParts::Whole),
]);

/// What is null of a node that is in use but does not answer.
const FIGURES: [&str; 5] = ["mtotal", "mnode", "mfree", "ctotal", "cnos"];

/// The group of a node that names none.
const NO_GROUP: &str = "00000000-0000-0000-0000-000000000000";

/// Reads the answer of `/2/nodes`; tells which nodes do not answer.
pub(super) fn read_nodes(
    answer: Body<'_>,
    groups: &HashMap<&str, GroupIdx>,
    warnings: &mut Vec<String>,
    budget: &Budget,
) -> Result<Vec<RawNode>> {
    answer.each_described("node", SHAPE, budget, |name, node| read_node(name, &node, groups, warnings))
}

fn read_node(
    name: &str,
    node: &Object<'_, '_>,
    groups: &HashMap<&str, GroupIdx>,
    warnings: &mut Vec<String>,
) -> Result<RawNode> {
    let offline = node.bool("offline")?;
    let drained = node.bool("drained")?;
    let vm_capable = node.optional_bool("vm_capable")?.unwrap_or(true);
    let parameters = node.object("ndparams")?;
    let exclusive_storage = parameters.bool("exclusive_storage")?;
    let uuid = node.optional_string("group.uuid")?.unwrap_or(NO_GROUP);
    let group = *groups.get(uuid).ok_or_else(|| {
        node.key_error("group.uuid", &format!("no group has the UUID '{}'", shown_name(uuid)))
    })?;
    // Ganeti does not ask nodes that are offline or cannot run instances:
    // their numbers are null, and zero even where they are not
    let asked = !offline && vm_capable;
    let silent = asked && FIGURES.iter().all(|key| node.get(key) == Some(&Json::Null));
    if silent {
        warnings.push(silent::warning(name));
    }
    let live = asked && !silent;
    let int = |key: &str| if live { node.int(key) } else { Ok(0) };
    let float = |key: &str| if live { node.float(key) } else { Ok(0.0) };
    let int_or_none = |key: &str| if live { node.optional_int(key) } else { Ok(None) };
    let spindle_total = if exclusive_storage {
        int("sptotal")?
    } else {
        // a parameter, known of every node
        parameters.int("spindle_count")?
    };
    Ok(RawNode {
        name: name.to_owned(),
        spindle_total,
        spindle_free: int_or_none("spfree")?.unwrap_or(0),
        mem_total: float("mtotal")?,
        mem_node: Mib(int("mnode")?),
        mem_free: Mib(int("mfree")?),
        // null where no storage for disks of instances is enabled
        disk_total: if live { node.optional_float("dtotal")?.unwrap_or(0.0) } else { 0.0 },
        disk_free: Mib(int_or_none("dfree")?.unwrap_or(0)),
        cpu_total: float("ctotal")?,
        cpu_node: int("cnos")?,
        // the answer has it (ndparams.cpu_speed), the reference ignores it
        cpu_speed: 1.0,
        exclusive_storage,
        offline: !live || drained,
        master: false,
        group,
        tags: node.strings("tags")?,
        hypervisor: None,
    })
}
