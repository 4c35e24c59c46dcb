//! What one option is: its spellings, its argument, what it is for, and what it sets.

use std::fmt;
use std::ops::Deref;

use clap::{Arg, ArgAction};

pub(crate) use super::argument::{Argument, ArgumentKind};
use super::getopt::Given;
use super::heading::{Heading, OptionTopic};
use super::value::ValueError;
use crate::tools::options::TypedOption;

/// Where an option comes from. An abbreviation that means something to
/// Ganeti's own tool must keep its meaning, whatever options are added here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Ganeti's tool of the same name has it.
    Ganeti,
    Added,
}

/// An option as it is typed and described, whatever it sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionShape {
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
    /// The name that it had before, which is still understood; empty if it had none.
    pub formerly: &'static str,
    /// The part of the help text that lists it.
    pub heading: Heading,
    /// Whether it is among the few that `-h` shows.
    pub is_common: bool,
    /// What it is for, without its values and its default, in at most 70 characters.
    pub purpose: &'static str,
    /// Sentences for the manual page that follow the purpose; may be empty.
    details: &'static str,
    /// What holds unless it is given, in words; empty if that needs none.
    otherwise: &'static str,
}

/// Effect of giving an option on the options that it is one of.
enum Effect<P> {
    Flag(fn(&mut P)),
    Argument(Setter<P>),
}

/// Sets what the argument of an option says.
pub(crate) type Setter<P> = fn(&mut P, &Given) -> Result<(), ValueError>;

/// One option: its spelling, help, default and what it sets in `P`, the options of a tool or a part of them that tools share.
pub(crate) struct OptionDef<P> {
    pub shape: OptionShape,
    default: Option<fn(&P) -> String>,
    effect: Effect<P>,
}

/// Options that have a part `P`, or are it.
pub(crate) trait Has<P> {
    /// The part.
    fn part(&mut self) -> &mut P;
}

impl<O> Has<O> for O {
    fn part(&mut self) -> &mut O {
        self
    }
}

/// The row of an option, for all that need not know what it sets: nothing, unless it says so.
pub trait OptionRow: Sync {
    /// How it is typed and described.
    fn shape(&self) -> &OptionShape;

    /// The value that it has unless it is given, if the help says so.
    fn shown_default(&self) -> Option<String> {
        None
    }

    /// Refuses a value that it cannot use.
    fn check(&self, _: &Given) -> Result<(), ValueError> {
        Ok(())
    }

    /// Whether it does anything, and the default that the help would show once it is given.
    #[cfg(test)]
    fn tried(&self, _: &Given) -> Result<super::testing::TriedOption, ValueError> {
        Ok(super::testing::TriedOption { sets: true, default: None })
    }
}

/// The row of an option of a tool with the options `O`.
pub trait Sets<O>: OptionRow {
    /// Sets what the option sets.
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

impl<P: Default + PartialEq, O: Has<P>> Sets<O> for OptionDef<P> {
    fn set(&self, options: &mut O, given: &Given) -> Result<(), ValueError> {
        match self.effect {
            Effect::Flag(set) => set(options.part()),
            Effect::Argument(set) => set(options.part(), given)?,
        }
        Ok(())
    }
}

/// An option that sets nothing: it is acted upon before there are options.
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

/// One row, or several that stand together wherever they are accepted, of a tool with the options `O`.
pub trait Rows<O>: Sync {
    /// Each of them.
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

    /// An option of Ganeti's tools of which nothing but its name and purpose is said.
    pub(crate) const fn new(long: &'static str, purpose: &'static str) -> Self {
        OptionDef::flag(long, purpose, |_| ())
    }

    /// An option that Ganeti's tools do not have, of which nothing but its name and purpose is said.
    pub(crate) const fn addition(long: &'static str, purpose: &'static str) -> Self {
        OptionDef::new(long, purpose).added()
    }

    /// The same without an argument.
    pub(crate) const fn added_flag(long: &'static str, purpose: &'static str, set: fn(&mut P)) -> Self {
        OptionDef::flag(long, purpose, set).added()
    }
}

impl<P> OptionDef<P> {
    /// The same with a short form.
    pub(crate) const fn short(self, letter: char) -> Self {
        OptionDef { shape: OptionShape { short: Some(letter), ..self.shape }, ..self }
    }

    /// The same with a required argument.
    pub(crate) const fn takes(self, name: &'static str, kind: ArgumentKind, set: Setter<P>) -> Self {
        let shape = OptionShape { argument: Argument::Required(name), kind, ..self.shape };
        OptionDef { shape, effect: Effect::Argument(set), ..self }
    }

