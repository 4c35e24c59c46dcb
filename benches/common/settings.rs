//! The options that the benches share.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

/// What the command line says.
pub struct Settings {
    /// Whether Ganeti's own tools are measured, too.
    pub reference: bool,
    /// Whether less precise figures will do.
    pub quick: bool,
    /// The longest run of a command of the reference.
    pub limit: Duration,
    /// The script that makes the clusters; the library does otherwise.
    pub clusters: Option<PathBuf>,
}

impl Settings {
    /// The options, for a bench to add its own.
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
            // what cargo adds
            switch("bench", "").hide(true),
        ])
    }

    /// What was given of them.
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

    /// How often a command is run at most.
    pub fn runs(&self) -> u32 {
        if self.quick { 2 } else { 7 }
    }
}

/// An option that is there or not.
pub fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}
