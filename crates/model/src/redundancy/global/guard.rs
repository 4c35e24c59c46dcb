//! Which arrivals leave a redundant set of nodes redundant.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::figures::{Figures, Free};
use super::rooms::Rooms;
use super::{Scope, quick, relocation, simulate};
use crate::{Cluster, Instance, Mib, NodeIdx, Place, Placement};

/// A state of a set of nodes, ready to answer what an arrival would do to its
/// redundancy.
pub struct Guard<'c> {
    cluster: &'c Cluster,
    scope: Scope,
    figures: Figures,
    /// Whether the state itself is redundant, apart from nodes whose verdict has to
    /// be simulated.
    sound: bool,
    /// Nodes whose burden goes to whatever node has room, with the memory beyond
    /// what is certainly enough (nothing where that is not what decides).
    seekers: Vec<(NodeIdx, Option<Mib>)>,
    /// By node, if it backs any: the nodes whose DRBD primaries it backs.
    backs: HashMap<NodeIdx, Vec<NodeIdx>>,
    /// The node that an arrival left without a way out when one did so last. The next arrival is likely
    /// to do the same to it, so it is looked at first.
    suspect: Option<NodeIdx>,
}

impl<'c> Guard<'c> {
    /// Prepares to judge arrivals on a cluster, of which `nodes` (ascending) are in
    /// use.
    pub fn new(cluster: &'c Cluster, nodes: &[NodeIdx], scope: &Scope) -> Guard<'c> {
        let figures = Figures::of(cluster, nodes, scope.departures);
        let mut guard = Guard {
            cluster,
            scope: scope.clone(),
            figures,
            sound: true,
            seekers: Vec::new(),
            backs: HashMap::new(),
            suspect: None,
        };
        for &node in nodes.iter().filter(|n| scope.includes(cluster, **n)) {
            guard.enlist(node);
        }
        guard
    }

    /// Looks at this node first: one that could not be emptied in a state much like this. It
    /// changes no verdict.
    pub fn begin_with(&mut self, node: Option<NodeIdx>) {
        self.suspect = node.filter(|n| self.scope.includes(self.cluster, *n));
    }

    /// The last node that could not be emptied with an arrival.
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

    /// What the nodes that can take the relocatable instances of `node` have beyond
    /// what is certainly enough, if nothing else decides.
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

    /// Whether every node could still be emptied with a new instance at a place.
    pub fn holds_with(&mut self, instance: &Instance, place: &Place) -> bool {
        // an arrival takes room and gives none
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

    /// The verdict on the figures as they are with the arrival.
    fn verdict(&mut self, instance: &Instance, place: &Place) -> bool {
        let figures = &self.figures;
        let is_lost = |node: &NodeIdx| figures.verdict(self.cluster, *node) == Some(false);
        let lost = self.suspect.filter(is_lost).or_else(|| self.lost(instance, place));
        self.suspect = lost.or(self.suspect);
        lost.is_none()
    }

    /// The first node found that cannot be emptied with the arrival.
    fn lost(&self, instance: &Instance, place: &Place) -> Option<NodeIdx> {
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
        // the node takes over from others, with less memory
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
        // where most has to leave, room is most likely to be missing
        undecided.sort_by_key(|n| Reverse(self.cluster.node(*n).state.ledger.mem_instances));
        undecided.sort_by_key(|n| Some(*n) != self.suspect);
        let arrival = (instance, place);
        let stuck = |node: &NodeIdx| !simulate::evacuates_with(self.cluster, arrival, &self.figures, *node);
        undecided.into_iter().find(stuck)
    }
}
