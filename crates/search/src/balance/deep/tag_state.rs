//! Exclusion tags, affinity keys and locations during a deep search: the number of each on every node and
//! location, and the changes by a proposal.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::arrangement::{Counts, Shift};
use super::terrain::{Seat, Terrain};
use htools_model::{KeyIdx, NodeSpec, Occurrences, TagArrival, TagId};

/// A mobile that leaves its primary node (`by` is -1) or arrives at a new one (1).
#[derive(Debug, Clone, Copy)]
pub(super) struct PrimaryChange {
    pub(super) mobile: u32,
    pub(super) slot: u32,
    pub(super) by: i64,
}

/// Counts of the tags: see the module documentation.
#[derive(Debug, Clone, Default)]
pub(super) struct TagState {
    /// For each slot, the number of occurrences of each exclusion tag.
    here: Vec<Occurrences<TagId>>,
    /// For each slot, the number of occurrences of each affinity key.
    keys: Vec<Occurrences<KeyIdx>>,
    /// The number of occurrences of each pair of a location and an exclusion tag.
    spread: HashMap<(TagId, TagId), i64, foldhash::fast::FixedState>,
}

fn surplus(count: i64) -> i64 {
    (count - 1).max(0)
}

/// Changes of counts, by key.
type CountChanges<K> = SmallVec<[(K, i64); 16]>;

fn merged<K: Ord + Copy>(mut changes: CountChanges<K>) -> CountChanges<K> {
    changes.sort_unstable_by_key(|change| change.0);
    let sum = |same: &[(K, i64)]| (same[0].0, same.iter().map(|change| change.1).sum());
    changes.chunk_by(|a, b| a.0 == b.0).map(sum).collect()
}

impl TagState {
    /// Counts the tags at the start.
    pub(super) fn of(terrain: &Terrain<'_>) -> TagState {
        let states = || terrain.nodes.iter().map(|n| &terrain.cluster.node(*n).state);
        let mut state = TagState {
            here: states().map(|state| state.tag_count.clone()).collect(),
            keys: states().map(|state| state.key_count.clone()).collect(),
            spread: HashMap::default(),
        };
        for slot in &terrain.online {
            let spec = terrain.spec(*slot);
            let primaries = &terrain.cluster.node(spec.idx).state.primaries;
            for tag in primaries.iter().flat_map(|i| &terrain.cluster.instance(*i).exclusion_tags) {
                for location in spec.location_tags.iter() {
                    *state.spread.entry((location, *tag)).or_default() += 1;
                }
            }
        }
        state
    }

    /// Sum of the tags beyond the first one at each location.
    pub(super) fn surplus(&self) -> i64 {
        self.spread.values().map(|count| surplus(*count)).sum()
    }

    /// Adds the changes by a proposal to `counts`.
    pub(super) fn count(
        &self,
        terrain: &Terrain<'_>,
        seats: &[Seat],
        proposal: &[Shift],
        counts: &mut Counts,
    ) {
        if terrain.located {
            for shift in proposal.iter().filter(|s| terrain.mobiles[s.mobile as usize].counts > 0) {
                counts.locations += location_cost(terrain, shift.mobile, shift.to)
                    - location_cost(terrain, shift.mobile, seats[shift.mobile as usize]);
            }
        }
        if proposal.iter().any(|s| terrain.mobiles[s.mobile as usize].tagged) {
            for ((slot, tag), by) in here_changes(terrain, seats, proposal) {
                if terrain.is_online(slot) {
                    let count = self.here[slot as usize].get(tag);
                    counts.conflicts += surplus(count + by) - surplus(count);
                }
            }
            for (pair, by) in spread_changes(terrain, seats, proposal) {
                let count = self.spread.get(&pair).copied().unwrap_or(0);
                counts.spread += surplus(count + by) - surplus(count);
            }
            counts.keys += self.key_change(terrain, seats, proposal);
        }
    }

