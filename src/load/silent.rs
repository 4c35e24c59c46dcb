//! Nodes that do not answer their master although nobody marked them as offline.

use crate::model::shown::shown_name;

/// What the user is told about such a node: it counts as offline, without figures.
pub fn warning(node: &str) -> String {
    format!("node '{}' does not answer and is treated as offline", shown_name(node))
}
