//! The systems whose packages the clusters run: this machine's, and a Debian 13 in another root directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root directory of the Debian 13 (`tests/debian13/root`).
pub static DEBIAN_13: OnceLock<PathBuf> = OnceLock::new();

/// Runs a command in another root directory.
const INSIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/debian13/inside");

/// A system with Ganeti and Pacemaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum System {
    /// This machine's, Debian 12: Ganeti 3.0, Pacemaker 2.1.5.
    Own,
    /// Ganeti 3.1, Pacemaker 3.0. It sees this machine's processes, its network, /tmp and tests/live.
    Debian13,
}

impl System {
    /// The command that runs a program of the system.
    pub fn command(self, program: impl AsRef<OsStr>) -> Command {
        match self {
            System::Own => Command::new(program),
            System::Debian13 => {
                let mut command = Command::new(INSIDE);
                let root = DEBIAN_13.get().map_or(Path::new(""), PathBuf::as_path);
                command.arg(root).arg(program);
                command
            }
        }
    }
}

/// A script that runs clusters on a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Script {
    pub system: System,
    /// Its name in `tests/live`.
    pub name: &'static str,
}

impl Script {
    /// The script for Ganeti.
    pub const fn ganeti(system: System) -> Self {
        Script { system, name: "vcluster" }
    }

    /// The script for Pacemaker.
    pub const fn pacemaker(system: System) -> Self {
        Script { system, name: "pcluster" }
    }

    /// The command that runs it for the cluster in a directory.
    pub fn command(self, directory: &Path, words: &[&str]) -> Command {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live").join(self.name);
        let mut command = self.system.command(file);
        command.args(words).env("VCLUSTER_DIR", directory);
        command
    }
}
