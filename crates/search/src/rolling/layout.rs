//! Placement of instances while nodes are cleared. Only impossible moves are forbidden, so reserves are not
//! updated and conflicts not counted.

use std::collections::BTreeSet;

use htools_model::{
    Cluster, DiskCheck, Draft, Instance, InstanceIdx, Ledger, Mark, Mib, MovedMeanwhile, NodeIdx, Placement,
    Strictness, TagArrival,
};

/// The cluster with some instances moved.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    start: &'a Cluster,
    draft: Draft,
    beginning: Mark,
}

impl<'a> Layout<'a> {
    pub(crate) fn of(start: &'a Cluster) -> Layout<'a> {
        let mut draft = Draft::of(start);
        let beginning = draft.mark();
        Layout { start, draft, beginning }
    }

    pub(crate) fn mark(&mut self) -> Mark {
        self.draft.mark()
    }

    /// Undoes everything after a mark.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.draft.back_to(mark);
    }

    /// Primaries of a node, newest first.
    pub(crate) fn primaries(&self, node: NodeIdx) -> Vec<InstanceIdx> {
        self.draft.node(node).state.primaries.iter().rev().copied().collect()
    }

    /// Secondaries of a node, newest first. Instances whose primary is the same node are left out: some sources
    /// give such a secondary to instances that have none.
    pub(crate) fn secondaries(&self, node: NodeIdx) -> Vec<InstanceIdx> {
        let twice = |i: &Instance| i.primary == node && i.secondary == Some(node);
        let elsewhere = |i: &InstanceIdx| !twice(self.start.instance(*i));
        self.draft.node(node).state.secondaries.iter().rev().copied().filter(elsewhere).collect()
    }

    /// The present placement of an instance.
    pub(crate) fn place(&self, instance: InstanceIdx) -> Placement {
        place(self.draft.instance(instance))
    }

    /// The instances that have moved, except those whose nodes only changed roles.
    pub(crate) fn moved(&self) -> Vec<MovedMeanwhile> {
        let changed: BTreeSet<InstanceIdx> = self.draft.moved_since(self.beginning).collect();
        let moved = |instance: InstanceIdx| {
            let from = place(self.start.instance(instance));
            MovedMeanwhile { instance, from, to: self.place(instance) }
        };
        changed.into_iter().map(moved).filter(|m| m.from != m.to && !m.is_failover()).collect()
    }

    /// The ledger of a node with one more primary, and the memory left on it; `None` if a rule forbids it.
    pub(crate) fn offer(
        &self,
        instance: InstanceIdx,
        target: NodeIdx,
        how: Strictness,
    ) -> Option<(Ledger, Mib)> {
        let (moved, node) = (self.draft.instance(instance), self.draft.node(target));
        let clash = moved.exclusion_tags.iter().any(|tag| node.state.tag_count.get(*tag) > 0);
        let tags = TagArrival { clash, ..TagArrival::default() };
        let new = node.state.ledger.add_primary(&node.spec, moved, moved.location_score, tags, how).ok()?;
        Some((new, new.mem_available(&node.spec)))
    }

    /// Moves the primary of an instance that has no secondary.
    pub(crate) fn move_primary(&mut self, instance: InstanceIdx, target: NodeIdx, new: Ledger) {
        let from = self.place(instance);
        let left = self.without_primary(instance);
        self.enter(instance, Placement { primary: target, ..from }, [(from.primary, left), (target, new)]);
    }

    /// Moves the secondary of an instance to a node, if that accepts it.
    pub(crate) fn move_secondary(&mut self, instance: InstanceIdx, target: NodeIdx) -> bool {
        let from = self.place(instance);
        let Some(old) = from.secondary else { return false };
        let node = self.draft.node(target);
        let Some(new) = self.with_secondary(instance, target, &node.state.ledger) else { return false };
        let left = self.without_secondary(instance, old);
        self.enter(instance, Placement { secondary: Some(target), ..from }, [(old, left), (target, new)]);
        true
    }

    /// Swaps the roles of an instance's nodes, if possible.
    pub(crate) fn fail_over(&mut self, instance: InstanceIdx) -> bool {
        let from = self.place(instance);
        let Some(secondary) = from.secondary else { return false };
        let (moved, tags) = (self.draft.instance(instance), TagArrival::default());
        let runs = self.without_secondary(instance, secondary).add_primary(
            &self.draft.node(secondary).spec,
            moved,
            moved.location_score,
            tags,
            Strictness::Forced,
        );
        let keeps = self.with_secondary(instance, from.primary, &self.without_primary(instance));
        let (Ok(runs), Some(keeps)) = (runs, keeps) else { return false };
        let to = Placement { primary: secondary, secondary: Some(from.primary) };
        self.enter(instance, to, [(from.primary, keeps), (secondary, runs)]);
        true
    }

    fn without_primary(&self, instance: InstanceIdx) -> Ledger {
        let moved = self.draft.instance(instance);
        let node = self.draft.node(moved.primary);
        node.state.ledger.remove_primary(&node.spec, moved, moved.location_score, TagArrival::default())
    }

    fn without_secondary(&self, instance: InstanceIdx, node: NodeIdx) -> Ledger {
        let node = self.draft.node(node);
        let ledger = &node.state.ledger;
        ledger.remove_secondary(&node.spec, self.draft.instance(instance), ledger.reserve())
    }

    fn with_secondary(&self, instance: InstanceIdx, node: NodeIdx, before: &Ledger) -> Option<Ledger> {
        let (moved, spec) = (self.draft.instance(instance), &self.draft.node(node).spec);
        // Reserved memory matters to soft rules only.
        before.add_secondary(spec, moved, Mib::ZERO, Strictness::Forced, DiskCheck::Needed).ok()
    }

    fn enter(&mut self, instance: InstanceIdx, to: Placement, after: [(NodeIdx, Ledger); 2]) {
        let location_score = self.draft.instance(instance).location_score;
        self.draft.relocate(instance, to, location_score, &after);
    }
}

fn place(instance: &Instance) -> Placement {
    instance.placement()
}
