//! What one option is: its spellings, its argument, what it is for.

use clap::{Arg, ArgAction};

use super::getopt::Given;
use super::value::ValueError;
use crate::tools::options::{Options, TypedOption};

/// Whether an option takes an argument, and what the argument is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    None,
    /// Must have one, attached or as the next word.
    Required(&'static str),
    /// May have one, attached only.
    Optional(&'static str),
}

/// What an argument stands for: shells complete it accordingly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Nothing that could be completed.
    None,
    File,
    /// A file that is to be written; the reference does not tell that it is one.
    NewFile,
    Directory,
    /// A host name.
    Host,
    /// A whole number.
    Integer,
    /// A real number.
    Float,
    Text,
    /// The name of a node.
    OneNode,
    /// Names of nodes, separated by commas.
    ManyNodes,
    /// The name of a group.
    OneGroup,
    /// Names of instances, separated by commas.
    ManyInstances,
    /// One of a few words.
    Choices(&'static [&'static str]),
    /// Fields of the node list, separated by commas.
    NodeFields,
}

impl ArgumentKind {
    /// The kind as `--help-completion` prints it.
    pub fn describe(self) -> String {
        match self {
            // the last two: as the reference has it
            ArgumentKind::None | ArgumentKind::NodeFields | ArgumentKind::NewFile => "none".into(),
            ArgumentKind::File => "file".into(),
            ArgumentKind::Directory => "dir".into(),
            ArgumentKind::Host => "host".into(),
            ArgumentKind::Integer => "integer".into(),
            ArgumentKind::Float => "float".into(),
            ArgumentKind::Text => "string".into(),
            ArgumentKind::OneNode => "onenode".into(),
            ArgumentKind::ManyNodes => "manynodes".into(),
            ArgumentKind::OneGroup => "onegroup".into(),
            ArgumentKind::ManyInstances => "manyinstances".into(),
            ArgumentKind::Choices(words) => format!("choices={}", words.join(",")),
        }
    }

    /// The argument for clap, with what shells can make of it.
    fn hint(self, arg: Arg) -> Arg {
        match self {
            ArgumentKind::File | ArgumentKind::NewFile => arg.value_hint(clap::ValueHint::FilePath),
            ArgumentKind::Directory => arg.value_hint(clap::ValueHint::DirPath),
            ArgumentKind::Host => arg.value_hint(clap::ValueHint::Hostname),
            ArgumentKind::Choices(words) => arg.value_parser(words.to_vec()),
            // scripts that offer files for everything else mislead
            _ => arg.value_hint(clap::ValueHint::Other),
        }
    }
}

/// Where an option comes from. An abbreviation that means something to
/// Ganeti's own tool must keep its meaning, whatever options are added here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Ganeti's tool of the same name has it.
    Ganeti,
    Added,
}

/// What giving an option does.
#[derive(Debug, Clone, Copy)]
enum Effect {
    Flag(fn(&mut Options)),
    Argument(Setter),
}

/// Sets what the argument of an option says.
pub(crate) type Setter = fn(&mut Options, &Given) -> Result<(), ValueError>;

/// One option of a tool: its spelling, help, default and what it sets.
#[derive(Debug, Clone, Copy)]
pub struct OptionDef {
    /// The long name, without dashes; also identifies the option.
    pub long: &'static str,
    /// The letter, if there is a short form.
    pub short: Option<char>,
    pub argument: Argument,
    /// What the argument stands for.
    pub kind: ArgumentKind,
    /// Where the option comes from.
    pub origin: Origin,
    /// The words that may stand before it, of a tool that does several things; none: all of them.
    pub only: &'static [&'static str],
    /// One sentence for the usage text and the manual page, without the default.
    purpose: &'static str,
    default: Option<fn(&Options) -> String>,
    effect: Effect,
}

/// The long name tells options apart.
impl PartialEq for OptionDef {
    fn eq(&self, other: &Self) -> bool {
        self.long == other.long
    }
}

impl Eq for OptionDef {}

impl OptionDef {
    /// An option of Ganeti's tools, without a short form or an argument.
    pub const fn flag(long: &'static str, purpose: &'static str, set: fn(&mut Options)) -> Self {
        OptionDef {
            long,
            short: None,
            argument: Argument::None,
            kind: ArgumentKind::None,
            origin: Origin::Ganeti,
            only: &[],
            purpose,
            default: None,
            effect: Effect::Flag(set),
        }
    }

    /// An option of Ganeti's tools of which nothing but its name and purpose is said.
    pub const fn new(long: &'static str, purpose: &'static str) -> Self {
        OptionDef::flag(long, purpose, |_| ())
    }

