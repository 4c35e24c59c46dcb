//! Interrupts (Ctrl-C) while a program searches: the first one ends the search,
//! not the program.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::SIGINT;
use signal_hook::{SigId, flag, low_level};

use crate::search::Deadline;

/// What happens at an interrupt, for all searches.
static HANDLERS: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Leaves interrupts to others, who must listen already.
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
    /// Begins a search. From now on the clock runs, and the first interrupt
    /// (Ctrl-C) is only noted.
    ///
    /// # Errors
    /// If the system does not let the program handle interrupts.
    pub(super) fn begin(limit: Option<Duration>) -> anyhow::Result<Interruptible> {
        let interrupted = Arc::new(AtomicBool::new(false));
        // an earlier search would end the program
        retire();
        listen(&interrupted).context("cannot prepare for interrupts")?;
        Ok(Interruptible { deadline: Deadline::new(limit, Arc::clone(&interrupted)), interrupted })
    }
}

fn listen(interrupted: &Arc<AtomicBool>) -> io::Result<()> {
    // this order, or the first interrupt would find its own note and end the program
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
    /// Ends the search: an interrupt ends the program again. Taking the handlers
    /// back would not do, since the signal would then be ignored.
    fn drop(&mut self) {
        self.interrupted.store(true, Ordering::SeqCst);
    }
}
