//! Compares all tools with the reference, Ganeti's own tools, on random odd clusters, option sets and requests:
//!
//!     cargo test --release --test reference -- [--seed N] [--runs N]
//!         [--tool hbal|hinfo|hail|hspace|hcheck|hroller|hscan|hsqueeze|harep|hplace]
//!         [--over text|request|rapi|luxi] [--jobs N] [--only CASE|WORD] [--keep DIR] [--stats] [--self]
//!     cargo test --release --test reference -- --upstream DIR
//!     cargo test --release --test reference -- --mutations N [--seed N] [--only CASE]
//!     cargo test --release --test reference -- --tool hplace --simulator-root DIR
//!
//! Standard output and exit status must be identical, as must tables and maps on standard error, saved states and
//! written commands. If ours differs by design, a listed difference covers it (`rules`). If a restated case avoids
//! the difference, the reference is run again with that (`restate`).
//!
//! Failing cases are kept in a directory with everything needed to run them again. With --over, the runs are only
//! those cases in which the cluster comes in that form. With --self, the reference runs on both sides, which checks the
//! suite.
//!
//! hplace is compared with Pacemaker's crm_simulate on clusters of its own. With --tool hplace, --only also takes a word,
//! and compares the kinds of clusters named with it (--only promotable). With --upstream DIR, only hplace is compared,
//! on the CIBs in DIR. With --mutations N, only hplace is compared, on N mutations of the recorded clusters; other runs
//! compare a few of them. With --simulator-root DIR, the reference of hplace is the crm_simulate of the system in DIR, run
//! by chroot, and hplace plays its release.

mod answers;
mod cases;
mod clusters;
mod compare;
mod damage;
mod decorate;
mod hail;
mod hail_rules;
mod harep;
mod harep_answer;
mod harep_compare;
mod harep_history;
mod harep_opcodes;
mod harep_tags;
mod hcheck;
mod hplace;
mod hroller;
mod hscan;
mod hspace;
mod hsqueeze;
mod input;
mod loads;
mod luxi;
mod master;
mod memory;
mod mistakes;
mod oddities;
mod options;
#[path = "../common/original.rs"]
mod original;
mod outcomes;
mod policies;
mod questions;
mod rapi;
#[path = "../common/request.rs"]
mod request;
mod requests;
mod restate;
mod rules;
mod run;
mod saved;
#[path = "../common/luxi_server.rs"]
#[allow(dead_code)]
mod server;
mod statistics;
mod tools;

use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cases::{Case, Over, REQUEST, Source, TEXT};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, value_parser};
use compare::{Verdict, Words};
use hplace::simulator::Simulator;
use run::{Output, Programs};
use statistics::Statistics;
use tools::Tool;

/// Failing cases whose differences are shown.
const SHOWN: usize = 5;

/// Mutations of recorded clusters in a run that compares everything.
const MUTATIONS: u64 = 400;

/// The tool whose reference is not one of Ganeti's.
const PLACEMENT: &str = "hplace";

/// Restriction of a run.
#[derive(Debug, Clone)]
enum Only {
    /// The case with this number.
    Case(u64),
    /// The kinds of clusters for hplace whose names contain this text.
    Kinds(String),
}

impl Only {
    fn parse(text: &str) -> Result<Only, Infallible> {
        Ok(text.parse().map_or_else(|_| Only::Kinds(text.to_owned()), Only::Case))
    }
}

/// Values of the command line.
struct Settings {
    seed: u64,
    runs: u64,
    tool: Option<Tool>,
    /// True if hplace is compared, and true if nothing else is.
    placement: bool,
    only_placement: bool,
    over: Option<Over>,
    jobs: usize,
    only: Option<Only>,
    keep: PathBuf,
    stats: bool,
    against_itself: bool,
    /// Root directory of the system whose crm_simulate is the reference of hplace.
    simulator_root: Option<PathBuf>,
    /// Directory with documents on which only hplace is compared.
    upstream: Option<PathBuf>,
    /// Number of mutations on which only hplace is compared.
    mutations: Option<u64>,
}

