//! Tags as numbers, sets of tags, and counts of tags.

use std::collections::HashMap;
use std::sync::Arc;

/// A tag, by its position in the cluster's [`TagTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TagId(u32);

/// The distinct tags that matter for placement, each with its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagTable {
    names: Vec<String>,
    ids: HashMap<String, TagId>,
}

impl TagTable {
    /// The number of `tag`, assigned on first use.
    pub fn intern(&mut self, tag: &str) -> TagId {
        if let Some(&id) = self.ids.get(tag) {
            return id;
        }
        let id = TagId(u32::try_from(self.names.len()).expect("fewer than 2^32 tags"));
        self.names.push(tag.to_owned());
        self.ids.insert(tag.to_owned(), id);
        id
    }

    /// The text of a tag.
    pub fn name(&self, id: TagId) -> &str {
        &self.names[id.0 as usize]
    }
}

/// A set of tags. Copies share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TagSet(Option<Arc<[TagId]>>);

impl FromIterator<TagId> for TagSet {
    fn from_iter<I: IntoIterator<Item = TagId>>(tags: I) -> Self {
        let mut tags: Vec<TagId> = tags.into_iter().collect();
        tags.sort_unstable();
        tags.dedup();
        TagSet((!tags.is_empty()).then(|| tags.into()))
    }
}

impl TagSet {
    /// Tells if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn listed(&self) -> &[TagId] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The tags, in ascending order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = TagId> + '_ {
        self.listed().iter().copied()
    }

    /// Tells if `tag` is in the set.
    pub fn contains(&self, tag: TagId) -> bool {
        self.listed().binary_search(&tag).is_ok()
    }

    /// Number of tags.
    pub fn len(&self) -> usize {
        self.listed().len()
    }

    /// Tells if every tag of this set is in `other`.
    pub fn is_subset(&self, other: &TagSet) -> bool {
        let mut ahead = AscendingSearch::of(other.listed());
        self.len() <= other.len() && self.iter().all(|tag| ahead.find(tag, |t| *t).is_some())
    }

    /// Number of tags that are in both sets.
    pub fn common(&self, other: &TagSet) -> i64 {
        let (few, many) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        let mut ahead = AscendingSearch::of(many.listed());
        few.iter().filter(|&tag| ahead.find(tag, |t| *t).is_some()).count() as i64
    }

    /// The tags that both sets have.
    #[must_use]
    pub(crate) fn in_both(&self, other: &TagSet) -> TagSet {
        self.iter().filter(|tag| other.contains(*tag)).collect()
    }

    /// Number of tags of this set that are not in `other`.
    pub fn missing_in(&self, other: &TagSet) -> i64 {
        self.len() as i64 - self.common(other)
    }

    /// The tags of this set that are not in `other`, in ascending order.
    pub fn without<'a>(&'a self, other: &'a TagSet) -> impl Iterator<Item = TagId> + 'a {
        let mut ahead = AscendingSearch::of(other.listed());
        self.iter().filter(move |&tag| ahead.find(tag, |t| *t).is_none())
    }
}

/// An ascending list in which keys are looked up in ascending order. Near keys are found at once, far ones in
/// logarithmic time. So comparing two lists costs little more than reading the shorter one.
struct AscendingSearch<'a, T>(&'a [T]);

impl<'a, T> AscendingSearch<'a, T> {
    fn of(list: &'a [T]) -> AscendingSearch<'a, T> {
        AscendingSearch(list)
    }

    /// The entry of a key, which must not be smaller than earlier ones.
    fn find<K: Ord>(&mut self, key: K, key_of: impl Fn(&T) -> K) -> Option<&'a T> {
        let mut reach = 1;
        while self.0.get(reach - 1).is_some_and(|entry| key_of(entry) < key) {
            reach *= 2;
        }
        let known = reach / 2;
        let near = &self.0[known..self.0.len().min(reach)];
        let at = known + near.partition_point(|entry| key_of(entry) < key);
        self.0 = &self.0[at..];
        self.0.first().filter(|entry| key_of(entry) == key)
    }
}

