//! `hbal` that runs again and again: conditions, cooldowns and a limit of moves per day.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};

use super::HbalOptions;
use super::others::under_way;
use super::outlook::close_targets;
use crate::execute::ClusterId;
use crate::execute::history::{History, HistoryEvent, HistoryFile, LookRecord, PastMove, now, since};
use crate::load::merge::apply_node_options;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, NodeFigure, NodeIdx};
use crate::search::steady::{ActCondition, Observation, RestRules, fewest_moves, tolerate_others};
use crate::tools::cli::heading::Heading;
use crate::tools::cli::option::ArgumentKind::{File, Float, Integer, Text};
use crate::tools::cli::{Given, OptionDef, ValueError};
use crate::tools::execution::history::{of_user, record};
use crate::tools::execution::{Lock, LockHeld, client, takes_jobs};
use crate::tools::hint::WithHint;
use crate::tools::options::values::{length_of_time, not_negative, some};
use crate::tools::output::Output;
use crate::tools::{ExitStatus, group};

/// Time in which earlier runs count as runs in a row, and moves for `--moves-per-day`.
const DAY: Duration = Duration::from_secs(86_400);
/// Margin of `--until-below`, in percentage points. With less, a node soon is above the threshold again; see the replayed
/// week in docs/figures.md.
const MARGIN: f64 = 5.0;
/// Most nodes that are named.
const NAMES: usize = 5;

/// Options for runs by a timer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SteadyOptions {
    /// `--only-if`
    pub condition: Option<ActCondition>,
    /// `--rounds`
    pub rounds: Option<usize>,
    /// `--until-below`
    pub until_below: bool,
    /// `--forecast`, with a condition.
    pub forecast: Option<Duration>,
    /// `--margin`, in percentage points.
    pub margin: Option<f64>,
    /// `--cooldown` and `--no-return`
    pub rest: RestRules,
    /// `--moves-per-day`
    pub moves_per_day: Option<usize>,
    /// `--history`
    pub history: Option<PathBuf>,
}

fn condition(given: &Given) -> Result<ActCondition, ValueError> {
    let expected = "a condition such as 'memory>85 or cpu>80 or score>5'";
    given.text()?.parse().map_err(|_| given.out_of_range(expected))
}

/// The options.
pub(super) const STEADY: [OptionDef<HbalOptions>; 8] = [
    OptionDef::<HbalOptions>::addition("only-if", "act only if CONDITION holds, such as memory>85")
        .more("CONDITION is FIGURE>NUMBER, or several of them with or: 'memory>85 or cpu>80 or score>5'. memory, cpu (measured), vcpus (of the policy's) and disk are percentages of each node, score is that of the group. No move lets a node rise above one of these percentages.")
        .under(Heading::Limits)
        .takes("CONDITION", Text, |o, g| condition(g).map(|found| o.steady.condition = Some(found))),
    OptionDef::<HbalOptions>::addition("rounds", "act only if it holds in N runs in a row, with --only-if")
        .more("Each node counts by itself. Runs with --exec of the last 24 hours count, and this one.")
        .under(Heading::Limits)
        .takes("N", Integer, |o, g| some(g).map(|rounds| o.steady.rounds = Some(rounds)))
        .otherwise("1"),
    OptionDef::<HbalOptions>::added_flag(
        "until-below",
        "end what is above, with the fewest moves, with --only-if",
        |o| o.steady.until_below = true,
    )
    .more("Nothing else moves.")
    .under(Heading::Limits),
    OptionDef::<HbalOptions>::addition("margin", "end it N percentage points lower, with --until-below")
        .more("No move lets another node rise above this, either.")
        .under(Heading::Limits)
        .takes("N", Float, |o, g| not_negative(g).map(|margin| o.steady.margin = Some(margin)))
        .otherwise("5"),
    OptionDef::<HbalOptions>::addition("cooldown", "leave instances alone that moved in the last TIME")
        .more("Instances on nodes that are offline or drained move nevertheless.")
        .under(Heading::Limits)
        .takes("TIME", Text, |o, g| length_of_time(g).map(|time| o.steady.rest.cooldown = Some(time))),
    OptionDef::<HbalOptions>::addition("no-return", "keep instances off the node they left in the last TIME")
        .under(Heading::Limits)
        .takes("TIME", Text, |o, g| length_of_time(g).map(|time| o.steady.rest.no_return = Some(time))),
    OptionDef::<HbalOptions>::addition("moves-per-day", "move at most N instances in 24 hours")
        .more("All moves in the history count, those of other tools too.")
        .under(Heading::Limits)
        .takes("N", Integer, |o, g| some(g).map(|most| o.steady.moves_per_day = Some(most))),
    OptionDef::<HbalOptions>::addition("history", "read past moves from FILE")
        .more("The moves of this run are recorded in the state directory nevertheless.")
        .otherwise("history.jsonl in the state directory")
        .under(Heading::Cluster)
        .takes("FILE", File, |o, g| g.path().map(|path| o.steady.history = path)),
];

