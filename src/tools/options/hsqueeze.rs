//! What the options of `hsqueeze` mean.

use std::path::PathBuf;
use std::time::Duration;

use super::{CommandTarget, ExecutionOptions, LoadOptions, time_above_zero};
use crate::search::squeeze::Reach;
use crate::tools::cli::{Given, ValueError};

/// The reserve that is asked for unless the command line says otherwise.
const RESOURCES: f64 = 2.0;

/// What `hsqueeze` is asked to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HsqueezeOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    pub minimal: Option<f64>,
    pub target: Option<f64>,
    pub reach: Reach,
    pub no_capacity_checks: bool,
    pub ignore_soft_errors: bool,
    pub max_nodes: Option<usize>,
    pub time_limit: Option<Duration>,
    pub cooldown: Duration,
    pub standby_data: Option<PathBuf>,
    /// `-G`
    pub group: Option<String>,
    /// `-S`: what the names of the saved files start with.
    pub save: Option<PathBuf>,
    /// `-C`
    pub commands: Option<CommandTarget>,
    pub no_headers: bool,
    pub json: bool,
    pub summary: bool,
    pub detailed_status: bool,
    /// Carrying the plan out.
    pub execution: ExecutionOptions,
}

impl HsqueezeOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "minimal-resources" => self.minimal = Some(given.float()?),
            "target-resources" => self.target = Some(given.float()?),
            "drbd" if self.reach == Reach::External => self.reach = Reach::Drbd,
            "drbd" => {}
            "all" => self.reach = Reach::All,
            "no-capacity-checks" => self.no_capacity_checks = true,
            "ignore-soft-errors" => self.ignore_soft_errors = true,
            "max-nodes" => {
                let most = usize::try_from(given.int()?);
                self.max_nodes = Some(most.map_err(|_| given.out_of_range("a number of nodes, 0 or more"))?);
            }
            "time-limit" => self.time_limit = Some(time_above_zero(given)?),
            "cooldown" => self.cooldown = given.time()?,
            "standby-data" => self.standby_data = given.path(),
            "group" => self.group = Some(given.text()?.to_owned()),
            "save" => self.save = given.path(),
            "print-commands" => self.commands = Some(CommandTarget::of(given)),
            "no-headers" => self.no_headers = true,
            "summary" => self.summary = true,
            "json" => self.json = true,
            "detailed-status" => self.detailed_status = true,
            _ => return Ok(self.execution.apply(given)? || self.load.apply(given)?),
        }
        Ok(true)
    }

    /// Whether standard output has no room for what happens during a run.
    pub fn is_silent(&self) -> bool {
        self.json || self.load.verbosity < 1
    }

    /// The reserve below which nodes are brought online: as asked for; else the usual one, or the
    /// target if that is less.
    pub fn minimal(&self) -> f64 {
        self.minimal.unwrap_or_else(|| self.target.map_or(RESOURCES, |target| target.min(RESOURCES)))
    }

    /// The reserve that freeing nodes leaves.
    pub fn target(&self) -> f64 {
        self.target.unwrap_or_else(|| self.minimal().max(RESOURCES))
    }
}
