//! Whether it is certain how the emptying of a node ends, while instances on shared
//! storage leave it one after the other.
//!
//! What sums leave open before the first has left (see [`relocation`](super::relocation))
//! they often decide once a few of them, or the one that is hard to place, have found a node:
//! the sums hold for whatever is still to leave, and for the room that there is by then.

use super::figures::PLAUSIBLE;
use super::relocation::{self, MemoryLoad};
use crate::model::Mib;

/// What has still to leave, and the room for it.
pub(super) struct Outlook {
    /// Memory in use of what is still there, in the order in which it leaves.
    sizes: Vec<Mib>,
    /// How many of these have left.
    gone: usize,
    /// What the targets have unallocated, descending.
    rooms: Vec<(Mib, i64)>,
}

impl Outlook {
    /// Nothing for absurd amounts, whose sums could overflow.
    pub fn of(sizes: Vec<Mib>, rooms: impl Iterator<Item = Mib>) -> Option<Outlook> {
        let mut rooms: Vec<(Mib, i64)> = rooms.map(|room| (room, 1)).collect();
        rooms.sort_unstable_by(|a, b| b.cmp(a));
        let plausible = rooms.iter().all(|room| (-PLAUSIBLE..PLAUSIBLE).contains(&room.0))
            && sizes.iter().all(|size| (Mib::ZERO..PLAUSIBLE).contains(size));
        plausible.then_some(Outlook { sizes, gone: 0, rooms })
    }

    /// Whether all that is still there finds a target; nothing if that depends on which.
    pub fn verdict(&self) -> Option<bool> {
        let left = &self.sizes[self.gone..];
        let mut load = MemoryLoad::NONE;
        left.iter().for_each(|size| load.add(*size));
        let rooms = || self.rooms.iter().copied();
        relocation::verdict(&load, &self.rooms[..]).or_else(|| relocation::verdict_in_order(left, rooms()))
    }

    /// The next one has left, to a target that has so much room now.
    pub fn leave(&mut self, room: Mib) {
        let before = room + self.sizes[self.gone];
        self.gone += 1;
        let from = self.rooms.partition_point(|r| r.0 > before);
        // behind the one that changes, unless nothing is taken
        let to = self.rooms.partition_point(|r| r.0 > room);
        if from < to {
            self.rooms[from..to].rotate_left(1);
            self.rooms[to - 1] = (room, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Departures, casualties, evacuates};
    use super::*;
    use crate::model::NodeIdx;
    use crate::testing::cluster;
    use proptest::prelude::*;

    #[test]
    fn rooms_stay_in_order() {
        let amounts = |o: &Outlook| o.rooms.iter().map(|r| r.0.0).collect::<Vec<i64>>();
        let sizes = [4, 0, 9, 2].map(Mib).to_vec();
        let mut outlook = Outlook::of(sizes, [3, 9, 7, 9, 12].into_iter().map(Mib)).unwrap();
        let after = [
            (8, vec![9, 9, 8, 7, 3]),
            (9, vec![9, 9, 8, 7, 3]),
            (0, vec![9, 8, 7, 3, 0]),
            (1, vec![9, 8, 7, 1, 0]),
        ];
        for (room, rooms) in after {
            outlook.leave(Mib(room));
            assert_eq!(amounts(&outlook), rooms);
        }
        assert_eq!(outlook.verdict(), Some(true));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Without looking ahead, every instance is placed to the end.
        #[test]
        fn looking_ahead_changes_no_verdict(
            leaving in prop::collection::vec((1i64..9, prop::bool::weighted(0.1)), 1..7),
            others in prop::collection::vec((1i64..5, 0i64..14), 1..5),
            drbd in prop::bool::weighted(0.2),
        ) {
            let mut nodes = vec!["n0|9000|0|9000|90000|90000|9|N|u|1".to_string()];
            let mut instances: Vec<String> = Vec::new();
            for (at, (size, stopped)) in leaving.into_iter().enumerate() {
                let state = if stopped { "ADMIN_down" } else { "running" };
                let (to, template) = if drbd && at == 0 { ("n1", "drbd") } else { ("", "ext") };
                instances.push(format!("i{at}|{}|10|1|{state}|Y|n0|{to}|{template}||1", size * 100));
            }
            for (at, (cpus, free)) in others.into_iter().enumerate() {
                let (node, free) = (format!("n{}", at + 1), free * 100);
                nodes.push(format!("{node}|2000|0|{free}|90000|90000|{cpus}|N|u|1"));
                instances.push(format!("o{at}|{}|10|1|running|Y|{node}||ext||1", 2000 - free));
            }
            let refs = |rows: &'_ [String]| rows.iter().map(|row| row.clone().leak() as &str).collect::<Vec<_>>();
            let cluster = cluster(&refs(&nodes), &refs(&instances), &[]);
            let all = cluster.all_nodes();
            for node in (0..nodes.len()).map(NodeIdx::new) {
                let found = evacuates(&cluster, &all, node, Departures::BySize);
                prop_assert_eq!(found, casualties(&cluster, &all, &[node]).is_empty());
            }
        }
    }
}
