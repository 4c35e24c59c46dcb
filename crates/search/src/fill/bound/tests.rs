//! Comparison with all placements of small clusters.

use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::fill::FillSettings;
use crate::place::{Conditions, PlaceTester, Targets};
use htools_model::redundancy::global::is_redundant;
use htools_model::{DiskTemplate, Draft, Mib, Placement};
use htools_testkit::cluster;
use proptest::prelude::*;

/// A random node, in small numbers.
#[derive(Debug, Clone)]
struct NodeRecipe {
    memory: i64,
    disk: i64,
    cpus: i64,
    spindles: i64,
    exclusive: bool,
    online: bool,
}

fn node() -> impl Strategy<Value = NodeRecipe> {
    (3i64..10, 4i64..14, 1i64..4, 1i64..6, prop::bool::weighted(0.1), prop::bool::weighted(0.95)).prop_map(
        |(memory, disk, cpus, spindles, exclusive, online)| NodeRecipe {
            memory,
            disk,
            cpus,
            spindles,
            exclusive,
            online,
        },
    )
}

/// Memory, nodes and template of an instance that is there before.
type Present = (i64, usize, usize, DiskTemplate);

const PRESENT: [DiskTemplate; 4] =
    [DiskTemplate::Drbd, DiskTemplate::Drbd, DiskTemplate::Ext, DiskTemplate::Plain];

const NEW: [DiskTemplate; 6] = [
    DiskTemplate::Drbd,
    DiskTemplate::Drbd,
    DiskTemplate::Ext,
    DiskTemplate::Diskless,
    DiskTemplate::Plain,
    DiskTemplate::File,
];

/// A cluster with the present instances that find memory and disk.
fn built(nodes: &[NodeRecipe], present: &[Present]) -> Cluster {
    let mut memory: Vec<i64> = nodes.iter().map(|node| node.memory * 500).collect();
    let mut disk: Vec<i64> = nodes.iter().map(|node| node.disk * 1000).collect();
    let mut instances = Vec::new();
    for (at, (units, primary, secondary, template)) in present.iter().enumerate() {
        let (p, s) = (primary % nodes.len(), secondary % nodes.len());
        let mirrored = *template == DiskTemplate::Drbd;
        let size = units * 250;
        let stored = if *template == DiskTemplate::Ext { 0 } else { 900 };
        if memory[p] <= size || disk[p] <= stored || mirrored && (p == s || disk[s] <= stored) {
            continue;
        }
        memory[p] -= size;
        disk[p] -= stored;
        let second = if mirrored { format!("n{s}") } else { String::new() };
        disk[s] -= if mirrored { stored } else { 0 };
        instances.push(format!("i{at}|{size}|900|1|running|Y|n{p}|{second}|{template}||1"));
    }
    let rows: Vec<String> = (nodes.iter().enumerate())
        .map(|(at, node)| {
            let state = if node.online { "N" } else { "Y" };
            let exclusive = if node.exclusive { "Y" } else { "N" };
            let (free, left) = (memory[at], disk[at]);
            format!(
                "n{at}|{}|0|{free}|{}|{left}|{}|{state}|u|{}||{exclusive}|{}",
                node.memory * 500,
                node.disk * 1000,
                node.cpus,
                node.spindles,
                node.spindles,
            )
        })
        .collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
    let mut cluster = cluster(&rows, &instances, &[]);
    for node in &mut cluster.nodes {
        node.spec.vcpu_ratio = 3.0;
        node.spec.spindle_limit = node.spec.spindle_total as f64 * 2.0;
    }
    cluster
}

fn settings(template: DiskTemplate, accept_existing_errors: bool, capacity_checks: bool) -> FillSettings {
    FillSettings {
        template,
        spindle_use: 1,
        accept_existing_errors,
        independent_groups: false,
        capacity_checks,
    }
}

/// States that are compared at most.
const STATES: usize = 4000;

/// The largest number of instances that some order of arrivals reaches, and that leaves the cluster redundant if that is
/// required. `None` if there are too many states.
fn reached(ground: &FillGround, cluster: &Cluster, size: Size) -> Option<usize> {
    let Ok(targets) = &ground.targets else { return Some(0) };
    let places: Vec<Placement> = match targets {
        Targets::Singles(nodes) => {
            nodes.iter().map(|node| Placement { primary: *node, secondary: None }).collect()
        }
        _ => (targets.primaries().iter())
            .flat_map(|p| {
                let pair = |s| Placement { primary: *p, secondary: Some(s) };
                targets.partners(cluster, *p).map(pair)
            })
            .collect(),
    };
    let scope = ground.scope().filter(|_| !ground.settings.template.has_secondary());
    let instance = size.instance(&ground.settings, 0);
    let mut best = 0;
    let mut seen: HashSet<BTreeMap<usize, usize>> = HashSet::new();
    let mut open = vec![(BTreeMap::new(), Draft::of(cluster))];
    while let Some((counts, state)) = open.pop() {
        if seen.len() > STATES {
            return None;
        }
        let holds = |scope: &_| is_redundant(&state, &state.all_nodes(), scope);
        let count: usize = counts.values().sum();
        if count > best && scope.as_ref().is_none_or(holds) {
            best = count;
        }
        for (at, place) in places.iter().enumerate() {
            let mut counts = counts.clone();
            *counts.entry(at).or_insert(0) += 1;
            if seen.contains(&counts) {
                continue;
            }
            let conditions = Conditions::default();
            let tester = PlaceTester::new(&state, &instance, &conditions);
            if let Ok(place) = tester.at(*place) {
                let mut next = Draft::of(&state);
                next.adopt(&instance, &place);
                seen.insert(counts.clone());
                open.push((counts, next));
            }
        }
    }
    Some(best)
}

