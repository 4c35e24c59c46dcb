//! Fate of the instances if several nodes are lost together.

use crate::why::{Nearest, RefusedPlace};
use htools_model::redundancy::global::{self, NodeObstacle, UnplacedInstance};
use htools_model::{Cluster, InstanceIdx, NodeIdx, Obstacle, Placement};

/// Consequences of losing some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// The nodes, ascending.
    pub nodes: Vec<NodeIdx>,
    /// The instances that run on other nodes afterwards.
    pub placed: Vec<InstanceIdx>,
    /// The instances that run nowhere afterwards, by index.
    pub stranded: Vec<Stranded>,
    /// The instances on other nodes that lose their secondary.
    pub unmirrored: Vec<InstanceIdx>,
}

/// An instance that runs nowhere after the loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Stranded {
    /// The instance.
    pub instance: InstanceIdx,
    /// The nodes that came closest to taking it.
    pub nearest: Nearest,
}

/// Computes the consequences of losing `nodes`. Instances stay in their group, as in the check whether each
/// single node can be emptied.
pub fn loss(cluster: &Cluster, nodes: &[NodeIdx]) -> Loss {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes.dedup();
    let mut stranded = Vec::new();
    for group in cluster.groups_with_nodes() {
        let casualties = global::casualties(cluster, cluster.nodes_of(group), &nodes);
        stranded.extend(casualties.into_iter().map(|casualty| explained(cluster, casualty)));
    }
    stranded.sort_by_key(|s: &Stranded| s.instance);
    let on_lost = nodes.iter().flat_map(|n| cluster.node(*n).state.primaries.iter().copied());
    let is_stranded = |i: &InstanceIdx| stranded.binary_search_by_key(i, |s| s.instance).is_ok();
    let mut placed: Vec<InstanceIdx> = on_lost.filter(|i| !is_stranded(i)).collect();
    placed.sort_unstable();
    let is_lost = |n: NodeIdx| nodes.binary_search(&n).is_ok();
    let unmirrored = cluster
        .instances
        .iter()
        .filter(|i| !i.forthcoming && !is_lost(i.primary) && i.mirror().is_some_and(is_lost))
        .map(|i| i.idx)
        .collect();
    Loss { nodes, placed, stranded, unmirrored }
}

fn explained(cluster: &Cluster, casualty: UnplacedInstance) -> Stranded {
    let instance = cluster.instance(casualty.instance);
    let mut nearest = Nearest::default();
    for NodeObstacle { node, ledger, obstacle } in casualty.obstacles {
        let place = match obstacle {
            // The lost node itself, with the roles swapped.
            Obstacle::Secondary(_) => {
                Placement { primary: instance.mirror().unwrap_or(node), secondary: Some(node) }
            }
            _ => Placement { primary: node, secondary: None },
        };
        nearest.push(RefusedPlace::new(cluster, instance, place, node, &ledger, obstacle));
    }
    Stranded { instance: instance.idx, nearest }
}
