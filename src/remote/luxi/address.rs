//! Where the master daemon listens, and why it cannot be reached there.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::connection::{Timeouts, seconds};
use crate::model::shown::shown_source;

/// The socket's place in Ganeti's directory.
const SOCKET: &str = "/var/run/ganeti/socket/ganeti-query";

/// Most bytes of a socket's path: what the kernel has room for.
const LONGEST: usize = 107;

/// The socket of this machine's master daemon, as Ganeti itself finds it.
pub fn default_socket() -> PathBuf {
    socket_below(&std::env::var_os("GANETI_ROOTDIR").unwrap_or_default())
}

/// The path directly behind that of Ganeti's directory.
fn socket_below(root: &OsStr) -> PathBuf {
    let mut path = root.to_owned();
    path.push(SOCKET);
    path.into()
}

/// A socket for messages.
pub(crate) fn shown(socket: &Path) -> String {
    match socket.as_os_str().is_empty() {
        true => "LUXI socket ''".to_owned(),
        false => shown_source(&socket.to_string_lossy()),
    }
}

/// Refuses what can be no socket's path.
pub(super) fn check(socket: &Path) -> Result<(), String> {
    let length = socket.as_os_str().as_bytes().len();
    if length == 0 {
        return Err("the path of the socket is empty".to_owned());
    }
    if length > LONGEST {
        return Err(format!("the path of a socket can have {LONGEST} bytes, this one has {length}"));
    }
    Ok(())
}

/// Why there is no connection.
pub(super) fn refusal(socket: &Path, error: &io::Error, manner: Timeouts) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "there is no such socket: this machine is probably not the master of a cluster".to_owned()
        }
        ErrorKind::ConnectionRefused if is_other(socket) => "this is not a socket".to_owned(),
        ErrorKind::ConnectionRefused => {
            "nobody listens at this socket: the master daemon probably does not run".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "permission denied: only root and Ganeti's own users may talk to the master daemon".to_owned()
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("no connection within {}", seconds(manner.connect))
        }
        _ => format!("no connection: {error}"),
    }
}

fn is_other(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_below_a_directory() {
        assert_eq!(socket_below(OsStr::new("")), Path::new(SOCKET));
        let below = socket_below(OsStr::new("/srv/c1"));
        assert_eq!(below, Path::new("/srv/c1/var/run/ganeti/socket/ganeti-query"));
    }

    #[test]
    fn paths_that_no_socket_has() {
        assert_eq!(check(Path::new(&"s".repeat(107))), Ok(()));
        assert!(check(Path::new(&"s".repeat(108))).unwrap_err().ends_with("107 bytes, this one has 108"));
        assert_eq!(check(Path::new("")).unwrap_err(), "the path of the socket is empty");
    }
}
