//! Effects of nodes that are down on the resources that ran before.

use std::collections::{BTreeMap, BTreeSet};

use super::NodeHold;
use crate::foresight::ExpectedPlace;
use crate::index::ResourceIdx;
use crate::working_set::WorkingSet;

/// Number of places of a resource.
#[derive(Debug, Clone, Copy, Default)]
struct PlaceCount {
    all: usize,
    /// On nodes that are not down.
    up: usize,
    promoted: usize,
    /// Promoted on nodes that are not down.
    promoted_up: usize,
}

/// The first resource that runs less after a change than before, with the nodes `down` out of use; `None` if none does.
/// Of a clone or a bundle, only the instances on these nodes may be missing, and one must be left. Resources that the
/// cluster of `set` no longer has do not count.
pub fn loss(
    set: &WorkingSet,
    before: &[ExpectedPlace],
    after: &[ExpectedPlace],
    down: &BTreeSet<&str>,
) -> Option<NodeHold> {
    let names = counted_names(set);
    let (before, after) = (count(&names, before, down), count(&names, after, down));
    for (name, was) in before.iter().filter(|(_, was)| was.all > 0) {
        let is = after.get(name).copied().unwrap_or_default();
        let needed = was.up.max(1);
        if is.up < needed {
            let name = (*name).to_owned();
            return Some(if is.all >= needed { NodeHold::Stays(name) } else { NodeHold::Stops(name) });
        }
        if is.promoted_up < was.promoted {
            return Some(NodeHold::Demotes((*name).to_owned()));
        }
    }
    None
}

/// The first resource on a node that should not be there.
pub fn left_on<'a>(node: &str, expected: &[ExpectedPlace], current: &'a [ExpectedPlace]) -> Option<&'a str> {
    let on = |place: &&ExpectedPlace| place.node.as_deref() == Some(node);
    let allowed: BTreeSet<&str> = expected.iter().filter(on).map(|place| place.resource.as_str()).collect();
    let there = current.iter().filter(on).map(|place| place.resource.as_str());
    there.filter(|resource| !allowed.contains(resource)).min()
}

/// By the common name of each primitive, the name by which it is counted. The containers of a bundle count as one
/// resource; the other parts of a bundle follow them and do not count.
fn counted_names(set: &WorkingSet) -> BTreeMap<&str, &str> {
    let primitives = set.resource_indices().filter(|one| set.resource(*one).is_primitive());
    let counted = |one: ResourceIdx| {
        let name = set.common_name(one);
        if set.resource(one).in_bundle {
            return None;
        }
        let clone = set.clone_of(one);
        let bundle = clone.filter(|clone| set.bundles.iter().any(|bundle| bundle.whole == *clone));
        Some((name, bundle.map_or(name, |bundle| set.resource(bundle).id.as_str())))
    };
    primitives.filter_map(counted).collect()
}

fn count<'n>(
    names: &BTreeMap<&str, &'n str>,
    places: &[ExpectedPlace],
    down: &BTreeSet<&str>,
) -> BTreeMap<&'n str, PlaceCount> {
    let mut counts: BTreeMap<&str, PlaceCount> = BTreeMap::new();
    for ExpectedPlace { resource, node, promoted } in places {
        let (Some(name), Some(node)) = (names.get(resource.as_str()), node) else { continue };
        let count = counts.entry(name).or_default();
        let is_up = !down.contains(node.as_str());
        count.all += 1;
        count.up += usize::from(is_up);
        count.promoted += usize::from(*promoted);
        count.promoted_up += usize::from(*promoted && is_up);
    }
    counts
}