/// The exclusion tags of an instance, as a list and counted. Copies share them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ExclusionTags(Option<Arc<CountedTags>>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct CountedTags {
    listed: Box<[TagId]>,
    counts: Occurrences<TagId>,
}

static NO_TAGS: Occurrences<TagId> = Occurrences::new();

impl FromIterator<TagId> for ExclusionTags {
    fn from_iter<I: IntoIterator<Item = TagId>>(tags: I) -> Self {
        let listed: Box<[TagId]> = tags.into_iter().collect();
        if listed.is_empty() {
            return ExclusionTags::default();
        }
        let counts = listed.iter().copied().collect();
        ExclusionTags(Some(Arc::new(CountedTags { listed, counts })))
    }
}

impl ExclusionTags {
    /// The distinct tags, each with the number of times that the instance has it.
    pub fn counts(&self) -> &Occurrences<TagId> {
        self.0.as_ref().map_or(&NO_TAGS, |counted| &counted.counts)
    }
}

/// The list in source order, with repetitions.
impl std::ops::Deref for ExclusionTags {
    type Target = [TagId];

    fn deref(&self) -> &[TagId] {
        self.0.as_ref().map_or(&[], |counted| &counted.listed)
    }
}

impl<'a> IntoIterator for &'a ExclusionTags {
    type Item = &'a TagId;
    type IntoIter = std::slice::Iter<'a, TagId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Number of occurrences of each key. Keys that do not occur are not stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Occurrences<K>(Vec<(K, i64)>);

/// Up to this many keys are added one by one.
const FEW_KEYS: usize = 8;

impl<K: Ord + Copy> FromIterator<K> for Occurrences<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut keys: Vec<K> = keys.into_iter().collect();
        keys.sort_unstable();
        Occurrences(keys.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as i64)).collect())
    }
}

impl<K> Default for Occurrences<K> {
    fn default() -> Self {
        Occurrences::new()
    }
}

impl<K> Occurrences<K> {
    /// No occurrences.
    pub const fn new() -> Occurrences<K> {
        Occurrences(Vec::new())
    }

    /// Tells if there are no occurrences.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Ord + Copy> Occurrences<K> {
    /// Number of occurrences of `key`.
    pub fn get(&self, key: K) -> i64 {
        self.0.binary_search_by_key(&key, |e| e.0).map_or(0, |at| self.0[at].1)
    }

    /// Adds `by`, which may be negative, to the count of `key`.
    pub fn add(&mut self, key: K, by: i64) {
        match self.0.binary_search_by_key(&key, |e| e.0) {
            Ok(at) => {
                self.0[at].1 += by;
                if self.0[at].1 == 0 {
                    self.0.remove(at);
                }
            }
            Err(at) => {
                if by != 0 {
                    self.0.insert(at, (key, by));
                }
            }
        }
    }

    /// Adds to the counts of distinct ascending keys.
    pub(crate) fn add_each(&mut self, more: impl ExactSizeIterator<Item = (K, i64)>) {
        if more.len() <= FEW_KEYS {
            more.for_each(|(key, by)| self.add(key, by));
            return;
        }
        let mut sums = Vec::with_capacity(self.0.len() + more.len());
        let mut old = std::mem::take(&mut self.0).into_iter().peekable();
        for (key, by) in more {
            while let Some(before) = old.next_if(|e| e.0 < key) {
                sums.push(before);
            }
            sums.push((key, by + old.next_if(|e| e.0 == key).map_or(0, |e| e.1)));
        }
        sums.extend(old);
        sums.retain(|e| e.1 != 0);
        self.0 = sums;
    }

    /// The counts of some keys, which must be ascending.
    pub fn look_up<'a, T: 'a>(
        &'a self,
        keys: impl Iterator<Item = T> + 'a,
        key_of: impl Fn(&T) -> K + 'a,
    ) -> impl Iterator<Item = (T, i64)> + 'a {
        let mut ahead = AscendingSearch::of(&self.0);
        keys.map(move |item| {
            let count = ahead.find(key_of(&item), |e| e.0).map_or(0, |e| e.1);
            (item, count)
        })
    }

    /// The keys that occur, with their counts, in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (K, i64)> + '_ {
        self.0.iter().copied()
    }

    /// The keys from `from` up to, but not including, `to`, with their counts.
    pub(crate) fn between(&self, from: K, to: K) -> &[(K, i64)] {
        let from = self.0.partition_point(|e| e.0 < from);
        let count = self.0[from..].partition_point(|e| e.0 < to);
        &self.0[from..from + count]
    }

    /// Occurrences beyond the first of each key.
    pub(crate) fn surplus(&self) -> i64 {
        self.0.iter().map(|e| e.1 - 1).sum()
    }
}

