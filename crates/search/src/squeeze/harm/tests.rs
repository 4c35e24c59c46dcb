//! Worked examples that can be checked on paper, and random clusters checked by a recount.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::*;
use super::Deterioration;
use crate::squeeze::tests::{group, replayed, run};
use htools_model::{Instance, Rule};
use htools_testkit::cluster;

const TAGS: [&str; 4] =
    ["htools:iextags:svc", "htools:nlocation:power", "htools:desiredlocation:power", "htools:migration:hv"];

fn built(nodes: &[String], instances: &[String]) -> Cluster {
    fn rows(rows: &[String]) -> Vec<&str> {
        rows.iter().map(String::as_str).collect()
    }
    cluster(&rows(nodes), &rows(instances), &TAGS)
}

/// A node with 9 CPUs and one spindle, which allows a weight of 32.
fn node(name: &str, free: i64, role: char, tags: &str) -> String {
    format!("{name}|9000|0|{free}|90000|80000|9|{role}|u|1|{tags}")
}

fn instance(name: &str, mem: i64, nodes: &str, template: &str, tags: &str, spindles: i64) -> String {
    let (primary, secondary) = nodes.split_once(':').unwrap_or((nodes, ""));
    format!("{name}|{mem}|10|1|running|Y|{primary}|{secondary}|{template}|{tags}|{spindles}")
}

fn options(reach: Reach) -> SqueezeOptions {
    SqueezeOptions { reach, capacity_checks: false, ..SqueezeOptions::default() }
}

fn why(cluster: &Cluster, plan: &GroupPlan, node: &str) -> Option<Hindrance> {
    let found = plan.kept.iter().find(|k| cluster.node(k.node).spec.name == node);
    found.map(|k| k.why.clone())
}

fn idx(cluster: &Cluster, name: &str) -> NodeIdx {
    cluster.nodes.iter().find(|n| n.spec.name == name).expect("a node").spec.idx
}

/// The hindrance of `node`. Checks that the node is freed without the rule.
fn kept(cluster: &Cluster, options: &SqueezeOptions, node: &str) -> Option<Hindrance> {
    let soft = SqueezeOptions { ignore_soft_errors: true, ..options.clone() };
    let freed = run(cluster, &soft).nodes;
    assert!(freed.contains(&idx(cluster, node)), "{node} is not freed without the rule, either");
    why(cluster, &run(cluster, options), node)
}

/// Three nodes with a web server each, two of which must stay.
#[test]
fn conflicting_primaries_stay_apart() {
    let row = |(name, role): (&str, char)| node(name, 8000, role, "");
    let nodes: Vec<String> = [("a", 'M'), ("b", 'N'), ("c", 'N')].into_iter().map(row).collect();
    let web = |at: &str| instance(&format!("web-{at}"), 1000, at, "ext", "svc:web", 1);
    let cluster = built(&nodes, &["a", "b", "c"].map(web));
    let why = kept(&cluster, &options(Reach::External), "c");
    let Some(Hindrance::Worse(Deterioration::Exclusion { node, tag })) = why else { panic!("{why:?}") };
    assert_eq!((node, cluster.tag_table.name(tag)), (idx(&cluster, "a"), "svc:web"));
    assert_eq!(run(&cluster, &options(Reach::External)).decision, Decision::Nothing);
    // Two that are together already may stay together.
    let cluster = built(&nodes, &[web("a"), web("c").replace("web-c", "web-d"), web("c")]);
    let plan = run(&cluster, &options(Reach::External));
    assert_eq!(plan.nodes, [idx(&cluster, "b")]);
}

#[test]
fn instances_stay_where_they_desire_to_be() {
    let nodes = [node("a", 9000, 'M', "power:1"), node("b", 8000, 'N', "power:2")];
    let cluster = built(&nodes, &[instance("i", 1000, "b", "ext", "power:2", 1)]);
    let why = kept(&cluster, &options(Reach::External), "b");
    assert_eq!(why, Some(Hindrance::Worse(Deterioration::DesiredLocation)));
    let content = built(&nodes, &[instance("i", 1000, "b", "ext", "power:1", 1)]);
    assert_eq!(run(&content, &options(Reach::External)).nodes.len(), 1);
}

