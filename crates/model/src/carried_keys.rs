//! Affinity keys that running instances carry to their nodes, as far as balancing goes: the worth of each key beside
//! the other keys on the node.
//!
//! A customer's key has a weight. It is worth that weight times the [`proximity`] of its value to each key of the same
//! name on the node, summed. Those are the keys of the other instances there, and of the node itself. A copy of a
//! sticky key is compared with keys of nodes only. Two instances on one node are worth the same to each other whichever
//! came first, so only pairs of keys count. Worths are whole millionths, so sums do not depend on the order of
//! additions, and a key that comes and goes leaves no rounding error.

use std::ops::Range;
use std::sync::Arc;

use super::cluster::Cluster;
use super::index::{InstanceIdx, NodeIdx};
use super::tags::Occurrences;

/// Resolution of worths: a worth of 1 is this many parts.
pub const WORTH_PARTS: f64 = 1e6;

/// A kind of key: all keys equal in name, value and weight. A position in the [`KeyTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyIdx(u32);

/// A key of a machine. It counts beside another key of the same name whose value is less than 1 away. Value and weight
/// are at most [`LARGEST`](super::key_tags::LARGEST) in magnitude.
#[derive(Debug, Clone, PartialEq)]
pub struct AffinityKey {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Weight; negative if the key repels.
    pub weight: f64,
}

/// The other keys on a node that a key is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyScope {
    /// All keys except copies of sticky keys and the keys that they are compared with: a customer's key, or a node's
    /// key that customers' keys are compared with.
    Shared,
    /// Keys of nodes only: an instance's copy of a sticky key.
    Copy,
    /// Copies only: a node's key that instances have copies of.
    Node,
}

/// A key that counts in the score.
#[derive(Debug, Clone, PartialEq)]
pub struct CarriedKey {
    /// The key; its weight is 0 if it belongs to a node.
    pub key: AffinityKey,
    /// The keys that it is compared with.
    pub scope: KeyScope,
}

impl From<AffinityKey> for CarriedKey {
    fn from(key: AffinityKey) -> CarriedKey {
        CarriedKey { key, scope: KeyScope::Shared }
    }
}

/// The weights of all keys of a cluster together are too large for exact sums.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the weights of the affinity keys are too large to be added exactly")]
pub struct KeysTooHeavy;

/// The kinds of keys of a cluster, by name, value and weight.
#[derive(Debug, Clone, Default)]
pub struct KeyTable {
    kinds: Vec<KeyKind>,
}

#[derive(Debug, Clone)]
struct KeyKind {
    value: f64,
    weight: f64,
    /// Kinds of the same name whose values are less than 1 away.
    near: Range<u32>,
}

/// Proximity of two values: 1 if they are equal, falling to 0 if they are 1 or more apart.
pub fn proximity(one: f64, other: f64) -> f64 {
    let apart = (one - other).abs();
    if apart >= 1.0 { 0.0 } else { 1.0 - apart }
}

fn is_shared(key: &CarriedKey) -> bool {
    key.scope == KeyScope::Shared
}

/// Range of `keys` (sorted by value) whose values are less than 1 away from `value`.
fn near(value: f64, keys: &[&CarriedKey]) -> Range<usize> {
    let is_far = |other: f64| proximity(other, value) == 0.0;
    let from = keys.partition_point(|other| other.key.value < value && is_far(other.key.value));
    from..keys.partition_point(|other| other.key.value <= value || !is_far(other.key.value)).max(from)
}

impl KeyTable {
    /// The kinds of the given keys, which must be [sorted](order).
    fn of(keys: &[&CarriedKey]) -> KeyTable {
        let mut kinds: Vec<KeyKind> = Vec::with_capacity(keys.len());
        for of_name in keys.chunk_by(|a, b| is_shared(a) == is_shared(b) && a.key.name == b.key.name) {
            let first = kinds.len();
            let copies = of_name.partition_point(|key| key.scope == KeyScope::Copy);
            for CarriedKey { key, scope } in of_name {
                let (others, from) = match scope {
                    KeyScope::Shared => (of_name, first),
                    KeyScope::Copy => (&of_name[copies..], first + copies),
                    KeyScope::Node => (&of_name[..copies], first),
                };
                let near = near(key.value, others);
                let near = (from + near.start) as u32..(from + near.end) as u32;
                kinds.push(KeyKind { value: key.value, weight: key.weight, near });
            }
        }
        KeyTable { kinds }
    }