/// Refuses options that contradict each other, or have no effect without another one.
///
/// # Errors
/// The options.
pub(super) fn check(options: &HbalOptions) -> anyhow::Result<()> {
    let SteadyOptions { condition, moves_per_day, .. } = &options.steady;
    if condition.is_none() {
        options.output.refuse(&["rounds", "until-below"], "needs --only-if")?;
    }
    if !options.steady.until_below {
        options.output.refuse(&["margin"], "needs --until-below")?;
    }
    if options.steady.forecast.is_some() {
        ensure!(options.load.measured.from.is_some(), "option --forecast needs --load-from");
        ensure!(options.steady.until_below, "option --forecast with --only-if needs --until-below");
    }
    let several = options.worst_group || options.all_groups;
    ensure!(
        !several || condition.is_none(),
        "option --only-if works on one node group; it cannot be given with --worst-group or --all-groups"
    );
    ensure!(
        moves_per_day.is_none() || !(several || options.mends()),
        "option --moves-per-day does not limit --repair-only, --evacuate, --worst-group and --all-groups"
    );
    ensure!(
        options.cib.is_named()
            || condition.as_ref().is_none_or(|condition| !condition.asks_for(NodeFigure::Cpu))
            || options.load.is_load_measured(),
        anyhow!("option --only-if: the processor load is not known").hint("use --load-from, or vcpus>NUMBER")
    );
    Ok(())
}

/// The past of a cluster, as far as these options need it.
pub(super) struct SteadyRun {
    id: Option<ClusterId>,
    history: History,
    moves: Vec<PastMove>,
}

/// The lock of a run, held until it is dropped; none for a run that changes nothing.
#[allow(dead_code, reason = "it is the open file that holds the lock")]
pub(super) struct Turn(Option<Lock>);

/// Tools whose runs a balancing run must not disturb.
const OTHERS: [&str; 2] = ["hroller", "hsqueeze"];

/// Extent of a run that acts.
#[derive(Debug, Clone, Default)]
pub(super) struct Act {
    /// Most moves, if they are limited.
    most: Option<usize>,
    /// Full names of the nodes that were above a threshold for long enough; none without a condition.
    due: Option<BTreeSet<String>>,
}

impl Act {
    /// The options of a plan with at most so many moves.
    pub(super) fn limited(&self, options: &HbalOptions) -> HbalOptions {
        limited(options, self.most)
    }

    /// Closes nodes that are expected to be overloaded soon, with `--forecast`.
    pub(super) fn by_forecast(
        &self,
        options: &HbalOptions,
        cluster: Cluster,
        output: &mut Output,
    ) -> anyhow::Result<Cluster> {
        let Some((coming, names)) = options.steady.forecast.zip(self.due.as_ref()) else {
            return Ok(cluster);
        };
        let nodes = cluster.nodes.iter().filter(|node| names.contains(&node.spec.name));
        let due: Vec<NodeIdx> = nodes.map(|node| node.spec.idx).collect();
        close_targets(options, coming, &due, cluster, output)
    }

    /// Lets the other nodes stay where they are.
    pub(super) fn tolerate_others(&self, cluster: &mut Cluster) {
        if let Some(due) = &self.due {
            tolerate_others(cluster, due);
        }
    }
}

/// Decision about a run.
pub(super) enum Verdict {
    /// Plan.
    Act(Act),
    /// Leave the cluster as it is, with this exit status.
    Leave(ExitStatus),
}

