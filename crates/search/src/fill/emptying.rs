//! Decides by bounds whether a node can be emptied. This works if the bounds determine the kind of node to
//! which each instance goes, so that no exact score is needed. A result always agrees with that of the exact
//! scores in [`loss`](super::loss); if bounds are not sufficient, there is no result.

use foldhash::HashMap;

use crate::place::floor::Floor;
use crate::place::kinds::KindIdx;
use crate::place::shelf::{Shelf, View};
use htools_model::score::interval::{CountedPart, Running};
use htools_model::score::metrics::{Counted, Lanes, lanes};
use htools_model::{DiskTemplate, Instance, Ledger, NodeIdx, Strictness, TagArrival, TagSet};

/// Resources that an untagged primary on shared storage takes from a node; key of its shelf.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PrimaryLoad {
    template: DiskTemplate,
    /// Storage pools that a node must reach.
    pools: TagSet,
    numbers: [i64; 5],
    spindles: Option<i64>,
    load: [u64; 4],
    forthcoming: bool,
}

impl PrimaryLoad {
    fn of(instance: &Instance) -> PrimaryLoad {
        let util = &instance.util;
        PrimaryLoad {
            template: instance.template,
            pools: instance.needs.clone(),
            numbers: [
                instance.mem.0,
                instance.mem_in_use().0,
                instance.disk.0,
                instance.vcpus_in_use(),
                instance.spindle_use,
            ],
            spindles: instance.spindles,
            load: [util.cpu, util.mem, util.disk, util.net].map(f64::to_bits),
            forthcoming: instance.forthcoming,
        }
    }
}

/// A shelf for each shape of instance that has had to leave a node of the floor.
#[derive(Default)]
pub(super) struct Shelves {
    by_shape: HashMap<PrimaryLoad, Shelf>,
}

impl Shelves {
    fn of(&mut self, instance: &Instance) -> &mut Shelf {
        self.by_shape.entry(PrimaryLoad::of(instance)).or_insert_with(|| Shelf::new(instance, true))
    }
}

/// A node whose ledger differs from the floor's.
struct ChangedNode {
    node: NodeIdx,
    ledger: Ledger,
    lanes: Lanes,
}

/// A floor while instances leave one of its nodes.
struct EmptiedFloor<'f, 'c> {
    floor: &'f Floor<'c>,
    running: Running,
    counted: Counted,
    changed: Vec<ChangedNode>,
}

/// A target of an instance that leaves the node.
#[derive(Clone, Copy)]
enum EscapeTarget {
    /// A node that has changed, by its position in the list.
    Changed(usize),
    /// Any unchanged node of a kind.
    Kind(KindIdx),
}

impl<'f, 'c> EmptiedFloor<'f, 'c> {
    fn new(floor: &'f Floor<'c>) -> EmptiedFloor<'f, 'c> {
        let (running, counted) = (floor.running.clone(), floor.board.counted());
        EmptiedFloor { floor, running, counted, changed: Vec::new() }
    }

    fn position(&self, node: NodeIdx) -> Option<usize> {
        self.changed.iter().position(|c| c.node == node)
    }

    fn ledger(&self, node: NodeIdx) -> &Ledger {
        match self.position(node) {
            Some(at) => &self.changed[at].ledger,
            None => &self.floor.ledgers[node.get()],
        }
    }

    fn set(&mut self, node: NodeIdx, ledger: Ledger) {
        let spec = &self.floor.cluster.node(node).spec;
        let after = lanes(spec, &ledger);
        let at = self.position(node).unwrap_or_else(|| {
            let kind = self.floor.kinds.get(self.floor.kinds.of_node(node));
            self.changed.push(ChangedNode { node, ledger: kind.ledger, lanes: kind.lanes });
            self.changed.len() - 1
        });
        let changed = &mut self.changed[at];
        if !spec.offline {
            self.running.replace(&changed.lanes, &after);
        }
        self.counted = self.counted + (Counted::of(spec, &ledger) - Counted::of(spec, &changed.ledger));
        (changed.ledger, changed.lanes) = (ledger, after);
    }

    /// Number of nodes of a kind that have changed.
    fn gone(&self, kind: KindIdx) -> usize {
        self.changed.iter().filter(|c| self.floor.kinds.of_node(c.node) == kind).count()
    }

