//! `hcheck`: whether a cluster is healthy, and whether balancing would make it so.

mod run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use anyhow::ensure;

use super::cli::getopt::Given;
use super::cli::option::ArgumentKind::{Integer, OneNode, Text};
use super::cli::{OptionDef, Program, Spec, ValueError, getopt};
use super::metrics::{metered, never};
use super::options::catalogue::*;
use super::options::*;
use super::output::{Output, Recording, reader_is_gone};
use super::pacemaker::ClusterUse;
use super::{ExitStatus, ahead, complain, pacemaker};
use crate::load::merge::apply_node_options;
use crate::model::Cluster;
use crate::report::check::monitor;
use crate::search::BalanceOptions;
use crate::search::health::{ProblemKind, Severities, Severity};
use crate::search::moves::MoveRules;

/// What hcheck is asked to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HcheckOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub limits: LimitOptions,
    pub balance: BalanceOptions,
    pub deep: DeepChoices,
    pub cib: CibOptions,
    pub no_simulation: bool,
    pub list_problems: bool,
    /// `--without-node`, in the order given.
    pub without: Vec<String>,
    /// `--survive`: how many nodes are lost at once.
    pub survive: Option<usize>,
    /// `--top`
    pub top: Option<usize>,
    pub monitor: bool,
    /// `--severity`
    pub severities: Severities,
}

tool_options!(HcheckOptions {
    limits: LimitOptions, balance: BalanceOptions, balance.rules: MoveRules, deep: DeepChoices,
    cib: CibOptions
});

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HcheckOptions> = Spec {
    name: "hcheck",
    summary: "check the health of a cluster, before and after balancing it on trial",
    forms: &["[OPTION...]"],
    options: &[
        &TEXT_DATA,
        &NO_DISK_MOVES,
        &[DYNU_FILE, IGNORE_DYNU],
        &EVAC_MODE,
        &[EXCLUDE_INSTANCES, EXCLUSION_TAGS, IALLOC_SRC],
        &NO_INSTANCE_MOVES,
        &LUXI,
        &MACHINE_READABLE,
        &MAX_CPU,
        &MAX_LENGTH.says("stop after N steps in each group; a negative number sets no limit"),
        &MIN_DISK,
        &[MIN_GAIN, MIN_GAIN_LIMIT, MIN_SCORE],
        &IGNORE_SOFT_ERRORS,
        &OptionDef::<HcheckOptions>::flag(
            "no-simulation",
            "look at the cluster as it is, without balancing it on trial",
            |o| o.no_simulation = true,
        ),
        &OFFLINE,
        &QUIET.says("print nothing for people; may be repeated"),
        &MASTER,
        &RAPI_ACCESS,
        &[XML_FILE, LIVE, SKIP_UNSUPPORTED, ALLOW_RESTARTS],
        &SELECT_INSTANCES,
        &NO_CAPACITY_CHECKS.says("leave out whether each node could be emptied (global N+1)"),
        &VERBOSE.says("undo one -q; may be repeated"),
        &SIMULATE,
        &OptionDef::<HcheckOptions>::added_flag(
            "list-problems",
            "show every problem by name, too: nodes, instances, tags without effect",
            |o| o.list_problems = true,
        ),
        &OptionDef::<HcheckOptions>::addition(
            "without-node",
            "tell what would become of the instances if NODE were lost, instead of checking; several nodes are lost together",
        )
        .takes("NODE", OneNode, |o, g| g.string().map(|node| o.without.push(node))),
        &OptionDef::<HcheckOptions>::addition(
            "survive",
            "tell which combinations of up to K nodes of a group could not be lost at once, the worst first, instead of checking",
        )
        .takes("K", Integer, |o, g| at_least_one(g).map(|nodes| o.survive = Some(nodes))),
        &OptionDef::<HcheckOptions>::addition("top", "with --survive, show the N worst combinations of each group [10]")
            .takes("N", Integer, |o, g| at_least_one(g).map(|most| o.top = Some(most))),
        &OptionDef::<HcheckOptions>::added_flag(
            "monitor",
            "print one line as Nagios and Icinga read it, then what to do, and end with status 0 (OK), 1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN)",
            |o| o.monitor = true,
        ),
        &OptionDef::<HcheckOptions>::addition(
            "severity",
            "with --monitor, how grave a kind of problem is, such as n1_failing=critical; may be repeated [offline_primary=critical, all others warning]",
        )
        .takes("KIND=SEVERITY", Text, set_severity),
        &DEEP.says("on trial, look for the best placement, as hbal --deep does, not for one step after the other"),
        &EFFORT,
        &WEIGHTS,
        &[JSON, METRICS, REPORT],
        &DETAILED_STATUS
            .says("end with status 2 after any error, so that 1 means only that the cluster is not healthy"),
        &TIME_LIMIT.says("end the simulation, or the search of --survive, once SECONDS have passed, with what is found by then"),
        &LAST,
    ],
    words: &[],
};

