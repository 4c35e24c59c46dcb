//! Nodes, one per row.

pub(in crate::report) mod html;
pub mod text;

use serde::Serialize;

use crate::model::{Mib, Node};

/// The memory of a node by its use, in MiB.
#[derive(Debug, Clone, Serialize)]
pub(in crate::report) struct NodeMemory {
    pub total: f64,
    pub node: Mib,
    pub instances: Mib,
    pub unaccounted: Mib,
    pub reported_free: Mib,
    pub unallocated: Mib,
    pub reserved: Mib,
}

impl NodeMemory {
    pub(in crate::report) fn of(node: &Node) -> NodeMemory {
        let Node { spec, state } = node;
        NodeMemory {
            total: spec.mem_total,
            node: spec.mem_node,
            instances: state.ledger.mem_instances,
            unaccounted: spec.mem_unaccounted,
            reported_free: node.mem_free(),
            unallocated: state.ledger.mem_unallocated(spec),
            reserved: state.ledger.mem_reserved,
        }
    }

    /// Share of the total that is in use; not a number if the total is 0.
    pub(in crate::report) fn share_in_use(&self) -> f64 {
        1.0 - self.reported_free.as_f64() / self.total
    }

    /// Share of the total that is reserved for failovers.
    pub(in crate::report) fn share_reserved(&self) -> f64 {
        self.reserved.as_f64() / self.total
    }
}
