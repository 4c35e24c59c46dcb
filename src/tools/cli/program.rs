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

/// A command of a program that does several things. It takes the rows of the program's options that name it, or no
/// command at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCommand {
    /// As it is typed, behind the name of the program.
    pub name: &'static str,
    /// What it does, in one sentence without the full stop.
    pub summary: &'static str,
    /// The ways to call it: what may follow the name.
    pub forms: &'static [&'static str],
    /// The words that it takes besides options.
    pub words: &'static [OperandWords],
    /// Three of its uses.
    pub examples: &'static [Example],
}

impl ToolCommand {
    /// The word that stands for it.
    pub fn word(&self) -> &'static str {
        last_word(self.name)
    }
}

/// The word of a name that is typed last.
pub(crate) fn last_word(name: &'static str) -> &'static str {
    name.rsplit(' ').next().unwrap_or_default()
}

/// Programs that the help of another one lists.
pub struct ProgramList {
    pub heading: &'static str,
    /// Whether `-h` has a row for each, not only their names.
    pub is_main: bool,
    /// The word that each is typed with, and what it does.
    pub rows: Vec<(String, String)>,
}

impl ProgramList {
    /// The row of a program.
    pub fn row(program: &dyn Program) -> (String, String) {
        (last_word(program.name()).to_owned(), program.summary().to_owned())
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
    /// Three of its uses.
    pub examples: &'static [Example],
    /// Its commands, if the first word says what it does.
    pub commands: &'static [ToolCommand],
    /// Other programs that its help lists.
    pub lists: fn() -> Vec<ProgramList>,
    /// The command whose options it takes, empty for those without a command; none: all of them.
    pub command: Option<&'static str>,
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
    /// Three of its uses.
    fn examples(&self) -> &'static [Example];
    /// Its commands, each with its own options.
    fn commands(&self) -> Vec<Box<dyn Program>>;
    /// The programs that its help lists: its commands, and others.
    fn lists(&self) -> Vec<ProgramList>;
    /// The program without the options that only its commands take.
    fn alone(&self) -> Box<dyn Program>;
    /// Reads the command line of a program that takes options only, and forgets it.
    ///
    /// # Errors
    /// Why the program would not start.
    fn check(&self, args: &[OsString]) -> Result<(), Stop>;

    /// The option of a long name, also of a former one.
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

    /// The program that a first word stands for: a command with its options, or the program without one.
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
