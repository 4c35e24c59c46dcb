//! `hcheck`: whether a cluster is healthy, and whether balancing would make it so.

mod run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use anyhow::ensure;

use super::cli::option::ArgumentKind::OneNode;
use super::cli::{OptionDef, Spec, getopt};
use super::metrics::{metered, never};
use super::options::catalogue::*;
use super::options::{Options, one_form};
use super::output::{Output, reader_is_gone};
use super::{ExitStatus, complain, source};
use crate::load::merge::apply_node_options;

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
        MAX_LENGTH.says("stop after N steps in each group; a negative number sets no limit"),
        MIN_DISK,
        MIN_GAIN,
        MIN_GAIN_LIMIT,
        MIN_SCORE,
        IGNORE_SOFT_ERRORS,
        OptionDef::flag(
            "no-simulation",
            "look at the cluster as it is, without balancing it on trial",
            |o| o.no_simulation = true,
        ),
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
        OptionDef::flag(
            "list-problems",
            "show every problem by name, too: nodes, instances, tags without effect",
            |o| o.list_problems = true,
        )
        .added(),
        OptionDef::new(
            "without-node",
            "tell what would become of the instances if NODE were lost, instead of checking; several nodes are lost together",
        )
        .takes("NODE", OneNode, |o, g| g.string().map(|node| o.without.push(node)))
        .added(),
        DEEP.says("on trial, look for the best placement, as hbal --deep does, not for one step after the other"),
        EFFORT,
        WEIGHTS,
        JSON,
        METRICS,
        DETAILED_STATUS
            .says("end with status 2 after any error, so that 1 means only that the cluster is not healthy"),
        TIME_LIMIT.says("end the simulation once SECONDS have passed, with the steps found by then"),
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[],
};

/// Checks what the words ask for. With `--detailed-status`, wherever it stands, every error has the exit
/// status of a malformed command line.
///
/// # Errors
/// What keeps the check from being made, unless that option is given.
pub fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let given = getopt::canonicalise(SPEC.options, args).options;
    let detailed = given.iter().any(|given| *given.option == DETAILED_STATUS);
    match SPEC.parse(args) {
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
pub fn run(options: Options) -> anyhow::Result<ExitStatus> {
    metered(SPEC.name, &options, &mut Output::standard(), never, |output| look(&options, output))
}

fn look(options: &Options, output: &mut Output) -> anyhow::Result<ExitStatus> {
    one_form(&[("json", options.json), ("machine-readable", options.machine_readable)])?;
    ensure!(options.deep || options.effort.is_none(), "option --effort means nothing without --deep");
    let mut cluster = source::load(&options.load, output)?;
    apply_node_options(&mut cluster, &options.load.nodes)?;
    let status = if options.without.is_empty() {
        run::check(options, &cluster, output)
    } else {
        run::loss(options, &cluster, output)
    }?;
    output.flush()?;
    Ok(status)
}
