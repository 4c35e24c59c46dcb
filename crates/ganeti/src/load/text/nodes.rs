//! Section 2: `name|t_mem|n_mem|f_mem|t_dsk|f_dsk|t_cpu|role|group_uuid|`
//! `spindles|tags|excl|free_spindles|os_cpus|cpu_speed`. Every row from 9
//! columns on is a legal historic form.

use super::row::TextRow;
use super::{TextReader, doubts};
use crate::input::error::Result;
use crate::load::raw::RawNode;
use htools_model::shown::shown_name;
use htools_model::{GroupIdx, Mib, NodeIdx, Outage};

impl<'a> TextReader<'a> {
    pub(super) fn read_node(&mut self, line: &'a str, number: usize) -> Result<()> {
        let row = TextRow::new(line, number, self.source, "node", 9)?;
        let uuid = row.text(8);
        let group = *self.groups.get(uuid).ok_or_else(|| {
            row.field_error("group", format_args!("no group has the UUID '{}'", shown_name(uuid)))
        })?;
        // A "?" in any of the resources means that the node did not answer.
        let unknown = (1..=6).any(|column| row.text(column) == "?");
        let node = if unknown { silent_node(row.name(), group) } else { read_resources(&row, group)? };
        self.keep_doubts(doubts::of_node(&row, &node));
        if self.nodes.insert(row.name(), NodeIdx::new(self.cluster.nodes.len())).is_some() {
            self.keep_doubts([doubts::repeated(&row)]);
        }
        self.cluster.nodes.push(node);
        Ok(())
    }
}

/// A node of which nothing is known: offline and without resources. The rest of its row is ignored.
fn silent_node(name: &str, group: GroupIdx) -> RawNode {
    RawNode {
        name: name.to_owned(),
        mem_total: 0.0,
        mem_node: Mib::ZERO,
        mem_free: Mib::ZERO,
        disk_total: 0.0,
        disk_free: Mib::ZERO,
        cpu_total: 0.0,
        cpu_node: 0,
        cpu_speed: 1.0,
        spindle_total: 0,
        spindle_free: 0,
        exclusive_storage: false,
        offline: true,
        outage: Outage::default(),
        master: false,
        group,
        tags: Vec::new(),
        hypervisor: None,
    }
}

fn read_resources(row: &TextRow, group: GroupIdx) -> Result<RawNode> {
    let role = row.text(7);
    Ok(RawNode {
        name: row.name().to_owned(),
        mem_total: row.float(1, "total memory", 0.0)?,
        mem_node: Mib(row.int(2, "node memory", 0)?),
        mem_free: Mib(row.int(3, "free memory", 0)?),
        disk_total: row.float(4, "total disk", 0.0)?,
        disk_free: Mib(row.int(5, "free disk", 0)?),
        cpu_total: row.float(6, "total CPUs", 0.0)?,
        cpu_node: row.int(13, "CPUs of the node's own system", 1)?,
        spindle_total: row.int(9, "spindles", 1)?,
        cpu_speed: row.float(14, "CPU speed", 1.0)?,
        spindle_free: row.int(12, "free spindles", 0)?,
        exclusive_storage: row.yes_no(11, "exclusive storage")?,
        // Any other role means an ordinary node.
        offline: role == "Y",
        outage: Outage::default(),
        master: role == "M",
        group,
        tags: row.list(10),
        hypervisor: None,
    })
}
