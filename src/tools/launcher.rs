//! Which tool is meant, and what the executable does under its own name.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

use super::cli::heading::OptionTopic;
use super::cli::hint::{did_you_mean, try_help};
use super::cli::{OptionDef, Program, Spec, Stop, example};
use super::completion::{self, SHELLS};
use super::options::ToolOptions;
use super::options::catalogue::{HELP, VERSION};
use super::output::Output;
use super::{ExitStatus, TOOLS, config, exporter, find, generate, help, install, links, plans};

/// What the executable itself is asked to do.
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
    summary: "plan and carry out where the virtual machines of a Ganeti cluster live",
    forms: &[
        "TOOL [OPTION...]",
        "install [OPTION...]",
        "install-links [--force] DIR",
        "completion SHELL",
        "config check|show [FILE]",
        "generate [OPTION...] NODES INSTANCES TEMPLATE",
        "exporter [OPTION...]",
        "show [OPTION...] FILE",
        "apply [OPTION...] FILE",
        "undo [OPTION...] JOURNAL",
        "help [TOPIC]",
        "--list",
    ],
    examples: &[
        example("htools hbal -L -C", "run a tool of htools"),
        example("htools hbal -h", "show a tool's options"),
        example("htools help tour", "read the tour of all tools"),
    ],
    options: &[
        &OptionDef::<LauncherOptions>::added_flag("list", "list the tools, one a line", |o| o.list = true)
            .common(),
        &OptionDef::<LauncherOptions>::added_flag(
            "force",
            "replace files that are in the way, with install-links",
            |o| o.force = true,
        ),
        &[VERSION, HELP],
    ],
    words: &[],
};

/// Starts what is meant: the variable decides, then the name the program was
/// called by, then (if that is its own name) the first argument.
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
        if let Some(tool) = find(&first.to_string_lossy().to_lowercase()) {
            return (tool.start)(rest);
        }
        // a command with options of its own
        if first == "generate" {
            return generate::start(rest);
        }
        if first == "config" {
            return config::start(rest);
        }
        if first == "install" {
            return install::start(rest);
        }
        if first == "exporter" {
            return exporter::start(rest);
        }
        if let Some(result) = plans::start(&first.to_string_lossy(), rest) {
            return result;
        }
    }
    let mut output = Output::standard();
    let (LauncherOptions { list, force }, words) = match SPEC.read(args) {
        Ok(read) => read,
        Err(stop) => return stop.show(&mut output),
    };
    let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    match (texts.as_slice(), list, force) {
        ([], true, false) => output.write(&tool_list())?,
        (["install-links", _], false, _) => links::install(Path::new(&words[1]), force, &mut output)?,
        (["completion", shell], false, false) => match SHELLS.iter().find(|s| s.to_string() == **shell) {
            Some(shell) => output.write(&completion::script(*shell))?,
            None => anyhow::bail!("no completion for shell '{shell}', only for {}", shell_names()),
        },
        (["help"], false, false) => help::show(None, &mut output)?,
        (["help", topic], false, false) => help::show(Some(topic), &mut output)?,
        (words, ..) => return misuse(words).show(&mut output),
    }
    output.flush()?;
    Ok(ExitStatus::Success)
}

/// What is wrong with a command line that has no meaning for the launcher.
fn misuse(words: &[&str]) -> Stop {
    let complaint = match words.first().copied() {
        None => "which tool?".to_owned(),
        Some(word @ ("generate" | "exporter" | "install")) => {
            format!("the options of `{word}' belong behind it")
        }
        Some(word @ ("install-links" | "completion" | "help")) => format!("wrong arguments for `{word}'"),
        Some(word) => format!("there is no tool `{word}'{}", did_you_mean(word, commands())),
    };
    // whoever names nothing may not know what there is
    let tools = if words.is_empty() { format!("\nTools:\n{}\n", tool_list()) } else { String::new() };
    Stop::Syntax(format!("Command line error: {complaint}\n{tools}{}", try_help(&SPEC)))
}

/// The words that may come first.
fn commands() -> impl Iterator<Item = &'static str> {
    TOOLS
        .iter()
        .map(|tool| tool.spec.name())
        .chain(["install", "install-links", "completion", "config", "generate", "exporter", "help"])
        .chain(plans::COMMANDS.map(plans::word))
}

fn tool_list() -> String {
    TOOLS.iter().map(|tool| format!("{:8} {}\n", tool.spec.name(), tool.spec.summary())).collect()
}

fn shell_names() -> String {
    SHELLS.map(|shell| shell.to_string()).join(", ")
}

/// The executable for clap, with the tools as subcommands.
pub fn command() -> clap::Command {
    let bare = |name: &'static str, about: &'static str| {
        clap::Command::new(name).about(about).disable_help_flag(true).disable_version_flag(true)
    };
    let directory = clap::Arg::new("DIR").required(true).value_hint(clap::ValueHint::DirPath);
    let shell = clap::Arg::new("SHELL").required(true).value_parser(SHELLS.map(|shell| shell.to_string()));
    let topic = clap::Arg::new("TOPIC").value_parser(help::words().collect::<Vec<_>>());
    SPEC.command()
        .disable_help_subcommand(true)
        .subcommands(TOOLS.iter().map(|tool| tool.spec.command()))
        .subcommand(install::command())
        .subcommand(bare("install-links", "make a link for each tool in DIR").arg(directory))
        .subcommand(bare("completion", "print the completion script for SHELL").arg(shell))
        .subcommand(bare("help", "show a document, or the options of a tool").arg(topic))
        .subcommand(config::clap_command())
        .subcommand(generate::command())
        .subcommand(exporter::SPEC.command().name("exporter"))
        .subcommands(plans::COMMANDS.map(|spec| spec.command().name(plans::word(spec))))
}

/// The complaint about a name that is no tool's.
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
        for shell in SHELLS {
            let script = completion::script(shell);
            for tool in TOOLS {
                assert!(script.contains(tool.spec.name()), "{shell}");
            }
        }
    }
}
