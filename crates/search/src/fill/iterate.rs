//! Filling with one size.

use super::Size;
use super::filling::Filling;
use htools_model::FailCounts;

/// Number of instances placed between two checks of redundancy, once the first, large batch was too large.
const SMALL_BATCH: i64 = 10;
/// Minimum number of instances in a large batch.
const LARGE_BATCH: i64 = 20;

/// Places as many instances as fit, up to `limit`. Returns the refusals of the last attempt.
///
/// As in Ganeti, redundancy is checked after batches, and after single placements only where a batch would end
/// it. The counts of refusals are those of the last attempt, in a batch or not. With a secondary node, single
/// placements are never checked.
pub(super) fn iterate(filling: &mut Filling<'_>, size: Size, limit: Option<i64>) -> FailCounts {
    if !filling.is_checked() {
        return filling.steps(size, limit, false);
    }
    let mut large = true;
    let mut limit = limit;
    loop {
        let batch = if large { large_batch(filling, size) } else { SMALL_BATCH };
        let before = filling.added();
        let failures = filling.steps(size, Some(limit.map_or(batch, |l| l.min(batch))), false);
        let redundant = filling.is_redundant();
        if filling.stopped().is_some() {
            if !redundant {
                filling.back_to(before);
            }
            return failures;
        }
        if redundant {
            let left = limit.map(|l| l - batch);
            if left.is_some_and(|left| left <= 0) || filling.added() == before {
                return failures;
            }
            limit = left;
        } else {
            filling.back_to(before);
            if !large {
                return filling.steps(size, limit, true);
            }
            large = false;
        }
    }
}

/// The number of instances that fit into the available memory, minus one for each node.
fn large_batch(filling: &Filling<'_>, size: Size) -> i64 {
    let most = filling.memory_available().0.checked_div_euclid(size.memory.0).unwrap_or(0);
    most.saturating_sub(filling.node_count() as i64).max(LARGE_BATCH)
}
