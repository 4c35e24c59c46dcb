//! In which order resources are placed.

use std::cmp::Reverse;

use super::index::ResourceIdx;
use super::preference::Preference;
use super::score::{AllocationScore, ScoreTable};
use super::wishes::Wishes;
use super::working_set::{Strategy, WorkingSet};

/// The primitives and groups of the outermost level, first placed first: by priority, and where capacities count,
/// by what they are worth where they run, then by their scores on the best hosts.
pub(super) fn sequence(
    set: &WorkingSet,
    strategy: Strategy,
    wishes: &mut Wishes<'_>,
    preference: &Preference<'_>,
    tables: &[ScoreTable],
) -> Vec<ResourceIdx> {
    let mut sequence: Vec<ResourceIdx> = set.top_level().collect();
    if strategy == Strategy::Default {
        sequence.sort_by_key(|resource| Reverse(set.resource(*resource).priority));
        return sequence;
    }
    let hosts = preference.sorted(&base_scores(set), None);
    sequence.sort_by_cached_key(|resource| {
        let table = wishes.with_primaries(tables, *resource);
        let here = set
            .resource(*resource)
            .active
            .map_or(AllocationScore::MINUS_INFINITY, |host| table.or_never(host));
        (Reverse(set.resource(*resource).priority), Reverse(here), Reverse(table.in_order(&hosts)))
    });
    sequence
}

/// What every host is worth by itself.
fn base_scores(set: &WorkingSet) -> ScoreTable {
    let mut table = ScoreTable::empty(set.hosts.len());
    set.host_indices().for_each(|host| table.set(host, set.host(host).base));
    table
}
