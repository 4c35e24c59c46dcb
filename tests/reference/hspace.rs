//! Cases of hspace: small clusters to be filled.

use htools::generate::random::Random;
use htools::load::simulate;

use super::cases::{self, Case, Facts, Source};
use super::clusters::{OddCluster, odd_cluster};
use super::hail::simulation;
use super::mistakes;
use super::oddities::Purpose;
use super::options::{self, Opt, flag, optional, valued};
use super::tools::Tool;

/// Creates a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    let mut cluster = odd_cluster(Purpose::Fill, random);
    let mut facts = Facts::default();
    let (mut files, mut meant) = (Vec::new(), Vec::new());
    let mut source = Source::Nowhere;
    if random.chance(0.2) {
        let specs: Vec<String> =
            (0..random.weighted(&[0.0, 0.5, 0.35, 0.15])).map(|_| simulation(random)).collect();
        cluster.features.clear();
        cluster.features.extend(["simulated", "no policy"]);
        cluster.raw = simulate::parse_specs(&specs).unwrap_or_default();
        meant.extend(specs.into_iter().map(|spec| valued(None, "simulate", spec)));
    } else {
        source = cases::draw_any_source(&mut cluster, random);
        files.extend(cases::source_files(source, &mut cluster, random));
    }
    meant.extend(sizes(&cluster, source, &mut facts, random));
    meant.extend(checks(&cluster, &mut facts, random));
    meant.extend(output(&mut facts, random));
    options::shuffle(&mut meant, random);
    let mut words = options::typed(Tool::Hspace, &meant, random);
    let source_at = if random.chance(0.5) { words.len() } else { 0 };
    if random.chance(0.04) {
        facts.mistaken = true;
        words.extend(mistakes::mistake(Tool::Hspace, random));
    }
    Case { number, tool: Tool::Hspace, cluster, files, words, source_at, source, facts, asked: None }
}

/// Options for the size and number of instances.
fn sizes(odd: &OddCluster, source: Source, facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    // The sizes in the built-in policy are far apart.
    let default_policy = odd.has("no policy") || source == Source::Request;
    if random.chance(if default_policy { 0.9 } else { 0.5 }) {
        let name = *random.pick(&[
            "drbd",
            "drbd",
            "plain",
            "plain",
            "ext",
            "ext",
            "file",
            "sharedfile",
            "blockdev",
            "rbd",
            "gluster",
            "diskless",
        ]);
        options.push(valued(None, "disk-template", name));
    }
    if random.chance(0.1) {
        options.push(valued(None, "spindle-use", *random.pick(&["0", "1", "2", "5"])));
    }
    if random.chance(if default_policy { 0.95 } else { 0.25 }) {
        options.push(valued(None, "standard-alloc", size(odd, 4, 9, random)));
    }
    if random.chance(if default_policy { 0.995 } else { 0.25 }) {
        options.push(valued(None, "tiered-alloc", size(odd, 1, 5, random)));
    }
    if random.chance(0.25) {
        let limit = *random.pick(&[1, 1, 2, 3, 3, 5, 8, 12, 0, -1, -2]);
        facts.limit = Some(limit);
        options.push(valued('l', "max-length", limit.to_string()));
    }
    options
}

/// A size that fits a few times into a node.
fn size(odd: &OddCluster, least: i64, most: i64, random: &mut Random) -> String {
    let node = odd.raw.nodes.iter().max_by(|a, b| a.mem_total.total_cmp(&b.mem_total));
    let (mem, disk) = node.map_or((2048, 20_480), |n| (n.mem_total as i64, n.disk_total as i64));
    let mem = (mem / random.between(least, most)).clamp(64, 1 << 16);
    let disk = (disk / random.between(least, most + 3)).clamp(256, if least == 1 { 12_288 } else { 1 << 18 });
    let mut parts = vec![
        match random.below(3) {
            0 => format!("{}g", (disk / 1024).max(1)),
            1 => format!("{disk}m"),
            _ => disk.to_string(),
        },
        if random.chance(0.3) { format!("{mem}m") } else { mem.to_string() },
        random.between(1, if least == 1 { 6 } else { 2 }).to_string(),
    ];
    if random.chance(0.4) {
        parts.push(random.between(1, 6).to_string());
    }
    parts.join(",")
}

/// Options that select nodes and checks.
fn checks(odd: &OddCluster, facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    for (chance, long) in [
        (0.2, "independent-groups"),
        (if odd.has("failing N+1") { 0.4 } else { 0.15 }, "accept-existing-errors"),
        (0.25, "no-capacity-checks"),
    ] {
        if random.chance(chance) {
            options.push(flag(None, long));
        }
    }
    if random.chance(0.1) && odd.raw.nodes.len() > 1 {
        let name = &random.pick(&odd.raw.nodes).name;
        let key = options::short_or_full(name, random);
        options.push(valued('O', "offline", key.clone()));
        facts.offline.push(key);
    }
    for (chance, long, values) in [
        (0.08, "max-cpu", &["1.5", "2", "0.5", "64"][..]),
        (0.08, "min-disk", &["0.05", "0.1", "0.3", "-0.2"]),
        (0.02, "static-kvm-node-memory", &["0", "1024"]),
    ] {
        if random.chance(chance) {
            options.push(valued(None, long, *random.pick(values)));
        }
    }
    options
}

fn output(facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    for _ in 0..random.weighted(&[0.4, 0.25, 0.1, 0.25]) {
        options.push(flag('v', "verbose"));
    }
    for _ in 0..random.weighted(&[0.88, 0.08, 0.04]) {
        options.push(flag('q', "quiet"));
    }
    if random.chance(0.2) {
        options.push(optional('p', "print-nodes", options::fields(random)));
    }
    if random.chance(0.2) {
        facts.save = true;
        options.push(valued('S', "save", "state"));
    }
    if random.chance(0.4) {
        let value = *random.pick(&[None, Some("yes"), Some("yes"), Some("no")]);
        facts.machine_readable = value != Some("no");
        options.push(optional(None, "machine-readable", value.map(str::to_owned)));
    }
    options
}
