//! Cases of hcheck, and the answer that ours must give according to the reference's.

use htools::generate::random::Random;
use htools::load::raw::RawCluster;
use htools::model::Mirroring;

use super::cases::{self, Case, Facts};
use super::clusters::{OddCluster, odd_cluster};
use super::oddities::Purpose;
use super::options::{self, Opt, flag, optional, short_or_full, valued};
use super::rules::{Rule, is_offline};
use super::tools::Tool;
use super::{loads, mistakes, restate};

/// Creates a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    // The reference takes too long for large ones.
    let mut cluster: OddCluster = loop {
        let cluster = odd_cluster(Purpose::Balance, random);
        if !cluster.has("large") {
            break cluster;
        }
    };
    // The reference gets requests as text, which does not distinguish disks.
    cluster.purpose = Purpose::Fill;
    let source = cases::draw_local_source(&mut cluster, random);
    let mut facts = Facts { utilisation: random.chance(0.12), ..Facts::default() };
    let mut files = cases::local_files(source, &mut cluster, random);
    let mut meant = search(&cluster, random);
    if facts.utilisation {
        meant.push(valued('U', "dynu-file", "utilisation"));
        files.push(("utilisation", loads::utilisation(&cluster.raw, random)));
    }
    meant.extend(own(&cluster.raw, cluster.has("split instances"), &mut facts, random));
    options::shuffle(&mut meant, random);
    let mut words = options::typed(Tool::Hcheck, &meant, random);
    let source_at = if random.chance(0.5) { words.len() } else { 0 };
    if random.chance(0.04) {
        facts.mistaken = true;
        words.extend(mistakes::mistake(Tool::Hcheck, random));
    }
    Case { number, tool: Tool::Hcheck, cluster, files, words, source_at, source, facts, asked: None }
}

