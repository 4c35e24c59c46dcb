//! Results as Prometheus metrics: for the textfile collector of its node exporter (`--metrics`), and for `htools
//! exporter`.
//!
//! Each tool has families of its own ([`Family`]), so that the files of several tools can be in one directory: the
//! collector refuses a series that it finds twice. For the same reason objects with the same name get different labels
//! ([`distinct_names`]), and every series has the name of its cluster as a label. Nodes have series, but instances have
//! none: there are too many, and they come and go.

mod families;
mod text;

pub use families::{Family, FamilyKind, FamilyRow};
pub use text::exposition;

use std::collections::HashSet;

use crate::model::{Cluster, GroupIdx, Mib};

/// Values of one cluster, in any order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    cluster: String,
    samples: Vec<Sample>,
}

#[derive(Debug, Clone, PartialEq)]
struct Sample {
    family: Family,
    /// Values of the family's labels.
    labels: Vec<String>,
    value: f64,
}

impl Sheet {
    /// An empty sheet; `cluster` is the value of the label of that name.
    pub fn of(cluster: impl Into<String>) -> Sheet {
        Sheet { cluster: cluster.into(), samples: Vec::new() }
    }

    /// Adds a value. `labels` are the values of the family's labels, in their order, without `cluster`.
    ///
    /// # Panics
    /// If there are more or fewer labels than the family has.
    pub fn put(&mut self, family: Family, labels: &[&str], value: f64) {
        let of_cluster = family.row().labels.first() == Some(&"cluster");
        let own = of_cluster.then(|| self.cluster.clone());
        let labels: Vec<String> = own.into_iter().chain(labels.iter().map(ToString::to_string)).collect();
        assert_eq!(labels.len(), family.row().labels.len(), "{family:?}");
        self.samples.push(Sample { family, labels, value });
    }

    /// Adds a count of things; otherwise the same.
    pub(in crate::report) fn count(&mut self, family: Family, labels: &[&str], count: usize) {
        self.put(family, labels, count as f64);
    }

    /// Adds 1 if something is so, or 0; otherwise the same.
    pub(in crate::report) fn flag(&mut self, family: Family, labels: &[&str], is_so: bool) {
        self.put(family, labels, f64::from(u8::from(is_so)));
    }

    /// Adds an amount, given in MiB, in bytes; otherwise the same.
    pub(in crate::report) fn bytes(&mut self, family: Family, labels: &[&str], mib: f64) {
        self.put(family, labels, mib * MIB);
    }
}

/// Bytes per MiB.
const MIB: f64 = (1 << 20) as f64;

/// Makes names distinct: a name that occurred before gets a number after it.
pub fn distinct_names<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut taken = HashSet::new();
    let distinct = |name: &str| {
        let candidates = (2..).map(|number: u64| format!("{name} ({number})"));
        let free = std::iter::once(name.to_owned()).chain(candidates).find(|one| !taken.contains(one));
        let free = free.unwrap_or_default();
        taken.insert(free.clone());
        free
    };
    names.map(distinct).collect()
}

/// The label of each group.
pub(in crate::report) struct GroupLabels(Vec<String>);

impl GroupLabels {
    pub(in crate::report) fn of(cluster: &Cluster) -> GroupLabels {
        GroupLabels(distinct_names(cluster.groups.iter().map(|group| group.name.as_str())))
    }

    pub(in crate::report) fn get(&self, group: GroupIdx) -> &str {
        &self.0[group.get()]
    }
}

/// The disk space that steps copy, in MiB.
pub(in crate::report) fn copied<'s>(
    cluster: &Cluster,
    steps: impl IntoIterator<Item = &'s crate::model::Step>,
) -> f64 {
    steps.into_iter().map(|step| step.copied(cluster)).sum::<Mib>().as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_numbers() {
        let distinct = |names: &[&str]| distinct_names(names.iter().copied());
        assert_eq!(distinct(&["a", "b"]), ["a", "b"]);
        assert_eq!(distinct(&["a", "a", "a (2)", "a"]), ["a", "a (2)", "a (2) (2)", "a (3)"]);
        assert_eq!(distinct(&["", ""]), ["", " (2)"]);
    }

    #[test]
    #[should_panic(expected = "GroupScore")]
    fn a_series_has_all_its_labels() {
        Sheet::of("c").put(Family::GroupScore, &[], 1.0);
    }
}
