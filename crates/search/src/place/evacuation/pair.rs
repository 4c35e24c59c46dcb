//! Finds two new nodes for a DRBD instance that leaves both of its own. The first one becomes the secondary and
//! takes over, then the second one becomes the secondary.
//!
//! The first step and the last one each depend on only one of the new nodes. So changes are computed node by
//! node, and pairs are ranked by the sum of two bounds. Only pairs that may be the best get an exact score.

use super::{Destination, PairStep};
use crate::place::bounds::{Bounds, backing_never_helps};
use crate::place::kept_room::RoomGuard;
use htools_model::score::{Board, NodeChange, PairUpdate, Touched};
use htools_model::{
    Cluster, DiskCheck, FailKind, Instance, Ledger, Mib, NodeIdx, NodeState, Placement, ReserveChange, Rule,
    Strictness, TagArrival,
};

/// Refusal of a pair: the step that fails, and the kind of refusal.
pub(super) type Refused = (PairStep, FailKind);

/// An instance about to leave both of its nodes; its primary is in use.
pub(super) struct Leaving<'a> {
    cluster: &'a Cluster,
    instance: &'a Instance,
    mirror: NodeIdx,
    soft: bool,
    own_tags: TagArrival,
    /// The primary node after the instance is entered again for its first new secondary.
    reentered: Result<Ledger, Rule>,
    /// Its primary node without it, after all steps.
    primary_left: Ledger,
    mirror_left: Ledger,
    room: RoomGuard,
}

/// A new node with the instance, and the change of its values.
#[derive(Clone, Copy)]
struct TakenOver {
    ledger: Ledger,
    change: NodeChange,
}

fn refused(step: PairStep) -> impl Fn(Rule) -> Refused {
    move |rule| (step, rule.kind())
}

