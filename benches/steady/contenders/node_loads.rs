//! Present and expected loads of all nodes.

use htools::model::{Cluster, InstanceIdx, NodeIdx};

use super::{Outlook, Relocation};
use crate::measured::Measured;
use crate::slot::Slot;
use crate::week::{CORES, MEMORY};

/// Loads of the nodes as shares of their cores and memory.
pub struct NodeLoads {
    /// Loads of each instance: the present one, then those of the coming slots.
    instances: Vec<Vec<f64>>,
    /// Memory of each instance.
    memory: Vec<f64>,
    /// Sums of the loads of each node's instances.
    nodes: Vec<Vec<f64>>,
    /// Memory of each node that is in use.
    used: Vec<f64>,
}

impl NodeLoads {
    /// The loads now, and those that are expected.
    pub fn of(cluster: &Cluster, measured: &Measured<'_>, outlook: Outlook, now: Slot) -> NodeLoads {
        let present = measured.loads(1, |values| values.iter().sum());
        let loads = |(instance, present): (usize, f64)| -> Vec<f64> {
            let coming = outlook.coming(measured, InstanceIdx::new(instance), present, now);
            std::iter::once(present).chain(coming).map(|cores| cores / CORES).collect()
        };
        let mut all = NodeLoads {
            instances: present.into_iter().enumerate().map(loads).collect(),
            memory: cluster.instances.iter().map(|i| i.mem.as_f64() / MEMORY.as_f64()).collect(),
            nodes: vec![vec![0.0; outlook.width()]; cluster.nodes.len()],
            used: vec![0.0; cluster.nodes.len()],
        };
        for instance in &cluster.instances {
            all.add(instance.idx, instance.primary, 1.0);
        }
        all
    }

    /// Adds the loads of an instance to a node (sign 1), or subtracts them (-1).
    fn add(&mut self, instance: InstanceIdx, node: NodeIdx, sign: f64) {
        for (sum, load) in self.nodes[node.get()].iter_mut().zip(&self.instances[instance.get()]) {
            *sum += sign * load;
        }
        self.used[node.get()] += sign * self.memory[instance.get()];
    }

    /// Moves an instance.
    pub fn shift(&mut self, from: NodeIdx, relocation: Relocation) {
        self.add(relocation.instance, from, -1.0);
        self.add(relocation.instance, relocation.to, 1.0);
    }

    /// Present load of a node.
    pub fn present(&self, node: NodeIdx) -> f64 {
        self.nodes[node.get()][0]
    }

    /// Memory of a node in use.
    pub fn used(&self, node: NodeIdx) -> f64 {
        self.used[node.get()]
    }

    /// Memory of an instance.
    pub fn memory(&self, instance: InstanceIdx) -> f64 {
        self.memory[instance.get()]
    }

    /// Present load of an instance.
    pub fn of_instance(&self, instance: InstanceIdx) -> f64 {
        self.instances[instance.get()][0]
    }

    /// Largest load of a node, present or expected.
    pub fn peak(&self, node: NodeIdx) -> f64 {
        self.nodes[node.get()].iter().copied().fold(0.0, f64::max)
    }

    /// The same with an instance more (sign 1) or less (-1).
    pub fn peak_with(&self, node: NodeIdx, instance: InstanceIdx, sign: f64) -> f64 {
        let both = self.nodes[node.get()].iter().zip(&self.instances[instance.get()]);
        both.map(|(sum, load)| sum + sign * load).fold(0.0, f64::max)
    }
}
