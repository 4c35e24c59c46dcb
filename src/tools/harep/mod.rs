//! `harep`: repairs broken instances, as far as tags allow it.

mod log;
mod run;
#[cfg(test)]
mod tests;

use anyhow::{anyhow, ensure};

use self::run::RepairRun;
use super::cli::option::ArgumentKind::{Float, Integer, OneNode};
use super::cli::{Given, OptionDef, Spec, ValueError, example};
use super::execution::takes_jobs;
use super::hint::WithHint;
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::{ExecutionOptions, LoadOptions, OutputOptions, not_negative, tool_options};
use super::output::Output;
use super::{ExitStatus, source};

/// Default delay before the repair in its job, in seconds.
const JOB_DELAY: f64 = 10.0;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HarepOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub repairs: RepairLimits,
    /// Delay before the repair in its job, in seconds; none for the default.
    pub job_delay: Option<f64>,
    pub dry_run: bool,
    pub no_disk_check: bool,
    /// `--simulate-failure`, in the order given.
    pub failing: Vec<String>,
}

tool_options!(HarepOptions { execution: ExecutionOptions });

/// Limits on the number of repairs and of attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RepairLimits {
    /// `--limit`: maximum number of repairs under way.
    pub all: Option<usize>,
    /// `--max-per-node`: maximum number of repairs under way on one node.
    pub per_node: Option<usize>,
    /// `--backoff`: number of attempts before a failed repair is suspended; none for 1.
    pub most_failures: Option<u32>,
}

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HarepOptions> = Spec {
    name: "harep",
    summary: "repair broken instances, as far as tags allow it",
    forms: &["[OPTION...]"],
    examples: &[
        example("harep -L --dry-run", "show which repairs are due"),
        example("harep -L --simulate-failure node3", "show what would be repaired if node3 died"),
        example("harep -L -q --limit 5", "repair from cron, at most 5 at a time"),
    ],
    options: &[
        &[LUXI, MASTER.added()],
        &RAPI_ACCESS,
        &TEXT_DATA.added(),
        &OptionDef::<HarepOptions>::new(
            "job-delay",
            "wait SECONDS in the job of a repair, while its tag is written",
        )
        .takes("SECONDS", Float, |o, g| not_negative(g).map(|seconds| o.job_delay = Some(seconds)))
        .default(|o| o.job_delay().to_string()),
        &REASON,
        &OptionDef::<HarepOptions>::flag("dry-run", "change nothing, show what would be done", |o| o.dry_run = true).common(),
        &OptionDef::<HarepOptions>::addition(
            "simulate-failure",
            "show what would be done if NODE died now",
        ).more("Several nodes die together. Nothing is changed.").common()
        .takes("NODE", OneNode, |o, g| g.string().map(|node| o.failing.push(node))),
        &OptionDef::<HarepOptions>::addition("limit", "have at most N repairs under way").more("What is urgent comes first.").common()
            .takes("N", Integer, |o, g| most(g).map(|most| o.repairs.all = Some(most))),
        &OptionDef::<HarepOptions>::addition("max-per-node", "have at most N of them under way on a node").common()
            .takes("N", Integer, |o, g| most(g).map(|most| o.repairs.per_node = Some(most))),
        &OptionDef::<HarepOptions>::addition(
            "backoff",
            "try a failed repair N times in all, then suspend it by a tag",
        ).more("Each pause is longer than the one before.")
        .takes("N", Integer, |o, g| {
            attempts(g).map(|attempts| o.repairs.most_failures = Some(attempts))
        })
        .default(|o| o.repairs.most_failures.unwrap_or(1).to_string()),
        &OptionDef::<HarepOptions>::added_flag("no-disk-check", "skip the disks of running instances", |o| {
            o.no_disk_check = true
        }).more("Otherwise nodes are asked about them.").common(),
        &JOURNAL.says("write what is done to FILE, one JSON object a line").more("FILE must not exist.").otherwise("a file in the user's state directory"),
        &VERBOSE.says("say why, too; may be repeated").common().added(),
        &QUIET.says("print only what changes, for cron").common().added(),
        &WEIGHTS,
        &[JSON, METRICS],
        &DETAILED_STATUS.says(
            "end with status 3 or 4 where not all is well",
        ).more("3: something is broken that is not being repaired; 4: repairs are under way or have just ended; 0: all is well.").common(),
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
};

fn most(given: &Given) -> Result<usize, ValueError> {
    let most = usize::try_from(given.int()?).ok().filter(|most| *most > 0);
    most.ok_or_else(|| given.out_of_range("a number of repairs, 1 or more"))
}

fn attempts(given: &Given) -> Result<u32, ValueError> {
    let attempts = u32::try_from(given.int()?).ok().filter(|attempts| (1..=20).contains(attempts));
    attempts.ok_or_else(|| given.out_of_range("a number of attempts, 1 to 20"))
}

impl HarepOptions {
    /// Seconds before a repair in its job.
    pub(crate) fn job_delay(&self) -> f64 {
        self.job_delay.unwrap_or(JOB_DELAY)
    }
}

pub(crate) fn run(mut options: HarepOptions) -> anyhow::Result<ExitStatus> {
    let source = &mut options.load.source;
    if source.rapi.is_none() && source.text_data.is_none() {
        source.luxi.get_or_insert_default();
    }
    options.dry_run |= !options.failing.is_empty();
    let (cluster, output) = (source::cluster_label(&options.load.source), &mut Output::standard());
    metered(SPEC.name, &options.output, cluster, output, by_status, |output| repair(&options, output))
}

fn repair(options: &HarepOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    if !options.dry_run && !takes_jobs(&options.load.source) {
        return Err(anyhow!("harep: repairs are possible only on LUXI or RAPI")
            .hint("use --dry-run or --simulate-failure with other data"));
    }
    ensure!(
        !options.dry_run || options.execution.journal.is_none(),
        "option --journal does not apply to --dry-run and --simulate-failure, which change nothing"
    );
    let mut run = RepairRun::begin(options)?;
    let cluster = source::load(&options.load, output)?;
    let status = run.carry_out(cluster, output);
    // output before an error must not be lost
    output.flush()?;
    status
}