#[test]
fn copies_stay_at_two_locations() {
    let nodes =
        [node("a", 9000, 'M', "power:1"), node("b", 8000, 'N', "power:1"), node("c", 9000, 'N', "power:2")];
    let cluster = built(&nodes, &[instance("i", 1000, "b:c", "drbd", "", 1)]);
    let plan = run(&cluster, &options(Reach::Drbd));
    // One of the two at the same location can go, but not the third node.
    assert_eq!(plan.nodes.len(), 1);
    let only = SqueezeOptions { left_alone: vec![idx(&cluster, "b")], ..options(Reach::Drbd) };
    assert_eq!(kept(&cluster, &only, "c"), Some(Hindrance::Worse(Deterioration::SharedLocation)));
}

/// Every pair of nodes has an instance with a weight of 20 of the 32 that a node may have.
#[test]
fn policies_are_kept() {
    let nodes: Vec<String> = [("a", 'M'), ("b", 'N'), ("c", 'N'), ("d", 'N')]
        .into_iter()
        .map(|(name, role)| node(name, 8500, role, ""))
        .collect();
    let rows = [instance("i", 500, "a:b", "drbd", "", 20), instance("j", 500, "c:d", "drbd", "", 20)];
    let cluster = built(&nodes, &rows);
    let why = kept(&cluster, &options(Reach::Drbd), "d");
    assert!(
        matches!(why, Some(Hindrance::Worse(Deterioration::Policy { rule: Rule::SpindleRatio, .. }))),
        "{why:?}"
    );
}

/// A web server on an offline node can migrate only to `a`, which has another one. It stays, and does not
/// prevent freeing `b` or `c`.
#[test]
fn what_is_stranded_already_keeps_no_node_online() {
    let nodes = [
        node("a", 8000, 'M', "hv:1"),
        node("b", 9000, 'N', "hv:2"),
        node("c", 8000, 'N', "hv:2"),
        node("off", 8000, 'Y', "hv:1"),
    ];
    let web = |at: &str| instance(&format!("web-{at}"), 1000, at, "ext", "svc:web", 1);
    let cluster = built(&nodes, &[web("a"), web("off"), instance("x", 1000, "c", "ext", "", 1)]);
    let found = squeeze(&cluster, &[group()], &options(Reach::External));
    assert_eq!(found.plans[0].nodes, [idx(&cluster, "b")]);
    assert!(found.plans[0].steps.iter().all(|step| step.instance.get() != 1));
    assert!(found.after.instances.iter().all(Instance::is_movable));
}

/// Both nodes have a web server and lack the reserve. The one on the offline node joins them only if soft
/// errors are ignored; it goes to the standby node if there is one.
#[test]
fn powering_up_puts_nothing_together() {
    let web = |at: &str, mem| instance(&format!("web-{at}"), mem, at, "ext", "svc:web", 1);
    let rows = [web("a", 8000), web("b", 8700), web("off", 100)];
    let off = [node("a", 1000, 'M', ""), node("b", 300, 'N', ""), node("off", 8900, 'Y', "")];
    let standby = |count: usize| {
        let more = (0..count).map(|at| node(&format!("s{at}"), 9000, 'Y', "htools:standby:x"));
        built(&off.iter().cloned().chain(more).collect::<Vec<_>>(), &rows)
    };
    let wanted = SqueezeOptions { minimal: 3.0, target: 3.0, ..options(Reach::External) };
    let soft = SqueezeOptions { ignore_soft_errors: true, ..wanted.clone() };
    let alone = standby(0);
    let plan = run(&alone, &wanted);
    assert_eq!((plan.decision, plan.steps.len()), (Decision::Expand, 0));
    assert_eq!(run(&alone, &soft).steps.len(), 1);
    let one = standby(1);
    let plan = run(&one, &wanted);
    assert_eq!(plan.nodes, [idx(&one, "s0")]);
    let web = plan.steps.iter().find(|step| step.instance.get() == 2).expect("a step");
    assert_eq!(web.to.primary, idx(&one, "s0"));
}

