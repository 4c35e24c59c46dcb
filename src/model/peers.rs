//! The memory that a node keeps for the failure of each other node.

use super::index::NodeIdx;
use super::units::Mib;

/// Reserved memory by primary node, largest first. An entry that is set goes
/// before others of the same amount (the order in which `peermap` shows them).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerMap(Vec<(NodeIdx, Mib)>);

impl PeerMap {
    /// What is reserved for the failure of `node`; nothing if it has no entry.
    pub fn get(&self, node: NodeIdx) -> Mib {
        self.0.iter().find(|e| e.0 == node).map_or(Mib::ZERO, |e| e.1)
    }

    /// The largest amount, 0 without entries.
    pub fn max(&self) -> Mib {
        self.0.first().map_or(Mib::ZERO, |e| e.1)
    }

    /// The largest amount if the entry of `node` were `amount` (dropped unless
    /// positive).
    pub fn max_with_reduced(&self, node: NodeIdx, amount: Mib) -> Mib {
        let others = self.0.iter().find(|e| e.0 != node).map(|e| e.1);
        let kept = Some(amount).filter(|a| *a > Mib::ZERO);
        others.max(kept).unwrap_or(Mib::ZERO)
    }

    /// Sets the entry of `node`, also to 0.
    pub fn set(&mut self, node: NodeIdx, amount: Mib) {
        self.0.retain(|e| e.0 != node);
        let at = self.0.iter().position(|e| e.1 <= amount).unwrap_or(self.0.len());
        self.0.insert(at, (node, amount));
    }

    /// Sets the entry of `node`, or drops it unless `amount` is positive.
    pub fn set_or_drop(&mut self, node: NodeIdx, amount: Mib) {
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

    #[test]
    fn a_zero_entry_stays_when_set_and_goes_when_reduced() {
        let mut peers = PeerMap::default();
        peers.set(NodeIdx::new(1), Mib(0));
        assert_eq!(peers.iter().count(), 1);
        peers.set_or_drop(NodeIdx::new(1), Mib(0));
        assert_eq!((peers.iter().count(), peers.max()), (0, Mib(0)));
    }
}
