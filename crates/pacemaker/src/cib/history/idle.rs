//! Marks of resources that are known not to run on a host. Most histories belong to such resources.

use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;

use foldhash::quality::FixedState;

use super::super::unfencing::common;

/// Resources that are known not to run on a host.
#[derive(Debug, Clone, Default)]
pub(in crate::cib) struct IdleMarks {
    /// By the time of their last change or check, which many have in common.
    by_time: BTreeMap<Option<i64>, Vec<NameMark>>,
    /// Resources that have run there, and [when](super::ResourceHistory::ran).
    ran: Vec<(NameMark, i64)>,
    /// The names of instances of clones, without their numbers.
    instances_of: Vec<NameMark>,
}

impl IdleMarks {
    pub(in crate::cib) fn add(&mut self, name: &[u8], when: Option<i64>, ran: Option<i64>) {
        let mark = NameMark::of(name);
        self.by_time.entry(when).or_default().push(mark);
        let bare = common(name);
        let is_instance = !bare.is_empty() && bare.len() < name.len();
        self.instances_of.extend(is_instance.then(|| NameMark::of(bare)));
        self.ran.extend(ran.map(|ran| (mark, ran)));
    }

    pub(in crate::cib) fn append(&mut self, mut other: IdleMarks) {
        for (when, mut marks) in other.by_time {
            self.by_time.entry(when).or_default().append(&mut marks);
        }
        self.ran.append(&mut other.ran);
        self.instances_of.append(&mut other.instances_of);
    }

    /// Resources that have run there, and [when](super::ResourceHistory::ran).
    pub(in crate::cib) fn ran(&self) -> impl Iterator<Item = (NameMark, i64)> + '_ {
        self.ran.iter().copied()
    }

    /// Marks of all of them.
    pub(in crate::cib) fn names(&self) -> HashSet<NameMark> {
        self.by_time.values().flatten().copied().collect()
    }

    /// Marks of all of them, and of the names of instances without their numbers.
    pub(in crate::cib) fn names_and_clones(&self) -> HashSet<NameMark> {
        self.by_time.values().flatten().chain(&self.instances_of).copied().collect()
    }

    /// Time when a resource was last known not to run, if it is one of these.
    pub(in crate::cib) fn when(&self, name: &[u8]) -> Option<Option<i64>> {
        let mark = NameMark::of(name);
        self.by_time.iter().find(|(_, marks)| marks.contains(&mark)).map(|(when, _)| *when)
    }
}

/// Hash of a name, for names that are too many to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::cib) struct NameMark(u64);

impl NameMark {
    pub(in crate::cib) fn of(name: &[u8]) -> NameMark {
        NameMark(FixedState::default().hash_one(name))
    }
}
