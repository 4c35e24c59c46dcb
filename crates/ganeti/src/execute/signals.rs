//! Signals during the execution of a plan.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals as Incoming;

/// Request that a signal makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalWish {
    /// No new jobs; wait for those under way (the first SIGINT).
    Stop,
    /// Leave at once (SIGTERM, or another SIGINT).
    Leave,
}

/// Listens to SIGINT, SIGTERM and SIGUSR1 from now on.
pub struct Signals {
    stop: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    busy: Arc<Mutex<()>>,
}

impl Signals {
    /// Begins to listen, on a thread of its own. Calls `on_request` on it for every request; after [`SignalWish::Leave`] the
    /// program ends with `status`.
    ///
    /// # Errors
    /// If the system does not let the program handle signals.
    pub fn listen(status: i32, on_request: impl Fn(SignalWish) + Send + 'static) -> io::Result<Signals> {
        let mut incoming = Incoming::new([SIGINT, SIGTERM, SIGUSR1])?;
        let stop = Arc::new(AtomicBool::new(false));
        let paused = Arc::new(AtomicBool::new(false));
        let busy = Arc::new(Mutex::new(()));
        let signals =
            Signals { stop: Arc::clone(&stop), paused: Arc::clone(&paused), busy: Arc::clone(&busy) };
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in incoming.forever() {
                if signal == SIGUSR1 {
                    paused.fetch_xor(true, Ordering::SeqCst);
                    continue;
                }
                let first = !stop.swap(true, Ordering::SeqCst);
                if signal == SIGINT && first {
                    on_request(SignalWish::Stop);
                } else {
                    let _quiet = wait_for(&busy);
                    on_request(SignalWish::Leave);
                    std::process::exit(status);
                }
            }
        })?;
        Ok(signals)
    }

    /// Tells if no new jobs should be submitted.
    pub fn wants_to_stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Tells if new jobs should wait: each SIGUSR1 toggles this.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// Runs an action that the end of the program must not interrupt, such as writing a line.
    pub fn whole<R>(&self, action: impl FnOnce() -> R) -> R {
        let _busy = self.busy.lock();
        action()
    }
}

/// Waits until nothing is being written, but not for long, since the reader of a pipe may be stuck.
fn wait_for(busy: &Mutex<()>) -> Option<std::sync::MutexGuard<'_, ()>> {
    for _ in 0..50 {
        match busy.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(_)) => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
        }
    }
    None
}
