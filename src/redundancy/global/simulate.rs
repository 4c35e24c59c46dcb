//! Emptying one node, step by step, as the definition of global redundancy
//! says.
//!
//! DRBD instances fail over first, then instances on shared storage go where
//! the score of the group is best, then copies of all others are made, largest
//! first, where the score of the whole set is best. Ties go to the later node.
//! Only what is impossible is forbidden: soft limits are ignored.

use std::collections::HashMap;

use super::class::Class;
use crate::model::{
    Cluster, DiskCheck, Instance, Ledger, NodeIdx, NodeSpec, NodeState, Strictness, TagArrival,
};
use crate::score::{Board, Touched};

/// Whether all primaries of `node` find a place if it is lost. `nodes` is the
/// set whose members count (ascending).
pub fn evacuates(cluster: &Cluster, nodes: &[NodeIdx], node: NodeIdx) -> bool {
    let primaries = |class: Class| -> Vec<&Instance> {
        let all = cluster.node(node).state.primaries.iter().rev();
        all.map(|i| cluster.instance(*i)).filter(|i| Class::of(i.template) == class).collect()
    };
    let [failover, relocate, mut recreate] =
        [Class::Failover, Class::Relocate, Class::Recreate].map(primaries);
    recreate.sort_by_key(|i| std::cmp::Reverse(i.mem));
    let group = cluster.node(node).spec.group;
    let of_group: Vec<NodeIdx> =
        nodes.iter().copied().filter(|n| cluster.node(*n).spec.group == group).collect();
    let escapes: Vec<NodeIdx> =
        of_group.iter().copied().filter(|n| *n != node && !cluster.node(*n).spec.offline).collect();
    let mut loss = Loss {
        cluster,
        changed: HashMap::new(),
        boards: [
            (!relocate.is_empty()).then(|| Board::new(cluster, &of_group)),
            (!recreate.is_empty()).then(|| Board::new(cluster, nodes)),
        ],
    };
    failover.into_iter().all(|i| loss.fail_over(i, node))
        && relocate.into_iter().all(|i| loss.relocate(i, node, &escapes))
        && recreate.into_iter().all(|i| loss.recreate(i, &escapes))
}

/// A cluster while one of its nodes is being emptied.
struct Loss<'c> {
    cluster: &'c Cluster,
    /// The nodes that differ.
    changed: HashMap<NodeIdx, NodeState>,
    /// The score of the group (for what is relocated) and of the set (for what is
    /// recreated), where they are needed.
    boards: [Option<Board>; 2],
}

/// Positions in `boards`.
const GROUP: usize = 0;
const SET: usize = 1;

/// A candidate for the new primary node, its score and what it would be then.
type Best = Option<(f64, NodeIdx, Ledger)>;