    /// The possible best targets for an instance that leaves `node`: no other target is better. Returns `None`
    /// if bounds cannot tell.
    fn targets(&self, instance: &Instance, node: NodeIdx, shelf: &mut Shelf) -> Option<Vec<EscapeTarget>> {
        let mut targets = Vec::new();
        let mut limit = f64::INFINITY;
        for (at, changed) in self.changed.iter().enumerate() {
            let spec = &self.floor.cluster.node(changed.node).spec;
            if changed.node == node || spec.offline {
                continue;
            }
            let Some(after) = self.with(changed.node, &changed.ledger, instance) else { continue };
            let counted = self.counted + (Counted::of(spec, &after) - Counted::of(spec, &changed.ledger));
            let board = &self.floor.board;
            let counted = CountedPart::of(board.weights(), &counted, board.spread().surplus());
            let bounds = self.running.interval_between(&changed.lanes, &lanes(spec, &after), counted);
            if !(bounds.hi - bounds.lo).is_finite() {
                return None;
            }
            limit = limit.min(bounds.hi);
            targets.push((EscapeTarget::Changed(at), bounds));
        }
        let view = View { running: &self.running, counted: self.counted };
        let open = |kind: KindIdx| self.floor.kinds.get(kind).members.len() > self.gone(kind);
        let near = shelf.near(self.floor, &view, limit, open)?;
        targets.extend(near.into_iter().map(|(kind, bounds)| (EscapeTarget::Kind(kind), bounds)));
        let limit = targets.iter().map(|t| t.1.hi).fold(limit, f64::min);
        Some(targets.into_iter().filter(|t| t.1.lo <= limit).map(|t| t.0).collect())
    }

    fn with(&self, node: NodeIdx, before: &Ledger, instance: &Instance) -> Option<Ledger> {
        let spec = &self.floor.cluster.node(node).spec;
        before.add_primary(spec, instance, 0, TagArrival::default(), Strictness::Forced).ok()
    }

    /// One node of a target.
    fn node_of(&self, target: EscapeTarget) -> Option<NodeIdx> {
        match target {
            EscapeTarget::Changed(at) => Some(self.changed[at].node),
            EscapeTarget::Kind(kind) => {
                let members = &self.floor.kinds.get(kind).members;
                members.iter().rev().copied().find(|member| self.position(*member).is_none())
            }
        }
    }

    /// Returns true if a node other than `node` has room for the instance.
    fn has_room(&self, instance: &Instance, node: NodeIdx, shelf: &mut Shelf) -> bool {
        let takes = |c: &ChangedNode| {
            let offline = self.floor.cluster.node(c.node).spec.offline;
            c.node != node && !offline && self.with(c.node, &c.ledger, instance).is_some()
        };
        let open = |kind: KindIdx| self.floor.kinds.get(kind).members.len() > self.gone(kind);
        self.changed.iter().any(takes) || shelf.has_room(self.floor, open)
    }

    /// Returns true if two nodes are interchangeable for the instance: all present and later effects are the
    /// same.
    fn are_alike(&self, a: NodeIdx, b: NodeIdx) -> bool {
        let what_counts = |node: NodeIdx| {
            let (spec, ledger) = (&self.floor.cluster.node(node).spec, self.ledger(node));
            let sizes = [spec.mem_total, spec.cpu_total, spec.cpu_speed].map(f64::to_bits);
            let amounts = [
                spec.mem_for_instances().0,
                ledger.mem_instances.0,
                ledger.mem_reserved.0,
                ledger.mem_free_planned.0,
                ledger.vcpus,
                ledger.vcpus_planned,
            ];
            let load = [ledger.load.cpu, ledger.load.mem, ledger.load.disk, ledger.load.net];
            (sizes, amounts, load.map(f64::to_bits))
        };
        // With exclusive storage, spindles would be set to nothing. On a node that fails N+1, the number of
        // primaries counts.
        let odd =
            |node: NodeIdx| self.floor.cluster.node(node).spec.exclusive_storage || self.ledger(node).n1_fail;
        what_counts(a) == what_counts(b) && !odd(a) && !odd(b)
    }
}

/// Returns true if the last of a node's instances finds a place, provided all before it do. `instances` are in
/// the order in which they leave, and `arrived` is a node that has just changed. Returns `None` if bounds
/// cannot tell.
pub(super) fn can_be_emptied(
    floor: &Floor<'_>,
    shelves: &mut Shelves,
    arrived: Option<(NodeIdx, Ledger)>,
    node: NodeIdx,
    instances: &[Instance],
) -> Option<bool> {
    let mut state = EmptiedFloor::new(floor);
    if let Some((node, ledger)) = arrived {
        state.set(node, ledger);
    }
    let spec = &floor.cluster.node(node).spec;
    for (instance, left) in instances.iter().zip((0..instances.len()).rev()) {
        let shelf = shelves.of(instance);
        let without = state.ledger(node).remove_primary(spec, instance, 0, TagArrival::default());
        state.set(node, without);
        if left == 0 {
            return Some(state.has_room(instance, node, shelf));
        }
        let targets = state.targets(instance, node, shelf)?;
        let mut nodes = targets.into_iter().map(|target| state.node_of(target));
        let Some(first) = nodes.next() else { return Some(false) };
        let to = first?;
        for other in nodes {
            if !state.are_alike(to, other?) {
                return None;
            }
        }
        let after = state.with(to, state.ledger(to), instance)?;
        if after.n1_fail {
            // On a node that fails N+1, the number of primaries counts.
            return None;
        }
        state.set(to, after);
    }
    Some(true)
}
