//! Runs programs, each in a directory of its own and with a time limit.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::original;

/// Longest run of one program; reported and counted when reached.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Output {
    /// Exit status; 128 plus the number for a signal; none if the time was up.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    pub time: Duration,
}

/// Paths of the programs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The reference's directory, or none for the search path.
    reference: Option<PathBuf>,
    /// The reference's allocator, which turns requests into text.
    pub hail: PathBuf,
}

/// Directories in which distributions keep allocators. The first one contains only the reference's in Debian.
const ALLOCATORS: [&str; 4] = [
    original::ALLOCATORS,
    "/usr/lib/ganeti/iallocators",
    "/usr/local/lib/ganeti/iallocators",
    "/usr/share/ganeti/iallocators",
];

impl Programs {
    /// Finds the reference, or reports what is missing.
    pub fn find() -> Result<Self, String> {
        let reference = std::env::var_os("HTOOLS_REFERENCE_DIR")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(original::TOOLS)).filter(|directory| directory.is_dir()));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places: Vec<PathBuf> = match &reference {
            Some(directory) => vec![directory.clone()],
            None => std::env::split_paths(&path).collect(),
        };
        let find = |name: &str, more: &[&str]| {
            places
                .iter()
                .cloned()
                .chain(more.iter().map(PathBuf::from))
                .map(|place| place.join(name))
                .find(|file| file.is_file())
                .ok_or_else(|| {
                    format!(
                        "the reference's {name} was not found. Install Ganeti's own htools (Debian: \
                         ganeti-htools and ganeti), or name their directory in HTOOLS_REFERENCE_DIR"
                    )
                })
        };
        for tool in ["hbal", "hinfo", "hspace", "hcheck", "hroller", "hscan", "hsqueeze", "harep"] {
            find(tool, &[])?;
        }
        Ok(Programs { hail: find("hail", &ALLOCATORS)?, reference })
    }

    /// The command that runs one of the reference's tools.
    pub fn reference(&self, tool: &str) -> Command {
        let mut command = Command::new(match &self.reference {
            _ if tool == "hail" => self.hail.clone(),
            Some(directory) => directory.join(tool),
            None => tool.into(),
        });
        command.env_remove("HTOOLS");
        command
    }

    /// The command that runs our tool with this name.
    pub fn ours(tool: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env("HTOOLS", tool);
        command
    }
}

/// Runs the command in the directory, with one of its files as standard input if named. The output goes to files
/// beside the directory, so that no amount of it can block.
pub fn run(command: &mut Command, directory: &Path, input: Option<&str>) -> io::Result<Output> {
    let (out, err) = (directory.with_extension("stdout"), directory.with_extension("stderr"));
    let input = match input {
        Some(name) => File::open(directory.join(name))?.into(),
        None => Stdio::null(),
    };
    let start = Instant::now();
    let mut child = command
        .current_dir(directory)
        .env("LC_ALL", "C.UTF-8")
        // A run that changes a cluster takes a lock there, and all clusters have the same name.
        .env("XDG_STATE_HOME", directory.join("home"))
        .stdin(input)
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .spawn()?;
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(4));
    };
    Ok(Output {
        status: status.map(exit_code),
        stdout: fs::read(out)?,
        stderr: fs::read(err)?,
        time: start.elapsed(),
    })
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
