//! Where instances are while nodes are being cleared: changes that can be taken
//! back, so that a failed attempt costs what it did and no copy of the cluster.

use crate::model::{
    Cluster, DiskCheck, Instance, InstanceIdx, Ledger, Mib, NodeIdx, NodeSpec, Occurrences, Placement,
    Strictness, TagArrival, TagId,
};

use super::MovedMeanwhile;

/// What changes of a node.
#[derive(Debug, Clone)]
struct Occupied {
    ledger: Ledger,
    primaries: Vec<InstanceIdx>,
    secondaries: Vec<InstanceIdx>,
    tags: Occurrences<TagId>,
}

/// One change, with what is needed to take it back.
#[derive(Debug, Clone)]
struct LayoutChange {
    instance: InstanceIdx,
    from: Placement,
    /// The nodes concerned as they were.
    before: [Option<(NodeIdx, Ledger)>; 2],
    /// Where in the lists of its old nodes the instance was.
    at: [Option<usize>; 2],
}

/// The cluster with some instances moved.
#[derive(Debug, Clone)]
pub struct Layout<'a> {
    cluster: &'a Cluster,
    nodes: Vec<Occupied>,
    places: Vec<Placement>,
    changes: Vec<LayoutChange>,
}

/// A point to which one can go back.
#[derive(Debug, Clone, Copy)]
pub struct LayoutMark(usize);

