//! The rules that any safe plan must obey, as far as they are known without a search.

use std::collections::BTreeMap;

use htools_model::outage::{OutageRules, Takeover, TakeoverLoad};
use htools_model::{Cluster, Instance, Mib, Node, NodeIdx, TagId};

use crate::rolling::RollingOptions;
use crate::rolling::graph::ConflictGraph;

/// The rules among these nodes, which are in ascending order. `most` is the largest size of a batch.
///
/// Without [`keeps_redundancy`](RollingOptions::keeps_redundancy), the pairs are those of the conflict graph.
pub(super) fn of(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &RollingOptions,
    most: Option<usize>,
) -> OutageRules {
    if !options.keeps_redundancy {
        let graph = ConflictGraph::of(cluster, nodes, options);
        let pairs = (0..graph.len()).flat_map(|a| graph.distinct(a).iter().map(move |(b, _)| [a, *b]));
        return OutageRules::new(nodes.len(), pairs, Vec::new(), most);
    }
    let mut vertex_of = vec![None; cluster.nodes.len()];
    for (vertex, node) in nodes.iter().enumerate() {
        vertex_of[node.get()] = Some(vertex);
    }
    let arrivals = Arrivals { cluster, options, vertex_of };
    let mut pairs = arrivals.both_nodes();
    let online = || cluster.nodes.iter().filter(|node| !node.spec.offline);
    online().for_each(|node| arrivals.same_tags(node, &mut pairs));
    let takeovers =
        online().map(|node| arrivals.takeover(node)).filter(|takeover| !takeover.loads.is_empty());
    OutageRules::new(nodes.len(), pairs, takeovers.collect(), most)
}

/// The instances that fail over.
struct Arrivals<'a> {
    cluster: &'a Cluster,
    options: &'a RollingOptions,
    /// The number of each node of the maintenance.
    vertex_of: Vec<Option<usize>>,
}

impl Arrivals<'_> {
    /// The pairs of nodes that hold both copies of an instance that is in the way.
    fn both_nodes(&self) -> Vec<[usize; 2]> {
        let pair = |instance: &Instance| {
            let of = |node: NodeIdx| self.vertex_of[node.get()];
            let in_the_way = !self.options.is_stopped_and_ignored(instance);
            instance
                .mirror()
                .filter(|_| in_the_way)
                .and_then(|mirror| Some([of(instance.primary)?, of(mirror)?]))
        };
        self.cluster.instances.iter().filter_map(pair).collect()
    }

    /// The instances that fail over to a node, with the numbers of their nodes.
    fn to<'s>(&'s self, node: &'s Node) -> impl Iterator<Item = (usize, &'s Instance)> + 's {
        node.state.secondaries.iter().filter_map(|idx| {
            let instance = self.cluster.instance(*idx);
            let vertex = self.vertex_of[instance.primary.get()]?;
            let arrives = instance.mirror() == Some(node.spec.idx)
                && instance.primary != node.spec.idx
                && self.options.must_fail_over(instance);
            arrives.then_some((vertex, instance))
        })
    }

    /// Adds the pairs of nodes whose instances have an exclusion tag in common and fail over to the same node.
    fn same_tags(&self, node: &Node, pairs: &mut Vec<[usize; 2]>) {
        let mut carriers: BTreeMap<TagId, Vec<usize>> = BTreeMap::new();
        for (vertex, instance) in self.to(node) {
            for tag in instance.exclusion_tags.iter() {
                let known = carriers.entry(*tag).or_default();
                pairs.extend(known.iter().map(|other| [*other, vertex]));
                known.push(vertex);
            }
        }
    }

    /// Instances that fail over to a node, and the room for them.
    fn takeover(&self, node: &Node) -> Takeover {
        let state = &node.state;
        let is_safe = !state.ledger.n1_fail;
        let mut loads: BTreeMap<usize, TakeoverLoad> = BTreeMap::new();
        for (from, instance) in self.to(node) {
            let kept = if is_safe { state.peers.get(instance.primary) } else { Mib::ZERO };
            let new = TakeoverLoad { from, load: Mib::ZERO, kept, left: kept };
            let load = loads.entry(from).or_insert(new);
            load.load += instance.mem_in_use();
            load.left = if is_safe { load.left - instance.mem_reserved() } else { Mib::ZERO };
        }
        let is_other =
            |peer: NodeIdx| self.vertex_of[peer.get()].is_none_or(|from| !loads.contains_key(&from));
        let others =
            state.peers.iter().filter(|(peer, _)| is_safe && is_other(*peer)).map(|(_, amount)| amount);
        Takeover {
            node: node.spec.idx,
            room: state.ledger.mem_unallocated(&node.spec),
            others: others.max().unwrap_or(Mib::ZERO),
            loads: loads.into_values().collect(),
        }
    }
}
