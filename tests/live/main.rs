//! Runs the tools on real Ganeti and Pacemaker clusters. The suite starts them on this machine (`vcluster`,
//! `pcluster`; Debian, as root) and shuts them down afterwards:
//!
//!     cargo test --release --test live -- [--only NAME] [--keep] [--cluster DIR]...
//!         [--debian-13 DIR] [--program FILE | --installed] [--list]
//!
//! The kinds of clusters run side by side. The scenarios of one cluster run one after another. A reset follows each
//! scenario that fails or changes its cluster. A kind that has nothing left to do starts a second cluster of the kind
//! with most left.
//!
//! The scenarios `debian13-` run the Pacemaker 3.0 and Ganeti 3.1 of a Debian 13 in the directory DIR
//! (`tests/debian13/root` makes one). Without `--debian-13`, they are not run, and a line says so.

mod child;
mod cluster;
mod luxi;
#[path = "../common/original.rs"]
mod original;
mod proxy;
mod scenarios;
mod system;
mod tools;

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::{Arg, ArgAction, Command, value_parser};
use cluster::Cluster;
use scenarios::{ALL, Kind, Scenario};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use system::{Script, System};

/// Values of the command line.
struct Settings {
    only: Vec<String>,
    keep: bool,
    clusters: Vec<PathBuf>,
}

fn settings() -> Option<Settings> {
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let matches = Command::new("live")
        .about("Runs the tools against real clusters of Ganeti and of Pacemaker")
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Run the scenarios whose names begin like this; may be repeated"),
        )
        .arg(switch("keep").help("Leave the clusters up"))
        .arg(
            Arg::new("cluster")
                .long("cluster")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .action(ArgAction::Append)
                .help("Use the cluster that is up in DIR, and leave it up; may be repeated"),
        )
        .arg(
            Arg::new("debian-13")
                .long("debian-13")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Run the scenarios of Debian 13, too, in this root directory"),
        )
        .arg(
            Arg::new("program")
                .long("program")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Run this htools instead of the one that was built"),
        )
        .arg(switch("installed").conflicts_with("program").help(
            "Run the tools that are installed on this machine as the package installs them, Ganeti's allocator among them",
        ))
        .arg(switch("list").help("Name the scenarios"))
        .get_matches();
    if matches.get_flag("list") {
        ALL.iter().for_each(|scenario| println!("{}", scenario.name));
        return None;
    }
    if let Some(program) = matches.get_one::<PathBuf>("program") {
        let _ = tools::PROGRAM.set(program.clone());
    }
    if let Some(root) = matches.get_one::<PathBuf>("debian-13") {
        let _ = system::DEBIAN_13.set(root.clone());
    }
    if matches.get_flag("installed") {
        let _ = tools::PROGRAM.set(PathBuf::from(tools::INSTALLED));
    }
    Some(Settings {
        only: matches.get_many("only").map_or(Vec::new(), |names| names.cloned().collect()),
        keep: matches.get_flag("keep"),
        clusters: matches
            .get_many("cluster")
            .map_or(Vec::new(), |directories| directories.cloned().collect()),
    })
}

