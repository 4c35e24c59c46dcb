//! Tests that nodes do not go down and up in turns.

use proptest::prelude::*;

use super::*;
use htools_ganeti::load::merge::{MergeOptions, finish, merge};
use htools_ganeti::load::raw::{RawCluster, RawInstance};
use htools_ganeti::load::text;
use htools_ganeti::load::text::writer::whole_cluster_text;
use htools_model::redundancy::global;
use htools_model::units::trunc_to_i64;
use htools_model::{DiskTemplate, Mib};
use htools_testkit::cluster;

/// A cluster as a source would give it. Saved states keep the initial free memory of nodes, but a source
/// measures it.
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

/// The cluster as it is read after a plan was performed.
fn carried_out(found: &Squeeze) -> Cluster {
    read(raw(&found.after))
}

/// The nodes that one run switched and the next one switches back.
fn switched_back(first: &GroupPlan, second: &GroupPlan) -> Vec<NodeIdx> {
    let opposite = first.decision != second.decision;
    first.nodes.iter().copied().filter(|n| opposite && second.nodes.contains(n)).collect()
}

/// Equal nodes with small instances on shared storage, so that memory decides and every instance is easy to
/// place. Some nodes are standby nodes.
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

/// New instances on every online node, with random sizes up to the difference between the two reserves.
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

/// Instances that end, with a total size of at most the difference between the two reserves of a node.
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

    /// Standby nodes come up in order, so that later ones may make an earlier one unnecessary, which the next
    /// run may free. But a node that a run has freed stays off.
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

    /// Balancing from the end of the last run can find moves that it missed. But it goes on in the same
    /// direction and comes to an end.
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

/// The same cluster from a source that lists its instances in another order.
fn shuffled(cluster: &Cluster, by: &[u8]) -> Cluster {
    let mut raw = raw(cluster);
    for (at, other) in (0..raw.instances.len()).zip(by.iter().cycle()) {
        let other = usize::from(*other) % raw.instances.len();
        raw.instances.swap(at, other);
    }
    read(raw)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_squeezed_leaves_nothing_to_do((cluster, options) in any_cluster()) {
        let found = squeeze(&cluster, &[group()], &options);
        let next = run(&carried_out(&found), &options);
        let plan = &found.plans[0];
        if plan.decision == Decision::Condense {
            prop_assert_eq!((next.decision, next.nodes, next.steps), (Decision::Nothing, Vec::new(), Vec::new()));
        } else if found.plans.iter().all(|plan| plan.enough) {
            // Rarely, a node that came online is needed only until others have left.
            prop_assert!(next.decision != Decision::Expand && next.nodes.iter().all(|n| plan.nodes.contains(n)));
        }
    }

    /// Moves with equal gains are made in the order of the list, so plans may differ. The need for nodes does
    /// not depend on it.
    #[test]
    fn the_order_of_instances_decides_nothing(
        (cluster, options) in any_cluster(),
        by in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let read_back = read(raw(&cluster));
        let other = shuffled(&cluster, &by);
        let deadline = Deadline::never();
        let watch = SqueezeWatch { deadline: &deadline, progress: &|_| {} };
        let needs_more = |cluster| GroupScope::of(cluster, group(), &options, watch).needs_more();
        prop_assert_eq!(needs_more(&read_back), needs_more(&other));
        let nodes = cluster.all_nodes();
        let at_risk = |cluster| global::nodes_at_risk(cluster, &nodes, Departures::BySize);
        prop_assert_eq!(at_risk(&read_back), at_risk(&other));
    }
}

/// The cluster of a saved state.
fn saved(text: &str) -> Cluster {
    read(text::parse(text, "sample").expect("a valid text"))
}

/// In the order of its list, the last instance of an emptied node finds no place. Before, the node was powered
/// down, up, and down again.
#[test]
fn a_node_is_not_powered_up_for_the_order_of_a_list() {
    let sample = include_str!("../../../../../tests/fixtures/squeeze/order.data");
    let options = SqueezeOptions { minimal: 1.0, ..SqueezeOptions::default() };
    let mut lines: Vec<&str> = sample.lines().collect();
    let instances: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with('i')).collect();
    assert!(instances.len() > 3);
    for turn in 0..instances.len() {
        let text = lines.join("\n") + "\n";
        let found = squeeze(&saved(&text), &[group()], &options);
        assert_eq!(found.plans[0].decision, Decision::Condense, "turned {turn} times");
        let next = run(&carried_out(&found), &options);
        assert_eq!((next.decision, next.steps.len()), (Decision::Nothing, 0), "turned {turn} times");
        lines[instances[0]..=instances[instances.len() - 1]].rotate_left(1);
    }
}

