//! The command line. [`getopt`] sorts its words, then [`value`] interprets the arguments.
//!
//! Each option is one row ([`OptionDef`]) with its effect. Help, manual pages and completion scripts are generated from
//! these rows.

mod argument;
pub(crate) mod getopt;
pub(crate) mod heading;
pub(crate) mod hint;
pub(crate) mod option;
pub(crate) mod program;
pub(crate) mod usage;
pub(crate) mod value;

use std::ffi::OsString;
use std::io::IsTerminal;

pub(crate) use getopt::Given;
pub(crate) use heading::Heading;
pub(crate) use hint::Stray;
pub(crate) use option::{OptionDef, OptionRow, OptionShape};
pub use program::Program;
pub(crate) use program::{OperandWords, ProgramList, Spec, ToolCommand, example};
pub(crate) use value::ValueError;

use super::ExitStatus;
use super::config;
use super::hint::{Complaint, WithHint};
pub(crate) use super::options::ToolOptions;
use super::options::catalogue::{HELP, HELP_COMPLETION, VERSION};
use super::output::{ColourUse, Output};
use super::scarcity;
use crate::report::form::tone::TonedLine;

/// Reason that a tool does not start: an error, or a text that was requested.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// Incorrect use of options; carries the message.
    Syntax(String),
    /// An argument that its option cannot use.
    Value(ValueError),
    /// A positional argument for a tool that takes none; carries the tool's name.
    Positional(Stray, &'static str),
    /// Too few, too many or unknown positional arguments.
    WrongWords(Complaint),
    /// An option that the command does not take; `owners` are the commands that do, as they are typed.
    Misplaced { option: &'static str, command: String, owners: String },
    /// An error in a configuration file; carries the message with file and line.
    Config(Complaint),
    /// Version or completion list.
    Text(String),
    /// Help.
    Help(Vec<TonedLine>),
}

impl Stop {
    /// Prints the text or the error, and returns the exit status. An error that cannot be printed remains an error.
    pub fn show(&self, output: &mut Output) -> anyhow::Result<ExitStatus> {
        let (text, status) = match self {
            Stop::Text(text) => {
                output.write(text)?;
                output.flush()?;
                return Ok(ExitStatus::Success);
            }
            Stop::Help(lines) => {
                output.set_colours(ColourUse::Auto);
                lines.iter().try_for_each(|(tone, line)| output.toned_line(*tone, line))?;
                output.flush()?;
                return Ok(ExitStatus::Success);
            }
            Stop::Syntax(text) => (text.clone(), ExitStatus::Usage),
            Stop::Value(error) => {
                let complaint = Complaint::new(error.to_string()).with_hint(error.problem.hint());
                let lines = complaint.lines();
                (format!("Error while parsing command line arguments:\n{lines}"), ExitStatus::Failure)
            }
            Stop::Positional(stray, tool) => {
                // scripts know harep's message with a small letter
                let this = if *tool == "harep" { "this" } else { "This" };
                let complaint = Complaint::new(format!("{this} program doesn't take any arguments."));
                let hint = stray.hint(std::io::stderr().is_terminal());
                (complaint.with_hint(hint).to_string(), ExitStatus::Failure)
            }
            Stop::Misplaced { option, command, owners } => {
                let complaint = Complaint::new(format!("option --{option} does not apply to {command}"));
                (complaint.hint(format!("--{option} belongs to {owners}")).to_string(), ExitStatus::Failure)
            }
            Stop::Config(complaint) | Stop::WrongWords(complaint) => {
                (complaint.to_string(), ExitStatus::Failure)
            }
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

impl<O: ToolOptions> Spec<O> {
    /// Reads the command line of a program that takes options only.
    pub fn parse(&self, args: &[OsString]) -> Result<O, Stop> {
        let (options, words) = self.sort(args)?;
        match Stray::positional(self, words) {
            None => Ok(options),
            Some(stray) => Err(Stop::Positional(stray, self.name)),
        }
    }

    /// Reads a command line: the options in the order given, and the positional arguments.
    ///
    /// The order of the checks matters: an unusable value is reported even when
    /// `--help` is given, and `--help` works whatever the positional arguments are.
    pub fn read(&self, args: &[OsString]) -> Result<(O, Vec<OsString>), Stop> {
        let (options, words) = self.sort(args)?;
        Ok((options, words.positional))
    }

    /// Refuses options that none of `commands` takes. The first of `commands` is the word that was typed, or empty.
    fn check_command(&self, given: &[Given], commands: [&str; 2]) -> Result<(), Stop> {
        let whole = |word: &str| format!("`{}'", format!("{} {word}", self.name).trim_end());
        let is_taken = |option: &dyn OptionRow| commands.iter().any(|command| option.is_of(command));
        match given.iter().find(|given| !is_taken(given.option)) {
            Some(Given { option, .. }) => Err(Stop::Misplaced {
                option: option.long,
                command: whole(commands[0]),
                owners: option.only.iter().map(|word| whole(word)).collect::<Vec<_>>().join(", "),
            }),
            None => Ok(()),
        }
    }

    /// Returns true if `word` is a command of the program, or is empty and the program needs no positional argument.
    fn is_command(&self, word: &str) -> bool {
        let may_be_none = self.words.iter().all(|words| words.min == 0);
        self.commands.iter().any(|command| command.word() == word) || (word.is_empty() && may_be_none)
    }

    /// Applies a given option to the options of the tool.
    pub(super) fn set(&self, options: &mut O, given: &Given) -> Result<(), ValueError> {
        let row = self.rows().find(|row| row.shape().long == given.option.long);
        row.map_or(Ok(()), |row| row.set(options, given))
    }

    /// Reads a command line and the configuration files.
    fn sort(&self, args: &[OsString]) -> Result<(O, getopt::Canonical), Stop> {
        let words = getopt::canonicalise(&self.options(), args);
        if !words.errors.is_empty() {
            return Err(Stop::Syntax(usage::complaints(self, &words.errors)));
        }
        let mut typed = O::default();
        words.options.iter().try_for_each(|given| self.set(&mut typed, given))?;
        let word = words.positional.first().and_then(|word| word.to_str()).unwrap_or_default();
        let commands = [word, typed.command(word)];
        let found = config::of_program(self);
        let of_files = found.as_ref().map(|found| found.given(self, &words, commands)).unwrap_or_default();
        let mut options = O::default();
        for given in of_files.iter().chain(&words.options) {
            // every option was checked before: those of the files when they were read
            let _ = self.set(&mut options, given);
        }
        options.keep(of_files.iter().chain(&words.options).map(Given::typed).collect());
        let asked = |option: &OptionShape| words.options.iter().any(|given| given.option.long == option.long);
        if asked(&HELP) {
            let is_full = |given: &Given| given.option.long == HELP.long && !given.by_letter;
            let help = if words.options.iter().any(is_full) { usage::full } else { usage::brief };
            return Err(Stop::Help(help(&self.meant_by(word), hint::columns())));
        }
        if asked(&VERSION) {
            return Err(Stop::Text(usage::version(self)));
        }
        if asked(&HELP_COMPLETION) {
            return Err(Stop::Text(usage::completion(self)));
        }
        if self.is_command(word) {
            self.check_command(&words.options, commands)?;
        }
        let found = found.map_err(|error| Stop::Config(error.complaint()))?;
        let named = options.sources().into_iter().try_for_each(|source| found.resolve(source));
        named.map_err(Stop::WrongWords)?;
        // Searches start only after the options are known.
        scarcity::use_threads(options.threads(), O::SHARES_STEPS);
        Ok((options, words))
    }
}

#[cfg(test)]
pub mod testing {
    //! Command lines for the tests of the tools.

    use super::*;

    pub fn words(texts: &[&str]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }

    /// Outcome of giving one option alone.
    #[derive(Debug)]
    pub struct TriedOption {
        /// True if the options then differ from their defaults.
        pub sets: bool,
        /// The default that the help would then show.
        pub default: Option<String>,
    }

    /// Options from a valid command line, without the record of the words typed.
    pub fn parsed<O: ToolOptions>(spec: &Spec<O>, args: &[&str]) -> O {
        let mut options = spec.parse(&words(args)).unwrap_or_else(|stop| panic!("{args:?}: {stop:?}"));
        options.keep(Vec::new());
        options
    }

    /// Message about an invalid value.
    pub fn refused<O: ToolOptions>(spec: &Spec<O>, args: &[&str]) -> String {
        match spec.check(&words(args)) {
            Err(Stop::Value(error)) => error.to_string(),
            other => panic!("{args:?}: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests;
