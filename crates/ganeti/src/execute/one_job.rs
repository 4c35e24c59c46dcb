//! Waiting for the end of a single job.

use std::time::Duration;

use super::client::JobClient;
use super::host::TrialError;
use super::job::{JobId, JobState, JobStatus, WatchedJob};

/// Maximum number of calls before the job ends. Each call returns at a change, or after `at_most`.
pub(super) const MOST_CALLS: usize = 300;

/// Waits until a job has succeeded, for at most `calls` calls of at most `at_most` each.
///
/// # Errors
/// If the job did not succeed, or its state cannot be determined.
pub(super) fn await_job(
    client: &mut dyn JobClient,
    id: JobId,
    at_most: Duration,
    calls: usize,
) -> Result<(), TrialError> {
    let mut status = JobStatus::Queued;
    for _ in 0..calls {
        let changes = client.next_change(&[WatchedJob { id, status }], at_most)?;
        let state = match changes.into_iter().next_back() {
            Some((_, state)) => state,
            None => client.states(&[id])?.into_iter().next().unwrap_or_default(),
        };
        let JobState { status: Some(now), message, .. } = state else { return Err(TrialError::Gone(id)) };
        match now {
            JobStatus::Success => return Ok(()),
            _ if now.is_final() => return Err(message.map_or(TrialError::Failed(id), TrialError::Refused)),
            _ => status = now,
        }
    }
    Err(TrialError::Endless(id))
}
