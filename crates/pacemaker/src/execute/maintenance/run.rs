//! A maintenance from its first batch to its last, and after any crash from where it was.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use super::checks::{failures, tickets};
use super::{
    CibBatch, CibMaintenanceClient, CibMaintenanceEnd, CibMaintenanceEvent, CibMaintenanceHost,
    CibMaintenanceRead, CibMaintenanceRecord, CibNodeStage,
};
use crate::cib::change::CibChange;
use crate::cib::parse;
use crate::execute::CibCallError;
use crate::execute::surroundings::{SLICE, SOURCE, await_rest, persist};
use crate::pinning::Foresight;
use crate::rolling::{ClusterVotes, HeldNode, StandbyPlanner, StandbyRules, loss, standing};
use crate::working_set::WorkingSet;
use htools_ganeti::execute::Ending;
use htools_ganeti::execute::journal::Journal;
use htools_ganeti::execute::maintenance::{AfterFailure, LeftNode};

/// Attempts to ask a cluster that does not answer. It may be electing a coordinator.
const ATTEMPTS: u32 = 30;

/// A maintenance in progress.
pub struct CibMaintenanceRun<'a> {
    pub(super) client: &'a mut dyn CibMaintenanceClient,
    pub(super) host: &'a mut dyn CibMaintenanceHost,
    journal: Journal,
    pub(super) read: CibMaintenanceRead,
    /// Nodes that failed in this run.
    pub(super) given_up: BTreeSet<String>,
}

/// Next part of a maintenance.
enum NextPart {
    Batch(CibBatch),
    Skip(Vec<LeftNode>),
    Soak(Duration),
    End { left: Vec<LeftNode>, is_late: bool },
}

