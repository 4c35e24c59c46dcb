//! The programs, from options to output. The algorithms are in other modules and crates.
//!
//! One executable contains all tools. [`main`] selects the tool to run and turns its result into an exit status.

#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod ahead;
pub(crate) mod cli;
mod commands;
mod completion;
mod config;
mod execution;
pub mod exporter;
pub mod generate;
mod group;
pub(crate) mod hail;
pub(crate) mod harep;
pub(crate) mod hbal;
pub(crate) mod hcheck;
mod help;
pub(crate) mod hgroup;
pub(crate) mod hinfo;
mod hint;
pub(crate) mod history;
pub(crate) mod hplace;
pub(crate) mod hroller;
pub(crate) mod hscan;
pub(crate) mod hspace;
pub(crate) mod hsqueeze;
pub mod install;
mod interrupts;
mod kept_room;
pub mod launcher;
mod links;
mod listing;
mod measured;
mod metrics;
mod nodes;
pub(crate) mod options;
pub(crate) mod output;
mod pacemaker;
pub mod plans;
mod progress;
mod reporting;
mod save;
mod scarcity;
mod source;
mod summing_up;

use std::ffi::OsString;
use std::process::ExitCode;

pub use cli::Program;
use cli::Stop;
use hint::Complaint;
use output::Output;

use crate::search::health::Severity;

/// Result of a program as an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// The program did its task (0).
    Success,
    /// An error in values, data, input or output; for tools that check something also a negative answer (1).
    Failure,
    /// The command line is malformed (2).
    Usage,
    /// The command line of a tool that uses status 2 for an answer is malformed (64, `EX_USAGE` of sysexits.h).
    Misuse,
    /// With `--detailed-status`: there are changes to make, but none was made (3).
    Planned,
    /// With `--detailed-status`: changes were made (4).
    Done,
    /// Severity as monitoring systems read it (0 to 2).
    Monitored(Severity),
    /// The state could not be determined, for monitoring systems (3).
    Unknown,
    /// A resource that should run has no place, or another check of `hplace` has a negative answer (2).
    Unplaced,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => ExitCode::SUCCESS,
            ExitStatus::Failure => ExitCode::from(1),
            ExitStatus::Usage | ExitStatus::Unplaced => ExitCode::from(2),
            ExitStatus::Misuse => ExitCode::from(64),
            ExitStatus::Planned => ExitCode::from(3),
            ExitStatus::Done => ExitCode::from(4),
            ExitStatus::Monitored(Severity::Ok) => ExitCode::SUCCESS,
            ExitStatus::Monitored(Severity::Warning) => ExitCode::from(1),
            ExitStatus::Monitored(Severity::Critical) => ExitCode::from(2),
            ExitStatus::Unknown => ExitCode::from(3),
        }
    }
}

/// A tool or command: its description and its entry point.
pub struct Tool {
    /// Name, purpose and options.
    pub spec: &'static dyn Program,
    /// Runs the tool with the arguments after its name.
    pub start: fn(&[OsString]) -> anyhow::Result<ExitStatus>,
}

/// The tools that exist, by name.
pub const TOOLS: &[Tool] = &[
    Tool { spec: &hail::SPEC, start: hail::start },
    Tool { spec: &harep::SPEC, start: |args| start(harep::SPEC.parse(args), harep::run) },
    Tool { spec: &hbal::SPEC, start: |args| start(hbal::SPEC.parse(args), hbal::run) },
    Tool { spec: &hcheck::SPEC, start: hcheck::start },
    Tool { spec: &hgroup::SPEC, start: |args| start(hgroup::parse(args), hgroup::run) },
    Tool { spec: &hinfo::SPEC, start: |args| start(hinfo::SPEC.parse(args), hinfo::run) },
    Tool { spec: &hplace::SPEC, start: hplace::start },
    Tool { spec: &hroller::SPEC, start: |args| start(hroller::SPEC.parse(args), hroller::run) },
    Tool { spec: &hscan::SPEC, start: |args| start(hscan::parse(args), hscan::run) },
    Tool { spec: &hspace::SPEC, start: |args| start(hspace::SPEC.parse(args), hspace::run) },
    Tool { spec: &hsqueeze::SPEC, start: |args| start(hsqueeze::SPEC.parse(args), hsqueeze::run) },
];

/// The tools and the commands of the executable.
pub(crate) fn programs() -> impl Iterator<Item = &'static dyn Program> {
    TOOLS.iter().chain(launcher::COMMANDS).map(|tool| tool.spec)
}

/// The tool with this name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.spec.name() == name)
}

fn start<O>(
    options: Result<O, Stop>,
    run: fn(O) -> anyhow::Result<ExitStatus>,
) -> anyhow::Result<ExitStatus> {
    match options {
        Ok(options) => run(options),
        Err(stop) => stop.show(&mut Output::standard()),
    }
}

/// Runs the tool that the environment and the command line select.
pub fn main() -> ExitCode {
    scarcity::prepare();
    let mut words = std::env::args_os();
    let invoked_as = words.next().unwrap_or_default();
    let args: Vec<OsString> = words.collect();
    match launcher::launch(std::env::var_os("HTOOLS"), &invoked_as, &args) {
        Ok(status) => status.into(),
        Err(error) if output::reader_is_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitStatus::Failure.into()
        }
    }
}

fn complain(error: &anyhow::Error) {
    // nothing is left to do if even this cannot be written
    let _ = Output::standard().error_write(&Complaint::of(error).to_string());
}
