//! Definition of an option: its spellings, argument, purpose and effect.

use std::fmt;
use std::ops::Deref;

use clap::{Arg, ArgAction};

pub(crate) use super::argument::{Argument, ArgumentKind};
use super::getopt::Given;
use super::heading::{Heading, OptionTopic};
use super::value::ValueError;
use crate::tools::options::TypedOption;

/// Origin of an option. Abbreviations that Ganeti's own tool accepts must keep their meaning, whatever options are
/// added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Ganeti's tool of the same name has it.
    Ganeti,
    Added,
}

/// Spelling and description of an option, without its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionShape {
    /// The long name, without dashes; also identifies the option.
    pub long: &'static str,
    /// The letter, if there is a short form.
    pub short: Option<char>,
    pub argument: Argument,
    pub kind: ArgumentKind,
    pub origin: Origin,
    /// Commands of the program that take the option; empty if all do.
    pub only: &'static [&'static str],
    /// Former long name, still accepted; empty if there is none.
    pub formerly: &'static str,
    pub heading: Heading,
    /// True if `-h` shows the option; `--help` shows all.
    pub is_common: bool,
    /// Purpose, without values and default, in at most 70 characters.
    pub purpose: &'static str,
    /// Sentences for the manual page that follow the purpose; may be empty.
    details: &'static str,
    /// The default in words; empty if none is shown.
    otherwise: &'static str,
}

/// Effect of an option on the tool's options.
enum Effect<P> {
    Flag(fn(&mut P)),
    Argument(Setter<P>),
}

/// Applies the argument of an option.
pub(crate) type Setter<P> = fn(&mut P, &Given) -> Result<(), ValueError>;

/// One option: its spelling, help, default and effect on `P`, the options of a tool or a part that several tools share.
pub(crate) struct OptionDef<P> {
    pub shape: OptionShape,
    default: Option<fn(&P) -> String>,
    effect: Effect<P>,
}

/// Options that contain `P`, or are `P`.
pub(crate) trait HasPart<P> {
    fn part(&mut self) -> &mut P;
}

impl<O> HasPart<O> for O {
    fn part(&mut self) -> &mut O {
        self
    }
}

/// An option, for code that does not depend on its effect. By default it has none.
pub trait OptionRow: Sync {
    fn shape(&self) -> &OptionShape;

    /// The default value, if the help shows it.
    fn shown_default(&self) -> Option<String> {
        None
    }

    /// Checks the argument without applying it.
    fn check(&self, _: &Given) -> Result<(), ValueError> {
        Ok(())
    }

    /// Applies the option to default options and returns the outcome.
    #[cfg(test)]
    fn tried(&self, _: &Given) -> Result<super::testing::TriedOption, ValueError> {
        Ok(super::testing::TriedOption { sets: true, default: None })
    }
}

/// An option of a tool with the options `O`.
pub trait Sets<O>: OptionRow {
    /// Applies the option.
    fn set(&self, options: &mut O, given: &Given) -> Result<(), ValueError>;
}

impl<P: Default + PartialEq> OptionRow for OptionDef<P> {
    fn shape(&self) -> &OptionShape {
        &self.shape
    }

    fn shown_default(&self) -> Option<String> {
        self.default.map(|shown| shown(&P::default()))
    }

    fn check(&self, given: &Given) -> Result<(), ValueError> {
        self.set(&mut P::default(), given)
    }

    #[cfg(test)]
    fn tried(&self, given: &Given) -> Result<super::testing::TriedOption, ValueError> {
        let mut part = P::default();
        self.set(&mut part, given)?;
        let default = self.default.map(|shown| shown(&part));
        Ok(super::testing::TriedOption { sets: part != P::default(), default })
    }
}

impl<P: Default + PartialEq, O: HasPart<P>> Sets<O> for OptionDef<P> {
    fn set(&self, options: &mut O, given: &Given) -> Result<(), ValueError> {
        match self.effect {
            Effect::Flag(set) => set(options.part()),
            Effect::Argument(set) => set(options.part(), given)?,
        }
        Ok(())
    }
}

