//! Definition of a program: its name, options and positional arguments.

use std::ffi::OsString;

use clap::Arg;

use super::heading::Heading;
use super::option::{ArgumentKind, OptionRow, Rows, Sets};
use super::{Stop, ToolOptions};

/// Positional arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandWords {
    /// Name in the help.
    pub name: &'static str,
    pub kind: ArgumentKind,
    /// Minimum number.
    pub min: usize,
    /// Maximum number; none if there is no limit.
    pub max: Option<usize>,
}

impl OperandWords {
    fn to_arg(self) -> Arg {
        let arg = Arg::new(self.name).value_name(self.name);
        let arg = match self.max {
            // a minimum of 0 means that the argument may be omitted (`required`), not that it has no words
            Some(max) => arg.num_args(self.min.max(1)..=max),
            None => arg.num_args(self.min..),
        };
        self.kind.hint(arg.required(self.min > 0))
    }
}

/// An example of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// Command line as it is typed.
    pub line: &'static str,
    /// Effect, in the imperative.
    pub does: &'static str,
}

pub(crate) const fn example(line: &'static str, does: &'static str) -> Example {
    Example { line, does }
}

/// A command of a program. It takes the options of the program that name this command and those that name no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCommand {
    /// Name of the program and word of the command, as typed.
    pub name: &'static str,
    /// Purpose, in one sentence without the full stop.
    pub summary: &'static str,
    /// Synopses: the words that may follow the name.
    pub forms: &'static [&'static str],
    /// Positional arguments.
    pub words: &'static [OperandWords],
    /// Three examples of use.
    pub examples: &'static [Example],
}

impl ToolCommand {
    pub fn word(&self) -> &'static str {
        last_word(self.name)
    }
}

pub(crate) fn last_word(name: &'static str) -> &'static str {
    name.rsplit(' ').next().unwrap_or_default()
}

/// A list of programs in the help of another one.
pub struct ProgramList {
    pub heading: &'static str,
    /// True if `-h` shows a row for each program, false if it shows only the names.
    pub is_main: bool,
    /// Last word of the name, and purpose, of each.
    pub rows: Vec<(String, String)>,
}

impl ProgramList {
    pub fn row(program: &dyn Program) -> (String, String) {
        (last_word(program.name()).to_owned(), program.summary().to_owned())
    }
}

/// The fixed properties of a program: its name, purpose and options.
pub struct Spec<O: 'static> {
    /// The name it is called by.
    pub name: &'static str,
    /// Purpose, in one sentence without the full stop.
    pub summary: &'static str,
    /// Synopses: the words that may follow the name.
    pub forms: &'static [&'static str],
    /// Its options, in the order of the usage text.
    pub options: &'static [&'static dyn Rows<O>],
    /// Positional arguments.
    pub words: &'static [OperandWords],
    /// Three examples of use.
    pub examples: &'static [Example],
    /// Commands, of which the first positional argument selects one.
    pub commands: &'static [ToolCommand],
    /// Other programs that its help lists.
    pub lists: fn() -> Vec<ProgramList>,
    /// The command whose options are accepted; empty for the options without a command; none for all options.
    pub command: Option<&'static str>,
}