    /// The same with an optional argument.
    pub(crate) const fn may_take(self, name: &'static str, kind: ArgumentKind, set: Setter<P>) -> Self {
        let shape = OptionShape { argument: Argument::Optional(name), kind, ..self.shape };
        OptionDef { shape, effect: Effect::Argument(set), ..self }
    }

    /// The same, marked as unknown to Ganeti's tools.
    pub(crate) const fn added(self) -> Self {
        OptionDef { shape: OptionShape { origin: Origin::Added, ..self.shape }, ..self }
    }

    /// The same, for a tool of which Ganeti's version has it, too.
    pub(crate) const fn of_ganeti(self) -> Self {
        OptionDef { shape: OptionShape { origin: Origin::Ganeti, ..self.shape }, ..self }
    }

    /// The same for a tool where it means something else.
    pub(crate) const fn says(self, purpose: &'static str) -> Self {
        OptionDef { shape: OptionShape { purpose, details: "", otherwise: "", ..self.shape }, ..self }
    }

    /// The same, of which the manual page says more.
    pub(crate) const fn more(self, details: &'static str) -> Self {
        OptionDef { shape: OptionShape { details, ..self.shape }, ..self }
    }

    /// The same, of which the help says in words what holds unless it is given.
    pub(crate) const fn otherwise(self, words: &'static str) -> Self {
        OptionDef { shape: OptionShape { otherwise: words, ..self.shape }, ..self }
    }

    /// The same, which is understood under a former name, too, that nothing shows.
    pub(crate) const fn formerly(self, long: &'static str) -> Self {
        OptionDef { shape: OptionShape { formerly: long, ..self.shape }, ..self }
    }

    /// The same under another heading.
    pub(crate) const fn under(self, heading: Heading) -> Self {
        OptionDef { shape: OptionShape { heading, ..self.shape }, ..self }
    }

    /// The same, shown by `-h`, too.
    pub(crate) const fn common(self) -> Self {
        OptionDef { shape: OptionShape { is_common: true, ..self.shape }, ..self }
    }

    /// The same, shown by `--help` only.
    pub(crate) const fn rare(self) -> Self {
        OptionDef { shape: OptionShape { is_common: false, ..self.shape }, ..self }
    }

    /// The same, whose help tells what is in the options unless it is given.
    pub(crate) const fn default(self, shown: fn(&P) -> String) -> Self {
        OptionDef { default: Some(shown), ..self }
    }

    /// The same, which means nothing but behind these words.
    pub(crate) const fn only(self, words: &'static [&'static str]) -> Self {
        OptionDef { shape: OptionShape { only: words, ..self.shape }, ..self }
    }
}

impl OptionShape {
    /// The option with its argument as the help shows it: the letter, if it has one, then the name.
    pub fn form(&self) -> String {
        let letter = self.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let argument = match self.argument {
            Argument::None => String::new(),
            Argument::Required(name) => format!("={name}"),
            Argument::Optional(name) => format!("[={name}]"),
        };
        format!("{letter}--{}{argument}", self.long)
    }

    /// Whether this is its name, or was.
    pub fn is_called(&self, long: &str) -> bool {
        self.long == long || (self.formerly == long && !long.is_empty())
    }

    /// Whether a command of its program takes it; the program itself is the command without a word.
    pub fn is_of(&self, command: &str) -> bool {
        self.only.is_empty() || self.only.contains(&command)
    }

    /// The words that the argument can be, in a list; empty if there are more than can be listed.
    fn values(&self) -> String {
        match self.kind {
            ArgumentKind::Choices(words) => format!(" ({})", words.join(", ")),
            _ => String::new(),
        }
    }
}

impl dyn OptionRow + '_ {
    /// The end of its help: what holds unless it is given.
    fn default_part(&self) -> String {
        match self.shown_default().unwrap_or_else(|| self.otherwise.to_owned()) {
            default if default.is_empty() => default,
            default => format!(" [{default}]"),
        }
    }

    /// What the option is for, its values, and what holds unless it is given.
    pub fn help(&self) -> String {
        format!("{}{}{}", self.purpose, self.values(), self.default_part())
    }

    /// The same for a manual page, which lists values by itself.
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
    /// What was given, to be given again.
    pub fn typed(&self) -> TypedOption {
        let value = self.value.as_ref().map(|value| value.to_string_lossy().into_owned());
        TypedOption { long: Some(self.option.long), value }
    }
}
