//! History of the runs on clusters: what was looked at, which moves were made, and how they ended.
//!
//! The file has one JSON object per line. A run is recorded with its plan before its first job, and with the outcome of
//! each move at its end; a maintenance, which plans as it goes on, also before each batch. The moves of a run that never
//! ended count as made when its last line was written, because nobody knows better. Journals hold the details of each
//! run, and may be deleted; the history stays.

mod file;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client::ClusterId;
use super::journal::Header;
use super::report::{Report, StepState};
use htools_model::Placement;
use htools_plan::work::Work;

pub use file::{FILE_NAME, HistoryError, HistoryFile};

/// Schema of the lines that this version reads and writes.
pub const SCHEMA: &str = "htools.history-1";

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// [`SCHEMA`].
    pub history: String,
    /// Time of the line, in milliseconds since 1970.
    pub at: u64,
    /// The cluster.
    pub cluster: ClusterId,
    /// The tool.
    pub tool: String,
    /// The event.
    #[serde(flatten)]
    pub event: HistoryEvent,
}

/// Event that a line of the history records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HistoryEvent {
    /// A tool compared the nodes with thresholds.
    Look(LookRecord),
    /// A run has begun.
    Begun(RunBegun),
    /// A batch of a maintenance is about to begin.
    Batch(BatchMoves),
    /// A run has ended.
    Ended(RunEnded),
    /// A tool noted how much of a cluster is used.
    Use(UseRecord),
}

/// Use of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseRecord {
    /// The node groups.
    pub groups: Vec<GroupUse>,
}

/// Use of a node group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupUse {
    /// Its name.
    pub group: String,
    /// Memory in MiB.
    pub memory: AmountUsed,
    /// Disk space in MiB.
    pub disk: AmountUsed,
    /// Virtual CPUs.
    pub vcpus: AmountUsed,
    /// Number of instances of shrinking sizes that still fit, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiered: Option<u64>,
}

/// Amount that is used, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmountUsed {
    /// Amount that is not free.
    pub used: i64,
    /// Total amount.
    pub limit: i64,
}

/// Comparison of the nodes of a group with thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookRecord {
    /// UUID of the node group.
    pub group: String,
    /// The thresholds, as they were typed.
    pub condition: String,
    /// True if the condition held.
    pub is_met: bool,
    /// Score of the group.
    pub score: f64,
    /// Nodes above a threshold.
    pub nodes: Vec<String>,
}

/// Beginning of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunBegun {
    /// Start of the run in nanoseconds since 1970, as its jobs record it.
    pub run: u64,
    /// Its journal.
    pub journal: String,
    /// The reason that its jobs record.
    pub reason: String,
    /// Score before the first move, if the tool knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The planned moves.
    pub moves: Vec<PlannedMove>,
}

/// Moves of a batch of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchMoves {
    /// The run, as in [`RunBegun`].
    pub run: u64,
    /// Number of the moves of earlier batches. Those of a batch that is resumed take the place of the first attempt's.
    pub earlier: usize,
    /// The planned moves.
    pub moves: Vec<PlannedMove>,
}

/// A move of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMove {
    /// The instance, or the resource of a Pacemaker cluster.
    pub instance: String,
    /// Nodes before.
    pub from: Placement<String>,
    /// Nodes after.
    pub to: Placement<String>,
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The run, as in [`RunBegun`].
    pub run: u64,
    /// Word for its ending: `done`, `failed`, ...
    pub ending: String,
    /// Score after the last move, if the cluster could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Outcome of each move, in the order of the plan.
    pub outcomes: Vec<String>,
}

/// A move that was made, or may have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastMove {
    /// Time of the last line about its run, in milliseconds since 1970.
    pub at: u64,
    /// The cluster.
    pub cluster: ClusterId,
    /// The tool.
    pub tool: String,
    /// Start of its run.
    pub run: u64,
    /// The instance and its nodes.
    pub moved: PlannedMove,
    /// Its outcome; `unknown` if the run has not ended.
    pub outcome: String,
}