/// Options for the balancing of groups.
fn search(odd: &OddCluster, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    if odd.raw.nodes.len() > 8 && random.chance(0.7) {
        options.push(valued('l', "max-length", *random.pick(&["1", "2", "3"])));
    }
    for (chance, short, long, values) in [
        (0.15, Some('l'), "max-length", &["0", "1", "2", "3", "5", "-1", "-7"][..]),
        (0.08, Some('e'), "min-score", &["0.5", "1", "0", "-1", "1e-3", "20"]),
        (0.12, Some('g'), "min-gain", &["0", "0.001", "0.1", "0.5", "-1"]),
        (0.12, None, "min-gain-limit", &["0", "0.5", "5", "100"]),
        (0.06, None, "max-cpu", &["1.5", "2", "3", "0.5", "64"]),
        (0.06, None, "min-disk", &["0.05", "0.1", "0.3", "0.6", "-0.2"]),
        (
            if odd.has("exclusion tags") { 0.3 } else { 0.02 },
            None,
            "exclusion-tags",
            &["service", "role,service", "x", ""],
        ),
    ] {
        if random.chance(chance) {
            options.push(valued(short, long, *random.pick(values)));
        }
    }
    for (chance, short, long) in [
        (if odd.has("offline nodes") { 0.3 } else { 0.02 }, Some('E'), "evac-mode"),
        (0.08, None, "no-disk-moves"),
        (0.08, None, "no-instance-moves"),
        (if odd.has("tight policy") { 0.4 } else { 0.06 }, None, "ignore-soft-errors"),
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
    options
}

/// Options for the checks and for the output.
fn own(raw: &RawCluster, split: bool, facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    let levels: &[(&str, f64)] =
        &[("", 0.6), ("v", 0.15), ("vvv", 0.05), ("q", 0.12), ("qv", 0.04), ("qq", 0.04)];
    let level = levels[random.weighted(&levels.iter().map(|l| l.1).collect::<Vec<_>>())].0;
    facts.quiet = level.starts_with('q') && level != "qv";
    options.extend(level.chars().map(|c| flag(c, if c == 'q' { "quiet" } else { "verbose" })));
    if random.chance(0.12) && raw.nodes.len() > 1 {
        for _ in 0..random.between(1, 2) {
            let key = short_or_full(&random.pick(&raw.nodes).name, random);
            options.push(valued('O', "offline", key.clone()));
            facts.offline.push(key);
        }
    }
    if random.chance(0.04) {
        options.push(flag(None, "ignore-dynu"));
    }
    if random.chance(0.15) {
        options.push(flag(None, "no-simulation"));
        facts.no_simulation = true;
    }
    if random.chance(if split { 0.5 } else { 0.15 }) {
        options.push(flag(None, "no-capacity-checks"));
        facts.no_capacity_checks = true;
    }
    if random.chance(0.5) {
        let value = *random.pick(&[None, Some("yes"), Some("no")]);
        facts.machine_readable = value != Some("no");
        options.push(optional(None, "machine-readable", value.map(str::to_owned)));
    }
    options
}

/// Keys of a block, with their labels.
const VALUES: [(&str, &str); 8] = [
    ("N1_FAIL", "Nodes not N+1 happy"),
    ("CONFLICT_TAGS", "Nodes with conflicting instances"),
    ("OFFLINE_PRI", "Instances having the primary node offline"),
    ("OFFLINE_SEC", "Instances having a secondary node offline"),
    ("GN1_FAIL", "Nodes not directly evacuateable"),
    ("SCORE", "Group score"),
    ("NEED_REBALANCE", "Cluster is not healthy"),
    // Only ours has it, and only for shells.
    PROBLEMS_LEFT,
];

const PROBLEMS_LEFT: (&str, &str) = ("PROBLEMS_LEFT", "Problems left");

/// An answer: the head, the blocks of statistics, and the flag for shell output.
#[derive(Debug, Clone, Default, PartialEq)]
struct Answer {
    head: Vec<String>,
    initial: Vec<Block>,
    last: Vec<Block>,
    shell: bool,
}

/// The statistics of a group or, in the last block, of the cluster.
#[derive(Debug, Clone, Default, PartialEq)]
struct Block {
    title: String,
    values: Vec<(usize, String)>,
}

impl Block {
    fn get(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|v| VALUES[v.0].0 == key).map(|v| v.1.as_str())
    }

    fn set(&mut self, key: &str, value: &str) {
        if let Some(found) = self.values.iter_mut().find(|v| VALUES[v.0].0 == key) {
            found.1 = value.to_owned();
        }
    }

    fn number(&self, key: &str) -> i64 {
        self.get(key).and_then(|v| v.parse().ok()).unwrap_or(0)
    }

    fn bad(&self) -> bool {
        VALUES[..5].iter().any(|(key, _)| self.number(key) > 0)
    }

    /// Adopts the other's count of nodes that cannot be emptied, if it is larger.
    fn raise_capacity(&mut self, from: &Block) {
        if from.number("GN1_FAIL") > self.number("GN1_FAIL") {
            self.set("GN1_FAIL", from.get("GN1_FAIL").unwrap_or_default());
        }
    }

    /// Inserts the other's count of nodes that cannot be emptied at its place.
    fn take_capacity(&mut self, from: &Block) {
        if let (None, Some(value)) = (self.get("GN1_FAIL"), from.get("GN1_FAIL")) {
            let at = self.values.iter().position(|v| v.0 > 4).unwrap_or(self.values.len());
            self.values.insert(at, (4, value.to_owned()));
        }
    }
}

fn parsed(text: &str) -> Option<Answer> {
    let shell = text.starts_with("HCHECK_");
    let mut answer = Answer { shell, ..Answer::default() };
    let blocks: &mut Vec<(bool, Block)> = &mut Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let found = VALUES.iter().enumerate().find_map(|(at, (key, label))| match shell {
            true => {
                let (name, value) = line.split_once('=')?;
                let title = name.strip_suffix(&format!("_{key}"))?;
                // One key is the suffix of another.
                let other = *key == "N1_FAIL" && name.ends_with("_GN1_FAIL");
                (!other && !title.contains("UUID")).then_some((Some(title), at, value))
            }
            false => Some((None, at, line.strip_prefix("    ")?.strip_prefix(label)?.strip_prefix(": ")?)),
        });
        match found {
            Some((Some(title), at, value)) => {
                if blocks.last().is_none_or(|(_, block)| block.title != title) {
                    let block = Block { title: title.to_owned(), values: Vec::new() };
                    blocks.push((title.starts_with("HCHECK_FINAL"), block));
                }
                blocks.last_mut()?.1.values.push((at, value.to_owned()));
            }
            Some((None, at, value)) => blocks.last_mut()?.1.values.push((at, value.to_owned())),
            None if line.contains("tatistics") => {
                let block = Block { title: line.to_owned(), values: Vec::new() };
                blocks.push((line.ends_with(" after rebalancing"), block));
            }
            None => answer.head.push(line.to_owned()),
        }
    }
    for (last, block) in blocks.drain(..) {
        if last { answer.last.push(block) } else { answer.initial.push(block) }
    }
    (!answer.initial.is_empty()).then_some(answer)
}

