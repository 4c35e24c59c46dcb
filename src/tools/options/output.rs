//! Options for the output, and for the scope and limits of a search.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

use super::{LoadOptions, TypedOption};
use crate::tools::output::ColourUse;

/// Options for the output on the terminal and in files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OutputOptions {
    /// The options as they were given, each with its long name, for pages and saved plans.
    pub typed: Vec<TypedOption>,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    pub print_instances: bool,
    /// `-C`
    pub commands: Option<CommandTarget>,
    /// `-S`: prefix of the names of the saved files.
    pub save: Option<PathBuf>,
    /// `--metrics`
    pub metrics: Option<PathBuf>,
    /// `--report`: the page for a browser.
    pub report: Option<PathBuf>,
    pub no_headers: bool,
    pub machine_readable: bool,
    pub summary: bool,
    /// `--colour`
    pub colour: ColourUse,
    pub json: bool,
    pub detailed_status: bool,
    /// `--threads`
    pub threads: Option<usize>,
}

impl OutputOptions {
    /// Tells if the option with this long name was given.
    pub(crate) fn has(&self, long: &str) -> bool {
        self.typed.iter().any(|typed| typed.long == Some(long))
    }

    /// Refuses options that have no effect. The message ends with `reason`, e.g. "needs --plan".
    ///
    /// # Errors
    /// Names the first of them that was given.
    pub(crate) fn refuse(&self, longs: &[&str], reason: &str) -> anyhow::Result<()> {
        match longs.iter().find(|long| self.has(long)) {
            Some(long) => bail!("option --{long} {reason}"),
            None => Ok(()),
        }
    }

    /// Tells if the progress of a run must stay off standard output.
    pub(crate) fn is_silent(&self, load: &LoadOptions) -> bool {
        self.json || load.verbosity < 1
    }
}

/// Scope and limits of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LimitOptions {
    /// `-G`
    pub group: Option<String>,
    pub time_limit: Option<Duration>,
    pub no_capacity_checks: bool,
}

/// Options of the deep search, which looks for all moves together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DeepChoices {
    /// `--deep`
    pub asked: bool,
    /// Number of changes tried; none: it depends on the number of instances.
    pub effort: Option<u64>,
}

/// Destination of the commands of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandTarget {
    /// To standard output, for a person.
    Stdout,
    /// To a file, as a script.
    File(PathBuf),
}

impl CommandTarget {
    /// The target for the value of `-C`: standard output for none and `-`.
    pub(super) fn of(path: Option<PathBuf>) -> CommandTarget {
        match path {
            Some(path) if path.as_os_str() != "-" => CommandTarget::File(path),
            _ => CommandTarget::Stdout,
        }
    }
}