    /// Change of the affinity costs on online slots by a proposal.
    fn key_change(&self, terrain: &Terrain<'_>, seats: &[Seat], proposal: &[Shift]) -> i64 {
        let mut changed: SmallVec<[PrimaryChange; 8]> = SmallVec::new();
        let mut change = 0;
        for PrimaryChange { mobile, slot, by } in primary_changes(terrain, seats, proposal) {
            if terrain.is_online(slot) {
                change += match by {
                    1 => self.key_cost(terrain, mobile, slot, &changed),
                    _ => -self.own_key_cost(terrain, mobile, slot, &changed),
                };
            }
            changed.push(PrimaryChange { mobile, slot, by });
        }
        change
    }

    /// Cost of a mobile's keys on a slot. `others` are mobiles that have left the slot (-1) or come to it (1).
    fn key_cost(&self, terrain: &Terrain<'_>, mobile: u32, slot: u32, others: &[PrimaryChange]) -> i64 {
        let keys = &terrain.instance(mobile).keys;
        if keys.is_empty() {
            return 0;
        }
        let others = others.iter().filter(|other| other.slot == slot);
        let cost_beside = |other: u32| keys.cost_beside(&terrain.instance(other).keys);
        keys.cost(&self.keys[slot as usize])
            + others.map(|other| other.by * cost_beside(other.mobile)).sum::<i64>()
    }

    /// Cost of the keys of a mobile that is on the slot itself.
    fn own_key_cost(&self, terrain: &Terrain<'_>, mobile: u32, slot: u32, others: &[PrimaryChange]) -> i64 {
        let keys = &terrain.instance(mobile).keys;
        self.key_cost(terrain, mobile, slot, others) - keys.cost_beside(keys)
    }

    /// Updates the counts for a proposal that was performed.
    pub(super) fn shift(&mut self, terrain: &Terrain<'_>, seats: &[Seat], proposal: &[Shift]) {
        if !proposal.iter().any(|s| terrain.mobiles[s.mobile as usize].tagged) {
            return;
        }
        for ((slot, tag), by) in here_changes(terrain, seats, proposal) {
            self.here[slot as usize].add(tag, by);
        }
        for (pair, by) in spread_changes(terrain, seats, proposal) {
            *self.spread.entry(pair).or_default() += by;
        }
        for PrimaryChange { mobile, slot, by } in primary_changes(terrain, seats, proposal) {
            self.keys[slot as usize].add_keys(&terrain.instance(mobile).keys, by);
        }
    }

    /// Adds the tags of a mobile in a seat `by` times.
    pub(super) fn enter(&mut self, terrain: &Terrain<'_>, mobile: u32, seat: Seat, by: i64) {
        let spec = terrain.spec(seat.primary);
        self.keys[seat.primary as usize].add_keys(&terrain.instance(mobile).keys, by);
        for (tag, own) in terrain.instance(mobile).exclusion_tags.counts().iter() {
            self.here[seat.primary as usize].add(tag, by * own);
            if terrain.is_online(seat.primary) && terrain.mobiles[mobile as usize].counts > 0 {
                for location in spec.location_tags.iter() {
                    *self.spread.entry((location, tag)).or_default() += by * own;
                }
            }
        }
    }

    /// The tags that a mobile meets on arrival at a slot. `others` are mobiles that are about to leave the slot
    /// (-1) or have just arrived (1).
    pub(super) fn arrival(
        &self,
        terrain: &Terrain<'_>,
        mobile: u32,
        slot: u32,
        others: &[PrimaryChange],
    ) -> TagArrival {
        let mut arrival = TagArrival::default();
        for (tag, own) in terrain.instance(mobile).exclusion_tags.counts().iter() {
            let there = self.there(terrain, slot, tag, others);
            arrival.clash |= there > 0;
            arrival.conflicts += if there > 0 { own } else { own - 1 };
        }
        arrival.key_cost = self.key_cost(terrain, mobile, slot, others);
        arrival
    }

    /// The conflicts and affinity costs that end when a mobile leaves its slot.
    pub(super) fn departure(
        &self,
        terrain: &Terrain<'_>,
        mobile: u32,
        slot: u32,
        others: &[PrimaryChange],
    ) -> TagArrival {
        let tags = terrain.instance(mobile).exclusion_tags.counts().iter();
        let conflicts =
            tags.map(|(tag, own)| own.min(self.there(terrain, slot, tag, others) - 1).max(0)).sum();
        TagArrival { conflicts, key_cost: self.own_key_cost(terrain, mobile, slot, others), clash: false }
    }