/// Values that must not increase, counted from the lists of instances alone.
#[derive(Debug, Default, PartialEq)]
struct Count {
    conflicts: BTreeMap<String, usize>,
    shared: usize,
    missed: usize,
    beyond: Vec<bool>,
}

fn count(cluster: &Cluster) -> Count {
    let power = |node: NodeIdx| -> Vec<&String> {
        cluster.node(node).spec.tags.iter().filter(|tag| tag.starts_with("power:")).collect()
    };
    let mut there: BTreeMap<(NodeIdx, String), usize> = BTreeMap::new();
    let mut found = Count::default();
    for instance in &cluster.instances {
        for tag in &instance.exclusion_tags {
            *there.entry((instance.primary, cluster.tag_table.name(*tag).to_owned())).or_default() += 1;
        }
        let here = power(instance.primary);
        if let Some(secondary) = instance.mirror() {
            found.shared += power(secondary).iter().filter(|tag| here.contains(tag)).count();
        }
        let desired = instance.desired_locations.iter().map(|tag| cluster.tag_table.name(tag));
        found.missed += desired.filter(|tag| !here.iter().any(|there| there == tag)).count();
    }
    for ((_, tag), count) in there {
        *found.conflicts.entry(tag).or_default() += count - 1;
    }
    for node in &cluster.nodes {
        let instances_on = |at: fn(&Instance) -> Option<NodeIdx>| {
            cluster.instances.iter().filter(move |i| at(i) == Some(node.spec.idx))
        };
        let vcpus: i64 = instances_on(|i| Some(i.primary)).map(|i| i.vcpus).sum();
        let local = instances_on(|i| Some(i.primary)).chain(instances_on(Instance::mirror));
        let spindles: i64 = local.filter(|i| i.template.uses_local_storage()).map(|i| i.spindle_use).sum();
        let online = !node.spec.offline;
        found.beyond.push(online && (vcpus > 4 * node.spec.cpu_total as i64 || spindles > 32));
    }
    found
}

/// Clusters with tags of all kinds in which some instances must be moved by force.
fn tagged_cluster() -> impl Strategy<Value = (Cluster, SqueezeOptions)> {
    let nodes = prop::collection::vec((0usize..9, 0usize..3, 0usize..5), 2..7);
    let one = (any::<u8>(), any::<u8>(), 1i64..9, 0u8..10, 0usize..8, 0usize..6, 1i64..16);
    let reach = prop::sample::select(vec![Reach::External, Reach::Drbd, Reach::All]);
    let switches = (any::<bool>(), any::<bool>());
    (nodes, prop::collection::vec(one, 0..16), reach, switches, 0.0f64..3.0).prop_map(
        |(nodes, instances, reach, (capacity_checks, deep), minimal)| {
            let total = 3000;
            let mut used = vec![0; nodes.len()];
            let mut rows = Vec::new();
            for (at, (p, s, mem, kind, svc, power, weight)) in instances.into_iter().enumerate() {
                let p = usize::from(p) % nodes.len();
                let s = (p + 1 + usize::from(s) % (nodes.len() - 1)) % nodes.len();
                if used[p] + mem * 100 >= total {
                    continue;
                }
                used[p] += mem * 100;
                let (place, template) = match kind {
                    0 => (format!("n{p}"), ["plain", "file"][at % 2]),
                    1..=4 => (format!("n{p}:n{s}"), "drbd"),
                    _ => (format!("n{p}"), "ext"),
                };
                let svc = ["svc:a", "svc:a,svc:b", "svc:b", "svc:c", "", "", "", ""][svc];
                let power = ["power:0", "power:1", "power:0,power:1", "", "", ""][power];
                let tags: Vec<&str> = [svc, power].into_iter().filter(|tag| !tag.is_empty()).collect();
                let row = instance(&format!("i{at}"), mem * 100, &place, template, &tags.join(","), weight);
                // Up to 15 of the 36 virtual CPUs that a node may have.
                rows.push(row.replacen("|10|1|", &format!("|10|{weight}|"), 1));
            }
            let node = |(at, (kind, power, hv)): (usize, &(usize, usize, usize))| {
                let (role, standby) = match kind {
                    _ if at == 0 => ('M', ""),
                    0 => ('Y', ",htools:standby:auto"),
                    1 => ('Y', ""),
                    _ => ('N', ""),
                };
                let hv = if *hv == 0 { "hv:2" } else { "hv:1" };
                let tags = format!("power:{power},{hv}{standby}");
                format!("n{at}|{total}|0|{}|90000|80000|9|{role}|u|1|{tags}", total - used[at])
            };
            let nodes: Vec<String> = nodes.iter().enumerate().map(node).collect();
            let options = SqueezeOptions {
                minimal,
                target: minimal,
                reach,
                capacity_checks,
                deep,
                ..Default::default()
            };
            (built(&nodes, &rows), options)
        },
    )
}

