//! `htools config check` and `htools config show`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::files::ConfigPlace;
use super::{load, places, show};
use crate::tools::ExitStatus;
use crate::tools::cli::hint::{did_you_mean, try_help};
use crate::tools::cli::option::ArgumentKind::{self, Choices};
use crate::tools::cli::{OperandWords, Spec, Stop, ToolCommand, example};
use crate::tools::options::OutputOptions;
use crate::tools::options::catalogue::{HELP, JSON};
use crate::tools::output::Output;

const COMMANDS: &[&str] = &["check", "show"];

const FILE: OperandWords = OperandWords { name: "FILE", kind: ArgumentKind::File, min: 0, max: Some(1) };

/// Name, purpose and options.
pub(crate) const SPEC: Spec<OutputOptions> = Spec {
    name: "htools config",
    summary: "check the configuration files, or show what they say",
    forms: &["COMMAND [OPTION...] [FILE]"],
    examples: &[
        example("htools config check", "check the configuration files"),
        example("htools config show", "show what holds, and for which tools"),
        example("htools config check new.toml", "check a file before it is installed"),
    ],
    options: &[&JSON.says("print what holds as one JSON document").only(&["show"]), &HELP],
    words: &[OperandWords { name: "COMMAND", kind: Choices(COMMANDS), min: 1, max: Some(2) }],
    commands: &[
        ToolCommand {
            name: "htools config check",
            summary: "check the configuration files, or FILE",
            forms: &["[FILE]"],
            words: &[FILE],
            examples: &[
                example("htools config check", "check the files that the tools read"),
                example("htools config check new.toml", "check a file before it is installed"),
                example("htools config check /etc/htools.toml", "check the file of all users"),
            ],
        },
        ToolCommand {
            name: "htools config show",
            summary: "show what holds, where it was said, and for which tools",
            forms: &["[--json] [FILE]"],
            words: &[FILE],
            examples: &[
                example("htools config show", "show what holds"),
                example("htools config show --json", "print it as JSON"),
                example("htools config show new.toml", "show what would hold"),
            ],
        },
    ],
    ..Spec::PLAIN
};

/// Reads the arguments after `config` and runs the command.
///
/// # Errors
/// Failures of the output.
pub(crate) fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let (options, words) = match SPEC.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    let mut words = words.into_iter();
    let command = words.next().unwrap_or_default().to_string_lossy().into_owned();
    let file = words.next();
    if !COMMANDS.contains(&command.as_str()) || words.next().is_some() {
        let meant = did_you_mean(&command, COMMANDS.iter().copied());
        let text = format!("Command line error: expected check or show{meant}\n{}", try_help(&SPEC));
        return Stop::Syntax(text).show(&mut output);
    }
    let named = |path: OsString| vec![ConfigPlace { path: PathBuf::from(path), named: true }];
    let places = file.map_or_else(|| places(false), named);
    let found = match load(&places) {
        Ok(found) => found,
        Err(problems) => {
            output.flush()?;
            problems.iter().try_for_each(|problem| output.error_write(&problem.complaint().to_string()))?;
            return Ok(ExitStatus::Failure);
        }
    };
    match (command.as_str(), options.json) {
        ("check", _) => show::checked(&places, &found).iter().try_for_each(|line| output.line(line))?,
        (_, true) => output.write(&show::document(&places, &found)?)?,
        _ => show::text(&places, &found).iter().try_for_each(|line| output.line(line))?,
    }
    output.flush()?;
    Ok(ExitStatus::Success)
}