impl SteadyRun {
    /// Reads the past. It is empty if no option needs it.
    ///
    /// # Errors
    /// If the history cannot be read, or it is not known to which cluster it belongs.
    pub(super) fn of(options: &HbalOptions, output: &mut Output) -> anyhow::Result<SteadyRun> {
        let SteadyOptions { rounds, rest, moves_per_day, history, .. } = &options.steady;
        let source = &options.load.source;
        let id = if takes_jobs(source) && options.steady != SteadyOptions::default() {
            Some(client(source)?.cluster()?)
        } else {
            None
        };
        let is_needed = rounds.is_some_and(|rounds| rounds > 1)
            || *rest != RestRules::default()
            || moves_per_day.is_some();
        if !is_needed {
            return Ok(SteadyRun { id, history: History::default(), moves: Vec::new() });
        }
        let file = match history {
            Some(path) => {
                ensure!(path.exists(), "option --history: there is no file '{}'", path.display());
                HistoryFile::at(path)
            }
            None if id.is_none() => {
                return Err(anyhow!(
                    "options --cooldown, --no-return, --moves-per-day and --rounds need a history"
                )
                .hint("use --luxi or --master, or name a file with --history"));
            }
            None => match of_user()? {
                Some(file) => file,
                None => bail!("there is no history, because XDG_STATE_HOME and HOME are not set"),
            },
        };
        let history = file.read()?.of_cluster(id.as_ref().map(|id| id.uuid.as_str()));
        if history.0.is_empty() && options.load.verbosity >= 1 {
            output.error_line(&format!(
                "Note: the history {} has nothing about this cluster yet",
                file.path().display()
            ))?;
        }
        let moves = history.moves();
        Ok(SteadyRun { id, history, moves })
    }