/// Reads one value of `--severity`.
fn set_severity(options: &mut HcheckOptions, given: &Given) -> Result<(), ValueError> {
    let text = given.text()?;
    let (kind, severity) = text.split_once('=').unwrap_or((text, ""));
    let kind =
        kind.parse().map_err(|_| given.no_word_of("kind of problem", kind, ProblemKind::WORDS.to_vec()))?;
    let severity =
        severity.parse().map_err(|_| given.no_word_of("severity", severity, Severity::WORDS.to_vec()))?;
    options.severities.set(kind, severity);
    Ok(())
}

/// Checks what the words ask for. With `--detailed-status`, wherever it stands, every error has the exit
/// status of a malformed command line; with `--monitor`, it is a line on standard output that says so.
///
/// # Errors
/// What keeps the check from being made, unless one of those options is given.
pub(crate) fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let given = getopt::canonicalise(&SPEC.options(), args).options;
    let is_given = |long: &str| given.iter().any(|given| given.option.long == long);
    if is_given("monitor") {
        return watch(args);
    }
    let detailed = is_given(DETAILED_STATUS.shape.long);
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

/// Checks for a monitoring system, which reads standard output and the exit status, and takes what is on
/// standard error for either more or less of it: nothing is written there.
fn watch(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let aside = Recording::default();
    let (status, lines) = match SPEC.parse(args) {
        Err(stop) => {
            let status = stop.show(&mut aside.output())?;
            if status == ExitStatus::Success {
                // the help, or the version
                let mut output = Output::standard();
                aside.replay(&mut output)?;
                output.flush()?;
                return Ok(status);
            }
            (ExitStatus::Unknown, monitor::unknown(&aside.text()))
        }
        Ok(options) => match monitored(&options, &aside) {
            Ok(answer) => answer,
            Err(error) => (ExitStatus::Unknown, monitor::unknown(&format!("{error:#}"))),
        },
    };
    let mut output = Output::standard();
    lines.iter().try_for_each(|line| output.line(line))?;
    output.flush()?;
    Ok(status)
}

/// The lines for a monitoring system, and the status. Warnings of the source come last.
fn monitored(options: &HcheckOptions, aside: &Recording) -> anyhow::Result<(ExitStatus, Vec<String>)> {
    let mut lines = Vec::new();
    let status = metered(SPEC.name, &options.output, label(options), &mut aside.output(), never, |output| {
        one_form(&[
            ("monitor", options.monitor),
            ("json", options.output.json),
            ("machine-readable", options.output.machine_readable),
        ])?;
        check_together(options)?;
        options.output.refuse(&["without-node", "survive"], "with --monitor")?;
        let cluster = loaded(options, output)?;
        let found = run::find(options, &cluster, output)?;
        let worst = options.severities.worst(&found.initial.counts);
        // figures that cannot be true prove nothing, but what they show as critical may be so
        if let Some(doubt) = cluster.doubts.first().filter(|_| worst != Severity::Critical) {
            lines = monitor::unknown(&format!("the data cannot be true: {doubt}"));
            return Ok(ExitStatus::Unknown);
        }
        lines = monitor::lines(&found, &cluster, &options.severities);
        Ok(ExitStatus::Monitored(worst))
    })?;
    lines.extend(monitor::remarks(&aside.text()));
    Ok((status, lines))
}

fn check_together(options: &HcheckOptions) -> anyhow::Result<()> {
    if !options.deep.asked {
        options.output.refuse(&["effort"], "without --deep")?;
    }
    ensure!(
        options.monitor || options.severities == Severities::default(),
        "option --severity means nothing without --monitor"
    );
    match options.survive {
        None => options.output.refuse(&["top"], "without --survive")?,
        Some(_) => {
            one_form(&[("survive", true), ("without-node", !options.without.is_empty())])?;
            options.output.refuse(&["metrics"], "with --survive")?;
        }
    }
    ensure!(
        options.output.report.is_none() || (options.survive.is_none() && !options.monitor),
        "option --report means nothing with --survive and --monitor"
    );
    Ok(())
}

fn loaded(options: &HcheckOptions, output: &mut Output) -> anyhow::Result<Cluster> {
    pacemaker::check(&options.cib, &options.load, None, &options.output)?;
    let mut cluster = pacemaker::load(&options.load, &options.cib, ClusterUse::Moving, output)?.cluster;
    apply_node_options(&mut cluster, &options.load.nodes)?;
    Ok(cluster)
}

/// Does what the options ask for.
pub(crate) fn run(options: HcheckOptions) -> anyhow::Result<ExitStatus> {
    let output = &mut Output::standard();
    metered(SPEC.name, &options.output, label(&options), output, never, |output| look(&options, output))
}

/// What the cluster is called in metrics.
fn label(options: &HcheckOptions) -> String {
    pacemaker::label(&options.load, &options.cib)
}

fn look(options: &HcheckOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    one_form(&[("json", options.output.json), ("machine-readable", options.output.machine_readable)])?;
    check_together(options)?;
    ahead::files(&options.output, &[])?;
    let cluster = loaded(options, output)?;
    let status = match options.survive {
        Some(nodes) => run::survival(options, nodes, &cluster, output),
        None if options.without.is_empty() => run::check(options, &cluster, output),
        None => run::loss(options, &cluster, output),
    }?;
    output.flush()?;
    Ok(status)
}
