//! Command lines: the options, and the ways to type them.

use htools::generate::random::Random;

use super::cases::Facts;
use super::clusters::OddCluster;
use super::tools::Tool;

/// An option before it is typed in one of its ways.
#[derive(Debug, Clone)]
pub struct Opt {
    short: Option<char>,
    long: &'static str,
    value: Value,
}

#[derive(Debug, Clone)]
enum Value {
    None,
    Required(String),
    Optional(Option<String>),
}

/// An option without value.
pub fn flag(short: impl Into<Option<char>>, long: &'static str) -> Opt {
    Opt { short: short.into(), long, value: Value::None }
}

/// An option with a value.
pub fn valued(short: impl Into<Option<char>>, long: &'static str, value: impl Into<String>) -> Opt {
    Opt { short: short.into(), long, value: Value::Required(value.into()) }
}

/// An option with or without a value.
pub fn optional(short: impl Into<Option<char>>, long: &'static str, value: Option<String>) -> Opt {
    Opt { short: short.into(), long, value: Value::Optional(value) }
}

/// Shuffles the options, except for descriptions of groups, whose order matters.
pub fn shuffle(options: &mut [Opt], random: &mut Random) {
    let describes = |option: &Opt| option.long == "simulate";
    let groups: Vec<Opt> = options.iter().filter(|option| describes(option)).cloned().collect();
    random.shuffle(options);
    for (place, group) in options.iter_mut().filter(|option| describes(option)).zip(groups) {
        *place = group;
    }
}

/// The words of a command line with these options.
pub fn typed(tool: Tool, options: &[Opt], random: &mut Random) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    // True if more short options can be appended to the last word.
    let mut open = false;
    for option in options {
        let short = option.short.filter(|_| random.chance(0.6));
        if let Some(letter) = short {
            match (&mut words[..], open && random.chance(0.4)) {
                ([.., last], true) => last.push(letter),
                _ => words.push(format!("-{letter}")),
            }
            let last = words.last_mut().expect("a word was just written");
            open = false;
            match &option.value {
                Value::None => open = true,
                Value::Required(value) if random.chance(0.5) && !value.is_empty() => last.push_str(value),
                Value::Required(value) => words.push(value.clone()),
                Value::Optional(None) => {}
                Value::Optional(Some(value)) => last.push_str(value),
            }
        } else {
            open = false;
            let name = abbreviated(tool, option.long, random);
            match &option.value {
                Value::None | Value::Optional(None) => words.push(format!("--{name}")),
                Value::Required(value) if random.chance(0.5) => {
                    words.extend([format!("--{name}"), value.clone()]);
                }
                Value::Required(value) | Value::Optional(Some(value)) => {
                    words.push(format!("--{name}={value}"));
                }
            }
        }
    }
    words
}

