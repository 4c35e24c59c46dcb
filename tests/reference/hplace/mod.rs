//! hplace compared with Pacemaker's crm_simulate on random clusters. For each cluster, both must give the same
//! scores, places and remaining capacities, line by line, and the same actions with the same order between them. With
//! guest nodes, only the actions are compared, without their order.

mod bundles;
mod carried_out;
mod cib;
mod graph;
mod guests;
mod losses;
pub mod mutations;
mod promotables;
mod rarer;
mod remotes;
pub mod simulator;
mod summary;
mod tree;
pub mod upstream;

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use htools::generate::random::Random;
use htools::pacemaker::Release;
use serde_json::Value;

use super::Only;
use cib::Dimensions;
use graph::Closure;
use simulator::{Simulator, in_former_words};

/// Number of small clusters in a run.
const SMALL: u64 = 1000;
/// Number of large ones, which follow.
const LARGE: u64 = 10;
/// Small clusters with special features, which follow. The entries combine clones, failed or unfinished operations,
/// resources on several nodes, migrations that have begun, configurations changed since the start of resources, rare
/// features, guest nodes, promotable clones, tickets, instances that are told apart, bundles, losses of nodes, and
/// remote nodes.
const SPECIAL: [Special; 19] = [
    Special { clones: true, most: 2, ..Special::of("with clones") },
    Special { failures: true, most: 1, ..Special::of("with failed operations") },
    Special { clones: true, failures: true, most: 3, ..Special::of("with both") },
    Special { several: true, most: 2, ..Special::of("with resources on several nodes") },
    Special {
        failures: true,
        several: true,
        most: 4,
        ..Special::of("with failed operations on several nodes")
    },
    Special { changed: true, most: 2, ..Special::of("whose configuration has changed") },
    Special {
        failures: true,
        several: true,
        changed: true,
        most: 8,
        ..Special::of("whose configuration has changed, with failed operations")
    },
    Special { clones: true, rarer: true, most: 2, ..Special::of("with what is rarer, and clones") },
    Special { clones: true, guests: true, most: 2, ..Special::of("with guest nodes") },
    Special {
        clones: true,
        failures: true,
        guests: true,
        most: 4,
        ..Special::of("with guest nodes and failed operations")
    },
    Special { clones: true, promotables: true, most: 2, ..Special::of("with promotable clones") },
    Special { clones: true, tickets: true, most: 2, ..Special::of("with tickets") },
    Special { clones: true, told_apart: true, most: 2, ..Special::of("with instances that are told apart") },
    Special {
        clones: true,
        promotables: true,
        tickets: true,
        most: 2,
        ..Special::of("with tickets and promotable clones")
    },
    Special {
        clones: true,
        promotables: true,
        guests: true,
        most: 4,
        ..Special::of("with guest nodes and promotable clones")
    },
    Special { bundles: true, most: 2, ..Special::of("with bundles") },
    Special {
        clones: true,
        guests: true,
        losses: true,
        clusters: 60,
        most: 2,
        ..Special::of("that lose nodes, with guest nodes")
    },
    Special {
        bundles: true,
        losses: true,
        clusters: 60,
        most: 2,
        ..Special::of("that lose nodes, with bundles")
    },
    Special { clones: true, remotes: true, most: 2, ..Special::of("with remote nodes") },
];
/// Most differences from Pacemaker 3.0 in percent, of clusters without special features and of all others. Not all of its
/// rules are known (docs/pacemaker-support.md).
const MOST_OF_3_0: u64 = 1;
const MOST_SPECIAL_OF_3_0: u64 = 5;
/// Most differences shown.
const SHOWN: usize = 5;

/// Reason for refusing clusters with clones, and the most refusals in percent.
const REFUSED: &str = "more of its instances run than should, and nobody manages them";
const MOST_REFUSED: u64 = 5;
/// The same for clusters with guest nodes.
const UNCLEAR: &str = "the machine of a guest node";
const MOST_UNCLEAR: u64 = 25;
/// The same for clusters with bundles.
const UNFOLLOWED: &str = "Unsupported: bundle 'web': a bundle ";

