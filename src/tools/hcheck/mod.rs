//! `hcheck`: the health of a cluster, before and after a trial balancing.

mod run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use anyhow::ensure;

use super::cli::getopt::Given;
use super::cli::option::ArgumentKind::{Integer, OneNode, Text};
use super::cli::{Heading, OptionDef, Program, Spec, ValueError, example, getopt};
use super::hint::Complaint;
use super::metrics::{metered, never};
use super::options::catalogue::*;
use super::options::measured::MEASURED;
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
    /// `--survive`: number of nodes that are lost at once.
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
    summary: "check the health of a cluster, before and after a trial balancing",
    forms: &["[OPTION...]"],
    examples: &[
        example("hcheck -L", "check this cluster"),
        example("hcheck -L --survive 2", "list pairs of nodes that cannot be lost"),
        example("hcheck -m @prod --monitor", "answer Nagios or Icinga"),
    ],
    options: &[
        &TEXT_DATA,
        &NO_DISK_MOVES,
        &[DYNU_FILE, IGNORE_DYNU],
        &MEASURED,
        &EVAC_MODE,
        &[EXCLUDE_INSTANCES, EXCLUSION_TAGS, IALLOC_SRC],
        &EXCLUSIONS,
        &NO_INSTANCE_MOVES,
        &LUXI,
        &MACHINE_READABLE,
        &MAX_CPU,
        &MAX_LENGTH.says("stop after N steps in each group; negative: no limit").rare(),
        &MIN_DISK,
        &[MIN_GAIN, MIN_GAIN_LIMIT, MIN_SCORE],
        &IGNORE_SOFT_ERRORS,
        &OptionDef::<HcheckOptions>::flag(
            "no-simulation",
            "check the cluster as it is, without balancing it",
            |o| o.no_simulation = true,
        ).common(),
        &OFFLINE,
        &QUIET.says("print nothing for people; may be repeated").common(),
        &MASTER,
        &RAPI_ACCESS,
        &[XML_FILE, LIVE, SKIP_UNSUPPORTED, ALLOW_RESTARTS],
        &SELECT_INSTANCES,
        &NO_CAPACITY_CHECKS.says("leave out the check that each node can be emptied (global N+1)"),
        &VERBOSE.says("undo one -q; may be repeated"),
        &SIMULATE,
        &OptionDef::<HcheckOptions>::added_flag(
            "list-problems",
            "show every problem by name",
            |o| o.list_problems = true,
        ).more("They are nodes, instances, and tags without effect.").common(),
        &OptionDef::<HcheckOptions>::addition(
            "without-node",
            "show what the loss of NODE would do",
        ).more("Nothing is checked then. Several nodes are lost together.").common()
        .takes("NODE", OneNode, |o, g| g.string().map(|node| o.without.push(node))),
        &OptionDef::<HcheckOptions>::addition(
            "survive",
            "list up to K nodes that cannot be lost at once",
        ).more("Combinations of nodes of a group are tried, and listed worst first. Nothing is checked then.").common()
        .takes("K", Integer, |o, g| at_least_one(g).map(|nodes| o.survive = Some(nodes))),
        &OptionDef::<HcheckOptions>::addition("top", "show the N worst combinations of each group, with --survive").otherwise("10").under(Heading::Output)
            .takes("N", Integer, |o, g| at_least_one(g).map(|most| o.top = Some(most))),
        &OptionDef::<HcheckOptions>::added_flag(
            "monitor",
            "print one line for Nagios or Icinga",
            |o| o.monitor = true,
        ).more("What to do follows it. The status is 0 (OK), 1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN).").common(),
        &OptionDef::<HcheckOptions>::addition(
            "severity",
            "severity of a kind of problem, with --monitor; may be repeated",
        ).more("Such as n1_failing=critical.").otherwise("offline_primary=critical, others warning").under(Heading::Output)
        .takes("KIND=SEVERITY", Text, set_severity),
        &DEEP.says("balance as hbal --deep does, not step by step").rare(),
        &EFFORT,
        &WEIGHTS,
        &[JSON, METRICS, REPORT],
        &DETAILED_STATUS
            .says("end with status 2 after any error").more("1 then says that the cluster is not healthy, and nothing else.").common(),
        &TIME_LIMIT.says("end the simulation, or the search of --survive, after SECONDS"),
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
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

/// Runs the check. With `--detailed-status` anywhere on the command line, every error has the exit status of a
/// malformed command line (2). With `--monitor`, errors are printed on standard output in the form for monitoring
/// systems.
///
/// # Errors
/// The reason that the check is not possible, unless one of these options is given.
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

/// Runs the check for a monitoring system. Such systems read standard output and the exit status. They differ in their
/// use of standard error, so nothing is written there.
fn watch(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let aside = Recording::default();
    let (status, lines) = match SPEC.parse(args) {
        Err(stop) => {
            let status = stop.show(&mut aside.output())?;
            if status == ExitStatus::Success {
                // help or version
                let mut output = Output::standard();
                aside.replay(&mut output)?;
                output.flush()?;
                return Ok(status);
            }
            (ExitStatus::Unknown, monitor::unknown(&aside.text()))
        }
        Ok(options) => match monitored(&options, &aside) {
            Ok(answer) => answer,
            Err(error) => (ExitStatus::Unknown, monitor::unknown(&Complaint::of(&error).lines())),
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
        options.output.refuse(&["without-node", "survive"], "cannot be given with --monitor")?;
        let cluster = loaded(options, output)?;
        let found = run::find(options, &cluster, output)?;
        let worst = options.severities.worst(&found.initial.counts);
        // contradictory data prove nothing, but a critical problem in them may be real
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
        options.output.refuse(&["effort"], "needs --deep")?;
    }
    ensure!(
        options.monitor || options.severities == Severities::default(),
        "option --severity needs --monitor"
    );
    match options.survive {
        None => options.output.refuse(&["top"], "needs --survive")?,
        Some(_) => {
            one_form(&[("survive", true), ("without-node", !options.without.is_empty())])?;
            options.output.refuse(&["metrics"], "cannot be given with --survive")?;
        }
    }
    ensure!(
        options.output.report.is_none() || (options.survive.is_none() && !options.monitor),
        "option --report cannot be given with --survive or --monitor"
    );
    Ok(())
}

fn loaded(options: &HcheckOptions, output: &mut Output) -> anyhow::Result<Cluster> {
    pacemaker::check(&options.cib, &options.load, None, &options.output)?;
    let mut cluster = pacemaker::load(&options.load, &options.cib, ClusterUse::Moving, output)?.cluster;
    apply_node_options(&mut cluster, &options.load.nodes)?;
    Ok(cluster)
}

pub(crate) fn run(options: HcheckOptions) -> anyhow::Result<ExitStatus> {
    let output = &mut Output::standard();
    metered(SPEC.name, &options.output, label(&options), output, never, |output| look(&options, output))
}

/// Name of the cluster in metrics.
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
