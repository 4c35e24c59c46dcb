//! `hsqueeze`: powers down nodes that are not needed, and powers them up again when they are.

mod approved;
mod commands;
mod execute;
mod interruptions;
mod planning;
mod run;
mod squeeze_run;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use self::planning::Planning;
use super::cli::option::ArgumentKind::{File, Float, Integer, Text};
use super::cli::value::shown_time;
use super::cli::{Given, Heading, OptionDef, Spec, ValueError, example};
use super::kept_room;
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::measured::MEASURED;
use super::options::pace::*;
use super::options::*;
use super::output::Output;
use super::pacemaker::{ClusterUse, LoadedCluster};
use super::{ExitStatus, ahead, execution, pacemaker};
use crate::load::merge::apply_exclusions;
use crate::search::moves::MoveRules;
use crate::search::squeeze::Reach;
use crate::tools::execution::ApprovedPlan;

/// The reserve that is asked for unless the command line says otherwise.
const RESOURCES: f64 = 2.0;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HsqueezeOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    pub rules: MoveRules,
    pub cib: CibOptions,
    /// `--minimal-resources`
    pub minimal: Option<f64>,
    /// `--target-resources`
    pub target: Option<f64>,
    pub reach: Reach,
    pub max_nodes: Option<usize>,
    /// Bound the number of nodes that stay on.
    pub proof: bool,
    /// Look for plans that leave fewer nodes on.
    pub deep: bool,
    pub cooldown: Duration,
    pub standby_data: Option<PathBuf>,
    /// `htools apply`: the approved plan.
    pub approved: Option<ApprovedPlan>,
}

