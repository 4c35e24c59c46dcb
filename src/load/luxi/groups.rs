//! Node groups, as the master daemon describes them.

use super::rows::{Row, each_row};
use crate::load::error::Result;
use crate::load::json::{Json, Object, Place, read_policy};
use crate::load::raw::RawGroup;

/// What is asked of a group.
pub const FIELDS: &[&str] = &["uuid", "name", "alloc_policy", "ipolicy", "tags"];

/// Reads the result of the query.
pub(super) fn read_groups(result: &Json, place: &Place<'_>) -> Result<Vec<RawGroup>> {
    each_row(result, place, "group", FIELDS, |name, group| read_group(name, &group))
}

fn read_group(name: &str, group: &Row<'_, '_>) -> Result<RawGroup> {
    Ok(RawGroup {
        name: name.to_owned(),
        uuid: group.string("uuid")?.to_owned(),
        alloc_policy: group.enumeration("alloc_policy")?,
        // not asked for
        networks: Vec::new(),
        policy: read_policy(&Object::new(&group.as_member("ipolicy")?, *group.place())?, "ipolicy")?,
        tags: group.strings("tags")?,
    })
}
