//! Instances, as RAPI describes them.

use std::collections::HashMap;

use crate::input::error::Result;
use crate::input::json::{Body, Budget, Json, Object, WantedParts};
use crate::load::raw::RawInstance;
use crate::load::unknown_node;
use crate::model::{Disk, Mib, NodeIdx};

/// What is read of an instance.
const SHAPE: WantedParts = WantedParts::Keys(&[
    ("name", WantedParts::Whole),
    ("disk_usage", WantedParts::Whole),
    ("disk.sizes", WantedParts::Whole),
    ("disk.spindles", WantedParts::Whole),
    ("oper_ram", WantedParts::Whole),
    ("beparams", WantedParts::Whole),
    ("pnode", WantedParts::Whole),
    ("snodes", WantedParts::Whole),
    ("status", WantedParts::Whole),
    ("tags", WantedParts::Whole),
    ("disk_template", WantedParts::Whole),
    ("forthcoming", WantedParts::Whole),
]);

/// Reads the answer of `/2/instances`.
pub(super) fn read_instances(
    answer: Body<'_>,
    nodes: &HashMap<&str, NodeIdx>,
    budget: &Budget,
) -> Result<Vec<RawInstance>> {
    answer.each_described("instance", SHAPE, budget, |name, instance| read_instance(name, &instance, nodes))
}

fn read_instance(name: &str, object: &Object<'_, '_>, nodes: &HashMap<&str, NodeIdx>) -> Result<RawInstance> {
    let disk = Mib(object.int("disk_usage")?);
    let sizes = object.ints("disk.sizes")?;
    let spindles = object.ints_or_nulls("disk.spindles")?;
    let parameters = object.object("beparams")?;
    let mem = Mib(memory(object, &parameters)?);
    let vcpus = parameters.int("vcpus")?;
    let node = |key: &str, node: &str| {
        let known = nodes.get(node).copied();
        known.ok_or_else(|| object.key_error(key, &unknown_node(node, name)))
    };
    let primary = node("pnode", object.string("pnode")?)?;
    // more than one has no meaning, and is not looked at
    let secondary = object.list("snodes")?.first();
    let secondary =
        secondary.map(|node| node.string().map_err(|problem| object.key_error("snodes", &problem)));
    let secondary = secondary.transpose()?.map(|name| node("snodes", name)).transpose()?;
    Ok(RawInstance {
        name: name.to_owned(),
        mem,
        disk,
        // as in the reference, the longer list is cut
        disks: sizes
            .into_iter()
            .zip(spindles)
            .map(|(size, spindles)| Disk { size: Mib(size), spindles })
            .collect(),
        vcpus,
        status: object.enumeration("status")?,
        tags: object.strings("tags")?,
        auto_balance: parameters.bool("auto_balance")?,
        primary,
        secondary,
        template: object.enumeration("disk_template")?,
        spindle_use: parameters.int("spindle_use")?,
        networks: Vec::new(),
        // the reference takes any other value for false
        forthcoming: object.get("forthcoming") == Some(&Json::Bool(true)),
    })
}

/// The memory of an instance that runs; else what it is to have, under its
/// old name or, failing that, its newer one.
fn memory(object: &Object<'_, '_>, parameters: &Object<'_, '_>) -> Result<i64> {
    if let Json::Int(_) | Json::Huge(_) | Json::Float(_) = object.required("oper_ram")? {
        return object.int("oper_ram");
    }
    parameters.int("memory").or_else(|first| {
        parameters.int("maxmem").map_err(|second| {
            object.error(&format!("no memory: oper_ram is no number, {}; {}", first.problem, second.problem))
        })
    })
}
