//! Filling with sizes that shrink when nothing more fits.
//!
//! The rules are Ganeti's, which defines them as a recursion:
//!
//! 1. Fill with a size, then with the next smaller one for the most frequent reason of refusal, and so on.
//! 2. If none of these ever fits, go back through the sizes and look for any shrinking that makes an instance
//!    fit.
//!
//! Here the sizes without success so far are a stack. Results for the present state are remembered, within
//! limits, until the state changes.

use std::collections::HashMap;

use super::Size;
use super::filling::Filling;
use super::iterate::iterate;
use super::size::Thresholds;
use htools_model::{FailCounts, FailKind};

/// A size with which nothing could be placed in the present state, or the one with which the last instance was
/// placed.
struct Level {
    size: Size,
    /// The limit for the sizes after it.
    limit: Option<i64>,
    failures: FailCounts,
}

/// Fills with `size` and then with smaller sizes, up to `limit` instances. Returns the refusals of the last
/// attempt.
///
/// As in Ganeti, each smaller size has the limit minus *all* instances placed so far, so that a run with
/// several sizes ends early.
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
            // Something fitted, so the results of earlier sizes no longer matter.
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
        // Nothing fits any more, so go back through the sizes.
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

/// Reasons of refusal, most frequent first; among equals, the later kind comes first.
fn by_frequency(failures: &FailCounts) -> Vec<FailKind> {
    let mut kinds: Vec<(FailKind, u64)> = failures.iter().collect();
    kinds.sort_by_key(|k| k.1);
    kinds.into_iter().rev().map(|k| k.0).collect()
}

fn most_frequent(failures: &FailCounts) -> Option<FailKind> {
    by_frequency(failures).first().copied()
}

/// Skips sizes that give the same result as the one before, since they exceed all limits in the shrinking
/// resource. Each skipped size still takes its part of the limit.
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
        // As many as the limit allows.
        Some(limit) if added > 0 => steps.min((limit - 1) / added),
        _ => steps,
    };
    (thresholds.shrunk_by(size, kind, steps), limit.map(|limit| limit - steps * added))
}

/// Maximum number of sizes that are remembered; others are computed again.
const MOST_SIZES: usize = 1 << 15;

/// Results for the present state.
#[derive(Default)]
struct KnownFits {
    attempts: HashMap<Size, (bool, FailCounts)>,
    sufficient: HashMap<(Size, FailKind), Option<Size>>,
}

impl KnownFits {
    /// Returns true if an instance of the size fits, and the refusals.
    fn attempt(&mut self, filling: &mut Filling<'_>, size: Size) -> (bool, FailCounts) {
        if self.attempts.len() >= MOST_SIZES {
            self.attempts.clear();
        }
        *self.attempts.entry(size).or_insert_with(|| {
            let search = filling.attempt(size);
            (search.best.is_some(), search.failures)
        })
    }

    /// The first size with which an instance fits, among those reached by shrinking for one reason. The size
    /// itself is included, the smallest is not. The search ends where the reason no longer occurs.
    fn sufficient(
        &mut self,
        filling: &mut Filling<'_>,
        thresholds: &Thresholds,
        size: Size,
        kind: FailKind,
    ) -> Option<Size> {
        // A size that cannot shrink is skipped, and so are all if none of the smaller sizes can fit.
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
