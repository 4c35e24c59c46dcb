use htools_testkit::cluster;
use proptest::prelude::*;

use super::*;
use crate::rolling::safe::SafePlanner;
use crate::rolling::safe::tests::{any_cluster, any_options};

fn time(number: u8) -> UpgradeTime {
    [UpgradeTime::Done, UpgradeTime::InBatch, UpgradeTime::AtEnd, UpgradeTime::Never][usize::from(number % 4)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Versions are simulated: no instance ever migrates from a new node to an old one.
    #[test]
    fn no_migration_leads_back_to_an_old_node(
        cluster in any_cluster(),
        options in any_options(),
        numbers in prop::collection::vec(0_u8..9, 12),
    ) {
        let planner = SafePlanner::new(&cluster, &cluster.all_nodes(), &options, 0).unwrap();
        let parts = planner.plan(&[]).parts;
        // Most nodes are upgraded in their batches.
        let upgrades: Vec<UpgradeTime> =
            numbers.iter().map(|number| if *number > 3 { UpgradeTime::InBatch } else { time(*number) }).collect();
        let Ok(order) = upgrade_order(&cluster, &parts, &options, MigrateTo::Newer, &upgrades) else {
            prop_assert!(upgrades.contains(&UpgradeTime::Done));
            return Ok(());
        };
        let mut listed: Vec<usize> = order.iter().map(|one| one.part).collect();
        let planned: Vec<NodeIdx> = parts.iter().flat_map(|part| part.nodes.clone()).collect();
        let mut is_new: Vec<bool> =
            cluster.nodes.iter().map(|n| upgrades[n.spec.idx.get()] == UpgradeTime::Done).collect();
        let mut at: Vec<NodeIdx> = cluster.instances.iter().map(|i| i.primary).collect();
        let mut late = Vec::new();
        for one in &order {
            for mv in &one.moves {
                // An instance that stayed away is on a node that is not taken down any more.
                prop_assert_eq!(at[mv.instance.get()], mv.from);
                prop_assert!(!is_new[mv.from.get()] || is_new[mv.to.get()]);
                at[mv.instance.get()] = mv.to;
            }
            for node in &parts[one.part].nodes {
                // Instances that stayed away may be on a node that was upgraded before the run.
                let runs_here = |i: &&htools_model::Instance| {
                    at[i.idx.get()] == *node && i.primary == *node && i.status.is_running()
                };
                let left = cluster.instances.iter().filter(runs_here).filter(|i| i.template.is_movable());
                let tied = |i: &htools_model::Instance| options.ignore_non_redundant && i.mirror().is_none();
                prop_assert!(options.offline_maintenance || left.clone().all(tied));
                is_new[node.get()] |= upgrades[node.get()] == UpgradeTime::InBatch;
            }
            for mv in &one.moves {
                let is_legal = !is_new[mv.to.get()] || is_new[mv.from.get()];
                prop_assert_eq!(mv.returns == ReturnTime::AtOnce, is_legal);
                if is_legal { at[mv.instance.get()] = mv.from } else { late.push(*mv) }
            }
        }
        for node in cluster.all_nodes() {
            is_new[node.get()] |= upgrades[node.get()] == UpgradeTime::AtEnd;
        }
        for mv in late {
            let is_legal = !is_new[mv.to.get()] || is_new[mv.from.get()];
            prop_assert_eq!(mv.returns == ReturnTime::AtEnd, is_legal);
        }
        listed.sort_unstable();
        prop_assert_eq!(listed, (0..parts.len()).collect::<Vec<_>>());
        prop_assert_eq!(planned.len(), planner.nodes().len());
    }
}

const NODES: [&str; 3] = [
    "n0|9000|0|8000|90000|50000|9|N|u|1",
    "n1|9000|0|8000|90000|50000|9|N|u|1",
    "n2|9000|0|8000|90000|50000|9|N|u|1",
];

fn part(node: usize) -> Part {
    Part { nodes: vec![NodeIdx::new(node)], moves: Vec::new() }
}

#[test]
fn a_node_that_is_upgraded_waits_for_the_nodes_that_take_its_instances() {
    let cluster = cluster(&NODES, &["a|100|1|1|running|Y|n0|n1|drbd|"], &[]);
    let parts = [part(0), part(1)];
    let order = |upgrades: &[UpgradeTime], migrate_to| {
        let order = upgrade_order(&cluster, &parts, &RollingOptions::default(), migrate_to, upgrades)?;
        Ok(order.iter().map(|one| one.part).collect::<Vec<_>>())
    };
    use UpgradeTime::{Done, InBatch, Never};
    assert_eq!(order(&[Done, InBatch, InBatch], MigrateTo::Newer), Ok(vec![1, 0]));
    assert_eq!(order(&[Done, InBatch, InBatch], MigrateTo::Any), Ok(vec![0, 1]));
    // Its instance goes to a new node if the other one is first.
    assert_eq!(order(&[InBatch, InBatch, InBatch], MigrateTo::Newer), Ok(vec![1, 0]));
    let refused =
        NoUpgradeOrder { instance: InstanceIdx::new(0), from: NodeIdx::new(0), to: NodeIdx::new(1) };
    assert_eq!(order(&[Done, Never, InBatch], MigrateTo::Newer), Err(refused));
}

#[test]
fn instances_return_when_their_node_is_new() {
    let cluster = cluster(&NODES, &["a|100|1|1|running|Y|n0|n1|drbd|"], &[]);
    let returns = |upgrade| {
        let upgrades = [upgrade, UpgradeTime::Done];
        let order =
            upgrade_order(&cluster, &[part(0)], &RollingOptions::default(), MigrateTo::Newer, &upgrades);
        order.unwrap()[0].moves[0].returns
    };
    assert_eq!(returns(UpgradeTime::InBatch), ReturnTime::AtOnce);
    assert_eq!(returns(UpgradeTime::AtEnd), ReturnTime::AtEnd);
    assert_eq!(returns(UpgradeTime::Never), ReturnTime::Never);
}