/// An option without effect on the options, such as `--help`: it is handled before they are complete.
impl OptionRow for OptionShape {
    fn shape(&self) -> &OptionShape {
        self
    }
}

impl<O> Sets<O> for OptionShape {
    fn set(&self, _: &mut O, _: &Given) -> Result<(), ValueError> {
        Ok(())
    }
}

/// One option or a group of options that are always accepted together, of a tool with the options `O`.
pub trait Rows<O>: Sync {
    fn rows(&'static self) -> Vec<&'static dyn Sets<O>>;
}

impl<O, R: Sets<O>> Rows<O> for R {
    fn rows(&'static self) -> Vec<&'static dyn Sets<O>> {
        vec![self]
    }
}

impl<O, R: Sets<O>, const N: usize> Rows<O> for [R; N] {
    fn rows(&'static self) -> Vec<&'static dyn Sets<O>> {
        self.iter().map(|row| row as &dyn Sets<O>).collect()
    }
}

impl Deref for dyn OptionRow + '_ {
    type Target = OptionShape;

    fn deref(&self) -> &OptionShape {
        self.shape()
    }
}

/// The long name tells options apart.
impl PartialEq for dyn OptionRow + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.long == other.long
    }
}

impl Eq for dyn OptionRow + '_ {}

impl fmt::Debug for dyn OptionRow + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape().fmt(f)
    }
}

impl<P: OptionTopic> OptionDef<P> {
    /// An option of Ganeti's tools, without a short form or an argument.
    pub(crate) const fn flag(long: &'static str, purpose: &'static str, set: fn(&mut P)) -> Self {
        let shape = OptionShape {
            long,
            short: None,
            argument: Argument::None,
            kind: ArgumentKind::None,
            origin: Origin::Ganeti,
            only: &[],
            formerly: "",
            heading: P::HEADING,
            is_common: false,
            purpose,
            details: "",
            otherwise: "",
        };
        OptionDef { shape, default: None, effect: Effect::Flag(set) }
    }

    /// An option of Ganeti's tools without an effect so far; builder methods complete it.
    pub(crate) const fn new(long: &'static str, purpose: &'static str) -> Self {
        OptionDef::flag(long, purpose, |_| ())
    }

    /// An option that Ganeti's tools do not have, without an effect so far; builder methods complete it.
    pub(crate) const fn addition(long: &'static str, purpose: &'static str) -> Self {
        OptionDef::new(long, purpose).added()
    }

    /// A flag that Ganeti's tools do not have.
    pub(crate) const fn added_flag(long: &'static str, purpose: &'static str, set: fn(&mut P)) -> Self {
        OptionDef::flag(long, purpose, set).added()
    }
}

impl<P> OptionDef<P> {
    /// Adds a short form.
    pub(crate) const fn short(self, letter: char) -> Self {
        OptionDef { shape: OptionShape { short: Some(letter), ..self.shape }, ..self }
    }

    /// Adds a required argument.
    pub(crate) const fn takes(self, name: &'static str, kind: ArgumentKind, set: Setter<P>) -> Self {
        let shape = OptionShape { argument: Argument::Required(name), kind, ..self.shape };
        OptionDef { shape, effect: Effect::Argument(set), ..self }
    }

    /// Adds an optional argument.
    pub(crate) const fn may_take(self, name: &'static str, kind: ArgumentKind, set: Setter<P>) -> Self {
        let shape = OptionShape { argument: Argument::Optional(name), kind, ..self.shape };
        OptionDef { shape, effect: Effect::Argument(set), ..self }
    }

    /// Marks the option as unknown to Ganeti's tools.
    pub(crate) const fn added(self) -> Self {
        OptionDef { shape: OptionShape { origin: Origin::Added, ..self.shape }, ..self }
    }

    /// Marks the option as known to Ganeti's tool of the same name.
    pub(crate) const fn of_ganeti(self) -> Self {
        OptionDef { shape: OptionShape { origin: Origin::Ganeti, ..self.shape }, ..self }
    }

