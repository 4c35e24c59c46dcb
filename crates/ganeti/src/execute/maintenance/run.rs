//! A maintenance from its first batch to its last, and after any crash from where it was.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{AfterFailure, BegunBatch, MaintenanceProgress, MaintenanceTerms, NodeStage, PlannedBatch};
use crate::execute::client::JobClient;
use crate::execute::course::RunTerms;
use crate::execute::host::RunHost;
use crate::execute::journal::{Header, Journal, LineError, Read};
use crate::execute::record::Record;
use crate::execute::report::{Ending, Report};
use crate::execute::runner::Runner;
use htools_plan::graph::StepIdx;
use htools_plan::maintenance::Closing;
use htools_plan::work::{Boots, Work};

/// Longest pause after which a request to stop is heeded while the run waits between batches.
const SLICE: Duration = Duration::from_secs(5);

/// Next part of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchProposal {
    /// It begins this batch.
    Maintain(PlannedBatch),
    /// It leaves these nodes out, which need no maintenance.
    Skip(Vec<LeftNode>),
    /// It waits before the next batch.
    Soak(Duration),
    /// It ends. These nodes are left, except those that failed.
    End {
        /// The nodes.
        left: Vec<LeftNode>,
        /// True if the next batch would not end in time.
        is_late: bool,
    },
}

/// A node that is not maintained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftNode {
    /// Its full name.
    pub node: String,
    /// Reason.
    pub why: String,
}

/// Planner and surroundings of a maintenance.
pub trait MaintenanceHost {
    /// Plans the next batch on the cluster as it is now. Nodes in `given_up` failed in this run and count as down.
    ///
    /// # Errors
    /// If the cluster cannot be read, in words.
    fn next(
        &mut self,
        client: &mut dyn JobClient,
        read: &Read,
        progress: &MaintenanceProgress,
        given_up: &BTreeSet<String>,
    ) -> Result<BatchProposal, String>;

    /// Plans the end of an earlier batch of these nodes.
    ///
    /// # Errors
    /// If the cluster cannot be read, in words.
    fn close(
        &mut self,
        client: &mut dyn JobClient,
        terms: &MaintenanceTerms,
        progress: &MaintenanceProgress,
        nodes: &[String],
        closing: Closing,
    ) -> Result<PlannedBatch, String>;

    /// Parameters of the run of this work.
    fn run_terms(&mut self, work: &Work) -> RunTerms;

    /// Runs one batch: calls `run` with the surroundings of its steps.
    fn batch(
        &mut self,
        header: &Header,
        batch: &BegunBatch,
        run: &mut dyn FnMut(&mut dyn RunHost) -> Report,
    ) -> Report;

    /// Tells if no other batch should begin.
    fn wants_to_stop(&self) -> bool;

    /// Lets time pass.
    fn pause(&mut self, time: Duration);

    /// The present time.
    fn now(&self) -> SystemTime;
}

/// End of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaintenanceEnd {
    /// The way in which it ended.
    pub ending: Ending,
    /// The nodes that were not maintained, or failed, with the reasons.
    pub left: Vec<LeftNode>,
    /// Progress at the end.
    pub progress: MaintenanceProgress,
}

/// A maintenance in progress.
pub struct MaintenanceRun<'a> {
    client: &'a mut dyn JobClient,
    host: &'a mut dyn MaintenanceHost,
    terms: MaintenanceTerms,
    read: Read,
    journal: Option<Journal>,
    /// Nodes that failed in this run.
    given_up: BTreeSet<String>,
}

/// End of a batch that was run.
struct BatchEnd {
    ending: Ending,
    /// Nodes that failed since an earlier program had left the batch.
    failed: BTreeSet<String>,
}

