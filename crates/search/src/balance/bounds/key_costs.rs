//! Costs of an instance's affinity keys on the nodes to which it could go.

use foldhash::HashMap;

use super::online_nodes::COUNT_ERROR;
use htools_model::{CarriedKeys, Cluster, Instance, InstanceIdx, KeyIdx, NodeIdx, WORTH_PARTS};

/// The least that each instance's affinity keys cost on any node, kept from step to step.
#[derive(Default)]
pub(super) struct KeyCosts {
    /// By position, in [`WORTH_PARTS`].
    least: Vec<i64>,
    /// For each key, the positions of the instances that carry it.
    carriers: HashMap<KeyIdx, Vec<u32>>,
    /// For each key, the rows of the nodes where it counts, ascending, and how often.
    counts: HashMap<KeyIdx, Vec<(u32, i64)>>,
}

impl KeyCosts {
    /// Computes the costs of all instances.
    pub(super) fn of(cluster: &Cluster, instances: &[InstanceIdx], nodes: &[NodeIdx]) -> KeyCosts {
        let mut costs = KeyCosts { least: vec![0; instances.len()], ..KeyCosts::default() };
        for (row, node) in (0..).zip(nodes) {
            for (key, count) in cluster.node(*node).state.key_count.iter() {
                costs.counts.entry(key).or_default().push((row, count));
            }
        }
        for (position, instance) in (0..).zip(instances) {
            for key in cluster.instance(*instance).keys.keys() {
                costs.carriers.entry(*key).or_default().push(position);
            }
        }
        let all: Vec<u32> = (0..instances.len() as u32).collect();
        costs.measure(cluster, instances, nodes, &all);
        costs
    }

    /// The least that the keys of the instance cost on any node, in [`WORTH_PARTS`].
    pub(super) fn least(&self, position: u32) -> i64 {
        self.least[position as usize]
    }

    /// Follows an instance from a primary node to another one. Returns the positions of the instances whose costs
    /// may change.
    pub(super) fn follow(
        &mut self,
        cluster: &Cluster,
        instances: &[InstanceIdx],
        nodes: &[NodeIdx],
        moved: &Instance,
        from: Option<NodeIdx>,
    ) -> Vec<u32> {
        for node in from.into_iter().chain([moved.primary]) {
            let Ok(row) = nodes.binary_search(&node) else { continue };
            let there = &cluster.node(node).state.key_count;
            moved.keys.keys().iter().for_each(|key| self.set(*key, row as u32, there.get(*key)));
        }
        let mut near: Vec<u32> =
            moved.keys.near().filter_map(|key| self.carriers.get(&key)).flatten().copied().collect();
        near.sort_unstable();
        near.dedup();
        self.measure(cluster, instances, nodes, &near);
        near
    }

    /// Stores the count of a key on a node.
    fn set(&mut self, key: KeyIdx, row: u32, count: i64) {
        let rows = self.counts.entry(key).or_default();
        match rows.binary_search_by_key(&row, |entry| entry.0) {
            Ok(at) if count == 0 => drop(rows.remove(at)),
            Ok(at) => rows[at].1 = count,
            Err(_) if count == 0 => {}
            Err(at) => rows.insert(at, (row, count)),
        }
    }

    /// By row, the cost of keys beside those on the node. Few nodes have keys that matter to an instance.
    fn by_row(&self, keys: &CarriedKeys, rows: usize) -> Vec<i64> {
        let mut costs = vec![0; rows];
        for (other, cost) in keys.near_costs() {
            for (row, count) in self.counts.get(&other).into_iter().flatten() {
                costs[*row as usize] += cost * count;
            }
        }
        costs
    }

    fn measure(
        &mut self,
        cluster: &Cluster,
        instances: &[InstanceIdx],
        nodes: &[NodeIdx],
        positions: &[u32],
    ) {
        // Many instances carry the same keys.
        let mut known: HashMap<&[KeyIdx], [(i64, Option<NodeIdx>); 2]> = HashMap::default();
        for position in positions {
            let instance = cluster.instance(instances[*position as usize]);
            let (keys, primary) = (&instance.keys, instance.primary);
            if keys.is_empty() {
                continue;
            }
            let [first, second] = *known
                .entry(keys.keys())
                .or_insert_with(|| two_least(&self.by_row(keys, nodes.len()), nodes));
            // On its own node the instance meets itself, but it cannot move there.
            let (least, _) = if first.1 == Some(primary) { second } else { first };
            self.least[*position as usize] = least;
        }
    }

    /// By row, the additional cost of the instance's keys compared with the cheapest node, as part of the
    /// score, rounded down.
    pub(super) fn extras(
        &self,
        cluster: &Cluster,
        nodes: &[NodeIdx],
        position: u32,
        instance: &Instance,
    ) -> Vec<f64> {
        let part = |cost: i64| cluster.weights.affinity() * (cost as f64 / WORTH_PARTS);
        let least = part(self.least(position));
        let extra = |cost: f64| cost - least - COUNT_ERROR * (cost.abs() + least.abs());
        let costs = self.by_row(&instance.keys, nodes.len());
        costs.into_iter().map(|cost| extra(part(cost))).collect()
    }
}

/// The two nodes on which the keys cost least, with the costs; a missing node has cost 0.
fn two_least(costs: &[i64], nodes: &[NodeIdx]) -> [(i64, Option<NodeIdx>); 2] {
    let mut least = [(i64::MAX, None); 2];
    for (node, cost) in nodes.iter().zip(costs) {
        if *cost < least[0].0 {
            least = [(*cost, Some(*node)), least[0]];
        } else if *cost < least[1].0 {
            least[1] = (*cost, Some(*node));
        }
    }
    least.map(|(cost, node)| (node.map_or(0, |_| cost), node))
}
