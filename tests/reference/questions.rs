//! Allocator requests of every type, about existing objects and occasionally about missing ones.

use htools::generate::random::Random;
use htools::load::raw::{RawCluster, RawInstance};
use htools::model::{Disk, DiskTemplate, Mib, Mirroring, NodeIdx, RunStatus, SpecRange};
use serde_json::{Map, Value, json};

use super::decorate::NETWORKS;
use super::options::short_or_full;
use super::requests::description;
use super::rules::common_suffix;

/// Types of requests, with their probabilities.
const TYPES: [(&str, f64); 6] = [
    ("allocate", 0.34),
    ("multi-allocate", 0.18),
    ("relocate", 0.12),
    ("node-evacuate", 0.16),
    ("change-group", 0.17),
    ("allocate-secondary", 0.08),
];

/// Draws a type; with `allocations`, only one that creates instances.
pub fn draw_type(allocations: bool, raw: &RawCluster, random: &mut Random) -> &'static str {
    let idle = |node: NodeIdx| raw.nodes[node.get()].offline;
    let stranded = raw.instances.iter().any(|instance| instance.secondary.is_some_and(idle));
    let single = raw.instances.iter().any(|instance| instance.secondary.is_none());
    let weights = TYPES.map(|(name, weight)| match name {
        "allocate" | "multi-allocate" => weight,
        _ if allocations => 0.0,
        "node-evacuate" if stranded => weight * 2.0,
        // Requests that cannot succeed are rarer.
        _ if raw.instances.is_empty() => weight / 8.0,
        "change-group" if raw.groups.len() == 1 => weight / 8.0,
        "allocate-secondary" if !single => weight / 5.0,
        _ => weight,
    });
    TYPES[random.weighted(&weights)].0
}

/// A request of this type.
pub fn question(kind: &'static str, raw: &RawCluster, random: &mut Random) -> Value {
    let mut request = match kind {
        "allocate" => allocate(raw, random),
        "multi-allocate" => multi_allocate(raw, random),
        "relocate" => relocate(raw, random),
        "node-evacuate" => node_evacuate(raw, random),
        "change-group" => change_group(raw, random),
        _ => json!({"name": one_without_secondary(raw, random)}),
    };
    request["type"] = kind.into();
    request
}

fn allocate(raw: &RawCluster, random: &mut Random) -> Value {
    let mut request = new_instance(raw, 0, random);
    if random.chance(0.35) {
        request.insert("group_name".into(), group_name(raw, random).into());
    }
    if random.chance(0.12) {
        let mut nodes: Vec<String> =
            raw.nodes.iter().filter(|_| random.chance(0.6)).map(|node| node.name.clone()).collect();
        match random.below(6) {
            0 => nodes.clear(),
            1 => nodes = vec!["nosuch".into()],
            2 => nodes.push("nosuch.example.com".into()),
            // Only full names count.
            3 => nodes.iter_mut().for_each(|name| *name = short_or_full(name, random)),
            _ => {}
        }
        request.insert("restrict-to-nodes".into(), json!(nodes));
    }
    Value::Object(request)
}

fn multi_allocate(raw: &RawCluster, random: &mut Random) -> Value {
    let count = if random.chance(0.03) { 0 } else { random.between(1, 8) as usize };
    let alike = random.chance(0.4);
    let mut entries: Vec<Map<String, Value>> = (0..count).map(|i| new_instance(raw, i, random)).collect();
    for i in 1..count {
        if alike {
            entries[i] = entries[0].clone();
            entries[i].insert("name".into(), format!("new{i}.example.com").into());
        }
    }
    let mut request = json!({"instances": entries});
    if random.chance(0.5) {
        request["group_name"] = group_name(raw, random).into();
    }
    request
}

fn group_name(raw: &RawCluster, random: &mut Random) -> String {
    if raw.groups.is_empty() || random.chance(0.04) {
        return "nosuch".into();
    }
    let group = random.pick(&raw.groups);
    if random.chance(0.65) { group.name.clone() } else { group.uuid.clone() }
}

/// Sizes for one new instance.
struct Sizes {
    mem: Mib,
    disks: Vec<Disk>,
}