impl<'a> MaintenanceRun<'a> {
    /// A maintenance with a journal that was just begun, or one that was read; `None` if it is of another kind of run.
    pub fn new(
        client: &'a mut dyn JobClient,
        host: &'a mut dyn MaintenanceHost,
        read: Read,
        journal: Journal,
    ) -> Option<MaintenanceRun<'a>> {
        let terms = read.header.maintenance.clone()?;
        let (journal, given_up) = (Some(journal), BTreeSet::new());
        Some(MaintenanceRun { client, host, terms, read, journal, given_up })
    }

    /// Carries the maintenance out, as far as possible. A run that an earlier program has begun is taken up where it
    /// was: an open batch is finished first, and nodes that failed are tried again.
    pub fn carry_out(mut self) -> (MaintenanceEnd, Read) {
        let (ending, left) = match self.batches() {
            Ok(end) => end,
            Err(ending) => (ending, Vec::new()),
        };
        let progress = self.progress();
        let mut all: Vec<LeftNode> = Vec::new();
        for (node, stage) in &progress.nodes {
            let why = match (stage, progress.problems.get(node)) {
                (NodeStage::Done | NodeStage::Skipped, _) => continue,
                (_, Some(problem)) => problem.clone(),
                (_, None) => match left.iter().find(|left| left.node == *node) {
                    Some(left) => left.why.clone(),
                    None if *stage == NodeStage::Left => "not begun".to_owned(),
                    None => "begun, not finished".to_owned(),
                },
            };
            all.push(LeftNode { node: node.clone(), why });
        }
        let ending = match ending {
            Ending::Done if !all.is_empty() => Ending::Failed,
            ending => ending,
        };
        (MaintenanceEnd { ending, left: all, progress }, self.read)
    }

    fn batches(&mut self) -> Result<(Ending, Vec<LeftNode>), Ending> {
        let mut last: Option<Ending> = None;
        // A journal with nothing but its header was begun by this program, or did nothing yet.
        if self.read.lines > 1 {
            last = self.take_up_last_batch()?;
            self.finish_maintained()?;
            self.wait_for_soak()?;
        }
        loop {
            self.call_off_marked()?;
            match last.take() {
                Some(Ending::Failed) if self.terms.after_failure == AfterFailure::Stop => {
                    return Ok((Ending::Failed, Vec::new()));
                }
                Some(Ending::Done | Ending::Failed) | None => {}
                Some(ending) => return Ok((ending, Vec::new())),
            }
            if self.host.wants_to_stop() {
                return Ok((Ending::Interrupted, Vec::new()));
            }
            let progress = self.progress();
            match self.host.next(self.client, &self.read, &progress, &self.given_up).map_err(Ending::Lost)? {
                BatchProposal::Maintain(batch) => {
                    let BatchEnd { ending, failed } = self.begin(batch)?;
                    self.give_up(failed);
                    last = Some(ending);
                }
                BatchProposal::Skip(nodes) => {
                    for LeftNode { node, why } in nodes {
                        self.record(Record::Skipped { node, why })?;
                    }
                }
                BatchProposal::Soak(time) => {
                    let until = millis(self.host.now() + time);
                    self.record(Record::Soaking { until })?;
                    self.wait_for_soak()?;
                }
                BatchProposal::End { left, is_late: true } => return Ok((Ending::OutOfTime, left)),
                BatchProposal::End { left, is_late: false } => return Ok((Ending::Done, left)),
            }
        }
    }

    /// Runs what is left of the last batch of an earlier program. Failures before that are no reason to stop again.
    fn take_up_last_batch(&mut self) -> Result<Option<Ending>, Ending> {
        let Some(batch) = self.read.course.batches.last().cloned() else { return Ok(None) };
        if batch.steps.clone().map(StepIdx::new).all(|step| self.read.state.is_done(step)) {
            return Ok(None);
        }
        let BatchEnd { ending, failed } = self.run(&batch, true)?;
        if ending == Ending::Failed && failed.is_empty() {
            return Ok(None);
        }
        self.give_up(failed);
        Ok(Some(ending))
    }

    /// Gives up nodes that failed in the middle of their maintenance.
    fn give_up(&mut self, failed: BTreeSet<String>) {
        let progress = self.progress();
        let is_broken = |node: &String| {
            let stage = progress.nodes.iter().find(|(name, _)| name == node).map(|(_, stage)| stage);
            matches!(stage, Some(NodeStage::Begun | NodeStage::Maintained))
        };
        self.given_up.extend(failed.into_iter().filter(is_broken));
    }

    /// Finishes the nodes that were maintained in an earlier run, and are not in use again.
    fn finish_maintained(&mut self) -> Result<(), Ending> {
        if self.terms.treatment.boots == Boots::Anew {
            self.find_not_rebooted()?;
        }
        self.close(&NodeStage::Maintained, Closing::Finish)
    }

    /// Records the nodes that answer with the boot ID that they had before their maintenance: it did not happen.
    fn find_not_rebooted(&mut self) -> Result<(), Ending> {
        let Read { header, state, course, .. } = &self.read;
        let before = self.progress().maintained(course, &header.work, state);
        let nodes: Vec<&str> = before.iter().map(|(node, _)| node.as_str()).collect();
        if nodes.is_empty() {
            return Ok(());
        }
        let now = self.client.boot_ids(&nodes).map_err(|error| Ending::Lost(error.to_string()))?;
        for ((node, before), now) in before.into_iter().zip(now) {
            if now.as_deref() == Some(before.as_str()) {
                self.record(Record::NotRebooted { node })?;
            }
        }
        Ok(())
    }

    /// Puts nodes back into use that were emptied or marked, and not maintained.
    fn call_off_marked(&mut self) -> Result<(), Ending> {
        self.close(&NodeStage::Marked, Closing::CallOff)
    }

    /// Ends the open batches of the nodes in a stage. Nodes for which that fails are given up.
    fn close(&mut self, stage: &NodeStage, closing: Closing) -> Result<(), Ending> {
        let progress = self.progress();
        let open = progress.at(stage).into_iter().map(str::to_owned);
        let nodes: Vec<String> = open.filter(|node| !self.given_up.contains(node)).collect();
        if nodes.is_empty() {
            return Ok(());
        }
        let batch =
            self.host.close(self.client, &self.terms, &progress, &nodes, closing).map_err(Ending::Lost)?;
        let BatchEnd { ending, .. } = self.begin(batch)?;
        let after = self.progress();
        let still = after.at(stage);
        self.given_up.extend(nodes.into_iter().filter(|node| still.contains(&node.as_str())));
        match ending {
            Ending::Done | Ending::Failed => Ok(()),
            ending => Err(ending),
        }
    }

    /// Records a batch and runs it.
    fn begin(&mut self, batch: PlannedBatch) -> Result<BatchEnd, Ending> {
        self.record(Record::Planned { batch })?;
        let begun = self.read.course.batches.last().cloned();
        let nothing = BatchEnd { ending: Ending::Done, failed: BTreeSet::new() };
        begun.map_or(Ok(nothing), |begun| self.run(&begun, false))
    }

    /// Runs the steps of a batch; `settles` if an earlier program may have begun some.
    fn run(&mut self, batch: &BegunBatch, settles: bool) -> Result<BatchEnd, Ending> {
        let before = self.failed_nodes(batch);
        let MaintenanceRun { client, host, read, journal, .. } = self;
        let terms = host.run_terms(&read.header.work);
        let Read { header, state, .. } = &mut *read;
        let mut end = None;
        let mut run = |surroundings: &mut dyn RunHost| {
            let Some(journal) = journal.take() else {
                let ending = Ending::Unrecorded("the journal is closed".to_owned());
                return Report::of(ending, &header.work, state);
            };
            let mut runner = Runner::new(&mut **client, surroundings, header, journal, state.clone())
                .with(terms.clone())
                .part(batch.steps.clone());
            let settled = if settles { runner.settle() } else { None };
            let report = settled.unwrap_or_else(|| runner.walk());
            end = Some(runner.into_parts());
            report
        };
        let report = host.batch(header, batch, &mut run);
        if let Some(parts) = end {
            read.state = parts.1;
            *journal = Some(parts.0);
        }
        match report.ending {
            ending @ (Ending::Lost(_) | Ending::Unrecorded(_) | Ending::Contradiction(_)) => Err(ending),
            ending => {
                let after = self.failed_nodes(batch);
                Ok(BatchEnd { ending, failed: after.difference(&before).cloned().collect() })
            }
        }
    }

    /// The nodes of a batch with failed steps, of their own or dropped after one of an instance.
    fn failed_nodes(&self, batch: &BegunBatch) -> BTreeSet<String> {
        let problems = self.progress().problems;
        batch.nodes.iter().filter(|node| problems.contains_key(*node)).cloned().collect()
    }

    /// Waits until the time of the last wait between batches is over, or the run is to stop.
    fn wait_for_soak(&mut self) -> Result<(), Ending> {
        let Some(until) = self.read.course.soaks_until else { return Ok(()) };
        while !self.host.wants_to_stop() {
            let left = until.saturating_sub(millis(self.host.now()));
            if left == 0 {
                break;
            }
            self.host.pause(SLICE.min(Duration::from_millis(left)));
        }
        Ok(())
    }

    fn record(&mut self, record: Record) -> Result<(), Ending> {
        let unrecorded = |why: String| Ending::Unrecorded(why);
        let journal = self.journal.as_mut().ok_or_else(|| unrecorded("the journal is closed".to_owned()))?;
        journal.write(&record).map_err(|error| unrecorded(error.to_string()))?;
        self.read.apply(record).map_err(|error: LineError| Ending::Contradiction(error.to_string()))
    }

    fn progress(&self) -> MaintenanceProgress {
        let Read { header, state, course, .. } = &self.read;
        MaintenanceProgress::in_state(&self.terms, course, &header.work, state)
    }
}

fn millis(time: SystemTime) -> u64 {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