/// Form of the request to the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The same as ours.
    Alike,
    /// The same as ours, but it may find that more nodes can be emptied.
    Hopefully,
    /// Without the check for nodes that can be emptied.
    WithoutCapacity,
    /// With nodes out of use that take no instances; only the initial state is compared.
    AtFirst,
}

/// Form of the restated request to the reference.
pub fn asked_again(case: &Case) -> Asked {
    let restated = |rule: Rule| rule.applies(case);
    match () {
        () if restated(Rule::SplitInstanceCheck) => Asked::WithoutCapacity,
        () if restated(Rule::OfflineRescue) => Asked::AtFirst,
        () => Asked::Alike,
    }
}

fn is_silent(case: &Case) -> bool {
    case.facts.quiet && !case.facts.machine_readable
}

/// Turns the reference's answer (status and text) into the one that ours must equal. Returns the difference that
/// applies.
pub fn expect(case: &Case, asked: Asked, theirs: &mut [String; 2], ours: &[String; 2]) -> Option<Rule> {
    let mut answer = parsed(&theirs[1])?;
    let mut used = None;
    if answer.initial.len() == 1 && answer.initial[0].values.len() == 1 {
        without_nodes(case, &mut answer);
        used = Some(Rule::LabelsWithoutNodes);
    }
    if is_silent(case) {
        let status = silent_status(case, asked, &mut answer)?;
        let status = status.map_or_else(|| ours[0].clone(), |s| format!("Some({s})"));
        *theirs = [status, String::new()];
        return used.or(Some(Rule::OfflineSecondaries));
    }
    let mine = parsed(&ours[1])?;
    let simulated = match answer.shell {
        true => needed(&answer.initial) && !case.facts.no_simulation,
        false => !answer.last.is_empty(),
    };
    let pairs = answer.initial.iter_mut().zip(&mine.initial).chain(answer.last.iter_mut().zip(&mine.last));
    match asked {
        Asked::Alike | Asked::AtFirst => {}
        Asked::Hopefully => pairs.for_each(|(block, mine)| block.raise_capacity(mine)),
        Asked::WithoutCapacity => pairs.for_each(|(block, mine)| block.take_capacity(mine)),
    }
    if count_instances(case, &mut answer, &mine)? {
        used = used.or(Some(Rule::OfflineSecondaries));
    }
    used = score_offline_groups(case, &mut answer, &mine).or(used);
    let initially = judged(&mut answer.initial);
    if !answer.shell && !case.facts.no_simulation {
        let heads = ["No need to rebalance cluster, no problems found.", "Cluster needs rebalancing."];
        answer.head = vec![heads[usize::from(initially)].to_owned()];
    }
    let simulates = initially && !case.facts.no_simulation;
    if simulates && (asked == Asked::AtFirst || !simulated) {
        // The reference saw no faults, or was not asked to repair them.
        if asked == Asked::Alike {
            return None;
        }
        answer.last = mine.last.clone();
    } else if !simulates {
        answer.last = if answer.shell { as_last(&answer.initial) } else { Vec::new() };
    }
    judge(&mut answer.last, initially);
    if answer.shell {
        used = used.or(Some(Rule::ProblemsLeft));
        say_what_is_left(&mut answer.last);
    }
    let status = i32::from(initially && !case.facts.no_simulation);
    *theirs = [format!("Some({status})"), answer.text()];
    used
}

/// Our status where only the reference prints anything. It is unknown if the reference did not check for nodes that
/// cannot be emptied.
fn silent_status(case: &Case, asked: Asked, answer: &mut Answer) -> Option<Option<i32>> {
    count_instances_initially(case, answer)?;
    let wrong = judged(&mut answer.initial) && !case.facts.no_simulation;
    let known = wrong || case.facts.no_simulation || asked != Asked::WithoutCapacity;
    Some(known.then_some(i32::from(wrong)))
}

fn needed(blocks: &[Block]) -> bool {
    blocks.last().and_then(|block| block.get("NEED_REBALANCE")).is_some_and(|v| v == "1" || v == "True")
}

/// Sets the flag of the cluster's block according to its counts.
fn judged(blocks: &mut [Block]) -> bool {
    let bad = blocks.last().is_some_and(Block::bad);
    judge(blocks, bad);
    bad
}

/// Sets the flag of the cluster's block, if there is one.
fn judge(blocks: &mut [Block], bad: bool) {
    let Some(cluster) = blocks.last_mut() else { return };
    let words = if cluster.title.starts_with("HCHECK") { ["0", "1"] } else { ["False", "True"] };
    cluster.set("NEED_REBALANCE", words[usize::from(bad)]);
}

