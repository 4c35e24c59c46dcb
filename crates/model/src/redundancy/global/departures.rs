//! Order in which instances leave a node that is emptied on trial.

use std::cmp::{Ordering, Reverse};

use crate::{Instance, Mib};

/// Order in which instances leave a node that is emptied on trial. If room is scarce, it decides whether the last
/// instance finds a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Departures {
    /// Largest first, by name among equals. The verdict then does not depend on the order in which a source lists
    /// instances.
    #[default]
    BySize,
    /// Last in the node's list first, as in the reference.
    AsListed,
    /// Smallest first, by name among equals, so that the largest finds the least room.
    SmallestFirst,
}

impl Departures {
    /// Sorts the instances that are relocated and those that are recreated. Both must come in reverse order of the
    /// node's list.
    pub(super) fn sort(self, relocate: &mut [&Instance], recreate: &mut [&Instance]) {
        match self {
            Departures::BySize => {
                relocate.sort_by(|a, b| by_size(a.mem_in_use(), b.mem_in_use()).then_with(|| by_name(a, b)));
                recreate
                    .sort_by(|a, b| by_size((a.mem, a.disk), (b.mem, b.disk)).then_with(|| by_name(a, b)));
            }
            Departures::AsListed => recreate.sort_by_key(|i| Reverse(i.mem)),
            Departures::SmallestFirst => {
                Departures::BySize.sort(relocate, recreate);
                relocate.reverse();
            }
        }
    }

    /// Sorts the sizes of relocated instances in the same way.
    pub(super) fn sort_sizes(self, sizes: &mut [Mib]) {
        match self {
            Departures::BySize => sizes.sort_unstable_by(|a, b| b.cmp(a)),
            Departures::SmallestFirst => sizes.sort_unstable(),
            Departures::AsListed => {}
        }
    }
}

fn by_size<T: Ord>(a: T, b: T) -> Ordering {
    b.cmp(&a)
}

fn by_name(a: &Instance, b: &Instance) -> Ordering {
    a.name.cmp(&b.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiskTemplate, RunStatus};

    #[test]
    fn the_largest_leave_first_whatever_the_list() {
        let rows = [
            ("i10", 300, RunStatus::Running),
            ("i2", 300, RunStatus::Running),
            ("i1", 500, RunStatus::Running),
            ("stopped", 900, RunStatus::AdminDown),
        ];
        let instance = |(name, mem, status): &(&str, i64, RunStatus)| {
            let mut instance = Instance::blank(name.to_string(), DiskTemplate::Ext);
            let details = instance.details_mut();
            (details.mem, details.disk, details.status) = (Mib(*mem), Mib(10), *status);
            instance
        };
        let names = |rows: &[(&str, i64, RunStatus)], departures: Departures| {
            let instances: Vec<Instance> = rows.iter().map(instance).collect();
            let mut leaving: Vec<&Instance> = instances.iter().rev().collect();
            departures.sort(&mut leaving, &mut []);
            leaving.iter().map(|i| i.name.to_string()).collect::<Vec<_>>()
        };
        let turned: Vec<_> = rows.iter().rev().copied().collect();
        for rows in [&rows[..], &turned] {
            assert_eq!(names(rows, Departures::BySize), ["i1", "i10", "i2", "stopped"]);
            assert_eq!(names(rows, Departures::SmallestFirst), ["stopped", "i2", "i10", "i1"]);
        }
        assert_eq!(names(&rows, Departures::AsListed), ["stopped", "i1", "i2", "i10"]);
    }
}
