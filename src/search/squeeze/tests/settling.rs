//! Nodes do not go down and up in turns.

use proptest::prelude::*;

use super::*;
use crate::load::merge::{MergeOptions, finish, merge};
use crate::load::raw::{RawCluster, RawInstance};
use crate::load::text;
use crate::model::Mib;
use crate::model::units::trunc_to_i64;
use crate::report::text::whole_cluster_text;
use crate::testing::cluster;

/// A cluster as a source would give it. Saved states keep the free memory that nodes had
/// at first; a source measures it.
fn raw(cluster: &Cluster) -> RawCluster {
    let text = whole_cluster_text(cluster);
    let mut raw = text::parse(&text, "saved").expect("a valid text");
    for (node, there) in raw.nodes.iter_mut().zip(&cluster.nodes) {
        let used = there.spec.mem_node + there.spec.mem_unaccounted + there.state.ledger.mem_instances;
        node.mem_free = Mib(trunc_to_i64(there.spec.mem_total)) - used;
    }
    raw
}

fn read(raw: RawCluster) -> Cluster {
    let mut cluster = merge(raw, &MergeOptions::default()).expect("no selection");
    finish(&mut cluster, Mib::ZERO);
    cluster
}

/// A cluster as it is read after a plan was carried out.
fn carried_out(found: &Squeeze) -> Cluster {
    read(raw(&found.after))
}

/// The nodes that one run switched and the next one switches back.
fn switched_back(first: &GroupPlan, second: &GroupPlan) -> Vec<NodeIdx> {
    let opposite = first.decision != second.decision;
    first.nodes.iter().copied().filter(|n| opposite && second.nodes.contains(n)).collect()
}

/// Equal nodes with small instances on shared storage, so that memory decides and no
/// instance is hard to place; some nodes are standby nodes.
fn even_cluster() -> impl Strategy<Value = (Cluster, SqueezeOptions)> {
    let instances = prop::collection::vec((any::<u8>(), 1i64..4), 0..60);
    (3usize..8, 0usize..4, instances, 1.0f64..4.0, 1.0f64..4.0).prop_map(
        |(online, standby, instances, minimal, more)| {
            let mut free = vec![4000; online + standby];
            let mut rows = Vec::new();
            for (at, (node, size)) in instances.into_iter().enumerate() {
                let (node, mem) = (usize::from(node) % online, size * 64);
                if free[node] > mem {
                    free[node] -= mem;
                    rows.push(format!("i{at}|{mem}|10|1|running|Y|n{node}||ext||1"));
                }
            }
            let row = |(at, free): (usize, &i64)| {
                let role = if at == 0 { "M" } else { "N" };
                let (role, tags) = if at < online { (role, "") } else { ("Y", "htools:standby:auto") };
                format!("n{at}|4000|0|{free}|90000|80000|64|{role}|u|1|{tags}")
            };
            let nodes: Vec<String> = free.iter().enumerate().map(row).collect();
            let (nodes, rows): (Vec<&str>, Vec<&str>) =
                (nodes.iter().map(String::as_str).collect(), rows.iter().map(String::as_str).collect());
            let options = SqueezeOptions {
                minimal,
                target: minimal + more,
                capacity_checks: false,
                ..SqueezeOptions::default()
            };
            (cluster(&nodes, &rows, &[]), options)
        },
    )
}

/// New instances on every online node, in all as large as what lies between the two
/// reserves, and less by a random share.
fn with_more_load(now: &Cluster, options: &SqueezeOptions, shares: &[f64]) -> Cluster {
    let between = Reserve::of(&now.policy, options.target).memory()
        - Reserve::of(&now.policy, options.minimal).memory();
    let mut raw = raw(now);
    let pattern = raw.instances.first().cloned();
    for (at, share) in (0..raw.nodes.len()).zip(shares.iter().cycle()) {
        let mem = Mib((between.0 as f64 * share) as i64);
        let Some(pattern) = pattern.clone().filter(|_| !raw.nodes[at].offline && mem > Mib::ZERO) else {
            continue;
        };
        raw.nodes[at].mem_free -= mem;
        let name = format!("more{at}");
        raw.instances.push(RawInstance {
            name,
            mem,
            vcpus: 0,
            spindle_use: 0,
            primary: NodeIdx::new(at),
            ..pattern
        });
    }
    read(raw)
}

/// Instances that end, as long as they are not larger in all than what lies between the
/// two reserves of one node.
fn with_less_load(now: &Cluster, options: &SqueezeOptions, order: &[u8]) -> Cluster {
    let mut left = Reserve::of(&now.policy, options.target).memory()
        - Reserve::of(&now.policy, options.minimal).memory();
    let mut raw = raw(now);
    for chosen in order.iter().filter(|_| !now.instances.is_empty()) {
        let at = usize::from(*chosen) % raw.instances.len().max(1);
        if let Some(gone) = raw.instances.get(at).cloned().filter(|i| i.mem <= left) {
            left -= gone.mem;
            raw.nodes[gone.primary.get()].mem_free += gone.mem;
            raw.instances.remove(at);
        }
    }
    read(raw)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Standby nodes come up in their order, so that one may be there that the later ones make
    /// superfluous; the next run may free it. But what a run has freed stays off.
    #[test]
    fn what_was_freed_stays_off((cluster, options) in any_cluster()) {
        let mut state = cluster;
        for _ in 0..3 {
            let found = squeeze(&state, &[group()], &options);
            let next = carried_out(&found);
            if found.plans[0].decision == Decision::Condense {
                prop_assert_eq!(switched_back(&found.plans[0], &run(&next, &options)), []);
            }
            state = next;
        }
    }

    /// Balancing from where the run before ended can find what that one has missed; but
    /// it goes on in the same direction, and comes to an end.
    #[test]
    fn runs_come_to_an_end((cluster, options) in any_cluster()) {
        let mut found = squeeze(&cluster, &[group()], &options);
        for _ in 0..cluster.nodes.len() {
            let next = squeeze(&found.after, &[group()], &options);
            if found.plans[0].decision == Decision::Condense {
                prop_assert_ne!(next.plans[0].decision, Decision::Expand);
            }
            found = next;
        }
        prop_assert_eq!(&found.plans[0].nodes, &[]);
    }

    #[test]
    fn a_little_more_load_powers_nothing_up(
        (cluster, options) in even_cluster(),
        shares in prop::collection::vec(0.0f64..1.0, 1..9),
    ) {
        let found = squeeze(&cluster, &[group()], &options);
        if found.plans[0].decision == Decision::Condense {
            let grown = with_more_load(&carried_out(&found), &options, &shares);
            prop_assert_ne!(run(&grown, &options).decision, Decision::Expand);
        }
    }

    #[test]
    fn a_little_less_load_powers_nothing_down(
        (cluster, options) in even_cluster(),
        order in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let found = squeeze(&cluster, &[group()], &options);
        if found.plans[0].decision == Decision::Expand {
            let shrunk = with_less_load(&carried_out(&found), &options, &order);
            prop_assert_eq!(switched_back(&found.plans[0], &run(&shrunk, &options)), []);
        }
    }
}
