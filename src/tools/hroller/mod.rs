//! `hroller`: in which groups the nodes of a cluster can be rebooted.

mod run;

use std::ffi::OsString;

use super::cli::catalogue::*;
use super::cli::{self, Spec, Stop};
pub use super::options::HrollerOptions;
use super::output::Output;
use super::{ExitStatus, ahead, source};

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hroller",
    summary: "plan the reboot of all nodes of a cluster, group after group",
    forms: &["[OPTION...]"],
    options: &[
        LUXI,
        MASTER,
        RAPI_CREDENTIALS,
        RAPI_CACERT,
        INSECURE_HTTP,
        TEXT_DATA,
        IALLOC_SRC,
        OFFLINE,
        OFFLINE_MAINTENANCE,
        VERBOSE,
        QUIET,
        NO_HEADERS,
        NODE_TAGS,
        SAVE.says("save the cluster as it was read as a text file whose name starts with FILE"),
        GROUP.says("plan for the nodes of the group with this name or UUID only"),
        PRINT_MOVES,
        FULL_EVACUATION,
        SKIP_NON_REDUNDANT,
        IGNORE_NON_REDUNDANT,
        FORCE_ROLLING,
        ONE_STEP_ONLY,
        STATIC_KVM_NODE_MEMORY,
        MIGRATE_SHARED,
        HONOUR_RUN_STATE,
        PRINT_COMMANDS
            .says("show the commands of the maintenance, or write them to FILE as a script")
            .added(),
        JSON,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HrollerOptions, Stop> {
    let mut options = HrollerOptions::default();
    cli::read_options(&SPEC, args, |given| options.apply(given).map(drop))?;
    Ok(options)
}

/// Does what the options ask for.
pub fn run(options: HrollerOptions) -> anyhow::Result<ExitStatus> {
    ahead::files(options.commands.as_ref(), options.save.as_deref(), &["original"])?;
    let mut output = Output::standard();
    let mut cluster = source::load(&options.load, &mut output)?;
    let result = run::run(&options, &mut cluster, &mut output);
    // what was said before an error stays said
    output.flush()?;
    result
}

#[cfg(test)]
mod tests;
