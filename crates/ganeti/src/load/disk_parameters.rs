//! Disk parameters of node groups, the same over LUXI and RAPI.

use crate::input::error::Result;
use crate::input::json::Object;
use htools_model::shown::printable;
use htools_model::{DiskParameters, GlusterVolume};

/// Reads disk parameters. A parameter that is missing or `null`, or all of them, gets Ganeti's default, since older
/// versions do not export them.
///
/// # Errors
/// If a value has another type, or is not meaningful.
pub(super) fn read_disk_parameters(all: &Object<'_, '_>) -> Result<DiskParameters> {
    let mut read = DiskParameters::default();
    if let Some(rbd) = all.optional_object("rbd")? {
        name(&rbd, "pool", &mut read.rbd_pool)?;
    }
    if let Some(gluster) = all.optional_object("gluster")? {
        let GlusterVolume { host, port, volume } = &mut read.gluster;
        name(&gluster, "host", host)?;
        name(&gluster, "volume", volume)?;
        if let Some(number) = gluster.optional_int("port")? {
            let wrong = || gluster.key_error("port", format!("{number} is not a port"));
            *port = u16::try_from(number).ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        }
    }
    Ok(read)
}

/// Reads a name, if the object has it.
fn name(object: &Object<'_, '_>, key: &str, into: &mut String) -> Result<()> {
    let Some(found) = object.optional_string(key)? else { return Ok(()) };
    // A pool is identified by its name, so the name must be printable as it is.
    if found.is_empty() || printable(found, usize::MAX) != found {
        return Err(object.key_error(key, format!("\"{found}\" is not a name")));
    }
    into.clear();
    into.push_str(found);
    Ok(())
}
