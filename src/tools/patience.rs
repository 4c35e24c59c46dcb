//! How long a search may go on: until the time is up, or until the user
//! interrupts it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGINT;
use signal_hook::{SigId, flag, low_level};

use crate::report::json::plan::Stopped;

/// What happens at an interrupt, for all searches.
static HANDLERS: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Leaves interrupts to others, who must listen already.
pub fn retire() {
    for handler in HANDLERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        low_level::unregister(handler);
    }
}

/// Patience with a search, to be asked between its steps.
pub struct Patience {
    began: Instant,
    limit: Option<Duration>,
    interrupted: Arc<AtomicBool>,
}

impl Patience {
    /// Begins a search. From now on the clock runs, and the first interrupt
    /// (Ctrl-C) is only noted.
    ///
    /// # Errors
    /// If the system does not let the program handle interrupts.
    pub fn begin(limit: Option<Duration>) -> io::Result<Patience> {
        let interrupted = Arc::new(AtomicBool::new(false));
        // an earlier search would end the program
        retire();
        // this order, or the first interrupt would find its own note and end the program
        let handlers = [
            flag::register_conditional_default(SIGINT, Arc::clone(&interrupted))?,
            flag::register(SIGINT, Arc::clone(&interrupted))?,
        ];
        HANDLERS.lock().unwrap_or_else(PoisonError::into_inner).extend(handlers);
        Ok(Patience { began: Instant::now(), limit, interrupted })
    }

    /// The time since the search began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Why the search should end now, if it should.
    pub fn exhausted(&self) -> Option<Stopped> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Some(Stopped::Interrupt);
        }
        let late = self.limit.is_some_and(|limit| self.elapsed() >= limit);
        late.then_some(Stopped::TimeLimit)
    }
}

impl Drop for Patience {
    /// Ends the search: an interrupt ends the program again. Taking the handlers
    /// back would not do, since the signal would then be ignored.
    fn drop(&mut self) {
        self.interrupted.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without handlers, which are the whole process's.
    fn patience(limit: Option<Duration>, interrupted: bool) -> Patience {
        Patience { began: Instant::now(), limit, interrupted: Arc::new(AtomicBool::new(interrupted)) }
    }

    #[test]
    fn time_passes() {
        assert_eq!(patience(None, false).exhausted(), None);
        assert_eq!(patience(Some(Duration::MAX), false).exhausted(), None);
        assert_eq!(patience(Some(Duration::ZERO), false).exhausted(), Some(Stopped::TimeLimit));
    }

    #[test]
    fn an_interrupt_counts_before_the_time() {
        for limit in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            assert_eq!(patience(limit, true).exhausted(), Some(Stopped::Interrupt));
        }
    }
}
