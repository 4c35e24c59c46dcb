//! The same cluster gives the same model from every source, and written files contain what was read.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use htools::generate::random::Random;
use htools::generate::{ClusterSpec, TemplateMix, cluster};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::raw::{RawCluster, RawInstance};
use htools::load::text::writer::cluster_text;
use htools::load::{iallocator, simulate, text};
use htools::model::{
    AllocPolicy, Cluster, DiskTemplate, Draft, InstancePolicy, Mib, NodeIdx, Outage, RunStatus, SpecRange,
};
use htools::score::Board;
use htools::search::{BalanceOptions, Balancer};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::request::policy;

// --- helpers

fn model(raw: RawCluster) -> Cluster {
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib(4096));
    cluster
}

fn to_text(raw: &RawCluster) -> String {
    written(&model(raw.clone()))
}

fn from_text(content: &str) -> RawCluster {
    text::parse(content, "text").unwrap()
}

fn from_allocator(content: &str) -> RawCluster {
    iallocator::parse(content, "message").unwrap().cluster
}

fn written(cluster: &Cluster) -> String {
    let instances: Vec<_> = cluster.instances.iter().map(|i| i.idx).collect();
    cluster_text(cluster, &cluster.all_nodes(), &instances)
}

/// The whole content of a model and the resulting scores: groups, nodes with their ledgers and lists, instances,
/// tags, policies. Numbers have all their digits.
fn state(c: &Cluster) -> Vec<String> {
    let mut parts = vec![
        format!("{:?} {:?} {:?} {}", c.tags, c.policy, c.common_suffix, c.first_node_number),
        format!("{:?}", Board::new(c, &c.all_nodes()).components()),
    ];
    parts.extend(c.groups.iter().map(|g| format!("{g:?} {:?}", Board::new(c, c.nodes_of(g.idx)).score())));
    parts.extend(c.nodes.iter().map(|n| format!("{n:?}")));
    parts.extend(c.instances.iter().map(|i| format!("{i:?}")));
    parts
}

fn assert_same(a: &Cluster, b: &Cluster) {
    let (a, b) = (state(a), state(b));
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a, b);
    }
    assert_eq!(a.len(), b.len());
}

/// An allocator message with the cluster, as far as the format allows. Drained nodes are offline but keep their
/// figures.
fn message(raw: &RawCluster) -> String {
    let object = |members: Vec<(String, Value)>| Value::Object(members.into_iter().collect());
    let groups = raw.groups.iter().map(|g| {
        let group = json!({"name": g.name, "alloc_policy": g.alloc_policy.as_str(), "networks": g.networks,
            "tags": g.tags, "ipolicy": policy(&g.policy)});
        (g.uuid.clone(), group)
    });
    let nodes = raw.nodes.iter().map(|n| {
        let node = json!({"group": raw.groups[n.group.get()].uuid, "offline": false, "drained": n.offline,
            "tags": n.tags, "total_memory": n.mem_total, "reserved_memory": n.mem_node.0,
            "free_memory": n.mem_free.0, "total_disk": n.disk_total, "free_disk": n.disk_free.0,
            "total_cpus": n.cpu_total, "reserved_cpus": n.cpu_node, "total_spindles": n.spindle_total,
            "free_spindles": n.spindle_free,
            "ndparams": {"exclusive_storage": n.exclusive_storage, "spindle_count": n.spindle_total}});
        (n.name.clone(), node)
    });
    let instances = raw.instances.iter().map(|i| {
        let name = |n: NodeIdx| raw.nodes[n.get()].name.clone();
        let places: Vec<String> = [Some(i.primary), i.secondary].into_iter().flatten().map(name).collect();
        let disks: Vec<Value> =
            i.disks.iter().map(|d| json!({"size": d.size.0, "spindles": d.spindles})).collect();
        let admin_state = match i.status {
            RunStatus::AdminDown => "down",
            RunStatus::AdminOffline => "offline",
            _ => "up",
        };
        let instance = json!({"memory": i.mem.0, "vcpus": i.vcpus, "disk_space_total": i.disk.0,
            "disks": disks, "disk_template": i.template.as_str(), "nodes": places, "admin_state": admin_state,
            "spindle_use": i.spindle_use, "nics": [], "tags": i.tags, "forthcoming": i.forthcoming});
        (i.name.clone(), instance)
    });
    json!({"cluster_tags": raw.tags, "enabled_hypervisors": [], "nodegroups": object(groups.collect()),
        "nodes": object(nodes.collect()), "instances": object(instances.collect()),
        "request": {"type": "multi-allocate", "instances": []}})
    .to_string()
}

