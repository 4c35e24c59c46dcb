//! Filling with sizes that shrink when nothing more fits.
//!
//! The rules are Ganeti's, which states them as a recursion: fill with a size; then
//! with the next smaller one for the most frequent reason of refusal, and so on; if
//! none of these ever fits, go back and look, size by size, for any shrinking that
//! makes an instance fit. Here the sizes that have led to nothing yet are a stack,
//! and what was found out about a state is remembered, within limits, until the state changes.

use std::collections::HashMap;

use super::Size;
use super::filling::Filling;
use super::iterate::iterate;
use super::size::Thresholds;
use htools_model::{FailCounts, FailKind};

/// A size with which nothing could be placed in the present state, or with which
/// something was placed last.
struct Level {
    size: Size,
    /// The limit for what comes after it.
    limit: Option<i64>,
    failures: FailCounts,
}

/// Fills with `size` and then with smaller ones, up to `limit` instances; says why
/// nothing more fits.
///
/// The limit is what Ganeti makes of it: each smaller size has the limit less
/// *all* instances placed so far, so that a run with several sizes ends early.
pub(super) fn fill(filling: &mut Filling<'_>, size: Size, limit: Option<i64>) -> FailCounts {
    let thresholds = filling.thresholds();
    let mut memory = KnownFits::default();
    let mut levels: Vec<Level> = Vec::new();
    let mut next = (size, limit);
    loop {
        let (size, limit) = next;
        let before = filling.added();
        let failures = iterate(filling, size, limit);
        let added = filling.added();
        if filling.stopped().is_some() {
            return failures;
        }
        if added > before {
            // what comes now is the result, whatever was tried before
            levels.clear();
            memory = KnownFits::default();
        }
        let mut result = failures;
        let left = limit.map(|limit| limit - added as i64);
        if left.is_none_or(|left| left > 0) {
            let level = Level { size, limit: left, failures };
            let smaller = most_frequent(&failures).and_then(|kind| size.shrunk(kind));
            if let Some(smaller) = smaller {
                next = skip(&thresholds, level.failures, smaller, left, added as i64);
                levels.push(level);
                continue;
            }
            levels.push(level);
        }
        // nothing fits any more: back through the sizes
        let resumed = loop {
            let Some(level) = levels.pop() else { return result };
            result = level.failures;
            let reasons = by_frequency(&level.failures);
            let found = reasons
                .into_iter()
                .find_map(|kind| memory.sufficient(filling, &thresholds, level.size, kind));
            if let Some(smaller) = found {
                break (smaller, level.limit);
            }
        };
        next = resumed;
    }
}

/// Reasons of refusal from the most to the least frequent; of equals the later one
/// first.
fn by_frequency(failures: &FailCounts) -> Vec<FailKind> {
    let mut kinds: Vec<(FailKind, u64)> = failures.iter().collect();
    kinds.sort_by_key(|k| k.1);
    kinds.into_iter().rev().map(|k| k.0).collect()
}

fn most_frequent(failures: &FailCounts) -> Option<FailKind> {
    by_frequency(failures).first().copied()
}

/// Leaves out sizes with which the same happens as with the one before: those that
/// are beyond all limits in what they shrink in. Each size left out takes its part of
/// the limit all the same.
fn skip(
    thresholds: &Thresholds,
    failures: FailCounts,
    size: Size,
    limit: Option<i64>,
    added: i64,
) -> (Size, Option<i64>) {
    let Some(kind) = most_frequent(&failures) else { return (size, limit) };
    let steps = thresholds.idle_steps(size, kind);
    let steps = match limit {
        // as many as the limit allows
        Some(limit) if added > 0 => steps.min((limit - 1) / added),
        _ => steps,
    };
    (thresholds.shrunk_by(size, kind, steps), limit.map(|limit| limit - steps * added))
}

/// How many sizes are remembered at most; what is forgotten is found out again.
const MOST_SIZES: usize = 1 << 15;

/// What is known about the present state.
#[derive(Default)]
struct KnownFits {
    attempts: HashMap<Size, (bool, FailCounts)>,
    sufficient: HashMap<(Size, FailKind), Option<Size>>,
}

impl KnownFits {
    /// Whether an instance of a size fits, and why not.
    fn attempt(&mut self, filling: &mut Filling<'_>, size: Size) -> (bool, FailCounts) {
        if self.attempts.len() >= MOST_SIZES {
            self.attempts.clear();
        }
        *self.attempts.entry(size).or_insert_with(|| {
            let search = filling.attempt(size);
            (search.best.is_some(), search.failures)
        })
    }

    /// The first of the sizes that come by shrinking for one reason (the size itself
    /// included, the smallest not) of which an instance fits. The search ends where
    /// the reason is none any more.
    fn sufficient(
        &mut self,
        filling: &mut Filling<'_>,
        thresholds: &Thresholds,
        size: Size,
        kind: FailKind,
    ) -> Option<Size> {
        // a size that cannot be made smaller is not looked at, others are in vain if none can fit
        if !filling.could_fit(size, kind) {
            return None;
        }
        let mut passed = Vec::new();
        let mut at = size;
        let found = loop {
            if let Some(known) = self.sufficient.get(&(at, kind)) {
                break *known;
            }
            let Some(smaller) = at.shrunk(kind) else { break None };
            if filling.stopped().is_some() {
                return None;
            }
            if passed.len() < MOST_SIZES {
                passed.push(at);
            }
            let (fits, failures) = self.attempt(filling, at);
            if fits {
                break Some(at);
            }
            if failures.get(kind) == 0 {
                break None;
            }
            at = thresholds.shrunk_by(smaller, kind, thresholds.idle_steps(smaller, kind));
        };
        if self.sufficient.len() + passed.len() > MOST_SIZES {
            self.sufficient.clear();
        }
        for size in passed {
            self.sufficient.insert((size, kind), found);
        }
        found
    }
}
