//! Questions to a cluster that does not always answer.

use std::time::Duration;

use super::client::JobClient;
use super::events::Event;
use super::report::Ending;
use super::runner::{MayEnd, Runner};
use crate::remote::CallError;

/// Maximum attempts with a connection that does not work.
const ATTEMPTS: u32 = 12;
/// Maximum attempts to submit the same jobs, if Ganeti certainly did not get them.
const SUBMISSIONS: u32 = 5;

impl Runner<'_> {
    /// Repeats a question until there is an answer, within limits.
    pub(super) fn persist<T>(
        &mut self,
        mut ask: impl FnMut(&mut dyn JobClient) -> Result<T, CallError>,
    ) -> MayEnd<T> {
        let mut attempt = 0;
        loop {
            match ask(self.client) {
                Ok(answer) => {
                    if attempt > 0 {
                        self.host.event(&Event::ConnectionBack);
                    }
                    return Ok(answer);
                }
                Err(error) => {
                    attempt += 1;
                    if attempt >= ATTEMPTS {
                        return Err(Ending::Lost(error.to_string()));
                    }
                    self.lost(&error, attempt);
                }
            }
        }
    }

    /// Reports a problem with the connection and pauses, longer each time.
    pub(super) fn lost(&mut self, error: &CallError, attempt: u32) {
        let pause = Duration::from_secs(1 << attempt.saturating_sub(1).min(4));
        self.host.event(&Event::ConnectionLost { problem: error.to_string(), attempt, pause });
        self.host.pause(pause);
    }

    /// Counts a failed attempt to submit.
    pub(super) fn submission_failed(&mut self, error: CallError) -> MayEnd<()> {
        self.failed_submissions += 1;
        if self.failed_submissions >= SUBMISSIONS {
            return Err(Ending::Lost(error.to_string()));
        }
        self.lost(&error, self.failed_submissions);
        Ok(())
    }
}