impl<'a> Layout<'a> {
    /// The cluster as it is.
    pub fn of(cluster: &'a Cluster) -> Layout<'a> {
        let occupied = |node: &crate::model::Node| Occupied {
            ledger: node.state.ledger,
            primaries: node.state.primaries.clone(),
            secondaries: elsewhere(cluster, node),
            tags: node.state.tag_count.clone(),
        };
        let place = |i: &Instance| Placement { primary: i.primary, secondary: i.secondary };
        Layout {
            cluster,
            nodes: cluster.nodes.iter().map(occupied).collect(),
            places: cluster.instances.iter().map(place).collect(),
            changes: Vec::new(),
        }
    }

    /// This point.
    pub fn mark(&self) -> LayoutMark {
        LayoutMark(self.changes.len())
    }

    /// Takes back everything that happened after a point.
    pub fn back_to(&mut self, mark: LayoutMark) {
        while self.changes.len() > mark.0 {
            let Some(change) = self.changes.pop() else { return };
            let idx = change.instance.get();
            let (from, to) = (change.from, std::mem::replace(&mut self.places[idx], change.from));
            let instance = self.cluster.instance(change.instance);
            if from.primary != to.primary {
                let new = &mut self.nodes[to.primary.get()];
                new.primaries.pop();
                new.tags.add_tags(&instance.exclusion_tags, -1);
                let old = &mut self.nodes[from.primary.get()];
                if let Some(at) = change.at[0] {
                    old.primaries.insert(at, change.instance);
                }
                old.tags.add_tags(&instance.exclusion_tags, 1);
            }
            if from.secondary != to.secondary {
                if let Some(node) = to.secondary {
                    self.nodes[node.get()].secondaries.pop();
                }
                if let (Some(node), Some(at)) = (from.secondary, change.at[1]) {
                    self.nodes[node.get()].secondaries.insert(at, change.instance);
                }
            }
            for (node, ledger) in change.before.into_iter().flatten() {
                self.nodes[node.get()].ledger = ledger;
            }
        }
    }

    /// Primaries of a node, newest first.
    pub fn primaries(&self, node: NodeIdx) -> Vec<InstanceIdx> {
        self.nodes[node.get()].primaries.iter().rev().copied().collect()
    }

    /// Secondaries of a node, newest first.
    pub fn secondaries(&self, node: NodeIdx) -> Vec<InstanceIdx> {
        self.nodes[node.get()].secondaries.iter().rev().copied().collect()
    }

    /// Where an instance is now.
    pub fn place(&self, instance: InstanceIdx) -> Placement {
        self.places[instance.get()]
    }

    /// The instances that are not where they were, but for those of which only the
    /// roles of the nodes changed.
    pub fn moved(&self) -> Vec<MovedMeanwhile> {
        let mut changed: Vec<InstanceIdx> = self.changes.iter().map(|c| c.instance).collect();
        changed.sort_unstable();
        changed.dedup();
        let moved = |instance: InstanceIdx| {
            let was = self.cluster.instance(instance);
            let from = Placement { primary: was.primary, secondary: was.secondary };
            MovedMeanwhile { instance, from, to: self.place(instance) }
        };
        changed.into_iter().map(moved).filter(|m| m.from != m.to && !m.is_failover()).collect()
    }

    fn node(&self, node: NodeIdx) -> (&NodeSpec, &Ledger) {
        (&self.cluster.node(node).spec, &self.nodes[node.get()].ledger)
    }

    /// What a node would be with one more primary, and what it could still take
    /// then; nothing if a rule forbids it.
    pub fn offer(&self, instance: InstanceIdx, target: NodeIdx, how: Strictness) -> Option<(Ledger, Mib)> {
        let moved = self.cluster.instance(instance);
        let (spec, ledger) = self.node(target);
        let tags = self.arrival(moved, target);
        let new = ledger.add_primary(spec, moved, moved.location_score, tags, how).ok()?;
        Some((new, new.mem_available(spec)))
    }

    fn arrival(&self, instance: &Instance, target: NodeIdx) -> TagArrival {
        let count = &self.nodes[target.get()].tags;
        let there = |tag: &TagId| count.get(*tag) > 0;
        // only whether there is a clash is asked for; the number of conflicts is never looked at
        TagArrival { conflicts: 0, clash: instance.exclusion_tags.iter().any(there) }
    }

    /// Makes a node the primary of an instance that has no use for a secondary.
    pub fn move_primary(&mut self, instance: InstanceIdx, target: NodeIdx, new: Ledger) {
        let from = self.place(instance);
        let moved = self.cluster.instance(instance);
        let (spec, ledger) = self.node(from.primary);
        let left = ledger.remove_primary(spec, moved, moved.location_score, 0);
        let to = Placement { primary: target, ..from };
        self.enter(instance, to, [(from.primary, left), (target, new)]);
    }

    /// Moves the copy of an instance's disks to a node if it takes it.
    pub fn move_secondary(&mut self, instance: InstanceIdx, target: NodeIdx) -> bool {
        let from = self.place(instance);
        let Some(old) = from.secondary else { return false };
        let moved = self.cluster.instance(instance);
        let (spec, ledger) = self.node(target);
        // what is reserved is asked for by soft rules only
        let Ok(new) = ledger.add_secondary(spec, moved, Mib::ZERO, Strictness::Forced, DiskCheck::Needed)
        else {
            return false;
        };
        let (spec, ledger) = self.node(old);
        let left = ledger.remove_secondary(spec, moved, ledger.mem_reserved);
        let to = Placement { secondary: Some(target), ..from };
        self.enter(instance, to, [(old, left), (target, new)]);
        true
    }

    /// Lets an instance's nodes change their roles if they can.
    pub fn fail_over(&mut self, instance: InstanceIdx) -> bool {
        let from = self.place(instance);
        let Some(secondary) = from.secondary else { return false };
        let moved = self.cluster.instance(instance);
        let (spec, ledger) = self.node(secondary);
        let without = ledger.remove_secondary(spec, moved, ledger.mem_reserved);
        let tags = TagArrival::default();
        let runs = without.add_primary(spec, moved, moved.location_score, tags, Strictness::Forced);
        let (spec, ledger) = self.node(from.primary);
        let left = ledger.remove_primary(spec, moved, moved.location_score, 0);
        let keeps = left.add_secondary(spec, moved, Mib::ZERO, Strictness::Forced, DiskCheck::Needed);
        let (Ok(runs), Ok(keeps)) = (runs, keeps) else { return false };
        let to = Placement { primary: secondary, secondary: Some(from.primary) };
        self.enter(instance, to, [(from.primary, keeps), (secondary, runs)]);
        true
    }

    fn enter(&mut self, instance: InstanceIdx, to: Placement, after: [(NodeIdx, Ledger); 2]) {
        let from = std::mem::replace(&mut self.places[instance.get()], to);
        let before = after.map(|(node, ledger)| {
            let old = std::mem::replace(&mut self.nodes[node.get()].ledger, ledger);
            Some((node, old))
        });
        let mut at = [None; 2];
        let tags = &self.cluster.instance(instance).exclusion_tags;
        if from.primary != to.primary {
            let old = &mut self.nodes[from.primary.get()];
            at[0] = take_out(&mut old.primaries, instance);
            old.tags.add_tags(tags, -1);
            let new = &mut self.nodes[to.primary.get()];
            new.primaries.push(instance);
            new.tags.add_tags(tags, 1);
        }
        if from.secondary != to.secondary {
            if let Some(node) = from.secondary {
                at[1] = take_out(&mut self.nodes[node.get()].secondaries, instance);
            }
            if let Some(node) = to.secondary {
                self.nodes[node.get()].secondaries.push(instance);
            }
        }
        self.changes.push(LayoutChange { instance, from, before, at });
    }
}

/// The secondaries of a node whose primary is another one: a source may say
/// otherwise of instances that have no use for a secondary.
fn elsewhere(cluster: &Cluster, node: &crate::model::Node) -> Vec<InstanceIdx> {
    let here = |i: &InstanceIdx| cluster.instance(*i).primary == node.spec.idx;
    node.state.secondaries.iter().copied().filter(|i| !here(i)).collect()
}

/// Takes an instance out of a list; where it was.
fn take_out(list: &mut Vec<InstanceIdx>, instance: InstanceIdx) -> Option<usize> {
    let at = list.iter().rposition(|i| *i == instance)?;
    list.remove(at);
    Some(at)
}
