//! Implausible values. They are read, as Ganeti's own tools read them, but results computed from them are doubtful, so
//! each is reported.

use super::row::TextRow;
use crate::load::raw::{RawInstance, RawNode};
use htools_model::Mib;

/// Maximum number of reports. The first rows are enough to show that a file is wrong throughout.
pub(super) const MOST: usize = 10;

/// The doubtful values of a node's row. An offline node may have no resources.
pub(super) fn of_node(row: &TextRow, node: &RawNode) -> Vec<String> {
    let mut doubts = Doubts { row, found: Vec::new() };
    doubts.name();
    if node.offline {
        return doubts.found;
    }
    doubts.total("total memory", node.mem_total);
    doubts.total("total disk", node.disk_total);
    doubts.positive("total CPUs", node.cpu_total);
    doubts.positive("CPU speed", node.cpu_speed);
    doubts.size("node memory", node.mem_node);
    doubts.size("free memory", node.mem_free);
    doubts.size("free disk", node.disk_free);
    doubts.within("free memory", node.mem_free, node.mem_total);
    doubts.within("free disk", node.disk_free, node.disk_total);
    doubts.found
}

/// The doubtful values of an instance's row.
pub(super) fn of_instance(row: &TextRow, instance: &RawInstance) -> Vec<String> {
    let mut doubts = Doubts { row, found: Vec::new() };
    doubts.name();
    doubts.size("memory", instance.mem);
    doubts.size("disk", instance.disk);
    if instance.vcpus < 0 {
        doubts.add("virtual CPUs", format_args!("{} is negative", instance.vcpus));
    }
    doubts.found
}

/// The report of a row whose name occurs earlier in its section.
pub(super) fn repeated(row: &TextRow) -> String {
    row.field_error("name", "an earlier one has the same name").to_string()
}

struct Doubts<'r, 'a> {
    row: &'r TextRow<'a>,
    found: Vec<String>,
}

impl Doubts<'_, '_> {
    fn add(&mut self, field: &str, problem: std::fmt::Arguments<'_>) {
        self.found.push(self.row.field_error(field, problem).to_string());
    }

    fn name(&mut self) {
        if self.row.name().is_empty() {
            self.add("name", format_args!("it is empty"));
        }
    }

    fn size(&mut self, field: &str, size: Mib) {
        if size < Mib::ZERO {
            self.add(field, format_args!("{} MiB is negative", size.0));
        }
    }

    fn total(&mut self, field: &str, total: f64) {
        if !total.is_finite() || total < 0.0 {
            self.add(field, format_args!("{total} is not a size"));
        }
    }

    fn positive(&mut self, field: &str, value: f64) {
        if !(value.is_finite() && value > 0.0) {
            self.add(field, format_args!("{value} is not more than 0"));
        }
    }

    fn within(&mut self, field: &str, free: Mib, total: f64) {
        if total.is_finite() && free.0 as f64 > total {
            self.add(field, format_args!("{} MiB is more than the total of {total} MiB", free.0));
        }
    }
}
