//! What the library's own tests share.

use crate::load::merge::{MergeOptions, finish, merge};
use crate::load::text;
use crate::model::{Cluster, Mib};

/// The cluster that a text describes: rows of nodes, of instances and of cluster
/// tags, in one group `g` with the default policy.
pub fn cluster(nodes: &[&str], instances: &[&str], tags: &[&str]) -> Cluster {
    let rows = |rows: &[&str]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let content = format!("g|u|preferred||\n\n{}\n{}\n{}\n", rows(nodes), rows(instances), rows(tags));
    let mut cluster = merge(text::parse(&content, "test").expect("a valid text"), &MergeOptions::default())
        .expect("no selection");
    finish(&mut cluster, Mib::ZERO);
    cluster
}
