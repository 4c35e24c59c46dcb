//! Instance policies, the same in every JSON source.

use crate::input::error::Result;
use crate::input::json::Object;
use htools_model::{InstancePolicy, InstanceSpec, Mib, SpecRange};

/// Reads an instance policy.
///
/// # Errors
/// If a key is missing or unknown, on any level.
pub(super) fn read_policy(policy: &Object<'_, '_>) -> Result<InstancePolicy> {
    policy.only(&["disk-templates", "minmax", "spindle-ratio", "std", "vcpu-ratio"])?;
    Ok(InstancePolicy {
        ranges: policy.each_object("minmax", |range| {
            range.only(&["max", "min"])?;
            Ok(SpecRange { min: read_spec(&range, "min")?, max: read_spec(&range, "max")? })
        })?,
        std: read_spec(policy, "std")?,
        disk_templates: policy.enumerations("disk-templates")?,
        vcpu_ratio: policy.float("vcpu-ratio")?,
        spindle_ratio: policy.float("spindle-ratio")?,
    })
}

fn read_spec(object: &Object<'_, '_>, key: &str) -> Result<InstanceSpec> {
    let spec = object.object(key)?;
    spec.only(&["cpu-count", "disk-count", "disk-size", "memory-size", "nic-count", "spindle-use"])?;
    Ok(InstanceSpec {
        memory: Mib(spec.int("memory-size")?),
        cpus: spec.int("cpu-count")?,
        disk_size: Mib(spec.int("disk-size")?),
        disk_count: spec.int("disk-count")?,
        nic_count: spec.int("nic-count")?,
        spindle_use: spec.int("spindle-use")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::json::{self, JsonPath};
    use htools_model::DiskTemplate;

    const POLICY: &str = r#"{"p":{"minmax":[{
    "min":{"memory-size":128,"cpu-count":1,"disk-size":1024,"disk-count":1,"nic-count":1,"spindle-use":1},
    "max":{"memory-size":32768,"cpu-count":8,"disk-size":1048576,"disk-count":16,"nic-count":8,"spindle-use":12}}],
    "std":{"memory-size":128,"cpu-count":1,"disk-size":1024,"disk-count":1,"nic-count":1,"spindle-use":1},
    "disk-templates":["drbd","plain"],"vcpu-ratio":4.0,"spindle-ratio":32}}"#;

    #[test]
    fn policies() {
        let read = |text: &str| {
            let value = json::parse(text, "x.json")?;
            read_policy(&Object::new(&value, JsonPath::source("x.json"))?.object("p")?)
        };
        let expected = InstancePolicy {
            disk_templates: vec![DiskTemplate::Drbd, DiskTemplate::Plain],
            ..InstancePolicy::default()
        };
        assert_eq!(read(POLICY), Ok(expected));
        for (from, to, message) in [
            ("\"std\"", "\"foo\":1,\"std\"", "x.json, p: unknown key 'foo', only [disk-templates,minmax,"),
            ("\"std\"", "\"x\"", "x.json, p: unknown key 'x'"),
            (
                "\"min\":{",
                "\"y\":0,\"min\":{",
                "x.json, p, minmax, item 1: unknown key 'y', only [max,min] allowed",
            ),
            (
                "\"nic-count\":8",
                "\"nic-count\":\"8\"",
                "x.json, p, minmax, item 1, max: key 'nic-count': expected a num",
            ),
            ("\"vcpu-ratio\":4.0,", "", "x.json, p: key 'vcpu-ratio' not found"),
        ] {
            let error = read(&POLICY.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