/// A run with its plan and its end.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// Time of its beginning, in milliseconds since 1970.
    pub at: u64,
    /// Time of the last line about it.
    pub latest: u64,
    /// The cluster.
    pub cluster: ClusterId,
    /// The tool.
    pub tool: String,
    /// Its plan.
    pub begun: RunBegun,
    /// Its end, if it ended. A resumed run ends several times; the last one counts.
    pub ended: Option<RunEnded>,
}

/// Lines of a history, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History(pub Vec<HistoryLine>);

impl HistoryLine {
    /// A line for the present.
    pub fn now(cluster: &ClusterId, tool: &str, event: HistoryEvent) -> HistoryLine {
        HistoryLine {
            history: SCHEMA.to_owned(),
            at: now(),
            cluster: cluster.clone(),
            tool: tool.to_owned(),
            event,
        }
    }
}

/// The present, in milliseconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time that is this long ago, in milliseconds since 1970.
pub fn since(time: Duration) -> u64 {
    now().saturating_sub(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

impl HistoryEvent {
    /// Moves that are planned from here on.
    fn planned(&self) -> &[PlannedMove] {
        match self {
            HistoryEvent::Begun(begun) => &begun.moves,
            HistoryEvent::Batch(batch) => &batch.moves,
            HistoryEvent::Look(_) | HistoryEvent::Ended(_) | HistoryEvent::Use(_) => &[],
        }
    }
}

impl BatchMoves {
    /// A batch of the maintenance of a journal.
    pub fn of(header: &Header, steps: &Range<usize>) -> BatchMoves {
        let until = |end: usize| moves(&header.work).take_while(move |(at, _)| *at < end);
        let earlier = until(steps.start).count();
        let moves = until(steps.end).skip(earlier).map(|(_, moved)| moved).collect();
        BatchMoves { run: header.run.began, earlier, moves }
    }
}

impl RunBegun {
    /// Beginning of the run of a journal.
    pub fn of(header: &Header, journal: &str, score: Option<f64>) -> RunBegun {
        RunBegun {
            run: header.run.began,
            journal: journal.to_owned(),
            reason: header.run.reason.clone(),
            score,
            moves: moves(&header.work).map(|(_, moved)| moved).collect(),
        }
    }
}

impl RunEnded {
    /// End of a run.
    pub fn of(header: &Header, report: &Report, score: Option<f64>) -> RunEnded {
        let outcome = |(at, _): (usize, PlannedMove)| {
            let state = report.steps.get(at).map_or(StepState::Unknown, |step| step.state);
            state.to_string()
        };
        RunEnded {
            run: header.run.began,
            ending: report.ending.word().to_owned(),
            score,
            outcomes: moves(&header.work).map(outcome).collect(),
        }
    }
}

/// The moves of a plan, with the positions of their steps. An instance that goes from group to group moves once.
fn moves(work: &Work) -> impl Iterator<Item = (usize, PlannedMove)> {
    work.steps.iter().enumerate().filter_map(|(at, step)| {
        let (first, last) = (step.relocations().first()?, step.relocations().last()?);
        let instance = step.subject.clone();
        Some((at, PlannedMove { instance, from: first.from.clone(), to: last.to.clone() }))
    })
}

impl History {
    /// The part of one cluster; everything without a UUID.
    pub fn of_cluster(&self, uuid: Option<&str>) -> History {
        let fits = |line: &&HistoryLine| uuid.is_none_or(|uuid| line.cluster.uuid == uuid);
        History(self.0.iter().filter(fits).cloned().collect())
    }

    /// All runs, in the order of their beginnings. A maintenance that is resumed begins again, with a longer plan.
    pub fn runs(&self) -> Vec<PastRun> {
        let mut runs: Vec<PastRun> = Vec::new();
        let mut known: BTreeMap<(&str, u64), usize> = BTreeMap::new();
        for line in &self.0 {
            let HistoryLine { at, cluster, tool, event, .. } = line;
            let number = match event {
                HistoryEvent::Begun(RunBegun { run, .. })
                | HistoryEvent::Batch(BatchMoves { run, .. })
                | HistoryEvent::Ended(RunEnded { run, .. }) => *run,
                HistoryEvent::Look(_) | HistoryEvent::Use(_) => continue,
            };
            let run = known.get(&(cluster.uuid.as_str(), number)).and_then(|at| runs.get_mut(*at));
            match (event, run) {
                (HistoryEvent::Begun(begun), None) => {
                    known.insert((&cluster.uuid, number), runs.len());
                    let (cluster, tool, begun) = (cluster.clone(), tool.clone(), begun.clone());
                    runs.push(PastRun { at: *at, latest: *at, cluster, tool, begun, ended: None });
                }
                (event, Some(run)) => run.add(*at, event),
                (_, None) => {}
            }
        }
        runs
    }

    /// The moves that were made or may have been, in the order of their runs.
    pub fn moves(&self) -> Vec<PastMove> {
        self.runs().iter().flat_map(PastRun::moves).collect()
    }

    /// The rounds in a row, up to now, in which a group was above the thresholds of a condition. Only comparisons within a
    /// time before now count. A row ends at a run that moved instances: for the nodes of its moves, and for the score.
    pub fn rounds_above(
        &self,
        group: &str,
        condition: &str,
        score_above: Option<f64>,
        within: Duration,
    ) -> RoundsAbove {
        let since = since(within);
        let mut found = RoundsAbove::default();
        let mut in_row: Option<BTreeSet<&str>> = None;
        let mut touched = BTreeSet::new();
        let mut is_score_in_row = true;
        for line in self.0.iter().rev().take_while(|line| line.at >= since) {
            match &line.event {
                HistoryEvent::Look(look) if look.group == group && look.condition == condition => {
                    is_score_in_row &= score_above.is_some_and(|above| look.score > above);
                    found.score += usize::from(is_score_in_row);
                    let above = look.nodes.iter().map(String::as_str);
                    let mut above: BTreeSet<&str> = above.filter(|node| !touched.contains(*node)).collect();
                    if let Some(later) = &in_row {
                        above.retain(|node| later.contains(node));
                    }
                    for node in &above {
                        *found.nodes.entry((*node).to_owned()).or_default() += 1;
                    }
                    if above.is_empty() && !is_score_in_row {
                        break;
                    }
                    in_row = Some(above);
                }
                event => {
                    let moves = event.planned();
                    is_score_in_row &= moves.is_empty();
                    let nodes = moves
                        .iter()
                        .flat_map(|made| made.from.clone().nodes().chain(made.to.clone().nodes()));
                    touched.extend(nodes);
                }
            }
        }
        found
    }
}

/// Rounds in a row in which thresholds were exceeded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoundsAbove {
    /// Those in which the score was above its threshold.
    pub score: usize,
    nodes: BTreeMap<String, usize>,
}

impl RoundsAbove {
    /// Those in which a node was above a threshold; by its full name.
    pub fn of_node(&self, name: &str) -> usize {
        self.nodes.get(name).copied().unwrap_or(0)
    }
}

impl PastRun {
    /// Enters another line.
    fn add(&mut self, at: u64, event: &HistoryEvent) {
        self.latest = at;
        match event {
            HistoryEvent::Begun(begun) => {
                self.begun = begun.clone();
                self.ended = None;
            }
            HistoryEvent::Batch(BatchMoves { earlier, moves, .. }) => {
                self.begun.moves.truncate(*earlier);
                self.begun.moves.extend_from_slice(moves);
            }
            HistoryEvent::Ended(ended) => self.ended = Some(ended.clone()),
            HistoryEvent::Look(_) | HistoryEvent::Use(_) => {}
        }
    }

    /// Its moves, without those that were certainly not made.
    pub fn moves(&self) -> impl Iterator<Item = PastMove> {
        let outcome = |at: usize| {
            let outcome = self.ended.as_ref().and_then(|ended| ended.outcomes.get(at));
            outcome.cloned().unwrap_or_else(|| StepState::Unknown.to_string())
        };
        let not_made = [StepState::NotStarted, StepState::Dropped].map(|state| state.to_string());
        self.begun.moves.iter().enumerate().filter_map(move |(number, moved)| {
            let outcome = outcome(number);
            (!not_made.contains(&outcome)).then(|| PastMove {
                at: self.latest,
                cluster: self.cluster.clone(),
                tool: self.tool.clone(),
                run: self.begun.run,
                moved: moved.clone(),
                outcome,
            })
        })
    }
}
