//! Targets of moves that are expected to be overloaded soon.

use htools_model::{Cluster, InstanceIdx, NodeFigure, NodeIdx};

/// Processor load that is expected of each instance at the coming times, in the unit of the instances' load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadOutlook(Vec<Vec<f64>>);

impl LoadOutlook {
    /// The loads of the instances, in their order in the cluster. An instance with fewer times has no load at the others.
    pub fn new(instances: Vec<Vec<f64>>) -> LoadOutlook {
        LoadOutlook(instances)
    }

    /// Instances of the nodes `from`, each with the online nodes whose processors would be above their limit at some time
    /// if it moved there, in order. Each move is looked at by itself.
    pub fn closed(&self, cluster: &Cluster, from: &[NodeIdx]) -> Vec<(InstanceIdx, NodeIdx)> {
        let sums: Vec<Vec<f64>> = cluster.nodes.iter().map(|node| self.sum(&node.state.primaries)).collect();
        let mut closed = Vec::new();
        for instance in from.iter().flat_map(|node| cluster.node(*node).state.primaries.iter().copied()) {
            let own = self.of(instance);
            let is_full = |node: NodeIdx| {
                let spec = &cluster.node(node).spec;
                let limits = spec.limits.each().filter(|(figure, _)| *figure == NodeFigure::Cpu);
                let most = limits.map(|(_, percent)| percent / 100.0 * spec.cpu_load_full).next();
                let mut sums = sums[node.get()].iter().zip(own);
                most.is_some_and(|most| sums.any(|(sum, own)| sum + own > most))
            };
            let here = cluster.instance(instance).primary;
            let targets = cluster.nodes.iter().filter(|node| !node.spec.offline && node.spec.idx != here);
            let full = targets.map(|node| node.spec.idx).filter(|node| is_full(*node));
            closed.extend(full.map(|node| (instance, node)));
        }
        closed.sort_unstable();
        closed
    }

    fn of(&self, instance: InstanceIdx) -> &[f64] {
        self.0.get(instance.get()).map_or(&[], Vec::as_slice)
    }

    /// The load of several instances together, at all times.
    fn sum(&self, instances: &[InstanceIdx]) -> Vec<f64> {
        let times = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let mut sums = vec![0.0; times];
        for instance in instances {
            for (sum, load) in sums.iter_mut().zip(self.of(*instance)) {
                *sum += load;
            }
        }
        sums
    }
}
