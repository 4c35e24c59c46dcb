//! Memory that a node reserves for the failure of each other node.

use super::index::NodeIdx;
use super::node_reserve::JointReserve;
use super::units::Mib;

/// Reserved memory by primary node, largest first. A newly set entry goes before others of the same amount, which is
/// the order in which `peermap` shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerMap(Vec<(NodeIdx, Mib)>);

impl PeerMap {
    /// Memory reserved for the failure of `node`; 0 if it has no entry.
    pub fn get(&self, node: NodeIdx) -> Mib {
        self.0.iter().find(|e| e.0 == node).map_or(Mib::ZERO, |e| e.1)
    }

    /// The largest amount, 0 without entries.
    pub fn max(&self) -> Mib {
        self.0.first().map_or(Mib::ZERO, |e| e.1)
    }

    /// The largest amount if the entry of `node` were `amount` (dropped unless
    /// positive).
    pub(crate) fn max_with_reduced(&self, node: NodeIdx, amount: Mib) -> Mib {
        let others = self.0.iter().find(|e| e.0 != node).map(|e| e.1);
        let kept = Some(amount).filter(|a| *a > Mib::ZERO);
        others.max(kept).unwrap_or(Mib::ZERO)
    }

    /// Reserve for the loss of any `nodes` other nodes at once.
    pub(crate) fn joint(&self, nodes: usize) -> JointReserve {
        JointReserve::of(self.0.iter().map(|e| e.1), nodes)
    }

    /// The same if the entry of `node` were `amount`, which must not exceed the present one.
    pub(crate) fn joint_with_reduced(&self, node: NodeIdx, amount: Mib, nodes: usize) -> JointReserve {
        let others = || self.0.iter().filter(|e| e.0 != node).map(|e| e.1);
        let larger = others().take_while(|held| *held > amount);
        let smaller = others().skip_while(|held| *held > amount);
        JointReserve::of(larger.chain([amount]).chain(smaller), nodes)
    }

    /// Sets the entry of `node`, also to 0.
    pub fn set(&mut self, node: NodeIdx, amount: Mib) {
        self.0.retain(|e| e.0 != node);
        let at = self.0.iter().position(|e| e.1 <= amount).unwrap_or(self.0.len());
        self.0.insert(at, (node, amount));
    }

    /// Sets the entry of `node`, or drops it unless `amount` is positive.
    pub(crate) fn set_or_drop(&mut self, node: NodeIdx, amount: Mib) {
        if amount > Mib::ZERO {
            self.set(node, amount);
        } else {
            self.0.retain(|e| e.0 != node);
        }
    }

    /// The entries, largest first.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIdx, Mib)> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn newest_first_among_equal_amounts() {
        let mut peers = PeerMap::default();
        for (node, amount) in [(1, 5), (2, 5), (3, 7), (1, 5)] {
            peers.set(NodeIdx::new(node), Mib(amount));
        }
        let order: Vec<usize> = peers.iter().map(|e| e.0.get()).collect();
        assert_eq!(order, [3, 1, 2]);
        assert_eq!(peers.max(), Mib(7));
        assert_eq!(peers.max_with_reduced(NodeIdx::new(3), Mib(0)), Mib(5));
        assert_eq!(peers.max_with_reduced(NodeIdx::new(3), Mib(6)), Mib(6));
    }

    proptest! {
        /// The joint reserves updated step by step equal those computed from the lists.
        #[test]
        fn what_is_kept_against_several_losses_is_the_sum_of_the_largest(
            held in prop::collection::vec((0usize..6, 0i64..9), 0..8),
            (node, need) in (0usize..6, 0i64..9),
            nodes in 0usize..8,
        ) {
            let mut peers = PeerMap::default();
            for (node, amount) in held {
                peers.set(NodeIdx::new(node), Mib(amount));
            }
            let sum_of_largest = |peers: &PeerMap| {
                let mut amounts: Vec<i64> = peers.iter().map(|e| e.1.0).collect();
                amounts.sort_unstable();
                amounts.iter().rev().take(nodes).sum::<i64>()
            };
            let kept = |peers: &PeerMap| if nodes > 1 { sum_of_largest(peers) } else { 0 };
            let (node, need) = (NodeIdx::new(node), Mib(need));
            let (before, held) = (peers.joint(nodes), peers.get(node));
            prop_assert_eq!(before.sum.0, kept(&peers));
            let raised = before.raised(held, need);
            let entry = held > Mib::ZERO || peers.iter().any(|e| e.0 == node);
            peers.set(node, held + need);
            if nodes > 1 {
                prop_assert_eq!(raised.sum.0, kept(&peers));
                prop_assert_eq!(peers.joint_with_reduced(node, held, nodes).sum, before.sum);
                if entry {
                    prop_assert_eq!(peers.joint_with_reduced(node, held, nodes), before);
                }
            }
            peers.set_or_drop(node, held);
            prop_assert_eq!(peers.joint(nodes).sum, before.sum);
        }
    }

    #[test]
    fn a_zero_entry_stays_when_set_and_goes_when_reduced() {
        let mut peers = PeerMap::default();
        peers.set(NodeIdx::new(1), Mib(0));
        assert_eq!(peers.iter().count(), 1);
        peers.set_or_drop(NodeIdx::new(1), Mib(0));
        assert_eq!((peers.iter().count(), peers.max()), (0, Mib(0)));
    }
}
