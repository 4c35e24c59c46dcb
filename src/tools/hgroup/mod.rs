//! `hgroup`: the state of node groups, and moves of instances between them.

mod execute;
mod run;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use super::cli::option::ArgumentKind::{Choices, Float};
use super::cli::{Heading, OperandWords, OptionDef, Spec, Stop, ToolCommand, example, hint};
use super::hint::{Complaint, WithHint};
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::measured::MEASURED;
use super::options::pace::*;
use super::options::*;
use super::output::Output;
use super::source::cluster_label;
use super::{ExitStatus, ahead, execution, source};
use crate::load::Detail;
use crate::model::shown::shown_name;
use crate::search::BalanceOptions;
use crate::search::groups::RegroupOptions;
use crate::search::groups::balance::GroupBalanceOptions;
use crate::search::groups::load::LoadSource;
use htools_model::words;

words!(
    /// Commands of `hgroup`.
    #[derive(Default)]
    pub GroupCommand, "command" {
        /// Show the state of the groups.
        #[default]
        Status = "status",
        Redistribute = "redistribute",
        /// Find groups that can be emptied.
        Compress = "compress",
        /// Even out load.
        Balance = "balance",
    }
);

const STATUS: &[&str] = &[GroupCommand::Status.as_str()];
const COMPRESS: &[&str] = &[GroupCommand::Compress.as_str()];
const BALANCE: &[&str] = &[GroupCommand::Balance.as_str()];
/// The commands that make plans.
const PLANS: &[&str] =
    &[GroupCommand::Redistribute.as_str(), GroupCommand::Compress.as_str(), GroupCommand::Balance.as_str()];

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HgroupOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub execution: ExecutionOptions,
    pub limits: LimitOptions,
    pub balance: BalanceOptions,
    pub deep: DeepChoices,
    pub command: GroupCommand,
    pub dot: bool,
    pub svg: bool,
    pub evacuate: bool,
    pub proof: bool,
    pub move_cost: Option<f64>,
}

tool_options!(HgroupOptions {
    execution: ExecutionOptions,
    limits: LimitOptions,
    balance: BalanceOptions,
    deep: DeepChoices
});

impl HgroupOptions {
    /// Conditions for moves between groups.
    pub(crate) fn regroup(&self) -> RegroupOptions {
        RegroupOptions {
            capacity_checks: !self.limits.no_capacity_checks,
            max_moves: usize::try_from(self.balance.max_length).ok(),
        }
    }

    /// Options of `hgroup balance`.
    pub(crate) fn group_balance(&self) -> GroupBalanceOptions {
        let load = &self.load;
        let measured = load.is_load_measured();
        GroupBalanceOptions {
            regroup: self.regroup(),
            loads: if measured && !load.merge.ignore_dynu { LoadSource::Measured } else { LoadSource::InUse },
            min_gain: self.balance.min_gain,
            min_score: self.balance.min_score,
            move_cost: self.move_cost.unwrap_or(GroupBalanceOptions::default().move_cost),
            deep: self.deep.asked,
            effort: self.deep.effort,
        }
    }
}

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HgroupOptions> = Spec {
    name: "hgroup",
    summary: "show node groups, heal them, empty them, and even out their load",
    forms: &["COMMAND [OPTION...]"],
    examples: &[
        example("hgroup status -L", "show the groups of this cluster"),
        example("hgroup redistribute -L -C", "plan the healing of weak groups"),
        example("hgroup balance -t cluster.data", "plan an even load of the groups"),
    ],
    options: &[
        &[TEXT_DATA, MASTER],
        &RAPI_ACCESS,
        &[LUXI, IALLOC_SRC, SIMULATE],
        &EXEC.only(PLANS),
        &OptionDef::<HgroupOptions>::added_flag(
            "dot",
            "draw the groups and their pools as text for Graphviz",
            |o| o.dot = true,
        )
        .under(Heading::Output)
        .only(STATUS),
        &OptionDef::<HgroupOptions>::added_flag(
            "svg",
            "draw the groups and their pools as an SVG picture",
            |o| o.svg = true,
        )
        .under(Heading::Output)
        .only(STATUS),
        &OptionDef::<HgroupOptions>::added_flag("empty-one", "plan the moves that empty one group", |o| {
            o.evacuate = true
        })
        .formerly("evacuate")
        .more("Of the groups that can be emptied it is the one with most free memory.")
        .common()
        .only(COMPRESS),
        &OptionDef::<HgroupOptions>::added_flag(
            "proof",
            "also print how many groups can be emptied at most",
            |o| o.proof = true,
        )
        .more(
            "Every group is emptied by itself. No order of departures and no choice of places empties more.",
        )
        .only(COMPRESS),
        &GROUP
            .says("empty the node group with this name or UUID")
            .more("No other group is looked at.")
            .only(COMPRESS),
        &MIN_GAIN.says("stop when no move gains DELTA").common().only(BALANCE),
        &MIN_SCORE.says("stop when the imbalance is at most EPSILON").common().only(BALANCE),
        &OptionDef::<HgroupOptions>::addition("copy-cost", "loss of gain per GiB of disk that a move copies")
            .formerly("move-cost")
            .under(Heading::Limits)
            .common()
            .takes("COST", Float, |o, g| not_negative(g).map(|cost| o.move_cost = Some(cost)))
            .default(|o| o.group_balance().move_cost.to_string())
            .only(BALANCE),
        &DEEP.says("search all moves together, not step by step").only(BALANCE),
        &EFFORT.only(BALANCE),
        &MAX_LENGTH.says("plan at most N moves; negative: no limit").only(PLANS),
        &TIME_LIMIT.says("end the search after SECONDS, with what was found").only(PLANS),
        &NO_CAPACITY_CHECKS.only(PLANS),
        &KEEP_ROOM.only(PLANS),
        &[PRINT_COMMANDS.only(PLANS), SAVE.only(PLANS), PRINT_NODES],
        &[OFFLINE, MAX_CPU, MIN_DISK, SELECT_INSTANCES, EXCLUDE_INSTANCES, EXCLUSION_TAGS, DYNU_FILE],
        &EXCLUSIONS,
        &[IGNORE_DYNU, MOND, MOND_DATA, MOND_XEN, EXIT_ON_MISSING_MOND_DATA, STATIC_KVM_NODE_MEMORY],
        &MEASURED,
        &WEIGHTS,
        &[JSON, METRICS, REPORT, SUMMARY.only(PLANS), COLOUR.only(PLANS), DETAILED_STATUS.only(PLANS)],
        &[YES.only(PLANS), JOURNAL.only(PLANS), RESUME.only(PLANS), JSON_EVENTS.only(PLANS)],
        &[PRINT_PLAN.only(PLANS), SAVE_PLAN.only(PLANS), STREAM.only(PLANS), MAX_PARALLEL.only(PLANS)],
        &[MAX_OUT_PER_NODE.only(PLANS), MAX_IN_PER_NODE.only(PLANS), MAX_SYNCS.only(PLANS)],
        &[MAX_PER_GROUP.only(PLANS), ON_FAILURE.only(PLANS), REPLANS.only(PLANS)],
        &[MAX_DURATION.only(PLANS), UNTIL.only(PLANS), BANDWIDTH.only(PLANS), SYNC_RATE.only(PLANS)],
        &[DURATIONS_FROM.only(PLANS), REASON.added().only(PLANS), PRIORITY.added().only(PLANS)],
        &[VERBOSE, QUIET],
        &THREADS,
        &LAST,
    ],
    words: &[OperandWords { name: "COMMAND", kind: Choices(GroupCommand::WORDS), min: 1, max: Some(1) }],
    commands: COMMANDS,
    ..Spec::PLAIN
};

