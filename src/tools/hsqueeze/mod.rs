//! `hsqueeze`: which nodes can be powered down, or have to be powered up.

mod execute;
mod planning;
mod run;
mod squeeze_run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use self::planning::Planning;
use super::cli::catalogue::*;
use super::cli::{self, Spec, Stop};
pub use super::options::HsqueezeOptions;
use super::output::Output;
use super::{ExitStatus, ahead, source};

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hsqueeze",
    summary: "power nodes down that are not needed, and up again when they are",
    forms: &["[OPTION...]"],
    options: &[
        LUXI,
        MASTER.added(),
        RAPI_CREDENTIALS,
        RAPI_CACERT,
        INSECURE_HTTP,
        TEXT_DATA,
        IALLOC_SRC.added(),
        SIMULATE,
        EXEC,
        MINIMAL_RESOURCES,
        TARGET_RESOURCES,
        SQUEEZE_DRBD,
        SQUEEZE_ALL,
        GROUP.says("plan for the node group with this name or UUID only").added(),
        MAX_NODES,
        TIME_LIMIT
            .says("end the search once SECONDS have passed; what was found by then is made a whole plan"),
        COOLDOWN,
        NO_CAPACITY_CHECKS
            .says("do not care whether each node could be emptied if it were lost (global N+1), now or when the reserve is used")
            .added(),
        IGNORE_SOFT_ERRORS
            .says("also free nodes, or bring them up, where that worsens conflicts of exclusion tags, locations or policies")
            .added(),
        STANDBY_DATA,
        SAVE,
        PRINT_COMMANDS,
        VERBOSE,
        QUIET.says("print one line if there is something to do, and nothing otherwise").added(),
        NO_HEADERS,
        JSON,
        SUMMARY,
        DETAILED_STATUS,
        YES,
        POWER_COMMAND,
        BOOT_TIMEOUT,
        JOURNAL,
        RESUME,
        JSON_EVENTS,
        REASON.added(),
        PRIORITY.added(),
        STATIC_KVM_NODE_MEMORY,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HsqueezeOptions, Stop> {
    let mut options = HsqueezeOptions::default();
    cli::read_options(&SPEC, args, |given| options.apply(given).map(drop))?;
    Ok(options)
}

/// Does what the options ask for.
pub fn run(options: HsqueezeOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    if let Some(journal) = &options.execution.resume {
        let status = execute::resume(&options, journal, &mut output);
        output.flush()?;
        return status;
    }
    run::check_reserves(&options, &mut output)?;
    let planning = Planning::new(&options, run::known_sizes(&options)?);
    ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
    ahead::files(options.commands.as_ref(), options.save.as_deref(), &["original", "squeezed"])?;
    let access = options.execution.exec.then(|| execute::access(&options)).transpose()?;
    let cluster = source::load(&options.load, &mut output)?;
    let result = run::run(&planning, access, &cluster, &mut output);
    // what was said before an error stays said
    output.flush()?;
    result
}
