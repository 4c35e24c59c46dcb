//! Cases of hail: a request, with the cluster in the same file or elsewhere.

use htools::generate::random::Random;
use htools::load::raw::RawCluster;
use htools::load::simulate;
use htools::model::Mib;
use serde_json::{Value, json};

use super::cases::{Case, Facts, REQUEST, Source, TEXT};
use super::clusters::{OddCluster, odd_cluster};
use super::mistakes;
use super::oddities::Purpose;
use super::options::{self, Opt, flag, optional, valued};
use super::rules::Rule;
use super::tools::Tool;
use super::{damage, input, memory, questions, requests};

/// The request and its circumstances, for judging the answer.
#[derive(Debug, Clone)]
pub struct Asked {
    pub request: Value,
    /// Source of the cluster.
    pub place: Place,
    /// The capacity check is on.
    pub checked: bool,
    /// The file is damaged.
    pub damaged: bool,
}

/// Source of hail's cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the file of the request.
    Own,
    /// In a text file.
    Text,
    /// In a text file that is the actual cluster; the request's objects are looked up there.
    Foreign,
    /// In the descriptions of a simulation.
    Simulated,
}

impl Asked {
    /// The type of the request.
    pub fn kind(&self) -> &str {
        self.request["type"].as_str().unwrap_or_default()
    }

    /// The instances to allocate.
    pub fn entries(&self) -> Vec<&Value> {
        match self.kind() {
            "allocate" => vec![&self.request],
            "multi-allocate" => self.request["instances"].as_array().into_iter().flatten().collect(),
            _ => Vec::new(),
        }
    }

    /// The named group.
    pub fn group_name(&self) -> Option<&str> {
        self.request["group_name"].as_str()
    }
}

/// Creates a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    let place = [Place::Own, Place::Text, Place::Foreign, Place::Simulated]
        [random.weighted(&[0.85, 0.08, 0.025, 0.045])];
    let mut words_of_place = Vec::new();
    let mut cluster = odd_cluster(Purpose::Allocate, random);
    match place {
        Place::Own => requests::limit_to_request(&mut cluster, random),
        Place::Simulated => (cluster, words_of_place) = simulated(random),
        Place::Text | Place::Foreign => words_of_place = vec![valued('t', "text-data", TEXT)],
    }
    let kvm = place == Place::Own && random.chance(0.06);
    let static_memory =
        random.chance(if kvm { 0.6 } else { 0.03 }).then(|| *random.pick(&[0, 512, 1000, -1]));
    if kvm {
        replace_node_memory(&mut cluster, static_memory.unwrap_or(4096), random);
    }
    let kind = questions::draw_type(matches!(place, Place::Text | Place::Simulated), &cluster.raw, random);
    let mut asked = Asked {
        request: questions::question(kind, &cluster.raw, random),
        place,
        checked: true,
        damaged: false,
    };
    let mut facts = Facts::default();
    let mut meant = meant(&cluster, &mut facts, &mut asked, random);
    meant.extend(words_of_place);
    meant.extend(static_memory.map(|mib| valued(None, "static-kvm-node-memory", mib.to_string())));
    options::shuffle(&mut meant, random);
    let mut words = options::typed(Tool::Hail, &meant, random);
    let mut source = if random.chance(0.1) { Source::Input } else { Source::Argument };
    if random.chance(0.025) {
        facts.mistaken = true;
        words.extend(mistakes::mistake(Tool::Hail, random));
    } else if random.chance(0.005) {
        facts.mistaken = true;
        source = Source::Nowhere;
    }
    let source_at = if random.chance(0.5) { words.len() } else { 0 };
    let files = files(&mut cluster, &asked, random);
    let asked = Some(asked);
    let mut case = Case { number, tool: Tool::Hail, cluster, files, words, source_at, source, facts, asked };
    if random.chance(0.08) {
        damage(&mut case, random);
    }
    case
}

/// Damages the request, which may still be accepted. It is done only if no listed difference depends on the request's
/// content.
fn damage(case: &mut Case, random: &mut Random) {
    let textual = |rule: &Rule| [Rule::ChangeGroupDump, Rule::InitialN1, Rule::LoadsBack].contains(rule);
    if Rule::ALL.iter().any(|rule| !textual(rule) && rule.applies(case)) {
        return;
    }
    let Some(asked) = &mut case.asked else { return };
    for (_, content) in case.files.iter_mut().filter(|(name, _)| *name == REQUEST) {
        if let Ok(mut message) = serde_json::from_str(content) {
            asked.damaged = true;
            *content = damage::damaged(&mut message, random);
        }
    }
}

/// On KVM, replaces the nodes' own memory by the option's value.
fn replace_node_memory(cluster: &mut OddCluster, mib: i64, random: &mut Random) {
    if mib <= 0 {
        return;
    }
    cluster.features.insert("kvm");
    for node in &mut cluster.raw.nodes {
        node.mem_total += if node.mem_total > 0.0 { (Mib(mib) - node.mem_node).as_f64() } else { 0.0 };
        node.mem_node = Mib(mib);
    }
    memory::settle_flags(cluster, random);
}

