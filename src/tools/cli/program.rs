//! What a program is: its name, its options and the other words that it takes.

use std::ffi::OsString;

use clap::Arg;

use super::heading::Heading;
use super::option::{ArgumentKind, OptionRow, Rows, Sets};
use super::{Stop, ToolOptions};

/// Words that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandWords {
    /// What they are called.
    pub name: &'static str,
    /// What they stand for.
    pub kind: ArgumentKind,
    /// How few there may be.
    pub least: usize,
    /// How many there may be.
    pub most: Option<usize>,
}

impl OperandWords {
    /// The words for clap.
    fn to_arg(self) -> Arg {
        let arg = Arg::new(self.name).value_name(self.name);
        let arg = match self.most {
            // not to be required is something else than to be nothing
            Some(most) => arg.num_args(self.least.max(1)..=most),
            None => arg.num_args(self.least..),
        };
        self.kind.hint(arg.required(self.least > 0))
    }
}

/// A command line that is worth knowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// The words, as they are typed.
    pub line: &'static str,
    /// What they do, in the imperative.
    pub does: &'static str,
}

/// A row of a help text: the words that are typed, and what they do.
pub(crate) const fn example(line: &'static str, does: &'static str) -> Example {
    Example { line, does }
}

/// The fixed properties of a program: its name, purpose and options.
pub struct Spec<O: 'static> {
    /// The name it is called by.
    pub name: &'static str,
    /// What it does, in one sentence without the full stop.
    pub summary: &'static str,
    /// The ways to call it: what may follow the name.
    pub forms: &'static [&'static str],
    /// Its options, in the order of the usage text.
    pub options: &'static [&'static dyn Rows<O>],
    /// The other words that it takes.
    pub words: &'static [OperandWords],
    /// What it is called for most.
    pub examples: &'static [Example],
}

/// A program, for all that need not know what its options set.
pub trait Program: Sync {
    /// The name it is called by.
    fn name(&self) -> &'static str;
    /// What it does, in one sentence without the full stop.
    fn summary(&self) -> &'static str;
    /// The ways to call it: what may follow the name.
    fn forms(&self) -> &'static [&'static str];
    /// Its options, in the order of the usage text.
    fn options(&self) -> Vec<&'static dyn OptionRow>;
    /// The other words that it takes.
    fn words(&self) -> &'static [OperandWords];
    /// What it is called for most.
    fn examples(&self) -> &'static [Example];
    /// Reads the command line of a program that takes options only, and forgets it.
    ///
    /// # Errors
    /// Why the program would not start.
    fn check(&self, args: &[OsString]) -> Result<(), Stop>;

    /// The option of a long name.
    fn find(&self, long: &str) -> Option<&'static dyn OptionRow> {
        self.options().into_iter().find(|option| option.long == long)
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
            .args(self.by_heading().iter().flat_map(|(_, options)| options).map(|option| option.to_arg()))
            .args(self.words().iter().map(|words| words.to_arg()))
    }
}

impl<O> Spec<O> {
    /// Its options, one by one.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'static dyn Sets<O>> {
        self.options.iter().flat_map(|rows| rows.rows())
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

    fn check(&self, args: &[OsString]) -> Result<(), Stop> {
        self.parse(args).map(drop)
    }
}
