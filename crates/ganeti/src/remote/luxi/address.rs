//! Address of the master daemon's socket, and the errors of reaching it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::connection::{Timeouts, seconds};
use htools_model::shown::shown_source;

/// Path of the socket below Ganeti's root directory.
const SOCKET: &str = "/var/run/ganeti/socket/ganeti-query";

/// Maximum length of a socket's path in bytes, set by the kernel.
const LONGEST: usize = 107;

/// The socket of this machine's master daemon, found in the same way as Ganeti does.
pub fn default_socket() -> PathBuf {
    socket_below(&std::env::var_os("GANETI_ROOTDIR").unwrap_or_default())
}

/// The path of the socket appended to that of Ganeti's root directory.
fn socket_below(root: &OsStr) -> PathBuf {
    let mut path = root.to_owned();
    path.push(SOCKET);
    path.into()
}

/// A socket's path for messages.
pub(crate) fn shown(socket: &Path) -> String {
    if socket.as_os_str().is_empty() {
        "LUXI socket ''".to_owned()
    } else {
        shown_source(&socket.to_string_lossy())
    }
}

/// Reason that there is no connection to a socket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("the path of the socket is empty")]
    Empty,
    #[error("the path of the socket has {0} bytes; at most {LONGEST} are possible")]
    TooLong(usize),
    #[error("there is no such socket; this machine is probably not the master of a cluster")]
    Missing,
    #[error("this is not a socket")]
    NoSocket,
    #[error("no program listens on this socket; the master daemon is probably not running")]
    Refused,
    #[error("permission denied; only root and Ganeti's own users have access to the master daemon")]
    Forbidden,
    #[error("no connection within {0}")]
    Late(String),
    #[error("no connection: {0}")]
    Other(String),
}

/// Checks that a path can be that of a socket.
pub(super) fn check(socket: &Path) -> Result<(), SocketError> {
    match socket.as_os_str().as_bytes().len() {
        0 => Err(SocketError::Empty),
        length if length > LONGEST => Err(SocketError::TooLong(length)),
        _ => Ok(()),
    }
}

/// The reason that a connection failed.
pub(super) fn refusal(socket: &Path, error: &io::Error, manner: Timeouts) -> SocketError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => SocketError::Missing,
        ErrorKind::ConnectionRefused if is_other(socket) => SocketError::NoSocket,
        ErrorKind::ConnectionRefused => SocketError::Refused,
        ErrorKind::PermissionDenied => SocketError::Forbidden,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => SocketError::Late(seconds(manner.connect)),
        _ => SocketError::Other(error.to_string()),
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
        assert_eq!(check(Path::new(&"s".repeat(108))), Err(SocketError::TooLong(108)));
        assert_eq!(check(Path::new("")), Err(SocketError::Empty));
    }
}
