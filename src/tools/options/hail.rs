//! What the options of `hail` mean.

use std::path::PathBuf;

use super::LoadOptions;
use crate::tools::cli::{Given, ValueError};

/// What `hail` is asked to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HailOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    /// The file with the request; `-` is standard input.
    pub request: PathBuf,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    /// `-S`: what the names of the saved files start with.
    pub save: Option<PathBuf>,
    /// `--ignore-soft-errors`
    pub ignore_soft_errors: bool,
    /// `--no-capacity-checks`
    pub no_capacity_checks: bool,
    /// `--restrict-allocation-to`: full names of nodes.
    pub restrict_to: Option<Vec<String>>,
    /// `--all-solutions`
    pub all_solutions: bool,
    /// `--other-groups`
    pub other_groups: bool,
    /// `--make-room`
    pub make_room: bool,
    /// `--json`
    pub details: bool,
}

impl HailOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "print-nodes" => self.print_nodes = Some(given.text()?.to_owned()),
            "save" => self.save = given.path(),
            "ignore-soft-errors" => self.ignore_soft_errors = true,
            "no-capacity-checks" => self.no_capacity_checks = true,
            "restrict-allocation-to" => self.restrict_to = Some(given.list()?),
            "all-solutions" => self.all_solutions = true,
            "other-groups" => self.other_groups = true,
            "make-room" => self.make_room = true,
            "json" => self.details = true,
            _ => return self.load.apply(given),
        }
        Ok(true)
    }
}