impl<'c> Loss<'c> {
    fn spec(&self, node: NodeIdx) -> &'c NodeSpec {
        &self.cluster.node(node).spec
    }

    fn state(&self, node: NodeIdx) -> &NodeState {
        self.changed.get(&node).unwrap_or_else(|| &self.cluster.node(node).state)
    }

    fn change(&mut self, node: NodeIdx) -> &mut NodeState {
        self.changed.entry(node).or_insert_with(|| self.cluster.node(node).state.clone())
    }

    /// `node` without its primary `instance`.
    fn without_primary(&self, node: NodeIdx, instance: &Instance) -> Ledger {
        let state = self.state(node);
        let conflicts = TagArrival::conflicts_of_primary(state, instance);
        state.ledger.remove_primary(self.spec(node), instance, instance.location_score, conflicts)
    }

    /// `node` with `instance` as one more primary, unless that is impossible.
    fn with_primary(&self, node: NodeIdx, before: Ledger, instance: &Instance) -> Option<Ledger> {
        let tags = TagArrival::of(self.state(node), instance);
        before.add_primary(self.spec(node), instance, instance.location_score, tags, Strictness::Forced).ok()
    }

    /// Swaps the roles of the two nodes of a DRBD instance.
    fn fail_over(&mut self, instance: &Instance, node: NodeIdx) -> bool {
        let Some(mirror) = instance.mirror() else { return false };
        let (from, to) = (self.spec(node), self.spec(mirror));
        if to.offline || !from.can_migrate_to(to) {
            return false;
        }
        let (reserved, left) = self.state(mirror).reserve_without(instance);
        let without = self.state(mirror).ledger.remove_secondary(to, instance, reserved);
        let Some(new_mirror) = self.with_primary(mirror, without, instance) else { return false };
        let held = self.state(node).peers.get(mirror);
        let disk = if from.offline { DiskCheck::Ignored } else { DiskCheck::Needed };
        let lost = self.without_primary(node, instance);
        let Ok(new_node) = lost.add_secondary(from, instance, held, Strictness::Forced, disk) else {
            return false;
        };
        self.settle(&[(node, new_node), (mirror, new_mirror)], instance, Some(node), mirror);
        self.change(mirror).peers.set_or_drop(node, left);
        let need = instance.mem_reserved();
        self.change(node).peers.set(mirror, held + need);
        true
    }

    /// Takes an instance on shared storage to the best of the escape nodes.
    fn relocate(&mut self, instance: &Instance, node: NodeIdx, escapes: &[NodeIdx]) -> bool {
        let left = self.without_primary(node, instance);
        let allowed = |n: &&NodeIdx| self.spec(node).can_migrate_to(self.spec(**n));
        let targets = escapes.iter().filter(allowed);
        let Some((_, to, arrived)) = self.best(GROUP, targets, instance, Some((node, left))) else {
            return false;
        };
        self.settle(&[(node, left), (to, arrived)], instance, Some(node), to);
        true
    }

    /// Makes a copy of an instance on the best of the escape nodes; the original
    /// stays.
    fn recreate(&mut self, instance: &Instance, escapes: &[NodeIdx]) -> bool {
        let accepts = |n: &&NodeIdx| {
            let spec = self.spec(**n);
            self.cluster.group(spec.group).policy.accepts(instance, spec.exclusive_storage).is_ok()
        };
        let targets = escapes.iter().filter(accepts);
        let Some((_, to, arrived)) = self.best(SET, targets, instance, None) else { return false };
        self.settle(&[(to, arrived)], instance, None, to);
        true
    }

    /// The target with the smallest score; the later one among equals.
    fn best<'n>(
        &self,
        board: usize,
        targets: impl Iterator<Item = &'n NodeIdx>,
        instance: &Instance,
        left: Option<(NodeIdx, Ledger)>,
    ) -> Best {
        let board = self.boards[board].as_ref()?;
        let from = left.map(|(node, _)| self.spec(node));
        let mut best: Best = None;
        for &target in targets {
            let Some(after) = self.with_primary(target, self.state(target).ledger, instance) else {
                continue;
            };
            let touched: Vec<Touched<'_>> =
                left.into_iter().chain([(target, after)]).map(|(n, after)| self.touched(n, after)).collect();
            let spread = board.spread().change(instance, from, Some(self.spec(target)));
            let score = board.score_with(&touched, spread);
            if !best.is_some_and(|b| score > b.0) {
                best = Some((score, target, after));
            }
        }
        best
    }

    fn touched(&self, node: NodeIdx, after: Ledger) -> Touched<'_> {
        Touched { spec: self.spec(node), before: &self.state(node).ledger, after }
    }

    /// Makes a change final: `instance` now runs on `to`.
    fn settle(
        &mut self,
        ledgers: &[(NodeIdx, Ledger)],
        instance: &Instance,
        from: Option<NodeIdx>,
        to: NodeIdx,
    ) {
        let mut boards = std::mem::take(&mut self.boards);
        let touched: Vec<Touched<'_>> = ledgers.iter().map(|(n, after)| self.touched(*n, *after)).collect();
        for board in boards.iter_mut().flatten() {
            board.commit(&touched, instance, from.map(|n| self.spec(n)), self.spec(to));
        }
        self.boards = boards;
        for (node, after) in ledgers {
            self.change(*node).ledger = *after;
        }
        for (node, by) in [(from, -1), (Some(to), 1)] {
            let Some(node) = node.filter(|_| !instance.exclusion_tags.is_empty()) else { continue };
            for &tag in &instance.exclusion_tags {
                self.change(node).tag_count.add(tag, by);
            }
        }
    }
}
