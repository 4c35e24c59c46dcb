//! Nodes that boot. They are polled now and then, and do not hold up anything else.

use std::time::Duration;

use super::course::AwaitedNode;
use super::host::{NodeTaskError, TrialError};
use super::job::{JobId, JobMark, JobState, JobStatus, WatchedJob};
use super::journal::Record;
use super::nodes::RETRY;
use super::runner::{MayEnd, Runner};
use htools_plan::opcode::Opcode;

impl Runner<'_> {
    /// Begins to wait for a node.
    pub(super) fn await_node(&mut self, mark: JobMark) -> MayEnd<()> {
        self.record(Record::Submitting { jobs: vec![mark] })?;
        let now = self.host.now();
        self.awaited.push(AwaitedNode { mark, began: now, next: now, trial: None });
        Ok(())
    }

    /// The trials under way.
    pub(super) fn trials(&self) -> impl Iterator<Item = WatchedJob> {
        self.awaited.iter().filter_map(|node| node.trial)
    }

    /// Time until the next trial of a node; `None` if no node waits for one.
    pub(super) fn next_trial(&self) -> Option<Duration> {
        let now = self.host.now();
        let waiting = self.awaited.iter().filter(|node| node.trial.is_none());
        waiting.map(|node| node.next.duration_since(now).unwrap_or_default()).min()
    }

    /// Starts trials of the nodes that are due.
    pub(super) fn try_nodes(&mut self) -> MayEnd<()> {
        for at in (0..self.awaited.len()).rev() {
            let node = &self.awaited[at];
            if node.trial.is_some() || node.next > self.host.now() {
                continue;
            }
            let opcode = Opcode::set_offline(&self.header.work.step(node.mark.step).subject, false);
            match self.client.try_out(&self.header.run, &opcode) {
                Ok(id) => self.awaited[at].trial = Some(WatchedJob { id, status: JobStatus::Queued }),
                Err(error) => self.not_yet(at, error.into())?,
            }
        }
        Ok(())
    }

    /// Processes Ganeti's answer about a trial; false if the job is not a trial.
    pub(super) fn take_trial(&mut self, id: JobId, state: &JobState) -> MayEnd<bool> {
        let is_it = |node: &AwaitedNode| node.trial.is_some_and(|trial| trial.id == id);
        let Some(at) = self.awaited.iter().position(is_it) else { return Ok(false) };
        match state.status {
            Some(JobStatus::Success) => {
                let AwaitedNode { mark, .. } = self.awaited.remove(at);
                self.record(Record::Performed { mark, took: None })?;
                self.tell_of_end(mark.step);
            }
            Some(status) if !status.is_final() => {
                self.awaited[at].trial = Some(WatchedJob { id, status });
            }
            Some(_) => {
                let last = state.message.clone().map_or(TrialError::Failed(id), TrialError::Refused);
                self.not_yet(at, last)?;
            }
            None => self.not_yet(at, TrialError::Gone(id))?,
        }
        Ok(true)
    }

    /// Handles a node that does not answer: it is tried again or given up.
    fn not_yet(&mut self, at: usize, last: TrialError) -> MayEnd<()> {
        let (now, limit) = (self.host.now(), self.terms.boot);
        let node = &mut self.awaited[at];
        (node.trial, node.next) = (None, now + RETRY);
        if now.duration_since(node.began).unwrap_or_default() + RETRY <= limit {
            return Ok(());
        }
        let AwaitedNode { mark, .. } = self.awaited.remove(at);
        let why = NodeTaskError::NoAnswer { seconds: limit.as_secs(), last }.to_string();
        self.record(Record::Failed { mark, why })?;
        self.tell_of_end(mark.step);
        Ok(())
    }
}
