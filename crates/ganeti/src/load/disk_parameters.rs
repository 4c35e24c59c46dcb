//! Disk parameters of node groups, the same over LUXI and RAPI.

use crate::input::error::Result;
use crate::input::json::Object;
use htools_model::shown::printable;
use htools_model::{DiskParameters, GlusterVolume};

/// Reads disk parameters. Whatever is missing or `null`, from a single parameter to all of them, has Ganeti's default: older versions do not tell them.
///
/// # Errors
/// Values of another type, and those that cannot mean anything.
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
            let wrong = || gluster.key_error("port", format!("{number} is no port"));
            *port = u16::try_from(number).ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        }
    }
    Ok(read)
}

/// Something with a name, if it has one.
fn name(object: &Object<'_, '_>, key: &str, into: &mut String) -> Result<()> {
    let Some(found) = object.optional_string(key)? else { return Ok(()) };
    // a pool is known by its name: what is shown must be what is there
    if found.is_empty() || printable(found, usize::MAX) != found {
        return Err(object.key_error(key, format!("\"{found}\" is no name")));
    }
    into.clear();
    into.push_str(found);
    Ok(())
}
