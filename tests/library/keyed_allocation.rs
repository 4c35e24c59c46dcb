//! `hail --affinity` on random clusters. The primary node must be the first in the order of the keys that has a place
//! by hail's own rules. Both are recomputed plainly.

use std::sync::Arc;

use htools::affinity::{AffinityOptions, AffinityRule, FleetFigures};
use htools::load::iallocator::{Allocation, Description, Request};
use htools::load::merge::new_instance;
use htools::model::{
    Cluster, Disk, DiskTemplate, Draft, GroupIdx, Instance, Mib, Node, NodeIdx, Outage, RunStatus, proximity,
};
use htools::redundancy::global::Scope;
use htools::search::place::{Conditions, InstanceToPlace, Targets, plain};
use htools::search::requests::{Answer, Settings, answer, is_dedicated};
use proptest::prelude::*;

use crate::common::clusters::{Dice, Recipe, Style, cases, recipes};

const STYLES: &[Style] = &[Style::Mixed, Style::Mixed, Style::Tight, Style::Symmetric];

/// Name, value and weight.
type Key = (String, f64, f64);

fn value(dice: &mut Dice) -> f64 {
    dice.of(&[0.0, 0.5, 1.0, 1.25, 2.0])
}

fn tags(dice: &mut Dice, side: &str, names: &[&str], percent: usize) -> Vec<String> {
    let mut tags = Vec::new();
    for name in names {
        if dice.chance(percent) {
            let weight = dice.of(&[-40.0, -8.0, 0.0, 8.0, 30.0, 60.0]);
            let value = if name.starts_with('@') { 0.0 } else { value(dice) };
            tags.push(format!("htools:key:{side}:{name}:{value}:{weight}"));
        }
    }
    tags
}

fn of_instance(dice: &mut Dice) -> Vec<String> {
    let system = tags(dice, "system", &["ds", "pool", "@RAM"], 30);
    [system, tags(dice, "customer", &["grp", "_ssd"], 40)].concat()
}

/// A random cluster with keys in the tags of its nodes and instances.
fn keyed(recipe: &Recipe, dice: &mut Dice) -> Cluster {
    let mut cluster = recipe.cluster();
    for node in &mut cluster.nodes {
        for name in ["ds", "pool", "_ssd"] {
            if dice.chance(60) {
                let sticky = !name.starts_with('_') && dice.chance(40);
                node.spec.tags.push(match (sticky, value(dice), dice.of(&[-8.0, 0.0, 20.0, 90.0])) {
                    (true, value, weight) => format!("htools:key:sticky:{name}:{value}:{weight}"),
                    (false, value, _) => format!("htools:key:{name}:{value}"),
                });
            }
        }
    }
    cluster.tags.extend(tags(dice, "system", &["@CPU", "@LOAD", "ds"], 25));
    for instance in &mut cluster.instances {
        let details = instance.details_mut();
        details.tags = details.tags.iter().cloned().chain(of_instance(dice)).collect();
    }
    cluster
}

fn description(cluster: &Cluster, dice: &mut Dice) -> (Description, i64) {
    let model = &cluster.instances[dice.below(cluster.instances.len())];
    let template =
        if dice.chance(60) { DiskTemplate::Drbd } else { dice.of(&[DiskTemplate::Ext, DiskTemplate::Plain]) };
    let disk = Mib(dice.of(&[model.disk.0.clamp(0, 1 << 30), 1024, 0]));
    // An instance that Ganeti knows already gets new disks.
    let name = if dice.chance(40) { model.name.clone() } else { "newcomer".to_owned() };
    let description = Description {
        name,
        mem: Mib(dice.of(&[model.mem.0.clamp(0, 1 << 20), 128, 1024])),
        disk,
        disks: vec![Disk { size: disk, spindles: None }],
        vcpus: dice.of(&[1, 1, 2]),
        status: RunStatus::Running,
        template,
        spindle_use: 1,
        tags: of_instance(dice),
        networks: Vec::new(),
        forthcoming: false,
    };
    (description, if template == DiskTemplate::Drbd { 2 } else { 1 })
}