fn main() -> ExitCode {
    let Some(settings) = settings() else { return ExitCode::SUCCESS };
    let wanted = |scenario: &&Scenario| {
        settings.only.is_empty() || settings.only.iter().any(|name| scenario.name.starts_with(name))
    };
    let can_run = |scenario: &&Scenario| {
        scenario.kind.script().system == System::Own || system::DEBIAN_13.get().is_some()
    };
    let (wanted, left_out): (Vec<&Scenario>, Vec<&Scenario>) = ALL.iter().filter(wanted).partition(can_run);
    if !left_out.is_empty() {
        println!("not run: {} scenarios of Debian 13, as there is no --debian-13 DIR", left_out.len());
    }
    if wanted.is_empty() {
        eprintln!("no scenario that can be run is called like that; --list names them");
        return ExitCode::FAILURE;
    }
    let start = Instant::now();
    let scripts: HashSet<Script> = wanted.iter().map(|scenario| scenario.kind.script()).collect();
    if let Err(problem) = end_on_signals().and_then(|()| cluster::check_machine(&scripts)) {
        eprintln!("the live suite cannot be run: {problem:#}");
        return ExitCode::FAILURE;
    }
    let counts = Mutex::new((0, 0));
    let lists = Kind::ALL.map(|kind| {
        let mine = wanted.iter().copied().filter(|scenario| scenario.kind == kind);
        (kind, Mutex::new(mine.collect()))
    });
    let agenda = Agenda { lists, helped: Mutex::default() };
    std::thread::scope(|scope| {
        for kind in Kind::ALL {
            let (settings, counts, agenda) = (&settings, &counts, &agenda);
            scope.spawn(move || {
                let had_work = run_all(kind, 1, agenda, settings, counts);
                if let Some(kind) = agenda.to_help().filter(|_| had_work && settings.clusters.is_empty()) {
                    run_all(kind, 2, agenda, settings, counts);
                }
            });
        }
    });
    let (passed, failed) = *locked(&counts);
    println!("{:.0?} in all", start.elapsed());
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Number of scenarios that are worth another cluster.
const WORTH_A_CLUSTER: usize = 5;

/// Work of the suite.
struct Agenda<'s> {
    /// The scenarios that are left of each kind.
    lists: [(Kind, Mutex<VecDeque<&'s Scenario>>); Kind::ALL.len()],
    /// Kinds with a second cluster. More of them would only take turns on the same processors.
    helped: Mutex<Vec<Kind>>,
}

impl<'s> Agenda<'s> {
    fn left(&self, kind: Kind) -> Option<&Mutex<VecDeque<&'s Scenario>>> {
        self.lists.iter().find(|(known, _)| *known == kind).map(|(_, left)| left)
    }

    fn next(&self, kind: Kind) -> Option<&'s Scenario> {
        locked(self.left(kind)?).pop_front()
    }

    /// The kind with most scenarios left, if a second cluster of it is worth its start. It has one from now on.
    fn to_help(&self) -> Option<Kind> {
        let mut helped = locked(&self.helped);
        let alone = self.lists.iter().filter(|(kind, _)| !helped.contains(kind));
        let most = alone.map(|(kind, left)| (locked(left).len(), *kind)).max_by_key(|(count, _)| *count);
        let (_, kind) = most.filter(|(count, _)| *count >= WORTH_A_CLUSTER)?;
        helped.push(kind);
        Some(kind)
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs the scenarios of a kind on one cluster, and counts passes and failures. Returns false if there were none.
fn run_all(
    kind: Kind,
    number: usize,
    agenda: &Agenda<'_>,
    settings: &Settings,
    counts: &Mutex<(usize, usize)>,
) -> bool {
    if agenda.left(kind).is_none_or(|left| locked(left).is_empty()) {
        return false;
    }
    let start = Instant::now();
    let count = |good: usize, bad: usize| {
        let mut counts = locked(counts);
        *counts = (counts.0 + good, counts.1 + bad);
    };
    let cluster = match settings.clusters.iter().find(|directory| Kind::of(directory) == Some(kind)) {
        Some(directory) => Cluster::attach(kind, directory),
        None => up(kind, number, settings.keep),
    };
    let cluster = match cluster {
        Ok(cluster) => cluster,
        Err(problem) => {
            println!("FAILED cluster {kind:?}: {problem:#}");
            // The scenarios fail with the first cluster. A helper leaves them to it.
            let left = agenda.left(kind).filter(|_| number == 1);
            count(0, left.map_or(1, |left| locked(left).drain(..).count()));
            return true;
        }
    };
    println!("cluster {kind:?} is up in {} after {:.0?}", cluster.path("").display(), start.elapsed());
    let mut clean = true;
    while let Some(scenario) = agenda.next(kind) {
        let start = Instant::now();
        let result = if clean { Ok(()) } else { cluster.reset() }.and_then(|()| run(scenario, &cluster));
        let took = start.elapsed().as_secs_f64();
        clean = scenario.only_reads && result.is_ok();
        match result {
            Ok(()) => {
                println!("ok     {:28} {took:6.1} s", scenario.name);
                count(1, 0);
            }
            Err(problem) => {
                println!("FAILED {:28} {took:6.1} s\n{problem:#}", scenario.name);
                count(0, 1);
            }
        }
    }
    true
}

/// Starts a cluster, with a second attempt after a failure. On a busy machine, Debian's Ganeti sometimes fails to
/// create an instance before any of our programs has run.
fn up(kind: Kind, number: usize, keep: bool) -> anyhow::Result<Cluster> {
    Cluster::up(kind, number, keep).or_else(|problem| {
        println!("cluster {kind:?} did not come up, and is tried once more: {problem:#}");
        Cluster::up(kind, number, keep)
    })
}

/// Runs a scenario. A panic is a failure of this scenario only.
fn run(scenario: &Scenario, cluster: &Cluster) -> anyhow::Result<()> {
    catch_unwind(AssertUnwindSafe(|| (scenario.run)(cluster)))
        .unwrap_or_else(|_| Err(anyhow!("the scenario panicked; see above")))
}

/// Shuts the clusters down if the suite is told to end.
fn end_on_signals() -> anyhow::Result<()> {
    let received = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_usize(signal, Arc::clone(&received), signal as usize)
            .context("cannot watch signals")?;
    }
    std::thread::spawn(move || {
        let signal = loop {
            match received.load(Ordering::Relaxed) {
                0 => std::thread::sleep(Duration::from_millis(50)),
                signal => break signal as i32,
            }
        };
        eprintln!("signal {signal}: taking the clusters down");
        child::end_all();
        cluster::down_all();
        std::process::exit(128 + signal);
    });
    Ok(())
}
