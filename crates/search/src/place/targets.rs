//! The places to try for an instance.

use htools_model::{Cluster, NodeIdx};

/// The nodes, or pairs of nodes, to try, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Targets {
    /// One node each, ascending.
    Singles(Vec<NodeIdx>),
    /// Pairs of these nodes (ascending) in the same group: primaries in order, each with its secondaries in
    /// order. Every node has a partner.
    Pairs(Vec<NodeIdx>),
    /// A given primary node, and the secondaries to try with it.
    Partners(NodeIdx, Vec<NodeIdx>),
}

/// The reason why there is no place to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTargets {
    /// There is no online node.
    NoOnlineNodes,
    /// No group has two online nodes.
    NotEnoughOnlineNodes,
    /// Instances need one node or two.
    UnsupportedNumber,
}

impl Targets {
    /// The places among `nodes` (ascending, all usable) for an instance that needs `required` nodes. Both nodes
    /// of a pair are in one group.
    ///
    /// # Errors
    /// The reason if there is no place.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx], required: i64) -> Result<Targets, NoTargets> {
        match required {
            1 if nodes.is_empty() => Err(NoTargets::NoOnlineNodes),
            1 => Ok(Targets::Singles(nodes.to_vec())),
            2 => Targets::pairs(cluster, nodes).ok_or(NoTargets::NotEnoughOnlineNodes),
            _ => Err(NoTargets::UnsupportedNumber),
        }
    }

    fn pairs(cluster: &Cluster, nodes: &[NodeIdx]) -> Option<Targets> {
        let mut members = vec![0; cluster.groups.len()];
        let group = |n: &NodeIdx| cluster.node(*n).spec.group.get();
        nodes.iter().for_each(|n| members[group(n)] += 1);
        let with_partner: Vec<NodeIdx> = nodes.iter().copied().filter(|n| members[group(n)] > 1).collect();
        (!with_partner.is_empty()).then_some(Targets::Pairs(with_partner))
    }

    /// The secondaries to try with a primary, ascending.
    pub fn partners<'a>(
        &'a self,
        cluster: &'a Cluster,
        primary: NodeIdx,
    ) -> impl Iterator<Item = NodeIdx> + 'a {
        let group = cluster.node(primary).spec.group;
        let (nodes, any_group): (&[NodeIdx], bool) = match self {
            Targets::Singles(_) => (&[], false),
            Targets::Pairs(nodes) => (nodes, false),
            Targets::Partners(_, nodes) => (nodes, true),
        };
        nodes
            .iter()
            .copied()
            .filter(move |n| *n != primary && (any_group || cluster.node(*n).spec.group == group))
    }

    /// The primaries to try, ascending.
    pub fn primaries(&self) -> &[NodeIdx] {
        match self {
            Targets::Singles(nodes) | Targets::Pairs(nodes) => nodes,
            Targets::Partners(primary, _) => std::slice::from_ref(primary),
        }
    }
}
