//! `hroller`: in which groups the nodes of a cluster can be rebooted.

mod run;

use super::cli::option::ArgumentKind::Text;
use super::cli::{OptionDef, Spec};
use super::options::catalogue::*;
use super::options::pace::*;
use super::options::*;
use super::output::Output;
use super::{ExitStatus, ahead, execution, source};
use crate::search::rolling::RollingOptions;

/// What hroller is asked to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HrollerOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    /// What the maintenance has to respect.
    pub rolling: RollingOptions,
    pub skip_non_redundant: bool,
    /// Nodes with at least one of these; none: all nodes.
    pub node_tags: Option<Vec<String>>,
    pub print_moves: bool,
    pub one_step_only: bool,
    pub force: bool,
}

tool_options!(HrollerOptions { execution: ExecutionOptions, limits: LimitOptions });

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HrollerOptions> = Spec {
    name: "hroller",
    summary: "plan the reboot of all nodes of a cluster, group after group",
    forms: &["[OPTION...]"],
    options: &[
        &[LUXI, MASTER],
        &RAPI_ACCESS,
        &[TEXT_DATA, IALLOC_SRC, OFFLINE],
        &OptionDef::<HrollerOptions>::flag(
            "offline-maintenance",
            "plan as if all instances were stopped: only the two nodes of a DRBD instance are kept apart",
            |o| o.rolling.offline_maintenance = true,
        ),
        &[VERBOSE, QUIET],
        &NO_HEADERS,
        &OptionDef::<HrollerOptions>::new(
            "node-tags",
            "plan for nodes that have at least one of these tags, separated by commas",
        )
        .takes("TAG,...", Text, |o, g| g.list().map(|tags| o.node_tags = Some(tags))),
        &SAVE.says("save the cluster as it was read as a text file whose name starts with FILE"),
        &GROUP.says("plan for the nodes of the group with this name or UUID only"),
        &OptionDef::<HrollerOptions>::flag(
            "print-moves",
            "print after each group which instances are elsewhere meanwhile, and where",
            |o| o.print_moves = true,
        ),
        &OptionDef::<HrollerOptions>::flag("full-evacuation", "free the nodes of each group of disk copies, too", |o| {
            o.rolling.full_evacuation = true
        }),
        &OptionDef::<HrollerOptions>::flag(
            "skip-non-redundant",
            "leave out nodes that run instances without a copy on another node",
            |o| o.skip_non_redundant = true,
        ),
        &OptionDef::<HrollerOptions>::flag(
            "ignore-non-redundant",
            "do not move instances without a copy on another node: they go down with it",
            |o| o.rolling.ignore_non_redundant = true,
        ),
        &OptionDef::<HrollerOptions>::flag(
            "force",
            "go on without a master node, and with --honour-run-state while instances run",
            |o| o.force = true,
        )
        .short('f'),
        &OptionDef::<HrollerOptions>::flag("one-step-only", "print only the first group, one node a line", |o| {
            o.one_step_only = true
        }),
        &STATIC_KVM_NODE_MEMORY,
        &OptionDef::<HrollerOptions>::added_flag(
            "migrate-shared",
            "migrate instances on shared storage to a node that takes them by all the rules, and count them as redundant",
            |o| o.rolling.migrate_shared = true,
        ),
        &OptionDef::<HrollerOptions>::added_flag(
            "honour-run-state",
            "stopped instances are not in the way; --offline-maintenance is refused while instances run",
            |o| o.rolling.honour_run_state = true,
        ),
        &PRINT_COMMANDS
            .says("show the commands of the maintenance, or write them to FILE as a script")
            .added(),
        &[JSON, REPORT],
        &PRINT_PLAN.says("show the reboots as a graph, with what waits for what and how long it takes: text, or nothing but json, dot or an svg time table"),
        &SPEEDS,
        &LAST,
    ],
    words: &[],
};

/// Does what the options ask for.
pub(crate) fn run(options: HrollerOptions) -> anyhow::Result<ExitStatus> {
    execution::check_pace(&options.execution, &options.output)?;
    ahead::files(&options.output, &["original"])?;
    let mut output = Output::standard();
    let mut cluster = source::load(&options.load, &mut output)?;
    let result = run::run(&options, &mut cluster, &mut output);
    // what was said before an error stays said
    output.flush()?;
    result
}

#[cfg(test)]
mod tests;