/// Results for the clusters.
#[derive(Debug, Default)]
pub struct Counts {
    same: u64,
    /// Equal actions of the transitions, and equal pairs of actions in which one precedes the other.
    actions: usize,
    pairs: usize,
    order_dependent: u64,
    /// Clusters in which instances of clones have other numbers but are in the same places.
    other_numbers: u64,
    /// Clusters that hplace refuses, with the reason.
    refused: u64,
    /// Clusters on which crm_simulate itself aborts.
    aborted: u64,
    different: Vec<String>,
}

impl Counts {
    fn all(&self) -> u64 {
        let others = self.order_dependent + self.other_numbers + self.refused + self.aborted;
        self.same + others + self.different.len() as u64
    }

    /// The first differences.
    fn differences(&self) -> String {
        self.different.iter().take(SHOWN).map(|text| format!("{text}\n")).collect()
    }
}

/// Clusters with features that hplace does not fully know yet (docs/pacemaker.md).
struct Special {
    what: &'static str,
    clusters: u64,
    clones: bool,
    failures: bool,
    several: bool,
    changed: bool,
    rarer: bool,
    guests: bool,
    promotables: bool,
    tickets: bool,
    told_apart: bool,
    bundles: bool,
    /// True if losses of nodes are compared, instead of the placement.
    losses: bool,
    remotes: bool,
    /// Most differences in percent.
    most: u64,
}

impl Special {
    /// Clusters without special features.
    const fn of(what: &'static str) -> Special {
        Special {
            what,
            clusters: 300,
            clones: false,
            failures: false,
            several: false,
            changed: false,
            rarer: false,
            guests: false,
            promotables: false,
            tickets: false,
            told_apart: false,
            bundles: false,
            losses: false,
            remotes: false,
            most: 0,
        }
    }
}

/// Results of a run.
pub struct ComparedClusters {
    /// The release of Pacemaker.
    release: Release,
    plain: Counts,
    special: [Counts; SPECIAL.len()],
}

impl ComparedClusters {
    /// Tells if there was no difference, and in special clusters no more than allowed.
    pub fn good(&self) -> bool {
        let few = |(of, special): (&Counts, &Special)| {
            let refused = match special {
                Special { guests: true, .. } | Special { bundles: true, .. } => MOST_UNCLEAR,
                Special { clones: true, .. } => MOST_REFUSED,
                _ => 0,
            };
            of.different.len() as u64 * 100 <= of.all() * self.most_of(special)
                && of.refused * 100 <= of.all() * refused
        };
        self.plain.different.len() as u64 * 100 <= self.plain.all() * self.most_of_plain()
            && self.special.iter().zip(&SPECIAL).all(few)
    }

    /// Most differences in percent of clusters without special features.
    fn most_of_plain(&self) -> u64 {
        if self.release != Release::V2_1_5 { MOST_OF_3_0 } else { 0 }
    }

    /// Most differences in percent of special clusters.
    fn most_of(&self, special: &Special) -> u64 {
        if self.release != Release::V2_1_5 { special.most.max(MOST_SPECIAL_OF_3_0) } else { special.most }
    }

