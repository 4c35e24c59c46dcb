//! Time limit and interruption of a search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Reason that a search ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The time was up.
    TimeLimit,
    /// The user interrupted it.
    Interrupt,
}

impl Stopped {
    /// The subject of a sentence that reports it.
    pub fn subject(self) -> &'static str {
        match self {
            Stopped::TimeLimit => "The time limit",
            Stopped::Interrupt => "An interrupt",
        }
    }
}

/// The end of a search: a time limit, or an interruption by the user. Searches check it between steps, at points where
/// they have a complete answer, and return the best found so far.
#[derive(Debug, Clone)]
pub struct Deadline {
    began: Instant,
    limit: Option<Duration>,
    interrupted: Arc<AtomicBool>,
}

impl Deadline {
    /// Starts the clock; without `limit` there is no time limit. Setting `interrupted` to true ends the search at once.
    pub fn new(limit: Option<Duration>, interrupted: Arc<AtomicBool>) -> Deadline {
        Deadline { began: Instant::now(), limit, interrupted }
    }

    /// A deadline that is never reached.
    pub fn never() -> Deadline {
        Deadline::new(None, Arc::default())
    }

    /// The reason to end the search before `item` (0 for the first), if there is one. However short the time, the first
    /// item is always examined.
    pub fn reached_before(&self, item: usize) -> Option<Stopped> {
        if item == 0 { None } else { self.reached() }
    }

    /// The time since the search began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The reason to end the search now, if there is one.
    pub fn reached(&self) -> Option<Stopped> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Some(Stopped::Interrupt);
        }
        let late = self.limit.is_some_and(|limit| self.elapsed() >= limit);
        late.then_some(Stopped::TimeLimit)
    }
}

impl Default for Deadline {
    fn default() -> Deadline {
        Deadline::never()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes() {
        assert_eq!(Deadline::never().reached(), None);
        let limited = |limit| Deadline::new(Some(limit), Arc::default());
        assert_eq!(limited(Duration::MAX).reached(), None);
        assert_eq!(limited(Duration::ZERO).reached(), Some(Stopped::TimeLimit));
    }

    #[test]
    fn an_interrupt_counts_before_the_time() {
        for limit in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            let interrupted = Arc::new(AtomicBool::new(false));
            let deadline = Deadline::new(limit, Arc::clone(&interrupted));
            interrupted.store(true, Ordering::SeqCst);
            assert_eq!(deadline.reached(), Some(Stopped::Interrupt));
        }
    }
}
