//! Typed options of the programs. Each tool has its own options, made of parts that tools share.

pub(crate) mod affinity;
pub(crate) mod catalogue;
mod execution;
mod load;
pub(crate) mod measured;
mod output;
pub(crate) mod pace;
pub(crate) mod simulation;
pub(crate) mod values;

use anyhow::bail;

use self::affinity::AffinityChoices;
use self::simulation::SimulationChoices;
use super::cli::heading::{Heading, OptionTopic};
use crate::search::BalanceOptions;
use crate::search::moves::MoveRules;

pub(crate) use execution::{ExecutionOptions, Priority};
pub(crate) use load::{CibOptions, LoadOptions, SourceOptions};
pub(crate) use output::{CommandTarget, DeepChoices, LimitOptions, OutputOptions};
pub(crate) use values::{at_least_one, count, not_negative, room, size, some, time_above_zero};

/// All options of one program. The program reads only what its own list of options can set.
pub trait ToolOptions: Default + 'static {
    /// Keeps the options as they were given.
    fn keep(&mut self, _typed: Vec<TypedOption>) {}

    /// True if all threads share each step of the tool's search.
    const SHARES_STEPS: bool = false;

    /// Number of threads for searches, if the user chose one.
    fn threads(&self) -> Option<usize> {
        None
    }

    /// The command, from the first word (empty if there is none) or from options that mean the same.
    fn command<'w>(&self, word: &'w str) -> &'w str {
        word
    }

    /// The sources of Ganeti clusters among these options.
    fn sources(&mut self) -> Vec<&mut SourceOptions> {
        Vec::new()
    }
}

macro_rules! topics {
    ($($part:ty: $heading:ident),* $(,)?) => {
        $(impl OptionTopic for $part {
            const HEADING: Heading = Heading::$heading;
        })*
    };
}

topics! {
    LoadOptions: Cluster,
    CibOptions: Pacemaker,
    OutputOptions: Output,
    LimitOptions: Limits,
    BalanceOptions: Limits,
    MoveRules: Limits,
    DeepChoices: Task,
    ExecutionOptions: Execution,
    AffinityChoices: Affinity,
    SimulationChoices: Task,
}

/// Some commands have no options but this part.
impl ToolOptions for OutputOptions {}
impl ToolOptions for ExecutionOptions {}

/// Implements [`ToolOptions`] and access to the parts of the options; all have `load` and `output`. Constants of the tool
/// may follow.
macro_rules! tool_options {
    ($options:ident { $($($field:ident).+: $part:ty),* $(,)? } $($constants:tt)*) => {
        impl $crate::tools::options::ToolOptions for $options {
            $($constants)*

            fn keep(&mut self, typed: Vec<$crate::tools::options::TypedOption>) {
                self.output.typed = typed;
            }

            fn threads(&self) -> Option<usize> {
                self.output.threads
            }

            fn sources(&mut self) -> Vec<&mut $crate::tools::options::SourceOptions> {
                vec![&mut self.load.source]
            }
        }

        impl $crate::tools::cli::heading::OptionTopic for $options {}

        $crate::tools::options::parts!($options {
            load: $crate::tools::options::LoadOptions,
            output: $crate::tools::options::OutputOptions,
            $($($field).+: $part),*
        });
    };
}

/// Implements access to the parts of options.
macro_rules! parts {
    ($options:ident { $($($field:ident).+: $part:ty),* $(,)? }) => {
        $(impl $crate::tools::cli::option::HasPart<$part> for $options {
            fn part(&mut self) -> &mut $part {
                &mut self.$($field).+
            }
        })*
    };
}

pub(crate) use {parts, tool_options};

/// An option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedOption {
    /// Its long name, without dashes; none for a word that is no option.
    pub long: Option<&'static str>,
    /// Its argument, as far as that is text.
    pub value: Option<String>,
}

impl TypedOption {
    /// The option as it would be typed again.
    pub fn again(&self) -> String {
        match (self.long, &self.value) {
            (None, word) => word.clone().unwrap_or_default(),
            (Some(long), None) => format!("--{long}"),
            (Some(long), Some(value)) => format!("--{long}={value}"),
        }
    }
}

/// Refuses options that exclude each other.
///
/// # Errors
/// Names the first two that are given.
pub(crate) fn one_form(given: &[(&str, bool)]) -> anyhow::Result<()> {
    let mut wanted = given.iter().filter(|(_, wanted)| *wanted).map(|(long, _)| long);
    match (wanted.next(), wanted.next()) {
        (Some(one), Some(other)) => bail!("options --{one} and --{other} exclude each other"),
        _ => Ok(()),
    }
}
