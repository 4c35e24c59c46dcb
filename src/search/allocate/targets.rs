//! The places that come into question.

use crate::model::{Cluster, GroupIdx, NodeIdx};

/// The nodes, or pairs of nodes, that are tried, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Targets {
    /// One node each.
    Singles(Vec<NodeIdx>),
    /// Primaries, each with the secondaries tried for it.
    Pairs(Vec<(NodeIdx, Vec<NodeIdx>)>),
}

/// Why there is no place to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTargets {
    /// Not one.
    NoOnlineNodes,
    /// Not two in one group.
    NotEnoughOnlineNodes,
    /// Instances have one node or two.
    UnsupportedNumber,
}

impl Targets {
    /// The places among `nodes` (ascending, all of them usable) for an instance
    /// that needs `required` nodes. Pairs are of one group.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx], required: i64) -> Result<Targets, NoTargets> {
        match required {
            1 if nodes.is_empty() => Err(NoTargets::NoOnlineNodes),
            1 => Ok(Targets::Singles(nodes.to_vec())),
            2 => Targets::pairs(cluster, nodes).ok_or(NoTargets::NotEnoughOnlineNodes),
            _ => Err(NoTargets::UnsupportedNumber),
        }
    }

    fn pairs(cluster: &Cluster, nodes: &[NodeIdx]) -> Option<Targets> {
        let mut members: Vec<Vec<NodeIdx>> = vec![Vec::new(); cluster.groups.len()];
        let group = |n: NodeIdx| -> GroupIdx { cluster.node(n).spec.group };
        for &node in nodes {
            members[group(node).get()].push(node);
        }
        let pairs: Vec<(NodeIdx, Vec<NodeIdx>)> = nodes
            .iter()
            .map(|&p| (p, members[group(p).get()].iter().copied().filter(|s| *s != p).collect()))
            .filter(|(_, partners): &(_, Vec<NodeIdx>)| !partners.is_empty())
            .collect();
        (!pairs.is_empty()).then_some(Targets::Pairs(pairs))
    }
}
