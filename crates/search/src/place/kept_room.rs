//! Room for further instances (`--keep-room`) while one instance is placed.

use std::sync::Arc;

use smallvec::SmallVec;

use htools_model::{Cluster, ClusterRoom, Instance, Ledger, NodeIdx, NodeRoom, Place};

use crate::moves::{MoveRules, Trial};

/// Nodes with their new room: at most the old and the new nodes of one instance.
pub(crate) type RoomChanges = SmallVec<[(NodeIdx, NodeRoom); 4]>;

/// The room before an instance comes, and on the nodes that it leaves.
#[derive(Default)]
pub(crate) struct RoomGuard {
    room: Option<Arc<ClusterRoom>>,
    left: RoomChanges,
}

impl RoomGuard {
    /// Room that a new instance must leave; with `soft`, none.
    pub(crate) fn of(cluster: &Cluster, soft: bool) -> RoomGuard {
        RoomGuard { room: cluster.room().filter(|_| !soft).cloned(), left: RoomChanges::new() }
    }

    /// Room that must be left when an instance goes elsewhere. One that leaves a lost node need not leave any.
    pub(crate) fn moving(cluster: &Cluster, instance: &Instance, soft: bool) -> RoomGuard {
        let is_lost = |node: NodeIdx| cluster.node(node).spec.offline;
        let mut guard = RoomGuard::of(cluster, soft || instance.nodes().any(is_lost));
        if let Some(room) = &guard.room {
            let trial = Trial::new(cluster, instance, &MoveRules::default());
            let mirror = instance.mirror().zip(trial.mirror_left());
            for (node, ledger) in [(instance.primary, trial.primary_left())].into_iter().chain(mirror) {
                guard.left.push((node, room.node_room(&cluster.node(node).spec, ledger)));
            }
        }
        guard
    }

    /// Returns true if room is kept at all.
    pub(crate) fn counts(&self) -> bool {
        self.room.is_some()
    }

    /// Number of instances that must still fit, and that do with these ledgers of the new nodes; `None` if no room is
    /// kept.
    pub(crate) fn numbers(&self, cluster: &Cluster, ends: &[(NodeIdx, Ledger)]) -> Option<RoomNumbers> {
        let room = self.room.as_ref()?;
        Some(RoomNumbers {
            needed: room.count(),
            fitting: room.count_with(&self.changes(room, cluster, ends)),
        })
    }

    /// Returns true if the room is kept with these ledgers of the new nodes.
    pub(crate) fn holds(&self, cluster: &Cluster, ends: &[(NodeIdx, Ledger)]) -> bool {
        self.room.as_ref().is_none_or(|room| room.allows(&self.changes(room, cluster, ends)))
    }

    /// Returns true if the room is kept with the instance at a place.
    pub(crate) fn holds_at(&self, cluster: &Cluster, place: &Place) -> bool {
        self.room.is_none() || self.holds(cluster, &ends(place))
    }

    fn changes(&self, room: &ClusterRoom, cluster: &Cluster, ends: &[(NodeIdx, Ledger)]) -> RoomChanges {
        let is_end = |node: NodeIdx| ends.iter().any(|(end, _)| *end == node);
        let room_at =
            |(node, ledger): &(NodeIdx, Ledger)| (*node, room.node_room(&cluster.node(*node).spec, ledger));
        let left = self.left.iter().filter(|(node, _)| !is_end(*node)).copied();
        ends.iter().map(room_at).chain(left).collect()
    }
}

/// Numbers of further instances for which room is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoomNumbers {
    /// Those that must fit.
    pub needed: i64,
    /// Those that do.
    pub fitting: i64,
}

/// The nodes of a place with their ledgers.
pub(crate) fn ends(place: &Place) -> SmallVec<[(NodeIdx, Ledger); 2]> {
    let secondary = place.placement.secondary.zip(place.secondary);
    [(place.placement.primary, place.primary)].into_iter().chain(secondary).collect()
}