    /// The final line of a run.
    pub fn summary(&self) -> String {
        let of_special = |(of, special): (&Counts, &Special)| {
            let others = match special.clones {
                true => {
                    format!(
                        "{} in which instances have other numbers, {} refused, {} on which crm_simulate aborts, ",
                        of.other_numbers, of.refused, of.aborted
                    )
                }
                false => String::new(),
            };
            format!(
                "{}{}, {} clusters: {} the same, {} in which crm_simulate's own answer depends on its memory, {others}{} different \
                 ({} % may be)\n",
                of.differences(),
                special.what,
                of.all(),
                of.same,
                of.order_dependent,
                of.different.len(),
                self.most_of(special)
            )
        };
        let compared = self.special.iter().zip(&SPECIAL).filter(|(of, _)| of.all() > 0);
        let special: String = compared.map(of_special).collect();
        let plain = &self.plain;
        let may_be = match self.most_of_plain() {
            0 => String::new(),
            most => format!(" ({most} % may be)"),
        };
        format!(
            "{special}{}hplace and crm_simulate on {} Pacemaker clusters: {} the same ({} actions, {} pairs in order), {} in which \
             crm_simulate's own answer depends on its memory, {} different{may_be}",
            plain.differences(),
            plain.all(),
            plain.same,
            plain.actions,
            plain.pairs,
            plain.order_dependent,
            plain.different.len()
        )
    }
}

/// The kind of special cluster for a number.
fn special(number: u64) -> Option<usize> {
    let mut first = SMALL + LARGE;
    SPECIAL.iter().position(|special| {
        let is_it = (first..first + special.clusters).contains(&number);
        first += special.clusters;
        is_it
    })
}

/// The numbers of the clusters of a run.
fn numbers(only: Option<&Only>) -> Vec<u64> {
    let all = 0..SMALL + LARGE + SPECIAL.iter().map(|special| special.clusters).sum::<u64>();
    match only {
        None => all.collect(),
        Some(Only::Case(only)) => vec![*only],
        Some(Only::Kinds(word)) => {
            all.filter(|number| special(*number).is_some_and(|at| SPECIAL[at].what.contains(word))).collect()
        }
    }
}

