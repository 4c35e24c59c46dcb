//! Interrupts (Ctrl-C) during a search: the first one ends the search, not the program.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::SIGINT;
use signal_hook::{SigId, flag, low_level};

use crate::search::Deadline;

/// Signal handlers of the current search.
static HANDLERS: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Removes the handlers. Another listener must be active already.
pub(super) fn retire() {
    for handler in HANDLERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        low_level::unregister(handler);
    }
}

/// The deadline of a search that the user can interrupt.
pub(super) struct Interruptible {
    deadline: Deadline,
    interrupted: Arc<AtomicBool>,
}

impl Interruptible {
    /// Begins a search. The clock starts, and the first interrupt (Ctrl-C) only ends the search.
    ///
    /// # Errors
    /// If the system does not let the program handle interrupts.
    pub(super) fn begin(limit: Option<Duration>) -> anyhow::Result<Interruptible> {
        let interrupted = Arc::new(AtomicBool::new(false));
        // The handlers of an earlier search would end the program.
        retire();
        listen(&interrupted).context("cannot prepare for interrupts")?;
        Ok(Interruptible { deadline: Deadline::new(limit, Arc::clone(&interrupted)), interrupted })
    }
}

fn listen(interrupted: &Arc<AtomicBool>) -> io::Result<()> {
    // In the opposite order, the first interrupt would set the flag and then end the program.
    let handlers = [
        flag::register_conditional_default(SIGINT, Arc::clone(interrupted))?,
        flag::register(SIGINT, Arc::clone(interrupted))?,
    ];
    HANDLERS.lock().unwrap_or_else(PoisonError::into_inner).extend(handlers);
    Ok(())
}

impl Deref for Interruptible {
    type Target = Deadline;

    fn deref(&self) -> &Deadline {
        &self.deadline
    }
}

impl Drop for Interruptible {
    /// Ends the search: an interrupt ends the program again. The handlers cannot be removed, because the signal would
    /// then be ignored.
    fn drop(&mut self) {
        self.interrupted.store(true, Ordering::SeqCst);
    }
}