/// The keys of one side in some tags.
fn told(tags: &[String], side: &str) -> Vec<Key> {
    let start = format!("htools:key:{side}:");
    let told = tags.iter().filter_map(|tag| tag.strip_prefix(&start));
    let key = |rest: &str| {
        let parts: Vec<&str> = rest.split(':').collect();
        (parts[0].replace('@', "#"), parts[1].parse().unwrap(), parts[2].parse().unwrap())
    };
    told.map(key).collect()
}

/// The same, without keys of weight 0.
fn keys(tags: &[String], side: &str) -> Vec<Key> {
    let mut keys = told(tags, side);
    keys.retain(|(.., weight)| *weight != 0.0);
    keys.sort_by(|one, other| one.0.cmp(&other.0));
    keys
}

/// The operator's keys of a new instance, highest precedence first.
fn system_keys(cluster: &Cluster, instance: &Instance) -> Vec<Key> {
    let known = cluster.instances.iter().find(|of| of.name == instance.name);
    let home = known.map(|of| &cluster.node(of.primary).spec.tags[..]).unwrap_or_default();
    let of_cluster = told(&cluster.tags, "system");
    let default = ["#CPU", "#LOAD", "#RAM"].map(|name| (name.to_owned(), 0.0, 25.0));
    let is_left = |key: &Key| of_cluster.iter().all(|(name, ..)| *name != key.0);
    let default: Vec<Key> = default.into_iter().filter(is_left).collect();
    let mut all: Vec<Key> = Vec::new();
    for (name, value, weight) in
        [told(&instance.tags, "system"), told(home, "sticky"), of_cluster.clone(), default].concat()
    {
        if weight != 0.0 && all.iter().all(|(other, ..)| *other != name) {
            all.push((name, value, weight));
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn of_node(node: &Node) -> Vec<(String, f64)> {
    let told = node.spec.tags.iter().filter_map(|tag| tag.strip_prefix("htools:key:"));
    let pair = |rest: &str| {
        let parts: Vec<&str> = rest.trim_start_matches("sticky:").split(':').collect();
        (parts[0].to_owned(), parts[1].parse().unwrap())
    };
    told.map(pair).collect()
}

fn running<'c>(cluster: &'c Cluster, node: &'c Node) -> impl Iterator<Item = &'c Instance> {
    let is_up = |of: &&Instance| {
        of.status.uses_memory()
            && !of.forthcoming
            && !matches!(of.status, RunStatus::ErrorNodeDown | RunStatus::ErrorNodeOffline)
    };
    let is_reached = !node.spec.offline || node.spec.outage == Outage::Drained;
    cluster.instances.iter().filter(move |of| of.primary == node.spec.idx && is_reached).filter(is_up)
}

/// The nodes of a group that the keys allow, best first.
fn ranked(
    cluster: &Cluster,
    group: GroupIdx,
    instance: &Instance,
    options: &AffinityOptions,
) -> Vec<NodeIdx> {
    let needed = (instance.mem + options.overhead).as_f64();
    let mut found: Vec<(u32, f64, &str, NodeIdx)> = Vec::new();
    for &idx in cluster.nodes_of(group) {
        let node = cluster.node(idx);
        let here = || running(cluster, node);
        let ram: f64 = here().map(|of| of.mem.as_f64()).sum();
        let vcpus: f64 = here().map(|of| of.vcpus as f64).sum();
        let excluded =
            here().any(|of| of.exclusion_tags.iter().any(|tag| instance.exclusion_tags.contains(tag)));
        let total = node.spec.mem_total.trunc().max(0.0);
        if node.spec.offline || excluded || total - ram <= needed || node.mem_free().as_f64() <= needed {
            continue;
        }
        let share = |used: f64, all: f64| if all > 0.0 { (used / all).clamp(0.0, 1.0) } else { 1.0 };
        let own = of_node(node);
        let mut score = 0.0;
        for (name, value, weight) in system_keys(cluster, instance) {
            let there = match name.as_str() {
                "#RAM" => Some(share(ram, total)),
                "#CPU" => Some(share(vcpus, node.spec.cpu_total.trunc().max(0.0) * node.spec.vcpu_ratio)),
                "#LOAD" => Some(0.0),
                _ => own.iter().find(|(other, _)| *other == name).map(|(_, value)| *value),
            };
            score += there.map_or(0.0, |there| proximity(there, value) * weight);
        }
        // All keys there count: the node's keys that begin with `_`, and those of the running instances.
        let mut wish = 0.0;
        for (name, value, weight) in keys(&instance.tags, "customer") {
            let of_nodes = own.iter().filter(|(other, _)| *other == name).map(|(_, value)| *value);
            let of_others = here().flat_map(|of| keys(&of.tags, "customer"));
            let of_others = of_others.filter(|(other, ..)| *other == name).map(|(_, value, _)| value);
            let near: f64 = of_nodes
                .filter(|_| name.starts_with('_'))
                .chain(of_others)
                .map(|there| proximity(there, value))
                .sum();
            wish += near * weight;
        }
        let is_more = |threshold: f64| (score * 1e9).round() > (threshold * 1e9).round();
        let passed = (1..=options.msav_steps).find(|round| is_more(options.threshold(*round)));
        found.extend(passed.map(|round| (round, wish + 0.0, node.spec.name.as_str(), idx)));
    }
    // All sums are exact here, so ties are exactly equal.
    found.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)).then(one.2.cmp(other.2)));
    found.into_iter().map(|(.., idx)| idx).collect()
}

