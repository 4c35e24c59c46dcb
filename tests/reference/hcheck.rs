//! Cases of hcheck, and what ours has to say, given what the reference says.

use htools::generate::random::Random;
use htools::load::raw::RawCluster;
use htools::model::Mirroring;

use super::cases::{self, Case, Facts};
use super::clusters::odd_cluster;
use super::oddities::Purpose;
use super::options::{self, Opt, flag, optional, short_or_full, valued};
use super::rules::{Rule, is_offline};
use super::tools::Tool;
use super::{loads, mistakes};

/// Makes a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    let mut cluster = odd_cluster(Purpose::Check, random);
    let source = cases::draw_source(&mut cluster, random);
    let mut facts = Facts { utilisation: random.chance(0.12), ..Facts::default() };
    let mut files = vec![cases::source_file(source, &mut cluster, random)];
    let mut meant = options::search(&cluster, &mut facts, random);
    if facts.utilisation {
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

/// What is checked, and how it is shown.
fn own(raw: &RawCluster, split: bool, facts: &mut Facts, random: &mut Random) -> Vec<Opt> {
    let mut options = Vec::new();
    let levels: &[(&str, f64)] = &[("", 0.6), ("v", 0.15), ("vvv", 0.05), ("q", 0.12), ("qv", 0.04), ("qq", 0.04)];
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
const VALUES: [(&str, &str); 7] = [
    ("N1_FAIL", "Nodes not N+1 happy"),
    ("CONFLICT_TAGS", "Nodes with conflicting instances"),
    ("OFFLINE_PRI", "Instances having the primary node offline"),
    ("OFFLINE_SEC", "Instances having a secondary node offline"),
    ("GN1_FAIL", "Nodes not directly evacuateable"),
    ("SCORE", "Group score"),
    ("NEED_REBALANCE", "Cluster is not healthy"),
];

/// An answer: what comes first, the blocks of statistics, and whether it is for shells.
#[derive(Debug, Clone, Default, PartialEq)]
struct Answer {
    head: Vec<String>,
    initial: Vec<Block>,
    last: Vec<Block>,
    shell: bool,
}

/// The statistics of a group or, at the end, of the cluster.
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

    /// Puts the other's count of nodes that could not be emptied where it belongs.
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
                // one key is the end of another
                let other = *key == "N1_FAIL" && name.ends_with("_GN1_FAIL");
                (!other && !title.contains("UUID")).then(|| (Some(title), at, value))
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

/// What may be undone or checked of a listed difference, on both answers: `theirs` becomes what
/// ours has to be. Returns the difference that showed.
pub fn expect(case: &Case, restated: bool, theirs: &mut [String; 2], ours: &[String; 2]) -> Option<Rule> {
    if case.facts.mistaken && !theirs[0].contains('0') && theirs[1].is_empty() {
        return None;
    }
    let silent = case.facts.quiet && !case.facts.machine_readable;
    let mut answer = parsed(&theirs[1])?;
    let mine = if silent { None } else { Some(parsed(&ours[1])?) };
    let mut used = None;
    if answer.initial.len() == 1 && answer.initial[0].values.len() == 1 {
        without_nodes(case, &mut answer);
        used = Some(Rule::LabelsWithoutNodes);
    }
    let simulated = if answer.shell { needed(&answer.initial) && !case.facts.no_simulation } else { !answer.last.is_empty() };
    if let (Some(mine), true) = (&mine, restated) {
        let pairs = answer.initial.iter_mut().zip(&mine.initial).chain(answer.last.iter_mut().zip(&mine.last));
        pairs.for_each(|(block, mine)| block.take_capacity(mine));
    }
    if count_instances(case, &mut answer, mine.as_ref())? {
        used = used.or(Some(Rule::OfflineSecondaries));
    }
    if let Some(mine) = &mine {
        used = score_offline_groups(case, &mut answer, mine).or(used);
    }
    let initially = judge(&mut answer.initial);
    if !answer.shell && !case.facts.no_simulation {
        let heads = ["No need to rebalance cluster, no problems found.", "Cluster needs rebalancing."];
        answer.head = vec![heads[usize::from(initially)].to_owned()];
    }
    let mut finally = initially;
    match (initially && !case.facts.no_simulation, simulated) {
        // nothing to mend here
        (false, true) => {
            answer.last = match answer.shell {
                true => as_last(&answer.initial),
                false => Vec::new(),
            }
        }
        // asked in other words, the reference saw nothing to mend
        (true, false) => {
            let mine = mine.as_ref().filter(|_| restated)?;
            answer.last = mine.last.clone();
            finally = judge(&mut answer.last);
        }
        _ => {
            if !answer.last.is_empty() {
                finally = judge(&mut answer.last);
            }
        }
    }
    let status = i32::from(finally && !case.facts.no_simulation);
    let text = if silent { String::new() } else { answer.text() };
    // nothing says how many secondary nodes are offline in the end
    let unknown = silent && status == 0 && (0..case.cluster.raw.nodes.len()).any(|i| is_offline(case, i));
    let expected = [if unknown { ours[0].clone() } else { format!("Some({status})") }, text];
    if expected != *theirs {
        used = used.or(Some(Rule::FinalVerdict));
    }
    *theirs = expected;
    used
}

fn needed(blocks: &[Block]) -> bool {
    blocks.last().and_then(|block| block.get("NEED_REBALANCE")).is_some_and(|v| v == "1" || v == "True")
}

/// Sets the flag of the cluster's block by its counts.
fn judge(blocks: &mut [Block]) -> bool {
    let Some(cluster) = blocks.last_mut() else { return false };
    let bad = cluster.bad();
    let words = if cluster.title.starts_with("HCHECK") { ["0", "1"] } else { ["False", "True"] };
    cluster.set("NEED_REBALANCE", words[usize::from(bad)]);
    bad
}

fn as_last(initial: &[Block]) -> Vec<Block> {
    let renamed = |block: &Block| Block { title: block.title.replace("_INIT_", "_FINAL_"), ..block.clone() };
    initial.iter().map(renamed).collect()
}

/// All values of a cluster without nodes; the reference gives the flag the first name.
fn without_nodes(case: &Case, answer: &mut Answer) {
    let zero = |block: &mut Block| {
        let flag = block.values[0].1.clone();
        let keys = (0..5).filter(|at| *at != 4 || !case.facts.no_capacity_checks);
        block.values = keys.map(|at| (at, "0".to_owned())).chain([(6, flag)]).collect();
    };
    answer.initial.iter_mut().chain(&mut answer.last).for_each(zero);
}

/// Puts the number of instances for that of nodes, after checking that.
fn count_instances(case: &Case, answer: &mut Answer, mine: Option<&Answer>) -> Option<bool> {
    let raw = &case.cluster.raw;
    let count = |what: &dyn Fn(usize) -> i64| -> Vec<i64> {
        let groups = 0..raw.groups.len();
        let with_nodes = groups.filter(|g| raw.nodes.iter().any(|n| n.group.get() == *g));
        let counts: Vec<i64> = with_nodes.map(what).collect();
        let all = counts.iter().sum();
        counts.into_iter().chain([all]).collect()
    };
    let offline_nodes =
        count(&|g| (0..raw.nodes.len()).filter(|i| raw.nodes[*i].group.get() == g && is_offline(case, *i)).count() as i64);
    let instances = count(&|g| {
        let here = raw.instances.iter().filter(|x| raw.nodes[x.primary.get()].group.get() == g && !x.forthcoming);
        let mirrored = here.filter(|x| x.template.mirroring() == Mirroring::Internal);
        mirrored.filter(|x| x.secondary.is_some_and(|s| is_offline(case, s.get()))).count() as i64
    });
    let simulated = !case.facts.no_simulation;
    let mut changed = false;
    for (at, block) in answer.initial.iter_mut().enumerate() {
        if block.number("OFFLINE_SEC") != *offline_nodes.get(at)? {
            return None;
        }
        changed |= offline_nodes[at] != instances[at];
        block.set("OFFLINE_SEC", &instances[at].to_string());
    }
    for (at, block) in answer.last.iter_mut().enumerate() {
        if block.number("OFFLINE_SEC") != offline_nodes[at] {
            return None;
        }
        // a failover away from an offline node leaves the secondary there
        let most = instances[at] + answer.initial[at].number("OFFLINE_PRI") - block.number("OFFLINE_PRI");
        let found = match mine.and_then(|m| m.last.get(at)).map(|block| block.number("OFFLINE_SEC")) {
            Some(found) if simulated && offline_nodes[offline_nodes.len() - 1] > 0 && (0..=most).contains(&found) => found,
            _ => instances[at],
        };
        block.set("OFFLINE_SEC", &found.to_string());
    }
    Some(changed)
}

/// Groups of which no node is online have a score here.
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
            let (end, head): (Vec<_>, Vec<_>) = self.head.iter().cloned().partition(|line| line == "HCHECK_OK=1");
            lines.extend(head);
            for block in blocks {
                lines.extend(block.values.iter().map(|(at, value)| format!("{}_{}={value}", block.title, VALUES[*at].0)));
            }
            lines.extend(end);
        } else {
            lines.extend(self.head.iter().cloned());
            for block in blocks {
                lines.extend([String::new(), block.title.clone()]);
                lines.extend(block.values.iter().map(|(at, value)| format!("    {}: {value}", VALUES[*at].1)));
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Whether all counts at the beginning are the same that do not depend on which nodes fail N+1.
pub fn same_but_n1(case: &Case, theirs: &str, ours: &str) -> bool {
    if case.facts.quiet && !case.facts.machine_readable {
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

/// The case in words that avoid what the reference does wrong: without the check that breaks off,
/// and with the numbers that decide about the status.
pub fn restate(case: &mut Case) -> Option<Rule> {
    let applies = |rule: Rule, case: &Case| rule.applies(case).then_some(rule);
    let split = applies(Rule::SplitInstanceCheck, case);
    let silent = (case.facts.quiet && !case.facts.machine_readable).then_some(Rule::FinalVerdict);
    let mut add = |word: &str| {
        case.words.insert(0, word.to_owned());
        case.source_at += usize::from(case.source_at > 0);
    };
    if split.is_some() {
        add("--no-capacity-checks");
    }
    if silent.is_some() {
        case.words.retain(|word| !word.starts_with("--ma") || word.starts_with("--max"));
        case.source_at = case.source_at.min(case.words.len());
        case.words.insert(0, "--machine-readable".to_owned());
        case.source_at += usize::from(case.source_at > 0);
    }
    split.or(silent)
}
