//! A cluster on which changes are tried, one on top of another, and taken back.

use std::ops::Deref;

use super::cluster::{Cluster, Place};
use super::index::{InstanceIdx, NodeIdx};
use super::instance::{Immobile, Instance};
use super::node::{Ledger, Node, NodeState};
use super::step::Placement;
use super::tags::TagTable;
use super::units::Mib;

/// A cluster with a journal of the changes since the first [`mark`](Draft::mark). It can be read as a [`Cluster`].
/// Placements are changed here and nowhere else, so that the ledgers, lists, reserves and tag counts of all nodes
/// concerned stay consistent.
#[derive(Debug, Clone)]
pub struct Draft {
    cluster: Cluster,
    changes: Vec<Change>,
    /// Set once there is a mark: changes must be journaled.
    marked: bool,
    /// The last mark that is still valid.
    last_mark: Mark,
    /// For each node, position of the last change that saves its state. Positions of changes taken back are stale.
    kept_at: Vec<usize>,
}

/// A state of a draft to which it can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

/// The state before a change.
#[derive(Debug, Clone)]
enum Change {
    Ledger(NodeIdx, Ledger),
    State(NodeIdx, Box<NodeState>),
    Offline(NodeIdx, bool),
    Located(InstanceIdx, Placement, i64),
    Mobility(InstanceIdx, Option<Immobile>),
    Node(Box<Node>),
    Instance(Box<Instance>),
    /// An instance was added at the end.
    Adopted,
}

impl Deref for Draft {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl From<Cluster> for Draft {
    fn from(cluster: Cluster) -> Draft {
        Draft { cluster, changes: Vec::new(), marked: false, last_mark: Mark(0), kept_at: Vec::new() }
    }
}

impl Draft {
    /// Returns a copy of the cluster to try changes on.
    pub fn of(cluster: &Cluster) -> Draft {
        cluster.clone().into()
    }

    /// Returns the cluster in its present state; changes can no longer be taken back.
    pub fn into_cluster(self) -> Cluster {
        self.cluster
    }

    /// Marks the present state, so that [`back_to`](Self::back_to) can return to it.
    pub fn mark(&mut self) -> Mark {
        self.marked = true;
        self.last_mark = Mark(self.changes.len());
        self.last_mark
    }

    /// The instances that were moved after `mark`. An instance can occur more than once.
    pub fn moved_since(&self, mark: Mark) -> impl Iterator<Item = InstanceIdx> + '_ {
        self.changes[mark.0..].iter().filter_map(|change| match change {
            Change::Located(instance, ..) => Some(*instance),
            _ => None,
        })
    }

    /// Takes back all changes after `mark`, to the last bit.
    pub fn back_to(&mut self, mark: Mark) {
        self.cluster.forget_derived();
        let Cluster { nodes, instances, .. } = &mut self.cluster;
        self.last_mark = mark;
        while self.changes.len() > mark.0 {
            match self.changes.pop() {
                Some(Change::Ledger(node, ledger)) => nodes[node.get()].state.ledger = ledger,
                Some(Change::State(node, state)) => nodes[node.get()].state = *state,
                Some(Change::Offline(node, offline)) => nodes[node.get()].spec.offline = offline,
                Some(Change::Located(instance, at, location_score)) => {
                    let instance = &mut instances[instance.get()];
                    (instance.primary, instance.secondary) = (at.primary, at.secondary);
                    instance.location_score = location_score;
                }
                Some(Change::Mobility(instance, immobile)) => instances[instance.get()].immobile = immobile,
                Some(Change::Node(node)) => {
                    let at = node.spec.idx.get();
                    nodes[at] = *node;
                }
                Some(Change::Instance(instance)) => {
                    let at = instance.idx.get();
                    instances[at] = *instance;
                }
                Some(Change::Adopted) => drop(instances.pop()),
                None => return,
            }
        }
    }

