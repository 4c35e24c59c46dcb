//! Surroundings of a run besides the cluster, and questions to a cluster that may not answer at once.

use std::thread;
use std::time::{Duration, SystemTime};

use super::client::{CibCallError, CibClient};
use super::task::difference;
use crate::cib::parse;
use crate::pinning::{ExpectedPlace, current};
use htools_ganeti::execute::Ending;

/// Longest time to wait for the cluster before looking for a request to stop.
pub(super) const SLICE: Duration = Duration::from_secs(3);
/// Pause before a cluster that does not answer is asked again.
const PAUSE: Duration = Duration::from_secs(2);
/// Source of documents, for errors.
pub(super) const SOURCE: &str = "the cluster";

/// Surroundings of a run besides the cluster.
pub trait CibSurroundings {
    /// Called when the cluster does not answer; it will be asked again.
    fn unanswered(&mut self, why: String);
    /// Returns true if nothing more should be begun.
    fn wants_to_stop(&self) -> bool;
    /// Lets time pass.
    fn pause(&mut self, time: Duration) {
        thread::sleep(time);
    }
    /// The present time.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Asks until there is an answer, in at most `attempts` attempts.
pub(super) fn persist<C: ?Sized, T>(
    client: &mut C,
    host: &mut dyn CibSurroundings,
    attempts: u32,
    mut ask: impl FnMut(&mut C) -> Result<T, CibCallError>,
) -> Result<T, Ending> {
    let mut attempt = 0;
    loop {
        let error = match ask(client) {
            Ok(answer) => return Ok(answer),
            Err(error) => error.to_string(),
        };
        attempt += 1;
        if attempt == attempts {
            return Err(Ending::Lost(error));
        }
        host.unanswered(error);
        host.pause(PAUSE);
    }
}

/// Waits for the cluster in slices, so that a request to stop can end the wait. The inner error is for a cluster that is
/// not at rest within `limit` seconds.
pub(super) fn await_rest<C: CibClient + ?Sized>(
    client: &mut C,
    host: &mut dyn CibSurroundings,
    attempts: u32,
    limit: u64,
) -> Result<Result<(), String>, Ending> {
    let end = host.now() + Duration::from_secs(limit);
    loop {
        if persist(client, host, attempts, |client| client.await_rest(SLICE))? {
            return Ok(Ok(()));
        }
        if host.wants_to_stop() {
            return Err(Ending::Interrupted);
        }
        if host.now() >= end {
            return Ok(Err(format!("the cluster was not at rest within {limit} s")));
        }
    }
}

/// Compares the places of resources in a document with the expected ones.
///
/// # Errors
/// The first difference, or the reason that the document cannot be read.
pub(super) fn compare(expected: &[ExpectedPlace], document: &str) -> Result<(), String> {
    match parse(document, SOURCE) {
        Ok(set) => difference(expected, &current(&set)).map_or(Ok(()), Err),
        Err(error) => Err(error.to_string()),
    }
}
