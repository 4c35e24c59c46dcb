//! Instances that are alike in everything that affects a move. Only the first of them is examined, since it
//! wins every tie.

use std::collections::BTreeSet;

use htools_model::{Instance, NodeIdx};

/// Properties that alike instances share: nodes, location score and shape.
type AlikeKey = (NodeIdx, Option<NodeIdx>, i64, u32);

/// All instances, by position, in sets of equivalent ones.
#[derive(Debug, Default)]
pub(super) struct AlikeInstances {
    /// One tree for all sets. Most sets have one member, and a tree for each would take more memory than the
    /// rest.
    members: BTreeSet<(AlikeKey, u32)>,
    key_of: Vec<Option<AlikeKey>>,
    first: Vec<bool>,
}

fn key(instance: &Instance, shape: u32) -> AlikeKey {
    (instance.primary, instance.secondary, instance.location_score, shape)
}

impl AlikeInstances {
    /// Makes room for this number of instances.
    pub(super) fn new(instances: usize) -> AlikeInstances {
        AlikeInstances {
            members: BTreeSet::new(),
            key_of: vec![None; instances],
            first: vec![false; instances],
        }
    }

    /// Enters an instance, or enters it again after a move. Returns the other instances that became the first
    /// of their set or no longer are.
    pub(super) fn enter(&mut self, position: u32, instance: &Instance, shape: u32) -> Vec<u32> {
        let mut others = Vec::new();
        let new = key(instance, shape);
        if let Some(old) = self.key_of[position as usize].replace(new) {
            self.members.remove(&(old, position));
            if let Some(first) = self.first_of(old) {
                self.first[first as usize] = true;
                others.push(first);
            }
        }
        let first = self.first_of(new);
        if let Some(first) = first {
            self.first[first as usize] = first < position;
            others.push(first);
        }
        self.first[position as usize] = first.is_none_or(|first| position < first);
        self.members.insert((new, position));
        others
    }

    fn first_of(&self, key: AlikeKey) -> Option<u32> {
        let mut members = self.members.range((key, 0)..=(key, u32::MAX));
        members.next().map(|(_, position)| *position)
    }

    /// Returns true if the instance is the first of its set.
    pub(super) fn is_first(&self, position: u32) -> bool {
        self.first[position as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_testkit::cluster;

    #[test]
    fn the_first_of_alike_instances_counts() {
        let nodes = ["n1|9|0|8|9|9|9|N|u|1", "n2|9|0|8|9|9|9|N|u|1"];
        let instance = |name: &str, node: &str| format!("{name}|1|1|1|running|Y|{node}||ext|");
        let instances = [instance("a", "n1"), instance("b", "n1"), instance("c", "n2")];
        let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
        let mut cluster = cluster(&nodes, &instances, &[]);
        let mut alike = AlikeInstances::new(3);
        // The order of entering does not matter.
        assert_eq!(alike.enter(1, &cluster.instances[1], 0), [] as [u32; 0]);
        assert_eq!(alike.enter(0, &cluster.instances[0], 0), [1]);
        assert_eq!(alike.enter(2, &cluster.instances[2], 0), [] as [u32; 0]);
        assert_eq!([0, 1, 2].map(|p| alike.is_first(p)), [true, false, true]);
        // a joins c and comes first; b is alone.
        cluster.instances[0].primary = cluster.instances[2].primary;
        assert_eq!(alike.enter(0, &cluster.instances[0], 0), [1, 2]);
        assert_eq!([0, 1, 2].map(|p| alike.is_first(p)), [true, true, false]);
        // Another shape makes another set.
        assert_eq!(alike.enter(0, &cluster.instances[0], 7), [2]);
        assert_eq!([0, 1, 2].map(|p| alike.is_first(p)), [true, true, true]);
    }
}
