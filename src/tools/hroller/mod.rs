//! `hroller`: rolling reboot of a cluster, by groups of nodes that can be down together.

mod ending;
mod maintain;
mod master;
mod need;
pub(crate) mod options;
mod pacemaker;
mod run;
mod site;

use self::options::*;
use super::cli::option::ArgumentKind::Text;
use super::cli::{Heading, OptionDef, Spec, example};
use super::execution::ApprovedPlan;
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::pace::*;
use super::options::*;
use super::output::Output;
use super::{ExitStatus, ahead, execution, pacemaker as tools_pacemaker, source};
use crate::model::number::counted;
use crate::plan::maintenance::MigrateTo;
use crate::search::rolling::RollingOptions;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HrollerOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    pub cib: CibOptions,
    pub rolling: RollingOptions,
    pub maintain: MaintainOptions,
    pub skip_non_redundant: bool,
    /// Only nodes with at least one of these tags; none for all nodes.
    pub node_tags: Option<Vec<String>>,
    pub print_moves: bool,
    pub one_step_only: bool,
    pub force: bool,
    pub upgrade_order: bool,
    /// None: newer.
    pub migrate_to: Option<MigrateTo>,
    /// `htools apply`: the approved plan.
    pub approved: Option<ApprovedPlan>,
}

tool_options!(HrollerOptions {
    execution: ExecutionOptions,
    limits: LimitOptions,
    cib: CibOptions,
    maintain: MaintainOptions
});

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HrollerOptions> = Spec {
    name: "hroller",
    summary: "plan the reboot of all nodes of a cluster, group after group",
    forms: &["[OPTION...]"],
    examples: &[
        example("hroller -L", "plan the reboot of all nodes"),
        example("hroller -L -X --node-command 'ssh {node} reboot'", "reboot all nodes, batch after batch"),
        example("hroller --live --print-moves", "plan the reboot of a Pacemaker cluster's nodes"),
    ],
    options: &[
        &[LUXI, MASTER],
        &RAPI_ACCESS,
        &[TEXT_DATA, IALLOC_SRC, OFFLINE],
        &[XML_FILE, LIVE, SKIP_UNSUPPORTED, COMMANDS_FORM],
        &OptionDef::<HrollerOptions>::flag(
            "offline-maintenance",
            "plan as if all instances were stopped",
            |o| o.rolling.offline_maintenance = true,
        )
        .more("Only the two nodes of a DRBD instance are kept apart."),
        &[VERBOSE, QUIET],
        &NO_HEADERS,
        &OptionDef::<HrollerOptions>::new("node-tags", "plan for nodes with at least one of these tags")
            .more("They are separated by commas.")
            .under(Heading::Limits)
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
        ),
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
        .under(Heading::Output),
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
        &[MAX_DOWN, UPGRADE_ORDER, MIGRATE_TO],
        &EXEC
            .says("carry the maintenance out, batch after batch")
            .more("It needs --luxi, --master or --live.")
            .added(),
        &[
            NODE_COMMAND,
            REBOOT_BY,
            WAIT_FOR_OPERATOR,
            NO_REBOOT,
            SKIP_WHEN,
            ONLY_WHEN,
            HEALTH_COMMAND,
            MASTER_COMMAND,
            SKIP_MASTER,
            CANARY,
            SOAK,
            ON_NODE_FAILURE,
            MARK,
            RETURN,
            COMMAND_TIMEOUT,
            CHECK_TIMEOUT,
        ],
        &[BOOT_TIMEOUT, YES, JOURNAL, RESUME, JSON_EVENTS, SAVE_PLAN],
        &[MAX_PARALLEL, MAX_OUT_PER_NODE, MAX_IN_PER_NODE, MAX_SYNCS, MAX_PER_GROUP],
        &WINDOW,
        &[REASON.added(), PRIORITY.added()],
        &METRICS,
        &[JSON, REPORT],
        &PRINT_PLAN
            .says("show the reboots' graph: what waits for what, and how long it takes")
            .more("json, dot and svg, a time table, are all that is printed then."),
        &SPEEDS,
        &REBOOT_TIME,
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
};

/// The question whether this many nodes are to be maintained in this many batches, or if the maintenance is to go on.
fn question(nodes: usize, batches: Option<usize>) -> String {
    let nodes = counted(nodes, "node");
    match batches {
        None => format!("Go on with the maintenance of {nodes}?"),
        Some(1) => format!("Maintain {nodes} in 1 batch?"),
        Some(batches) => format!("Maintain {nodes} in {batches} batches?"),
    }
}

/// Beginning of the comments of opcodes.
const PURPOSE: &str = "maintaining nodes via hroller";

pub(crate) fn run(mut options: HrollerOptions) -> anyhow::Result<ExitStatus> {
    // A maintenance is always carried out as a stream.
    options.execution.stream = options.execution.exec || options.execution.resume.is_some();
    options.rolling.upgrade = options.upgrade_order.then(|| options.migrate_to.unwrap_or_default());
    let mut output = Output::standard();
    let cluster = tools_pacemaker::label(&options.load, &options.cib);
    metered(SPEC.name, &options.output, cluster, &mut output, by_status, |output| {
        let result = plan_or_resume(&options, output);
        // output before an error must not be lost
        output.flush()?;
        result
    })
}

fn plan_or_resume(options: &HrollerOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    if options.cib.is_named() {
        return pacemaker::run(options, output);
    }
    tools_pacemaker::check(&options.cib, &options.load, None, &options.output)?;
    maintain::check(options)?;
    execution::check_pace(&options.execution, &options.output)?;
    if let Some(journal) = &options.execution.resume {
        return maintain::resume(options, journal, output);
    }
    ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
    ahead::files(&options.output, &["original"])?;
    let mut cluster = source::load(&options.load, output)?;
    run::run(options, &mut cluster, output)
}

#[cfg(test)]
mod tests;
