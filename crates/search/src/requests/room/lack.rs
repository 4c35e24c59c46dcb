//! Amounts that nodes lack for a new instance.

use crate::moves::{MoveRules, Outcome, Trial};
use crate::requests::groups::PlaceRequirements;
use crate::why::{Shortfall, missing};
use htools_model::{Cluster, DiskCheck, Instance, Ledger, Mib, NodeIdx, Obstacle, Strictness, TagArrival};

/// Distance of a group's nodes from accepting an instance: 0 if a node accepts it, otherwise the lack relative
/// to the need. A secondary is judged as if the node did not reserve memory for its primary yet. So a place
/// that looks impossible is impossible.
pub(super) struct Lacks<'a> {
    cluster: &'a Cluster,
    wanted: &'a PlaceRequirements<'a>,
    strictness: Strictness,
    /// By node, for those that may be used.
    nodes: Vec<Option<NodeLack>>,
    primaries: SmallestLacks,
    secondaries: SmallestLacks,
    now: f64,
}

#[derive(Clone, Copy)]
struct NodeLack {
    primary: f64,
    secondary: f64,
}

/// The nodes with the smallest lack: one more than a move can touch.
struct SmallestLacks([(f64, Option<NodeIdx>); 4]);

impl SmallestLacks {
    fn of(lacks: impl Iterator<Item = (NodeIdx, f64)>) -> SmallestLacks {
        let mut least = [(f64::INFINITY, None); 4];
        for (node, lack) in lacks {
            let at = least.partition_point(|l| l.0 <= lack);
            if at < least.len() {
                least[at..].rotate_right(1);
                least[at] = (lack, Some(node));
            }
        }
        SmallestLacks(least)
    }

    /// The smallest lack of any other node.
    fn least_elsewhere(&self, nodes: &[NodeIdx]) -> f64 {
        let other = |l: &&(f64, Option<NodeIdx>)| l.1.is_none_or(|n| !nodes.contains(&n));
        self.0.iter().find(other).map_or(f64::INFINITY, |l| l.0)
    }
}