    /// Takes the lock of hbal on the cluster for a run with `--exec`, unless another run is under way: one of hbal, a
    /// maintenance by hroller, hsqueeze, or a job of somebody else that changes the cluster. Tells which.
    ///
    /// # Errors
    /// If a lock cannot be taken for another reason, the queue cannot be read, or standard error cannot be written.
    pub(super) fn turn(&self, options: &HbalOptions, output: &mut Output) -> anyhow::Result<Option<Turn>> {
        let Some(id) = self.id.as_ref().filter(|_| options.execution.exec) else {
            return Ok(Some(Turn(None)));
        };
        let mut own = None;
        for tool in OTHERS.into_iter().chain([super::SPEC.name]) {
            match Lock::take(tool, id) {
                // The locks of the other tools are free again at once.
                Ok(lock) => own = Some(lock),
                Err(error) if error.is::<LockHeld>() => {
                    output.error_line(&format!("Nothing is done: {error}"))?;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(job) = under_way(&mut *client(&options.load.source)?)? {
            output.error_line(&format!("Nothing is done: {job}"))?;
            return Ok(None);
        }
        Ok(Some(Turn(own)))
    }

    /// Makes instances rest, and sets limits of nodes, in a cluster that was just read.
    pub(super) fn prepare(&self, options: &HbalOptions, cluster: &mut Cluster) {
        options.steady.rest.resting(cluster, &self.moves, now()).enter(cluster);
        if let Some(condition) = &options.steady.condition {
            let margin = options.steady.margin.unwrap_or(MARGIN);
            condition.limit(cluster, if options.steady.until_below { margin } else { 0.0 });
        }
    }

    /// Decides whether to act on the chosen group, and tells why not. A run with `--exec` is recorded as a round.
    ///
    /// # Errors
    /// If standard error cannot be written.
    pub(super) fn decide(
        &self,
        options: &HbalOptions,
        cluster: &Cluster,
        output: &mut Output,
    ) -> anyhow::Result<Verdict> {
        let SteadyOptions { condition, moves_per_day, .. } = &options.steady;
        let mut act = Act::default();
        if condition.is_none() && moves_per_day.is_none() {
            return Ok(Verdict::Act(act));
        }
        let Some(group) = group::select(cluster, options.limits.group.as_deref(), output)? else {
            return Ok(Verdict::Leave(ExitStatus::Failure));
        };
        if let Some(condition) = condition {
            act.due = self.due(options, condition, group, cluster, output)?;
            if act.due.is_none() {
                return Ok(Verdict::Leave(ExitStatus::Success));
            }
        }
        if let Some(most) = *moves_per_day {
            let day = since(DAY);
            let made = self.moves.iter().filter(|made| made.at >= day).count();
            let left = most.saturating_sub(made);
            if left == 0 {
                output.error_line(&format!(
                    "Nothing is done: {} in the last 24 hours, and --moves-per-day allows {most}",
                    counted(made, "move")
                ))?;
                return Ok(Verdict::Leave(ExitStatus::Success));
            }
            act.most = Some(left);
        }
        Ok(Verdict::Act(act))
    }

    /// The nodes that were above a threshold for long enough; none if there is nothing to do yet. With `--quiet`, only what
    /// is done is told.
    fn due(
        &self,
        options: &HbalOptions,
        condition: &ActCondition,
        group: GroupIdx,
        cluster: &Cluster,
        output: &mut Output,
    ) -> anyhow::Result<Option<BTreeSet<String>>> {
        let mut seen_cluster = cluster.clone();
        apply_node_options(&mut seen_cluster, &options.load.nodes)?;
        let mut seen = condition.observe(&seen_cluster, cluster.nodes_of(group));
        let (uuid, text) = (&cluster.group(group).uuid, condition.to_string());
        let rounds = self.history.rounds_above(uuid, &text, condition.score_above(), DAY);
        if let Some(id) = self.id.as_ref().filter(|_| options.execution.exec) {
            let look = look(&seen, uuid, text.clone(), cluster);
            output.error_lines(record(id, super::SPEC.name, HistoryEvent::Look(look)))?;
        }
        let is_told = options.load.verbosity >= 1;
        if !seen.is_met {
            if is_told {
                output.error_line(&format!("Nothing to do: {text} does not hold"))?;
            }
            return Ok(None);
        }
        let wanted = options.steady.rounds.unwrap_or(1);
        let due = seen.due(condition, cluster, &rounds, wanted);
        if !due.is_due {
            if is_told {
                output.error_line(&format!("{text} holds: {}", reasons(&seen, cluster)))?;
                output
                    .error_line(&format!("Nothing is done yet: this is round {} of {wanted}", due.round))?;
            }
            return Ok(None);
        }
        seen.nodes = due.nodes;
        output.error_line(&format!("{text} holds: {}", reasons(&seen, cluster)))?;
        let names = seen.nodes.iter().map(|(node, ..)| cluster.node(*node).spec.name.clone());
        Ok(Some(names.collect()))
    }

    /// Tells how many moves are needed at least, with `--until-below`.
    ///
    /// # Errors
    /// If standard error cannot be written.
    pub(super) fn tell_fewest(
        options: &HbalOptions,
        before: &Cluster,
        group: GroupIdx,
        moves: usize,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        if !options.steady.until_below || options.load.verbosity < 1 {
            return Ok(());
        }
        let least = fewest_moves(before, before.nodes_of(group));
        let text = match moves {
            0 => return Ok(()),
            made if made <= least => format!("No plan ends this with fewer than {}", counted(least, "move")),
            made => format!("{} made; at least {least} needed", counted(made, "move")),
        };
        Ok(output.error_line(&text)?)
    }
}

/// The options of a plan with at most `most` moves, if they are limited.
fn limited(options: &HbalOptions, most: Option<usize>) -> HbalOptions {
    let mut options = options.clone();
    let Some(most) = most else { return options };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let limit = &mut options.balance.max_length;
    *limit = if *limit < 0 { most } else { most.min(*limit) };
    if options.is_deep() {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        options.max_moves = Some(options.max_moves.map_or(most, |known| known.min(most)));
    }
    options
}

fn look(seen: &Observation, group: &str, condition: String, cluster: &Cluster) -> LookRecord {
    let mut nodes: Vec<String> =
        seen.nodes.iter().map(|(node, ..)| cluster.node(*node).spec.name.clone()).collect();
    nodes.dedup();
    LookRecord { group: group.to_owned(), condition, is_met: seen.is_met, score: seen.score, nodes }
}

/// The nodes above a threshold, or the score.
fn reasons(seen: &Observation, cluster: &Cluster) -> String {
    if seen.nodes.is_empty() {
        return format!("the score is {:.3}", seen.score);
    }
    let named = seen.nodes.iter().take(NAMES).map(|(node, figure, used)| {
        format!("{} {figure} {used:.1} %", shown_name(cluster.node(*node).spec.alias()))
    });
    let more = if seen.nodes.len() > NAMES { ", ..." } else { "" };
    format!("{}{more}", named.collect::<Vec<_>>().join(", "))
}
