use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::{BalanceOptions, Deadline, Stopped};
use htools_testkit::cluster;

fn group_health(cluster: &Cluster) -> GroupHealth {
    GroupHealth::of(cluster, GroupIdx::new(0), true)
}

#[test]
fn instances_with_an_offline_node_are_counted_not_nodes() {
    let cluster = cluster(
        &["a|4000|0|2000|9000|7000|9|M|u", "b|4000|0|4000|9000|7000|9|Y|u", "c|4000|0|4000|9000|9000|9|Y|u"],
        &[
            "one|1000|1000|1|running|Y|a|b|drbd|",
            "two|1000|1000|1|running|Y|a|b|drbd|",
            "three|0|1000|1|ADMIN_down|Y|b||plain|",
        ],
        &[],
    );
    let counts = group_health(&cluster).counts();
    assert_eq!((counts.offline_primary, counts.offline_secondary), (1, 2));
    assert!(counts.any());
}

#[test]
fn conflicts_are_named() {
    let cluster = cluster(
        &["a|9000|0|6000|9000|6000|9|M|u", "b|9000|0|9000|9000|6000|9|N|u"],
        &[
            "one|1000|1000|1|running|Y|a|b|drbd|s:x,s:y",
            "two|1000|1000|1|running|Y|a|b|drbd|s:x",
            "three|1000|1000|1|running|Y|a|b|drbd|s:z",
        ],
        &["htools:iextags:s:"],
    );
    let health = group_health(&cluster);
    let [conflict] = &health.conflicts[..] else { panic!("{:?}", health.conflicts) };
    assert_eq!(cluster.tag_table.name(conflict.tag), "s:x");
    assert_eq!(conflict.instances, [InstanceIdx::new(0), InstanceIdx::new(1)]);
    // Balancing separates them, and the cluster itself is unchanged.
    let by_steps = TrialBalance { options: BalanceOptions::default(), deep: false, effort: None };
    let after = rebalance(&cluster, &[health.group], &by_steps, true, &Deadline::never());
    assert!(!after[0].steps.is_empty() && after[0].health.conflicting.is_empty());
    assert_eq!(after[0].stopped, None);
    let deep = TrialBalance { deep: true, effort: Some(2000), ..by_steps };
    let after = rebalance(&cluster, &[health.group], &deep, true, &Deadline::never());
    assert!(!after[0].steps.is_empty() && after[0].health.conflicting.is_empty());
    // Without time, nothing changes.
    let over = Deadline::new(Some(Duration::ZERO), Arc::default());
    let after = rebalance(&cluster, &[health.group], &by_steps, true, &over);
    assert_eq!((after[0].steps.len(), after[0].stopped), (0, Some(Stopped::TimeLimit)));
    assert_eq!(after[0].health, health);
    assert_eq!(group_health(&cluster), health);
}

#[test]
fn losses_are_explained() {
    let cluster = cluster(
        &["a|4000|0|1000|9000|6000|9|M|u", "b|4000|0|2500|9000|7000|9|N|u", "c|4000|0|4000|9000|9000|9|Y|u"],
        &[
            "drbd|1000|1000|1|running|Y|a|b|drbd|",
            "ext|2000|0|1|running|Y|a||ext|",
            "other|1500|1000|1|running|Y|b|a|drbd|",
        ],
        &[],
    );
    let [a, b, c] = [0, 1, 2].map(NodeIdx::new);
    let lost = loss(&cluster, &[a]);
    assert_eq!((lost.placed, lost.unmirrored), (vec![InstanceIdx::new(0)], vec![InstanceIdx::new(2)]));
    let [stranded] = &lost.stranded[..] else { panic!("{:?}", lost.stranded) };
    assert_eq!((stranded.instance, stranded.nearest.refused), (InstanceIdx::new(1), 1));
    let amount = Shortfall::Amount { resource: "memory", unit: "MiB", needed: 2000, available: 1499 };
    assert_eq!(stranded.nearest.kept[0].shortfall, Some(amount));

    let both = loss(&cluster, &[b, a, b]);
    assert_eq!(both.nodes, [a, b]);
    let obstacles: Vec<_> =
        both.stranded.iter().map(|s| s.nearest.kept.first().map(|h| h.obstacle)).collect();
    // No node is left that could take the instance on shared storage.
    assert_eq!(obstacles, [Some(Obstacle::Lost), None, Some(Obstacle::Lost)]);
    assert!(loss(&cluster, &[c]).stranded.is_empty());
}

#[test]
fn a_node_is_at_risk_if_its_loss_strands_instances() {
    for free in [1499, 1500, 1501, 4000] {
        let used = 4000 - free;
        let cluster = cluster(
            &["a|4000|0|2500|9000|8000|9|M|u", &format!("b|4000|0|{free}|9000|8000|9|N|u")],
            &["one|1500|1000|1|running|Y|a|b|drbd|", &format!("own|{used}|0|1|running|Y|b||ext|")],
            &[],
        );
        let stranded = |node| !loss(&cluster, &[node]).stranded.is_empty();
        let at_risk: Vec<_> = cluster.all_nodes().into_iter().filter(|n| stranded(*n)).collect();
        assert_eq!(group_health(&cluster).at_risk, Some(at_risk));
    }
}

use super::loss::loss;
use crate::why::Shortfall;
use htools_model::Obstacle;
