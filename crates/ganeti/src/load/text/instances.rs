//! Section 3: `name|mem|dsk|vcpus|status|auto_balance|pnode|snode|`
//! `disk_template|tags|spindle_use|disk_spindles|forthcoming`. Every row from
//! 10 columns on is a legal historic form.

use super::row::TextRow;
use super::{TextReader, doubts};
use crate::input::error::Result;
use crate::load::raw::RawInstance;
use crate::load::unknown_node;
use htools_model::shown::shown_name;
use htools_model::{Disk, DiskTemplate, Mib, NodeIdx};

impl<'a> TextReader<'a> {
    pub(super) fn read_instance(&mut self, line: &'a str, number: usize) -> Result<()> {
        let row = TextRow::new(line, number, self.source, "instance", 10)?;
        let primary = self.node(&row, 6, "primary node")?;
        let secondary = match row.text(7) {
            "" => None,
            _ => Some(self.node(&row, 7, "secondary node")?),
        };
        let mem = Mib(row.int(1, "memory", 0)?);
        let disk = Mib(row.int(2, "disk", 0)?);
        let vcpus = row.int(3, "virtual CPUs", 0)?;
        let status = row.named("status", row.text(4))?;
        let auto_balance = row.yes_no(5, "auto_balance")?;
        let template = row.named("disk template", row.text(8))?;
        let spindle_use = row.int(10, "spindle use", 1)?;
        let spindles = match row.text(11) {
            // The number is unknown, as if the column were missing; an empty column is an error.
            "-" => None,
            _ => row.get(11).map(|_| row.int(11, "disk spindles", 0)).transpose()?,
        };
        let forthcoming = row.yes_no(12, "forthcoming")?;
        if template == DiskTemplate::Drbd && secondary == Some(primary) {
            return Err(row.field_error(
                "secondary node",
                format_args!("'{}' is the primary node, too", shown_name(row.text(7))),
            ));
        }
        let instance = RawInstance {
            name: row.name().to_owned(),
            mem,
            disk,
            disks: vec![Disk { size: disk, spindles }],
            vcpus,
            status,
            auto_balance,
            primary,
            secondary,
            template,
            spindle_use,
            tags: row.list(9),
            networks: Vec::new(),
            forthcoming,
        };
        self.keep_doubts(doubts::of_instance(&row, &instance));
        if !self.instance_names.insert(row.name()) {
            self.keep_doubts([doubts::repeated(&row)]);
        }
        self.cluster.instances.push(instance);
        Ok(())
    }

    fn node(&self, row: &TextRow, column: usize, field: &str) -> Result<NodeIdx> {
        let name = row.text(column);
        self.nodes.get(name).copied().ok_or_else(|| row.field_error(field, unknown_node(name, row.text(0))))
    }
}