impl<'a> Leaving<'a> {
    /// Prepares the search; `None` if the instance has no secondary.
    pub(super) fn new(
        cluster: &'a Cluster,
        instance: &'a Instance,
        destination: &Destination,
    ) -> Option<Leaving<'a>> {
        let mirror = instance.mirror()?;
        let (p, s) = (cluster.node(instance.primary), cluster.node(mirror));
        let own_tags = TagArrival::of_primary(&p.state, instance);
        let (reserve, _) = s.state.reserve_without(&s.spec, instance);
        let mirror_left = s.state.ledger.remove_secondary(&s.spec, instance, reserve);
        let left = p.state.ledger.remove_primary(&p.spec, instance, instance.location_score, own_tags);
        let reentered = left.add_primary(&p.spec, instance, 0, own_tags, Strictness::Forced);
        // The loads go through the same additions as in a real evacuation, so that rounding is the same.
        let primary_left = reentered.map_or(left, |ledger| {
            let without = ledger.remove_primary(&p.spec, instance, 0, own_tags);
            let forced =
                without.add_secondary(&p.spec, instance, Mib::ZERO, Strictness::Forced, DiskCheck::Ignored);
            forced.map_or(without, |l| l.remove_secondary(&p.spec, instance, p.state.ledger.reserve()))
        });
        Some(Leaving {
            cluster,
            instance,
            mirror,
            soft: destination.ignore_soft_errors,
            own_tags,
            reentered,
            primary_left,
            mirror_left,
            room: RoomGuard::moving(cluster, instance, destination.ignore_soft_errors),
        })
    }

    fn strictness(&self, forced: bool) -> Strictness {
        if forced || self.soft { Strictness::Forced } else { Strictness::Strict }
    }

    fn state(&self, node: NodeIdx) -> &'a NodeState {
        &self.cluster.node(node).state
    }

    /// The ledger of a node after the instance has left both of its own. The secondary can be among the targets
    /// if the instance's nodes are in different groups.
    fn left(&self, node: NodeIdx) -> &Ledger {
        if node == self.mirror { &self.mirror_left } else { &self.cluster.node(node).state.ledger }
    }

    /// The first new node after it has taken over the instance, with no location in common with its secondary.
    fn take_over(&self, a: NodeIdx) -> Result<TakenOver, Refused> {
        let (cluster, i) = (self.cluster, self.instance);
        let (node, p) = (cluster.node(a), cluster.node(i.primary));
        let forced = cluster.node(self.mirror).spec.offline;
        let held = node.state.peers.get(i.primary);
        let second = node
            .state
            .ledger
            .add_secondary(&node.spec, i, held, self.strictness(forced), DiskCheck::Needed)
            .map_err(refused(PairStep::FirstSecondary))?;
        let reentered = self.reentered.map_err(refused(PairStep::FirstSecondary))?;

        let step = PairStep::NewPrimary;
        if !p.spec.can_migrate_to(&node.spec) {
            return Err(refused(step)(Rule::MigrationTags));
        }
        let strictness = self.strictness(p.spec.offline);
        let tags = TagArrival::of(&node.state, i);
        let reserve = node.state.ledger.reserve();
        let first = second
            .remove_secondary(&node.spec, i, reserve)
            .add_primary(&node.spec, i, 0, tags, strictness)
            .map_err(refused(step))?;
        let disk = if p.spec.offline { DiskCheck::Ignored } else { DiskCheck::Needed };
        reentered
            .remove_primary(&p.spec, i, 0, self.own_tags)
            .add_secondary(&p.spec, i, p.state.peers.get(a), strictness, disk)
            .map_err(refused(step))?;

        // The instance is entered again for its last secondary.
        let back = TagArrival { clash: false, ..tags };
        let ledger = first
            .remove_primary(&node.spec, i, 0, tags)
            .add_primary(&node.spec, i, 0, back, Strictness::Forced)
            .map_err(refused(PairStep::FinalSecondary))?;
        let change = || cluster.reserve_change(i, i.primary, a);
        let is_kept = self.soft || p.spec.offline || change().is_none_or(ReserveChange::is_allowed);
        if !is_kept {
            return Err(refused(step)(Rule::GroupReserve));
        }
        Ok(TakenOver { ledger, change: NodeChange::of(&node.spec, self.left(a), &ledger) })
    }

    /// The second new node with the instance as a secondary, if it already keeps `peer` for the first one.
    fn back_up(&self, b: NodeIdx, peer: Mib) -> Result<TakenOver, Refused> {
        let node = self.cluster.node(b);
        let forced = self.cluster.node(self.instance.primary).spec.offline;
        let ledger = self
            .left(b)
            .add_secondary(&node.spec, self.instance, peer, self.strictness(forced), DiskCheck::Needed)
            .map_err(refused(PairStep::FinalSecondary))?;
        Ok(TakenOver { ledger, change: NodeChange::of(&node.spec, self.left(b), &ledger) })
    }

    /// Checks whether the instance can go to a pair.
    pub(super) fn check(&self, a: NodeIdx, b: NodeIdx) -> Result<(), Refused> {
        let first = self.take_over(a)?;
        let second = self.back_up(b, self.state(b).peers.get(a))?;
        match self.keeps_room([(a, &first), (b, &second)]) {
            true => Ok(()),
            false => Err(refused(PairStep::FinalSecondary)(Rule::KeptRoom)),
        }
    }

    /// Returns true if enough room is left with the instance on its new nodes.
    fn keeps_room(&self, ends: [(NodeIdx, &TakenOver); 2]) -> bool {
        self.room.holds(self.cluster, &ends.map(|(node, taken)| (node, taken.ledger)))
    }

    /// The board of a group after the instance has left its nodes.
    fn board(&self, destination: &Destination) -> Board {
        let mut board = Board::new(self.cluster, self.cluster.nodes_of(destination.group));
        for (node, after) in [(self.instance.primary, self.primary_left), (self.mirror, self.mirror_left)] {
            if board.contains(node) {
                let node = self.cluster.node(node);
                let touched = Touched { spec: &node.spec, before: &node.state.ledger, after };
                board.commit(&[touched], self.instance, Some(&node.spec), &node.spec);
            }
        }
        board
    }

    /// The best pair among the targets: smallest score, then the later first node, then the later second one.
    pub(super) fn best(&self, destination: &Destination, targets: &[NodeIdx]) -> Option<Placement> {
        let board = self.board(destination);
        let firsts: Vec<Option<TakenOver>> = targets.iter().map(|a| self.take_over(*a).ok()).collect();
        let seconds: Vec<Option<TakenOver>> =
            targets.iter().map(|b| self.back_up(*b, Mib::ZERO).ok()).collect();
        let spec = |n: NodeIdx| &self.cluster.node(n).spec;
        let from = Some(self.instance.primary).filter(|p| board.contains(*p)).map(spec);
        let spread: Vec<i64> =
            targets.iter().map(|a| board.spread().change(self.instance, from, Some(spec(*a)))).collect();
        fn change(taken: &Option<TakenOver>) -> Option<&NodeChange> {
            taken.as_ref().map(|taken| &taken.change)
        }
        let places: Vec<_> = firsts.iter().zip(&seconds).map(|(a, b)| (change(a), change(b))).collect();
        let statistics = PairUpdate::of(&board);
        let bounds = Bounds::of(board.weights(), &statistics, &places, &spread);
        let prunes = backing_never_helps(board.weights(), &statistics);
        let order = |possible: &[Option<TakenOver>], bound: &dyn Fn(usize) -> f64| -> Vec<usize> {
            let mut order: Vec<usize> = (0..targets.len()).filter(|at| possible[*at].is_some()).collect();
            order.sort_by(|x, y| bound(*x).total_cmp(&bound(*y)).then(y.cmp(x)));
            order
        };
        let by_first = order(&firsts, &|at| bounds.primary(at));
        let by_second = order(&seconds, &|at| bounds.secondary(at));

        let mut best: Option<(f64, usize, usize)> = None;
        let hopeless =
            |bound: f64, best: &Option<(f64, usize, usize)>| prunes && best.is_some_and(|b| bound > b.0);
        let least = by_second.first().map(|b| bounds.secondary(*b))?;
        for &a in &by_first {
            if hopeless(bounds.primary(a) + least, &best) {
                break;
            }
            for &b in by_second.iter().filter(|b| **b != a) {
                if hopeless(bounds.primary(a) + bounds.secondary(b), &best) {
                    break;
                }
                let peer = self.state(targets[b]).peers.get(targets[a]);
                let (Some(first), Ok(second)) = (&firsts[a], self.back_up(targets[b], peer)) else {
                    continue;
                };
                let score = self.score(&board, targets[a], first, targets[b], &second, spread[a]);
                let better = match &best {
                    None => true,
                    Some((least, x, y)) => score < *least || (!(score > *least) && (a, b) > (*x, *y)),
                };
                if better && self.keeps_room([(targets[a], first), (targets[b], &second)]) {
                    best = Some((score, a, b));
                }
            }
        }
        best.map(|(_, a, b)| Placement { primary: targets[a], secondary: Some(targets[b]) })
    }

    fn score(
        &self,
        board: &Board,
        primary: NodeIdx,
        first: &TakenOver,
        secondary: NodeIdx,
        second: &TakenOver,
        spread: i64,
    ) -> f64 {
        let touched = |node: NodeIdx, taken: &TakenOver, locations: i64| {
            let node = self.cluster.node(node);
            let mut after = taken.ledger;
            if !self.instance.forthcoming {
                after.location_sum += locations;
            }
            Touched { spec: &node.spec, before: self.left(node.spec.idx), after }
        };
        let locations = self.cluster.common_locations(primary, secondary);
        board.score_with(&[touched(primary, first, locations), touched(secondary, second, 0)], spread)
    }
}