    fn kind(&self, key: KeyIdx) -> &KeyKind {
        &self.kinds[key.0 as usize]
    }

    /// Worth of two keys on one node to each other, in [`WORTH_PARTS`].
    pub(crate) fn worth(&self, one: KeyIdx, other: KeyIdx) -> i64 {
        let (one, other) = (self.kind(one), self.kind(other));
        ((one.weight + other.weight) * proximity(one.value, other.value) * WORTH_PARTS).round() as i64
    }

    /// Sum over the counted keys of the part that `part` takes of each worth, in [`WORTH_PARTS`].
    fn beside(&self, key: KeyIdx, there: &Occurrences<KeyIdx>, part: impl Fn(i64) -> i64) -> i64 {
        let Range { start, end } = self.kind(key).near;
        let near = there.between(KeyIdx(start), KeyIdx(end));
        near.iter().map(|(other, count)| count * part(self.worth(key, *other))).sum()
    }
}

/// The affinity keys that an instance carries. Copies of the value share them.
#[derive(Debug, Clone, Default)]
pub struct CarriedKeys(Option<Arc<WeighedKeys>>);

#[derive(Debug)]
struct WeighedKeys {
    keys: Box<[KeyIdx]>,
    /// [`CarriedKeys::mates`] over all instances of the cluster.
    mates: i64,
    /// See [`CarriedKeys::home`].
    home: i64,
    table: Arc<KeyTable>,
}

impl CarriedKeys {
    fn unweighed(keys: Vec<KeyIdx>, table: &Arc<KeyTable>) -> CarriedKeys {
        if keys.is_empty() {
            return CarriedKeys::default();
        }
        let table = Arc::clone(table);
        CarriedKeys(Some(Arc::new(WeighedKeys { keys: keys.into(), mates: 0, home: 0, table })))
    }

    fn weigh(&mut self, mates: i64, home: i64) {
        if let Some(all) = self.0.as_mut().and_then(Arc::get_mut) {
            (all.mates, all.home) = (mates, home);
        }
    }

    /// Tells if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The kinds of the keys.
    pub fn keys(&self) -> &[KeyIdx] {
        self.0.as_ref().map_or(&[], |all| &all.keys)
    }

    fn table(&self) -> Option<&KeyTable> {
        self.0.as_ref().map(|all| &*all.table)
    }

    /// Upper bound of the worth of these keys on any node, that of other instances' keys beside them included, in
    /// [`WORTH_PARTS`]; at least 0.
    pub fn most(&self) -> i64 {
        self.0.as_ref().map_or(0, |all| all.mates + all.home)
    }

    /// Upper bound of the worth that nodes' own keys can add, in [`WORTH_PARTS`]; at least 0.
    pub fn home(&self) -> i64 {
        self.0.as_ref().map_or(0, |all| all.home)
    }

    /// Upper bound of the worth of these keys beside the others in `all`, which includes these keys themselves.
    pub(crate) fn mates(&self, all: &Occurrences<KeyIdx>) -> i64 {
        self.likes(all) - self.own_costs().map(|(_, cost)| (-cost).max(0)).sum::<i64>()
    }

    fn likes(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.sum(there, |worth| worth.max(0))
    }

    /// Cost of these keys beside the keys counted in `there`, which are those of others; negative if they attract each
    /// other.
    pub fn cost(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.sum(there, |worth| -worth)
    }

    /// [`cost`](Self::cost) with repelling pairs only; at least 0.
    pub fn dislikes(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.sum(there, |worth| (-worth).max(0))
    }

    /// Cost of these keys on a node where `there` already counts them.
    pub fn cost_among(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.cost(there) - self.cost_beside(self)
    }

