//! Order in which resources are placed.

use std::cmp::Reverse;

use super::index::ResourceIdx;
use super::preference::Preference;
use super::score::{AllocationScore, ScoreTable};
use super::shown_order::by_shown_name;
use super::wishes::Wishes;
use super::working_set::{Resource, Strategy, WorkingSet};

/// The top-level resources in the order of their turns, by priority. If capacities count, the scores where they run
/// decide next, then their scores on the best hosts. Connections to guest nodes come before all others.
pub(super) fn sequence(
    set: &WorkingSet,
    strategy: Strategy,
    wishes: &mut Wishes<'_>,
    preference: &Preference,
    tables: &[ScoreTable],
) -> Vec<ResourceIdx> {
    let mut sequence = ranked(set, strategy, wishes, preference, tables);
    let connections: Vec<ResourceIdx> = set.guests().map(|(_, parts)| parts.connection).collect();
    if !connections.is_empty() {
        sequence.sort_by_key(|resource| !connections.contains(resource));
    }
    sequence
}

fn ranked(
    set: &WorkingSet,
    strategy: Strategy,
    wishes: &mut Wishes<'_>,
    preference: &Preference,
    tables: &[ScoreTable],
) -> Vec<ResourceIdx> {
    let mut sequence: Vec<ResourceIdx> = set.top_level().collect();
    if strategy == Strategy::Default {
        // Pacemaker adds orphans only after it has sorted the other resources.
        let turn = |resource: &Resource| (resource.orphaned, Reverse(resource.priority));
        sequence.sort_by_key(|resource| turn(set.resource(*resource)));
        return sequence;
    }
    let hosts = preference.sorted(by_shown_name(set), &set.base_scores(), None);
    let mut ranked: Vec<RankedResource> = sequence
        .into_iter()
        .map(|resource| {
            let table = wishes.with_primaries(tables, resource);
            let details = set.resource(resource);
            // For a clone, the first instance counts whose host is online or must be fenced. Since Pacemaker 3.0, the same
            // applies to the containers of a bundle.
            let is_by_part = set.bundle(resource).is_none() || !set.release.ranks_bundles_by_all_parts();
            let mut places = details.members.iter().filter_map(|one| set.resource(*one).active);
            let there = places.find(|host| {
                let state = set.host(*host).state;
                details.is_clone() && is_by_part && (state.online || state.unclean)
            });
            let active = there.or_else(|| set.host_before_its_turn(resource));
            let here = active.map_or(AllocationScore::MINUS_INFINITY, |host| table.or_never(host));
            RankedResource { resource, first: (Reverse(details.priority), Reverse(here)), table }
        })
        .collect();
    ranked.sort_by(|one, other| {
        one.first.cmp(&other.first).then_with(|| other.table.compare(&one.table, &hosts))
    });
    ranked.into_iter().map(|ranked| ranked.resource).collect()
}

/// A resource with its sort keys.
struct RankedResource {
    resource: ResourceIdx,
    first: (Reverse<AllocationScore>, Reverse<AllocationScore>),
    table: ScoreTable,
}
