//! Guard against placements of new instances that end the redundancy of a set of nodes.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::figures::{Figures, Free};
use super::rooms::Rooms;
use super::simulate::InitialBoards;
use super::{Scope, quick, relocation, simulate};
use crate::{Cluster, Instance, Mib, NodeIdx, Place, Placement};

/// A state of a set of nodes, prepared to check the effect of new instances on its redundancy.
pub struct RedundancyCheck<'c> {
    cluster: &'c Cluster,
    scope: Scope,
    figures: Figures,
    /// True if the state itself is redundant, apart from nodes whose verdict must be simulated.
    sound: bool,
    /// Nodes whose instances can go to any node with room, each with the memory beyond what is certainly enough; `None`
    /// if something else decides.
    seekers: Vec<(NodeIdx, Option<Mib>)>,
    /// For each node that is a secondary: the nodes whose DRBD primaries it backs.
    backs: HashMap<NodeIdx, Vec<NodeIdx>>,
    /// The last node that an arrival made impossible to empty. It is checked first, because the next arrival is likely
    /// to do the same.
    suspect: Option<NodeIdx>,
    /// For simulations, which all begin with the state before an arrival.
    boards: InitialBoards,
}

impl<'c> RedundancyCheck<'c> {
    /// Prepares to check arrivals on a cluster of which `nodes` (ascending) are in use.
    pub fn new(cluster: &'c Cluster, nodes: &[NodeIdx], scope: &Scope) -> RedundancyCheck<'c> {
        let figures = Figures::of(cluster, nodes, scope.departures);
        let mut guard = RedundancyCheck {
            cluster,
            scope: scope.clone(),
            figures,
            sound: true,
            seekers: Vec::new(),
            backs: HashMap::new(),
            suspect: None,
            boards: InitialBoards::default(),
        };
        for &node in nodes.iter().filter(|n| scope.includes(cluster, **n)) {
            guard.enlist(node);
        }
        guard
    }

    /// Sets the node to check first, such as one that could not be emptied in a similar state. This changes no verdict.
    pub fn begin_with(&mut self, node: Option<NodeIdx>) {
        self.suspect = node.filter(|n| self.scope.includes(self.cluster, *n));
    }

    /// The last node that could not be emptied after an arrival.
    pub fn last_stuck(&self) -> Option<NodeIdx> {
        self.suspect
    }

    fn enlist(&mut self, node: NodeIdx) {
        let Some(burden) = self.figures.burden(node) else { return };
        if quick::verdict(self.cluster, &self.figures, node, burden) == Some(false) {
            self.sound = false;
        }
        for backed in &burden.failover {
            self.backs.entry(backed.mirror).or_default().push(node);
        }
        if burden.odd || self.figures.absurd || burden.needs_escapes() {
            self.seekers.push((node, self.slack(node)));
        }
    }

    /// Memory of the nodes that can take the relocatable instances of `node`, beyond what is certainly enough; `None`
    /// if something else decides.
    fn slack(&self, node: NodeIdx) -> Option<Mib> {
        let burden = self.figures.burden(node)?;
        if burden.odd || self.figures.absurd || burden.recreate.count > 0 {
            return None;
        }
        let spec = &self.cluster.node(node).spec;
        let load = burden.relocate.load();
        let sure = if burden.is_restricted(spec) {
            let rooms = |need| quick::rooms_reaching(self.cluster, &self.figures, node, burden, need);
            burden.needs.iter().map(|need| rooms(need)[..].beyond(load.most)).min()?
        } else {
            self.figures.rooms_for(self.cluster, node, burden).beyond(load.most)
        };
        let slack = sure - i128::from(relocation::demand(&load).0);
        Some(Mib(i64::try_from(slack).unwrap_or(i64::MAX)))
    }

    /// Tells if every node can still be emptied once a new instance is at `place`.
    pub fn holds_with(&mut self, instance: &Instance, place: &Place) -> bool {
        // An arrival takes room and gives none, so it cannot restore redundancy.
        if !self.sound {
            return false;
        }
        let Placement { primary, secondary } = place.placement;
        let before = (self.figures.free(primary), self.figures.burden(primary).cloned());
        let backing = secondary.map(|s| (s, self.figures.free(s)));
        self.enter(instance, place);
        let verdict = self.verdict(instance, place);
        self.set_free(primary, before.0);
        if let (Some(burden), Some(before)) = (self.figures.burden_mut(primary), before.1) {
            *burden = before;
        }
        if let Some((node, free)) = backing {
            self.set_free(node, free);
        }
        verdict
    }

    fn set_free(&mut self, node: NodeIdx, free: Free) {
        self.figures.set_free(&self.cluster.node(node).spec, free);
    }

    fn enter(&mut self, instance: &Instance, place: &Place) {
        let Placement { primary, secondary } = place.placement;
        self.set_free(primary, Free::of(&self.cluster.node(primary).spec, &place.primary));
        if let (Some(node), Some(ledger)) = (secondary, &place.secondary) {
            self.set_free(node, Free::of(&self.cluster.node(node).spec, ledger));
        }
        if instance.forthcoming {
            return;
        }
        if let Some(burden) = self.figures.burden_mut(primary) {
            let mirror = secondary.filter(|_| instance.template.has_secondary());
            let spec = &self.cluster.node(primary).spec;
            burden.add(self.cluster, spec, instance, (&spec.needs_of(instance), mirror));
        }
    }

    /// Verdict on the figures, which include the arrival.
    fn verdict(&mut self, instance: &Instance, place: &Place) -> bool {
        let is_lost = |node: &NodeIdx| self.figures.verdict(self.cluster, *node) == Some(false);
        let lost = self.suspect.filter(is_lost).or_else(|| self.lost(instance, place));
        self.suspect = lost.or(self.suspect);
        lost.is_none()
    }

    /// The first node found that cannot be emptied with the arrival.
    fn lost(&mut self, instance: &Instance, place: &Place) -> Option<NodeIdx> {
        let primary = place.placement.primary;
        let mut undecided = Vec::new();
        let mut survives = |node: NodeIdx| {
            let Some(burden) = self.figures.burden(node) else { return true };
            let verdict = quick::verdict(self.cluster, &self.figures, node, burden);
            if verdict.is_none() {
                undecided.push(node);
            }
            verdict != Some(false)
        };
        if self.scope.includes(self.cluster, primary) && !survives(primary) {
            return Some(primary);
        }
        // The primary node has less memory now to take over instances from others.
        let backed = self.backs.get(&primary).into_iter().flatten().filter(|n| **n != primary);
        for &node in backed {
            let Some(burden) = self.figures.burden(node) else { continue };
            if !burden.odd
                && !self.figures.absurd
                && !quick::failovers(self.cluster, &self.figures, node, burden)
            {
                return Some(node);
            }
        }
        let taken = instance.mem_in_use();
        for &(node, slack) in self.seekers.iter().filter(|s| s.0 != primary) {
            if slack.is_none_or(|s| s <= taken) && !survives(node) {
                return Some(node);
            }
        }
        if undecided.is_empty() {
            return None;
        }
        // Nodes with the most memory to move are the most likely to fail, so check them first.
        undecided.sort_by_key(|n| Reverse(self.cluster.node(*n).state.ledger.mem_instances));
        undecided.sort_by_key(|n| Some(*n) != self.suspect);
        let arrival = (instance, place);
        let RedundancyCheck { cluster, figures, boards, .. } = self;
        let stuck = |node: &NodeIdx| !simulate::evacuates_with(cluster, boards, arrival, figures, *node);
        undecided.into_iter().find(stuck)
    }
}
