//! Node and instance lists on standard error, as several tools print them.

use std::io;

use super::output::Output;
use crate::model::{Cluster, InstanceIdx, NodeIdx};
use crate::report::instances::instance_list;
use crate::report::nodes::node_list;

/// Prints a node list (`-p`): an empty line, a title, the list, an empty line.
pub fn nodes(
    output: &mut Output,
    title: &str,
    cluster: &Cluster,
    nodes: &[NodeIdx],
    fields: &str,
) -> io::Result<()> {
    let list = node_list(cluster, nodes, fields).join("\n");
    output.error_write(&format!("\n{title} status:\n{list}\n\n"))
}

/// Prints an instance list (`--print-instances`): an empty line, a title, the
/// list.
pub fn instances(
    output: &mut Output,
    title: &str,
    cluster: &Cluster,
    instances: &[InstanceIdx],
) -> io::Result<()> {
    let list = instance_list(cluster, instances).join("\n");
    output.error_write(&format!("\n{title} instance map:\n{list}\n"))
}
