//! Node and instance lists on standard error, as several tools print them.

use std::io;

use super::output::Output;
use crate::model::{Cluster, InstanceIdx, NodeIdx};
use crate::report::cluster::instances::instance_list;
use crate::report::cluster::nodes::text::node_list;

/// Prints a node list (`-p`): an empty line, a title, the list, an empty line.
pub(super) fn nodes(
    output: &mut Output,
    title: &str,
    cluster: &Cluster,
    nodes: &[NodeIdx],
    fields: &str,
) -> io::Result<()> {
    list(output, format!("{title} status:"), node_list(cluster, nodes, fields))?;
    output.error_line("")
}

/// Prints an instance list (`--print-instances`): an empty line, a title, the
/// list.
pub(super) fn instances(
    output: &mut Output,
    title: &str,
    cluster: &Cluster,
    instances: &[InstanceIdx],
) -> io::Result<()> {
    list(output, format!("{title} instance map:"), instance_list(cluster, instances))
}

/// An empty line, a title, a list.
fn list(output: &mut Output, title: String, rows: Vec<String>) -> io::Result<()> {
    output.error_lines([String::new(), title].into_iter().chain(rows))
}
