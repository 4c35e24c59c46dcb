//! Nodes and states of the instances.

use std::collections::BTreeMap;

use anyhow::Context;

use crate::cluster::Cluster;

/// Nodes and status of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Primary node.
    pub primary: String,
    /// Secondary node, or empty.
    pub secondary: String,
    /// Ganeti's word for its state.
    pub status: String,
}

impl Placement {
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        [&*self.primary, &*self.secondary].into_iter().filter(|node| !node.is_empty())
    }
}

/// All instances, as Ganeti lists them.
pub fn placements(cluster: &Cluster) -> anyhow::Result<BTreeMap<String, Placement>> {
    let words = ["gnt-instance", "list", "--no-headers", "--separator=|", "-o", "name,pnode,snodes,status"];
    let output = cluster.exec(&words)?.good()?;
    let row = |line: &str| {
        let mut cells = line.split('|').map(str::to_owned);
        let name = cells.next()?;
        let (primary, secondary, status) = (cells.next()?, cells.next()?, cells.next()?);
        Some((name, Placement { primary, secondary, status }))
    };
    output.stdout.lines().map(row).collect::<Option<_>>().context("odd list of instances")
}

/// The same, from a saved state in the text format.
pub fn placements_in(text: &str) -> anyhow::Result<BTreeMap<String, Placement>> {
    let instances = text.split("\n\n").nth(2).context("a saved state has a third block")?;
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        let cell = |at: usize| cells.get(at).map(|text| (*text).to_owned());
        Some((cell(0)?, Placement { primary: cell(6)?, secondary: cell(7)?, status: cell(4)? }))
    };
    instances.lines().map(row).collect::<Option<_>>().context("odd instances in a saved state")
}