impl<'a> Lacks<'a> {
    /// Examines the nodes of a group.
    pub(super) fn of(
        cluster: &'a Cluster,
        nodes: &[NodeIdx],
        wanted: &'a PlaceRequirements<'a>,
        rules: &MoveRules,
    ) -> Lacks<'a> {
        let strictness = if rules.ignore_soft_errors { Strictness::Forced } else { Strictness::Strict };
        let none = || SmallestLacks::of(std::iter::empty());
        let mut lacks = Lacks {
            cluster,
            wanted,
            strictness,
            nodes: vec![None; cluster.nodes.len()],
            primaries: none(),
            secondaries: none(),
            now: f64::INFINITY,
        };
        let usable: Vec<NodeIdx> =
            nodes.iter().copied().filter(|n| wanted.admits(&cluster.node(*n).spec)).collect();
        for &node in &usable {
            let state = &cluster.node(node).state;
            let clash = TagArrival::of(state, wanted.instance).clash;
            lacks.nodes[node.get()] = Some(lacks.at(node, &state.ledger, clash));
        }
        let each = |part: fn(&NodeLack) -> f64| {
            SmallestLacks::of(
                usable.iter().filter_map(|n| lacks.nodes[n.get()].as_ref().map(|l| (*n, part(l)))),
            )
        };
        let (primaries, secondaries) = (each(|l| l.primary), each(|l| l.secondary));
        lacks.primaries = primaries;
        lacks.secondaries = secondaries;
        let places = usable.iter().map(|n| lacks.place(*n));
        lacks.now = places.fold(f64::INFINITY, f64::min);
        lacks
    }

    /// The lack at the nearest place.
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    fn pairs(&self) -> bool {
        self.wanted.required == 2
    }

    fn place(&self, primary: NodeIdx) -> f64 {
        let lack = self.nodes[primary.get()].map_or(f64::INFINITY, |l| l.primary);
        if self.pairs() { lack + self.secondaries.least_elsewhere(&[primary]) } else { lack }
    }

    /// Returns true if some move of the instance could bring a place nearer at its own nodes, which it leaves.
    pub(super) fn may_gain(&self, instance: &Instance, trial: &Trial<'_>) -> bool {
        if self.now <= 0.0 {
            // There are places, but some node could not be emptied then; any move may help.
            return true;
        }
        let own =
            [(Some(instance.primary), Some(trial.primary_left())), (instance.mirror(), trial.mirror_left())];
        own.into_iter().any(|(node, left)| {
            let (Some(node), Some(left)) = (node, left) else { return false };
            let Some(before) = self.nodes[node.get()] else { return false };
            let after = self.at(node, left, self.clash_without(node, instance));
            after.primary < before.primary || after.secondary < before.secondary
        })
    }

    /// The lack, after a move, at the nearest place that includes a node of the move.
    pub(super) fn after(&self, instance: &Instance, outcome: &Outcome<'_>) -> f64 {
        if self.now <= 0.0 {
            return 0.0;
        }
        let touched: Vec<NodeIdx> = outcome.touched().iter().map(|t| t.spec.idx).collect();
        let lacks: Vec<(NodeIdx, NodeLack)> = outcome
            .touched()
            .iter()
            .filter(|t| self.nodes[t.spec.idx.get()].is_some())
            .map(|t| {
                let node = t.spec.idx;
                (node, self.at(node, &t.after, self.clash_after(node, instance, outcome)))
            })
            .collect();
        let mut nearest = f64::INFINITY;
        for (node, lack) in &lacks {
            if !self.pairs() {
                nearest = nearest.min(lack.primary);
                continue;
            }
            let others = lacks.iter().filter(|l| l.0 != *node).map(|l| l.1.secondary);
            let secondary = others.fold(self.secondaries.least_elsewhere(&touched), f64::min);
            nearest = nearest.min(lack.primary + secondary);
            nearest = nearest.min(lack.secondary + self.primaries.least_elsewhere(&touched));
        }
        nearest
    }

    fn at(&self, node: NodeIdx, ledger: &Ledger, clash: bool) -> NodeLack {
        NodeLack { primary: self.primary(node, ledger, clash), secondary: self.secondary(node, ledger) }
    }

    fn clash_after(&self, node: NodeIdx, moved: &Instance, outcome: &Outcome<'_>) -> bool {
        let own = moved.exclusion_tags.counts();
        let wanted = self.wanted.instance.exclusion_tags.counts();
        let arrives =
            outcome.placement.primary == node && wanted.look_up(own.iter(), |e| e.0).any(|e| e.1 > 0);
        arrives || self.clash_without(node, moved)
    }

    /// Returns true if a primary of the node, other than `gone`, shares an exclusion tag with the new instance.
    fn clash_without(&self, node: NodeIdx, gone: &Instance) -> bool {
        let there = &self.cluster.node(node).state.tag_count;
        let wanted = self.wanted.instance.exclusion_tags.counts().iter();
        let leaving = gone.exclusion_tags.counts().look_up(wanted, |e| e.0);
        let mut met = there.look_up(leaving, |((tag, _), _)| *tag);
        met.any(|((_, leaving), count)| count > if gone.primary == node { leaving } else { 0 })
    }

    fn primary(&self, node: NodeIdx, ledger: &Ledger, clash: bool) -> f64 {
        let (spec, instance) = (&self.cluster.node(node).spec, self.wanted.instance);
        let policy = &self.cluster.group(spec.group).policy;
        if policy.accepts(instance, spec.exclusive_storage).is_err() {
            return f64::INFINITY;
        }
        let tags = TagArrival { clash, ..TagArrival::default() };
        match ledger.add_primary(spec, instance, 0, tags, self.strictness) {
            Ok(_) => 0.0,
            Err(rule) => self.lack(node, ledger, Obstacle::Primary(rule)),
        }
    }

    fn secondary(&self, node: NodeIdx, ledger: &Ledger) -> f64 {
        if !self.pairs() {
            return 0.0;
        }
        let (spec, instance) = (&self.cluster.node(node).spec, self.wanted.instance);
        // Soft limits always apply to secondaries, whatever the options say about primaries.
        match ledger.add_secondary(spec, instance, Mib::ZERO, Strictness::Strict, DiskCheck::Needed) {
            Ok(_) => 0.0,
            Err(rule) => self.lack(node, ledger, Obstacle::Secondary(rule)),
        }
    }

    fn lack(&self, node: NodeIdx, ledger: &Ledger, obstacle: Obstacle) -> f64 {
        let shortfall = missing(self.cluster, self.wanted.instance, node, node, ledger, obstacle);
        // Greater than zero, whatever the rounding.
        shortfall.as_ref().map_or(f64::INFINITY, Shortfall::relative).max(1e-6)
    }
}