/// The first of these nodes with a place by hail's own rules, with the place.
fn placed(
    cluster: &Cluster,
    group: GroupIdx,
    instance: &Instance,
    required: i64,
    ranked: &[NodeIdx],
) -> Option<Vec<NodeIdx>> {
    let nodes = cluster.nodes_of(group).to_vec();
    let online: Vec<NodeIdx> =
        nodes.iter().copied().filter(|node| !cluster.node(*node).spec.offline).collect();
    let conditions = Conditions { redundancy: Some(Scope::default()), ..Conditions::default() };
    ranked.iter().find_map(|primary| {
        let others = online.iter().copied().filter(|other| other != primary).collect();
        let targets = match required {
            1 => Targets::Singles(vec![*primary]),
            _ => Targets::Partners(*primary, others),
        };
        let found = plain::find(cluster, &nodes, InstanceToPlace::from(instance), &targets, &conditions);
        found.best.map(|(_, place)| place.placement.nodes().collect())
    })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn primaries_are_the_first_by_keys_that_have_a_place(
        recipe in recipes(STYLES, 1..=9, 1..=24),
        seed in any::<u64>().no_shrink(),
    ) {
        let mut dice = Dice::new(seed);
        let cluster = keyed(&recipe, &mut dice);
        let group = cluster.groups[dice.below(cluster.groups.len())].idx;
        let (description, required_nodes) = description(&cluster, &mut dice);
        let instance = new_instance(&mut Draft::of(&cluster), description.clone());
        let options = AffinityOptions {
            overhead: Mib(dice.of(&[0, 0, 1024])),
            msav_steps: dice.of(&[1, 4, 10]),
            ..AffinityOptions::default()
        };
        let name = Some(cluster.group(group).uuid.clone());
        let request = Request::Allocate {
            instance: Allocation { description, required_nodes },
            group: name,
            restrict_to: None,
        };
        if is_dedicated(&cluster, &request) {
            return Ok(());
        }
        let ranked = ranked(&cluster, group, &instance, &options);
        let expected = placed(&cluster, group, &instance, required_nodes, &ranked);
        let rule = Arc::new(AffinityRule::new(options, FleetFigures::default()));
        let settings = Settings { primaries: Some(rule), ..Settings::default() };
        let found = match answer(cluster, request, &settings).answer {
            Ok(Answer::Allocated { nodes, .. }) => Some(nodes),
            _ => None,
        };
        prop_assert_eq!(found, expected, "{:?}", ranked);
    }
}
