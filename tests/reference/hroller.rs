//! Cases of hroller: clusters with masters and tags on their nodes.

use htools::generate::random::Random;
use htools::load::raw::{RawCluster, RawGroup};
use htools::model::NodeIdx;

use super::cases::{self, Case, Facts, Source};
use super::clusters::{OddCluster, odd_cluster};
use super::mistakes;
use super::oddities::Purpose;
use super::options::{self, Opt, flag, valued};
use super::rules::is_offline;
use super::tools::Tool;

/// Options that the comparison needs to know.
#[derive(Debug, Clone, Default)]
pub struct Rolling {
    /// `--node-tags`
    pub tags: Option<Vec<String>>,
    /// `--skip-non-redundant`
    pub skips: bool,
    /// `--ignore-non-redundant`
    pub ignores: bool,
    /// `--full-evacuation`
    pub evacuates: bool,
}

/// Creates a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    let mut cluster = odd_cluster(Purpose::Balance, random);
    let mut facts = Facts::default();
    masters(&mut cluster, random);
    tags(&mut cluster, random);
    let source = cases::draw_local_source(&mut cluster, random);
    let files = cases::local_files(source, &mut cluster, random);
    let has_master = source != Source::Request && cluster.raw.nodes.iter().any(|n| n.master);
    let mut meant = selection(&cluster, &mut facts, random);
    meant.extend(maintenance(&mut facts, random));
    meant.extend(output(&mut facts, random));
    if random.chance(if has_master { 0.15 } else { 0.8 }) {
        meant.push(flag('f', "force"));
    }
    random.shuffle(&mut meant);
    let mut words = options::typed(Tool::Hroller, &meant, random);
    let source_at = if random.chance(0.5) { words.len() } else { 0 };
    if random.chance(0.04) {
        facts.mistaken = true;
        words.extend(mistakes::mistake(Tool::Hroller, random));
    }
    Case { number, tool: Tool::Hroller, cluster, files, words, source_at, source, facts, asked: None }
}

/// Mostly one master, sometimes none or several.
fn masters(odd: &mut OddCluster, random: &mut Random) {
    odd.raw.nodes.iter_mut().for_each(|node| node.master = false);
    let online: Vec<usize> = (0..odd.raw.nodes.len()).filter(|i| !odd.raw.nodes[*i].offline).collect();
    let wanted = random.weighted(&[0.08, 0.87, 0.05]);
    if online.is_empty() || wanted == 0 {
        odd.features.insert("no master");
        return;
    }
    for _ in 0..wanted {
        odd.raw.nodes[*random.pick(&online)].master = true;
    }
    if odd.raw.nodes.iter().filter(|node| node.master).count() > 1 {
        odd.features.insert("several masters");
    }
}

const TAGS: [&str; 4] = ["red", "blue", "green", "a b"];

fn tags(odd: &mut OddCluster, random: &mut Random) {
    if !random.chance(0.5) {
        return;
    }
    odd.features.insert("node tags");
    let chance = *random.pick(&[0.4, 0.7, 0.9]);
    for node in &mut odd.raw.nodes {
        for tag in TAGS.iter().filter(|_| random.chance(chance)) {
            node.tags.push((*tag).to_owned());
        }
    }
}

/// Options that select nodes.
fn selection(odd: &OddCluster, facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    let mut rolling = Rolling::default();
    if random.chance(if odd.has("node tags") { 0.5 } else { 0.02 }) {
        let value = *random.pick(&["red", "red", "blue", "green", "red,blue", "blue,a b", "", "nosuch,red"]);
        let list = value.split(',').filter(|tag| !tag.is_empty()).map(str::to_owned);
        rolling.tags = Some(list.collect());
        options.push(valued(None, "node-tags", value));
    }
    if random.chance(0.2) {
        rolling.skips = true;
        options.push(flag(None, "skip-non-redundant"));
    }
    facts.rolling = Some(rolling);
    if odd.raw.groups.len() > 1 && random.chance(0.4) {
        let group = random.pick(&odd.raw.groups);
        let key = if random.chance(0.4) { &group.uuid } else { &group.name };
        facts.group = Some(key.clone());
        options.push(valued('G', "group", key));
    } else if random.chance(0.02) {
        options.push(valued('G', "group", "nosuch"));
    }
    if random.chance(0.12) && odd.raw.nodes.len() > 1 {
        for _ in 0..random.between(1, 2) {
            let name = &random.pick(&odd.raw.nodes).name;
            let key = options::short_or_full(name, random);
            facts.offline.push(key.clone());
            options.push(valued('O', "offline", key));
        }
    }
    options
}

/// Options that constrain the plan.
fn maintenance(facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    let mut rolling = facts.rolling.take().unwrap_or_default();
    rolling.ignores = random.chance(0.25);
    rolling.evacuates = random.chance(0.35);
    for (holds, long) in [
        (rolling.ignores, "ignore-non-redundant"),
        (rolling.evacuates, "full-evacuation"),
        (random.chance(0.35), "offline-maintenance"),
    ] {
        if holds {
            options.push(flag(None, long));
        }
    }
    if random.chance(0.02) {
        options.push(valued(None, "static-kvm-node-memory", *random.pick(&["0", "1024"])));
    }
    facts.rolling = Some(rolling);
    options
}

