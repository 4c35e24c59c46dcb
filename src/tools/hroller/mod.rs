//! `hroller`: rolling reboot of a cluster, by groups of nodes that can be down together.

mod run;

use super::cli::option::ArgumentKind::Text;
use super::cli::{Heading, OptionDef, Spec, example};
use super::options::catalogue::*;
use super::options::pace::*;
use super::options::*;
use super::output::Output;
use super::{ExitStatus, ahead, execution, source};
use crate::search::rolling::RollingOptions;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HrollerOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    pub rolling: RollingOptions,
    pub skip_non_redundant: bool,
    /// Only nodes with at least one of these tags; none for all nodes.
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
    examples: &[
        example("hroller -L", "plan the reboot of all nodes"),
        example("hroller -L -G rack1 --print-moves", "plan one group, with its moves"),
        example("hroller -L -Creboot.sh", "write the commands as a script"),
    ],
    options: &[
        &[LUXI, MASTER],
        &RAPI_ACCESS,
        &[TEXT_DATA, IALLOC_SRC, OFFLINE],
        &OptionDef::<HrollerOptions>::flag(
            "offline-maintenance",
            "plan as if all instances were stopped",
            |o| o.rolling.offline_maintenance = true,
        )
        .more("Only the two nodes of a DRBD instance are kept apart.")
        .common(),
        &[VERBOSE, QUIET],
        &NO_HEADERS,
        &OptionDef::<HrollerOptions>::new("node-tags", "plan for nodes with at least one of these tags")
            .more("They are separated by commas.")
            .under(Heading::Limits)
            .common()
            .takes("TAG,...", Text, |o, g| g.list().map(|tags| o.node_tags = Some(tags))),
        &SAVE.says("save the cluster as it was read, as a file that begins with FILE"),
        &GROUP.says("plan for the node group with this name or UUID"),
        &OptionDef::<HrollerOptions>::flag("print-moves", "show where instances are meanwhile", |o| {
            o.print_moves = true
        })
        .more("They follow each group.")
        .under(Heading::Output)
        .common(),
        &OptionDef::<HrollerOptions>::flag("full-evacuation", "free the nodes of disk copies, too", |o| {
            o.rolling.full_evacuation = true
        })
        .common(),
        &OptionDef::<HrollerOptions>::flag(
            "skip-non-redundant",
            "skip nodes with instances without a copy",
            |o| o.skip_non_redundant = true,
        )
        .common(),
        &OptionDef::<HrollerOptions>::flag(
            "ignore-non-redundant",
            "leave instances without a copy on their node: they go down with it",
            |o| o.rolling.ignore_non_redundant = true,
        ),
        &OptionDef::<HrollerOptions>::flag(
            "force",
            "go on without a master node, or while instances run",
            |o| o.force = true,
        )
        .more("The latter is with --honour-run-state.")
        .short('f'),
        &OptionDef::<HrollerOptions>::flag(
            "one-step-only",
            "print only the first group, one node a line",
            |o| o.one_step_only = true,
        )
        .under(Heading::Output)
        .common(),
        &STATIC_KVM_NODE_MEMORY,
        &OptionDef::<HrollerOptions>::added_flag(
            "migrate-shared",
            "migrate instances on shared storage",
            |o| o.rolling.migrate_shared = true,
        )
        .more("They go to a node that takes them by all rules, and count as redundant.")
        .common(),
        &OptionDef::<HrollerOptions>::added_flag(
            "honour-run-state",
            "count stopped instances as out of the way",
            |o| o.rolling.honour_run_state = true,
        )
        .more("--offline-maintenance is refused while instances run."),
        &PRINT_COMMANDS
            .says("show the commands, or write them to FILE")
            .more("FILE becomes a script.")
            .added(),
        &[JSON, REPORT],
        &PRINT_PLAN
            .says("show the reboots' graph: what waits for what, and how long it takes")
            .more("json, dot and svg, a time table, are all that is printed then."),
        &SPEEDS,
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
};

pub(crate) fn run(options: HrollerOptions) -> anyhow::Result<ExitStatus> {
    execution::check_pace(&options.execution, &options.output)?;
    ahead::files(&options.output, &["original"])?;
    let mut output = Output::standard();
    let mut cluster = source::load(&options.load, &mut output)?;
    let result = run::run(&options, &mut cluster, &mut output);
    // output before an error must not be lost
    output.flush()?;
    result
}

#[cfg(test)]
mod tests;