fn files(cluster: &mut OddCluster, asked: &Asked, random: &mut Random) -> Vec<(&'static str, String)> {
    let kvm = cluster.has("kvm");
    let hypervisors: &[&str] = match random.below(20) {
        _ if kvm => &["kvm", "xen-pvm"],
        0 => &[],
        1 => &["xen-pvm", "kvm"],
        _ => &["xen-pvm"],
    };
    let own = match asked.place {
        Place::Own => {
            let mut raw = cluster.raw.clone();
            if kvm {
                // The value that will be replaced.
                raw.nodes.iter_mut().for_each(|node| node.mem_node = Mib(77));
            }
            raw
        }
        Place::Foreign => other_order(&cluster.raw),
        Place::Text | Place::Simulated => small(random),
    };
    let message = requests::message(&own, hypervisors, &asked.request);
    let mut files = vec![(REQUEST, format!("{message}\n"))];
    if matches!(asked.place, Place::Text | Place::Foreign) {
        files.push((TEXT, input::text(cluster, random)));
    }
    files
}

/// The same names in another order.
fn other_order(raw: &RawCluster) -> RawCluster {
    let mut raw = raw.clone();
    raw.instances.reverse();
    raw
}

/// A cluster that must not matter.
fn small(random: &mut Random) -> RawCluster {
    let mut other = odd_cluster(Purpose::Allocate, random);
    requests::limit_to_request(&mut other, random);
    if random.chance(0.6) {
        other.raw.nodes.clear();
        other.raw.instances.clear();
    }
    other.raw
}

fn simulated(random: &mut Random) -> (OddCluster, Vec<Opt>) {
    let specs: Vec<String> = (0..random.between(1, 2)).map(|_| simulation(random)).collect();
    let mut cluster = odd_cluster(Purpose::Allocate, random);
    cluster.features.clear();
    cluster.features.insert("simulated");
    cluster.raw = simulate::parse_specs(&specs).unwrap_or_default();
    (cluster, specs.into_iter().map(|spec| valued(None, "simulate", spec)).collect())
}

/// The description of a group of nodes for a simulation.
pub fn simulation(random: &mut Random) -> String {
    let mut parts = vec![
        (*random.pick(&["p", "p", "a", "preferred", "last_resort"])).to_owned(),
        random.between(1, 5).to_string(),
        (*random.pick(&["40g", "60000", "100G", "200000m"])).to_owned(),
        (*random.pick(&["2g", "3000", "4G", "4096m"])).to_owned(),
        random.between(1, 8).to_string(),
    ];
    if random.chance(0.4) {
        parts.push(random.between(0, 12).to_string());
        if random.chance(0.5) {
            parts.push((*random.pick(&["True", "False"])).to_owned());
        }
    }
    parts.join(",")
}

fn meant(odd: &OddCluster, facts: &mut Facts, asked: &mut Asked, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    for _ in 0..random.weighted(&[0.8, 0.1, 0.06, 0.04]) {
        options.push(flag('v', "verbose"));
    }
    if random.chance(0.2) {
        options.push(optional('p', "print-nodes", options::fields(random)));
    }
    if random.chance(0.2) {
        facts.save = true;
        options.push(valued('S', "save", "state"));
    }
    let soft = if odd.has("tight policy") || odd.has("exclusion tags") { 0.25 } else { 0.08 };
    for (chance, long) in [(soft, "ignore-soft-errors"), (0.03, "ignore-dynu")] {
        if random.chance(chance) {
            options.push(flag(None, long));
        }
    }
    let elsewhere = ["change-group", "allocate-secondary"].contains(&asked.kind());
    if random.chance(if elsewhere { 0.5 } else { 0.2 }) {
        asked.checked = false;
        options.push(flag(None, "no-capacity-checks"));
    }
    if random.chance(0.06) {
        let mut names: Vec<&str> =
            odd.raw.nodes.iter().filter(|_| random.chance(0.6)).map(|node| node.name.as_str()).collect();
        if random.chance(0.3) {
            names.push("nosuch");
        }
        facts.restricted = Some(names.iter().map(|name| (*name).to_owned()).collect());
        options.push(valued(None, "restrict-allocation-to", names.join(",")));
    }
    if random.chance(0.02) {
        options.push(optional(None, "mond", Some("no".into())));
    }
    options
}

/// The message that gives hbal and others a cluster: a request to evacuate nothing.
pub fn nothing_asked(raw: &RawCluster) -> String {
    // With KVM, the nodes' own memory would be replaced.
    let request = json!({"type": "node-evacuate", "instances": [], "evac_mode": "all"});
    format!("{}\n", requests::message(raw, &["xen-pvm"], &request))
}
