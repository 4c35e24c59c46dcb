//! The affinity keys that running instances carry to their nodes, as far as balancing goes: what each is worth beside the others
//! there.
//!
//! A customer's key is worth its weight times the nearness of its value to that of every key of its name on the node: of the
//! other instances there, and of the node itself. A copy of a sticky key is compared with keys of nodes only. Two instances on one node are worth something to each other whichever
//! came first, so that only pairs of keys count. Worths are whole millionths: sums of them do not depend on any order, and what
//! comes and goes again leaves nothing behind.

use std::ops::Range;
use std::sync::Arc;

use super::cluster::Cluster;
use super::index::{InstanceIdx, NodeIdx};
use super::tags::Occurrences;

/// How many parts of a worth of 1 are counted.
pub const WORTH_PARTS: f64 = 1e6;

/// A kind of key, equal in name, value and weight, by its position in the [`KeyTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyIdx(u32);

/// A key of a machine: how much it counts where another key of this name has a value less than 1 away. Numbers of at most
/// [`LARGEST`](super::key_tags::LARGEST).
#[derive(Debug, Clone, PartialEq)]
pub struct AffinityKey {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// How much it counts; less than 0: it repels.
    pub weight: f64,
}

/// With which keys on a node a key is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyScope {
    /// A customer's key, or a key of a node with which customers' are compared: with all others.
    Shared,
    /// An instance's copy of a sticky key: with the keys of nodes.
    Copy,
    /// A key of a node that instances have copies of: with the copies.
    Node,
}

/// A key that counts in the score.
#[derive(Debug, Clone, PartialEq)]
pub struct CarriedKey {
    /// The key. One of a node weighs nothing.
    pub key: AffinityKey,
    /// With which others it is compared.
    pub scope: KeyScope,
}

impl From<AffinityKey> for CarriedKey {
    fn from(key: AffinityKey) -> CarriedKey {
        CarriedKey { key, scope: KeyScope::Shared }
    }
}

/// All the weights of a cluster's keys together are too large for exact sums.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the weights of the affinity keys are too large to be summed up exactly")]
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
    /// The kinds of its name that are near enough to be worth something.
    near: Range<u32>,
}

/// How near two values are: 1 if they are the same, 0 if they are 1 or more apart.
pub fn proximity(one: f64, other: f64) -> f64 {
    let apart = (one - other).abs();
    if apart >= 1.0 { 0.0 } else { 1.0 - apart }
}

fn is_shared(key: &CarriedKey) -> bool {
    key.scope == KeyScope::Shared
}

/// Which of some keys, sorted by value, are near enough to a value to be worth something.
fn near(value: f64, keys: &[&CarriedKey]) -> Range<usize> {
    let is_far = |other: f64| proximity(other, value) == 0.0;
    let from = keys.partition_point(|other| other.key.value < value && is_far(other.key.value));
    from..keys.partition_point(|other| other.key.value <= value || !is_far(other.key.value)).max(from)
}

impl KeyTable {
    /// The kinds of some keys, which are [sorted](order).
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

    /// What two keys on one node are worth to each other, in [`WORTH_PARTS`].
    pub(crate) fn worth(&self, one: KeyIdx, other: KeyIdx) -> i64 {
        let (one, other) = (self.kind(one), self.kind(other));
        ((one.weight + other.weight) * proximity(one.value, other.value) * WORTH_PARTS).round() as i64
    }

    /// What a key is worth beside all those that are counted, each in [`WORTH_PARTS`], as `part` has it.
    fn beside(&self, key: KeyIdx, there: &Occurrences<KeyIdx>, part: impl Fn(i64) -> i64) -> i64 {
        let Range { start, end } = self.kind(key).near;
        let near = there.between(KeyIdx(start), KeyIdx(end));
        near.iter().map(|(other, count)| count * part(self.worth(key, *other))).sum()
    }
}

/// The keys that an instance carries. Copies share them.
#[derive(Debug, Clone, Default)]
pub struct CarriedKeys(Option<Arc<WeighedKeys>>);

#[derive(Debug)]
struct WeighedKeys {
    keys: Box<[KeyIdx]>,
    /// See [`CarriedKeys::mates`], of all instances of the cluster.
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

    /// Whether it carries none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Which.
    pub fn keys(&self) -> &[KeyIdx] {
        self.0.as_ref().map_or(&[], |all| &all.keys)
    }

    fn table(&self) -> Option<&KeyTable> {
        self.0.as_ref().map(|all| &*all.table)
    }

