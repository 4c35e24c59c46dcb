//! Instance policies, the same in every JSON source.

use super::access::Object;
use crate::load::error::Result;
use crate::model::{InstancePolicy, InstanceSpec, Mib, SpecRange};

/// Reads the instance policy under `key`.
///
/// # Errors
/// Every key is needed, on all levels, and no other is allowed.
pub fn read_policy(object: &Object<'_, '_>, key: &str) -> Result<InstancePolicy> {
    let policy = object.object(key)?;
    policy.only(&["disk-templates", "minmax", "spindle-ratio", "std", "vcpu-ratio"])?;
    Ok(InstancePolicy {
        ranges: policy.each_object("minmax", |range| {
            range.only(&["max", "min"])?;
            Ok(SpecRange { min: read_spec(&range, "min")?, max: read_spec(&range, "max")? })
        })?,
        std: read_spec(&policy, "std")?,
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