/// Numbers of comparisons, of those that the bound meets, of those where several instances fit, and of instances missing
/// below the bound.
#[derive(Debug, Default)]
struct Tally {
    compared: usize,
    met: usize,
    several: usize,
    missing: usize,
}

fn compare(templates: &'static [DiskTemplate], most_nodes: usize, cases: u32) -> Tally {
    let tally = std::cell::RefCell::new(Tally::default());
    let present = (1i64..4, 0usize..4, 0usize..4, prop::sample::select(&PRESENT[..]));
    let input = (
        prop::collection::vec(node(), 2..=most_nodes),
        prop::collection::vec(present, 0..4),
        (2i64..9, 1i64..4, 1i64..3, 1i64..3),
        prop::sample::select(templates),
        (any::<bool>(), prop::bool::weighted(0.7)),
    );
    let config = ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let run = runner.run(&input, |(nodes, present, size, template, (accept, checks))| {
        let cluster = built(&nodes, &present);
        let ground = FillGround::of(&cluster, settings(template, accept, checks));
        let (memory, disk, vcpus, spindles) = size;
        let size = Size { memory: Mib(memory * 130), disk: Mib(1024 * disk), vcpus, spindles };
        let most = ground.most(&cluster, size).expect("memory limits the number");
        if ground.hopeless {
            prop_assert_eq!(most, 0);
            return Ok(());
        }
        if let Some(reached) = reached(&ground, &cluster, size) {
            prop_assert!(most >= reached, "bound {}, but {} fit", most, reached);
            let mut tally = tally.borrow_mut();
            tally.compared += 1;
            tally.met += usize::from(most == reached);
            tally.several += usize::from(reached > 2);
            tally.missing += most - reached;
        }
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    tally.into_inner()
}

#[test]
fn no_placement_is_above_the_bound() {
    let tally = compare(&NEW[2..], 3, 1500);
    assert!(tally.compared > 900 && tally.met * 10 > tally.compared * 9 && tally.several > 300, "{tally:?}");
}

#[test]
fn no_placement_of_pairs_is_above_the_bound() {
    let tally = compare(&NEW[..1], 3, 1500);
    assert!(tally.compared > 900 && tally.met * 10 > tally.compared * 7 && tally.several > 300, "{tally:?}");
}

const EMPTY: [&str; 3] = [
    "a|16000|0|16000|99000|99000|8|N|u|8||N|8",
    "b|16000|0|16000|99000|99000|8|N|u|8||N|8",
    "c|16000|0|16000|99000|99000|8|N|u|8||N|8",
];

fn most(nodes: &[&str], template: DiskTemplate, checks: bool, size: Size) -> Option<usize> {
    let cluster = cluster(nodes, &[], &[]);
    FillGround::of(&cluster, settings(template, false, checks)).most(&cluster, size)
}

#[test]
fn simple_bounds() {
    let size = Size { memory: Mib(1000), disk: Mib(1024), vcpus: 1, spindles: 1 };
    // On each node, 1 MiB must stay free.
    assert_eq!(most(&EMPTY, DiskTemplate::Ext, false, size), Some(45));
    // If a node is lost, two hold all instances.
    assert_eq!(most(&EMPTY, DiskTemplate::Ext, true, size), Some(30));
    // Of 15 instances that fit on a node, 5 are a reserve for 10 on the others.
    assert_eq!(most(&EMPTY, DiskTemplate::Drbd, true, size), Some(30));
    assert_eq!(most(&EMPTY[..1], DiskTemplate::Drbd, true, size), Some(0));
}

#[test]
fn unlimited_sizes_have_no_bound() {
    let none = Size { memory: Mib(0), disk: Mib(1024), vcpus: 1, spindles: 1 };
    assert_eq!(most(&EMPTY, DiskTemplate::Ext, false, none), Some(0), "the policy asks for 128 MiB");
    let mut cluster = cluster(&EMPTY, &[], &[]);
    cluster.groups[0].policy.ranges[0].min = htools_model::InstanceSpec {
        memory: Mib(0),
        cpus: 0,
        disk_size: Mib(0),
        disk_count: 0,
        nic_count: 0,
        spindle_use: 0,
    };
    let bound =
        |size| FillGround::of(&cluster, settings(DiskTemplate::Ext, false, true)).most(&cluster, size);
    // The vCPU ratio of 4 limits the number; each node uses one itself.
    assert_eq!(bound(none), Some(3 * 31));
    assert_eq!(bound(Size { vcpus: 0, ..none }), None);
    assert_eq!(bound(Size { memory: Mib(-1), ..none }), None);
}
