//! One run at a time: a lock of a tool on a cluster.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};

use super::place;
use crate::execute::ClusterId;

/// A lock, held until the end of the program or until it is dropped.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "it is the open file that holds the lock")] File);

impl Lock {
    /// Takes the lock of a tool on a cluster, in the state directory of the user; where there is
    /// none, beside the journal.
    ///
    /// # Errors
    /// If another process has it, or it cannot be taken.
    pub fn take(tool: &str, cluster: &ClusterId, journal: Option<&Path>) -> anyhow::Result<Lock> {
        let beside = journal.map(|path| path.parent().unwrap_or(Path::new("")).to_owned());
        let directory = match (place::state(), beside) {
            (Ok(directory), _) => directory,
            (Err(_), Some(directory)) => directory,
            (Err(error), None) => return Err(error),
        };
        Lock::of(tool, cluster, &directory)
    }

    fn of(tool: &str, cluster: &ClusterId, directory: &Path) -> anyhow::Result<Lock> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let uuid: String = cluster.uuid.chars().take(100).map(plain).collect();
        let path = directory.join(format!("{tool}-{uuid}.lock"));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let what = || format!("cannot take the lock '{}'", path.display());
        let mut file = options.open(&path).with_context(what)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(held(tool, cluster, &path, &mut file)),
            Err(TryLockError::Error(error)) => return Err(error).with_context(what),
        }
        // for whoever comes in vain
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).with_context(what)?;
        Ok(Lock(file))
    }
}

fn held(tool: &str, cluster: &ClusterId, path: &Path, file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.take(20).read_to_string(&mut text);
    let process = match text.trim().parse::<u32>() {
        Ok(process) => format!(" (process {process})"),
        Err(_) => String::new(),
    };
    format!("another {tool} is at work on cluster {}{process}: {}", cluster.name, path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_on_each_cluster() {
        let directory = tempfile::tempdir().unwrap();
        let cluster = |uuid: &str| ClusterId { name: "c".into(), uuid: uuid.into() };
        let first = Lock::of("t", &cluster("a/b"), directory.path()).unwrap();
        let why = Lock::of("t", &cluster("a/b"), directory.path()).unwrap_err().to_string();
        let wanted = format!("another t is at work on cluster c (process {}): ", std::process::id());
        assert!(why.starts_with(&wanted) && why.ends_with("/t-a_b.lock"), "{why}");
        Lock::of("t", &cluster("c"), directory.path()).unwrap();
        Lock::of("u", &cluster("a/b"), directory.path()).unwrap();
        drop(first);
        Lock::of("t", &cluster("a/b"), directory.path()).unwrap();
        let nowhere = directory.path().join("x");
        assert!(Lock::of("t", &cluster("a"), &nowhere).is_err());
    }
}