    /// The same with a short form.
    pub const fn short(self, letter: char) -> Self {
        OptionDef { short: Some(letter), ..self }
    }

    /// The same with a required argument.
    pub const fn takes(self, name: &'static str, kind: ArgumentKind, set: Setter) -> Self {
        OptionDef { argument: Argument::Required(name), kind, effect: Effect::Argument(set), ..self }
    }

    /// The same with an optional argument.
    pub const fn may_take(self, name: &'static str, kind: ArgumentKind, set: Setter) -> Self {
        OptionDef { argument: Argument::Optional(name), ..self.takes(name, kind, set) }
    }

    /// The same, marked as unknown to Ganeti's tools.
    pub const fn added(self) -> Self {
        OptionDef { origin: Origin::Added, ..self }
    }

    /// The same, for a tool of which Ganeti's version has it, too.
    pub const fn of_ganeti(self) -> Self {
        OptionDef { origin: Origin::Ganeti, ..self }
    }

    /// The same for a tool where it means something else.
    pub const fn says(self, purpose: &'static str) -> Self {
        OptionDef { purpose, ..self }
    }

    /// The same, whose help tells what is in the options unless it is given.
    pub const fn default(self, shown: fn(&Options) -> String) -> Self {
        OptionDef { default: Some(shown), ..self }
    }

    /// The same, which means nothing but behind these words.
    pub const fn only(self, words: &'static [&'static str]) -> Self {
        OptionDef { only: words, ..self }
    }

    /// What the option is for, and its default.
    pub fn help(&self) -> String {
        match self.shown_default(&Options::default()) {
            None => self.purpose.to_owned(),
            Some(default) => format!("{} [{default}]", self.purpose),
        }
    }

    /// What the help shows of these options as its default.
    pub(super) fn shown_default(&self, options: &Options) -> Option<String> {
        self.default.map(|shown| shown(options))
    }

    /// The short form with its argument as the usage text shows it.
    pub fn short_form(&self) -> String {
        match (self.short, self.argument) {
            (None, _) => String::new(),
            (Some(letter), Argument::None) => format!("-{letter}"),
            (Some(letter), Argument::Required(name)) => format!("-{letter} {name}"),
            (Some(letter), Argument::Optional(name)) => format!("-{letter}[{name}]"),
        }
    }

    /// The long form with its argument as the usage text shows it.
    pub fn long_form(&self) -> String {
        match self.argument {
            Argument::None => format!("--{}", self.long),
            Argument::Required(name) => format!("--{}={name}", self.long),
            Argument::Optional(name) => format!("--{}[={name}]", self.long),
        }
    }

    /// The option for clap, which writes manual pages and completion scripts.
    pub fn to_arg(self) -> Arg {
        let arg = Arg::new(self.long).long(self.long).help(self.help());
        let arg = match self.short {
            Some(letter) => arg.short(letter),
            None => arg,
        };
        let arg = match self.argument {
            Argument::None => return arg.action(ArgAction::SetTrue),
            Argument::Required(name) => arg.value_name(name).num_args(1),
            Argument::Optional(name) => arg.value_name(name).num_args(0..=1).require_equals(true),
        };
        let arg = arg.action(ArgAction::Append);
        self.kind.hint(arg)
    }
}

impl Given {
    /// What was given, to be given again.
    pub fn typed(&self) -> TypedOption {
        let value = self.value.as_ref().map(|value| value.to_string_lossy().into_owned());
        TypedOption { long: Some(self.option.long), value }
    }

    /// Sets what the option sets.
    pub fn apply(&self, options: &mut Options) -> Result<(), ValueError> {
        match self.option.effect {
            Effect::Flag(set) => set(options),
            Effect::Argument(set) => set(options, self)?,
        }
        Ok(())
    }
}

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

/// The fixed properties of a program: its name, purpose and options.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The name it is called by.
    pub name: &'static str,
    /// What it does, in one sentence without the full stop.
    pub summary: &'static str,
    /// The ways to call it: what may follow the name.
    pub forms: &'static [&'static str],
    /// Its options, in the order of the usage text.
    pub options: &'static [OptionDef],
    /// The other words that it takes.
    pub words: &'static [OperandWords],
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

impl Spec {
    /// The program for clap.
    pub fn command(&self) -> clap::Command {
        clap::Command::new(self.name)
            .about(self.summary)
            .version(env!("CARGO_PKG_VERSION"))
            .disable_help_flag(true)
            .disable_version_flag(true)
            .disable_help_subcommand(true)
            .args(self.options.iter().map(|option| option.to_arg()))
            .args(self.words.iter().map(|words| words.to_arg()))
    }
}
