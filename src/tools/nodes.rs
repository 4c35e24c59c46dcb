//! Lookup of the nodes that options name.

use anyhow::{Context, Result};

use crate::load::lookup::find_named;
use crate::model::{Cluster, NodeIdx};

/// Finds the nodes that an option names, in the order of its values.
///
/// # Errors
/// If a value is neither a node's name nor a unique prefix of one.
pub(super) fn named_nodes(option: &str, keys: &[String], cluster: &Cluster) -> Result<Vec<NodeIdx>> {
    let names = cluster.nodes.iter().map(|node| node.spec.name.as_str());
    let find = |key: &String| {
        find_named("node", key, names.clone()).map(NodeIdx::new).with_context(|| format!("--{option}"))
    };
    keys.iter().map(find).collect()
}
