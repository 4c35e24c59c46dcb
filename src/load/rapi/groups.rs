//! Node groups, as RAPI describes them.

use crate::input::error::Result;
use crate::input::json::{Body, Budget, WantedParts};
use crate::load::Detail;
use crate::load::disk_parameters::read_disk_parameters;
use crate::load::policy::read_policy;
use crate::load::raw::RawGroup;
use crate::model::DiskParameters;

/// What is read of a group.
const SHAPE: WantedParts = WantedParts::Checked(&[
    ("name", WantedParts::Whole),
    ("uuid", WantedParts::Whole),
    ("alloc_policy", WantedParts::Whole),
    ("ipolicy", WantedParts::Whole),
    ("diskparams", WantedParts::Whole),
    ("tags", WantedParts::Whole),
]);

/// Reads the answer of `/2/groups`.
pub(super) fn read_groups(answer: Body<'_>, detail: Detail, budget: &Budget) -> Result<Vec<RawGroup>> {
    answer.each_described("group", SHAPE, budget, |name, group| {
        Ok(RawGroup {
            name: name.to_owned(),
            uuid: group.string("uuid")?.to_owned(),
            alloc_policy: group.enumeration("alloc_policy")?,
            // the answer does not say which they are
            networks: Vec::new(),
            policy: read_policy(&group, "ipolicy")?,
            disk_parameters: match detail {
                Detail::Usual => DiskParameters::default(),
                Detail::Storage => read_disk_parameters(&group, "diskparams")?,
            },
            tags: group.strings("tags")?,
        })
    })
}
