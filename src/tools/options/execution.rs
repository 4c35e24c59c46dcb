//! Whether and how a plan is carried out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::execute::nodes::{BOOT, Handling};
use crate::tools::cli::{Given, ValueError};

/// The priority of submitted jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Low,
    Normal,
    High,
}

impl Priority {
    /// Ganeti's number.
    pub fn number(self) -> i8 {
        match self {
            Priority::Low => 10,
            Priority::Normal => 0,
            Priority::High => -10,
        }
    }
}

/// What is asked for about carrying plans out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionOptions {
    /// `-X`
    pub exec: bool,
    pub yes: bool,
    pub journal: Option<PathBuf>,
    pub resume: Option<PathBuf>,
    pub json_events: Option<PathBuf>,
    pub reason: Option<String>,
    pub priority: Option<Priority>,
    pub power_command: Option<OsString>,
    pub boot_timeout: Option<Duration>,
}

impl ExecutionOptions {
    /// Takes an option if it is one of these; false if it is not.
    pub fn apply(&mut self, given: &Given) -> Result<bool, ValueError> {
        match given.option.long {
            "exec" => self.exec = true,
            "yes" => self.yes = true,
            "journal" => self.journal = given.path(),
            "resume" => self.resume = given.path(),
            "json-events" => self.json_events = given.path(),
            "reason" => self.reason = Some(given.text()?.to_owned()),
            "priority" => {
                self.priority = Some(match given.choice()? {
                    "low" => Priority::Low,
                    "high" => Priority::High,
                    _ => Priority::Normal,
                });
            }
            "power-command" => self.power_command = given.value.clone(),
            "boot-timeout" => self.boot_timeout = Some(given.time()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// How nodes are powered up and down.
    pub fn handling(&self) -> Handling {
        Handling { power_command: self.power_command.clone(), boot: self.boot_timeout.unwrap_or(BOOT) }
    }
}