    /// Takes nodes offline, or brings them online.
    pub fn set_offline(&mut self, nodes: &[NodeIdx], offline: bool) {
        self.cluster.forget_derived();
        for node in nodes {
            let before = std::mem::replace(&mut self.cluster.nodes[node.get()].spec.offline, offline);
            self.note(|| Change::Offline(*node, before));
        }
    }

    /// Ends the promise of room for further instances, which is not taken back.
    pub fn keep_no_room(&mut self) {
        self.cluster.keep_room(None);
    }

    /// Pins instances to their nodes, or releases them.
    pub fn set_immobile(&mut self, instances: &[InstanceIdx], immobile: Option<Immobile>) {
        for instance in instances {
            let before = std::mem::replace(&mut self.cluster.instances[instance.get()].immobile, immobile);
            self.note(|| Change::Mobility(*instance, before));
        }
    }

    /// Replaces a node's ledger and nothing else.
    pub fn set_ledger(&mut self, node: NodeIdx, ledger: Ledger) {
        self.cluster.forget_derived();
        let before = std::mem::replace(&mut self.cluster.nodes[node.get()].state.ledger, ledger);
        self.note(|| Change::Ledger(node, before));
    }

    /// The table of known tags. Tags added to it change no result, and are not taken back.
    pub fn tag_table(&mut self) -> &mut TagTable {
        &mut self.cluster.tag_table
    }

    /// Edits a node; `edit` must not change which instances are on it.
    pub fn edit_node(&mut self, node: NodeIdx, edit: impl FnOnce(&mut Node)) {
        self.cluster.forget_derived();
        let there = &mut self.cluster.nodes[node.get()];
        let before = self.marked.then(|| Change::Node(Box::new(there.clone())));
        edit(there);
        self.changes.extend(before);
    }

    fn note(&mut self, change: impl FnOnce() -> Change) {
        if self.marked {
            self.changes.push(change());
        }
    }

    /// Saves the state of nodes that are about to change, once for each mark: states between two marks cannot be
    /// restored.
    fn note_states(&mut self, nodes: impl Iterator<Item = NodeIdx>) {
        if !self.marked {
            return;
        }
        self.kept_at.resize(self.cluster.nodes.len(), 0);
        for node in nodes {
            let kept_at = &mut self.kept_at[node.get()];
            let is_kept = *kept_at >= self.last_mark.0
                && matches!(self.changes.get(*kept_at), Some(Change::State(changed, _)) if *changed == node);
            if !is_kept {
                *kept_at = self.changes.len();
                let state = self.cluster.nodes[node.get()].state.clone();
                self.changes.push(Change::State(node, Box::new(state)));
            }
        }
    }

    /// Moves `instance` to `to`. Updates the lists, reserves and tag counts of its nodes and its own fields, and
    /// replaces the nodes' ledgers by `ledgers`.
    pub fn relocate(
        &mut self,
        instance: InstanceIdx,
        to: Placement,
        location_score: i64,
        ledgers: &[(NodeIdx, Ledger)],
    ) {
        let moved = self.cluster.instance(instance);
        let from = moved.placement();
        let (before, old_mirror) = (moved.location_score, moved.mirror());
        let mut concerned: Vec<NodeIdx> = ledgers.iter().map(|(node, _)| *node).collect();
        concerned.extend(from.nodes().chain(to.nodes()));
        concerned.sort_unstable();
        concerned.dedup();
        self.note_states(concerned.into_iter());
        self.note(|| Change::Located(instance, from, before));
        self.cluster.forget_derived();
        for (node, ledger) in ledgers {
            self.cluster.nodes[node.get()].state.ledger = *ledger;
        }
        let Cluster { nodes, instances, .. } = &mut self.cluster;
        let moved = &mut instances[instance.get()];
        let new_mirror = to.secondary.filter(|_| moved.template.has_secondary());
        let need = moved.mem_reserved();
        for (node, by) in [(from.primary, -1), (to.primary, 1)] {
            let state = &mut nodes[node.get()].state;
            state.tag_count.add_tags(&moved.exclusion_tags, by);
            state.key_count.add_keys(&moved.keys, by);
        }
        if !moved.forthcoming {
            if let Some(node) = old_mirror {
                let Node { spec, state } = &mut nodes[node.get()];
                let (_, left) = state.reserve_without(spec, moved);
                state.peers.set_or_drop(from.primary, left);
                state.secondaries.retain(|i| *i != instance);
            }
            nodes[from.primary.get()].state.primaries.retain(|i| *i != instance);
            nodes[to.primary.get()].state.primaries.push(instance);
            if let Some(node) = new_mirror {
                nodes[node.get()].state.back(to.primary, instance, need);
            }
            old_mirror.into_iter().chain(new_mirror).for_each(|node| nodes[node.get()].update_joint());
        }
        if moved.forthcoming {
            from.nodes().for_each(|node| nodes[node.get()].state.planned.retain(|i| *i != instance));
            to.nodes().for_each(|node| nodes[node.get()].state.planned.push(instance));
        }
        (moved.primary, moved.secondary) = (to.primary, to.secondary);
        moved.location_score = location_score;
    }

