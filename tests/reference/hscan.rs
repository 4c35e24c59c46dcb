//! Cases of hscan: a cluster in one or more directories of RAPI answers, some of which are damaged.

use htools::generate::random::Random;
use htools::model::Mib;

use super::cases::{Case, Facts, Source};
use super::clusters::odd_cluster;
use super::oddities::Purpose;
use super::options::{self, Opt, flag, optional, valued};
use super::server::SOCKET;
use super::tools::Tool;
use super::{luxi, mistakes, rapi};

/// Files of each directory, in the order of [`rapi::FILES`].
const DIRECTORIES: [[&str; 4]; 3] = [
    ["c1/groups.json", "c1/nodes.json", "c1/instances.json", "c1/info.json"],
    ["c2/groups.json", "c2/nodes.json", "c2/instances.json", "c2/info.json"],
    ["c3/groups.json", "c3/nodes.json", "c3/instances.json", "c3/info.json"],
];
/// Different names for each directory.
const NAMES: [[&str; 3]; 3] = [
    ["file://c1", "file://./c1", "file://c1/"],
    ["file://c2", "file://c1/../c2", "file://c2//"],
    ["file://c3", "file://c3", "file://./c3/."],
];

/// Creates a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    if random.chance(0.2) {
        return local(number, random);
    }
    let mut cluster = odd_cluster(Purpose::Balance, random);
    rapi::limit_to_rapi(&mut cluster, random);
    let hypervisor = *random.pick(&["kvm", "kvm", "fake", "xen-pvm", "xen-hvm", "lxc", "chroot"]);
    let mut facts = Facts::default();
    let mut files = vec![("out/keep", String::new())];
    let mut addresses = Vec::new();
    if random.chance(0.2) {
        let mut documents = rapi::documents(&cluster.raw, hypervisor, random);
        let (texts, meant) = rapi::damage(&mut documents, random);
        cluster.features.insert(if meant.is_some() { "RAPI, changed" } else { "RAPI, damaged" });
        facts.kvm = documents[3]["default_hypervisor"] == "kvm";
        cluster.raw = meant.unwrap_or(cluster.raw);
        addresses.push(*random.pick(&NAMES[0]));
        files.extend(DIRECTORIES[0].into_iter().zip(texts));
    } else {
        facts.kvm = hypervisor == "kvm";
        for which in 0..1 + random.weighted(&[0.75, 0.2, 0.05]) {
            // Each time in a different form.
            let documents = rapi::documents(&cluster.raw, hypervisor, random);
            let texts = documents.iter().map(|document| rapi::text(document, random));
            files.extend(DIRECTORIES[which].into_iter().zip(texts.collect::<Vec<_>>()));
            addresses.push(*random.pick(&NAMES[which]));
        }
    }
    if random.chance(0.06) {
        let lost = DIRECTORIES[0][random.below(4)];
        files.retain(|(name, _)| *name != lost);
    }
    if random.chance(0.08) {
        addresses.insert(random.below(addresses.len() + 1), "file://nosuch");
    }
    if random.chance(0.03) {
        addresses.push(addresses[0]);
    }
    let meant = output(&mut facts, random);
    for node in cluster.raw.nodes.iter_mut().filter(|_| facts.kvm && facts.node_memory > 0) {
        node.mem_node = Mib(facts.node_memory);
    }
    let mut words = options::typed(Tool::Hscan, &meant, random);
    if random.chance(0.05) {
        facts.mistaken = true;
        words.extend(mistakes::mistake(Tool::Hscan, random));
    }
    let mut addresses: Vec<String> = addresses.into_iter().map(str::to_owned).collect();
    // Only at an end, because a value belongs to the word before it.
    if random.chance(0.5) && !facts.mistaken {
        words.append(&mut addresses);
    } else {
        addresses.append(&mut words);
        words = addresses;
    }
    let source = Source::Nowhere;
    Case { number, tool: Tool::Hscan, cluster, files, words, source_at: 0, source, facts, asked: None }
}

/// A case with the local cluster.
fn local(number: u64, random: &mut Random) -> Case {
    let mut cluster = odd_cluster(Purpose::Balance, random);
    luxi::limit_to_luxi(&mut cluster, random);
    let hypervisor = *random.pick(&["kvm", "fake", "xen-pvm", "xen-hvm", "lxc", "chroot"]);
    let mut files = luxi::files(&mut cluster, hypervisor, true, random);
    files.push(("out/keep", String::new()));
    let mut facts = Facts::default();
    let mut meant = output(&mut facts, random);
    facts.kvm = hypervisor == "kvm";
    for node in cluster.raw.nodes.iter_mut().filter(|_| facts.kvm && facts.node_memory > 0) {
        node.mem_node = Mib(facts.node_memory);
    }
    // The last option counts.
    meant.push(optional('L', "luxi", Some(SOCKET.to_owned())));
    let words = options::typed(Tool::Hscan, &meant, random);
    let source = Source::Nowhere;
    Case { number, tool: Tool::Hscan, cluster, files, words, source_at: 0, source, facts, asked: None }
}

fn output(facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    facts.node_memory = 4096;
    if random.chance(0.35) {
        options.push(optional('p', "print-nodes", options::fields(random)));
    }
    if random.chance(0.3) {
        options.push(valued(
            'd',
            "output-dir",
            *random.pick(&["out", "out", "out/", "./out", ".", "c1", "nosuch"]),
        ));
    }
    for (chance, short, long) in [(0.2, None, "no-headers"), (0.15, Some('v'), "verbose")] {
        if random.chance(chance) {
            options.push(flag(short, long));
        }
    }
    if random.chance(0.05) {
        options.push(optional('L', "luxi", random.pick(&[None, Some("socket".to_owned())]).clone()));
    }
    if random.chance(0.2) {
        facts.node_memory = *random.pick(&[0, 0, 1024, 512, -1, 100_000]);
        options.push(valued(None, "static-kvm-node-memory", facts.node_memory.to_string()));
    }
    random.shuffle(&mut options);
    options
}
