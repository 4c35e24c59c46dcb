//! `hspace`: how many more instances a cluster could hold.
//!
//! A limit (`-l`) means what it means to Ganeti's tool: with 0 nothing is placed;
//! with a negative number other than -1, which is no limit at all, the tiered
//! allocation places nothing and the standard one knows no limit.

mod request;
mod run;

use std::ffi::OsString;

use super::cli::catalogue::*;
use super::cli::{self, Spec, Stop};
pub use super::options::HspaceOptions;
use super::options::one_form;
use super::output::Output;
use super::{ExitStatus, ahead, source};

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hspace",
    summary: "estimate how many more instances a cluster can hold",
    forms: &["[OPTION...]"],
    options: &[
        PRINT_NODES,
        TEXT_DATA,
        DISK_TEMPLATE,
        SPINDLE_USE,
        SIMULATE.of_ganeti(),
        MASTER,
        RAPI_CREDENTIALS,
        RAPI_CACERT,
        INSECURE_HTTP,
        LUXI,
        IALLOC_SRC,
        VERBOSE,
        QUIET,
        INDEPENDENT_GROUPS,
        ACCEPT_EXISTING_ERRORS,
        OFFLINE,
        NO_CAPACITY_CHECKS,
        MACHINE_READABLE,
        MAX_CPU,
        MAX_LENGTH.says("place at most N instances in each allocation; -1 sets no limit [-1]"),
        MIN_DISK,
        STANDARD_ALLOC,
        TIERED_ALLOC,
        SAVE.says("save the cluster after each allocation as text files whose names start with FILE"),
        STATIC_KVM_NODE_MEMORY,
        TIME_LIMIT.says("end the search once SECONDS have passed; what was placed by then is shown"),
        JSON,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HspaceOptions, Stop> {
    let mut options = HspaceOptions::default();
    cli::read_options(&SPEC, args, |given| options.apply(given).map(drop))?;
    Ok(options)
}

/// Does what the options ask for.
pub fn run(options: HspaceOptions) -> anyhow::Result<ExitStatus> {
    one_form(&[("json", options.json), ("machine-readable", options.machine_readable)])?;
    ahead::files(None, options.save.as_deref(), &["tiered", "standard"])?;
    let mut output = Output::standard();
    let mut cluster = source::load(&options.load, &mut output)?;
    source::apply_node_settings(&mut cluster, &options.load)?;
    let result = run::run(&options, &cluster, &mut output);
    // what was said before an error stays said
    output.flush()?;
    result
}

#[cfg(test)]
mod tests;
