//! Placement of instances while nodes are cleared. For plain plans only impossible moves are forbidden, so reserves are
//! not updated. Conflicts of tags are never counted.

use std::collections::BTreeSet;

use htools_model::{
    Cluster, DiskCheck, Draft, Instance, InstanceIdx, Ledger, Mark, Mib, MovedMeanwhile, Node, NodeIdx,
    Placement, Rule, Strictness, TagArrival,
};

/// The cluster with some instances moved.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    start: &'a Cluster,
    draft: Draft,
    beginning: Mark,
    /// True if memory reserves are updated with every move.
    keeps_reserves: bool,
}

impl<'a> Layout<'a> {
    pub(crate) fn of(start: &'a Cluster) -> Layout<'a> {
        let mut draft = Draft::of(start);
        let beginning = draft.mark();
        Layout { start, draft, beginning, keeps_reserves: false }
    }

    /// The same with reserves that are updated with every move.
    pub(crate) fn with_reserves(start: &'a Cluster) -> Layout<'a> {
        Layout { keeps_reserves: true, ..Layout::of(start) }
    }

    /// The beginning, to undo everything.
    pub(crate) fn beginning(&self) -> Mark {
        self.beginning
    }

    /// A node in its present state.
    pub(crate) fn node(&self, node: NodeIdx) -> &Node {
        self.draft.node(node)
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
        let Some(new) = self.secondary_offer(instance, target) else { return false };
        let left = self.without_secondary(instance, old);
        self.enter(instance, Placement { secondary: Some(target), ..from }, [(old, left), (target, new)]);
        true
    }

    /// The ledger of a node with one more secondary; `None` if a rule forbids it.
    pub(crate) fn secondary_offer(&self, instance: InstanceIdx, target: NodeIdx) -> Option<Ledger> {
        let primary = self.place(instance).primary;
        let before = &self.draft.node(target).state.ledger;
        self.with_secondary(instance, (target, before), primary, Strictness::Forced).ok()
    }

    /// Swaps the roles of an instance's nodes, if possible.
    pub(crate) fn fail_over(&mut self, instance: InstanceIdx) -> bool {
        self.try_fail_over(instance, [Strictness::Forced; 2]).is_ok()
    }

    /// Swaps the roles of an instance's nodes under the rules for its new primary and its new secondary node.
    ///
    /// # Errors
    /// The rule that forbids it.
    pub(crate) fn try_fail_over(
        &mut self,
        instance: InstanceIdx,
        [primary_rules, secondary_rules]: [Strictness; 2],
    ) -> Result<(), Rule> {
        let from = self.place(instance);
        let Some(secondary) = from.secondary else { return Err(Rule::NotMirrored) };
        let (moved, tags) = (self.draft.instance(instance), TagArrival::default());
        let runs = self.without_secondary(instance, secondary).add_primary(
            &self.draft.node(secondary).spec,
            moved,
            moved.location_score,
            tags,
            primary_rules,
        )?;
        let left = self.without_primary(instance);
        let keeps = self.with_secondary(instance, (from.primary, &left), secondary, secondary_rules)?;
        let to = Placement { primary: secondary, secondary: Some(from.primary) };
        self.enter(instance, to, [(from.primary, keeps), (secondary, runs)]);
        Ok(())
    }

    fn without_primary(&self, instance: InstanceIdx) -> Ledger {
        let moved = self.draft.instance(instance);
        let node = self.draft.node(moved.primary);
        node.state.ledger.remove_primary(&node.spec, moved, moved.location_score, TagArrival::default())
    }

    fn without_secondary(&self, instance: InstanceIdx, node: NodeIdx) -> Ledger {
        let Node { spec, state } = self.draft.node(node);
        let leaving = self.draft.instance(instance);
        let left =
            if self.keeps_reserves { state.reserve_without(spec, leaving).0 } else { state.ledger.reserve() };
        state.ledger.remove_secondary(spec, leaving, left)
    }

    /// The ledger of a node, given without the instance, once the node is the secondary beside `primary`.
    fn with_secondary(
        &self,
        instance: InstanceIdx,
        (node, before): (NodeIdx, &Ledger),
        primary: NodeIdx,
        rules: Strictness,
    ) -> Result<Ledger, Rule> {
        let (moved, Node { spec, state }) = (self.draft.instance(instance), self.draft.node(node));
        // Without reserves the amount matters to soft rules only.
        let peer = if self.keeps_reserves { state.peers.get(primary) } else { Mib::ZERO };
        before.add_secondary(spec, moved, peer, rules, DiskCheck::Needed)
    }

    fn enter(&mut self, instance: InstanceIdx, to: Placement, after: [(NodeIdx, Ledger); 2]) {
        let location_score = self.draft.instance(instance).location_score;
        self.draft.relocate(instance, to, location_score, &after);
    }
}

fn place(instance: &Instance) -> Placement {
    instance.placement()
}
