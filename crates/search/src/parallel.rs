//! Work that threads share, and the account of how much of it can be done at the same time.
//!
//! Balancing, hsqueeze, hspace and hgroup divide their work here. The parts of a step of balancing take only some ten microseconds each,
//! and a thread that sleeps wakes too late for them. So `keep_awake` lets the other threads of the pool wait
//! actively as long as such parts follow each other.
//!
//! Clocks cannot show how a search would use more processors than there are. [`measure`] therefore counts
//! evaluations: all of them (the *work*), and the longest chain of those that follow each other if a number of
//! threads share the work (the *span*). It assumes that every evaluation takes the same time, and that the parts are
//! started in order, each by the first thread that is free.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::Yield;
use rayon::prelude::*;

/// Maximum number of threads that wait actively. More of them would mostly look for work in vain.
const MOST_AWAKE: usize = 7;

/// Time without work after which a thread no longer waits actively. It is longer than a step of balancing 1,000
/// nodes, and short enough to leave the processor to others while a search has no parallel parts.
const PATIENCE: Duration = Duration::from_micros(200);

/// Number of parts for each thread. With more than one, a thread that is done early helps the others.
const PARTS_PER_THREAD: usize = 2;

/// Number of short parts from which on it pays to wake threads, which takes some ten microseconds.
const PARTS_WORTH_WAKING: usize = 64;

/// Number of threads that wait actively, or are about to.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True while this thread waits actively.
    static WAITS: Cell<bool> = const { Cell::new(false) };
    /// Number of threads for which evaluations are counted; 0 if they are not.
    static COUNTED_FOR: Cell<usize> = const { Cell::new(0) };
    /// The counts of the parts that have begun, the innermost last.
    static COUNTS: RefCell<Vec<Evaluations>> = const { RefCell::new(Vec::new()) };
}

/// Evaluations of a search, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evaluations {
    /// All evaluations.
    pub work: u64,
    /// The longest chain of evaluations that follow each other.
    pub span: u64,
}

impl Evaluations {
    /// Adds evaluations that follow these.
    fn then(&mut self, next: Evaluations) {
        self.work += next.work;
        self.span += next.span;
    }
}

/// Lets other threads of the pool wait actively for the next parallel parts. It does nothing outside of the pool.
pub(crate) fn keep_awake() {
    let Some(own) = rayon::current_thread_index() else { return };
    let others = (rayon::current_num_threads() - 1).min(MOST_AWAKE);
    while AWAKE.load(Ordering::Relaxed) < others {
        AWAKE.fetch_add(1, Ordering::Relaxed);
        rayon::spawn(move || {
            // The thread of the search may take this job back while it waits, and must not be held up.
            if rayon::current_thread_index() != Some(own) && !WAITS.replace(true) {
                wait_actively();
                WAITS.set(false);
            }
            AWAKE.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Performs jobs of the pool until there are none for some time.
fn wait_actively() {
    let mut last_job = Instant::now();
    loop {
        match rayon::yield_now() {
            Some(Yield::Executed) => last_job = Instant::now(),
            _ if last_job.elapsed() > PATIENCE => break,
            // Leaves the processor to others that wait for it.
            _ => std::thread::yield_now(),
        }
    }
}

/// Applies `of` to all items, which take little time each. A thread takes at least `at_once` items at a time.
pub(crate) fn map<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T>,
    at_once: usize,
    of: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    if is_counted() {
        return in_turn(items, at_once, of);
    }
    if !pays(items.len(), at_once) {
        return items.map(of).collect();
    }
    items.collect::<Vec<T>>().into_par_iter().with_min_len(at_once).map(of).collect()
}

/// Like [`map`], for items that take long, with a state that a thread keeps from one item to the next.
pub(crate) fn map_with<T: Sync, S, R: Send>(
    items: &[T],
    state: impl Fn() -> S + Sync + Send,
    of: impl Fn(&mut S, &T) -> R + Sync + Send,
) -> Vec<R> {
    if is_counted() {
        let mut state = state();
        return in_turn(items.iter(), 1, |item| of(&mut state, item));
    }
    items.par_iter().map_init(state, of).collect()
}

/// Returns true if short work on so many items should be shared. Unless other threads wait actively for a thread of the
/// pool, it would take long until they have woken.
fn pays(items: usize, at_once: usize) -> bool {
    let is_awaited = rayon::current_thread_index().is_some() && AWAKE.load(Ordering::Relaxed) > 0;
    let least = if is_awaited { 2 } else { PARTS_WORTH_WAKING };
    items.div_ceil(at_once) >= least && rayon::current_num_threads() > 1
}

/// Number of items in each of a few parts for every thread, for parts that cost memory. It is at least `at_once`.
pub(crate) fn share(items: usize, at_once: usize) -> usize {
    items.div_ceil(PARTS_PER_THREAD * threads()).max(at_once)
}

/// Number of threads that a search can use.
pub(crate) fn threads() -> usize {
    if is_counted() { COUNTED_FOR.get() } else { rayon::current_num_threads() }
}

/// Lets each thread begin a state and take the next `at_once` items again and again, until `of` returns false or
/// no items are left. So all threads are at the first items together. Returns the states.
pub(crate) fn in_order<T: Sync, S: Send + Default>(
    items: &[T],
    at_once: usize,
    of: impl Fn(&mut S, &[T]) -> bool + Sync + Send,
) -> Vec<S> {
    if is_counted() {
        let mut state = S::default();
        let mut goes_on = true;
        in_turn(items.chunks(at_once), 1, |some| goes_on = goes_on && of(&mut state, some));
        return vec![state];
    }
    let next = OwnLine(AtomicUsize::new(0));
    let take = |_| {
        let mut state = S::default();
        while let Some(rest) = items.get(next.0.fetch_add(at_once, Ordering::Relaxed)..) {
            let some = &rest[..rest.len().min(at_once)];
            if some.is_empty() || !of(&mut state, some) {
                break;
            }
        }
        state
    };
    if !pays(items.len(), at_once) {
        return vec![take(0)];
    }
    let threads = rayon::current_num_threads().min(items.len().div_ceil(at_once));
    (0..threads).into_par_iter().with_max_len(1).map(take).collect()
}

/// Performs two tasks, at the same time if another thread is free.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if is_counted() {
        let (a, of_a) = part(2, a);
        let (b, of_b) = part(2, b);
        enter(&[of_a, of_b]);
        return (a, b);
    }
    rayon::join(a, b)
}

/// A value in a cache line of its own, so that threads that change it do not slow down those that read its neighbours.
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub T);