/// The nodes that every run on a sample switches, until nothing is left to do.
fn switched(text: &str, options: &SqueezeOptions) -> Vec<(Decision, Vec<String>)> {
    let mut state = saved(text);
    let mut all = Vec::new();
    for _ in 0..5 {
        let found = squeeze(&state, &[group()], options);
        let plan = &found.plans[0];
        all.push((plan.decision, names(&state, &plan.nodes)));
        if plan.is_idle() {
            break;
        }
        state = carried_out(&found);
    }
    all
}

const DISK_FULL: &str = include_str!("../../../../../tests/fixtures/squeeze/disk-full.data");
const DISK_SCARCE: &str = include_str!("../../../../../tests/fixtures/squeeze/disk-scarce.data");
const MIXED: &str = include_str!("../../../../../tests/fixtures/squeeze/mixed.data");

/// The first disk template of both policies is DRBD.
#[test]
fn the_reserve_has_its_disk() {
    let options = SqueezeOptions { reach: Reach::Drbd, ..SqueezeOptions::default() };
    let runs = switched(DISK_FULL, &options);
    assert_eq!(runs[0], (Decision::Expand, vec!["n4".to_owned()]));
    assert!(runs[1..].iter().all(|run| run.1.is_empty()), "{runs:?}");
    // Two nodes keep room for a copy each.
    let found = squeeze(&saved(DISK_SCARCE), &[group()], &options);
    let room = Mib(2 * 20480);
    let nodes = found.after.nodes.iter().filter(|n| !n.spec.offline && n.state.ledger.disk_free > room);
    assert!(nodes.count() >= 2);
    // Instances without local disks need no room for them.
    let shared = |text: &str| text.replace("|drbd,ext|", "|ext,drbd|");
    assert_eq!(run(&saved(&shared(DISK_FULL)), &options).decision, Decision::Nothing);
    let many = squeeze(&saved(&shared(DISK_SCARCE)), &[group()], &options);
    assert!(many.plans[0].nodes.len() > found.plans[0].nodes.len());
}

#[test]
fn drbd_instances_stay_unless_they_may_move() {
    let options = SqueezeOptions { minimal: 1.0, ..SqueezeOptions::default() };
    let moved = |reach| {
        let before = saved(MIXED);
        let found = squeeze(&before, &[group()], &SqueezeOptions { reach, ..options.clone() });
        assert!(!found.plans[0].nodes.is_empty());
        let drbd = |step: &&Step| before.instance(step.instance).template == DiskTemplate::Drbd;
        assert!(found.after.instances.iter().all(|i| i.immobile.is_none()));
        found.plans[0].steps.iter().filter(drbd).count()
    };
    assert_eq!(moved(Reach::External), 0);
    assert!(moved(Reach::Drbd) > 0);
}

#[test]
fn the_state_afterwards_has_the_tags_of_nodes_that_were_switched() {
    let tags = |found: &Squeeze, name: &str| {
        let node = found.after.nodes.iter().find(|n| n.spec.name == name).expect("a node");
        node.spec.tags.clone()
    };
    let options = SqueezeOptions { minimal: 1.0, ..SqueezeOptions::default() };
    let found = squeeze(&saved(MIXED), &[group()], &options);
    let freed = names(&found.after, &found.plans[0].nodes);
    assert!(freed.iter().all(|name| tags(&found, name) == ["htools:standby:auto"]), "{freed:?}");
    let drbd = SqueezeOptions { reach: Reach::Drbd, ..SqueezeOptions::default() };
    let tagged = DISK_FULL.replace("htools:standby:1", "htools:standby:auto,x");
    assert_eq!(tags(&squeeze(&saved(&tagged), &[group()], &drbd), "n4"), ["x"]);
    // A word that the user chose stays.
    assert_eq!(tags(&squeeze(&saved(DISK_FULL), &[group()], &drbd), "n4"), ["htools:standby:1"]);
}