    /// Returns true if a primary shares an exclusion tag with another on its node or at a location, or is at an
    /// undesired location.
    pub(super) fn meets(&self, terrain: &Terrain<'_>, mobile: u32, seat: Seat) -> bool {
        let meets = |tag: TagId| {
            let mut locations = terrain.spec(seat.primary).location_tags.iter();
            self.here[seat.primary as usize].get(tag) > 1
                || locations.any(|location| self.spread.get(&(location, tag)).is_some_and(|count| *count > 1))
        };
        let tags = &terrain.instance(mobile).exclusion_tags;
        let misplaced = terrain.located
            && terrain.mobiles[mobile as usize].counts > 0
            && location_cost(terrain, mobile, seat) > 0;
        misplaced || tags.iter().any(|tag| meets(*tag))
    }

    fn there(&self, terrain: &Terrain<'_>, slot: u32, tag: TagId, others: &[PrimaryChange]) -> i64 {
        let count = |mobile: u32| terrain.instance(mobile).exclusion_tags.counts().get(tag);
        let others =
            others.iter().filter(|other| other.slot == slot).map(|other| other.by * count(other.mobile));
        self.here[slot as usize].get(tag) + others.sum::<i64>()
    }
}

/// Contribution of a primary to the location sum of its node; 0 if the node does not count.
pub(super) fn location_cost(terrain: &Terrain<'_>, mobile: u32, seat: Seat) -> i64 {
    if !terrain.is_online(seat.primary) {
        return 0;
    }
    terrain.spec(seat.primary).location_cost(terrain.instance(mobile), location_score(terrain, mobile, seat))
}

/// Number of location tags that both nodes of a mobile have.
pub(super) fn location_score(terrain: &Terrain<'_>, mobile: u32, seat: Seat) -> i64 {
    let details = &terrain.mobiles[mobile as usize];
    if details.mirrored && seat != details.home && terrain.located {
        // A seat under consideration may lack its secondary.
        let secondary = terrain.nodes.get(seat.secondary as usize).map(|_| terrain.spec(seat.secondary));
        let common = |other: &NodeSpec| terrain.spec(seat.primary).location_tags.common(&other.location_tags);
        secondary.map_or(0, common)
    } else {
        terrain.instance(mobile).location_score
    }
}

/// The departures and arrivals of primaries in a proposal.
fn primary_changes<'a>(
    terrain: &'a Terrain<'_>,
    seats: &'a [Seat],
    proposal: &'a [Shift],
) -> impl Iterator<Item = PrimaryChange> + 'a {
    let changed = move |s: &&Shift| {
        terrain.mobiles[s.mobile as usize].tagged && seats[s.mobile as usize].primary != s.to.primary
    };
    proposal.iter().filter(changed).flat_map(|s| {
        [(seats[s.mobile as usize].primary, -1), (s.to.primary, 1)].map(|(slot, by)| PrimaryChange {
            mobile: s.mobile,
            slot,
            by,
        })
    })
}

fn here_changes(terrain: &Terrain<'_>, seats: &[Seat], proposal: &[Shift]) -> CountChanges<(u32, TagId)> {
    let mut changes = CountChanges::new();
    for PrimaryChange { mobile, slot, by } in primary_changes(terrain, seats, proposal) {
        let tags = terrain.instance(mobile).exclusion_tags.counts().iter();
        changes.extend(tags.map(|(tag, own)| ((slot, tag), by * own)));
    }
    merged(changes)
}

fn spread_changes(terrain: &Terrain<'_>, seats: &[Seat], proposal: &[Shift]) -> CountChanges<(TagId, TagId)> {
    let mut changes = CountChanges::new();
    for PrimaryChange { mobile, slot, by } in primary_changes(terrain, seats, proposal) {
        if !terrain.is_online(slot) || terrain.mobiles[mobile as usize].counts == 0 {
            continue;
        }
        for (tag, own) in terrain.instance(mobile).exclusion_tags.counts().iter() {
            changes.extend(terrain.spec(slot).location_tags.iter().map(|l| ((l, tag), by * own)));
        }
    }
    merged(changes)
}