impl Occurrences<TagId> {
    /// Adds `by` times the tags of an instance; `by` may be negative.
    pub fn add_tags(&mut self, tags: &ExclusionTags, by: i64) {
        self.add_each(tags.counts().iter().map(|(tag, count)| (tag, by * count)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tags_share_a_number() {
        let mut table = TagTable::default();
        let (a, b) = (table.intern("a"), table.intern("b"));
        assert_eq!(table.intern("a"), a);
        assert_ne!(a, b);
        assert_eq!(table.name(b), "b");
    }

    #[test]
    fn set_operations() {
        let mut table = TagTable::default();
        let [a, b, c] = ["a", "b", "c"].map(|t| table.intern(t));
        let (ab, bc): (TagSet, TagSet) = ([b, a, a].into_iter().collect(), [c, b].into_iter().collect());
        assert!(!ab.is_subset(&bc) && TagSet::default().is_subset(&ab));
        assert_eq!((ab.common(&bc), ab.missing_in(&bc)), (1, 1));
    }

    #[test]
    fn counts_forget_keys_that_no_longer_occur() {
        let mut counts = Occurrences::default();
        counts.add(7, 1);
        counts.add(7, 1);
        assert_eq!((counts.get(7), counts.surplus()), (2, 1));
        counts.add(7, -2);
        assert_eq!((counts.iter().count(), counts.surplus()), (0, 0));
    }

    /// Ascending numbers below `bound`, each included with a chance of one in `rarity`.
    fn some(seed: &mut u64, bound: u32, rarity: u64) -> Vec<TagId> {
        let mut lot = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *seed >> 33
        };
        (0..bound).filter(|_| lot() % rarity == 0).map(TagId).collect()
    }

    #[test]
    fn sets_are_compared_as_by_looking_at_each_tag() {
        let mut seed = 1;
        for (few, many) in [(1, 1), (2, 2), (40, 2), (2, 40), (30, 30)].repeat(20) {
            let [a, b] = [few, many].map(|rarity| some(&mut seed, 200, rarity));
            let [x, y]: [TagSet; 2] = [&a, &b].map(|tags| tags.iter().copied().collect());
            let without: Vec<TagId> = a.iter().copied().filter(|tag| !b.contains(tag)).collect();
            assert_eq!(x.without(&y).collect::<Vec<_>>(), without);
            assert_eq!(x.missing_in(&y), without.len() as i64);
            assert_eq!(x.common(&y), (a.len() - without.len()) as i64);
            assert_eq!(x.common(&y), y.common(&x));
            assert_eq!(x.is_subset(&y), without.is_empty());
        }
    }

    #[test]
    fn counting_many_is_counting_each() {
        let mut seed = 2;
        for (there, more) in [(2, 2), (2, 40), (40, 2), (1, 1)].repeat(20) {
            let mut counts: Occurrences<TagId> = some(&mut seed, 100, there).into_iter().collect();
            let (tags, again) = (some(&mut seed, 100, more), some(&mut seed, 100, more));
            let tags: ExclusionTags = tags.iter().rev().chain(&again).copied().collect();
            let mut plain = counts.clone();
            for (by, sign) in [(2, 1), (-3, -1)] {
                counts.add_tags(&tags, by);
                tags.iter().for_each(|tag| (0..by.abs()).for_each(|_| plain.add(*tag, sign)));
                assert_eq!(counts, plain);
            }
            let found: Vec<i64> = counts.look_up(tags.counts().iter(), |e| e.0).map(|e| e.1).collect();
            let each: Vec<i64> = tags.counts().iter().map(|(tag, _)| counts.get(tag)).collect();
            assert_eq!(found, each);
        }
    }
}
