//! The cluster itself, as the master daemon describes it.

use std::collections::HashMap;

use crate::input::error::Result;
use crate::input::json::{Json, JsonPath, Object, WantedParts};
use crate::load::policy::read_policy;
use crate::model::shown::shown_name;
use crate::model::{Hypervisor, InstancePolicy, NodeIdx};

/// What counts of the result.
pub(super) struct LuxiInfo {
    pub(super) master: NodeIdx,
    pub(super) tags: Vec<String>,
    pub(super) policy: InstancePolicy,
    pub(super) hypervisor: Hypervisor,
}

/// What is read of it.
pub(super) const SHAPE: WantedParts = WantedParts::Keys(&[
    ("tags", WantedParts::Whole),
    ("ipolicy", WantedParts::Whole),
    ("master", WantedParts::Whole),
    ("default_hypervisor", WantedParts::Whole),
]);

/// Reads the result.
pub(super) fn read_info(
    result: &Json,
    place: &JsonPath<'_>,
    nodes: &HashMap<&str, NodeIdx>,
) -> Result<LuxiInfo> {
    let place = place.key("cluster");
    let info = Object::new(result, place)?;
    let tags = info.strings("tags")?;
    let policy = read_policy(&info, "ipolicy")?;
    let master = info.string("master")?;
    let hypervisor = info.enumeration("default_hypervisor")?;
    let master = *nodes
        .get(master)
        .ok_or_else(|| info.key_error("master", &format!("no node has the name '{}'", shown_name(master))))?;
    Ok(LuxiInfo { master, tags, policy, hypervisor })
}