fn abbreviated(tool: Tool, long: &'static str, random: &mut Random) -> &'static str {
    if !random.chance(0.25) {
        return long;
    }
    let unique = |prefix: &str| tool.long_options().filter(|o| o.starts_with(prefix)).count() == 1;
    let lengths: Vec<usize> = (1..long.len()).filter(|n| unique(&long[..*n])).collect();
    if lengths.is_empty() { long } else { &long[..*random.pick(&lengths)] }
}

const FIELDS: [&str; 32] = [
    "idx",
    "name",
    "fqdn",
    "status",
    "tmem",
    "nmem",
    "xmem",
    "fmem",
    "umem",
    "imem",
    "rmem",
    "amem",
    "tdsk",
    "fdsk",
    "tcpu",
    "ucpu",
    "pcnt",
    "scnt",
    "plist",
    "slist",
    "pfmem",
    "pfdsk",
    "rcpu",
    "cload",
    "mload",
    "dload",
    "nload",
    "ptags",
    "peermap",
    "spindle_count",
    "hi_spindles",
    "inst_spindles",
];

/// The value of `-p`.
pub fn fields(random: &mut Random) -> Option<String> {
    match random.below(5) {
        0 => None,
        1 => Some(FIELDS.join(",")),
        n => {
            let mut names: Vec<&str> = Vec::new();
            for _ in 0..random.between(1, 7) {
                names.push(FIELDS[random.below(FIELDS.len())]);
            }
            Some(if n == 2 { format!("+{}", names.join(",")) } else { names.join(",") })
        }
    }
}

/// Options of both tools.
pub fn common(odd: &OddCluster, facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    let levels = random.weighted(&[0.35, 0.2, 0.12, 0.08, 0.05, 0.04, 0.1, 0.06]);
    match levels {
        0 => {}
        1..=5 => options.extend((0..levels).map(|_| flag('v', "verbose"))),
        6 => options.push(flag('q', "quiet")),
        _ => options.extend([flag('q', "quiet"), flag('q', "quiet"), flag('v', "verbose")]),
    }
    if random.chance(0.03) {
        options.extend([flag('q', "quiet"), flag('q', "quiet")]);
    }
    if random.chance(0.3) {
        options.push(optional('p', "print-nodes", fields(random)));
    }
    if random.chance(if odd.has("split instances") { 0.12 } else { 0.2 }) {
        options.push(flag(None, "print-instances"));
        facts.print_instances = true;
    }
    if random.chance(0.1) && odd.raw.nodes.len() > 1 {
        for _ in 0..random.between(1, 2) {
            let name = &random.pick(&odd.raw.nodes).name;
            let key = if random.chance(0.4) { name.split('.').next().unwrap_or(name) } else { name };
            facts.offline.push(key.to_owned());
            options.push(valued('O', "offline", key));
        }
    }
    if random.chance(0.04) {
        options.push(flag(None, "ignore-dynu"));
    }
    if facts.monitoring {
        options.push(optional(None, "mond", random.chance(0.5).then(|| "yes".into())));
        options.push(valued(None, "mond-data", "mond.json"));
    } else if random.chance(0.02) {
        options.push(optional(None, "mond", Some("no".into())));
    }
    options
}

/// Options of hbal only.
pub fn balancing(odd: &OddCluster, facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    let number = |random: &mut Random, values: &[&'static str]| random.pick(values).to_string();
    if odd.raw.groups.len() > 1 && !random.chance(0.04) {
        let group = random.pick(&odd.raw.groups);
        let key = if random.chance(0.4) { &group.uuid } else { &group.name };
        facts.group = Some(key.clone());
        options.push(valued('G', "group", key));
    } else if random.chance(0.02) {
        options.push(valued('G', "group", "nosuch"));
    }
    if odd.has("large") {
        options.push(valued('l', "max-length", number(random, &["1", "2", "2"])));
    } else if random.chance(0.15) {
        options.push(valued('l', "max-length", number(random, &["0", "1", "2", "3", "5", "-1", "-7"])));
    }
    for (chance, short, long, values) in [
        (0.08, Some('e'), "min-score", &["0.5", "1", "0", "-1", "1e-3", "20"][..]),
        (0.12, Some('g'), "min-gain", &["0", "0.001", "0.1", "0.5", "-1"]),
        (0.12, None, "min-gain-limit", &["0", "0.5", "5", "100"]),
        (0.06, None, "max-cpu", &["1.5", "2", "3", "0.5", "64"]),
        (0.06, None, "min-disk", &["0.05", "0.1", "0.3", "0.6", "-0.2"]),
        (0.02, None, "static-kvm-node-memory", &["0", "1024"]),
    ] {
        if random.chance(chance) {
            options.push(valued(short, long, number(random, values)));
        }
    }
    for (chance, short, long) in [
        (if odd.has("offline nodes") { 0.3 } else { 0.02 }, Some('E'), "evac-mode"),
        (0.07, None, "restricted-migration"),
        (0.06, None, "no-disk-moves"),
        (0.06, None, "no-instance-moves"),
        (if odd.has("tight policy") { 0.4 } else { 0.06 }, None, "ignore-soft-errors"),
        (0.1, None, "first-job-group"),
    ] {
        if random.chance(chance) {
            options.push(flag(short, long));
        }
    }
    if !odd.raw.instances.is_empty() {
        for (chance, long) in [(0.05, "select-instances"), (0.08, "exclude-instances")] {
            if random.chance(chance) {
                let keys: Vec<String> = (0..random.between(1, 8))
                    .map(|_| short_or_full(&random.pick(&odd.raw.instances).name.clone(), random))
                    .collect();
                options.push(valued(None, long, keys.join(",")));
            }
        }
    }
    if random.chance(if odd.has("exclusion tags") { 0.3 } else { 0.02 }) {
        options.push(valued(
            None,
            "exclusion-tags",
            number(random, &["service", "role", "role,service", "x", ""]),
        ));
    }
    if random.chance(0.35) {
        facts.commands = true;
        let place = match random.below(4) {
            0 => Some("commands.sh".to_owned()),
            1 => Some("-".into()),
            _ => None,
        };
        options.push(optional('C', "print-commands", place));
    }
    if random.chance(if odd.has("split instances") { 0.12 } else { 0.2 }) {
        facts.save = true;
        options.push(valued('S', "save", "state"));
    }
    // A job names its instance. If two instances have that name, ours does not begin.
    if random.chance(0.04) && !(odd.has("LUXI") && odd.has("duplicate names")) {
        facts.execute = true;
        options.push(flag('X', "exec"));
    }
    if facts.utilisation {
        options.push(valued('U', "dynu-file", "utilisation"));
    }
    if facts.monitoring {
        for (chance, long) in [(0.4, "mond-xen"), (0.3, "exit-on-missing-mond-data")] {
            if random.chance(chance) {
                options.push(flag(None, long));
            }
        }
    }
    options
}

/// A name, or its first part.
pub fn short_or_full(name: &str, random: &mut Random) -> String {
    if random.chance(0.3) { name.split('.').next().unwrap_or(name).to_owned() } else { name.to_owned() }
}