    /// Replaces the purpose, for a tool in which the option has another meaning. Details and default text are dropped.
    pub(crate) const fn says(self, purpose: &'static str) -> Self {
        OptionDef { shape: OptionShape { purpose, details: "", otherwise: "", ..self.shape }, ..self }
    }

    /// Adds sentences for the manual page.
    pub(crate) const fn more(self, details: &'static str) -> Self {
        OptionDef { shape: OptionShape { details, ..self.shape }, ..self }
    }

    /// Adds the default in words.
    pub(crate) const fn otherwise(self, words: &'static str) -> Self {
        OptionDef { shape: OptionShape { otherwise: words, ..self.shape }, ..self }
    }

    /// Adds a former name, which is accepted but not shown.
    pub(crate) const fn formerly(self, long: &'static str) -> Self {
        OptionDef { shape: OptionShape { formerly: long, ..self.shape }, ..self }
    }

    /// Sets another heading.
    pub(crate) const fn under(self, heading: Heading) -> Self {
        OptionDef { shape: OptionShape { heading, ..self.shape }, ..self }
    }

    /// Makes `-h` show the option, too.
    pub(crate) const fn common(self) -> Self {
        OptionDef { shape: OptionShape { is_common: true, ..self.shape }, ..self }
    }

    /// Makes only `--help` show the option.
    pub(crate) const fn rare(self) -> Self {
        OptionDef { shape: OptionShape { is_common: false, ..self.shape }, ..self }
    }

    /// Makes the help show the default, which `shown` reads from the default options.
    pub(crate) const fn default(self, shown: fn(&P) -> String) -> Self {
        OptionDef { default: Some(shown), ..self }
    }

    /// Limits the option to these commands of its program.
    pub(crate) const fn only(self, words: &'static [&'static str]) -> Self {
        OptionDef { shape: OptionShape { only: words, ..self.shape }, ..self }
    }
}

impl OptionShape {
    /// The option with its argument in the form of the help: the letter, if there is one, then the name.
    pub fn form(&self) -> String {
        let letter = self.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let argument = match self.argument {
            Argument::None => String::new(),
            Argument::Required(name) => format!("={name}"),
            Argument::Optional(name) => format!("[={name}]"),
        };
        format!("{letter}--{}{argument}", self.long)
    }

    /// Returns true if `long` is the present or the former long name.
    pub fn is_called(&self, long: &str) -> bool {
        self.long == long || (self.formerly == long && !long.is_empty())
    }

    /// Returns true if the command takes the option. An empty command is the program without a command.
    pub fn is_of(&self, command: &str) -> bool {
        self.only.is_empty() || self.only.contains(&command)
    }

    /// List of the possible values; empty if the argument is not a choice of words.
    fn values(&self) -> String {
        match self.kind {
            ArgumentKind::Choices(words) => format!(" ({})", words.join(", ")),
            _ => String::new(),
        }
    }
}

impl dyn OptionRow + '_ {
    /// The default in brackets, as the help ends with it; empty if none is shown.
    fn default_part(&self) -> String {
        match self.shown_default().unwrap_or_else(|| self.otherwise.to_owned()) {
            default if default.is_empty() => default,
            default => format!(" [{default}]"),
        }
    }

    /// Help text: purpose, values and default.
    pub fn help(&self) -> String {
        format!("{}{}{}", self.purpose, self.values(), self.default_part())
    }

    /// Help text for a manual page, without the values: clap lists them.
    fn long_help(&self) -> String {
        let end = if self.details.is_empty() { String::new() } else { format!(". {}", self.details) };
        format!("{}{}{end}", self.purpose, self.default_part())
    }

    /// The option for clap, which writes manual pages and completion scripts.
    pub(super) fn to_arg(&self) -> Arg {
        let arg = Arg::new(self.long).long(self.long).help(self.purpose).long_help(self.long_help());
        let arg = arg.help_heading(self.heading.as_str());
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
    /// The option and its argument, in a form that can be stored and given again.
    pub fn typed(&self) -> TypedOption {
        let value = self.value.as_ref().map(|value| value.to_string_lossy().into_owned());
        TypedOption { long: Some(self.option.long), value }
    }
}