/// Returns true if migrations go only to nodes with the tag of the old node. Stopped instances can go anywhere.
fn migrate_rightly(cluster: &Cluster, steps: &[Step]) -> bool {
    let tag = |node: NodeIdx| cluster.node(node).spec.tags.iter().find(|tag| tag.starts_with("hv:"));
    let fits = |step: &Step| tag(step.from.primary) == tag(step.to.primary);
    steps.iter().all(|step| step.copies_while_stopped(cluster) || fits(step))
}

/// Returns true if instances are stopped only with `--all`, only to leave a node that goes offline, and only
/// once.
fn stop_rightly(cluster: &Cluster, plan: &GroupPlan, reach: Reach) -> bool {
    let stopping: Vec<&Step> = plan.steps.iter().filter(|step| step.copies_while_stopped(cluster)).collect();
    let mut stopped: Vec<InstanceIdx> = stopping.iter().map(|step| step.instance).collect();
    stopped.sort_unstable();
    let once = stopped.windows(2).all(|two| two[0] != two[1]);
    let leaves = |step: &&Step| plan.nodes.contains(&step.from.primary);
    let condenses = reach == Reach::All && plan.decision == Decision::Condense;
    stopping.is_empty() || condenses && once && stopping.iter().all(leaves)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nothing_becomes_worse((cluster, options) in tagged_cluster()) {
        let found = squeeze(&cluster, &[group()], &options);
        let (before, now) = (count(&cluster), count(&found.after));
        for (tag, count) in &now.conflicts {
            prop_assert!(*count <= before.conflicts[tag], "{}: {:?} {:?}", tag, before, now);
        }
        for ((was, is), node) in before.beyond.iter().zip(&now.beyond).zip(&cluster.nodes) {
            prop_assert!(*was || !is || node.spec.offline, "{}: {:?} {:?}", node.spec.name, before, now);
        }
        if found.plans.iter().all(|plan| plan.decision != Decision::Expand) {
            prop_assert!(now.shared <= before.shared && now.missed <= before.missed, "{:?} {:?}", before, now);
        }
        // Instances that were held are free again.
        for (before, after) in cluster.instances.iter().zip(&found.after.instances) {
            prop_assert_eq!(before.immobile, after.immobile);
        }
        for (plan, start, _) in replayed(&found, &cluster) {
            prop_assert!(migrate_rightly(start, &plan.steps));
            prop_assert!(stop_rightly(start, plan, options.reach));
        }
    }
}