/// A program, for code that does not depend on the effect of its options.
pub trait Program: Sync {
    /// The name it is called by.
    fn name(&self) -> &'static str;
    /// Purpose, in one sentence without the full stop.
    fn summary(&self) -> &'static str;
    /// Synopses: the words that may follow the name.
    fn forms(&self) -> &'static [&'static str];
    /// Its options, in the order of the usage text.
    fn options(&self) -> Vec<&'static dyn OptionRow>;
    /// Positional arguments.
    fn words(&self) -> &'static [OperandWords];
    /// Three examples of use.
    fn examples(&self) -> &'static [Example];
    /// Its commands, each with its own options.
    fn commands(&self) -> Vec<Box<dyn Program>>;
    /// The programs that its help lists: its commands, and others.
    fn lists(&self) -> Vec<ProgramList>;
    /// The program without the options that only its commands take.
    fn alone(&self) -> Box<dyn Program>;
    /// Checks the command line of a program that takes options only.
    ///
    /// # Errors
    /// The reason that the program would not start.
    fn check(&self, args: &[OsString]) -> Result<(), Stop>;

    /// Returns the option with a long name, present or former.
    fn find(&self, long: &str) -> Option<&'static dyn OptionRow> {
        self.options().into_iter().find(|option| option.is_called(long))
    }

    /// Its options by heading, in the order of the help text.
    fn by_heading(&self) -> Vec<(Heading, Vec<&'static dyn OptionRow>)> {
        let under = |heading: &Heading| -> Vec<_> {
            self.options().into_iter().filter(|option| option.heading == *heading).collect()
        };
        let parts = Heading::ALL.iter().map(|heading| (*heading, under(heading)));
        parts.filter(|(_, options)| !options.is_empty()).collect()
    }

    /// The program for clap.
    fn command(&self) -> clap::Command {
        clap::Command::new(self.name())
            .about(self.summary())
            .version(env!("CARGO_PKG_VERSION"))
            .disable_help_flag(true)
            .disable_version_flag(true)
            .disable_help_subcommand(true)
            .args(
                self.alone()
                    .by_heading()
                    .iter()
                    .flat_map(|(_, options)| options)
                    .map(|option| option.to_arg()),
            )
            .args(self.words().iter().filter(|_| self.commands().is_empty()).map(|words| words.to_arg()))
            .subcommands(
                self.commands().iter().map(|command| command.command().name(last_word(command.name()))),
            )
    }
}

impl<O> Spec<O> {
    /// The fields that most programs leave as they are.
    pub(crate) const PLAIN: Spec<O> = Spec {
        name: "",
        summary: "",
        forms: &[],
        options: &[],
        words: &[],
        examples: &[],
        commands: &[],
        lists: Vec::new,
        command: None,
    };

    /// Its options, one by one.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'static dyn Sets<O>> + use<O> {
        let command = self.command;
        let rows = self.options.iter().flat_map(|rows| rows.rows());
        rows.filter(move |row| command.is_none_or(|command| row.shape().is_of(command)))
    }

    /// Returns the specification for a first word: that of the command, or of the program without a command.
    pub(super) fn meant_by(&self, word: &str) -> Spec<O> {
        match self.commands.iter().find(|command| command.word() == word) {
            Some(ToolCommand { name, summary, forms, words, examples }) => Spec {
                name,
                summary,
                forms,
                options: self.options,
                words,
                examples,
                commands: &[],
                lists: Vec::new,
                command: Some(last_word(name)),
            },
            None if self.commands.is_empty() => Spec { ..*self },
            None => Spec { command: Some(""), ..*self },
        }
    }
}

impl<O: ToolOptions> Program for Spec<O> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn forms(&self) -> &'static [&'static str] {
        self.forms
    }

    fn options(&self) -> Vec<&'static dyn OptionRow> {
        self.rows().map(|row| row as &dyn OptionRow).collect()
    }

    fn words(&self) -> &'static [OperandWords] {
        self.words
    }

    fn examples(&self) -> &'static [Example] {
        self.examples
    }

    fn commands(&self) -> Vec<Box<dyn Program>> {
        let program = |command: &ToolCommand| Box::new(self.meant_by(command.word())) as Box<dyn Program>;
        self.commands.iter().map(program).collect()
    }

    fn lists(&self) -> Vec<ProgramList> {
        let rows: Vec<_> = self.commands().iter().map(|command| ProgramList::row(&**command)).collect();
        let own = ProgramList { heading: "Commands", is_main: true, rows };
        Some(own).filter(|own| !own.rows.is_empty()).into_iter().chain((self.lists)()).collect()
    }

    fn alone(&self) -> Box<dyn Program> {
        Box::new(self.meant_by(""))
    }

    fn check(&self, args: &[OsString]) -> Result<(), Stop> {
        self.parse(args).map(drop)
    }
}