/// Replaces everything that a message cannot express by its default.
fn as_messages_have_it(mut raw: RawCluster) -> RawCluster {
    raw.policy = InstancePolicy::default();
    for node in &mut raw.nodes {
        node.master = false;
        node.cpu_speed = 1.0;
    }
    for instance in &mut raw.instances {
        instance.auto_balance = true;
        if !matches!(instance.status, RunStatus::AdminDown | RunStatus::AdminOffline) {
            instance.status = RunStatus::Running;
        }
    }
    raw
}

/// Makes a cluster odd, in ways that every format can express.
fn odd(mut raw: RawCluster, seed: u64) -> RawCluster {
    let random = &mut Random::stream(seed, 7);
    let tags = [
        "htools:iextags:service",
        "htools:nlocation:power",
        "htools:migration:hv",
        "htools:desiredlocation:x",
        "a b",
        "",
    ];
    raw.tags =
        tags.iter().filter(|t| !t.is_empty()).filter(|_| random.chance(0.5)).map(|t| t.to_string()).collect();
    let tag = |random: &mut Random| {
        random.pick(&["service:web", "power:a", "power:b", "hv:1", "x:1", "plain", "é"]).to_string()
    };
    for group in &mut raw.groups {
        group.alloc_policy = *random.pick(AllocPolicy::ALL);
        group.networks = (0..random.below(3)).map(|n| format!("net-{n}")).collect();
        group.tags = (0..random.below(3)).map(|_| tag(random)).collect();
        if random.chance(0.5) {
            let ratios = [0.01, 0.1, 1.5, 4.0, 1e7, 123_456.789, 0.0];
            group.policy.vcpu_ratio = *random.pick(&ratios);
            group.policy.spindle_ratio = *random.pick(&ratios);
            group.policy.disk_templates.truncate(random.below(9));
            let range = SpecRange { min: group.policy.std, max: group.policy.std };
            group.policy.ranges = vec![range; random.below(3)];
        }
    }
    for node in &mut raw.nodes {
        node.offline = random.chance(0.1);
        node.master &= !node.offline;
        node.cpu_speed = *random.pick(&[1.0, 0.8, 2.0, 0.000_001]);
        node.cpu_node = random.between(0, 2);
        node.tags = (0..random.below(4)).map(|_| tag(random)).collect();
        node.spindle_total = random.between(0, 12);
        if random.chance(0.2) {
            node.exclusive_storage = true;
            node.spindle_free = random.between(-1, 12);
        }
        if random.chance(0.1) {
            (node.mem_total, node.disk_total, node.cpu_total) = (0.0, 0.0, 0.0);
        }
        if random.chance(0.1) {
            node.mem_free = Mib(random.between(-5000, 200_000));
        }
    }
    let last = raw.nodes.len();
    for instance in &mut raw.instances {
        instance.status = *random.pick(RunStatus::ALL);
        instance.auto_balance = random.chance(0.8);
        instance.forthcoming = random.chance(0.1);
        instance.tags = (0..random.below(3)).map(|_| tag(random)).collect();
        instance.spindle_use = random.between(0, 3);
        if random.chance(0.3) {
            instance.template = *random.pick(DiskTemplate::ALL);
            let other = NodeIdx::new(random.below(last));
            instance.secondary = (other != instance.primary && random.chance(0.7)).then_some(other);
        }
        if random.chance(0.3) {
            for disk in &mut instance.disks {
                disk.spindles = Some(random.between(0, 4));
            }
        }
    }
    raw
}