impl<'a> CibMaintenanceRun<'a> {
    /// A maintenance with a journal that was just begun, or one that was read.
    pub fn new(
        client: &'a mut dyn CibMaintenanceClient,
        host: &'a mut dyn CibMaintenanceHost,
        journal: Journal,
        read: CibMaintenanceRead,
    ) -> CibMaintenanceRun<'a> {
        CibMaintenanceRun { client, host, journal, read, given_up: BTreeSet::new() }
    }

    /// Carries the maintenance out, as far as possible. Nodes that an earlier program has taken out of service come
    /// first, also those that failed.
    pub fn carry_out(mut self) -> (CibMaintenanceEnd, CibMaintenanceRead) {
        let (ending, left) = match self.parts() {
            Ok(end) => end,
            Err(ending) => (ending, Vec::new()),
        };
        let mut all: Vec<LeftNode> = Vec::new();
        for progress in &self.read.nodes {
            let named = left.iter().find(|left| left.node == progress.name);
            let why = match (progress.stage, &progress.problem) {
                (CibNodeStage::Skipped, _) | (CibNodeStage::Done, None) => continue,
                (_, Some(problem)) => problem.clone(),
                (CibNodeStage::Left, None) => named.map_or("not begun".to_owned(), |left| left.why.clone()),
                (_, None) => "begun, not finished".to_owned(),
            };
            all.push(LeftNode { node: progress.name.clone(), why });
        }
        let ending = match ending {
            Ending::Done if !all.is_empty() => Ending::Failed,
            ending => ending,
        };
        if !matches!(ending, Ending::Unrecorded(_)) {
            let (at, word) = (self.millis(), ending.word().to_owned());
            // The run is over either way.
            let _ = self.record(&CibMaintenanceRecord::Closed { at, ending: word });
        }
        (CibMaintenanceEnd { ending, left: all }, self.read)
    }

    fn parts(&mut self) -> Result<(Ending, Vec<LeftNode>), Ending> {
        let mut has_failed = false;
        // A journal with nothing but its header was begun by this program, or did nothing yet.
        if self.read.lines > 1 {
            let at = self.millis();
            self.record(&CibMaintenanceRecord::Resumed { at })?;
            has_failed = self.take_up()?;
            self.wait_for_soak()?;
        }
        loop {
            if has_failed && self.read.header.terms.after_failure == AfterFailure::Stop {
                return Ok((Ending::Failed, Vec::new()));
            }
            if self.host.wants_to_stop() {
                return Err(Ending::Interrupted);
            }
            match self.next()? {
                NextPart::Batch(batch) => {
                    self.record(&CibMaintenanceRecord::Batch { batch })?;
                    self.host.batch(&self.read);
                    has_failed = self.work()?;
                }
                NextPart::Skip(nodes) => {
                    for left in nodes {
                        let (node, why) = (left.node.clone(), left.why.clone());
                        self.record(&CibMaintenanceRecord::Skipped { node, why })?;
                        self.host.event(&CibMaintenanceEvent::Skipped(left));
                    }
                }
                NextPart::Soak(time) => {
                    self.host.event(&CibMaintenanceEvent::Soaking(time));
                    let until = self.millis().saturating_add(millis(time));
                    self.record(&CibMaintenanceRecord::Soaking { until })?;
                    self.wait_for_soak()?;
                }
                NextPart::End { left, is_late: true } => return Ok((Ending::OutOfTime, left)),
                NextPart::End { left, is_late: false } => return Ok((Ending::Done, left)),
            }
        }
    }

    /// Goes on with the nodes that an earlier program has taken out of service. Returns true if some failed.
    fn take_up(&mut self) -> Result<bool, Ending> {
        let open = self.read.nodes.iter().filter(|progress| progress.stage.is_open());
        let nodes: Vec<String> = open.map(|progress| progress.name.clone()).collect();
        let Some(last) =
            self.read.batches.iter().rev().find(|batch| batch.nodes.iter().any(|n| nodes.contains(n)))
        else {
            return Ok(false);
        };
        let mut batch = CibBatch { nodes: nodes.clone(), ..last.clone() };
        let idle = |stage| matches!(stage, Some(CibNodeStage::Standby | CibNodeStage::Emptied));
        let emptied: Vec<String> = nodes.iter().filter(|n| idle(self.read.stage(n))).cloned().collect();
        let mut why = None;
        if !emptied.is_empty() {
            self.rest()?.map_err(Ending::Lost)?;
            let document = self.ask()?;
            let standby = CibChange::Together(emptied.iter().cloned().map(CibChange::Standby).collect());
            let made = standby.made_in(&document, SOURCE).map_err(|error| Ending::Lost(error.to_string()))?;
            let outlook = Foresight::of(&made, SOURCE).map_err(|error| Ending::Lost(error.to_string()))?;
            let down: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
            match outlook.expected() {
                None => why = Some("the cluster would not come to rest".to_owned()),
                Some(expected) => {
                    why = loss(&outlook.set, &batch.before, &expected, &down).map(|lost| lost.to_string());
                    batch.expected = expected;
                }
            }
        }
        self.record(&CibMaintenanceRecord::Batch { batch })?;
        self.host.batch(&self.read);
        let mut has_failed = false;
        if let Some(why) = why {
            self.fail(&emptied, why)?;
            self.call_off(&emptied)?;
            has_failed = true;
        }
        Ok(self.work()? || has_failed)
    }

    /// Plans the next part on the cluster as it is now.
    fn next(&mut self) -> Result<NextPart, Ending> {
        let terms = self.read.header.terms.clone();
        let own = self.persist(|client| client.own_node())?;
        let mut open = self.read.at(CibNodeStage::Left);
        open.retain(|node| !self.given_up.contains(node));
        let mut left = Vec::new();
        if let Some(own) = own.filter(|own| open.contains(own)) {
            open.retain(|node| *node != own);
            let why = "this program runs on it: resume the run on another node".to_owned();
            left.push(LeftNode { node: own, why });
        }
        if open.is_empty() {
            return Ok(NextPart::End { left, is_late: false });
        }
        let done = self.read.at(CibNodeStage::Done).len();
        if terms.canary > 0 && done >= terms.canary && terms.soak > 0 && self.read.soaks_until.is_none() {
            return Ok(NextPart::Soak(Duration::from_secs(terms.soak)));
        }
        let most = if done < terms.canary { terms.canary - done } else { usize::MAX };
        self.rest()?.map_err(Ending::Lost)?;
        let document = self.ask()?;
        let set = parse(&document, SOURCE).map_err(|error| Ending::Lost(error.to_string()))?;
        if let Some(unsupported) = set.unsupported.first().filter(|_| !terms.skip_unsupported) {
            return Err(Ending::Lost(format!(
                "it has an element with unknown effects: {} '{}'",
                unsupported.element, unsupported.id
            )));
        }
        let rules = self.rules(&set)?;
        let planner = StandbyPlanner::new(&document, SOURCE, &rules)
            .map_err(|error| Ending::Lost(error.to_string()))?;
        let batch = match planner.first(&open, most) {
            Ok(batch) => batch,
            Err(held) => {
                let all =
                    held.into_iter().map(|HeldNode { node, why }| LeftNode { node, why: why.to_string() });
                left.extend(all);
                return Ok(NextPart::End { left, is_late: false });
            }
        };
        let skipped = self.host.needless(&terms, &batch.nodes);
        if !skipped.is_empty() {
            return Ok(NextPart::Skip(skipped));
        }
        if !self.host.is_in_time() {
            return Ok(NextPart::End { left, is_late: true });
        }
        let expected = batch.outlook.expected().unwrap_or_default();
        let (before, tickets, failures) = (planner.before(), tickets(&set), failures(&set));
        Ok(NextPart::Batch(CibBatch { nodes: batch.nodes, before, expected, tickets, failures }))
    }

    /// Rules of the next batch. Nodes that failed and are out of service count as down.
    fn rules(&mut self, set: &WorkingSet) -> Result<StandbyRules, Ending> {
        let votes = self.persist(|client| client.votes())?.unwrap_or_else(|| ClusterVotes::of(set));
        let out = self.read.nodes.iter().filter(|progress| progress.stage.is_open());
        let out: Vec<&str> = out.map(|progress| progress.name.as_str()).collect();
        // Those that are away have no votes already.
        let members = out.iter().filter(|node| standing(set, node).is_ok()).count();
        let max_down = self.read.header.terms.max_down.unwrap_or(usize::MAX);
        let last = set.coordinator.map(|dc| set.host(dc).name.clone());
        Ok(StandbyRules {
            spare: votes.spare_nodes().saturating_sub(members),
            most: max_down.saturating_sub(out.len()),
            last: last.into_iter().collect(),
        })
    }

    /// Waits until the time of the last wait between batches is over.
    fn wait_for_soak(&mut self) -> Result<(), Ending> {
        let Some(until) = self.read.soaks_until else { return Ok(()) };
        loop {
            let left = until.saturating_sub(self.millis());
            if left == 0 {
                return Ok(());
            }
            if self.host.wants_to_stop() {
                return Err(Ending::Interrupted);
            }
            self.host.pause(SLICE.min(Duration::from_millis(left)));
        }
    }

    /// Waits until the cluster is at rest. The inner error is for a cluster that is not in time.
    pub(super) fn rest(&mut self) -> Result<Result<(), String>, Ending> {
        await_rest(self.client, self.host, ATTEMPTS, self.read.header.terms.rest)
    }

    /// Makes a change, unless it is made already.
    pub(super) fn make(&mut self, change: &CibChange) -> Result<Result<(), String>, Ending> {
        let document = self.ask()?;
        match change.is_made_in(&document, SOURCE) {
            Ok(false) => {}
            Ok(true) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error.to_string())),
        }
        let Err(error) = self.client.make(change) else { return Ok(Ok(())) };
        // The change may have been made all the same.
        let document = self.ask()?;
        Ok(match change.is_made_in(&document, SOURCE) {
            Ok(true) => Ok(()),
            _ => Err(error.to_string()),
        })
    }

    /// The document of the cluster.
    pub(super) fn ask(&mut self) -> Result<String, Ending> {
        self.persist(|client| client.document())
    }

    /// Asks until there is an answer, in a limited number of attempts.
    pub(super) fn persist<T>(
        &mut self,
        mut ask: impl FnMut(&mut dyn CibMaintenanceClient) -> Result<T, CibCallError>,
    ) -> Result<T, Ending> {
        persist(self.client, self.host, ATTEMPTS, |client| ask(client))
    }

    /// Applies a record to the state, and writes it to the journal. An impossible record is not written.
    pub(super) fn record(&mut self, record: &CibMaintenanceRecord) -> Result<(), Ending> {
        self.read.apply(record).map_err(Ending::Contradiction)?;
        self.journal.write(record).map_err(|error| Ending::Unrecorded(error.to_string()))
    }

    fn millis(&self) -> u64 {
        millis(self.host.now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
