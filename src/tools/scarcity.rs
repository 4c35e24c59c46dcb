//! Handling of scarce system resources: memory, threads, file size. The program ends with an error message and a
//! status instead of a signal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, thread};

use rustix::process::{Resource, getrlimit};
use signal_hook::consts::{SIGABRT, SIGXFSZ};
use signal_hook::flag;

/// Exit status if memory is exhausted.
const STATUS: i32 = 1;
/// A process limit of at least this does not restrict the threads of one program.
const PROCESSES: u64 = 4096;

/// True if no further threads can start.
static LACKS_THREADS: AtomicBool = AtomicBool::new(false);

/// Tells if further threads can start, for features that are not worth an error.
pub(super) fn has_threads() -> bool {
    !LACKS_THREADS.load(Ordering::Relaxed)
}

/// Prepares the program for scarcity; must run first. If a preparation fails, the system's behaviour stays.
pub(super) fn prepare() {
    // Writing then fails as on a full disk, and temporary files are removed.
    let _ = flag::register(SIGXFSZ, Arc::default());
    // If memory is exhausted, Rust prints a message and aborts.
    let _ = flag::register_conditional_shutdown(SIGABRT, STATUS, Arc::new(AtomicBool::new(true)));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    if threads_are_limited() && !can_begin(threads) {
        // A single thread can do all the work.
        LACKS_THREADS.store(true, Ordering::Relaxed);
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
}

/// Sets the number of threads that searches use. It must be called before any search starts, and has no effect if the
/// system has no room for so many threads. Without a number the first search starts its threads.
///
/// If all threads share each step of the search, this thread becomes one of them: it would take longer to hand a part of
/// a step to another thread than to do it. Their number is then that of `RAYON_NUM_THREADS`, or of the processors. A
/// single thread of the pool is always another one, because it must also serve threads that are not in the pool.
pub(super) fn use_threads(count: Option<usize>, shares_steps: bool) {
    let named = || env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|count| *count > 0);
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    let by_default = || shares_steps.then(|| named().unwrap_or_else(processors));
    let Some(threads) = count.or_else(by_default) else { return };
    if has_threads() && (!threads_are_limited() || can_begin(threads)) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let joins = shares_steps && threads > 1;
        let _ = if joins { pool.use_current_thread() } else { pool }.build_global();
    }
}

/// Tells if threads may fail to start: their stacks take memory, and they count as processes.
fn threads_are_limited() -> bool {
    let processes = getrlimit(Resource::Nproc).current;
    getrlimit(Resource::As).current.is_some() || processes.is_some_and(|most| most < PROCESSES)
}

/// Tells if this number of threads can exist at the same time.
fn can_begin(threads: usize) -> bool {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        // No thread ends before all have started.
        let _closed = gate.lock();
        let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
        (0..threads).all(|_| thread::Builder::new().spawn_scoped(scope, wait).is_ok())
    })
}