/// Adds the value that tells if the counts leave any faults to the cluster's block, for shells.
fn say_what_is_left(blocks: &mut [Block]) {
    let Some(cluster) = blocks.last_mut() else { return };
    let left = u8::from(cluster.bad()).to_string();
    let at = VALUES.iter().position(|value| *value == PROBLEMS_LEFT).expect("it is in the table");
    cluster.values.retain(|value| value.0 != at);
    cluster.values.push((at, left));
}

fn as_last(initial: &[Block]) -> Vec<Block> {
    let renamed = |block: &Block| Block { title: block.title.replace("_INIT_", "_FINAL_"), ..block.clone() };
    initial.iter().map(renamed).collect()
}

/// All values of a cluster without nodes. The reference calls the flag by the first name.
fn without_nodes(case: &Case, answer: &mut Answer) {
    let zero = |block: &mut Block| {
        let flag = block.values[0].1.clone();
        let keys = (0..5).filter(|at| *at != 4 || !case.facts.no_capacity_checks);
        block.values = keys.map(|at| (at, "0".to_owned())).chain([(6, flag)]).collect();
    };
    answer.initial.iter_mut().chain(&mut answer.last).for_each(zero);
}

/// Counts under one name, by group and, last, for the cluster: those of the reference and ours.
struct SecondaryCounts {
    offline_nodes: Vec<i64>,
    instances: Vec<i64>,
}

fn count_secondaries(case: &Case) -> SecondaryCounts {
    let raw = &case.cluster.raw;
    let count = |what: &dyn Fn(usize) -> i64| -> Vec<i64> {
        let groups = 0..raw.groups.len();
        let with_nodes = groups.filter(|g| raw.nodes.iter().any(|n| n.group.get() == *g));
        let counts: Vec<i64> = with_nodes.map(what).collect();
        let all = counts.iter().sum();
        counts.into_iter().chain([all]).collect()
    };
    let offline_nodes = count(&|g| {
        (0..raw.nodes.len()).filter(|i| raw.nodes[*i].group.get() == g && is_offline(case, *i)).count() as i64
    });
    let instances = count(&|g| {
        let here =
            raw.instances.iter().filter(|x| raw.nodes[x.primary.get()].group.get() == g && !x.forthcoming);
        let mirrored = here.filter(|x| x.template.mirroring() == Mirroring::Internal);
        mirrored.filter(|x| x.secondary.is_some_and(|s| is_offline(case, s.get()))).count() as i64
    });
    SecondaryCounts { offline_nodes, instances }
}

/// Replaces the number of nodes by that of instances in the initial state, after checking it.
fn count_instances_initially(case: &Case, answer: &mut Answer) -> Option<bool> {
    let SecondaryCounts { offline_nodes, instances } = count_secondaries(case);
    let mut changed = false;
    for (at, block) in answer.initial.iter_mut().enumerate() {
        if block.number("OFFLINE_SEC") != *offline_nodes.get(at)? {
            return None;
        }
        changed |= offline_nodes[at] != instances[at];
        block.set("OFFLINE_SEC", &instances[at].to_string());
    }
    Some(changed)
}

/// The same in both states.
fn count_instances(case: &Case, answer: &mut Answer, mine: &Answer) -> Option<bool> {
    let mut changed = count_instances_initially(case, answer)?;
    let SecondaryCounts { offline_nodes, instances } = count_secondaries(case);
    let simulated = !case.facts.no_simulation;
    for (at, block) in answer.last.iter_mut().enumerate() {
        if block.number("OFFLINE_SEC") != offline_nodes[at] {
            return None;
        }
        // A failover away from an offline node leaves the secondary there.
        let most = instances[at] + answer.initial[at].number("OFFLINE_PRI") - block.number("OFFLINE_PRI");
        let found = match mine.last.get(at).map(|block| block.number("OFFLINE_SEC")) {
            Some(found)
                if simulated && offline_nodes[offline_nodes.len() - 1] > 0 && (0..=most).contains(&found) =>
            {
                found
            }
            _ => instances[at],
        };
        changed |= offline_nodes[at] != found;
        block.set("OFFLINE_SEC", &found.to_string());
    }
    Some(changed)
}

