//! Memory that a node reserves for the failure of any one other node, and of several at once.

use super::instance::Instance;
use super::node::{Ledger, Node, NodeSpec, NodeState};
use super::units::Mib;

/// Reserve of a node for the loss of several other nodes at once; zero unless `--keep-reserve` asks for more than one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct JointReserve {
    /// Sum of the largest reserves by node, as many as nodes may be lost.
    pub sum: Mib,
    /// The smallest of these reserves; 0 if there are fewer.
    pub least: Mib,
}

impl JointReserve {
    /// Joint reserve of amounts (largest first) for the loss of any `nodes` other nodes. Zero for one node, which N+1
    /// covers.
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

    /// Joint reserve with `need` more for a node for which `peer` is reserved already. `least` is out of date
    /// afterwards and must be recomputed before another addition.
    pub fn raised(self, peer: Mib, need: Mib) -> JointReserve {
        let grows = (peer + need - peer.max(self.least)).max(Mib::ZERO);
        JointReserve { sum: self.sum + grows, ..self }
    }
}

/// Reserve of a node for the failure of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeReserve {
    /// Largest reserve for one other node.
    pub largest: Mib,
    /// Reserve for several at once.
    pub joint: JointReserve,
}

impl Ledger {
    /// Present reserve of the node for the failure of others.
    pub fn reserve(&self) -> NodeReserve {
        NodeReserve { largest: self.mem_reserved, joint: self.joint }
    }

    /// Memory missing for the loss of several other nodes at once: 0 or less if there is enough, which includes at
    /// least 1 MiB to spare. `None` if only N+1 is required.
    pub fn joint_lack(&self, spec: &NodeSpec) -> Option<Mib> {
        (spec.joint_losses > 1).then(|| self.joint.sum + Mib(1) - self.mem_unallocated(spec))
    }

    /// Tells if more memory is missing for the loss of several other nodes at once than `before`, and any at all.
    pub fn lacks_more_than(&self, before: &Ledger, spec: &NodeSpec) -> bool {
        let lacks = |lack: Mib| lack > Mib::ZERO && Some(lack) > before.joint_lack(spec);
        self.joint_lack(spec).is_some_and(lacks)
    }
}

impl NodeState {
    /// Reserve of this node once `instance` is no longer one of its secondaries, and the amount still reserved for the
    /// instance's primary node.
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
    /// Recomputes the joint reserve after the reserves by node have changed.
    pub(crate) fn update_joint(&mut self) {
        self.state.ledger.joint = self.state.peers.joint(self.spec.joint_losses);
    }
}