    /// Kinds that can have a worth beside these keys.
    pub fn near(&self) -> impl Iterator<Item = KeyIdx> + '_ {
        self.near_costs().map(|(key, _)| key)
    }

    /// Kinds that can have a worth beside these keys, with what one key of the kind costs. A kind that is near several of
    /// these keys is listed for each. The sum over the keys on a node is the [`cost`](Self::cost) there.
    pub fn near_costs<'a>(&'a self) -> impl Iterator<Item = (KeyIdx, i64)> + 'a {
        let costs = |table: &'a KeyTable, key: KeyIdx| {
            table.kind(key).near.clone().map(move |other| (KeyIdx(other), -table.worth(key, KeyIdx(other))))
        };
        let table = self.table().into_iter();
        table.flat_map(move |table| self.keys().iter().flat_map(move |key| costs(table, *key)))
    }

    /// Each key with its cost beside another key of the same kind.
    pub fn own_costs(&self) -> impl Iterator<Item = (KeyIdx, i64)> + '_ {
        let table = self.table().into_iter();
        let cost = |table: &KeyTable, key: KeyIdx| {
            if table.kind(key).near.contains(&key.0) {
                -table.worth(key, key)
            } else {
                // Keys of this kind are not compared with each other.
                0
            }
        };
        table.flat_map(move |table| self.keys().iter().map(move |key| (*key, cost(table, *key))))
    }

    /// Cost of these keys and another instance's keys on the same node.
    pub fn cost_beside(&self, other: &CarriedKeys) -> i64 {
        let Some(table) = self.table() else { return 0 };
        let near = |key: &KeyIdx| {
            let near = table.kind(*key).near.clone();
            other.keys().iter().filter(move |key| near.contains(&key.0))
        };
        self.keys().iter().flat_map(|key| near(key).map(|beside| -table.worth(*key, *beside))).sum()
    }

    fn sum(&self, there: &Occurrences<KeyIdx>, part: impl Fn(i64) -> i64) -> i64 {
        let Some(table) = self.table().filter(|_| !there.is_empty()) else { return 0 };
        self.keys().iter().map(|key| table.beside(*key, there, &part)).sum()
    }
}

impl Occurrences<KeyIdx> {
    /// Adds `by` times the keys of an instance; `by` may be negative.
    pub fn add_keys(&mut self, keys: &CarriedKeys, by: i64) {
        keys.keys().iter().for_each(|key| self.add(*key, by));
    }
}

impl Cluster {
    /// Sets the keys that instances carry (each name once per instance) and the nodes' own keys, which have no weight.
    /// Keys that were set before are dropped.
    ///
    /// # Errors
    /// If sums could become too large to be exact.
    pub fn carry_keys(
        &mut self,
        instances: &[(InstanceIdx, Vec<CarriedKey>)],
        nodes: &[(NodeIdx, Vec<CarriedKey>)],
    ) -> Result<(), KeysTooHeavy> {
        let told =
            || instances.iter().flat_map(|(_, keys)| keys).chain(nodes.iter().flat_map(|(_, keys)| keys));
        check_sums(told().map(|one| &one.key))?;
        let mut kinds: Vec<&CarriedKey> = told().collect();
        kinds.sort_by(|a, b| order(a, b));
        kinds.dedup_by(|a, b| order(a, b).is_eq());
        let table = Arc::new(KeyTable::of(&kinds));
        let idx = |key: &CarriedKey| {
            KeyIdx(kinds.binary_search_by(|kind| order(kind, key)).expect("every key has a kind") as u32)
        };
        self.nodes.iter_mut().for_each(|node| node.state.key_count = Occurrences::default());
        let carrying = self.instances.iter_mut().filter(|instance| !instance.keys.is_empty());
        carrying.for_each(|instance| instance.details_mut().keys = CarriedKeys::default());
        for (node, keys) in nodes {
            let there = &mut self.nodes[node.get()].state.key_count;
            keys.iter().for_each(|key| there.add(idx(key), 1));
        }
        let offers: Vec<Occurrences<KeyIdx>> = self.nodes.iter().map(|n| n.state.key_count.clone()).collect();
        let mut all = Occurrences::default();
        for (instance, keys) in instances {
            let mut keys: Vec<KeyIdx> = keys.iter().map(idx).collect();
            keys.sort_unstable();
            keys.iter().for_each(|key| all.add(*key, 1));
            self.instances[instance.get()].details_mut().keys = CarriedKeys::unweighed(keys, &table);
        }
        for (instance, _) in instances {
            let keys = &mut self.instances[instance.get()].details_mut().keys;
            let home = offers.iter().map(|offer| keys.likes(offer)).max().unwrap_or(0);
            keys.weigh(keys.mates(&all), home);
        }
        let Cluster { nodes, instances, .. } = self;
        nodes.iter_mut().for_each(|node| node.state.ledger.key_cost = 0);
        for instance in instances.iter().filter(|instance| !instance.keys.is_empty()) {
            let state = &mut nodes[instance.primary.get()].state;
            state.ledger.key_cost += instance.keys.cost(&state.key_count);
            state.key_count.add_keys(&instance.keys, 1);
        }
        Ok(())
    }

