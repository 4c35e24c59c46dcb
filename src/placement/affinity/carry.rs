//! Balancing a Ganeti cluster by its customers' keys.

use super::ganeti::ClusterKeys;
use crate::model::{AffinityKey, Cluster, Instance, KeysTooHeavy};

/// Lets every instance that runs carry its customer's keys, so that they count in the score, beside the keys of nodes that
/// customers may name.
///
/// # Errors
/// Their sums could be too large.
pub fn carry_keys(cluster: &mut Cluster) -> Result<(), KeysTooHeavy> {
    let keys = ClusterKeys::of(cluster);
    let runs = |instance: &&Instance| instance.status.uses_memory() && !instance.forthcoming;
    let carried = |instance: &Instance| {
        let group = cluster.node(instance.primary).spec.group;
        let keys = keys.compiled(group, &instance.tags, false).customer.into_iter();
        keys.map(|key| AffinityKey { name: key.name, value: key.value, weight: key.weight }).collect()
    };
    let instances: Vec<_> =
        cluster.instances.iter().filter(runs).map(|instance| (instance.idx, carried(instance))).collect();
    let own = |node| {
        let reserved = keys.reserved(node);
        reserved.map(|key| AffinityKey { name: key.name.clone(), value: key.value, weight: 0.0 }).collect()
    };
    let nodes: Vec<_> = cluster.all_nodes().into_iter().map(|node| (node, own(node))).collect();
    cluster.carry_keys(&instances, &nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

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
        // i dislikes j by 4, and j it by 1; j is on the node that it wishes
        assert_eq!(cluster.nodes[0].state.ledger.key_cost, 5_000_000 - 3_000_000);
    }
}
