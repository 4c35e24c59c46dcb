//! Locks that allow one run at a time of each tool on each cluster.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::place;
use crate::execute::ClusterId;
use crate::input::local::check_ours;

/// A lock, held until it is dropped or the program ends.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "it is the open file that holds the lock")] File);

/// Another process holds the lock.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LockHeld(String);

impl Lock {
    /// Takes the lock of a tool on a cluster. The lock file is in the user's state directory, so that a timer's run
    /// and a manual run use the same file. Without a state directory, the login session's runtime directory is used.
    ///
    /// # Errors
    /// If another process holds the lock, or it cannot be taken. If there is no such directory, it is a symbolic
    /// link, or others can write to it.
    pub(crate) fn take(tool: &str, cluster: &ClusterId) -> anyhow::Result<Lock> {
        let directory = match place::make_state() {
            Ok(directory) => directory,
            Err(_) => runtime_directory(env::var_os("XDG_RUNTIME_DIR")).context(
                "no directory for locks is known, because XDG_STATE_HOME, HOME and XDG_RUNTIME_DIR are not set",
            )?,
        };
        Lock::of(tool, cluster, &directory)
    }

    fn of(tool: &str, cluster: &ClusterId, directory: &Path) -> anyhow::Result<Lock> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let uuid: String = cluster.uuid.chars().take(100).map(plain).collect();
        let path = directory.join(format!("{tool}-{uuid}.lock"));
        let what = || format!("cannot take the lock '{}'", path.display());
        place::check_directory(directory)?;
        let mut file = open(&path).with_context(what)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockHeld(held(tool, cluster, &path, &mut file)).into());
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(what),
        }
        // The process ID is for the message that a second run gets.
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).with_context(what)?;
        Ok(Lock(file))
    }
}

/// The runtime directory of the login session: `XDG_RUNTIME_DIR` as in the XDG base directory specification, or the
/// one that systemd creates.
fn runtime_directory(named: Option<OsString>) -> Option<PathBuf> {
    let named = named.map(PathBuf::from).filter(|path| path.is_absolute());
    let usual =
        || Some(PathBuf::from(format!("/run/user/{}", geteuid().as_raw()))).filter(|path| path.is_dir());
    named.or_else(usual)
}

/// Opens a lock file: a new one, or an existing one that nobody else can have put there. Symbolic links are not
/// followed.
fn open(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        done => return Ok(done?),
    }
    // A pipe must not block the opening.
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let file = options.open(path).map_err(|error| match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => io::Error::other("it is a symbolic link"),
        _ => error,
    })?;
    let about = file.metadata()?;
    if !about.is_file() || about.nlink() > 1 {
        bail!("it is not a regular file with one name");
    }
    check_ours(&about)?;
    Ok(file)
}

fn held(tool: &str, cluster: &ClusterId, path: &Path, file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.take(20).read_to_string(&mut text);
    let process = match text.trim().parse::<u32>() {
        Ok(process) => format!(" (process {process})"),
        Err(_) => String::new(),
    };
    format!("another {tool} is running on cluster {}{process}: {}", cluster.name, path.display())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;
    use crate::tools::hint::Complaint;

    #[test]
    fn one_at_a_time_on_each_cluster() {
        let directory = tempfile::tempdir().unwrap();
        let cluster = |uuid: &str| ClusterId { name: "c".into(), uuid: uuid.into() };
        let first = Lock::of("t", &cluster("a/b"), directory.path()).unwrap();
        let why = Lock::of("t", &cluster("a/b"), directory.path()).unwrap_err().to_string();
        let wanted = format!("another t is running on cluster c (process {}): ", std::process::id());
        assert!(why.starts_with(&wanted) && why.ends_with("/t-a_b.lock"), "{why}");
        Lock::of("t", &cluster("c"), directory.path()).unwrap();
        Lock::of("u", &cluster("a/b"), directory.path()).unwrap();
        drop(first);
        Lock::of("t", &cluster("a/b"), directory.path()).unwrap();
        let nowhere = directory.path().join("x");
        assert!(Lock::of("t", &cluster("a"), &nowhere).is_err());
    }

    /// Lock files that others might have planted are neither written to nor trusted.
    #[test]
    fn only_files_of_ones_own() {
        let base = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let take = || {
            let cluster = ClusterId { name: "c".into(), uuid: "u".into() };
            Lock::of("t", &cluster, base.path()).map(drop).map_err(|error| format!("{error:#}"))
        };
        let path = base.path().join("t-u.lock");
        let why = |what: &str| Err(format!("cannot take the lock '{}': {what}", path.display()));
        let victim = base.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &path).unwrap();
        assert_eq!(take(), why("it is a symbolic link"));
        fs::remove_file(&path).unwrap();
        symlink(base.path().join("new"), &path).unwrap();
        assert_eq!(take(), why("it is a symbolic link"));
        fs::remove_file(&path).unwrap();
        fs::hard_link(&victim, &path).unwrap();
        assert_eq!(take(), why("it is not a regular file with one name"));
        fs::remove_file(&path).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(take(), why("it is not a regular file with one name"));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "1").unwrap();
        mode(&path, 0o666);
        assert_eq!(take(), why("other users can write to it (mode 0666)"));
        let refused = open(&path).unwrap_err();
        assert!(
            Complaint::of(&refused)
                .lines()
                .ends_with("\nHint: chmod go-w takes the right from other users\n")
        );
        fs::remove_file(&path).unwrap();
        mode(base.path(), 0o777);
        let place = base.path().display();
        let open = format!(
            "the directory '{place}' cannot be used for journals and locks: other users can write to it (mode 0777)"
        );
        assert_eq!(take(), Err(open));
        mode(base.path(), 0o755);
        assert_eq!(take(), Ok(()));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!base.path().join("new").exists());
    }

    #[test]
    fn the_directory_of_a_login() {
        assert_eq!(runtime_directory(Some("/r".into())), Some("/r".into()));
        let usual = format!("/run/user/{}", geteuid().as_raw());
        let usual = Some(PathBuf::from(usual)).filter(|path| path.is_dir());
        assert_eq!([runtime_directory(Some("r".into())), runtime_directory(None)], [usual.clone(), usual]);
    }
}
