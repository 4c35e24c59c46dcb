//! Our tools and the reference's, run with the same arguments.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{bail, ensure};

use crate::child::{self, Output};
use crate::original;
use crate::system::System;

/// Longest run of a tool that only reads.
pub const READING: Duration = Duration::from_secs(300);

/// Our program, if it is not the one built with this suite.
pub static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The program of the installed package.
pub const INSTALLED: &str = "/usr/bin/htools";

/// Tells if our tools are the installed ones, under their own names.
pub fn are_installed() -> bool {
    program() == Path::new(INSTALLED)
}

/// Our program.
pub fn program() -> &'static Path {
    PROGRAM.get().map_or(Path::new(env!("CARGO_BIN_EXE_htools")), PathBuf::as_path)
}

/// The command that runs our tool.
pub fn ours(tool: &str) -> Command {
    if are_installed() {
        let mut command = Command::new(Path::new("/usr/bin").join(tool));
        clean(&mut command);
        return command;
    }
    let mut command = Command::new(program());
    clean(&mut command).env("HTOOLS", tool);
    command
}

/// The command that runs the tool of a system's Ganeti.
pub fn reference(system: System, tool: &str) -> Command {
    let own = std::env::var_os("HTOOLS_REFERENCE_DIR").filter(|_| system == System::Own);
    let directory = own.unwrap_or_else(|| original::TOOLS.into());
    let mut command = system.command(Path::new(&directory).join(tool));
    clean(&mut command);
    command
}

/// The command that runs the allocator of a system's Ganeti, outside of the cluster.
pub fn reference_hail(system: System) -> Command {
    let mut command = system.command(Path::new(original::ALLOCATORS).join("hail"));
    clean(&mut command);
    command
}

/// Removes the caller's settings.
fn clean(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GANETI_") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C.UTF-8").env_remove("HTOOLS")
}

/// Runs both with the same arguments. Standard output and exit status must be equal. Returns our output.
pub fn compare(system: System, tool: &str, words: &[&str]) -> anyhow::Result<Output> {
    let theirs = child::run(reference(system, tool).args(words), READING)?;
    let ours = child::run(ours(tool).args(words), READING)?;
    same(&theirs, &ours)?;
    Ok(ours)
}

/// Checks that standard output and exit status are equal.
pub fn same(theirs: &Output, ours: &Output) -> anyhow::Result<()> {
    ensure!(
        theirs.status == ours.status,
        "{}: exit status {}, the reference's is {}{}",
        ours.command,
        ours.status,
        theirs.status,
        ours.streams()
    );
    same_text(&ours.command, &theirs.stdout, &ours.stdout)
}

/// Checks that two texts are equal; the error shows the first line that differs.
pub fn same_text(what: &str, theirs: &str, ours: &str) -> anyhow::Result<()> {
    if theirs == ours {
        return Ok(());
    }
    let (mut left, mut right) = (theirs.lines(), ours.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (theirs, ours) if theirs == ours => {}
            (theirs, ours) => {
                let line = |text: Option<&str>| text.map_or("no line".to_owned(), |text| format!("{text:?}"));
                bail!("{what}: line {number}\n  reference: {}\n  ours:      {}", line(theirs), line(ours));
            }
        }
    }
    bail!("{what}: the same lines, but their ends differ")
}
