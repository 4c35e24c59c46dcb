//! Local files, read with size limits.

use std::ffi::OsString;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::error::{LoadCause, LoadError, Result};
use htools_model::shown::shown_source;

/// Maximum size in bytes of a file that is read as a whole.
pub const SIZE: u64 = 512 << 20;

/// Reads everything, within a limit.
///
/// # Errors
/// If it cannot be read, or has more than `most` bytes.
pub fn read_limited(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut from = Limited::new(from, most);
    let mut bytes = Vec::new();
    loop {
        // Grow by a quarter each time, not by doubling.
        let room = CHUNK.max(bytes.len() / 4);
        bytes.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if from.by_ref().take(room as u64).read_to_end(&mut bytes)? == 0 {
            bytes.shrink_to_fit();
            return Ok(bytes);
        }
    }
}

/// Users who may have access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Anyone can read it.
    Anyone,
    /// Anyone can read it, but nobody else can change it: see [`check_ours`].
    AnyoneNoWriters,
    /// Only its owner can read it.
    OwnerOnly,
}

/// Reads a small regular file after checking it. The checks are made on the open file, so replacing it meanwhile has no
/// effect.
///
/// # Errors
/// If it cannot be read, is not a regular file, is too large, or is accessible to more users than `readers` allows.
pub fn read_regular(path: &Path, most: u64, readers: Readers) -> Result<Vec<u8>> {
    let wrong = |problem: &str| LoadError::one_line(&shown_source(&path.to_string_lossy()), problem);
    let unreadable = |e: io::Error| wrong(&format!("cannot be read: {e}"));
    // Opening a pipe without a writer would wait for ever.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(wrong("not a regular file"));
    }
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(at_once).open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(wrong("not a regular file"));
    }
    let mode = about.mode() & 0o7777;
    let others = if is_credential(path, std::env::var_os("CREDENTIALS_DIRECTORY")) { 0o037 } else { 0o077 };
    if readers == Readers::OwnerOnly && mode & others != 0 {
        return Err(wrong(&format!("other users can read or change it (mode {mode:04o})"))
            .with_cause(LoadCause::NotPrivate));
    }
    if readers == Readers::AnyoneNoWriters {
        check_ours(&about).map_err(|error| error.of_file(&shown_source(&path.to_string_lossy())))?;
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most { Err(wrong(&format!("more than {most} bytes"))) } else { Ok(bytes) }
}

/// Reason that a file or directory is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UntrustedFile {
    /// It belongs to the user with this number.
    #[error("it belongs to another user ({0})")]
    OtherOwner(u32),
    /// Others can write to it.
    #[error("other users can write to it (mode {0:04o})")]
    Writable(u32),
}

impl UntrustedFile {
    /// The error of a file with this name, fit for a message.
    pub(crate) fn of_file(self, shown: &str) -> LoadError {
        let error = LoadError::one_line(shown, &self.to_string());
        match self {
            UntrustedFile::OtherOwner(_) => error,
            UntrustedFile::Writable(_) => error.with_cause(LoadCause::WritableByOthers),
        }
    }
}

/// Refuses a file or directory that other users may have created or changed. It must belong to root or to the user who
/// runs this program, and nobody else may have write access. This applies to all files that decide about actions:
/// locks, journals, plans, configuration.
///
/// # Errors
/// The reason that it is not trusted.
pub fn check_ours(about: &Metadata) -> std::result::Result<(), UntrustedFile> {
    if ![0, geteuid().as_raw()].contains(&about.uid()) {
        return Err(UntrustedFile::OtherOwner(about.uid()));
    }
    let mode = about.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(UntrustedFile::Writable(mode));
    }
    Ok(())
}

/// Tells if systemd has put a file there for this service alone (`LoadCredential=`, in the directory that a variable
/// names). An access list lets the service's user read it, which its mode shows as a right of the group.
fn is_credential(path: &Path, directory: Option<OsString>) -> bool {
    directory.is_some_and(|directory| path.parent() == Some(Path::new(&directory)))
}

/// Minimum number of bytes read at once.
const CHUNK: usize = 64 << 10;

/// A reader for which more bytes than the limit are an error.
pub(crate) struct Limited<R> {
    from: io::Take<R>,
    most: u64,
}

impl<R: Read> Limited<R> {
    /// Limits a reader to `most` bytes.
    pub(crate) fn new(from: R, most: u64) -> Limited<R> {
        Limited { from: from.take(most.saturating_add(1)), most }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        match self.from.limit() {
            0 if self.most < u64::MAX => Err(io::Error::other(format!("more than {} bytes", self.most))),
            _ => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_a_service_are_in_its_directory() {
        let is =
            |path: &str, directory: Option<&str>| is_credential(Path::new(path), directory.map(Into::into));
        assert!(is("/run/credentials/x.service/rapi", Some("/run/credentials/x.service")));
        assert!(!is("/run/credentials/x.service/rapi", None));
        assert!(!is("/etc/rapi", Some("/run/credentials/x.service")));
        assert!(!is("/run/credentials/x.service/../rapi", Some("/run/credentials/x.service")));
        assert!(!is("rapi", Some("/")));
    }

    #[test]
    fn what_is_too_much_is_an_error() {
        assert_eq!(read_limited(&b"abc"[..], 3).unwrap(), b"abc");
        assert_eq!(read_limited(&b"abcd"[..], 3).unwrap_err().to_string(), "more than 3 bytes");
        assert_eq!(read_limited(io::repeat(0), 0).unwrap_err().to_string(), "more than 0 bytes");
        assert_eq!(read_limited(io::repeat(0), 1 << 20).unwrap_err().to_string(), "more than 1048576 bytes");
        assert_eq!(read_limited(&b"abc"[..], u64::MAX).unwrap(), b"abc");
    }
}
