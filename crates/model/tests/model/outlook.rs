//! Verdicts on emptying nodes, with and without looking ahead.

use htools_model::NodeIdx;
use htools_model::redundancy::global::{Departures, casualties, evacuates};
use htools_testkit::cluster;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without looking ahead, every instance is placed to the end.
    #[test]
    fn looking_ahead_changes_no_verdict(
        leaving in prop::collection::vec((1i64..9, prop::bool::weighted(0.1)), 1..7),
        others in prop::collection::vec((1i64..5, 0i64..14), 1..5),
        drbd in prop::bool::weighted(0.2),
    ) {
        let mut nodes = vec!["n0|9000|0|9000|90000|90000|9|N|u|1".to_string()];
        let mut instances: Vec<String> = Vec::new();
        for (at, (size, stopped)) in leaving.into_iter().enumerate() {
            let state = if stopped { "ADMIN_down" } else { "running" };
            let (to, template) = if drbd && at == 0 { ("n1", "drbd") } else { ("", "ext") };
            instances.push(format!("i{at}|{}|10|1|{state}|Y|n0|{to}|{template}||1", size * 100));
        }
        for (at, (cpus, free)) in others.into_iter().enumerate() {
            let (node, free) = (format!("n{}", at + 1), free * 100);
            nodes.push(format!("{node}|2000|0|{free}|90000|90000|{cpus}|N|u|1"));
            instances.push(format!("o{at}|{}|10|1|running|Y|{node}||ext||1", 2000 - free));
        }
        let refs = |rows: &'_ [String]| rows.iter().map(|row| row.clone().leak() as &str).collect::<Vec<_>>();
        let cluster = cluster(&refs(&nodes), &refs(&instances), &[]);
        let all = cluster.all_nodes();
        for node in (0..nodes.len()).map(NodeIdx::new) {
            let found = evacuates(&cluster, &all, node, Departures::BySize);
            prop_assert_eq!(found, casualties(&cluster, &all, &[node]).is_empty());
        }
    }
}
