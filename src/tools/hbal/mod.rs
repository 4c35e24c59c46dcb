//! `hbal`: brings one node group into balance, one move at a time.

mod balanced;
mod execute;
mod explain;
mod run;
mod scope;
mod search;
mod several;

use std::ffi::OsString;

use super::cli::catalogue::*;
use super::cli::{self, Spec, Stop};
pub use super::options::HbalOptions;
use super::output::Output;
use super::{ExitStatus, ahead, execution, source};

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hbal",
    summary: "balance the instances of a node group over its nodes",
    forms: &["[OPTION...]"],
    options: &[
        PRINT_NODES,
        PRINT_INSTANCES,
        PRINT_COMMANDS,
        TEXT_DATA,
        EVAC_MODE,
        RESTRICTED_MIGRATION,
        MASTER,
        RAPI_CREDENTIALS,
        RAPI_CACERT,
        INSECURE_HTTP,
        LUXI,
        IALLOC_SRC,
        EXEC,
        FIRST_JOB_GROUP,
        REASON,
        GROUP,
        WORST_GROUP,
        ALL_GROUPS,
        MAX_LENGTH,
        VERBOSE,
        QUIET,
        OFFLINE,
        STATIC_KVM_NODE_MEMORY,
        MIN_SCORE,
        MAX_CPU,
        MIN_DISK,
        MIN_GAIN,
        MIN_GAIN_LIMIT,
        NO_DISK_MOVES,
        SELECT_INSTANCES,
        NO_INSTANCE_MOVES,
        IGNORE_SOFT_ERRORS,
        DYNU_FILE,
        IGNORE_DYNU,
        MOND,
        MOND_DATA,
        EXIT_ON_MISSING_MOND_DATA,
        MOND_XEN,
        EXCLUSION_TAGS,
        EXCLUDE_INSTANCES,
        SAVE,
        PRIORITY,
        SIMULATE,
        JSON,
        SUMMARY,
        EXPLAIN,
        TIME_LIMIT,
        YES,
        JOURNAL,
        RESUME,
        JSON_EVENTS,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HbalOptions, Stop> {
    let mut options = HbalOptions::default();
    cli::read_options(&SPEC, args, |given| options.apply(given).map(drop))?;
    Ok(options)
}

/// Does what the options ask for.
pub fn run(options: HbalOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let status = if let Some(journal) = &options.execution.resume {
        execution::resume(&execute::undertaking(&options), journal, &mut output)
    } else {
        // before the cluster is asked
        options.groups()?;
        ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
        ahead::files(options.commands.as_ref(), options.save.as_deref(), &["original", "balanced"])?;
        let cluster = source::load(&options.load, &mut output)?;
        match options.explain.is_empty() {
            true => {
                let plan = |cluster, output: &mut Output| run::run(&options, cluster, output);
                execution::plan_and_execute(&execute::undertaking(&options), cluster, plan, &mut output)
            }
            false => explain::run(&options, cluster, &mut output),
        }
    }?;
    output.flush()?;
    Ok(status)
}

#[cfg(test)]
mod tests;
