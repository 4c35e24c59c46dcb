//! State of the nodes while instances are placed: ledgers, kinds and score.

use super::Targets;
use super::kinds::{AcrossGroups, KindIdx, Kinds};
use super::rows::Rows;
use htools_model::score::interval::Running;
use htools_model::score::{Board, Touched};
use htools_model::{Cluster, Instance, Ledger, Mib, NodeIdx, Place, Placement};

/// A set of nodes on which instances are placed one after the other.
#[derive(Clone)]
pub(crate) struct Floor<'c> {
    /// The cluster in its original state. Only the constant data of its nodes is used, and the tags of their
    /// primaries.
    pub cluster: &'c Cluster,
    pub targets: &'c Targets,
    pub board: Board,
    pub running: Running,
    pub kinds: Kinds,
    pub rows: Rows,
    /// Ledger of each node of the cluster.
    pub ledgers: Vec<Ledger>,
    /// For each node of the cluster, true if it is tried.
    pub usable: Vec<bool>,
    /// For each primary node, the memory that other nodes keep for its failure.
    backing: Vec<Vec<(NodeIdx, Mib)>>,
    /// Number of changes since the running statistics were computed.
    changes: usize,
}

impl<'c> Floor<'c> {
    /// Creates the floor for an instance. The score is that of `nodes` (ascending). The set of nodes that are
    /// tried does not change.
    pub(crate) fn new(
        cluster: &'c Cluster,
        nodes: &[NodeIdx],
        targets: &'c Targets,
        instance: &Instance,
    ) -> Floor<'c> {
        // Both nodes of an instance are in one group.
        let singles = matches!(targets, Targets::Singles(_));
        let across = if singles { AcrossGroups::ByPolicy } else { AcrossGroups::Never };
        Floor::with_kinds(cluster, nodes, targets, instance, across)
    }

    /// Like [`Floor::new`], but nodes of some groups may be tried later and others not.
    pub(crate) fn of_groups(
        cluster: &'c Cluster,
        nodes: &[NodeIdx],
        targets: &'c Targets,
        instance: &Instance,
    ) -> Floor<'c> {
        Floor::with_kinds(cluster, nodes, targets, instance, AcrossGroups::Never)
    }

    fn with_kinds(
        cluster: &'c Cluster,
        nodes: &[NodeIdx],
        targets: &'c Targets,
        instance: &Instance,
        across: AcrossGroups,
    ) -> Floor<'c> {
        let board = Board::new(cluster, nodes);
        let mut usable = vec![false; cluster.nodes.len()];
        targets.primaries().iter().for_each(|node| usable[node.get()] = true);
        let mut backing = vec![Vec::new(); cluster.nodes.len()];
        if !matches!(targets, Targets::Singles(_)) {
            for node in nodes.iter().map(|n| cluster.node(*n)) {
                for (primary, amount) in node.state.peers.iter() {
                    backing[primary.get()].push((node.spec.idx, amount));
                }
            }
        }
        // If the instance has tags or keys, each node is different for it.
        let alone = !instance.exclusion_tags.is_empty()
            || !instance.keys.is_empty()
            || !instance.desired_locations.is_empty();
        let kinds = Kinds::of(cluster, nodes, &usable, alone, across);
        Floor {
            cluster,
            targets,
            running: Running::of(&board),
            rows: Rows::of(cluster, nodes, &kinds),
            kinds,
            ledgers: cluster.nodes.iter().map(|n| n.state.ledger).collect(),
            board,
            usable,
            backing,
            changes: 0,
        }
    }

    /// The memory that other nodes keep for the failure of `primary`, by node.
    pub(crate) fn backing(&self, primary: NodeIdx) -> &[(NodeIdx, Mib)] {
        &self.backing[primary.get()]
    }

    /// Adds an instance at its place.
    pub(crate) fn place(&mut self, instance: &Instance, place: &Place) {
        let Placement { primary, secondary } = place.placement;
        self.set(instance, primary, place.primary, Some(primary));
        if let (Some(node), Some(ledger)) = (secondary, place.secondary) {
            self.set(instance, node, ledger, None);
            self.back(primary, node, instance.mem_reserved());
        }
    }

    /// Removes the instance that was placed last; the ledgers are those before it.
    pub(crate) fn take_back(
        &mut self,
        instance: &Instance,
        at: Placement,
        primary: Ledger,
        secondary: Option<Ledger>,
    ) {
        self.set(instance, at.primary, primary, None);
        if let (Some(node), Some(ledger)) = (at.secondary, secondary) {
            self.set(instance, node, ledger, None);
            self.back(at.primary, node, -instance.mem_reserved());
        }
    }

    /// Sets the memory that a node keeps for the failure of `primary`.
    pub(crate) fn set_backing(&mut self, primary: NodeIdx, node: NodeIdx, amount: Mib) {
        self.backing[primary.get()].retain(|b| b.0 != node);
        if amount != Mib::ZERO {
            self.backing[primary.get()].push((node, amount));
        }
    }

    fn back(&mut self, primary: NodeIdx, node: NodeIdx, more: Mib) {
        let backing = &mut self.backing[primary.get()];
        match backing.iter().position(|b| b.0 == node) {
            Some(at) => {
                backing[at].1 += more;
                if backing[at].1 == Mib::ZERO {
                    backing.swap_remove(at);
                }
            }
            None => backing.push((node, more)),
        }
    }

    /// Replaces the ledger of a node. Tags of `instance` that matter must not come or go.
    pub(crate) fn replace(&mut self, instance: &Instance, node: NodeIdx, ledger: Ledger) {
        self.set(instance, node, ledger, None);
    }

    /// Replaces the ledger of a node.
    fn set(&mut self, instance: &Instance, node: NodeIdx, ledger: Ledger, arrives: Option<NodeIdx>) {
        let spec = &self.cluster.node(node).spec;
        let before = self.kinds.get(self.kinds.of_node(node)).lanes;
        let touched = Touched { spec, before: &self.ledgers[node.get()], after: ledger };
        let to = arrives.map(|n| &self.cluster.node(n).spec);
        // With the same node at both ends, only the ledger changes.
        self.board.commit(&[touched], instance, to.is_none().then_some(spec), to.unwrap_or(spec));
        self.ledgers[node.get()] = ledger;
        self.kinds.update(self.cluster, node, &ledger);
        if !spec.offline {
            let kind = self.kinds.of_node(node);
            self.running.replace(&before, &self.kinds.get(kind).lanes);
            if let Some(row) = self.board.row(node) {
                self.rows.set(row, kind);
            }
        }
        self.changes += 1;
        if self.changes > self.board.rows().len() {
            self.running = Running::of(&self.board);
            self.changes = 0;
        }
    }

    /// The kinds that have members and are tried.
    pub(crate) fn usable_kinds(&self) -> impl Iterator<Item = KindIdx> + '_ {
        self.kinds.present().iter().copied().filter(|kind| self.is_usable(*kind))
    }

    /// Returns true if the nodes of the kind are tried.
    pub(crate) fn is_usable(&self, kind: KindIdx) -> bool {
        self.usable[self.kinds.get(kind).sample.get()]
    }
}
