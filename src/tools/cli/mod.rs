//! The command line, in two stages: what was typed ([`getopt`]), then what it
//! means ([`value`], and the typed options of each tool). The options are
//! defined once, in the [`catalogue`]; usage, manual pages and completion
//! scripts all come from there.

pub(crate) mod catalogue;
pub(crate) mod getopt;
pub(crate) mod hint;
pub(crate) mod option;
pub(crate) mod usage;
pub(crate) mod value;

use std::ffi::OsString;
use std::io::IsTerminal;

pub use getopt::Given;
pub use hint::Stray;
pub use option::{OperandWords, OptionDef, Spec};
pub use value::ValueError;

use super::ExitStatus;
use super::output::Output;

/// Why a tool does not start: an error, or a text that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// Options that do not exist or lack their argument; carries the message.
    Syntax(String),
    /// An argument that its option cannot use.
    Value(ValueError),
    /// A positional argument, which this tool does not take.
    Positional(Stray),
    /// Too few or too many positional arguments, or none that is known; carries what is wrong.
    WrongWords(String),
    /// Help, version or completion list.
    Text(String),
}

impl Stop {
    /// Prints the text or the error, and says how the program ends. An error
    /// that cannot be printed is still an error.
    pub fn show(&self, output: &mut Output) -> anyhow::Result<ExitStatus> {
        let (text, status) = match self {
            Stop::Text(text) => {
                output.write(text)?;
                output.flush()?;
                return Ok(ExitStatus::Success);
            }
            Stop::Syntax(text) => (text.clone(), ExitStatus::Usage),
            Stop::Value(error) => {
                (format!("Error while parsing command line arguments:\n{error}\n"), ExitStatus::Failure)
            }
            Stop::Positional(stray) => {
                let hint = stray.hint(std::io::stderr().is_terminal());
                (format!("Error: This program doesn't take any arguments.\n{hint}"), ExitStatus::Failure)
            }
            Stop::WrongWords(problem) => (format!("Error: {problem}\n"), ExitStatus::Failure),
        };
        let _ = output.error_write(&text);
        Ok(status)
    }
}

impl From<ValueError> for Stop {
    fn from(error: ValueError) -> Self {
        Stop::Value(error)
    }
}

/// Reads a command line: `apply` gets the options in the order given. Returns
/// the positional arguments.
///
/// The order of the checks matters: an unusable value is reported even when
/// `--help` is given, and `--help` works whatever the positional arguments are.
pub fn read(
    spec: &Spec,
    args: &[OsString],
    apply: impl FnMut(&Given) -> Result<(), ValueError>,
) -> Result<Vec<OsString>, Stop> {
    Ok(read_words(spec, args, apply)?.positional)
}

/// The same, with all that is known of the words.
fn read_words(
    spec: &Spec,
    args: &[OsString],
    mut apply: impl FnMut(&Given) -> Result<(), ValueError>,
) -> Result<getopt::Canonical, Stop> {
    let words = getopt::canonicalise(spec.options, args);
    if !words.errors.is_empty() {
        return Err(Stop::Syntax(usage::complaints(spec, &words.errors)));
    }
    for given in &words.options {
        apply(given)?;
    }
    let asked = |option: &OptionDef| words.options.iter().any(|given| given.option == option);
    if asked(&catalogue::HELP) {
        return Err(Stop::Text(usage::usage(spec, hint::width())));
    }
    if asked(&catalogue::VERSION) {
        return Err(Stop::Text(usage::version(spec)));
    }
    if asked(&catalogue::HELP_COMPLETION) {
        return Err(Stop::Text(usage::completion(spec)));
    }
    Ok(words)
}

/// Reads the command line of a tool that takes options only.
pub fn read_options(
    spec: &Spec,
    args: &[OsString],
    apply: impl FnMut(&Given) -> Result<(), ValueError>,
) -> Result<(), Stop> {
    match Stray::among(spec, read_words(spec, args, apply)?) {
        None => Ok(()),
        Some(stray) => Err(Stop::Positional(stray)),
    }
}

#[cfg(test)]
pub mod testing {
    //! Command lines for the tests of the tools.

    use super::option::{Argument, ArgumentKind};
    use super::*;

    /// Words of a command line.
    pub fn words(texts: &[&str]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }

    /// Every option of a tool with a usable argument, except those that end
    /// the program.
    pub fn one_of_each(spec: &Spec) -> Vec<Given> {
        let own = spec.options.iter().filter(|option| {
            ![catalogue::HELP, catalogue::VERSION, catalogue::HELP_COMPLETION].contains(option)
        });
        own.map(|option| {
            let value = match (option.argument, option.kind) {
                (Argument::None, _) => None,
                (_, ArgumentKind::Choices(words)) => words.first().map(OsString::from),
                (_, ArgumentKind::NodeFields) => Some("name".into()),
                _ => Some("1".into()),
            };
            Given { option, value }
        })
        .collect()
    }
}