/// Sizes that may fit into the free resources, and mostly into a policy.
fn sizes(raw: &RawCluster, random: &mut Random) -> Sizes {
    let most = |of: &dyn Fn(usize) -> i64| (0..raw.nodes.len()).map(of).max().unwrap_or(0);
    let mem = most(&|i| super::rules::unallocated(raw, i));
    let disk = most(&|i| raw.nodes[i].disk_free.0);
    let part = |most: i64, unit: i64, least: i64, random: &mut Random| {
        let share = *random.pick(&[0.02, 0.05, 0.1, 0.1, 0.2, 0.2, 0.3, 0.5, 0.95]);
        ((most.clamp(0, 1 << 22) as f64 * share) as i64 / unit * unit).max(least)
    };
    let mut sizes = Sizes {
        mem: Mib(part(mem, 64, 128, random)),
        disks: (0..[1, 2, 3, 0][random.weighted(&[0.8, 0.13, 0.06, 0.01])])
            .map(|_| Disk {
                size: Mib(part(disk, 256, 1024, random)),
                spindles: exclusive(raw, random).then(|| random.between(1, 3)),
            })
            .collect(),
    };
    let ranges: Vec<&SpecRange> = raw.groups.iter().flat_map(|group| &group.policy.ranges).collect();
    if !ranges.is_empty() && random.chance(0.8) {
        let range = *random.pick(&ranges);
        sizes.mem = sizes.mem.min(range.max.memory).max(range.min.memory);
        for disk in &mut sizes.disks {
            disk.size = disk.size.min(range.max.disk_size).max(range.min.disk_size);
        }
    }
    sizes
}

fn new_instance(raw: &RawCluster, number: usize, random: &mut Random) -> Map<String, Value> {
    use DiskTemplate::{Drbd, Ext, Plain};
    let mut template = [Drbd, Ext, Plain][random.weighted(&[0.55, 0.2, 0.25])];
    if random.chance(0.12) {
        template = *random.pick(DiskTemplate::ALL);
    }
    let Sizes { mem, disks } = sizes(raw, random);
    let statuses = [RunStatus::Running, RunStatus::AdminDown, RunStatus::AdminOffline];
    let mut tags = Vec::new();
    for (chance, tag) in [(0.7, "service"), (0.2, "role"), (0.3, "power")] {
        if random.chance(chance) && raw.tags.iter().any(|t| t.contains(tag)) {
            tags.push(format!("{tag}:{}", random.below(3)));
        }
    }
    let networked = raw.groups.iter().any(|group| !group.networks.is_empty());
    let nics = if networked { random.weighted(&[0.4, 0.4, 0.2]) } else { random.below(2) };
    let instance = RawInstance {
        name: String::new(),
        mem,
        disk: Mib(disks.iter().map(|disk| disk.size.0).sum::<i64>() + if template == Drbd { 128 } else { 0 }),
        disks,
        vcpus: if random.chance(0.06) { random.between(5, 12) } else { random.between(1, 4) },
        status: statuses[random.weighted(&[0.85, 0.1, 0.05])],
        auto_balance: true,
        primary: NodeIdx::new(0),
        secondary: None,
        template,
        spindle_use: [1, 2, 3, 0][random.weighted(&[0.8, 0.1, 0.07, 0.03])],
        tags,
        networks: (0..nics)
            .map(|_| (networked && random.chance(0.8)).then(|| (*random.pick(&NETWORKS)).to_owned()))
            .collect(),
        forthcoming: random.chance(0.05),
    };
    let mut value = description(&instance);
    let mut name = format!("new{number}.example.com");
    if let (Some(known), true) = (raw.instances.first(), random.chance(0.015)) {
        name.clone_from(&known.name);
    }
    value.insert("name".into(), name.into());
    let mut nodes = if template == Drbd { 2 } else { 1 };
    if random.chance(0.05) {
        nodes = *random.pick(&[0, 1, 1, 2, 3, -1]);
    }
    value.insert("required_nodes".into(), nodes.into());
    for key in ["admin_state", "forthcoming"] {
        if random.chance(0.4) && !instance.forthcoming && instance.status == RunStatus::Running {
            value.remove(key);
        }
    }
    value
}

/// Tells if a disk of a new instance names its number of spindles.
fn exclusive(raw: &RawCluster, random: &mut Random) -> bool {
    let known = raw.nodes.iter().any(|node| node.exclusive_storage);
    random.chance(if known { 0.95 } else { 0.05 })
}

