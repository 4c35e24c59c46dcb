//! What the options of `hgroup` mean.

use std::path::PathBuf;
use std::time::Duration;

use super::{CommandTarget, ExecutionOptions, LoadOptions, node_fields, time_above_zero};
use crate::search::groups::RegroupOptions;
use crate::search::groups::balance::GroupBalanceOptions;
use crate::search::groups::load::LoadSource;
use crate::tools::cli::{Given, ValueError};

/// What `hgroup` can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupCommand {
    /// Show how the groups are.
    #[default]
    Status,
    Redistribute,
    /// Find groups that can be emptied.
    Compress,
    /// Even out load.
    Balance,
}

impl GroupCommand {
    /// All of them.
    pub const ALL: [GroupCommand; 4] =
        [GroupCommand::Status, GroupCommand::Redistribute, GroupCommand::Compress, GroupCommand::Balance];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            GroupCommand::Status => "status",
            GroupCommand::Redistribute => "redistribute",
            GroupCommand::Compress => "compress",
            GroupCommand::Balance => "balance",
        }
    }

    /// The commands for which an option means something; nothing for all.
    pub fn that_take(option: &str) -> Option<&'static [GroupCommand]> {
        use GroupCommand::{Balance, Compress, Redistribute, Status};
        match option {
            "dot" | "svg" => Some(&[Status]),
            "evacuate" | "group" => Some(&[Compress]),
            "min-gain" | "min-score" | "move-cost" => Some(&[Balance]),
            "print-commands" | "save" | "time-limit" | "max-length" | "no-capacity-checks"
            | "detailed-status" | "summary" | "exec" | "yes" | "journal" | "resume" | "json-events"
            | "reason" | "priority" => Some(&[Redistribute, Compress, Balance]),
            _ => None,
        }
    }
}

/// What `hgroup` is asked to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HgroupOptions {
    /// Reading the cluster.
    pub load: LoadOptions,
    pub command: GroupCommand,
    /// An option that was given and means nothing to the command.
    pub misplaced: Option<&'static str>,
    /// `-p`: the fields as typed; empty for the usual ones.
    pub print_nodes: Option<String>,
    pub dot: bool,
    pub svg: bool,
    /// `-C`
    pub commands: Option<CommandTarget>,
    /// `-S`: what the names of the saved files start with.
    pub save: Option<PathBuf>,
    /// `-l`; negative: no limit.
    pub max_length: Option<i64>,
    pub no_capacity_checks: bool,
    pub evacuate: bool,
    /// `-G`
    pub group: Option<String>,
    /// `-g`
    pub min_gain: Option<f64>,
    /// `-e`
    pub min_score: Option<f64>,
    pub move_cost: f64,
    pub time_limit: Option<Duration>,
    pub json: bool,
    pub summary: bool,
    pub detailed_status: bool,
    /// Carrying plans out.
    pub execution: ExecutionOptions,
}

impl HgroupOptions {
    /// Takes an option; false if it means nothing to this tool.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "print-nodes" => self.print_nodes = Some(node_fields(given)?),
            "dot" => self.dot = true,
            "svg" => self.svg = true,
            "print-commands" => self.commands = Some(CommandTarget::of(given)),
            "save" => self.save = given.path(),
            "max-length" => self.max_length = Some(given.int()?),
            "no-capacity-checks" => self.no_capacity_checks = true,
            "evacuate" => self.evacuate = true,
            "group" => self.group = Some(given.text()?.to_owned()),
            "min-gain" => self.min_gain = Some(given.float()?),
            "min-score" => self.min_score = Some(given.float()?),
            "move-cost" => self.move_cost = cost(given)?,
            "time-limit" => self.time_limit = Some(time_above_zero(given)?),
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

    /// What is asked of moves between groups.
    pub fn regroup(&self) -> RegroupOptions {
        RegroupOptions {
            capacity_checks: !self.no_capacity_checks,
            max_moves: self.max_length.and_then(|most| usize::try_from(most).ok()),
        }
    }

    /// How to even out load.
    pub fn balance(&self) -> GroupBalanceOptions {
        let usual = GroupBalanceOptions::default();
        let load = &self.load;
        let measured = load.utilisation.is_some() || load.mond;
        GroupBalanceOptions {
            regroup: self.regroup(),
            loads: if measured && !load.ignore_dynu { LoadSource::Measured } else { LoadSource::InUse },
            min_gain: self.min_gain.unwrap_or(usual.min_gain),
            min_score: self.min_score.unwrap_or(usual.min_score),
            move_cost: self.move_cost,
        }
    }
}

fn cost(given: &Given) -> Result<f64, ValueError> {
    let cost = given.float()?;
    if cost >= 0.0 && cost.is_finite() { Ok(cost) } else { Err(given.out_of_range("a number, 0 or more")) }
}
