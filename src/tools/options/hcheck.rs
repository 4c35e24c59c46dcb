//! What the options of `hcheck` mean.

use std::time::Duration;

use super::{LoadOptions, time_above_zero};
use crate::search::BalanceOptions;
use crate::tools::cli::{Given, ValueError};

/// What `hcheck` is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct HcheckOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    /// How the groups are balanced on trial.
    pub balance: BalanceOptions,
    /// Whether they are; not with `--no-simulation`.
    pub simulation: bool,
    /// Whether every node has to be expendable; not with `--no-capacity-checks`.
    pub capacity_checks: bool,
    /// `--machine-readable`
    pub machine_readable: bool,
    /// `--list-problems`
    pub list_problems: bool,
    /// `--without-node`, in the order given.
    pub without: Vec<String>,
    /// `--json`
    pub json: bool,
    /// `--time-limit`
    pub time_limit: Option<Duration>,
}

impl Default for HcheckOptions {
    fn default() -> Self {
        HcheckOptions {
            load: LoadOptions::default(),
            balance: BalanceOptions::default(),
            simulation: true,
            capacity_checks: true,
            machine_readable: false,
            list_problems: false,
            without: Vec::new(),
            json: false,
            time_limit: None,
        }
    }
}

impl HcheckOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "no-disk-moves" => self.balance.rules.disk_moves = false,
            "no-instance-moves" => self.balance.rules.instance_moves = false,
            "ignore-soft-errors" => self.balance.rules.ignore_soft_errors = true,
            "evac-mode" => self.balance.evacuate = true,
            "max-length" => self.balance.max_length = given.int()?,
            "min-gain" => self.balance.min_gain = given.float()?,
            "min-gain-limit" => self.balance.min_gain_limit = given.float()?,
            "min-score" => self.balance.min_score = given.float()?,
            "no-simulation" => self.simulation = false,
            "no-capacity-checks" => self.capacity_checks = false,
            "machine-readable" => {
                self.machine_readable = given.value.is_none() || given.choice()? == "yes";
            }
            "list-problems" => self.list_problems = true,
            "without-node" => self.without.push(given.text()?.to_owned()),
            // decides about the exit status of whatever happens, and is looked at before the others
            "detailed-status" => {}
            "json" => self.json = true,
            "time-limit" => self.time_limit = Some(time_above_zero(given)?),
            _ => return self.load.apply(given),
        }
        Ok(true)
    }
}
