//! hplace compared with crm_simulate on mutations of the recorded clusters: attributes are changed, left out or take
//! the values of others, elements are dropped or put into another order, and the whole cluster gets another option, or
//! loses its quorum.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use htools::generate::random::Random;

use super::simulator::Simulator;
use super::tree::{Attribute, Element};
use super::{By, Verdict, compare, ours};

/// Directory with the recorded clusters.
const RECORDED: &str = "tests/fixtures/pacemaker";
/// Most mutations in a thousand on which both may differ.
const MOST: u64 = 2;
/// Differences and kinds of refusals that are shown.
const SHOWN: usize = 10;
/// Elements that every document has.
const KEPT: [&str; 6] = ["configuration", "status", "crm_config", "nodes", "resources", "constraints"];
/// Values that stand for no number, no choice, or the wrong one.
const ODD: [&str; 10] =
    ["", "0", "-1", "INFINITY", "-INFINITY", "true", "false", "nothing", "quorum", "stop"];

/// Options that change the rules of the whole cluster.
const OPTIONS: [(&str, &[&str]); 13] = [
    ("concurrent-fencing", &["true", "false"]),
    ("enable-startup-probes", &["false"]),
    ("maintenance-mode", &["true"]),
    ("placement-strategy", &["balanced", "minimal", "utilization"]),
    ("remove-after-stop", &["true"]),
    ("shutdown-lock", &["true"]),
    ("start-failure-is-fatal", &["false"]),
    ("startup-fencing", &["false"]),
    ("stonith-action", &["off"]),
    ("stonith-enabled", &["true", "false"]),
    ("stop-all-resources", &["true"]),
    ("stop-orphan-resources", &["false"]),
    ("symmetric-cluster", &["false"]),
];
/// Values of `no-quorum-policy`.
const POLICIES: [&str; 3] = ["stop", "freeze", "demote"];

/// Mutations to be compared.
pub struct Run<'a> {
    pub simulator: &'a Simulator,
    pub seed: u64,
    pub mutations: u64,
    /// The only mutation that is compared.
    pub only: Option<u64>,
    pub jobs: usize,
    /// Directory for files while they are compared.
    pub work: &'a Path,
    /// Directory that keeps the mutations on which both differ.
    pub keep: &'a Path,
}

/// Results of a run.
#[derive(Debug, Default)]
pub struct ComparedMutations {
    same: u64,
    /// Mutations that hplace refuses, by the first reason that it names.
    refused: BTreeMap<String, u64>,
    /// Mutations that crm_simulate refuses, or on which it aborts.
    left_out: u64,
    different: Vec<String>,
}

impl ComparedMutations {
    fn compared(&self) -> u64 {
        self.same + self.refused.values().sum::<u64>() + self.different.len() as u64
    }

    /// Tells if there were no more differences than allowed.
    pub fn good(&self) -> bool {
        self.different.len() as u64 <= (self.compared() * MOST).div_ceil(1000)
    }

    /// The final lines of a run.
    pub fn summary(&self) -> String {
        let differences: String = self.different.iter().take(SHOWN).map(|text| format!("{text}\n")).collect();
        let mut reasons: Vec<(&String, &u64)> = self.refused.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let reasons: String = reasons
            .iter()
            .take(SHOWN)
            .map(|(reason, count)| format!("  {count} refused: {reason}\n"))
            .collect();
        format!(
            "{differences}{reasons}hplace and crm_simulate on {} mutations of recorded clusters: {} the same, {} refused, {} different \
             ({MOST} in a thousand may be); crm_simulate has no answer to {} more",
            self.compared(),
            self.same,
            self.refused.values().sum::<u64>(),
            self.different.len(),
            self.left_out
        )
    }
}

/// A recorded cluster.
struct Recorded {
    name: String,
    cib: Element,
}

/// The values that an attribute has in all documents. The values of an `nvpair` are apart by its name.
#[derive(Default)]
struct Values(BTreeMap<[String; 3], BTreeSet<String>>);

impl Values {
    fn key(element: &Element, attribute: &str) -> [String; 3] {
        let name = if attribute == "value" { element.attribute("name").unwrap_or_default() } else { "" };
        [&element.tag, attribute, name].map(str::to_owned)
    }

    fn of(documents: &[Recorded]) -> Values {
        let mut values = Values::default();
        for document in documents {
            document.cib.each(&mut |element| {
                for Attribute { name, value } in &element.attributes {
                    values.0.entry(Values::key(element, name)).or_default().insert(value.clone());
                }
            });
        }
        values
    }

    fn pick(&self, element: &Element, attribute: &str, random: &mut Random) -> String {
        let values: Vec<&String> =
            self.0.get(&Values::key(element, attribute)).into_iter().flatten().collect();
        if values.is_empty() { String::new() } else { (*random.pick(&values)).clone() }
    }
}