fn relocate(raw: &RawCluster, random: &mut Random) -> Value {
    let name = |node: NodeIdx| raw.nodes[node.get()].name.clone();
    let movable: Vec<&RawInstance> =
        raw.instances.iter().filter(|i| i.template.mirroring() != Mirroring::None).collect();
    let among: Vec<&RawInstance> =
        if movable.is_empty() || random.chance(0.1) { raw.instances.iter().collect() } else { movable };
    if among.is_empty() || random.chance(0.02) {
        return json!({"name": "nosuch", "required_nodes": 1, "relocate_from": []});
    }
    let instance = *random.pick(&among);
    let mut from = vec![name(instance.secondary.unwrap_or(instance.primary))];
    match random.weighted(&[0.82, 0.06, 0.04, 0.04, 0.02, 0.02]) {
        1 => from = vec![name(instance.primary)],
        2 => from.push(name(instance.primary)),
        3 => from = vec![random.pick(&raw.nodes).name.clone()],
        4 => from.clear(),
        5 => from = vec!["nosuch".into()],
        _ => {}
    }
    from.iter_mut().for_each(|node| *node = shortened(raw, node, random));
    let nodes = if random.chance(0.04) { *random.pick(&[2, 0]) } else { 1 };
    let name =
        if random.chance(0.03) { shortened(raw, &instance.name, random) } else { instance.name.clone() };
    json!({"name": name, "required_nodes": nodes, "relocate_from": from})
}

/// Names of instances to move, mostly movable ones.
fn instances(raw: &RawCluster, among: impl Fn(&RawInstance) -> bool, random: &mut Random) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if raw.instances.is_empty() || random.chance(0.03) {
        return names;
    }
    let most = random.between(1, 8) as usize;
    let mut order: Vec<usize> = (0..raw.instances.len()).collect();
    random.shuffle(&mut order);
    for instance in order.into_iter().map(|i| &raw.instances[i]) {
        let fixed = instance.template.mirroring() == Mirroring::None;
        if names.len() < most && among(instance) && (!fixed || random.chance(0.3)) {
            names.push(instance.name.clone());
        }
    }
    if !names.is_empty() && random.chance(0.1) {
        names.push(random.pick(&names).clone());
    }
    names.iter_mut().for_each(|name| *name = shortened(raw, name, random));
    if random.chance(0.02) {
        names.push("nosuch".into());
    }
    names
}

/// All instances of a node, or any; often such with a secondary out of use.
fn node_evacuate(raw: &RawCluster, random: &mut Random) -> Value {
    let whole = !raw.instances.is_empty() && random.chance(0.5);
    let node = whole.then(|| random.pick(&raw.instances).primary);
    let idle = |node: NodeIdx| raw.nodes[node.get()].offline;
    let stranded = |i: &RawInstance| i.secondary.is_some_and(idle);
    if raw.instances.iter().any(stranded) && random.chance(0.7) {
        let list = instances(raw, |i| stranded(i) || i.primary.get() % 2 == 0, random);
        return json!({"instances": list, "evac_mode": *random.pick(&["primary-only", "primary-only", "all"])});
    }
    let there = |i: &RawInstance| node.is_none_or(|node| i.primary == node || i.secondary == Some(node));
    json!({
        "instances": instances(raw, there, random),
        "evac_mode": *random.pick(&["primary-only", "secondary-only", "all"]),
    })
}

/// Instances of one group, or any, and target groups, or any.
fn change_group(raw: &RawCluster, random: &mut Random) -> Value {
    let group = |i: &RawInstance| raw.nodes[i.primary.get()].group;
    let one = !raw.instances.is_empty() && random.chance(0.85);
    let source = one.then(|| group(random.pick(&raw.instances)));
    let list = instances(raw, |i| source.is_none_or(|source| group(i) == source), random);
    let mut targets: Vec<String> = Vec::new();
    if random.chance(0.5) {
        targets.extend((0..random.between(1, 2)).map(|_| group_name(raw, random)));
    }
    let stays = |key: &String| {
        source.is_some_and(|s| [&raw.groups[s.get()].name, &raw.groups[s.get()].uuid].contains(&key))
    };
    if random.chance(0.95) {
        targets.retain(|key| !stays(key));
    }
    json!({"instances": list, "target_groups": targets})
}

/// The name, mostly complete. Otherwise it is without the common suffix, or only its first part, which are not always
/// the same.
fn shortened(raw: &RawCluster, name: &str, random: &mut Random) -> String {
    match random.weighted(&[0.72, 0.25, 0.03]) {
        0 => name.to_owned(),
        1 => name.strip_suffix(common_suffix(raw)).unwrap_or(name).to_owned(),
        _ => short_or_full(name, random),
    }
}

fn one_without_secondary(raw: &RawCluster, random: &mut Random) -> String {
    let single: Vec<&RawInstance> = raw.instances.iter().filter(|i| i.secondary.is_none()).collect();
    match (single.is_empty() || random.chance(0.08), raw.instances.is_empty() || random.chance(0.02)) {
        (_, true) => "nosuch".into(),
        (true, _) => random.pick(&raw.instances).name.clone(),
        (false, _) => random.pick(&single).name.clone(),
    }
}
