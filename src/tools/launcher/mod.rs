//! Selects the tool to run, and implements the executable under its own name.

mod commands;

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

pub use self::commands::COMMANDS;
use self::commands::{LinkOptions, link};
use super::cli::heading::OptionTopic;
use super::cli::hint::{columns, did_you_mean, try_help};
use super::cli::program::last_word;
use super::cli::{OptionDef, Program, ProgramList, Spec, Stop, example, usage};
use super::options::ToolOptions;
use super::options::catalogue::{HELP, VERSION};
use super::output::Output;
use super::{ExitStatus, TOOLS, Tool, find};

/// Options of the executable itself.
#[derive(Debug, Default, PartialEq)]
pub struct LauncherOptions {
    list: bool,
    force: bool,
}

impl OptionTopic for LauncherOptions {}

impl ToolOptions for LauncherOptions {}

/// Name, purpose and options of the executable itself.
pub const SPEC: Spec<LauncherOptions> = Spec {
    name: "htools",
    summary: "plan and carry out where the machines and resources of a cluster run",
    forms: &["TOOL [OPTION...]", "COMMAND [OPTION...]"],
    examples: &[
        example("htools generate 20 100 drbd > lab.data", "make a cluster to try the tools on"),
        example("htools hbal -t lab.data -C", "plan its balance"),
        example("htools help tour", "read the tour of all tools"),
    ],
    options: &[
        &OptionDef::<LauncherOptions>::added_flag("list", "list the tools, one a line", |o| o.list = true),
        &OptionDef::<LauncherOptions>::added_flag(
            "force",
            "replace files that are in the way, with install-links",
            |o| o.force = true,
        ),
        &[VERSION, HELP],
    ],
    lists,
    ..Spec::PLAIN
};

/// The tools, and the commands.
fn lists() -> Vec<ProgramList> {
    let rows = |tools: &[Tool]| tools.iter().map(|tool| ProgramList::row(tool.spec)).collect();
    vec![
        ProgramList { heading: "Tools", is_main: true, rows: rows(TOOLS) },
        ProgramList { heading: "Commands", is_main: false, rows: rows(COMMANDS) },
    ]
}

/// Starts the tool that the variable `HTOOLS` names, or without it the tool by whose name the program was called.
///
/// If that is the program's own name, the first argument selects a tool or a command.
pub fn launch(
    variable: Option<OsString>,
    invoked_as: &OsStr,
    args: &[OsString],
) -> anyhow::Result<ExitStatus> {
    let own_name_counts = variable.is_none();
    let role = variable.unwrap_or_else(|| base_name(invoked_as)).to_string_lossy().into_owned();
    let name = role.to_lowercase();
    if let Some(tool) = find(&name) {
        return (tool.start)(args);
    }
    if own_name_counts && name == SPEC.name {
        return own_name(args);
    }
    // an error that cannot be printed is still an error
    let _ = Output::standard().error_write(&unknown_role(&role));
    Ok(ExitStatus::Failure)
}

fn base_name(path: &OsStr) -> OsString {
    Path::new(path).file_name().unwrap_or_default().to_owned()
}

fn own_name(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    if let Some((first, rest)) = args.split_first() {
        let tool = find(&first.to_string_lossy().to_lowercase());
        if let Some(tool) = tool.or_else(|| COMMANDS.iter().find(|command| first == word(command))) {
            return (tool.start)(rest);
        }
    }
    let mut output = Output::standard();
    let (LauncherOptions { list, force }, words) = match SPEC.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    let first = words.first().map(|word| word.to_string_lossy());
    match (first.as_deref(), list, force) {
        (None, true, false) => output.write(&tool_list())?,
        (None, false, false) => {
            // users who name no tool may not know the tools
            let lines = usage::brief(&SPEC, columns()).into_iter().map(|(_, line)| line + "\n");
            output.error_write(&lines.collect::<String>())?;
            return Ok(ExitStatus::Usage);
        }
        (Some("install-links"), false, true) if words.len() == 2 => {
            link(&LinkOptions { force }, &words[1..], &mut output)?
        }
        (first, ..) => return usage_error(first).show(&mut output),
    }
    output.flush()?;
    Ok(ExitStatus::Success)
}

fn word(command: &Tool) -> &'static str {
    last_word(command.spec.name())
}

/// The error for a command line that the launcher does not accept.
fn usage_error(first: Option<&str>) -> Stop {
    let complaint = match first {
        None => "--force belongs behind `install-links'".to_owned(),
        Some(first) if COMMANDS.iter().any(|command| word(command) == first) => {
            format!("the options of `{first}' belong behind it")
        }
        Some(first) => {
            let known = TOOLS.iter().map(|tool| tool.spec.name()).chain(COMMANDS.iter().map(word));
            format!("there is no tool or command `{first}'{}", did_you_mean(first, known))
        }
    };
    Stop::Syntax(format!("Command line error: {complaint}\n{}", try_help(&SPEC)))
}

fn tool_list() -> String {
    TOOLS.iter().map(|tool| format!("{:8} {}\n", tool.spec.name(), tool.spec.summary())).collect()
}

/// The executable for clap, with the tools and commands as subcommands.
pub fn command() -> clap::Command {
    SPEC.command()
        .subcommands(TOOLS.iter().map(|tool| tool.spec.command()))
        .subcommands(COMMANDS.iter().map(|command| command.spec.command().name(word(command))))
}

/// The error for a name that is not the name of a tool.
fn unknown_role(role: &str) -> String {
    let mut text = format!(
        "Unrecognised personality '{role}'.\n\
         This program must be installed under one of the following names:\n"
    );
    for tool in TOOLS {
        let lines = textwrap::wrap(tool.spec.summary(), 79 - 12);
        for (number, line) in lines.iter().enumerate() {
            let (name, dash) = if number == 0 { (tool.spec.name(), '-') } else { ("", ' ') };
            // writing to a string cannot fail
            let _ = writeln!(text, " {name:8} {dash} {line}");
        }
    }
    text + "\nError: Please either rename/symlink the program or set\n\
            the environment variable HTOOLS to the desired role.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_names_are_the_last_component() {
        for (path, name) in
            [("hbal", "hbal"), ("/usr/bin/HBal", "HBal"), ("./x/hbal.exe", "hbal.exe"), ("", "")]
        {
            assert_eq!(base_name(OsStr::new(path)), name);
        }
    }

    #[test]
    fn lines_of_the_role_list_fit_a_terminal() {
        assert!(unknown_role("x").lines().all(|line| line.chars().count() <= 79));
        assert!(unknown_role("x").contains("\n hbal     - "));
    }

    #[test]
    fn the_definitions_are_consistent() {
        command().debug_assert();
        for tool in TOOLS {
            tool.spec.command().debug_assert();
        }
    }

    #[test]
    fn the_tools_are_in_order_and_end_with_the_standard_options() {
        assert!(TOOLS.is_sorted_by_key(|tool| tool.spec.name()));
        for tool in TOOLS {
            let last: Vec<_> = tool.spec.options().iter().rev().take(3).rev().map(|o| o.long).collect();
            assert_eq!(last, ["version", "help", "help-completion"]);
        }
    }

    #[test]
    fn completion_scripts_name_every_tool() {
        for shell in crate::tools::completion::SHELLS {
            let script = crate::tools::completion::script(shell);
            for tool in TOOLS {
                assert!(script.contains(tool.spec.name()), "{shell}");
            }
        }
    }
}
