//! The memory that a node keeps for the failure of others: of any one of them, and of several at once.

use super::instance::Instance;
use super::node::{Ledger, Node, NodeSpec, NodeState};
use super::units::Mib;

/// What a node keeps against the loss of several others at once: nothing unless `--keep-reserve` asks for
/// more than one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct JointReserve {
    /// The sum of as many of its largest reserves.
    pub sum: Mib,
    /// The smallest of these; 0 if there are fewer.
    pub least: Mib,
}

impl JointReserve {
    /// Of amounts, largest first, if any `nodes` others may be lost at once. For one of them there is
    /// N+1, and nothing is kept here.
    pub fn of(amounts: impl Iterator<Item = Mib>, nodes: usize) -> JointReserve {
        if nodes <= 1 {
            return JointReserve::default();
        }
        let (mut counted, mut joint) = (0, JointReserve::default());
        for amount in amounts.take(nodes) {
            counted += 1;
            joint = JointReserve { sum: joint.sum + amount, least: amount };
        }
        if counted < nodes { JointReserve { least: Mib::ZERO, ..joint } } else { joint }
    }

    /// With `need` more against the loss of a node for which `peer` is kept already. The smallest of the largest
    /// is to be found anew before another one is added.
    pub fn raised(self, peer: Mib, need: Mib) -> JointReserve {
        let grows = (peer + need - peer.max(self.least)).max(Mib::ZERO);
        JointReserve { sum: self.sum + grows, ..self }
    }
}

/// What a node keeps for the failure of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeReserve {
    /// The most for one of them.
    pub largest: Mib,
    /// For several at once.
    pub joint: JointReserve,
}

impl Ledger {
    /// What the node keeps for the failure of others.
    pub fn reserve(&self) -> NodeReserve {
        NodeReserve { largest: self.mem_reserved, joint: self.joint }
    }

    /// Memory that is missing for the loss of several other nodes at once: 0 or less if there is enough, of
    /// which something has to be left over. Nothing if no more is asked for than N+1.
    pub fn joint_lack(&self, spec: &NodeSpec) -> Option<Mib> {
        (spec.joint_losses > 1).then(|| self.joint.sum + Mib(1) - self.mem_unallocated(spec))
    }

    /// Whether more is missing for the loss of several other nodes at once than was `before`.
    pub fn lacks_more_than(&self, before: &Ledger, spec: &NodeSpec) -> bool {
        let lacks = |lack: Mib| lack > Mib::ZERO && Some(lack) > before.joint_lack(spec);
        self.joint_lack(spec).is_some_and(lacks)
    }
}

impl NodeState {
    /// What this node reserves once `instance` is no longer one of its
    /// secondaries, and what remains for the instance's primary node.
    pub fn reserve_without(&self, spec: &NodeSpec, instance: &Instance) -> (NodeReserve, Mib) {
        let NodeState { ledger, peers, .. } = self;
        let held = peers.get(instance.primary);
        let left = held - instance.mem_reserved();
        let largest = if held < ledger.mem_reserved {
            ledger.mem_reserved
        } else {
            peers.max_with_reduced(instance.primary, left)
        };
        let joint = match spec.joint_losses {
            0 | 1 => JointReserve::default(),
            nodes => peers.joint_with_reduced(instance.primary, left, nodes),
        };
        (NodeReserve { largest, joint }, left)
    }
}

impl Node {
    /// Finds what is kept against the loss of several others anew after the reserves have changed.
    pub(crate) fn update_joint(&mut self) {
        self.state.ledger.joint = self.state.peers.joint(self.spec.joint_losses);
    }
}
