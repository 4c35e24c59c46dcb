//! Limits of the system that programs meet: memory, threads, the size of files. Each is an error with a line and a status, and
//! none ends a program by a signal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Resource, getrlimit};
use signal_hook::consts::{SIGABRT, SIGXFSZ};
use signal_hook::flag;

/// The exit status where there is no memory.
const STATUS: i32 = 1;
/// Fewest processes of a user that are no limit for the threads of one program.
const PROCESSES: u64 = 4096;

/// Whether no other threads can begin.
static LACKS_THREADS: AtomicBool = AtomicBool::new(false);

/// Whether other threads can begin, for what is not worth an error.
pub(super) fn has_threads() -> bool {
    !LACKS_THREADS.load(Ordering::Relaxed)
}

/// Prepares a program for scarcity, before it does anything else. Should that fail, the system's way stays.
pub(super) fn prepare() {
    // writing fails then as on a full disk, and temporary files are removed
    let _ = flag::register(SIGXFSZ, Arc::default());
    // Rust tells on standard error that there is no memory, and aborts
    let _ = flag::register_conditional_shutdown(SIGABRT, STATUS, Arc::new(AtomicBool::new(true)));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    if threads_are_limited() && !can_begin(threads) {
        // the work is done all the same, by the thread that there is
        LACKS_THREADS.store(true, Ordering::Relaxed);
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
}

/// Whether threads may not be able to begin: their stacks take memory, and they count as processes.
fn threads_are_limited() -> bool {
    let processes = getrlimit(Resource::Nproc).current;
    getrlimit(Resource::As).current.is_some() || processes.is_some_and(|most| most < PROCESSES)
}

/// Whether so many threads can be there at the same time.
fn can_begin(threads: usize) -> bool {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        // none ends before all have begun
        let _closed = gate.lock();
        let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
        (0..threads).all(|_| thread::Builder::new().spawn_scoped(scope, wait).is_ok())
    })
}
