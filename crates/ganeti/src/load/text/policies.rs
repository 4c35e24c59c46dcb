//! Section 5: `owner|std_spec|minmax_specs|disk_templates|vcpu_ratio|`
//! `spindle_ratio`. The owner is a group, or empty for the cluster; later
//! rows replace earlier ones.

use std::collections::HashMap;

use super::TextReader;
use super::row::{TextRow, split};
use crate::input::error::{LoadError, Result};
use crate::load::number::parse_int;
use crate::load::raw::RawGroup;
use htools_model::shown::shown_name;
use htools_model::{GroupIdx, InstancePolicy, InstanceSpec, Mib, SpecRange};

/// Groups by name, and the remaining ones by UUID; `None` if a text matches several groups. Saved files have names, so
/// a text that is both a name and another group's UUID means the group with the name.
pub(super) struct Owners(HashMap<String, Option<GroupIdx>>);

impl Owners {
    fn new(groups: &[RawGroup]) -> Self {
        let names = groups.iter().map(|group| &group.name);
        let mut owners = HashMap::new();
        for (i, name) in names.enumerate() {
            add(&mut owners, name, GroupIdx::new(i));
        }
        let mut others = HashMap::new();
        for (i, group) in groups.iter().enumerate() {
            if !owners.contains_key(&group.uuid) {
                add(&mut others, &group.uuid, GroupIdx::new(i));
            }
        }
        owners.extend(others);
        Owners(owners)
    }
}

fn add(owners: &mut HashMap<String, Option<GroupIdx>>, key: &str, group: GroupIdx) {
    owners.entry(key.to_owned()).and_modify(|found| *found = None).or_insert(Some(group));
}

impl<'a> TextReader<'a> {
    pub(super) fn read_policy(&mut self, line: &'a str, number: usize) -> Result<()> {
        let row = TextRow::new(line, number, self.source, "policy", 6)?;
        let policy = InstancePolicy {
            std: read_spec(&row, row.text(1), "standard spec")?,
            ranges: read_ranges(&row)?,
            disk_templates: split(row.text(3), ',')
                .map(|t| row.named("disk templates", t))
                .collect::<Result<_>>()?,
            vcpu_ratio: row.float(4, "vcpu ratio", 0.0)?,
            spindle_ratio: row.float(5, "spindle ratio", 0.0)?,
        };
        if row.name().is_empty() {
            self.cluster.policy = policy;
            return Ok(());
        }
        let groups = &mut self.cluster.groups;
        let owners = self.owners.get_or_insert_with(|| Owners::new(groups));
        let owner = match owners.0.get(row.name()) {
            Some(Some(index)) => groups.get_mut(index.get()),
            Some(None) => return Err(owner_error(&row, "several groups have")),
            None => None,
        };
        owner.ok_or_else(|| owner_error(&row, "no group has"))?.policy = policy;
        Ok(())
    }
}

fn owner_error(row: &TextRow, who: &str) -> LoadError {
    row.field_error("owner", format_args!("{who} the name or UUID '{}'", shown_name(row.name())))
}

/// Specs alternate: minimum, maximum, minimum, and so on. Without specs there are no limits.
fn read_ranges(row: &TextRow) -> Result<Vec<SpecRange>> {
    let count = split(row.text(2), ';').count();
    if count % 2 == 1 {
        return Err(row.field_error("min/max specs", format_args!("an odd number of specs ({count})")));
    }
    let mut specs = split(row.text(2), ';');
    let mut ranges = Vec::with_capacity(count / 2);
    while let (Some(min), Some(max)) = (specs.next(), specs.next()) {
        ranges.push(SpecRange {
            min: read_spec(row, min, "minimum spec")?,
            max: read_spec(row, max, "maximum spec")?,
        });
    }
    Ok(ranges)
}

/// Reads `memory,cpus,disk,disk_count,nic_count,spindle_use`; further items are ignored.
fn read_spec(row: &TextRow, text: &str, field: &str) -> Result<InstanceSpec> {
    let mut items = split(text, ',');
    let mut next = |key: &str| match items.next() {
        Some(item) => parse_int(item).map_err(|e| row.field_error(field, format_args!("{key}: {e}"))),
        None => Err(row.field_error(field, format_args!("{key}: missing in '{}'", shown_name(text)))),
    };
    Ok(InstanceSpec {
        memory: Mib(next("memory size")?),
        cpus: next("cpu count")?,
        disk_size: Mib(next("disk size")?),
        disk_count: next("disk count")?,
        nic_count: next("nic count")?,
        spindle_use: next("spindle use")?,
    })
}
