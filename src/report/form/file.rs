//! Writes whole files: readers see the old content or the new, never a part.
//!
//! Other targets than regular files are written only if that cannot hang and destroys nothing. They are character
//! devices (`/dev/null`, a terminal) and open file descriptors of the program (`/dev/stdout`, `/dev/fd/63`). A named
//! pipe may have no reader, or one of another user's, so it is refused, as are sockets and disks.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tempfile::NamedTempFile;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write file '{path}'")]
pub(crate) struct WriteError {
    /// The file as named by the user.
    pub path: String,
    /// Error of the system.
    pub source: io::Error,
}

/// Writes `content` to the file `path`: to a temporary file beside it, which then takes its name. Devices and open file
/// descriptors are written directly.
///
/// # Errors
/// The error of the system, with the name of the file; any old content is then still there. A named pipe, a socket, a
/// disk or a directory is refused.
pub(crate) fn write_whole(path: &Path, content: &str) -> Result<(), WriteError> {
    write_with(path, content, |mode| mode)
}

/// The same for a file that nobody else can write to, whatever the umask and the mode of the old file.
///
/// # Errors
/// See [`write_whole`].
pub(crate) fn write_unshared(path: &Path, content: &str) -> Result<(), WriteError> {
    write_with(path, content, |mode| mode & !0o022)
}

/// The same for a file that everybody may read, whatever the umask and the mode of the old file.
///
/// # Errors
/// See [`write_whole`].
pub(crate) fn write_for_all(path: &Path, content: &str) -> Result<(), WriteError> {
    write_with(path, content, |_| 0o644)
}

/// Maps the default mode of a file to the one that it gets.
type ModeRule = fn(u32) -> u32;

fn write_with(path: &Path, content: &str, mode: ModeRule) -> Result<(), WriteError> {
    let result = WriteTarget::of(path).and_then(|target| match target {
        WriteTarget::Special(mut file) => file.write_all(content.as_bytes()),
        WriteTarget::File(real) => replace(&real, content, mode),
    });
    result.map_err(|source| WriteError { path: path.display().to_string(), source })
}

/// Target of a path.
enum WriteTarget {
    /// An open file that is not a regular one.
    Special(File),
    /// A regular file, or none yet.
    File(PathBuf),
}

impl WriteTarget {
    fn of(path: &Path) -> io::Result<WriteTarget> {
        match fs::metadata(path) {
            Ok(about) if !about.is_file() => open_special(path, &about).map(WriteTarget::Special),
            // A link stays a link.
            Ok(_) => fs::canonicalize(path).map(WriteTarget::File),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(WriteTarget::File(beyond_links(path)))
            }
            Err(error) => Err(error),
        }
    }
}

/// Maximum number of links in a chain, the same as the system's.
const LINKS: usize = 40;

/// The end of a chain of links to a file that does not exist yet; it is created there.
fn beyond_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Opens a file for writing piece by piece. If it exists, its content is kept if `append` is set, and truncated
/// otherwise.
///
/// # Errors
/// See [`write_whole`].
pub(crate) fn open_stream(path: &Path, append: bool) -> Result<File, WriteError> {
    let result = match fs::metadata(path) {
        Ok(about) if !about.is_file() => open_special(path, &about),
        _ if append => File::options().create(true).append(true).open(path),
        _ => File::create(path),
    };
    result.map_err(|source| WriteError { path: path.display().to_string(), source })
}

/// Checks that [`write_whole`] can be expected to succeed. Nothing is written or left behind.
///
/// # Errors
/// As for writing.
pub(crate) fn check_whole(path: &Path) -> Result<(), WriteError> {
    let result = WriteTarget::of(path).and_then(|target| match target {
        WriteTarget::Special(_) => Ok(()),
        WriteTarget::File(real) => beside(&real).map(drop),
    });
    result.map_err(|source| WriteError { path: path.display().to_string(), source })
}

/// Checks that [`open_stream`] can be expected to succeed. The content of the file is kept.
///
/// # Errors
/// As for opening.
pub(crate) fn check_stream(path: &Path) -> Result<(), WriteError> {
    match fs::metadata(path) {
        Ok(_) => open_stream(path, true).map(drop),
        Err(_) => check_whole(path),
    }
}

/// Opens a special file, if it can be written without waiting for a reader.
fn open_special(path: &Path, about: &Metadata) -> io::Result<File> {
    let kind = about.file_type();
    let usable = kind.is_char_device() || (kind.is_fifo() && is_open(about));
    if !usable {
        return Err(io::Error::other(format!("it is {}, not a regular file", named(about))));
    }
    // The file may have been replaced in the meantime.
    let file =
        OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Tells if the program has this file open.
fn is_open(about: &Metadata) -> bool {
    let same = |other: Metadata| (other.dev(), other.ino()) == (about.dev(), about.ino());
    let open = fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    open.map(|entry| fs::metadata(entry.path())).any(|other| other.is_ok_and(same))
}

fn named(about: &Metadata) -> &'static str {
    let kind = about.file_type();
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_dir() {
        "a directory"
    } else {
        "a device"
    }
}