/// Groups without online nodes have a score here.
fn score_offline_groups(case: &Case, answer: &mut Answer, mine: &Answer) -> Option<Rule> {
    let raw = &case.cluster.raw;
    let of_group = |g: usize| (0..raw.nodes.len()).filter(move |i| raw.nodes[*i].group.get() == g);
    let with_nodes = (0..raw.groups.len()).filter(|g| of_group(*g).count() > 0);
    let mut used = None;
    for (at, group) in with_nodes.enumerate() {
        if of_group(group).all(|i| is_offline(case, i)) {
            for (block, mine) in [
                (answer.initial.get_mut(at), mine.initial.get(at)),
                (answer.last.get_mut(at), mine.last.get(at)),
            ] {
                let (Some(block), Some(score)) = (block, mine.and_then(|m| m.get("SCORE"))) else { continue };
                if block.get("SCORE") == Some("0.00000000") && score != "0.00000000" {
                    block.set("SCORE", score);
                    used = Some(Rule::AllOffline);
                }
            }
        }
    }
    used
}

impl Answer {
    fn text(&self) -> String {
        let blocks = self.initial.iter().chain(&self.last);
        let mut lines: Vec<String> = Vec::new();
        if self.shell {
            let (end, head): (Vec<_>, Vec<_>) =
                self.head.iter().cloned().partition(|line| line == "HCHECK_OK=1");
            lines.extend(head);
            for block in blocks {
                lines.extend(
                    block
                        .values
                        .iter()
                        .map(|(at, value)| format!("{}_{}={value}", block.title, VALUES[*at].0)),
                );
            }
            lines.extend(end);
        } else {
            lines.extend(self.head.iter().cloned());
            for block in blocks {
                lines.extend([String::new(), block.title.clone()]);
                lines
                    .extend(block.values.iter().map(|(at, value)| format!("    {}: {value}", VALUES[*at].1)));
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Tells if all initial counts that do not depend on N+1 failures are equal.
pub fn same_but_n1(case: &Case, theirs: &str, ours: &str) -> bool {
    if is_silent(case) {
        return true;
    }
    let kept = |text: &str| {
        let initial = parsed(text)?.initial;
        let keys = ["CONFLICT_TAGS", "OFFLINE_PRI", "OFFLINE_SEC"];
        let values = |b: &Block| keys.map(|key| b.get(key).map(str::to_owned));
        Some(initial.iter().map(|b| (b.title.clone(), values(b))).collect::<Vec<_>>())
    };
    kept(theirs) == kept(ours)
}

/// The case, restated to avoid an error of the reference.
pub fn restate(case: &Case) -> Option<(Rule, Case)> {
    let mut other = case.clone();
    let mut add = |word: &str| {
        other.words.insert(0, word.to_owned());
        other.source_at += usize::from(other.source_at > 0);
    };
    let again = asked_again(case);
    match again {
        Asked::WithoutCapacity => add("--no-capacity-checks"),
        Asked::AtFirst => add("--no-simulation"),
        _ => {}
    }
    if is_silent(case) {
        // The last option counts.
        let at_end = other.source_at == other.words.len();
        other.words.push("--machine-readable".to_owned());
        other.source_at += usize::from(at_end && other.source_at > 0);
    }
    restate::as_text(case, &mut other, again == Asked::AtFirst);
    match again {
        Asked::WithoutCapacity => Some((Rule::SplitInstanceCheck, other)),
        Asked::AtFirst => Some((Rule::OfflineRescue, other)),
        // There, an offline node counts, as the status shows.
        _ if Rule::DisklessMoves.applies(case) => Some((Rule::DisklessMoves, other)),
        _ => (is_silent(case) && Rule::OfflineSecondaries.applies(case))
            .then_some((Rule::OfflineSecondaries, other)),
    }
}

/// Tells if the answers are equal except for nodes that cannot be emptied, of which ours may know more.
pub fn same_but_capacity(case: &Case, theirs: &[String; 2], ours: &[String; 2]) -> bool {
    if is_silent(case) {
        return true;
    }
    if Rule::DisklessMoves.applies(case) {
        // Balancing would give a different result there.
        return same_initially(case, &theirs[1], &ours[1]).unwrap_or(false);
    }
    let mut expected = theirs.clone();
    expect(case, Asked::Hopefully, &mut expected, ours);
    expected == *ours
}

/// The same for the state before balancing.
fn same_initially(case: &Case, theirs: &str, ours: &str) -> Option<bool> {
    let (mut theirs, ours) = (parsed(theirs)?, parsed(ours)?);
    theirs.initial.iter_mut().zip(&ours.initial).for_each(|(block, mine)| block.raise_capacity(mine));
    count_instances_initially(case, &mut theirs)?;
    score_offline_groups(case, &mut theirs, &ours);
    judged(&mut theirs.initial);
    Some(theirs.initial == ours.initial)
}