fn settings() -> Settings {
    let number = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("N").default_value(default).value_parser(value_parser!(u64))
    };
    let names: Vec<&str> = Tool::ALL.map(Tool::name).into_iter().chain([PLACEMENT]).collect();
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let mut command = Command::new("reference")
        .about("Compares the tools with the reference")
        .arg(number("seed", "1"))
        .arg(number("runs", "4200"))
        .arg(Arg::new("only").long("only").value_name("CASE|WORD").value_parser(Only::parse))
        .arg(Arg::new("tool").long("tool").value_parser(names))
        .arg(Arg::new("over").long("over").value_parser(Over::NAMES.map(|(name, _)| name)))
        .arg(Arg::new("jobs").long("jobs").value_name("N").value_parser(value_parser!(usize)))
        .arg(Arg::new("keep").long("keep").value_name("DIR").help("Where failing cases are kept"))
        .arg(
            Arg::new("upstream")
                .long("upstream")
                .value_name("DIR")
                .conflicts_with_all(["tool", "only"])
                .help("Compare hplace on the documents in DIR, and nothing else"),
        )
        .arg(
            Arg::new("mutations")
                .long("mutations")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .conflicts_with_all(["tool", "upstream"])
                .help("Compare hplace on N mutations of recorded clusters, and nothing else"),
        )
        .arg(
            Arg::new("simulator-root")
                .long("simulator-root")
                .value_name("DIR")
                .help("Compare hplace with the crm_simulate of the system in DIR"),
        )
        .arg(switch("stats").help("Show what was covered"))
        .arg(switch("self").help("Run the reference on both sides"));
    let matches = command.get_matches_mut();
    let named = matches.get_one::<String>("tool").map(String::as_str);
    let number = |name: &str| matches.get_one::<u64>(name).copied();
    let only = matches.get_one::<Only>("only").cloned();
    if matches!(only, Some(Only::Kinds(_))) && named != Some(PLACEMENT) {
        let problem = "a word after --only names kinds of clusters for hplace; add --tool hplace";
        command.error(ErrorKind::ArgumentConflict, problem).exit();
    }
    let cores = || std::thread::available_parallelism().map_or(2, usize::from);
    Settings {
        seed: number("seed").unwrap_or(1),
        runs: number("runs").unwrap_or(0),
        tool: named.and_then(Tool::named),
        placement: named.is_none_or(|name| name == PLACEMENT),
        only_placement: named == Some(PLACEMENT),
        over: matches.get_one::<String>("over").and_then(|name| Over::named(name)),
        jobs: matches.get_one::<usize>("jobs").copied().unwrap_or_else(cores).max(1),
        only,
        keep: matches
            .get_one::<String>("keep")
            .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("reference-failures"), PathBuf::from),
        stats: matches.get_flag("stats"),
        against_itself: matches.get_flag("self"),
        simulator_root: matches.get_one::<String>("simulator-root").map(PathBuf::from),
        upstream: matches.get_one::<String>("upstream").map(PathBuf::from),
        mutations: number("mutations"),
    }
}

/// The page that must list every rule.
const DIFFERENCES: &str = include_str!("../../docs/differences.md");

