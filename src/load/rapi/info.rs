//! The cluster itself, as RAPI describes it.

use std::collections::HashMap;

use crate::input::error::Result;
use crate::input::json::{self, Body, Budget, JsonPath, Object, WantedParts};
use crate::load::policy::read_policy;
use crate::model::shown::shown_name;
use crate::model::{Hypervisor, InstancePolicy, NodeIdx};

/// What counts of the answer of `/2/info`.
pub(super) struct RapiInfo {
    pub(super) master: NodeIdx,
    pub(super) tags: Vec<String>,
    pub(super) policy: InstancePolicy,
    pub(super) hypervisor: Hypervisor,
}

/// What is read.
const SHAPE: WantedParts = WantedParts::Checked(&[
    ("master", WantedParts::Whole),
    ("tags", WantedParts::Whole),
    ("ipolicy", WantedParts::Whole),
    ("default_hypervisor", WantedParts::Whole),
]);

/// Reads the answer.
pub(super) fn read_info(
    answer: Body<'_>,
    nodes: &HashMap<&str, NodeIdx>,
    budget: &Budget,
) -> Result<RapiInfo> {
    let source = answer.source.clone();
    let document = json::read(answer, SHAPE, budget)?;
    let info = Object::new(&document, JsonPath::source(&source))?;
    let master = info.string("master")?;
    let tags = info.strings("tags")?;
    let policy = read_policy(&info, "ipolicy")?;
    let hypervisor = info.enumeration("default_hypervisor")?;
    let master = *nodes
        .get(master)
        .ok_or_else(|| info.key_error("master", &format!("no node has the name '{}'", shown_name(master))))?;
    Ok(RapiInfo { master, tags, policy, hypervisor })
}