/// Reads the recorded clusters of Pacemaker 2.1.5.
fn recorded() -> io::Result<Vec<Recorded>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDED);
    let mut directories = vec![root.clone()];
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        if path.is_dir() && !path.to_string_lossy().contains("release-") {
            directories.push(path);
        }
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for directory in directories {
        for entry in fs::read_dir(directory)? {
            files.push(entry?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    let mut clusters = Vec::new();
    for file in files {
        if let Some(cib) = Element::read(&fs::read_to_string(&file)?) {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            clusters.push(Recorded { name, cib });
        }
    }
    Ok(clusters)
}

/// Compares mutations of the recorded clusters.
///
/// # Errors
/// If the clusters cannot be read, files cannot be written, or crm_simulate is not installed.
pub fn run(of: &Run) -> io::Result<ComparedMutations> {
    fs::create_dir_all(of.work)?;
    let documents = recorded()?;
    let values = Values::of(&documents);
    let numbers = of.only.map_or(0..of.mutations, |only| only..only + 1);
    let next = AtomicU64::new(numbers.start);
    let counts = Mutex::new(ComparedMutations::default());
    let work_through = || -> io::Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return Ok(());
            }
            let mut random = Random::stream(of.seed, number);
            let document = random.pick(&documents);
            let mut cib = document.cib.clone();
            let mut changes = Vec::new();
            for _ in 0..*random.pick(&[1, 1, 2, 3]) {
                changes.extend(mutate(&mut cib, &values, &mut random));
            }
            let file = of.work.join(format!("mutation-{number}.xml"));
            fs::write(&file, cib.text())?;
            let outcome = outcome(of.simulator, &file)?;
            let mut counts = counts.lock().expect("no thread panics while counting");
            match outcome {
                Outcome::Same => counts.same += 1,
                Outcome::LeftOut => counts.left_out += 1,
                Outcome::Refused(reason) => *counts.refused.entry(reason).or_default() += 1,
                Outcome::Different(text) => {
                    fs::create_dir_all(of.keep)?;
                    let kept = of.keep.join(format!("seed-{}-mutation-{number}.xml", of.seed));
                    fs::copy(&file, &kept)?;
                    counts.different.push(format!(
                        "mutation {number} of {}, kept in {}\n  {}\n{text}",
                        document.name,
                        kept.display(),
                        changes.join("\n  ")
                    ));
                }
            }
            fs::remove_file(&file)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..of.jobs).map(|_| scope.spawn(work_through)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no mutation panics"))
    })?;
    Ok(counts.into_inner().expect("no thread panics while counting"))
}

enum Outcome {
    Same,
    /// Refused by hplace, with the reason. The names of elements are left out.
    Refused(String),
    /// Without an answer of crm_simulate.
    LeftOut,
    Different(String),
}

/// Compares the scores, the actions, and their order if hplace does not refuse to tell it.
fn outcome(simulator: &Simulator, file: &Path) -> io::Result<Outcome> {
    let answer = match simulator.answer(file) {
        Err(problem) if problem.kind() == io::ErrorKind::InvalidData => return Ok(Outcome::LeftOut),
        answer => answer?,
    };
    // Without nodes, it shows no scores.
    if answer.as_ref().is_none_or(|answer| !answer.text.contains("pcmk__")) {
        return Ok(Outcome::LeftOut);
    }
    let run = ours(simulator, file, &["--json"])?;
    let said = String::from_utf8_lossy(&run.stderr);
    match run.status.code() {
        Some(0 | 2) => {}
        Some(1) => return Ok(Outcome::Refused(reason(&said))),
        _ => return Ok(Outcome::Different(format!("  hplace ended with {}: {said}", run.status))),
    }
    let has_graph = ours(simulator, file, &["--dot"])?.status.code() != Some(1);
    // Actions that wait for each other in a circle, or for what never happens, are in crm_simulate's summary all the
    // same. hplace says that they are blocked.
    let by = match answer.is_some_and(|answer| answer.gets_stuck) {
        _ if !has_graph => By::Summary,
        true => By::CarriedOut,
        false => By::Order,
    };
    Ok(match compare(simulator, file, by)? {
        Verdict::Aborted => Outcome::LeftOut,
        Verdict::Refused => Outcome::Refused(reason(&said)),
        Verdict::Same { .. } | Verdict::OrderDependent | Verdict::OtherNumbers => Outcome::Same,
        Verdict::Different(text) => Outcome::Different(text),
    })
}

/// The first reason of a refusal, without the names in it.
fn reason(said: &str) -> String {
    let line = said.lines().find(|line| line.starts_with("Unsupported: ")).or_else(|| said.lines().next());
    let parts = line.unwrap_or_default().split('\'').step_by(2);
    parts.collect::<Vec<_>>().join("…")
}

