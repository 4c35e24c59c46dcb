//! Waiting for the end of a single job.

use std::time::Duration;

use super::client::JobClient;
use super::host::TrialError;
use super::job::{JobId, JobState, JobStatus, Watched};

/// Most calls that may end before the job does, or before it changes: each of them is a change, or takes `at_most`.
pub(super) const MOST_CALLS: usize = 300;

/// Waits until a job has ended well, in so many calls; for its next change at most so long in one of them.
///
/// # Errors
/// That it has not, or that nobody can say so.
pub(super) fn await_job(
    client: &mut dyn JobClient,
    id: JobId,
    at_most: Duration,
    calls: usize,
) -> Result<(), TrialError> {
    let mut status = JobStatus::Queued;
    for _ in 0..calls {
        let changes = client.next_change(&[Watched { id, status }], at_most)?;
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