/// Compares `SMALL` small clusters, the large ones and the special ones, or `only` some of them.
///
/// # Errors
/// If crm_simulate is not installed, files cannot be written, or no kind of cluster is named so.
pub fn run(
    simulator: &Simulator,
    seed: u64,
    jobs: usize,
    only: Option<&Only>,
    work: &Path,
    keep: &Path,
) -> io::Result<ComparedClusters> {
    fs::create_dir_all(work)?;
    let numbers = numbers(only);
    if numbers.is_empty() {
        let kinds: Vec<&str> = SPECIAL.iter().map(|special| special.what).collect();
        let problem = format!("no kind of cluster is named so; there are clusters {}", kinds.join(", "));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let next = AtomicUsize::new(0);
    let counts = Mutex::new((Counts::default(), <[Counts; SPECIAL.len()]>::default()));
    let work_through = || -> io::Result<()> {
        loop {
            let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)).copied() else {
                return Ok(());
            };
            let mut random = Random::stream(seed, number);
            let special = special(number);
            let dimensions = match number {
                SMALL.. if special.is_none() => Dimensions {
                    hosts: 30,
                    primitives: 150,
                    clones: false,
                    failures: false,
                    several: false,
                    changed: false,
                },
                _ => Dimensions {
                    clones: special.is_some_and(|at| SPECIAL[at].clones),
                    failures: special.is_some_and(|at| SPECIAL[at].failures),
                    several: special.is_some_and(|at| SPECIAL[at].several),
                    changed: special.is_some_and(|at| SPECIAL[at].changed),
                    ..Dimensions::small(&mut random)
                },
            };
            let file = work.join(format!("{number}.xml"));
            let mut text = cib::document(dimensions, &mut random);
            if special.is_some_and(|at| SPECIAL[at].rarer) {
                text = rarer::with_loose_groups(&text, &mut random);
                text = rarer::with_discovery(&text, &mut random);
                text = rarer::without_quorum(&text, &mut random);
            }
            let with_guests = special.map(|at| &SPECIAL[at]).filter(|special| special.guests);
            if let Some(special) = with_guests {
                text = guests::with_guests(&text, special.failures, &mut random);
            }
            if special.is_some_and(|at| SPECIAL[at].promotables) {
                text = promotables::with_promotables(&text, &mut random);
            }
            if special.is_some_and(|at| SPECIAL[at].tickets) {
                text = rarer::with_tickets(&text, &mut random);
            }
            if special.is_some_and(|at| SPECIAL[at].told_apart) {
                text = rarer::with_told_apart(&text, &mut random);
            }
            let with_bundles = special.is_some_and(|at| SPECIAL[at].bundles);
            if with_bundles {
                text = bundles::with_bundle(&text, &mut random);
            }
            let with_remotes = special.is_some_and(|at| SPECIAL[at].remotes);
            if with_remotes {
                text = remotes::with_remote_nodes(&text, &mut random);
            }
            let loses_nodes = special.is_some_and(|at| SPECIAL[at].losses);
            if loses_nodes {
                text = losses::without_shutdowns(&text);
            }
            fs::write(&file, text)?;
            // With remote nodes, hplace refuses some graphs.
            let by_summary = with_guests.is_some()
                || with_bundles
                || with_remotes && ours(simulator, &file, &["--dot"])?.status.code() == Some(1);
            let by = if by_summary { By::Summary } else { By::Order };
            let verdict = match loses_nodes {
                true => losses::compare(simulator, &file)?,
                false => compare(simulator, &file, by)?,
            };
            let mut counts = counts.lock().expect("no thread panics while counting");
            let counts = match special {
                Some(at) => &mut counts.1[at],
                None => &mut counts.0,
            };
            match verdict {
                Verdict::Same { actions, pairs } => {
                    counts.same += 1;
                    counts.actions += actions;
                    counts.pairs += pairs;
                }
                Verdict::OrderDependent => counts.order_dependent += 1,
                Verdict::OtherNumbers => counts.other_numbers += 1,
                Verdict::Refused => counts.refused += 1,
                Verdict::Aborted => counts.aborted += 1,
                Verdict::Different(text) => {
                    fs::create_dir_all(keep)?;
                    let kept = keep.join(format!("seed-{seed}-cluster-{number}.xml"));
                    fs::copy(&file, &kept)?;
                    counts.different.push(format!("cluster {number}, kept in {}\n{text}", kept.display()));
                }
            }
            fs::remove_file(&file)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work_through)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no cluster panics"))
    })?;
    let (plain, special) = counts.into_inner().expect("no thread panics while counting");
    Ok(ComparedClusters { release: simulator.release(), plain, special })
}

enum Verdict {
    Same {
        actions: usize,
        pairs: usize,
    },
    /// Equal except for the numbers of clone instances.
    OtherNumbers,
    /// Refused because of a known limitation for such clusters.
    Refused,
    /// An assertion of crm_simulate fails, so there is nothing to compare with.
    Aborted,
    OrderDependent,
    Different(String),
}

/// The part of an answer that is compared beside the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The actions of the graphs, and which of them comes before which.
    Order,
    /// Like `Order`, or at least the actions that are carried out, since some of crm_simulate's graph never are. If both
    /// graphs lead in a circle, their actions are enough.
    CarriedOut,
    /// The changes in the summary, since hplace may refuse to tell the graph.
    Summary,
}