fn clusters() -> impl Strategy<Value = RawCluster> {
    use TemplateMix::*;
    let mixes = prop::sample::select(vec![Drbd, Ext, Plain, Mixed]);
    (2_usize..9, 0_usize..25, mixes, 1_usize..4, any::<[bool; 3]>(), any::<u32>()).prop_map(
        |(nodes, instances, templates, groups, [heterogeneous, tags, is_odd], seed)| {
            let seed = u64::from(seed);
            let groups = groups.min(nodes / 2);
            let spec = ClusterSpec {
                groups,
                heterogeneous,
                tags,
                ..ClusterSpec::new(nodes, instances, templates, seed)
            };
            let raw = cluster(&spec);
            if is_odd { odd(raw, seed) } else { raw }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Written text is read and written again unchanged.
    #[test]
    fn text_to_model_to_text(raw in clusters()) {
        let content = to_text(&raw);
        let read = from_text(&content);
        let first = model(read.clone());
        prop_assert_eq!(written(&first), content.as_str());
        // The model is that of the original cluster.
        assert_same(&model(raw), &first);
        prop_assert_eq!(to_text(&read), content);
    }

    /// A state saved after moves loads with exactly the figures and scores that were shown.
    #[test]
    fn what_was_moved_loads_back(mut raw in clusters()) {
        // A meaningless secondary counts until its instance moves.
        for instance in raw.instances.iter_mut().filter(|i| !i.template.has_secondary()) {
            instance.secondary = None;
        }
        // On nodes with exclusive storage, instances with external storage use planned spindles when moved, as in the
        // reference, but not when loaded. Instances with unknown spindles leave -1 behind.
        let odd = |i: &RawInstance| !i.template.has_secondary() || i.forthcoming;
        if raw.instances.iter().any(odd) {
            raw.nodes.iter_mut().for_each(|node| node.exclusive_storage = false);
        }
        let mut end = Draft::from(model(raw));
        for nodes in end.groups.iter().map(|g| end.nodes_of(g.idx).to_vec()).collect::<Vec<_>>() {
            let mut balancer = Balancer::new(&mut end, &nodes, BalanceOptions::default());
            while balancer.next_step().is_some() {}
        }
        let saved = written(&end);
        let loaded = model(from_text(&saved));
        for (end, loaded) in end.nodes.iter().zip(&loaded.nodes) {
            let mut ledger = loaded.state.ledger;
            if !end.spec.exclusive_storage {
                // Nothing uses this value.
                ledger.spindles_free_planned = end.state.ledger.spindles_free_planned;
            }
            prop_assert_eq!(format!("{:?}", end.state.ledger), format!("{:?}", ledger));
            prop_assert_eq!(end.mem_free(), loaded.mem_free());
            prop_assert_eq!(end.spec.mem_unaccounted, loaded.spec.mem_unaccounted);
        }
        let scores = |c: &Cluster| -> Vec<u64> {
            c.groups.iter().map(|g| Board::new(c, c.nodes_of(g.idx)).score().to_bits()).collect()
        };
        prop_assert_eq!(scores(&end), scores(&loaded));
        prop_assert_eq!(written(&loaded), saved);
    }

    /// Text and allocator message give the same model.
    #[test]
    fn text_and_allocator_message(raw in clusters()) {
        let raw = as_messages_have_it(raw);
        // Only text files are checked for implausible values.
        let by_text = RawCluster { doubts: Vec::new(), ..from_text(&to_text(&raw)) };
        let mut by_message = from_allocator(&message(&raw));
        // Only messages distinguish drained nodes from offline ones.
        for node in &mut by_message.nodes {
            node.outage = Outage::default();
        }
        prop_assert_eq!(&by_text, &by_message);
        assert_same(&model(by_text), &model(by_message));
    }

    /// Simulated clusters: description and text give the same cluster.
    #[test]
    fn simulation_text_and_allocator_message(
        groups in prop::collection::vec((0_usize..3, 0_u32..5, 1_u32..5000, 1_u32..512, 1_u32..64, 1_u32..9, any::<bool>()), 1..4)
    ) {
        let specs: Vec<String> = groups
            .iter()
            .map(|(policy, nodes, disk, memory, cpus, spindles, exclusive)| {
                let policy = ["p", "last_resort", "unallocable"][*policy];
                let exclusive = if *exclusive { "True" } else { "False" };
                format!("{policy},{nodes},{disk}g,{memory}g,{cpus},{spindles},{exclusive}")
            })
            .collect();
        let simulated = simulate::parse_specs(&specs).unwrap();
        // Only the displayed numbers of nodes start differently.
        let expected = RawCluster { first_node_number: 0, ..simulated.clone() };
        let by_text = from_text(&to_text(&simulated));
        prop_assert_eq!(&by_text, &expected);
        assert_same(&model(by_text), &model(expected.clone()));
        let by_message = from_allocator(&message(&simulated));
        assert_same(&model(by_message), &model(as_messages_have_it(expected)));
    }
}

/// Historic forms of the text are completed; the full form then stays.
#[test]
fn short_rows_are_completed() {
    let content = "g1|u1|preferred|\n\n\
        n1|1000|100|900|10000|9000|4|N|u1\n\
        n2|1000.5|100|900|10000|9000|4|M|u1|2|a,b|Y|1|3|0.8|ignored\n\
        n3|1000|?|?|10000|9000|4|M|u1|2|a,b|bad|x|y|z\n\n\
        i1|100|1024|1|running|Y|n1|n2|drbd|\n\
        i2|100|1024|1|USER_down|N|n1||plain|,|-3\n\ntag1\n\n\
        g1|128,1,1024,1,1,1|128,1,512,1,1,1;1024,8,1048576,16,8,12|drbd,plain|4|0.01\n";
    let expected = "g1|u1|preferred||\n\n\
        n1|1000|100|900|10000|9000|4|N|u1|1||N|0|1|1.0\n\
        n2|1000|100|900|10000|9000|4|M|u1|2|a,b|Y|1|3|0.8\n\
        n3|0|0|0|0|0|0|Y|u1|0||N|0|0|1.0\n\n\
        i1|100|1024|1|running|Y|n1|n2|drbd||1|-|N\n\
        i2|100|1024|1|USER_down|N|n1||plain|,|-3|-|N\n\ntag1\n\n\
        |128,1,1024,1,1,1|128,1,1024,1,1,1;32768,8,1048576,16,8,12|\
        diskless,file,sharedfile,plain,blockdev,drbd,rbd,ext,gluster|4.0|32.0\n\
        g1|128,1,1024,1,1,1|128,1,512,1,1,1;1024,8,1048576,16,8,12|drbd,plain|4.0|1.0e-2\n";
    assert_eq!(written(&model(from_text(content))), expected);
    assert_eq!(written(&model(from_text(expected))), expected);
}

// --- the samples

fn sample(name: &str) -> String {
    fs::read_to_string(Path::new("data").join(name)).unwrap()
}

#[test]
fn the_allocation_sample_holds_the_first_cluster() {
    let mut by_text = as_messages_have_it(from_text(&sample("unbalanced-drbd.data")));
    let mut by_message = from_allocator(&sample("allocate.json"));
    // The message has the disk without DRBD's metadata, an interface, and a hypervisor.
    for instance in &mut by_message.instances {
        assert_eq!(instance.disks[0].size + Mib(128), instance.disk);
        instance.disks[0].size = instance.disk;
    }
    let (text_model, message_model) = (model(by_text.clone()), {
        by_message.nodes.iter_mut().for_each(|node| node.hypervisor = None);
        model(by_message.clone())
    });
    assert_same(&text_model, &message_model);
    for instance in by_text.instances.iter_mut().chain(&mut by_message.instances) {
        instance.disks.clear();
        instance.networks.clear();
    }
    assert_eq!(by_text, by_message);
}

#[test]
fn figures_of_the_samples_add_up() {
    for entry in fs::read_dir("data").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "data") {
            continue;
        }
        let raw = from_text(&fs::read_to_string(&path).unwrap());
        let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
        assert_eq!(finish(&mut cluster, Mib(4096)), [], "{}", path.display());
        for node in &cluster.nodes {
            let name = &node.spec.name;
            // A node that is down has no figures.
            if node.spec.mem_total == 0.0 {
                continue;
            }
            assert_eq!(node.spec.mem_unaccounted, Mib(0), "{name}");
            // One sample contains a fault.
            let broken = path.ends_with("pools.data") && name == "s1";
            assert_eq!(node.state.ledger.n1_fail, broken, "{name}");
            let on_disk: Mib = (node.state.primaries.iter().chain(&node.state.secondaries))
                .map(|i| cluster.instance(*i))
                .filter(|i| matches!(i.template, DiskTemplate::Drbd | DiskTemplate::Plain))
                .map(|i| i.disk)
                .sum();
            assert_eq!(on_disk + node.state.ledger.disk_free, Mib(node.spec.disk_total as i64), "{name}");
        }
    }
}

/// `-S`: hinfo shows the same for the state saved before balancing as for the sample.
#[test]
fn saved_states_are_the_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("state");
    let htools = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").args(words);
        let output = command.assert().code(0).get_output().clone();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let samples = [
        ("balanced", "default"),
        ("groups", "rack-a"),
        ("mixed-templates", "default"),
        ("offline-nodes", "default"),
        ("tags", "default"),
        ("unbalanced-drbd", "default"),
    ];
    for (name, group) in samples {
        let file = format!("data/{name}.data");
        htools(&["hbal", "-t", &file, "-G", group, "-S", prefix.to_str().unwrap()]);
        let saved = directory.path().join("state.original");
        let info = |file: &str| {
            let list = "-p+fqdn,plist,slist,peermap,ptags,hi_spindles,inst_spindles,spindle_count,amem";
            htools(&["hinfo", "-t", file, "-v", "-v", "-v", list, "--print-instances"])
        };
        assert_eq!(info(saved.to_str().unwrap()), info(&file), "{name}");
        let json = |file: &str| htools(&["hinfo", "-t", file, "--json"]);
        assert_eq!(json(saved.to_str().unwrap()), json(&file), "{name}");
    }
}
