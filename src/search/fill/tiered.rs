//! Filling with sizes that shrink when nothing more fits.

use super::Size;
use super::iterate::Filling;
use crate::model::{FailCounts, FailKind};

/// Fills with `size` and then with smaller ones, up to `limit` instances; says why
/// nothing more fits.
///
/// The limit is what Ganeti makes of it: each smaller size has the limit less
/// *all* instances placed so far, so that a run with several sizes ends early.
pub(super) fn fill(filling: &mut Filling<'_>, size: Size, limit: Option<i64>) -> FailCounts {
    let failures = filling.iterate(size, limit);
    let added = filling.added();
    if limit.is_some_and(|limit| limit <= added as i64) {
        return failures;
    }
    let limit = limit.map(|limit| limit - added as i64);
    // rarest first; the later kind counts as the more frequent one of two equals
    let mut kinds: Vec<(FailKind, u64)> = failures.iter().collect();
    kinds.sort_by_key(|k| k.1);
    let main = kinds.last().and_then(|(kind, _)| size.shrunk(*kind));
    if let Some(smaller) = main {
        let result = fill(filling, smaller, limit);
        if filling.added() > added {
            return result;
        }
    }
    match kinds.iter().rev().find_map(|(kind, _)| sufficient(filling, size, *kind)) {
        Some(smaller) => fill(filling, smaller, limit),
        None => failures,
    }
}

/// The first of the sizes that come by shrinking for one kind of failure (the size
/// itself included, the smallest not) of which an instance fits.
fn sufficient(filling: &Filling<'_>, size: Size, kind: FailKind) -> Option<Size> {
    let mut size = size;
    while let Some(smaller) = size.shrunk(kind) {
        let search = filling.attempt(size);
        if search.best.is_some() {
            return Some(size);
        }
        if search.failures.get(kind) == 0 {
            return None;
        }
        size = smaller;
    }
    None
}