fn replace(path: &Path, content: &str, mode: ModeRule) -> io::Result<()> {
    let mut file = beside(path)?;
    let usual = file.as_file().metadata()?.permissions().mode() & 0o777;
    if mode(usual) != usual {
        file.as_file().set_permissions(Permissions::from_mode(mode(usual)))?;
    }
    file.as_file_mut().write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// A temporary file that can take the name of `path`; it is removed when dropped.
fn beside(path: &Path) -> io::Result<NamedTempFile<File>> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut create = OpenOptions::new();
    create.write(true).create_new(true);
    // Use the mode of the replaced file, or that of a new one; the umask applies.
    create.mode(fs::metadata(path).map_or(0o666, |meta| meta.permissions().mode() & 0o777));
    // The file is opened and written here, because tempfile would put its own name into the messages.
    tempfile::Builder::new().prefix(".htools-").make_in(directory, |path| create.open(path))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn replaces_the_content_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.original");
        write_whole(&path, "old").unwrap();
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_for_all_can_be_read_by_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.prom");
        write_whole(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        write_for_all(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn a_file_that_nobody_else_can_write_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan");
        write_whole(&path, "old").unwrap();
        for (before, after) in [(0o666, 0o644), (0o660, 0o640), (0o600, 0o600)] {
            fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            write_unshared(&path, "new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, after);
        }
    }

    /// Links may lead to a file or not yet, directly or over other links.
    #[test]
    fn a_link_keeps_being_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        let links = [("first", "below/second"), ("below/second", "../target"), ("nowhere", "absent/target")];
        links.iter().for_each(|(link, target)| symlink(target, dir.path().join(link)).unwrap());
        for content in ["new", "newer"] {
            check_whole(&dir.path().join("first")).unwrap();
            write_whole(&dir.path().join("first"), content).unwrap();
            assert_eq!(fs::read_to_string(dir.path().join("target")).unwrap(), content);
        }
        for link in ["circle", "nowhere"] {
            let path = dir.path().join(link);
            if link == "circle" {
                symlink(&path, &path).unwrap();
            }
            check_whole(&path).unwrap_err();
            write_whole(&path, "x").unwrap_err();
            open_stream(&path, false).unwrap_err();
        }
        assert!(
            ["first", "below/second", "nowhere", "circle"]
                .iter()
                .all(|link| dir.path().join(link).is_symlink())
        );
    }

    #[test]
    fn errors_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("absent").join("state");
        let error = write_whole(&path, "x").unwrap_err();
        assert!(error.to_string().ends_with("absent/state'"), "{error}");
        assert_eq!(error.source.raw_os_error(), Some(2), "{}", error.source);
    }

    #[test]
    fn what_can_be_written_is_known_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        check_whole(&path).unwrap();
        check_stream(&path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        write_whole(&path, "old").unwrap();
        check_whole(&path).unwrap();
        check_stream(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        for check in [check_whole, check_stream] {
            check(Path::new("/dev/null")).unwrap();
            check(dir.path()).unwrap_err();
            assert_eq!(check(&path.join("x")).unwrap_err().source.raw_os_error(), Some(20));
            assert_eq!(check(&dir.path().join("a/b")).unwrap_err().source.raw_os_error(), Some(2));
        }
    }

    #[test]
    fn devices_are_written_to_not_replaced() {
        write_whole(Path::new("/dev/null"), "x").unwrap();
        open_stream(Path::new("/dev/null"), false).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_the_program_was_given_is_written_to() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/dev/fd/{}", writer.as_raw_fd());
        write_whole(Path::new(&path), "one ").unwrap();
        open_stream(Path::new(&path), true).unwrap().write_all(b"two").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
    }

    /// They are refused at once, with or without a reader.
    #[test]
    fn pipes_sockets_and_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let [pipe, socket] = ["pipe", "socket"].map(|name| dir.path().join(name));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, what) in [(pipe.as_path(), "a pipe"), (&socket, "a socket"), (dir.path(), "a directory")] {
            for error in [write_whole(path, "x").unwrap_err(), open_stream(path, false).unwrap_err()] {
                assert_eq!(error.source.to_string(), format!("it is {what}, not a regular file"));
            }
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn streams_begin_anew_or_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events");
        for (append, wanted) in [(true, "x"), (true, "xx"), (false, "x")] {
            open_stream(&path, append).unwrap().write_all(b"x").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
        }
    }
}
