//! Instances, as the master daemon describes them.

use std::collections::HashMap;

use super::rows::{QueryRow, QueryTable};
use crate::input::error::Result;
use crate::load::raw::RawInstance;
use crate::load::unknown_node;
use crate::model::{Disk, Mib, NodeIdx};

/// What is asked of an instance.
pub const FIELDS: &[&str] = &[
    "name",
    "disk_usage",
    "be/memory",
    "be/vcpus",
    "status",
    "pnode",
    "snodes",
    "tags",
    "be/auto_balance",
    "disk_template",
    "be/spindle_use",
    "disk.sizes",
    "disk.spindles",
    "forthcoming",
];

/// Reads the result of the query.
pub(super) fn read_instances(
    table: QueryTable<'_>,
    nodes: &HashMap<&str, NodeIdx>,
) -> Result<Vec<RawInstance>> {
    table.each_row(FIELDS, |name, instance| read_instance(name, &instance, nodes))
}

fn read_instance(
    of: &str,
    instance: &QueryRow<'_, '_>,
    nodes: &HashMap<&str, NodeIdx>,
) -> Result<RawInstance> {
    let node = |field: &str, name: &str| {
        let known = nodes.get(name).copied();
        known.ok_or_else(|| instance.field_error(field, &unknown_node(name, of)))
    };
    let sizes = instance.ints("disk.sizes")?;
    let spindles = instance.ints_or_nulls("disk.spindles")?;
    Ok(RawInstance {
        name: of.to_owned(),
        disk: Mib(instance.int("disk_usage")?),
        mem: Mib(instance.int("be/memory")?),
        vcpus: instance.int("be/vcpus")?,
        status: instance.enumeration("status")?,
        primary: node("pnode", instance.string("pnode")?)?,
        // more than one has no meaning
        secondary: instance.strings("snodes")?.first().map(|name| node("snodes", name)).transpose()?,
        tags: instance.strings("tags")?,
        auto_balance: instance.bool("be/auto_balance")?,
        template: instance.enumeration("disk_template")?,
        spindle_use: instance.int("be/spindle_use")?,
        // as in the reference, the longer list is cut
        disks: sizes
            .into_iter()
            .zip(spindles)
            .map(|(size, spindles)| Disk { size: Mib(size), spindles })
            .collect(),
        networks: Vec::new(),
        forthcoming: instance.bool("forthcoming")?,
    })
}
