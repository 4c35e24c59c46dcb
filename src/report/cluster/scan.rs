//! The table of `hscan`: one line for each cluster.

use crate::model::number::fixed;
use crate::model::{Cluster, Mib};
use crate::redundancy::n_plus_one::Failures;
use crate::report::balance::components::score;
use crate::report::form::table::Align;
use crate::score::Board;

/// The headings after the first, with the widths of their columns.
const HEADINGS: [(&str, usize); 9] = [
    ("Nodes", 5),
    ("Inst", 5),
    ("BNode", 5),
    ("BInst", 5),
    ("t_mem", 6),
    ("f_mem", 6),
    ("t_disk", 6),
    ("f_disk", 6),
    ("Score", 10),
];

/// The line with the headings; names are `width` characters wide.
pub(crate) fn heading(width: usize) -> String {
    let headings = HEADINGS.iter().map(|(text, width)| Align::Right.pad(text, *width));
    joined(Align::Left.pad("Name", width), headings)
}

/// The line of a cluster.
pub(crate) fn row(name: &str, width: usize, cluster: &Cluster) -> String {
    let nodes = cluster.all_nodes();
    let failures = Failures::of(cluster, &nodes);
    let specs = || cluster.nodes.iter().map(|node| &node.spec);
    let disk_free: Mib = cluster.nodes.iter().map(|node| node.state.ledger.disk_free).sum();
    let cells = [
        nodes.len().to_string(),
        cluster.instances.len().to_string(),
        failures.nodes.len().to_string(),
        failures.instances.to_string(),
        fixed(specs().fold(0.0, |sum, spec| sum + spec.mem_total), 0),
        specs().map(|spec| spec.mem_free).sum::<Mib>().0.to_string(),
        fixed(specs().fold(0.0, |sum, spec| sum + spec.disk_total) / 1024.0, 0),
        disk_free.gib_floor().to_string(),
        score(Board::new(cluster, &nodes).components().score()),
    ];
    // The score is not padded.
    let widths = HEADINGS.iter().map(|(heading, width)| if *heading == "Score" { 0 } else { *width });
    let cells = cells.iter().zip(widths).map(|(cell, width)| Align::Right.pad(cell, width));
    joined(Align::Left.pad(name, width), cells)
}

fn joined(first: String, others: impl Iterator<Item = String>) -> String {
    std::iter::once(first).chain(others).collect::<Vec<_>>().join(" ")
}
