//! What a program is: its name, its options and the other words that it takes.

use std::ffi::OsString;

use clap::Arg;

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
    /// Reads the command line of a program that takes options only, and forgets it.
    ///
    /// # Errors
    /// Why the program would not start.
    fn check(&self, args: &[OsString]) -> Result<(), Stop>;

    /// The option of a long name.
    fn find(&self, long: &str) -> Option<&'static dyn OptionRow> {
        self.options().into_iter().find(|option| option.long == long)
    }

    /// The program for clap.
    fn command(&self) -> clap::Command {
        clap::Command::new(self.name())
            .about(self.summary())
            .version(env!("CARGO_PKG_VERSION"))
            .disable_help_flag(true)
            .disable_version_flag(true)
            .disable_help_subcommand(true)
            .args(self.options().iter().map(|option| option.to_arg()))
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

    fn check(&self, args: &[OsString]) -> Result<(), Stop> {
        self.parse(args).map(drop)
    }
}
