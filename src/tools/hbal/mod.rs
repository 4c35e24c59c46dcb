//! `hbal`: brings one node group into balance, one move at a time.

mod balanced;
mod deep;
mod execute;
mod explain;
mod page;
mod run;
mod scope;
mod search;
mod several;
mod views;

use super::cli::option::ArgumentKind;
use super::cli::{OptionDef, Spec};
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::pace::*;
use super::options::{Options, count, not_negative, one_form, size};
use super::output::Output;
use super::pacemaker::{CibOrigin, ClusterUse, LoadedCluster};
use super::{ExitStatus, ahead, execution, pacemaker};
use crate::model::Cluster;

/// Name, purpose and options.
pub(crate) const SPEC: Spec = Spec {
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
        XML_FILE,
        LIVE,
        SKIP_UNSUPPORTED,
        ALLOW_RESTARTS,
        COMMANDS_FORM,
        EXEC_ANYWHERE,
        OptionDef::flag(
            "first-job-group",
            "keep only the first jobset, the steps that can start at once",
            |o| o.first_job_group = true,
        ),
        REASON,
        GROUP,
        OptionDef::flag(
            "worst-group",
            "score all node groups, and balance the worst of those that can be improved",
            |o| o.worst_group = true,
        )
        .added(),
        OptionDef::flag("all-groups", "balance every node group, in one plan", |o| o.all_groups = true)
            .added(),
        MAX_LENGTH,
        VERBOSE,
        QUIET,
        OFFLINE,
        STATIC_KVM_NODE_MEMORY,
        MIN_SCORE,
        MAX_CPU,
        MIN_DISK,
        KEEP_RESERVE,
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
        WEIGHTS,
        AFFINITY_WEIGHT,
        JSON,
        METRICS,
        REPORT,
        SUMMARY,
        COLOUR,
        OptionDef::new(
            "explain",
            "for this instance, show every target with the score it would give or the rule that forbids it; may be repeated",
        )
        .takes("INSTANCE", ArgumentKind::None, |o, g| g.string().map(|instance| o.explain.push(instance)))
        .added(),
        DEEP,
        OptionDef::new("max-moves", "with --deep, move at most N instances")
            .takes("N", ArgumentKind::Integer, |o, g| count(g).map(|most| o.max_moves = Some(most)))
            .added(),
        OptionDef::new("max-data", "with --deep, copy and migrate at most SIZE of disk and memory together, such as 500g")
            .takes("SIZE", ArgumentKind::Text, |o, g| size(g).map(|most| o.max_data = Some(most)))
            .added(),
        OptionDef::new(
            "move-cost",
            "with --deep, the least gain in score that a moved instance must be worth [a tenth of what one gains on average; 0 with a limit]",
        )
        .takes("SCORE", ArgumentKind::Float, |o, g| not_negative(g).map(|gain| o.least_gain = Some(gain)))
        .added(),
        OptionDef::flag(
            "pareto",
            "with --deep, show what every number of moves would bring, and make no plan",
            |o| o.pareto = true,
        )
        .added(),
        OptionDef::flag("svg", "with --pareto, draw that as an SVG picture", |o| o.svg = true).added(),
        EFFORT,
        OptionDef::flag(
            "repair-only",
            "end what is wrong with the fewest moves, and move nothing else: instances on offline nodes, N+1, tags, locations, policies",
            |o| o.repair_only = true,
        )
        .added(),
        OptionDef::new("evacuate", "empty NODE, primaries and secondaries, and move nothing else; may be repeated")
            .takes("NODE", ArgumentKind::OneNode, |o, g| g.string().map(|node| o.emptied.push(node)))
            .added(),
        OptionDef::flag(
            "merge",
            "where an instance would move twice move it once, to the same end, if there is an order for that",
            |o| o.merge = true,
        )
        .added(),
        OptionDef::flag(
            "allow-interruptions",
            "with --deep, --merge, --repair-only or --evacuate: where moves wait for each other's room, stop an instance meanwhile",
            |o| o.balance.concessions.interruptions = true,
        )
        .added(),
        OptionDef::flag(
            "allow-overcommit-during-migration",
            "with the same: where moves wait for each other's room, have more memory taken on a node than it has until the next has left it",
            |o| o.balance.concessions.overcommit = true,
        )
        .added(),
        TIME_LIMIT,
        YES,
        JOURNAL,
        RESUME,
        JSON_EVENTS,
        PRINT_PLAN,
        SAVE_PLAN,
        STREAM,
        MAX_PARALLEL,
        MAX_OUT_PER_NODE,
        MAX_IN_PER_NODE,
        MAX_SYNCS,
        MAX_PER_GROUP,
        ON_FAILURE,
        REPLANS,
        MAX_DURATION,
        UNTIL,
        BANDWIDTH,
        SYNC_RATE,
        DURATIONS_FROM,
        NO_CONFIG,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[],
};

/// Does what the options ask for.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard().with_colours(options.colour);
    metered(SPEC.name, &options, &mut output, by_status, |output| balance_or_resume(&options, output))
}

fn balance_or_resume(options: &Options, output: &mut Output) -> anyhow::Result<ExitStatus> {
    pacemaker::check(options)?;
    let status = if let Some(journal) = &options.execution.resume {
        execution::resume(&execute::undertaking(options), journal, output)
    } else {
        // before the cluster is asked
        run::Groups::of(options)?;
        deep::check(options)?;
        // neither makes a plan
        let others = [("explain", !options.explain.is_empty()), ("pareto", options.pareto)];
        others.iter().try_for_each(|other| one_form(&[("report", options.report.is_some()), *other]))?;
        execution::check_pace(options)?;
        if !pacemaker::is_named(options) {
            ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
        }
        ahead::files(options, &["original", "balanced"])?;
        let LoadedCluster { cluster, cib } = pacemaker::load(options, ClusterUse::Moving, output)?;
        match (options.explain.is_empty(), cib) {
            (true, None) => balance(options, cluster, None, output),
            (true, Some(cib)) => balance_pacemaker(options, cluster, &cib, output),
            (false, _) => explain::run(options, cluster, output),
        }
    }?;
    output.flush()?;
    Ok(status)
}

fn balance(
    options: &Options,
    cluster: Cluster,
    cib: Option<&CibOrigin>,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let plan = |cluster, output: &mut Output| run::run(options, cluster, cib, output);
    execution::plan_and_execute(&execute::undertaking(options), cluster, plan, output)
}

/// Makes a plan first, as Ganeti's job client is not asked to carry it out.
fn balance_pacemaker(
    options: &Options,
    cluster: Cluster,
    cib: &CibOrigin,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let mut planning = options.clone();
    planning.execution.exec = false;
    let status = balance(&planning, cluster, Some(cib), output)?;
    match options.execution.exec && status == ExitStatus::Success {
        true => cib.carry_out(options, output),
        false => Ok(status),
    }
}

#[cfg(test)]
mod tests;
