//! `hbal`: balances node groups, repairs violations, or empties nodes.

mod balanced;
mod deep;
mod execute;
mod explain;
mod others;
mod outlook;
mod page;
mod pay_back;
mod run;
mod scope;
mod search;
mod several;
mod steady;
mod views;
mod without;

use std::ops::ControlFlow;
use std::time::Duration;

use self::pay_back::PAY_BACK;
use self::steady::{Act, STEADY, SteadyOptions, SteadyRun, Verdict};
use self::views::print_document;
use super::cli::option::ArgumentKind;
use super::cli::{Heading, OptionDef, Spec, example};
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::measured::MEASURED;
use super::options::pace::*;
use super::options::*;
use super::output::Output;
use super::pacemaker::{CibOrigin, ClusterUse, LoadedCluster};
use super::{ExitStatus, ahead, execution, pacemaker};
use crate::model::{Cluster, Mib};
use crate::report::balance::plan::json::EndingView;
use crate::search::BalanceOptions;
use crate::search::moves::MoveRules;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HbalOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    pub balance: BalanceOptions,
    pub deep: DeepChoices,
    pub cib: CibOptions,
    pub first_job_group: bool,
    pub worst_group: bool,
    pub all_groups: bool,
    /// In the order given.
    pub explain: Vec<String>,
    pub pareto: bool,
    /// True if `--pareto` draws an SVG picture.
    pub svg: bool,
    /// `--prices`: show the price of each step.
    pub prices: bool,
    /// `--without-step`: numbers of steps, from 1.
    pub without_steps: Vec<usize>,
    pub max_moves: Option<u64>,
    pub max_data: Option<Mib>,
    /// `--min-move-gain`: minimum gain in score for each moved instance.
    pub least_gain: Option<f64>,
    pub repair_only: bool,
    /// True if an instance that the plan would move twice moves only once.
    pub merge: bool,
    /// `--evacuate`: the nodes, as typed.
    pub emptied: Vec<String>,
    pub steady: SteadyOptions,
    /// `--pay-back`
    pub pay_back: Option<Duration>,
}

tool_options!(HbalOptions {
    execution: ExecutionOptions, limits: LimitOptions, balance: BalanceOptions, balance.rules: MoveRules,
    deep: DeepChoices, cib: CibOptions
} const SHARES_STEPS: bool = true;);

impl HbalOptions {
    /// Returns true if hbal fixes violations or empties nodes instead of balancing.
    fn mends(&self) -> bool {
        self.repair_only || !self.emptied.is_empty()
    }

    /// Returns true if the prices of steps are shown.
    fn wants_prices(&self) -> bool {
        self.prices || self.output.json || self.output.report.is_some()
    }

