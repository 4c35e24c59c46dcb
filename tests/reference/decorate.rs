//! Oddities that do not depend on the places of instances: names, tags, run states of nodes, policies, spindles, and
//! the free resources that nodes report.

use htools::generate::random::Random;
use htools::load::raw::RawGroup;
use htools::model::{AllocPolicy, DiskParameters, InstancePolicy, Mib, NodeIdx};

use super::clusters::OddCluster;
use super::oddities::Purpose;
use super::{memory, policies};

/// A group of the default policy.
pub fn group(number: usize, purpose: Purpose, random: &mut Random) -> RawGroup {
    use AllocPolicy::{LastResort, Preferred, Unallocable};
    let alloc_policy = match purpose {
        Purpose::Balance => *random.pick(AllocPolicy::ALL),
        Purpose::Allocate => [Preferred, LastResort, Unallocable][random.weighted(&[0.6, 0.25, 0.15])],
        Purpose::Fill => [Preferred, LastResort, Unallocable][random.weighted(&[0.7, 0.22, 0.08])],
    };
    RawGroup {
        name: format!("group{}", number + 1),
        uuid: format!("uuid-{}", number + 1),
        alloc_policy,
        networks: Vec::new(),
        policy: InstancePolicy::default(),
        disk_parameters: DiskParameters::default(),
        tags: if random.chance(0.1) { vec!["some:tag".into()] } else { Vec::new() },
    }
}

/// Applies the features of `odd`.
pub fn decorate(odd: &mut OddCluster, random: &mut Random) {
    names(odd, random);
    tags(odd, random);
    policies::policies(odd, random);
    networks(odd, random);
    spindles(odd, random);
    cpus(odd, random);
    secondaries(odd, random);
    memory::free_memory(odd, random);
    roles(odd, random);
    duplicates(odd, random);
    // This comes last because it depends on everything above.
    let settled = if odd.purpose == Purpose::Balance { 0.75 } else { 0.98 };
    if random.chance(settled) {
        memory::settle_flags(odd, random);
    }
}

fn names(odd: &mut OddCluster, random: &mut Random) {
    let style = random.weighted(&[0.5, 0.15, 0.12, 0.1, 0.08, 0.05]);
    odd.features.insert(
        ["common suffix", "no suffix", "partly common suffix", "prefixes", "long", "non-ASCII"][style],
    );
    let name = |kind: &str, i: usize| match style {
        0 => format!("{kind}{i}.example.com"),
        1 => format!("{kind}-{i}"),
        2 => format!("{kind}{i}.{}.example.com", ["a", "b"][i % 2]),
        // "node" is a name, and also a prefix of others.
        3 => {
            let number = if i < 4 { String::new() } else { (i / 4).to_string() };
            format!("{kind}{number}{}", ["", ".x", ".x.y", ".z"][i % 4])
        }
        4 => format!("{kind}-{}{i}.dc{}.example.org", "x".repeat(i * 7 % 13), i % 3),
        _ => format!("{kind}ä{}.éxample.com", i * 3),
    };
    for (i, node) in odd.raw.nodes.iter_mut().enumerate() {
        node.name = name("node", i);
    }
    for (i, instance) in odd.raw.instances.iter_mut().enumerate() {
        instance.name = name("inst", i);
    }
}

fn tags(odd: &mut OddCluster, random: &mut Random) {
    let mut cluster = Vec::new();
    if odd.has("exclusion tags") {
        cluster.push("htools:iextags:service".to_owned());
        if random.chance(0.3) {
            cluster.push("htools:iextags:role:".into());
        }
        let kinds = (odd.raw.instances.len() / 4).max(1);
        for instance in &mut odd.raw.instances {
            if random.chance(0.5) {
                instance.tags.push(format!("service:{}", random.below(kinds)));
            }
            if random.chance(0.15) {
                instance.tags.push(format!("role:{}", random.pick(&["db", "web"])));
            }
            if random.chance(0.05) {
                instance.tags.push("service2".into());
            }
        }
    }
    if odd.has("location tags") {
        cluster.push("htools:nlocation:power".into());
        for node in &mut odd.raw.nodes {
            if random.chance(0.85) {
                node.tags.push(format!("power:{}", random.below(3)));
            }
            if random.chance(0.1) {
                node.tags.push("power:0".into());
            }
        }
    }
    if odd.has("desired locations") {
        cluster.push("htools:desiredlocation:power".into());
        for instance in &mut odd.raw.instances {
            if random.chance(0.3) {
                instance.tags.push(format!("power:{}", random.below(3)));
            }
        }
    }
    if odd.has("migration tags") {
        cluster.push("htools:migration:hv".into());
        if random.chance(0.7) {
            cluster.push("htools:allowmigration:hv:1::hv:2".into());
        }
        if random.chance(0.2) {
            cluster.push("htools:allowmigration:hv:2::hv:1::more".into());
        }
        for node in &mut odd.raw.nodes {
            if random.chance(0.6) {
                node.tags.push(format!("hv:{}", random.between(1, 2)));
            }
        }
    }
    if random.chance(0.1) {
        cluster.extend(["owner:ops, really|x".into(), "htools:iextags:".into()]);
    }
    random.shuffle(&mut cluster);
    odd.raw.tags = cluster;
}

