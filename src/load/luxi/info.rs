//! The cluster itself, as the master daemon describes it.

use std::collections::HashMap;

use crate::load::error::{Result, shown_name};
use crate::load::json::{Json, Object, Place, Shape, read_policy};
use crate::model::{Hypervisor, InstancePolicy, NodeIdx};

/// What counts of the result.
pub(super) struct Info {
    pub(super) master: NodeIdx,
    pub(super) tags: Vec<String>,
    pub(super) policy: InstancePolicy,
    pub(super) hypervisor: Hypervisor,
}

/// What is read of it.
pub(super) const SHAPE: Shape = Shape::Keys(&[
    ("tags", Shape::Whole),
    ("ipolicy", Shape::Whole),
    ("master", Shape::Whole),
    ("default_hypervisor", Shape::Whole),
]);

/// Reads the result.
pub(super) fn read_info(result: &Json, place: &Place<'_>, nodes: &HashMap<&str, NodeIdx>) -> Result<Info> {
    let place = place.key("cluster");
    let info = Object::new(result, place)?;
    let tags = info.strings("tags")?;
    let policy = read_policy(&info, "ipolicy")?;
    let master = info.string("master")?;
    let hypervisor = info.enumeration("default_hypervisor")?;
    let master = *nodes
        .get(master)
        .ok_or_else(|| info.key_error("master", &format!("no node has the name '{}'", shown_name(master))))?;
    Ok(Info { master, tags, policy, hypervisor })
}
