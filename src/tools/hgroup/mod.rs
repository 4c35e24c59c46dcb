//! `hgroup`: how node groups are, and moves of instances between them.

mod execute;
mod run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use anyhow::bail;

use super::cli::catalogue::*;
use super::cli::option::ArgumentKind;
use super::cli::{self, OperandWords, Spec, Stop, hint};
pub use super::options::HgroupOptions;
use super::options::{GroupCommand, one_form};
use super::output::Output;
use super::{ExitStatus, ahead, execution, source};
use crate::load::Detail;
use crate::model::shown::shown_name;

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hgroup",
    summary: "show how node groups are, heal them, empty them, and even out their load",
    forms: &["status [OPTION...]", "redistribute [OPTION...]", "compress [OPTION...]", "balance [OPTION...]"],
    options: &[
        TEXT_DATA,
        MASTER,
        RAPI_CREDENTIALS,
        RAPI_CACERT,
        INSECURE_HTTP,
        LUXI,
        IALLOC_SRC,
        SIMULATE,
        EXEC,
        DOT,
        SVG,
        EVACUATE,
        GROUP.says("compress: look only at the node group with this name or UUID, and plan how to empty it"),
        MIN_GAIN.says("balance: stop when no move gains DELTA [0.01]"),
        MIN_SCORE.says("balance: stop when the imbalance is no more than EPSILON [1e-9]"),
        MOVE_COST,
        MAX_LENGTH.says("plan at most N moves; a negative number sets no limit [-1]"),
        TIME_LIMIT.says("end the search once SECONDS have passed, with what was found by then"),
        NO_CAPACITY_CHECKS,
        PRINT_COMMANDS,
        SAVE,
        PRINT_NODES,
        OFFLINE,
        MAX_CPU,
        MIN_DISK,
        SELECT_INSTANCES,
        EXCLUDE_INSTANCES,
        EXCLUSION_TAGS,
        DYNU_FILE,
        IGNORE_DYNU,
        MOND,
        MOND_DATA,
        MOND_XEN,
        EXIT_ON_MISSING_MOND_DATA,
        STATIC_KVM_NODE_MEMORY,
        JSON,
        SUMMARY,
        DETAILED_STATUS,
        YES,
        JOURNAL,
        RESUME,
        JSON_EVENTS,
        REASON.added(),
        PRIORITY.added(),
        VERBOSE,
        QUIET,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[OperandWords {
        name: "COMMAND",
        kind: ArgumentKind::Choices(&["status", "redistribute", "compress", "balance"]),
        least: 1,
        most: Some(1),
    }],
};

/// What is said where there is not exactly one command.
const WHICH: &str = "which command? One of status, redistribute, compress, balance";

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HgroupOptions, Stop> {
    let mut options = HgroupOptions::default();
    options.load.detail = Detail::Storage;
    let mut given_options = Vec::new();
    let words = cli::read(&SPEC, args, |given| {
        given_options.push(given.option.long);
        options.apply(given).map(drop)
    })?;
    let [word] = &words[..] else { return Err(Stop::WrongWords(WHICH.into())) };
    let command = GroupCommand::ALL.into_iter().find(|c| word == c.as_str());
    options.command = command.ok_or_else(|| unknown_command(&word.to_string_lossy()))?;
    options.misplaced = given_options
        .into_iter()
        .find(|long| GroupCommand::that_take(long).is_some_and(|all| !all.contains(&options.command)));
    Ok(options)
}

fn unknown_command(word: &str) -> Stop {
    let meant = hint::did_you_mean(word, GroupCommand::ALL.iter().map(|command| command.as_str()));
    Stop::WrongWords(format!("'{}' is no command{meant}; {WHICH}", shown_name(word)))
}

/// Does what the options ask for.
pub fn run(options: HgroupOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    if let Some(long) = options.misplaced {
        let commands = GroupCommand::that_take(long).unwrap_or_default();
        let names: Vec<&str> = commands.iter().map(|c| c.as_str()).collect();
        bail!(
            "option --{long} means nothing to 'hgroup {}', only to {}",
            options.command.as_str(),
            names.join(", ")
        );
    }
    one_form(&[("dot", options.dot), ("svg", options.svg), ("json", options.json)])?;
    if let Some(journal) = &options.execution.resume {
        let status = execution::resume(&execute::undertaking(&options), journal, &mut output);
        output.flush()?;
        return status;
    }
    ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
    ahead::files(options.commands.as_ref(), options.save.as_deref(), &["original", "regrouped"])?;
    let cluster = source::load(&options.load, &mut output)?;
    let result = run::run(&options, cluster, &mut output);
    // what was said before an error stays said
    output.flush()?;
    result
}
