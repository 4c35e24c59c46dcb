//! Places of the new instances of an allocation.

use super::{AllocationKind, AllocationRun, FillStart};
use crate::report::form::table::{Align, Table};

/// A title, and a table without a header: full name, primary node, secondary node (if any), memory and disk in MiB,
/// virtual CPUs, and spindles if they matter.
pub(crate) fn allocation_map(start: &FillStart, run: &AllocationRun) -> Vec<String> {
    let (left, right) = (("", Align::Left), ("", Align::Right));
    let mut table = Table::new([left, left, left, right, right, right, right]);
    for instance in run.placed() {
        let name = |node| run.filled.cluster.node(node).spec.name.clone();
        let spindles = match instance.spindles {
            _ if !start.exclusive_storage => String::new(),
            None => "?".to_owned(),
            Some(spindles) => spindles.to_string(),
        };
        table.push(vec![
            instance.name.clone(),
            name(instance.primary),
            instance.secondary.map_or_else(String::new, name),
            instance.mem.0.to_string(),
            instance.disk.0.to_string(),
            instance.vcpus.to_string(),
            spindles,
        ]);
    }
    let title = match run.kind {
        AllocationKind::Tiered => "Tiered allocation map",
        AllocationKind::Standard => "Standard allocation map",
    };
    let mut lines = table.lines("");
    // Replace the header by the title.
    lines[0] = title.to_owned();
    lines
}