fn main() -> ExitCode {
    let settings = settings();
    let is_listed = |rule: &&rules::Rule| DIFFERENCES.contains(&format!("`{}`", rule.name()));
    // If one of harep's differences is listed, all must be.
    let of_harep = &rules::Rule::OF_HAREP;
    let of_harep = if of_harep.iter().any(|rule| is_listed(&rule)) { &of_harep[..] } else { &[] };
    if let Some(rule) = rules::Rule::ALL.iter().chain(of_harep).find(|rule| !is_listed(rule)) {
        eprintln!("docs/differences.md does not list the rule {}", rule.name());
        return ExitCode::FAILURE;
    }
    if let Some(directory) = &settings.upstream {
        return upstream(&settings, directory);
    }
    if let Some(count) = settings.mutations {
        return mutations(&settings, count);
    }
    if settings.only_placement {
        return placement(&settings);
    }
    let programs = match Programs::find() {
        Ok(programs) => programs,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-{}", std::process::id()));
    let start = Instant::now();
    let result = run_all(&settings, &programs, &work);
    // The files are of no further use.
    let _ = fs::remove_dir_all(&work);
    match result {
        Ok(statistics) => {
            if settings.stats {
                println!("{}", statistics.coverage());
            }
            println!("seed {}, {:.0?} in all", settings.seed, start.elapsed());
            println!("{}", statistics.summary());
            if statistics.failed > 0 {
                return ExitCode::FAILURE;
            }
            if settings.placement && settings.only.is_none() {
                placement(&settings)
            } else {
                ExitCode::SUCCESS
            }
        }
        Err(problem) => {
            eprintln!("the comparison cannot be run: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Compares hplace with crm_simulate on generated clusters, and on mutations of recorded ones.
fn placement(settings: &Settings) -> ExitCode {
    // Recorded clusters are those of the installed release.
    if settings.only.is_none() && settings.simulator_root.is_none() {
        let status = mutations(settings, MUTATIONS);
        if status != ExitCode::SUCCESS {
            return status;
        }
    }
    beside_pacemaker(settings, |simulator, work| {
        let only = settings.only.as_ref();
        let counts = hplace::run(simulator, settings.seed, settings.jobs, only, work, &settings.keep)?;
        Ok((counts.summary(), counts.good()))
    })
}

/// Compares hplace with crm_simulate on mutations of recorded clusters.
fn mutations(settings: &Settings, count: u64) -> ExitCode {
    beside_pacemaker(settings, |simulator, work| {
        let only = match settings.only {
            Some(Only::Case(only)) => Some(only),
            _ => None,
        };
        let counts = hplace::mutations::run(&hplace::mutations::Run {
            simulator,
            seed: settings.seed,
            mutations: count,
            only,
            jobs: settings.jobs,
            work,
            keep: &settings.keep,
        })?;
        Ok((counts.summary(), counts.good()))
    })
}

/// Compares hplace with crm_simulate on the documents in a directory.
fn upstream(settings: &Settings, directory: &Path) -> ExitCode {
    beside_pacemaker(settings, |simulator, work| {
        let counts = hplace::upstream::run(simulator, directory, work)?;
        Ok((counts.summary(), counts.good()))
    })
}

/// Prints the summary of a comparison, which is given a crm_simulate and a directory for its files. It succeeds if the
/// comparison did, and found nothing wrong.
fn beside_pacemaker(
    settings: &Settings,
    compare: impl FnOnce(&Simulator, &Path) -> io::Result<(String, bool)>,
) -> ExitCode {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("placement-{}", std::process::id()));
    let simulator = Simulator::find(settings.simulator_root.as_deref());
    let result = simulator.and_then(|simulator| compare(&simulator, &work));
    // The files are of no further use.
    let _ = fs::remove_dir_all(&work);
    match result {
        Ok((summary, is_good)) => {
            println!("{summary}");
            if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(problem) => {
            eprintln!("hplace cannot be compared: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run_all(settings: &Settings, programs: &Programs, work: &Path) -> io::Result<Statistics> {
    // Some forms are rare.
    let all = if settings.over.is_some() { settings.runs.saturating_mul(1000) } else { settings.runs };
    let numbers = match settings.only {
        Some(Only::Case(only)) => only..only + 1,
        _ => 0..all,
    };
    let (next, taken) = (AtomicU64::new(numbers.start), AtomicU64::new(0));
    let statistics = Mutex::new(Statistics::default());
    let work_through = || -> io::Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return Ok(());
            }
            let case = Case::new(settings.seed, number, settings.tool);
            if settings.over.is_some_and(|over| over != case.over()) {
                continue;
            }
            if taken.fetch_add(1, Ordering::Relaxed) >= settings.runs {
                return Ok(());
            }
            let directory = work.join(format!("case-{number}"));
            let (theirs, ours, verdict) = run_case(settings, programs, &case, &directory)?;
            let shown = {
                let mut all = statistics.lock().expect("no thread panics while counting");
                all.add(&case, &theirs, &ours, &verdict);
                all.failed
            };
            if let Verdict::Differ(text) = &verdict {
                let kept = keep(settings, &case, &directory, text)?;
                if shown <= SHOWN {
                    println!(
                        "case {number}: {} {}\n  kept in {}\n{text}",
                        case.tool.name(),
                        case.arguments(false).join(" "),
                        kept.display()
                    );
                }
            }
            fs::remove_dir_all(&directory)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..settings.jobs).map(|_| scope.spawn(work_through)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no case panics"))
    })?;
    Ok(statistics.into_inner().expect("no thread panics while counting"))
}

/// Runs both sides of a case, each in a directory of its own with the same files, so that the same words name the
/// same things.
fn run_case(
    settings: &Settings,
    programs: &Programs,
    case: &Case,
    directory: &Path,
) -> io::Result<(Output, Output, Verdict)> {
    let (theirs, ours) = (directory.join("reference"), directory.join("ours"));
    for side in [&theirs, &ours] {
        write_files(case, side)?;
    }
    if case.source == Source::Request {
        for side in [&theirs, &ours] {
            let mut command = std::process::Command::new(&programs.hail);
            run::run(command.args(["-S", "request", REQUEST]), side, None)?;
            // It is absent if the request was refused; the tools will report that, too.
            let _ = fs::rename(side.join("request.pre-ialloc"), side.join(TEXT));
            let _ = fs::remove_file(side.join("request.post-ialloc"));
        }
    }
    // The servers run as long as the programs.
    let _servers = [serve(case, &theirs)?, serve(case, &ours)?];
    let tool = case.tool.name();
    let reference = run::run(programs.reference(tool).args(case.arguments(true)), &theirs, case.input())?;
    let mine = if settings.against_itself {
        run::run(programs.reference(tool).args(case.arguments(true)), &ours, case.input())?
    } else {
        run::run(Programs::ours(tool).args(case.arguments(false)), &ours, case.input())?
    };
    let mut verdict = compare::compare(case, Words::Original, (&reference, &theirs), (&mine, &ours));
    if let (Verdict::Differ(text), Some((rule, other))) = (&verdict, restate::restated(case)) {
        let directory = directory.join("restated");
        write_files(&other, &directory)?;
        let _server = serve(&other, &directory)?;
        let answer =
            run::run(programs.reference(tool).args(other.arguments(true)), &directory, other.input())?;
        if case.tool == Tool::Hroller {
            let again =
                run::run(Programs::ours(tool).args(other.arguments(true)), &directory, other.input())?;
            verdict = compare::gathered(rule, (case, &other), [&reference, &mine], [&answer, &again]);
            return Ok((reference, mine, verdict));
        }
        verdict = match compare::compare(case, Words::Other, (&answer, &directory), (&mine, &ours)) {
            Verdict::Differ(more) => {
                Verdict::Differ(format!("{text}with other words, for {}: {more}", rule.name()))
            }
            // The reference stopped before it printed anything.
            _ if rule == rules::Rule::SilentNode && reference.stdout.is_empty() => Verdict::Listed(rule),
            _ if rule == rules::Rule::SilentNodes => Verdict::Listed(rule),
            _ if compare::same_beginning(case, (&reference, &theirs), (&mine, &ours)) => {
                Verdict::Listed(rule)
            }
            _ => Verdict::Differ(text.clone()),
        };
    }
    Ok((reference, mine, verdict))
}

/// Starts a master daemon in the case's directory, if the case needs one.
fn serve(case: &Case, directory: &Path) -> io::Result<Option<server::Server>> {
    match case.tool {
        Tool::Harep => master::serve(case, directory),
        _ => luxi::serve(case, directory),
    }
}

fn write_files(case: &Case, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (name, content) in &case.files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(path, content)?;
    }
    Ok(())
}

/// Keeps a failing case: both directories, both outputs, the command line and the difference.
fn keep(settings: &Settings, case: &Case, directory: &Path, text: &str) -> io::Result<PathBuf> {
    let kept = settings.keep.join(format!("seed-{}-case-{}", settings.seed, case.number));
    if kept.exists() {
        fs::remove_dir_all(&kept)?;
    }
    for side in ["reference", "ours", "restated"].into_iter().filter(|side| directory.join(side).exists()) {
        copy_all(&directory.join(side), &kept.join(side))?;
        for stream in ["stdout", "stderr"] {
            let name = format!("{side}.{stream}");
            fs::copy(directory.join(&name), kept.join(&name))?;
        }
    }
    let line = |as_text| {
        let words: Vec<String> = case.arguments(as_text).iter().map(|word| quoted(word)).collect();
        format!("{} {}\n", case.tool.name(), words.join(" "))
    };
    fs::write(kept.join("reference.command"), line(true))?;
    fs::write(kept.join("ours.command"), line(settings.against_itself))?;
    fs::write(kept.join("difference"), text)?;
    Ok(kept)
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name())))?;
        if entry.is_dir() {
            copy_all(&entry, &to)?;
        } else if entry.is_file() {
            fs::copy(entry, to)?;
        }
    }
    Ok(())
}

/// A word in shell syntax.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
