//! What the options of `hail` mean.

use std::path::PathBuf;
use std::time::Duration;

use super::{LoadOptions, node_fields, time_above_zero};
use crate::tools::cli::{Given, ValueError};

/// What `hail` is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct HailOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    /// The file with the request; `-` is standard input.
    pub request: PathBuf,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    /// `-S`: what the names of the saved files start with.
    pub save: Option<PathBuf>,
    pub ignore_soft_errors: bool,
    pub no_capacity_checks: bool,
    /// `--restrict-allocation-to`: full names of nodes.
    pub restrict_to: Option<Vec<String>>,
    pub all_solutions: bool,
    pub other_groups: bool,
    pub make_room: bool,
    pub details: bool,
    pub time_limit: Duration,
}

/// How long hail searches unless `--time-limit` says otherwise. Ganeti gives an allocator up after 15 minutes
/// (its time limit for calls of normal length), and then learns nothing of what was found.
const ANSWER_WITHIN: Duration = Duration::from_secs(14 * 60);

impl Default for HailOptions {
    fn default() -> Self {
        HailOptions {
            load: LoadOptions::default(),
            request: PathBuf::new(),
            print_nodes: None,
            save: None,
            ignore_soft_errors: false,
            no_capacity_checks: false,
            restrict_to: None,
            all_solutions: false,
            other_groups: false,
            make_room: false,
            details: false,
            time_limit: ANSWER_WITHIN,
        }
    }
}

impl HailOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "print-nodes" => self.print_nodes = Some(node_fields(given)?),
            "save" => self.save = given.path(),
            "ignore-soft-errors" => self.ignore_soft_errors = true,
            "no-capacity-checks" => self.no_capacity_checks = true,
            "restrict-allocation-to" => self.restrict_to = Some(given.list()?),
            "all-solutions" => self.all_solutions = true,
            "other-groups" => self.other_groups = true,
            "make-room" => self.make_room = true,
            "json" => self.details = true,
            "time-limit" => self.time_limit = time_above_zero(given)?,
            _ => return self.load.apply(given),
        }
        Ok(true)
    }
}