    /// Returns true if hbal searches all moves together instead of step by step.
    fn is_deep(&self) -> bool {
        self.deep.asked || self.pareto
    }
}

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HbalOptions> = Spec {
    name: "hbal",
    summary: "balance the instances of a node group over its nodes",
    forms: &["[OPTION...]"],
    examples: &[
        example("hbal -L -C", "show the plan and its commands"),
        example("hbal -L --evacuate node3", "plan how to empty node3"),
        example("hbal -L --deep --max-moves 20 -X", "carry out the best plan of at most 20 moves"),
    ],
    options: &[
        &[PRINT_NODES, PRINT_INSTANCES, PRINT_COMMANDS],
        &TEXT_DATA,
        &EVAC_MODE,
        &RESTRICTED_MIGRATION,
        &MASTER,
        &RAPI_ACCESS,
        &[LUXI, IALLOC_SRC],
        &[XML_FILE, LIVE.rare(), SKIP_UNSUPPORTED, ALLOW_RESTARTS, COMMANDS_FORM],
        &EXEC_ANYWHERE,
        &OptionDef::<HbalOptions>::flag(
            "first-job-group",
            "keep only the first jobset, the steps that can start at once",
            |o| o.first_job_group = true,
        ),
        &REASON,
        &GROUP,
        &OptionDef::<HbalOptions>::added_flag(
            "worst-group",
            "balance the worst group that can be improved",
            |o| o.worst_group = true,
        )
        .more("All node groups are scored."),
        &OptionDef::<HbalOptions>::added_flag("all-groups", "balance every node group, in one plan", |o| {
            o.all_groups = true
        })
        .common(),
        &MAX_LENGTH,
        &[VERBOSE, QUIET, OFFLINE, STATIC_KVM_NODE_MEMORY],
        &MIN_SCORE,
        &[MAX_CPU, MIN_DISK, KEEP_RESERVE, KEEP_ROOM],
        &[MIN_GAIN, MIN_GAIN_LIMIT],
        &NO_DISK_MOVES,
        &SELECT_INSTANCES,
        &[NO_INSTANCE_MOVES, IGNORE_SOFT_ERRORS],
        &[DYNU_FILE, IGNORE_DYNU, MOND, MOND_DATA, EXIT_ON_MISSING_MOND_DATA, MOND_XEN, EXCLUSION_TAGS],
        &MEASURED,
        &EXCLUDE_INSTANCES,
        &EXCLUSIONS,
        &SAVE,
        &PRIORITY,
        &[SIMULATE, WEIGHTS, AFFINITY_WEIGHT],
        &[JSON, METRICS, REPORT, SUMMARY, COLOUR],
        &OptionDef::<HbalOptions>::addition("explain", "show every target of INSTANCE, with score or rule")
            .more("The rule is the one that forbids the target. May be repeated.")
            .under(Heading::Output)
            .takes("INSTANCE", ArgumentKind::None, |o, g| {
                g.string().map(|instance| o.explain.push(instance))
            }),
        &OptionDef::<HbalOptions>::added_flag(
            "prices",
            "show for each step how much worse the score is without it",
            |o| o.prices = true,
        )
        .more("With --pareto, for each move of the chosen placement.")
        .under(Heading::Output),
        &OptionDef::<HbalOptions>::addition("without-step", "leave out step N of this plan, and plan anew")
            .more(
                "N is its number in the plan without this option. Its instance stays where it is. \
                 May be repeated.",
            )
            .under(Heading::Limits)
            .takes("N", ArgumentKind::Integer, |o, g| some(g).map(|number| o.without_steps.push(number))),
        &DEEP,
        &OptionDef::<HbalOptions>::addition("max-moves", "move at most N instances, with --deep")
            .under(Heading::Limits)
            .takes("N", ArgumentKind::Integer, |o, g| count(g).map(|most| o.max_moves = Some(most))),
        &OptionDef::<HbalOptions>::addition(
            "max-data",
            "copy and migrate at most SIZE, such as 500g, with --deep",
        )
        .more("Disks and memory count together.")
        .under(Heading::Limits)
        .takes("SIZE", ArgumentKind::Text, |o, g| size(g).map(|most| o.max_data = Some(most))),
        &OptionDef::<HbalOptions>::addition(
            "min-move-gain",
            "least gain in score that each move must bring, with --deep",
        )
        .formerly("move-cost")
        .otherwise("a tenth of the average gain; 0 with a limit")
        .under(Heading::Limits)
        .takes("SCORE", ArgumentKind::Float, |o, g| not_negative(g).map(|gain| o.least_gain = Some(gain))),
        &OptionDef::<HbalOptions>::added_flag(
            "pareto",
            "show what each number of moves would bring, without a plan",
            |o| o.pareto = true,
        )
        .more("With --deep."),
        &OptionDef::<HbalOptions>::added_flag("svg", "draw --pareto as an SVG picture", |o| o.svg = true)
            .under(Heading::Output),
        &EFFORT,
        &OptionDef::<HbalOptions>::added_flag("repair-only", "fix violations with the fewest moves", |o| {
            o.repair_only = true
        })
        .more("They are instances on offline nodes, N+1, tags, locations and policies. Nothing else moves.")
        .common(),
        &OptionDef::<HbalOptions>::addition("evacuate", "empty NODE, and move nothing else")
            .more("Primaries and secondaries leave it. May be repeated.")
            .common()
            .takes("NODE", ArgumentKind::OneNode, |o, g| g.string().map(|node| o.emptied.push(node))),
        &OptionDef::<HbalOptions>::added_flag(
            "merge",
            "move an instance once where the plan would move it twice",
            |o| o.merge = true,
        )
        .more("The end is the same. There must be an order of steps for it."),
        &OptionDef::<HbalOptions>::added_flag(
            "allow-interruptions",
            "stop an instance to break a cycle of waiting moves",
            |o| o.balance.concessions.interruptions = true,
        )
        .more("With --deep, --merge, --repair-only or --evacuate.")
        .under(Heading::Limits),
        &OptionDef::<HbalOptions>::added_flag(
            "allow-overcommit-during-migration",
            "let a node exceed its memory briefly to break such a cycle",
            |o| o.balance.concessions.overcommit = true,
        )
        .more("With the same options. The next instance leaves the node then.")
        .under(Heading::Limits),
        &STEADY,
        &PAY_BACK,
        &TIME_LIMIT,
        &[YES, JOURNAL, RESUME, JSON_EVENTS, PRINT_PLAN, SAVE_PLAN],
        &STREAMING,
        &[ON_FAILURE, REPLANS],
        &WINDOW,
        &SPEEDS,
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
};

pub(crate) fn run(mut options: HbalOptions) -> anyhow::Result<ExitStatus> {
    if options.steady.condition.is_some() {
        // The present load decides, and the forecast only chooses targets.
        options.steady.forecast = options.load.measured.forecast.take();
    }
    let mut output = Output::standard().with_colours(options.output.colour);
    let cluster = pacemaker::label(&options.load, &options.cib);
    metered(SPEC.name, &options.output, cluster, &mut output, by_status, |output| {
        balance_or_resume(&options, output)
    })
}

fn balance_or_resume(options: &HbalOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    pacemaker::check(&options.cib, &options.load, Some(&options.execution), &options.output)?;
    let without = ("without-step", !options.without_steps.is_empty());
    one_form(&[without, ("resume", options.execution.resume.is_some())])?;
    let status = if let Some(journal) = &options.execution.resume {
        execution::resume(&execute::context(options), journal, output)
    } else {
        // before the cluster is read
        run::Groups::of(options)?;
        deep::check(options)?;
        steady::check(options)?;
        pay_back::check(options)?;
        // neither makes a plan
        let others = [("explain", !options.explain.is_empty()), ("pareto", options.pareto)];
        others
            .iter()
            .try_for_each(|other| one_form(&[("report", options.output.report.is_some()), *other]))?;
        let explain = ("explain", !options.explain.is_empty());
        one_form(&[without, explain])?;
        one_form(&[("prices", options.prices), explain])?;
        let as_json = options.output.json && options.execution.prints_document();
        let plan = ("print-plan", options.execution.print_plan.is_some());
        one_form(&[plan, ("json", as_json), ("pareto", options.pareto)])?;
        execution::check_pace(&options.execution, &options.output)?;
        if !options.cib.is_named() {
            ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
        }
        ahead::files(&options.output, &["original", "balanced"])?;
        let LoadedCluster { cluster, cib } =
            pacemaker::load(&options.load, &options.cib, ClusterUse::Moving, output)?;
        match (options.explain.is_empty(), cib) {
            (true, None) => balance(options, cluster, None, output),
            (true, Some(cib)) => balance_pacemaker(options, cluster, &cib, output),
            (false, _) => {
                let mut cluster = cluster;
                SteadyRun::of(options, output)?.prepare(options, &mut cluster);
                explain::run(options, cluster, output)
            }
        }
    }?;
    output.flush()?;
    Ok(status)
}

fn balance(
    options: &HbalOptions,
    cluster: Cluster,
    cib: Option<&CibOrigin>,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let past = SteadyRun::of(options, output)?;
    let mut cluster = cluster;
    if options.pay_back.is_some() || !options.without_steps.is_empty() {
        past.prepare(options, &mut cluster);
    }
    let (options, cluster) = without::steps_left_out(options, cluster, output)?;
    let (options, cluster) = pay_back::unpaid_left_out(options, cluster, output)?;
    let Some(_turn) = past.turn(&options, output)? else { return Ok(ExitStatus::Success) };
    let mut decided: Option<(HbalOptions, Act)> = None;
    let plan = |mut cluster: Cluster, output: &mut Output| {
        past.prepare(&options, &mut cluster);
        let (acting, act) = match &decided {
            Some(acting) => acting,
            None => match past.decide(&options, &cluster, output)? {
                Verdict::Act(act) => decided.insert((act.limited(&options), act)),
                Verdict::Leave(status) => {
                    let document = run::document_without_plan(&options, &cluster, EndingView::NotNow);
                    print_document(document, output)?;
                    return Ok(ControlFlow::Break(status));
                }
            },
        };
        act.tolerate_others(&mut cluster);
        let cluster = act.by_forecast(acting, cluster, output)?;
        run::run(acting, cluster, cib, output)
    };
    execution::plan_and_execute(&execute::context(&options), cluster, plan, output)
}

/// Makes a plan first, as Ganeti's job client is not asked to carry it out.
fn balance_pacemaker(
    options: &HbalOptions,
    cluster: Cluster,
    cib: &CibOrigin,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let mut planning = options.clone();
    planning.execution.exec = false;
    let status = balance(&planning, cluster, Some(cib), output)?;
    if options.execution.exec && status == ExitStatus::Success {
        cib.carry_out(&options.execution, output)
    } else {
        Ok(status)
    }
}

#[cfg(test)]
mod tests;