/// Counts a number of evaluations that follow each other.
#[inline]
pub(crate) fn note(evaluations: usize) {
    if is_counted() {
        let count = evaluations as u64;
        enter(&[Evaluations { work: count, span: count }]);
    }
}

/// Runs a search on this thread and counts its evaluations as if this number of threads shared the work.
pub fn measure<R>(threads: usize, run: impl FnOnce() -> R) -> (R, Evaluations) {
    counted(threads.max(1), run)
}

fn is_counted() -> bool {
    COUNTED_FOR.get() > 0
}

fn counted<R>(threads: usize, run: impl FnOnce() -> R) -> (R, Evaluations) {
    let before = COUNTED_FOR.replace(threads);
    COUNTS.with_borrow_mut(|open| open.push(Evaluations::default()));
    let result = run();
    COUNTED_FOR.set(before);
    (result, COUNTS.with_borrow_mut(Vec::pop).unwrap_or_default())
}

/// Runs one of `parts` parts. If there are fewer of them than threads, the part has several threads.
fn part<R>(parts: usize, run: impl FnOnce() -> R) -> (R, Evaluations) {
    counted((COUNTED_FOR.get() / parts.max(1)).max(1), run)
}

/// Handles items one after the other, and counts those of `at_once` items as a part.
fn in_turn<T, R>(
    items: impl ExactSizeIterator<Item = T>,
    at_once: usize,
    mut of: impl FnMut(T) -> R,
) -> Vec<R> {
    let count = items.len().div_ceil(at_once);
    let mut parts = vec![Evaluations::default(); count];
    let handle = |(at, item): (usize, T)| {
        let (result, evaluations) = part(count, || of(item));
        parts[at / at_once].then(evaluations);
        result
    };
    let results = items.enumerate().map(handle).collect();
    enter(&parts);
    results
}

/// Counts parts that can be done at the same time.
fn enter(parts: &[Evaluations]) {
    let mut busy_until = vec![0; COUNTED_FOR.get().min(parts.len())];
    for part in parts {
        if let Some(first_free) = busy_until.iter_mut().min() {
            *first_free += part.span;
        }
    }
    let work = parts.iter().map(|part| part.work).sum();
    let all = Evaluations { work, span: busy_until.into_iter().max().unwrap_or(0) };
    COUNTS.with_borrow_mut(|open| open.iter_mut().next_back().into_iter().for_each(|open| open.then(all)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spans with 1, 2, 4, 8 and 16 threads.
    fn spans(search: impl Fn()) -> [u64; 5] {
        [1, 2, 4, 8, 16].map(|threads| measure(threads, &search).1.span)
    }

    #[test]
    fn what_follows_adds_up_and_what_is_shared_does_not() {
        let search = || {
            note(10);
            let parts = map([3, 3, 3, 3, 4].into_iter(), 1, |evaluations| {
                note(evaluations);
                evaluations
            });
            assert_eq!(parts, [3, 3, 3, 3, 4]);
            // The parts have 6, 6 and 4 evaluations.
            map([3, 3, 3, 3, 4].into_iter(), 2, note);
        };
        assert_eq!(spans(search), [42, 10 + 10 + 10, 10 + 7 + 6, 10 + 4 + 6, 20]);
        assert_eq!(measure(4, search).1.work, 42);
    }

    #[test]
    fn parts_within_parts_share_the_threads() {
        let inner = || {
            map([5; 4].into_iter(), 1, note);
        };
        let both = || {
            join(inner, inner);
        };
        assert_eq!(spans(both), [40, 20, 10, 5, 5]);
        assert_eq!(measure(2, || ()).1, Evaluations::default());
    }

    #[test]
    fn all_items_are_taken_once_in_order() {
        let items: Vec<u32> = (0..1000).collect();
        let take = |own: &mut Vec<u32>, some: &[u32]| {
            own.extend(some);
            note(some.len());
            true
        };
        let check = |states: Vec<Vec<u32>>| {
            assert!(states.iter().all(|own| own.is_sorted()));
            let mut all = states.concat();
            all.sort_unstable();
            assert_eq!(all, items);
        };
        check(in_order(&items, 7, take));
        let (states, evaluations) = measure(16, || in_order(&items, 10, take));
        assert_eq!(evaluations, Evaluations { work: 1000, span: 70 });
        check(states);
        // A thread that wants no more ends.
        let few = |_: &mut (), some: &[u32]| {
            note(1);
            some[0] < 20
        };
        assert_eq!(measure(1, || in_order(&items, 10, few)).1.work, 3);
    }
}
