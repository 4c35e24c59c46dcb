//! Tags as numbers, sets of tags, and counts by tag.

use std::collections::HashMap;

/// A tag, by its position in the cluster's [`TagTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TagId(u32);

/// The distinct tags that matter for placement, each with its number.
#[derive(Debug, Clone, Default)]
pub struct TagTable {
    names: Vec<String>,
    ids: HashMap<String, TagId>,
}

impl TagTable {
    /// The number of `tag`, given out on first use.
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

/// A set of tags.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TagSet(Vec<TagId>);

impl FromIterator<TagId> for TagSet {
    fn from_iter<I: IntoIterator<Item = TagId>>(tags: I) -> Self {
        let mut tags: Vec<TagId> = tags.into_iter().collect();
        tags.sort_unstable();
        tags.dedup();
        TagSet(tags)
    }
}

impl TagSet {
    /// Whether there is no tag at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tags, in ascending order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = TagId> + '_ {
        self.0.iter().copied()
    }

    /// Whether `tag` is in the set.
    pub fn contains(&self, tag: TagId) -> bool {
        self.0.binary_search(&tag).is_ok()
    }

    /// Whether every tag of this set is in `other`.
    pub fn is_subset(&self, other: &TagSet) -> bool {
        self.iter().all(|tag| other.contains(tag))
    }

    /// How many tags both sets have.
    pub fn common(&self, other: &TagSet) -> i64 {
        self.iter().filter(|&tag| other.contains(tag)).count() as i64
    }

    /// How many tags of this set are not in `other`.
    pub fn missing_in(&self, other: &TagSet) -> i64 {
        self.iter().filter(|&tag| !other.contains(tag)).count() as i64
    }
}

/// How often each key occurs; keys that do not occur are not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts<K>(Vec<(K, i64)>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts(Vec::new())
    }
}

impl<K: Ord + Copy> Counts<K> {
    /// How often `key` occurs.
    pub fn get(&self, key: K) -> i64 {
        self.0.binary_search_by_key(&key, |e| e.0).map_or(0, |at| self.0[at].1)
    }

    /// Counts one more (or, with a negative `by`, fewer) of `key`.
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

    /// The keys that occur, with their counts, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (K, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Occurrences beyond the first of each key.
    pub fn surplus(&self) -> i64 {
        self.0.iter().map(|e| e.1 - 1).sum()
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
        let mut counts = Counts::default();
        counts.add(7, 1);
        counts.add(7, 1);
        assert_eq!((counts.get(7), counts.surplus()), (2, 1));
        counts.add(7, -2);
        assert_eq!((counts.iter().count(), counts.surplus()), (0, 0));
    }
}