fn output(facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    for _ in 0..random.weighted(&[0.4, 0.2, 0.35, 0.05]) {
        options.push(flag('v', "verbose"));
    }
    for _ in 0..random.weighted(&[0.85, 0.1, 0.05]) {
        options.push(flag('q', "quiet"));
    }
    for (chance, long) in [(0.65, "print-moves"), (0.15, "one-step-only"), (0.2, "no-headers")] {
        if random.chance(chance) {
            options.push(flag(None, long));
        }
    }
    if random.chance(0.1) {
        facts.save = true;
        options.push(valued('S', "save", "state"));
    }
    options
}

/// Tells for each node if the case plans for it.
pub fn selected(case: &Case) -> Vec<bool> {
    let raw = &case.cluster.raw;
    let Some(rolling) = &case.facts.rolling else { return vec![true; raw.nodes.len()] };
    let in_group = |group: &RawGroup| {
        case.facts.group.as_deref().is_none_or(|key| key == group.name || key == group.uuid)
    };
    let tied = |node: usize| {
        raw.instances
            .iter()
            .any(|i| i.primary == NodeIdx::new(node) && !i.template.has_secondary() && !i.forthcoming)
    };
    let tagged = |tags: &[String]| {
        rolling.tags.as_ref().is_none_or(|wanted| wanted.iter().any(|tag| tags.contains(tag)))
    };
    (0..raw.nodes.len())
        .map(|i| {
            let node = &raw.nodes[i];
            !is_offline(case, i)
                && in_group(&raw.groups[node.group.get()])
                && tagged(&node.tags)
                && !(rolling.skips && tied(i))
        })
        .collect()
}

/// Tells if there is an unselected node between selected ones.
pub fn has_gap(case: &Case) -> bool {
    let selected = selected(case);
    let first = selected.iter().position(|s| *s);
    let last = selected.iter().rposition(|s| *s);
    first.zip(last).is_some_and(|(first, last)| selected[first..=last].contains(&false))
}

/// The cluster with the selected nodes in front of all others, and without secondaries that equal the primary.
pub fn gathered(case: &Case) -> RawCluster {
    let selected = selected(case);
    let mut order: Vec<usize> = (0..selected.len()).collect();
    order.sort_by_key(|i| !selected[*i]);
    let mut raw = case.cluster.raw.clone();
    // Names mean the last node with that name, which must stay so.
    for i in (0..order.len()).filter(|i| !selected[*i]) {
        let name = raw.nodes[i].name.clone();
        if raw.nodes[i + 1..].iter().any(|node| node.name == name) {
            raw.nodes[i].name = format!("{name}.twin");
        }
    }
    let nodes = std::mem::take(&mut raw.nodes);
    let mut place = vec![NodeIdx::new(0); order.len()];
    for (new, old) in order.iter().enumerate() {
        place[*old] = NodeIdx::new(new);
    }
    raw.nodes = order.iter().map(|i| nodes[*i].clone()).collect();
    for instance in &mut raw.instances {
        instance.primary = place[instance.primary.get()];
        let secondary = instance.secondary.map(|node| place[node.get()]);
        instance.secondary = secondary.filter(|node| *node != instance.primary);
    }
    raw
}

/// Tells if the position of the other nodes can matter for the plan: instances move to the first node that takes
/// them.
pub fn order_matters(case: &Case) -> bool {
    let Some(rolling) = &case.facts.rolling else { return false };
    let raw = &case.cluster.raw;
    let selected = selected(case);
    let moves = rolling.evacuates
        || !rolling.ignores
            && raw.instances.iter().any(|i| !i.template.has_secondary() && selected[i.primary.get()]);
    moves
        && (0..raw.nodes.len()).any(|i| {
            let group = raw.nodes[i].group;
            let served = |j: usize| selected[j] && raw.nodes[j].group == group;
            !selected[i] && !is_offline(case, i) && (0..raw.nodes.len()).any(served)
        })
}

/// The answer with the names of nodes in place of their numbers, and with sorted neighbours.
pub fn with_names(text: &str, raw: &RawCluster) -> String {
    let line = |line: &str| {
        let Some(rows) = line.strip_prefix("Node Graph: array ") else { return line.to_owned() };
        let Some((_, rows)) = rows.split_once(" [(") else { return line.to_owned() };
        let name = |n: &str| n.parse::<usize>().ok().and_then(|n| raw.nodes.get(n)).map(|n| n.name.clone());
        let mut named: Vec<String> = rows
            .trim_end_matches(")]")
            .split("),(")
            .map(|row| {
                let (node, list) = row.split_once(",[").unwrap_or((row, ""));
                let mut list: Vec<_> = list.trim_end_matches(']').split(',').map(name).collect();
                list.sort();
                format!("{:?} {list:?}", name(node))
            })
            .collect();
        named.sort();
        named.join("\n")
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

/// The nodes of all groups, in the order of the output.
pub fn planned(stdout: &str) -> Vec<&str> {
    let aside = ["'", "Node Graph", "Dcolor: ", "Dsatur: ", "LF: ", "  "];
    let lines = stdout.lines().filter(|line| !aside.iter().any(|start| line.starts_with(start)));
    let mut names: Vec<&str> = lines.flat_map(|line| line.split(',')).filter(|n| !n.is_empty()).collect();
    names.sort_unstable();
    names
}