tool_options!(HsqueezeOptions {
    execution: ExecutionOptions,
    limits: LimitOptions,
    rules: MoveRules,
    cib: CibOptions
} const SHARES_STEPS: bool = true;);

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HsqueezeOptions> = Spec {
    name: "hsqueeze",
    summary: "power nodes down that are not needed, and up again when they are",
    forms: &["[OPTION...]"],
    examples: &[
        example("hsqueeze -L --drbd", "show which nodes could be powered down, with DRBD"),
        example("hsqueeze -L --deep --proof", "show the fewest nodes that can stay on, and a bound"),
        example("hsqueeze -L -X --max-nodes 2", "switch at most two nodes now"),
    ],
    options: &[
        &[LUXI, MASTER.added()],
        &RAPI_ACCESS,
        &[TEXT_DATA, IALLOC_SRC.added()],
        &[XML_FILE, LIVE, SKIP_UNSUPPORTED, ALLOW_RESTARTS, COMMANDS_FORM],
        &SIMULATE,
        &EXEC_ANYWHERE,
        &OptionDef::<HsqueezeOptions>::new(
            "minimal-resources",
            "bring nodes up below room for FACTOR instances",
        ).more("A node that has room for fewer standard instances than that is too little.").common()
        .takes("FACTOR", Float, |o, g| g.float().map(|factor| o.minimal = Some(factor)))
        .default(|o| format!("{}, or --target-resources if that is less", o.minimal())),
        &OptionDef::<HsqueezeOptions>::new(
            "target-resources",
            "keep room for FACTOR instances on other nodes",
        ).more("It is for standard instances, and holds when nodes are freed.").common()
        .takes("FACTOR", Float, |o, g| g.float().map(|factor| o.target = Some(factor)))
        .default(|o| format!("{}, or --minimal-resources if that is more", o.target())),
        &OptionDef::<HsqueezeOptions>::added_flag("drbd", "move DRBD instances, too", |o| {
            o.reach = o.reach.max(Reach::Drbd)
        }).more("Nodes that have them are freed, too.").common(),
        &OptionDef::<HsqueezeOptions>::added_flag("all", "move all instances, also where that stops them", |o| {
            o.reach = Reach::All
        }).more("They are DRBD instances, and those with disks on one node only, which are stopped while their disks are copied.").common(),
        &GROUP.says("plan for the node group with this name or UUID").added(),
        &OptionDef::<HsqueezeOptions>::addition("max-nodes", "switch at most N nodes in this run").under(Heading::Limits).common()
            .takes("N", Integer, |o, g| most_nodes(g).map(|most| o.max_nodes = Some(most))),
        &TIME_LIMIT.says("end the search after SECONDS, with a plan of what was found"),
        &OptionDef::<HsqueezeOptions>::addition(
            "cooldown",
            "leave nodes alone that were switched less than TIME ago",
        ).more("TIME is such as 90m, 6h or 2d.").under(Heading::Limits)
        .takes("TIME", Text, |o, g| g.time().map(|time| o.cooldown = time))
        .default(|o| shown_time(o.cooldown)),
        &KEEP_ROOM.more("ROOM is as for hbal. No node is powered down if less room would be left."),
        &NO_CAPACITY_CHECKS
            .says("skip the check that each node can be emptied (global N+1)").more("hsqueeze then accepts that a node cannot be emptied, now or when the reserve is used.")
            .added(),
        &IGNORE_SOFT_ERRORS
            .says("switch nodes even if tag, location or policy conflicts get worse")
            .added(),
        &RESTRICTED_MIGRATION.added(),
        &[EXCLUDE_INSTANCES.added(), EXCLUSION_TAGS.added(), DYNU_FILE.added(), IGNORE_DYNU.added()],
        &EXCLUSIONS,
        &MEASURED,
        &[MOND.added(), MOND_DATA.added(), MOND_XEN.added(), EXIT_ON_MISSING_MOND_DATA.added()],
        &OptionDef::<HsqueezeOptions>::addition(
            "standby-data",
            "read the size of nodes that are off from FILE",
        ).more("FILE is a text file that hscan wrote while they were on.").under(Heading::Cluster)
        .takes("FILE", File, |o, g| g.path().map(|path| o.standby_data = path)),
        &OptionDef::<HsqueezeOptions>::added_flag("proof", "also print how many nodes must stay on at least", |o| o.proof = true)
            .more("No plan under these rules leaves fewer nodes on. The bound ignores --max-nodes. Groups in which nodes are powered up have none."),
        &OptionDef::<HsqueezeOptions>::added_flag("deep", "search for the fewest nodes that can stay on", |o| o.deep = true)
            .more("All nodes that stay on are chosen at once, and the instances are packed on them. The rules are the same, and never more nodes stay on than without it."),
        &[SAVE, PRINT_COMMANDS],
        &VERBOSE,
        &QUIET.says("print one line if there is something to do, and nothing otherwise").added(),
        &NO_HEADERS,
        &WEIGHTS,
        &[JSON, METRICS, REPORT, SUMMARY, COLOUR, DETAILED_STATUS],
        &[YES, POWER_COMMAND],
        &OptionDef::<ExecutionOptions>::addition(
            "boot-timeout",
            "wait at most TIME for a node that was powered on, with --exec",
        )
        .takes("TIME", Text, |o, g| g.time().map(|time| o.handling.boot = time))
        .default(|o| shown_time(o.handling.boot)),
        &[JOURNAL, RESUME, JSON_EVENTS, PRINT_PLAN, SAVE_PLAN],
        &STREAMING,
        &ON_FAILURE.says("choose what follows when a step fails, with --stream").more("stop begins no more steps; continue goes on with those that need not follow it. Other plans are not made."),
        &WINDOW,
        &SPEEDS,
        &[REASON.added(), PRIORITY.added()],
        &STATIC_KVM_NODE_MEMORY,
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
};

fn most_nodes(given: &Given) -> Result<usize, ValueError> {
    usize::try_from(given.int()?).map_err(|_| given.out_of_range("a number of nodes, 0 or more"))
}

impl HsqueezeOptions {
    /// The reserve below which nodes are brought online: as asked for; else the usual one, or the
    /// target if that is less.
    pub(crate) fn minimal(&self) -> f64 {
        self.minimal.unwrap_or_else(|| self.target.map_or(RESOURCES, |target| target.min(RESOURCES)))
    }

    /// The reserve that freeing nodes leaves.
    pub(crate) fn target(&self) -> f64 {
        self.target.unwrap_or_else(|| self.minimal().max(RESOURCES))
    }
}

pub(crate) fn run(options: HsqueezeOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard().with_colours(options.output.colour);
    let cluster = pacemaker::label(&options.load, &options.cib);
    metered(SPEC.name, &options.output, cluster, &mut output, by_status, |output| {
        plan_or_resume(&options, output)
    })
}

fn plan_or_resume(options: &HsqueezeOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    pacemaker::check(&options.cib, &options.load, Some(&options.execution), &options.output)?;
    if let Some(journal) = &options.execution.resume {
        let status = execute::resume(options, journal, output);
        output.flush()?;
        return status;
    }
    run::check_reserves(options)?;
    let planning = Planning::new(options, run::known_sizes(options)?);
    execution::check_pace(&options.execution, &options.output)?;
    execution::never_replans(SPEC.name, &options.execution)?;
    // Pacemaker clusters have no jobs and no power commands of Ganeti
    let on_ganeti = options.execution.exec && !options.cib.is_named();
    if on_ganeti {
        ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
    }
    ahead::files(&options.output, &["original", "squeezed"])?;
    let access = on_ganeti.then(|| execute::access(options)).transpose()?;
    let LoadedCluster { mut cluster, cib } =
        pacemaker::load(&options.load, &options.cib, ClusterUse::Emptying, output)?;
    apply_exclusions(&mut cluster, &options.load.nodes)?;
    kept_room::keep(&mut cluster, options.load.nodes.keep_room)?;
    kept_room::warn(&cluster, options.load.verbosity, output)?;
    run::warn_of_reserves(options, output)?;
    let result = run::run(&planning, access, &cluster, cib.as_ref(), output);
    // output before an error must not be lost
    output.flush()?;
    result
}
