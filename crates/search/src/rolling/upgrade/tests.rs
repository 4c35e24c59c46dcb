use htools_testkit::cluster;
use proptest::prelude::*;

use super::*;
use crate::rolling::safe::SafePlanner;
use crate::rolling::safe::tests::{any_cluster, any_options};
use htools_plan::maintenance::MigrateTo;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each next part has the fewest migrations to old nodes, counted anew.
    #[test]
    fn few_instances_go_to_old_nodes(
        cluster in any_cluster(),
        options in any_options(),
        new in prop::collection::vec(prop::bool::weighted(0.2), 8),
    ) {
        let new = &new[..cluster.nodes.len()];
        let parts = SafePlanner::new(&cluster, &cluster.all_nodes(), &options, 0).unwrap().plan(&[]).parts;
        let order = in_upgrade_order(&cluster, parts.clone(), &options, new);
        let mut open: Vec<&Part> = parts.iter().collect();
        let mut is_new = new.to_vec();
        for part in &order {
            let at = open.iter().position(|other| *other == part).unwrap();
            let has_master = |part: &Part| part.nodes.iter().any(|node| cluster.node(*node).spec.master);
            let to_old =
                |part: &Part| targets(&cluster, part, &options).filter(|to| !is_new[to.get()]).count();
            let count = |part: &Part| (has_master(part), to_old(part));
            prop_assert!(open.iter().all(|other| count(part) <= count(other)));
            part.nodes.iter().for_each(|node| is_new[node.get()] = true);
            open.remove(at);
        }
        prop_assert!(open.is_empty());
    }
}

const NODES: [&str; 4] = [
    "n0|9000|0|8000|90000|50000|9|N|u|1",
    "n1|9000|0|8000|90000|50000|9|N|u|1",
    "n2|9000|0|8000|90000|50000|9|N|u|1",
    "n3|9000|0|5000|90000|50000|9|N|u|1",
];

#[test]
fn a_node_waits_for_the_nodes_that_take_its_instances() {
    let cluster = cluster(&NODES, &["a|100|1|1|running|Y|n0|n1|drbd|"], &[]);
    let part = |node| Part { nodes: vec![NodeIdx::new(node)], moves: Vec::new() };
    let order = |is_new: &[bool]| {
        let parts = in_upgrade_order(&cluster, vec![part(0), part(1)], &RollingOptions::default(), is_new);
        parts.iter().map(|part| part.nodes[0].get()).collect::<Vec<_>>()
    };
    assert_eq!(order(&[]), [1, 0]);
    assert_eq!(order(&[false, true]), [0, 1]);
}

#[test]
fn instances_on_shared_storage_go_to_new_nodes_first() {
    let cluster = cluster(&NODES, &["a|100|1|1|running|Y|n0||ext|"], &[]);
    let target = |upgrade| {
        let options = RollingOptions {
            keeps_redundancy: true,
            migrate_shared: true,
            upgrade,
            ..RollingOptions::default()
        };
        let planner = SafePlanner::new(&cluster, &[NodeIdx::new(0)], &options, 0).unwrap();
        planner.with_upgraded([NodeIdx::new(3)]).plan(&[]).parts[0].moves[0].to.primary.get()
    };
    assert_eq!(target(Some(MigrateTo::Newer)), 3);
    assert_eq!(target(Some(MigrateTo::Any)), 1);
    assert_eq!(target(None), 1);
}
