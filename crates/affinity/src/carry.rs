//! Balancing of a Ganeti cluster with customers' keys and sticky keys.

use std::collections::HashSet;

use super::ganeti::ClusterKeys;
use super::keys::{CompiledKey, KeyLevel, KeyOwner, NodeKey};
use htools_model::{AffinityKey, CarriedKey, Cluster, Instance, KeyScope, KeysTooHeavy};

/// Makes every running instance carry its customer's keys and its copies of its node's sticky keys. They then count in
/// the score, beside the nodes' keys that they are compared with.
///
/// # Errors
/// If their sums could be too large.
pub fn carry_keys(cluster: &mut Cluster) -> Result<(), KeysTooHeavy> {
    let keys = ClusterKeys::of(cluster);
    let runs = |instance: &&Instance| instance.status.uses_memory() && !instance.forthcoming;
    let carried = |instance: &Instance| {
        let home = &cluster.node(instance.primary).spec;
        let compiled = keys.compiled(home, &instance.tags, false);
        let copies = compiled.system.into_iter().filter(|key| is_copy(key, keys.of_node(home.idx)));
        let copies = copies.map(|key| carry(key, KeyScope::Copy));
        copies.chain(compiled.customer.into_iter().map(|key| carry(key, KeyScope::Shared))).collect()
    };
    let instances: Vec<(_, Vec<CarriedKey>)> =
        cluster.instances.iter().filter(runs).map(|instance| (instance.idx, carried(instance))).collect();
    let all = instances.iter().flat_map(|(_, keys)| keys);
    let copied: HashSet<&str> =
        all.filter(|one| one.scope == KeyScope::Copy).map(|one| one.key.name.as_str()).collect();
    let own = |node| {
        let compared = |key: &NodeKey| {
            let scope = if key.name.starts_with('_') { KeyScope::Shared } else { KeyScope::Node };
            let is_met = scope == KeyScope::Shared || copied.contains(key.name.as_str());
            let key = AffinityKey { name: key.name.clone(), value: key.value, weight: 0.0 };
            is_met.then_some(CarriedKey { key, scope })
        };
        keys.of_node(node).iter().filter_map(compared).collect()
    };
    let nodes: Vec<_> = cluster.all_nodes().into_iter().map(|node| (node, own(node))).collect();
    cluster.carry_keys(&instances, &nodes)
}

/// Tells if a key ties an instance to a node with these keys: a copy of a sticky key, or the instance's own key that
/// replaces the copy.
fn is_copy(key: &CompiledKey, home: &[NodeKey]) -> bool {
    let is_there = key.level == KeyLevel::Server && key.owner == KeyOwner::System;
    is_there && home.iter().any(|node_key| node_key.sticky.is_some() && node_key.name == key.name)
}

fn carry(key: CompiledKey, scope: KeyScope) -> CarriedKey {
    CarriedKey { key: AffinityKey { name: key.name, value: key.value, weight: key.weight }, scope }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_testkit::cluster;

    #[test]
    fn those_that_run_carry_what_counts() {
        let mut cluster = cluster(
            &["a|9000|0|9000|9000|9000|9|N|u|1|htools:key:_ssd:1,htools:key:ds:1"],
            &[
                "i|1|0|1|running|Y|a||ext|htools:key:customer:shop:1:-4,htools:key:system:ds:1:50",
                "j|1|0|1|running|Y|a||ext|htools:key:customer:_ssd:1:3,htools:key:customer:bad:1",
                "k|1|0|1|ADMIN_down|Y|a||ext|htools:key:customer:shop:1:-4",
            ],
            &["htools:key:customer:shop:1:-1"],
        );
        carry_keys(&mut cluster).unwrap();
        let count = |at: usize| cluster.instances[at].keys.keys().len();
        assert_eq!([count(0), count(1), count(2)], [1, 2, 0]);
        // i repels j by 4, and j repels i by 1; j is on the node that it prefers.
        assert_eq!(cluster.nodes[0].state.ledger.key_cost, 5_000_000 - 3_000_000);
    }

    #[test]
    fn copies_hold_instances_to_their_nodes() {
        let node = |name: &str, keys: &str| format!("{name}|9000|0|9000|9000|9000|9|N|u|1|{keys}");
        let mut cluster = cluster(
            &[
                &node("a", "htools:key:sticky:ds:1:8,htools:key:sticky:pool:1:5"),
                &node("b", "htools:key:ds:1.25,htools:key:pool:2"),
            ],
            &[
                "i|1|0|1|running|Y|a||ext|",
                "j|1|0|1|running|Y|a||ext|htools:key:system:ds:2:4",
                "k|1|0|1|running|Y|b||ext|htools:key:system:ds:1:50",
            ],
            &["htools:key:system:pool:2:-100"],
        );
        carry_keys(&mut cluster).unwrap();
        let costs = [0, 1].map(|node: usize| cluster.nodes[node].state.ledger.key_cost);
        // i has both copies; j has one, and a key of its own in place of the other; k's key is not a copy.
        assert_eq!(costs, [-(8 + 5 + 5) * 1_000_000, 0]);
        let on_b = |at: usize| cluster.instances[at].keys.cost(&cluster.nodes[1].state.key_count);
        assert_eq!([on_b(0), on_b(1), on_b(2)], [-6_000_000, -1_000_000, 0]);
    }
}