fn compare(simulator: &Simulator, file: &Path, by: By) -> io::Result<Verdict> {
    // Some promotable clones run into an assertion.
    let Some(answer) = simulator.answer(file)? else { return Ok(Verdict::Aborted) };
    let ours = |option: &str| ours(simulator, file, &[option]);
    let document = || -> io::Result<Value> {
        Ok(serde_json::from_slice(&ours("--json")?.stdout).unwrap_or(Value::Null))
    };
    let scores = ours("--crm-simulate-format")?;
    let is_answer =
        |line: &&str| ["Original: ", "Remaining: ", "pcmk__"].iter().any(|start| line.starts_with(start));
    let theirs: Vec<&str> =
        answer.text.lines().filter(is_answer).filter(|line| !is_promotion(line)).collect();
    let said = String::from_utf8_lossy(&scores.stderr);
    if said.contains(REFUSED) || by == By::Summary && (said.contains(UNCLEAR) || said.contains(UNFOLLOWED)) {
        return Ok(Verdict::Refused);
    }
    let text = in_former_words(&String::from_utf8_lossy(&scores.stdout));
    let mine: Vec<&str> = text.lines().filter(|line| !is_promotion(line)).collect();
    let their_graph = graph::closure(&answer.dot);
    if mine == theirs && !theirs.is_empty() && by == By::Summary {
        let deeds = summary::theirs(&answer.text);
        return Ok(match summary::difference(&deeds, &summary::ours(&document()?)) {
            None => Verdict::Same { actions: deeds.len(), pairs: 0 },
            Some(difference) => Verdict::Different(format!("  {difference}")),
        });
    }
    if mine == theirs && !theirs.is_empty() {
        let dot = ours("--dot")?.stdout;
        let dot = String::from_utf8_lossy(&dot);
        let my_graph = graph::closure(&dot);
        let mut difference = graph::difference(&my_graph, &their_graph);
        if by == By::CarriedOut && !difference.is_empty() {
            let both_wait = [&my_graph, &their_graph].into_iter().all(|graph| carried_out::has_circle(graph));
            let [mine, theirs] = match both_wait {
                true => [my_graph.actions, their_graph.actions.clone()],
                false => [carried_out::of_graph(&dot), carried_out::of_answer(&answer.text)],
            };
            let alone = |actions| Closure { actions, ..Closure::default() };
            difference = graph::difference(&alone(mine), &alone(theirs));
        }
        return Ok(match difference.first() {
            None => Verdict::Same { actions: their_graph.actions.len(), pairs: their_graph.order.len() },
            Some(first) => {
                Verdict::Different(format!("  {} differences of order, first {first}", difference.len()))
            }
        });
    }
    if depends_on_order(&document()?) {
        return Ok(Verdict::OrderDependent);
    }
    if places(&mine).is_some() && places(&mine) == places(&theirs) && mine.last() == theirs.last() {
        return Ok(Verdict::OtherNumbers);
    }
    let at = mine.iter().zip(&theirs).take_while(|(mine, theirs)| mine == theirs).count();
    let line = |lines: &[&str]| lines.get(at).copied().unwrap_or("(nothing)").to_owned();
    Ok(Verdict::Different(format!(
        "  crm_simulate: {}\n  hplace:       {}\n{}",
        line(&theirs),
        line(&mine),
        said
    )))
}

/// Final places of resources, in order; instances of clones are without their numbers. None without clones.
fn places(lines: &[&str]) -> Option<Vec<String>> {
    let mut last = std::collections::BTreeMap::new();
    let placed = lines.iter().filter_map(|line| line.strip_prefix("pcmk__finalize_assignment: "));
    for (name, rest) in placed.filter_map(|line| line.split_once(' ')) {
        last.insert(name, rest);
    }
    let base = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    let mut places: Vec<String> = last.iter().map(|(name, rest)| format!("{} {rest}", base(name))).collect();
    places.sort_unstable();
    lines.iter().any(|line| line.starts_with("pcmk__clone_allocate: ")).then_some(places)
}

/// Tells if a line is a promotion score. Pacemaker lists equal ones in an order that is not compared; the graph tells
/// who is promoted.
fn is_promotion(line: &str) -> bool {
    line.contains(" promotion score ")
}

fn ours(simulator: &Simulator, file: &Path, words: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").arg("hplace").args(words).arg("-x").arg(file);
    command.args(["--pacemaker-version", simulator.release().as_str()]).output()
}

/// Tells if hplace reports that the answer depends on more than the CIB.
fn depends_on_order(document: &Value) -> bool {
    let resources = document["resources"].as_array().cloned().unwrap_or_default();
    resources.iter().any(|resource| resource["order_dependent"] == true)
}
