//! Section 1: `name|uuid|alloc_policy|tags|networks`. The networks may be
//! missing (a historic form).

use super::row::TextRow;
use super::{TextReader, doubts};
use crate::input::error::Result;
use crate::load::raw::RawGroup;
use htools_model::{DiskParameters, GroupIdx, InstancePolicy};

impl<'a> TextReader<'a> {
    pub(super) fn read_group(&mut self, line: &'a str, number: usize) -> Result<()> {
        let row = TextRow::new(line, number, self.source, "group", 4)?;
        let uuid = row.text(1);
        let group = RawGroup {
            name: row.name().to_owned(),
            uuid: uuid.to_owned(),
            alloc_policy: row.named("allocation policy", row.text(2))?,
            tags: row.list(3),
            networks: row.list(4),
            // A group without a row in the policy section has the built-in policy, not the cluster's.
            policy: InstancePolicy::default(),
            disk_parameters: DiskParameters::default(),
        };
        if row.name().is_empty() {
            self.keep_doubts([row.field_error("name", "it is empty").to_string()]);
        }
        if !self.group_names.insert(row.name()) {
            self.keep_doubts([doubts::repeated(&row)]);
        }
        self.groups.insert(uuid, GroupIdx::new(self.cluster.groups.len()));
        self.cluster.groups.push(group);
        Ok(())
    }
}