    /// The most that they, and what others think of them, can be worth on any node, in [`WORTH_PARTS`]; at least 0.
    pub fn most(&self) -> i64 {
        self.0.as_ref().map_or(0, |all| all.mates + all.home)
    }

    /// The most that the keys of nodes can be worth to them; at least 0.
    pub fn home(&self) -> i64 {
        self.0.as_ref().map_or(0, |all| all.home)
    }

    /// What they and all others among those that are counted can be worth to each other at most; they are themselves among
    /// those.
    pub(crate) fn mates(&self, all: &Occurrences<KeyIdx>) -> i64 {
        self.likes(all) - self.own_costs().map(|(_, cost)| (-cost).max(0)).sum::<i64>()
    }

    fn likes(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.sum(there, |worth| worth.max(0))
    }

    /// What these keys cost beside those that are counted on a node, which are of others: less than 0 if they are welcome.
    pub fn cost(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.sum(there, |worth| -worth)
    }

    /// The same without what is worth something.
    pub fn dislikes(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.sum(there, |worth| (-worth).max(0))
    }

    /// What these keys cost on a node where they are counted among the others.
    pub fn cost_among(&self, there: &Occurrences<KeyIdx>) -> i64 {
        self.cost(there) - self.cost_beside(self)
    }

    /// The kinds of keys that are worth something to them, or to which they are.
    pub fn near(&self) -> impl Iterator<Item = KeyIdx> + '_ {
        let table = self.table().into_iter();
        table.flat_map(|table| self.keys().iter().flat_map(|key| table.kind(*key).near.clone().map(KeyIdx)))
    }

    /// Each key, and what it costs beside another of its kind.
    pub fn own_costs(&self) -> impl Iterator<Item = (KeyIdx, i64)> + '_ {
        let table = self.table().into_iter();
        let cost = |table: &KeyTable, key: KeyIdx| {
            if table.kind(key).near.contains(&key.0) {
                -table.worth(key, key)
            } else {
                // nothing of its kind counts beside it
                0
            }
        };
        table.flat_map(move |table| self.keys().iter().map(move |key| (*key, cost(table, *key))))
    }

    /// What these keys and others' on the same node cost together.
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
    /// Counts the keys of an instance so many times more (or fewer).
    pub fn add_keys(&mut self, keys: &CarriedKeys, by: i64) {
        keys.keys().iter().for_each(|key| self.add(*key, by));
    }
}

impl Cluster {
    /// Lets instances carry keys, each name once, and gives nodes keys of their own, which weigh nothing. What was there
    /// before is forgotten.
    ///
    /// # Errors
    /// Sums could be too large.
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

    /// What the affinity keys of the instances of some nodes cost at least wherever on them they go, in [`WORTH_PARTS`]:
    /// everybody is with all that like it, on the node with the best keys.
    pub fn least_key_cost(&self, nodes: &[NodeIdx]) -> i64 {
        let primaries = nodes.iter().flat_map(|node| &self.node(*node).state.primaries);
        let keys: Vec<&CarriedKeys> =
            primaries.map(|i| &self.instance(*i).keys).filter(|keys| !keys.is_empty()).collect();
        let mut all: Occurrences<KeyIdx> = Occurrences::default();
        keys.iter().for_each(|keys| all.add_keys(keys, 1));
        // of a pair each counts the other
        let pairs = keys.iter().map(|keys| keys.mates(&all)).sum::<i64>() / 2;
        -pairs - keys.iter().map(|keys| keys.home()).sum::<i64>()
    }
}

/// Those first that are compared with all others; then by name, scope, value and weight. Numbers are told apart by their bits.
fn order(a: &CarriedKey, b: &CarriedKey) -> std::cmp::Ordering {
    let (one, other) = (&a.key, &b.key);
    let names = is_shared(b).cmp(&is_shared(a)).then(one.name.cmp(&other.name)).then(a.scope.cmp(&b.scope));
    names.then(one.value.total_cmp(&other.value)).then(one.weight.total_cmp(&other.weight))
}

/// Whether all sums of so many keys can be exact.
fn check_sums<'a>(keys: impl Iterator<Item = &'a AffinityKey>) -> Result<(), KeysTooHeavy> {
    let (mut count, mut weight) = (0.0, 0.0);
    for key in keys {
        count += 1.0;
        weight += key.weight.abs();
    }
    // each key meets each other one; room for differences of sums
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
        // a value and those about 1 away from it, to the last bit
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
