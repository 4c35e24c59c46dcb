//! Instances that are alike in everything that counts. Of these only the first
//! one is looked at, since it wins every tie.

use std::collections::BTreeSet;

use htools_model::{Instance, NodeIdx};

/// What alike instances share: nodes, location score and shape.
type AlikeKey = (NodeIdx, Option<NodeIdx>, i64, u32);

/// All instances, by position, in sets of alike ones.
#[derive(Debug, Default)]
pub(super) struct AlikeInstances {
    /// By set; most sets have one member, so that a tree of each would take more memory than all else.
    members: BTreeSet<(AlikeKey, u32)>,
    key_of: Vec<Option<AlikeKey>>,
    first: Vec<bool>,
}

fn key(instance: &Instance, shape: u32) -> AlikeKey {
    (instance.primary, instance.secondary, instance.location_score, shape)
}

impl AlikeInstances {
    /// Room for so many instances.
    pub(super) fn new(instances: usize) -> AlikeInstances {
        AlikeInstances {
            members: BTreeSet::new(),
            key_of: vec![None; instances],
            first: vec![false; instances],
        }
    }

    /// Enters an instance, or enters it anew after it moved. Returns the others
    /// that have now become the first of their set, or no longer are.
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

    /// Whether an instance is the first of its set.
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
        // in any order
        assert_eq!(alike.enter(1, &cluster.instances[1], 0), [] as [u32; 0]);
        assert_eq!(alike.enter(0, &cluster.instances[0], 0), [1]);
        assert_eq!(alike.enter(2, &cluster.instances[2], 0), [] as [u32; 0]);
        assert_eq!([0, 1, 2].map(|p| alike.is_first(p)), [true, false, true]);
        // a joins c, which is second now; b is alone
        cluster.instances[0].primary = cluster.instances[2].primary;
        assert_eq!(alike.enter(0, &cluster.instances[0], 0), [1, 2]);
        assert_eq!([0, 1, 2].map(|p| alike.is_first(p)), [true, true, false]);
        // another shape is another set
        assert_eq!(alike.enter(0, &cluster.instances[0], 7), [2]);
        assert_eq!([0, 1, 2].map(|p| alike.is_first(p)), [true, true, true]);
    }
}
