//! What the options of `hroller` mean.

use std::path::PathBuf;

use super::{CommandTarget, LoadOptions};
use crate::search::rolling::RollingOptions;
use crate::tools::cli::value::split_list;
use crate::tools::cli::{Given, ValueError};

/// What `hroller` is asked to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HrollerOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    /// What the maintenance has to respect.
    pub rolling: RollingOptions,
    /// `--skip-non-redundant`
    pub skip_non_redundant: bool,
    /// `--node-tags`: nodes with at least one of these; none: all nodes.
    pub node_tags: Option<Vec<String>>,
    /// `-G`
    pub group: Option<String>,
    /// `-S`: what the name of the saved file starts with.
    pub save: Option<PathBuf>,
    /// `-f`
    pub force: bool,
    /// `--no-headers`
    pub no_headers: bool,
    /// `--print-moves`
    pub print_moves: bool,
    /// `--one-step-only`
    pub one_step_only: bool,
    /// `-C`
    pub commands: Option<CommandTarget>,
    /// `--json`
    pub json: bool,
}

impl HrollerOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "offline-maintenance" => self.rolling.offline_maintenance = true,
            "ignore-non-redundant" => self.rolling.ignore_non_redundant = true,
            "full-evacuation" => self.rolling.full_evacuation = true,
            "migrate-shared" => self.rolling.migrate_shared = true,
            "honour-run-state" => self.rolling.honour_run_state = true,
            "skip-non-redundant" => self.skip_non_redundant = true,
            "node-tags" => self.node_tags = Some(split_list(given.text()?)),
            "group" => self.group = Some(given.text()?.to_owned()),
            "save" => self.save = given.path(),
            "force" => self.force = true,
            "no-headers" => self.no_headers = true,
            "print-moves" => self.print_moves = true,
            "one-step-only" => self.one_step_only = true,
            "print-commands" => self.commands = Some(CommandTarget::of(given)),
            "json" => self.json = true,
            _ => return self.load.apply(given),
        }
        Ok(true)
    }
}