    /// Lower bound of the key cost of the instances on `nodes`, wherever on these nodes they go, in [`WORTH_PARTS`]. It
    /// assumes that each instance shares a node with all instances it attracts, and that this node has the best keys.
    pub fn least_key_cost(&self, nodes: &[NodeIdx]) -> i64 {
        let primaries = nodes.iter().flat_map(|node| &self.node(*node).state.primaries);
        let keys: Vec<&CarriedKeys> =
            primaries.map(|i| &self.instance(*i).keys).filter(|keys| !keys.is_empty()).collect();
        let mut all: Occurrences<KeyIdx> = Occurrences::default();
        keys.iter().for_each(|keys| all.add_keys(keys, 1));
        // Each pair is counted twice, once by either side.
        let pairs = keys.iter().map(|keys| keys.mates(&all)).sum::<i64>() / 2;
        -pairs - keys.iter().map(|keys| keys.home()).sum::<i64>()
    }
}

/// Keys compared with all others come first, then by name, scope, value and weight. Numbers are told apart by their
/// bits.
fn order(a: &CarriedKey, b: &CarriedKey) -> std::cmp::Ordering {
    let (one, other) = (&a.key, &b.key);
    let names = is_shared(b).cmp(&is_shared(a)).then(one.name.cmp(&other.name)).then(a.scope.cmp(&b.scope));
    names.then(one.value.total_cmp(&other.value)).then(one.weight.total_cmp(&other.weight))
}

/// Checks that all sums over these keys are exact.
fn check_sums<'a>(keys: impl Iterator<Item = &'a AffinityKey>) -> Result<(), KeysTooHeavy> {
    let (mut count, mut weight) = (0.0, 0.0);
    for key in keys {
        count += 1.0;
        weight += key.weight.abs();
    }
    // Each key can meet every other one; twice that leaves room for differences of sums.
    let largest = 2.0 * weight * count * WORTH_PARTS;
    if largest < (1_u64 << 60) as f64 { Ok(()) } else { Err(KeysTooHeavy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, value: f64, weight: f64) -> CarriedKey {
        AffinityKey { name: name.to_owned(), value, weight }.into()
    }

    #[test]
    fn values_less_than_one_apart_are_near() {
        for (one, other, near) in [(2.0, 2.0, 1.0), (2.0, 2.25, 0.75), (2.0, 3.0, 0.0), (0.0, 0.4, 0.6)] {
            assert_eq!(proximity(one, other), near);
            assert_eq!(proximity(other, one), near);
        }
    }

    #[test]
    fn nearness_is_the_same_from_both_sides() {
        // A value and its neighbours, to the last bit.
        let around = |x: f64| [x.next_down(), x, x.next_up()];
        let values: Vec<f64> =
            [0.1, -0.9, 1.1, 1e9 / 3.0, 1e9 / 3.0 + 1.0].into_iter().flat_map(around).collect();
        let keys: Vec<CarriedKey> = values.iter().map(|value| key("k", *value, 1e12)).collect();
        let mut kinds: Vec<&CarriedKey> = keys.iter().collect();
        kinds.sort_by(|a, b| order(a, b));
        let table = KeyTable::of(&kinds);
        for (one, kind) in (0..).map(KeyIdx).zip(&kinds) {
            for (other, other_kind) in (0..).map(KeyIdx).zip(&kinds) {
                let is_near = proximity(kind.key.value, other_kind.key.value) > 0.0;
                assert_eq!(table.kind(one).near.contains(&other.0), is_near, "{kind:?} {other_kind:?}");
                assert_eq!(table.worth(one, other), table.worth(other, one));
            }
        }
    }
}
