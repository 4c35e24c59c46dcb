//! Choice of the node group to work on.

use std::io;

use anyhow::anyhow;

use super::hint::{Complaint, WithHint};
use super::output::Output;
use crate::load::lookup::hint;
use crate::model::{Cluster, Group, GroupIdx};

/// Returns the group named by `wanted` (name or UUID), or else the only group that has nodes. If that is not exactly
/// one group, lists the groups on standard error and returns none.
pub(super) fn select(
    cluster: &Cluster,
    wanted: Option<&str>,
    output: &mut Output,
) -> io::Result<Option<GroupIdx>> {
    let (found, complaint, listed) = match wanted {
        None => {
            let with_nodes = cluster.groups_with_nodes();
            let only = if let [only] = with_nodes[..] { Some(only) } else { None };
            (only, "Found multiple node groups:".to_owned(), with_nodes)
        }
        Some(key) => {
            let complaint = format!("Node group {key} not found. Node group list is:");
            (find(cluster, key), complaint, cluster.groups.iter().map(|g| g.idx).collect())
        }
    };
    if found.is_none() {
        output.error_line(&complaint)?;
        for group in listed {
            output.error_line(&format!("  {}", cluster.group(group).name))?;
        }
        let aborted = Complaint::new("Aborting.");
        output.error_write(
            &match wanted {
                None => aborted.hint("choose a group with -G NAME, or use --worst-group or --all-groups"),
                Some(key) => aborted
                    .hint(format!("-G needs the name or UUID of one of these groups{}", near(cluster, key))),
            }
            .to_string(),
        )?;
    }
    Ok(found)
}

/// The group that `--group` names.
///
/// # Errors
/// If the name does not match exactly one group.
pub(super) fn named(cluster: &Cluster, key: &str) -> anyhow::Result<GroupIdx> {
    find(cluster, key).ok_or_else(|| {
        anyhow!(
            "option --group: '{key}' is not the name or UUID of exactly one node group{}",
            near(cluster, key)
        )
    })
}

/// Suggestions for a mistyped group, to follow an error message.
fn near(cluster: &Cluster, key: &str) -> String {
    hint(key, cluster.groups.iter().map(|group| group.name.as_str()))
}

/// The only group with this name or UUID.
fn find(cluster: &Cluster, key: &str) -> Option<GroupIdx> {
    let mut matching = cluster.groups.iter().filter(|g: &&Group| g.name == key || g.uuid == key);
    match (matching.next(), matching.next()) {
        (Some(group), None) => Some(group.idx),
        _ => None,
    }
}
