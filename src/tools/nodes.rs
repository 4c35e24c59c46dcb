//! Nodes that options name.

use anyhow::{Context, Result};

use crate::load::lookup::find_partial;
use crate::model::shown::shown_name;
use crate::model::{Cluster, NodeIdx};

/// The nodes that the values of an option name, in their order.
///
/// # Errors
/// A value that is neither a node's name nor the unique beginning of one.
pub fn named_nodes(option: &str, keys: &[String], cluster: &Cluster) -> Result<Vec<NodeIdx>> {
    let find = |key: &String| {
        let names = cluster.nodes.iter().map(|node| node.spec.name.as_str());
        find_partial(key, names).map(NodeIdx::new).with_context(|| {
            let key = shown_name(key);
            format!("--{option}: '{key}' is not the name, or the unique beginning, of a node")
        })
    };
    keys.iter().map(find).collect()
}