    /// Removes an instance without secondary from the lists and tag counts of its node, and replaces the node's ledger
    /// by `left`. The instance's own fields stay.
    pub fn take_off(&mut self, instance: InstanceIdx, left: Ledger) {
        let moved = self.cluster.instance(instance);
        let (node, tags, keys) = (moved.primary, moved.exclusion_tags.clone(), moved.keys.clone());
        self.note_states([node].into_iter());
        self.cluster.forget_derived();
        let state = &mut self.cluster.nodes[node.get()].state;
        state.ledger = left;
        state.tag_count.add_tags(&tags, -1);
        state.key_count.add_keys(&keys, -1);
        state.primaries.retain(|i| *i != instance);
        state.planned.retain(|i| *i != instance);
    }

    /// Adds a new instance, which gets the next index.
    pub fn adopt(&mut self, instance: &Instance, place: &Place) -> InstanceIdx {
        let idx = InstanceIdx::new(self.cluster.instances.len());
        self.enter(idx, instance, place);
        idx
    }

    /// Enters an instance as number `idx`, which must be the next index or that of an instance taken off. Updates the
    /// list of instances, and the ledgers, lists, reserves and tag counts of its nodes.
    pub fn enter(&mut self, idx: InstanceIdx, instance: &Instance, place: &Place) {
        let at = place.placement;
        self.note_states(at.nodes());
        self.cluster.forget_derived();
        let Cluster { nodes, instances, .. } = &mut self.cluster;
        nodes[at.primary.get()].state.ledger = place.primary;
        if let (Some(node), Some(ledger)) = (at.secondary, place.secondary) {
            nodes[node.get()].state.ledger = ledger;
        }
        let mut new = Instance {
            idx,
            primary: at.primary,
            secondary: at.secondary,
            location_score: place.location_score,
            ..instance.clone()
        };
        new.settle_pools(&nodes[at.primary.get()].spec);
        let state = &mut nodes[at.primary.get()].state;
        state.tag_count.add_tags(&new.exclusion_tags, 1);
        state.key_count.add_keys(&new.keys, 1);
        if new.forthcoming {
            at.nodes().for_each(|node| nodes[node.get()].state.planned.push(idx));
        } else {
            state.primaries.push(idx);
            if let Some(node) = new.mirror() {
                nodes[node.get()].state.back(at.primary, idx, new.mem_reserved());
                nodes[node.get()].update_joint();
            }
        }
        let change = match instances.get_mut(idx.get()) {
            Some(old) => Change::Instance(Box::new(std::mem::replace(old, new))),
            None => {
                instances.push(new);
                Change::Adopted
            }
        };
        self.note(|| change);
    }
}

impl NodeState {
    /// Adds a secondary instance, and reserves `need` for the loss of `primary`.
    fn back(&mut self, primary: NodeIdx, instance: InstanceIdx, need: Mib) {
        self.peers.set(primary, self.peers.get(primary) + need);
        self.secondaries.push(instance);
    }
}
