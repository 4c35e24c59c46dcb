//! Options shared by the benches.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

/// Values of the options.
pub struct Settings {
    /// True to measure Ganeti's own tools, too.
    pub reference: bool,
    /// True if less precise figures are enough.
    pub quick: bool,
    /// The longest run of a command of the reference.
    pub limit: Duration,
    /// The script that makes the clusters; by default the library does.
    pub clusters: Option<PathBuf>,
}

impl Settings {
    /// The shared options; a bench adds its own.
    pub fn command(name: &'static str, about: &'static str) -> Command {
        Command::new(name).about(about).args([
            switch("reference", "Measure Ganeti's own tools, too"),
            switch("quick", "Fewer repetitions, and less patience with the reference"),
            Arg::new("limit")
                .long("limit")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..=1_000_000))
                .help("The longest run of a command of the reference [60; 20 with --quick]"),
            Arg::new("clusters")
                .long("clusters")
                .value_name("PYTHON_SCRIPT")
                .value_parser(value_parser!(PathBuf))
                .help(
                    "Measure on clusters that this script prints when given \
                     NODES INSTANCES TEMPLATE SEED [--tags] [--hetero]",
                ),
            // Cargo adds this option.
            switch("bench", "").hide(true),
        ])
    }

    /// Reads the shared options.
    pub fn of(matches: &ArgMatches) -> Settings {
        let quick = matches.get_flag("quick");
        let limit = matches.get_one("limit").copied().unwrap_or(if quick { 20 } else { 60 });
        Settings {
            reference: matches.get_flag("reference"),
            quick,
            limit: Duration::from_secs(limit),
            clusters: matches.get_one("clusters").cloned(),
        }
    }

    /// Most runs of a command.
    pub fn runs(&self) -> u32 {
        if self.quick { 2 } else { 7 }
    }
}

pub fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