/// Changes a document in one place, and tells the change.
fn mutate(cib: &mut Element, values: &Values, random: &mut Random) -> Option<String> {
    let path = random.pick(&cib.paths()).clone();
    let (last, parent) = path.split_last()?;
    let element = cib.at(&path);
    let name = format!("{} '{}'", element.tag, element.attribute("id").unwrap_or_default());
    let attribute = |random: &mut Random| {
        let names: Vec<String> = element.attributes.iter().map(|one| one.name.clone()).collect();
        (!names.is_empty()).then(|| random.pick(&names).clone())
    };
    match random.weighted(&[0.45, 0.12, 0.15, 0.08, 0.2]) {
        4 => change_rules(cib, random),
        0 => {
            let attribute = attribute(random)?;
            if ["id", "uname", "validate-with"].contains(&&*attribute) {
                return None;
            }
            let old = element.attribute(&attribute)?.to_owned();
            let is_amount = cib.at(parent).tag == "utilization";
            let new = other_value(element, &attribute, values, random);
            // crm_simulate shows such an amount as it is written, hplace as it counts.
            if is_amount && attribute == "value" && new.parse::<i64>().is_err() {
                return None;
            }
            let changed = cib.at_mut(&path).attributes.iter_mut().find(|one| one.name == attribute)?;
            changed.value.clone_from(&new);
            Some(format!("{name}: {attribute} '{old}' is '{new}'"))
        }
        1 => {
            let attribute = attribute(random)?;
            if attribute == "id" {
                return None;
            }
            cib.at_mut(&path).attributes.retain(|one| one.name != attribute);
            Some(format!("{name}: without {attribute}"))
        }
        2 => {
            if KEPT.contains(&&*element.tag) {
                return None;
            }
            cib.at_mut(parent).children.remove(*last);
            Some(format!("without {name}"))
        }
        _ => {
            let parent = cib.at_mut(parent);
            random.shuffle(&mut parent.children);
            Some(format!("{name} and those beside it: another order"))
        }
    }
}

/// Gives the cluster an option, takes its quorum away, or puts a node into standby or maintenance.
fn change_rules(cib: &mut Element, random: &mut Random) -> Option<String> {
    match random.weighted(&[0.5, 0.25, 0.25]) {
        0 => {
            let (name, values) = *random.pick(&OPTIONS);
            set_option(cib, name, *random.pick::<&str>(values))
        }
        1 => {
            let has_quorum = cib.attributes.iter_mut().find(|one| one.name == "have-quorum")?;
            has_quorum.value = "0".to_owned();
            let option = set_option(cib, "no-quorum-policy", *random.pick::<&str>(&POLICIES))?;
            Some(format!("without quorum, {option}"))
        }
        _ => {
            let name = *random.pick(&["standby", "maintenance"]);
            let nodes = cib.find("nodes")?;
            let count = nodes.children.len();
            let node = nodes.children.get_mut(random.below(count.max(1)))?;
            node.children.push(attributes("instance_attributes", name, "true"));
            let id = node.attribute("id").unwrap_or_default();
            Some(format!("node '{id}': {name}"))
        }
    }
}

/// Sets an option, whatever it was before.
fn set_option(cib: &mut Element, name: &str, value: &str) -> Option<String> {
    let options = cib.find("crm_config")?;
    let new = attributes("cluster_property_set", name, value);
    options.children.retain(|set| set.attribute("id") != new.attribute("id"));
    for set in &mut options.children {
        set.children.retain(|pair| pair.attribute("name") != Some(name));
    }
    options.children.push(new);
    Some(format!("{name} '{value}'"))
}

/// A set with one name and value.
fn attributes(tag: &str, name: &str, value: &str) -> Element {
    let id = format!("mutation-{name}");
    let mut set = Element::new(tag, &[("id", &id)]);
    let pair_id = format!("{id}-pair");
    set.children.push(Element::new("nvpair", &[("id", &pair_id), ("name", name), ("value", value)]));
    set
}

/// Another value for an attribute: mostly one that it has elsewhere, or else a number beside it, or an odd one.
fn other_value(element: &Element, attribute: &str, values: &Values, random: &mut Random) -> String {
    let number = element.attribute(attribute).and_then(|value| value.parse::<i64>().ok());
    match (random.weighted(&[0.8, 0.1, 0.1]), number) {
        (0, _) => values.pick(element, attribute, random),
        (1, Some(number)) => number.saturating_add(*random.pick(&[-1, 1, -100, 100])).to_string(),
        _ => (*random.pick(&ODD)).to_owned(),
    }
}