const COMMANDS: &[ToolCommand] = &[
    ToolCommand {
        name: "hgroup status",
        summary: "show how the groups are, and the pools that they reach",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hgroup status -L", "show the groups of this cluster"),
            example("hgroup status -L --svg", "draw them and their pools"),
            example("hgroup status -t lab.data --json", "print them as JSON"),
        ],
    },
    ToolCommand {
        name: "hgroup redistribute",
        summary: "heal weak groups: move what they cannot hold to other groups",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hgroup redistribute -L", "plan the moves"),
            example("hgroup redistribute -L -C", "plan them, with commands"),
            example("hgroup redistribute -L -X", "carry them out"),
        ],
    },
    ToolCommand {
        name: "hgroup compress",
        summary: "find groups that can be emptied, and plan how",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hgroup compress -L --proof", "list the groups that can be emptied, and a bound"),
            example("hgroup compress -L --empty-one", "plan to empty one of them"),
            example("hgroup compress -L -G rack3 -X", "empty rack3"),
        ],
    },
    ToolCommand {
        name: "hgroup balance",
        summary: "even out the load of the groups",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hgroup balance -L", "plan moves by what is in use"),
            example("hgroup balance -L -U load.txt", "plan them by measured load"),
            example("hgroup balance -L --deep -l 10", "search 10 moves together"),
        ],
    },
];

/// Hint if there is not exactly one command.
const WHICH: &str = "the commands are status, redistribute, compress and balance";

/// Reads the arguments after the program's name.
pub(crate) fn parse(args: &[OsString]) -> Result<HgroupOptions, Stop> {
    let (mut options, words) = SPEC.read(args)?;
    options.load.detail = Detail::Storage;
    let [word] = &words[..] else { return Err(wrong_words("hgroup needs one command".to_owned())) };
    let word = word.to_string_lossy();
    options.command = word.parse().map_err(|_| unknown_command(&word))?;
    let name = options.command.as_str();
    options.output.typed.insert(0, TypedOption { long: None, value: Some(name.to_owned()) });
    Ok(options)
}

fn unknown_command(word: &str) -> Stop {
    let meant = hint::did_you_mean(word, GroupCommand::WORDS.iter().copied());
    wrong_words(format!("'{}' is not a command{meant}", shown_name(word)))
}

fn wrong_words(problem: String) -> Stop {
    Stop::WrongWords(Complaint::new(problem).hint(WHICH))
}

pub(crate) fn run(options: HgroupOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard().with_colours(options.output.colour);
    // each command has its own series, because each may be run by itself
    let tool = format!("{} {}", SPEC.name, options.command);
    let cluster = cluster_label(&options.load.source);
    metered(&tool, &options.output, cluster, &mut output, by_status, |output| command(&options, output))
}

fn command(options: &HgroupOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    one_form(&[("dot", options.dot), ("svg", options.svg), ("json", options.output.json)])?;
    if !options.deep.asked {
        options.output.refuse(&["effort"], "needs --deep")?;
    }
    if let Some(journal) = &options.execution.resume {
        let status = execution::resume(&execute::context(options), journal, output);
        output.flush()?;
        return status;
    }
    execution::check_pace(&options.execution, &options.output)?;
    ahead::execution(SPEC.name, &options.execution, &options.load.source)?;
    ahead::files(&options.output, &["original", "regrouped"])?;
    let cluster = source::load(&options.load, output)?;
    let result = run::run(options, cluster, output);
    // output before an error must not be lost
    output.flush()?;
    result
}
