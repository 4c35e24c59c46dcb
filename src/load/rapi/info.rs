//! The cluster itself, as RAPI describes it.

use std::collections::HashMap;

use crate::load::error::{Result, shown_name};
use crate::load::json::{Json, Object, Place, read_policy};
use crate::model::{Hypervisor, InstancePolicy, NodeIdx};

/// What counts of the answer of `/2/info`.
pub(super) struct Info {
    pub(super) master: NodeIdx,
    pub(super) tags: Vec<String>,
    pub(super) policy: InstancePolicy,
    pub(super) hypervisor: Hypervisor,
}

/// Reads the answer.
pub(super) fn read_info(document: &Json, place: &Place<'_>, nodes: &HashMap<&str, NodeIdx>) -> Result<Info> {
    let info = Object::new(document, *place)?;
    let master = info.string("master")?;
    let tags = info.strings("tags")?;
    let policy = read_policy(&info, "ipolicy")?;
    let hypervisor = info.enumeration("default_hypervisor")?;
    let master = *nodes
        .get(master)
        .ok_or_else(|| info.key_error("master", &format!("no node has the name '{}'", shown_name(master))))?;
    Ok(Info { master, tags, policy, hypervisor })
}