fn spindles(odd: &mut OddCluster, random: &mut Random) {
    if odd.has("spindles") || odd.has("exclusive storage") {
        for node in &mut odd.raw.nodes {
            node.spindle_total = random.between(2, 24);
        }
        for instance in &mut odd.raw.instances {
            let none = odd.purpose == Purpose::Balance || random.chance(0.1);
            instance.spindle_use = *random.pick(if none { &[1, 1, 1, 2, 3, 0] } else { &[1, 1, 1, 2, 3, 1] });
        }
    }
    if odd.has("exclusive storage") {
        let everywhere = odd.has("dedicated");
        let exclusive: Vec<bool> = odd.raw.nodes.iter().map(|_| everywhere || random.chance(0.8)).collect();
        let mut used = vec![0; exclusive.len()];
        for instance in &mut odd.raw.instances {
            let least = if odd.purpose == Purpose::Balance { 0 } else { 1 };
            let spindles = random.chance(0.9).then(|| random.between(least, 3));
            instance.disks[0].spindles = spindles;
            for node in std::iter::once(instance.primary).chain(instance.secondary) {
                used[node.get()] += spindles.unwrap_or(0);
            }
        }
        for (i, node) in odd.raw.nodes.iter_mut().enumerate() {
            node.exclusive_storage = exclusive[i];
            node.spindle_total = used[i] + random.between(1, 12);
            node.spindle_free = node.spindle_total - used[i];
        }
    } else if random.chance(0.2) {
        for node in &mut odd.raw.nodes {
            node.spindle_free = random.between(0, 5);
        }
    }
    if odd.has("zero spindles") {
        one(&mut odd.raw.nodes, random, |node| node.spindle_total = 0);
    }
}

/// The existing networks; a group may lack some.
pub const NETWORKS: [&str; 3] = ["net-1", "net-2", "net-3"];

fn networks(odd: &mut OddCluster, random: &mut Random) {
    if !odd.has("networks") {
        return;
    }
    for group in &mut odd.raw.groups {
        group.networks =
            NETWORKS.iter().filter(|_| random.chance(0.7)).map(|network| (*network).to_owned()).collect();
    }
    for instance in &mut odd.raw.instances {
        for _ in 0..random.weighted(&[0.5, 0.4, 0.1]) {
            let named = random.chance(0.8);
            instance.networks.push(named.then(|| (*random.pick(&NETWORKS)).to_owned()));
        }
    }
}

fn cpus(odd: &mut OddCluster, random: &mut Random) {
    for node in &mut odd.raw.nodes {
        if odd.features.contains("cpu speed") {
            node.cpu_speed = *random.pick(&[1.0, 0.8, 1.25, 2.0, 0.3, 1.1]);
        }
        if odd.features.contains("os cpus") {
            node.cpu_node = random.between(0, 4);
        }
    }
}

fn secondaries(odd: &mut OddCluster, random: &mut Random) {
    let nodes = odd.raw.nodes.len();
    if odd.has("stray secondary") {
        for instance in &mut odd.raw.instances {
            if !instance.template.has_secondary() && random.chance(0.3) {
                let stray = NodeIdx::new(random.below(nodes));
                // Naming the primary twice concerns only balancing.
                if odd.purpose == Purpose::Balance || stray != instance.primary {
                    instance.secondary = Some(stray);
                }
            }
        }
    }
    if odd.has("drbd without secondary") {
        one(&mut odd.raw.instances, random, |instance| instance.secondary = None);
    }
}

fn roles(odd: &mut OddCluster, random: &mut Random) {
    let count = odd.raw.nodes.len();
    if random.chance(0.8) {
        one(&mut odd.raw.nodes, random, |node| node.master = true);
    }
    if odd.has("offline nodes") && count > 2 {
        let without_data = odd.has("empty offline nodes");
        for _ in 0..random.between(1, (count as i64 / 3).max(1)) {
            one(&mut odd.raw.nodes, random, |node| {
                node.offline = true;
                node.master = false;
                if without_data {
                    node.mem_free = Mib(0);
                    node.disk_free = Mib(0);
                }
            });
        }
    }
    if odd.has("unknown nodes") && count > 1 {
        let i = random.below(count);
        odd.unknown.insert(i);
        let node = &mut odd.raw.nodes[i];
        (node.mem_total, node.disk_total, node.cpu_total, node.cpu_speed) = (0.0, 0.0, 0.0, 1.0);
        (node.mem_node, node.mem_free, node.disk_free) = (Mib(0), Mib(0), Mib(0));
        (node.cpu_node, node.spindle_total, node.spindle_free) = (0, 0, 0);
        (node.exclusive_storage, node.offline, node.master) = (false, true, false);
        node.tags.clear();
    }
    if odd.has("all offline") {
        for node in &mut odd.raw.nodes {
            node.offline = true;
        }
    }
}

fn duplicates(odd: &mut OddCluster, random: &mut Random) {
    if odd.has("duplicate names") && odd.raw.instances.len() > 1 {
        let copied = random.pick(&odd.raw.instances).name.clone();
        one(&mut odd.raw.instances, random, |instance| instance.name = copied);
    }
    // If two nodes have the same name, all references mean the later one.
    if odd.has("duplicate names") && random.chance(0.4) && odd.raw.nodes.len() > 2 {
        let copied = odd.raw.nodes[0].name.clone();
        let last = odd.raw.nodes.len() - 1;
        odd.raw.nodes[last].name = copied;
        for instance in &mut odd.raw.instances {
            if instance.primary.get() == 0 {
                instance.primary = NodeIdx::new(last);
            }
            if instance.secondary == Some(NodeIdx::new(0)) {
                instance.secondary = Some(NodeIdx::new(last));
            }
        }
        odd.raw.instances.retain(|x| Some(x.primary) != x.secondary);
    }
}

/// Changes a random item, if there is any.
pub fn one<T>(items: &mut [T], random: &mut Random, change: impl FnOnce(&mut T)) {
    let chosen = random.below(items.len());
    if let Some(item) = items.get_mut(chosen) {
        change(item);
    }
}
