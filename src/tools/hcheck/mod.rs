//! `hcheck`: whether a cluster is healthy, and whether balancing would make it so.

mod run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use super::cli::catalogue::*;
use super::cli::{self, Spec, Stop, getopt};
pub use super::options::HcheckOptions;
use super::options::one_form;
use super::output::{Output, reader_is_gone};
use super::{ExitStatus, complain, source};

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hcheck",
    summary: "check the health of a cluster, before and after balancing it on trial",
    forms: &["[OPTION...]"],
    options: &[
        TEXT_DATA,
        NO_DISK_MOVES,
        DYNU_FILE,
        IGNORE_DYNU,
        EVAC_MODE,
        EXCLUDE_INSTANCES,
        EXCLUSION_TAGS,
        IALLOC_SRC,
        NO_INSTANCE_MOVES,
        LUXI,
        MACHINE_READABLE,
        MAX_CPU,
        MAX_LENGTH.says("stop after N steps in each group; a negative number sets no limit [-1]"),
        MIN_DISK,
        MIN_GAIN,
        MIN_GAIN_LIMIT,
        MIN_SCORE,
        IGNORE_SOFT_ERRORS,
        NO_SIMULATION,
        OFFLINE,
        QUIET.says("print nothing for people; may be repeated"),
        MASTER,
        RAPI_CREDENTIALS,
        RAPI_CACERT,
        INSECURE_HTTP,
        SELECT_INSTANCES,
        NO_CAPACITY_CHECKS.says("leave out whether each node could be emptied (global N+1)"),
        VERBOSE.says("undo one -q; may be repeated"),
        SIMULATE,
        LIST_PROBLEMS,
        WITHOUT_NODE,
        JSON,
        DETAILED_HEALTH,
        TIME_LIMIT.says("end the simulation once SECONDS have passed, with the steps found by then"),
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HcheckOptions, Stop> {
    let mut options = HcheckOptions::default();
    cli::read_options(&SPEC, args, |given| options.apply(given).map(drop))?;
    Ok(options)
}

/// Checks what the words ask for. With `--detailed-status`, wherever it stands, every error has the exit
/// status of a malformed command line.
///
/// # Errors
/// What keeps the check from being made, unless that option is given.
pub fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let given = getopt::canonicalise(SPEC.options, args).options;
    let detailed = given.iter().any(|given| *given.option == DETAILED_HEALTH);
    match parse(args) {
        Err(stop) => {
            let status = stop.show(&mut Output::standard())?;
            Ok(if detailed && status == ExitStatus::Failure { ExitStatus::Usage } else { status })
        }
        Ok(options) => match run(options) {
            Err(error) if detailed && !reader_is_gone(&error) => {
                complain(&error);
                Ok(ExitStatus::Usage)
            }
            done => done,
        },
    }
}

/// Does what the options ask for.
pub fn run(options: HcheckOptions) -> anyhow::Result<ExitStatus> {
    one_form(&[("json", options.json), ("machine-readable", options.machine_readable)])?;
    let mut output = Output::standard();
    let mut cluster = source::load(&options.load, &mut output)?;
    source::apply_node_settings(&mut cluster, &options.load)?;
    let status = if options.without.is_empty() {
        run::check(&options, &cluster, &mut output)
    } else {
        run::loss(&options, &cluster, &mut output)
    }?;
    output.flush()?;
    Ok(status)
}
