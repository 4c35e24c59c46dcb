//! The cluster itself, as RAPI describes it.

use std::collections::HashMap;

use crate::load::error::{Result, shown_name};
use crate::load::json::{self, Body, Budget, Object, Place, Shape, read_policy};
use crate::model::{Hypervisor, InstancePolicy, NodeIdx};

/// What counts of the answer of `/2/info`.
pub(super) struct Info {
    pub(super) master: NodeIdx,
    pub(super) tags: Vec<String>,
    pub(super) policy: InstancePolicy,
    pub(super) hypervisor: Hypervisor,
}

/// What is read.
const SHAPE: Shape = Shape::Checked(&[
    ("master", Shape::Whole),
    ("tags", Shape::Whole),
    ("ipolicy", Shape::Whole),
    ("default_hypervisor", Shape::Whole),
]);

/// Reads the answer.
pub(super) fn read_info(answer: Body<'_>, nodes: &HashMap<&str, NodeIdx>, budget: &Budget) -> Result<Info> {
    let source = answer.source.clone();
    let document = json::read(answer, SHAPE, budget)?;
    let info = Object::new(&document, Place::source(&source))?;
    let master = info.string("master")?;
    let tags = info.strings("tags")?;
    let policy = read_policy(&info, "ipolicy")?;
    let hypervisor = info.enumeration("default_hypervisor")?;
    let master = *nodes
        .get(master)
        .ok_or_else(|| info.key_error("master", &format!("no node has the name '{}'", shown_name(master))))?;
    Ok(Info { master, tags, policy, hypervisor })
}
