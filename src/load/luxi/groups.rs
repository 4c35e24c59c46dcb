//! Node groups, as the master daemon describes them.

use super::rows::{QueryRow, QueryTable};
use crate::input::error::Result;
use crate::input::json::Object;
use crate::load::Detail;
use crate::load::disk_parameters::read_disk_parameters;
use crate::load::policy::read_policy;
use crate::load::raw::RawGroup;
use crate::model::DiskParameters;

const DISK_PARAMETERS: &str = "diskparams";

/// What is asked of a group.
pub(super) fn fields(detail: Detail) -> &'static [&'static str] {
    match detail {
        Detail::Usual => &["uuid", "name", "alloc_policy", "ipolicy", "tags"],
        Detail::Storage => &["uuid", "name", "alloc_policy", "ipolicy", "tags", DISK_PARAMETERS],
    }
}

/// Reads the result of the query.
pub(super) fn read_groups(table: QueryTable<'_>, detail: Detail) -> Result<Vec<RawGroup>> {
    table.each_row(fields(detail), |name, group| read_group(name, &group, detail))
}

fn read_group(name: &str, group: &QueryRow<'_, '_>, detail: Detail) -> Result<RawGroup> {
    Ok(RawGroup {
        name: name.to_owned(),
        uuid: group.string("uuid")?.to_owned(),
        alloc_policy: group.enumeration("alloc_policy")?,
        // not asked for
        networks: Vec::new(),
        policy: read_policy(&Object::new(&group.as_member("ipolicy")?, *group.place())?, "ipolicy")?,
        disk_parameters: disk_parameters(group, detail)?,
        tags: group.strings("tags")?,
    })
}

/// The disk parameters, if they were asked for and the master has heard of them.
fn disk_parameters(group: &QueryRow<'_, '_>, detail: Detail) -> Result<DiskParameters> {
    if detail == Detail::Usual || group.is_unknown(DISK_PARAMETERS) {
        return Ok(DiskParameters::default());
    }
    let member = group.as_member(DISK_PARAMETERS)?;
    read_disk_parameters(&Object::new(&member, *group.place())?, DISK_PARAMETERS)
}
