//! What is shown and written, and what a search keeps to.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;

use super::{LoadOptions, TypedOption};
use crate::tools::output::ColourUse;

/// What is shown and written of the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OutputOptions {
    /// The options as they were given, each with its long name: pages and saved plans tell them.
    pub typed: Vec<TypedOption>,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    pub print_instances: bool,
    /// `-C`
    pub commands: Option<CommandTarget>,
    /// `-S`: what the names of the saved files start with.
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
}

impl OutputOptions {
    /// Whether an option was given.
    pub(crate) fn has(&self, long: &str) -> bool {
        self.typed.iter().any(|typed| typed.long == Some(long))
    }

    /// Refuses options that mean nothing under some condition, which follows these words.
    ///
    /// # Errors
    /// The first of them that was given.
    pub(crate) fn refuse(&self, longs: &[&str], condition: &str) -> anyhow::Result<()> {
        match longs.iter().find(|long| self.has(long)) {
            Some(long) => bail!("option --{long} means nothing {condition}"),
            None => Ok(()),
        }
    }

    /// Whether standard output has no room for what happens during a run.
    pub(crate) fn is_silent(&self, load: &LoadOptions) -> bool {
        self.json || load.verbosity < 1
    }
}

/// What a search is about, and what it keeps to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LimitOptions {
    /// `-G`
    pub group: Option<String>,
    pub time_limit: Option<Duration>,
    pub no_capacity_checks: bool,
}

/// Whether all moves are sought together, and how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DeepChoices {
    /// `--deep`
    pub asked: bool,
    /// Changes that are tried; none: by the number of instances.
    pub effort: Option<u64>,
}

/// Where the commands of a plan go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandTarget {
    /// To standard output, for a person.
    Stdout,
    /// To a file, as a script.
    File(PathBuf),
}

impl CommandTarget {
    /// What the value of `-C` names; nothing and `-` are standard output.
    pub(super) fn of(path: Option<PathBuf>) -> CommandTarget {
        match path {
            Some(path) if path.as_os_str() != "-" => CommandTarget::File(path),
            _ => CommandTarget::Stdout,
        }
    }
}
