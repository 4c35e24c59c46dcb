//! The figures that the project quotes, measured as its users see them: whole
//! processes, the best of several runs, on clusters of the library's own
//! generator. Prints tables in Markdown:
//!
//!     cargo bench --bench figures [-- [--reference] [--quick] [--limit SECONDS]]
//!
//! With --reference the same commands are given to Ganeti's own tools in the
//! same run, on the same files, each for at most --limit seconds.

mod measure;

use std::ffi::OsStr;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, value_parser};
use htools::generate::{ClusterSpec, TemplateMix};
use htools::load::merge::{MergeOptions, merge};
use htools::load::text;
use htools::tools::generate::Made;
use measure::{Taken, Workshop};

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");
/// No run of this project's program comes near it.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the command line says.
struct Settings {
    reference: bool,
    runs: u32,
    limit: Duration,
}

fn settings() -> Settings {
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let matches = clap::Command::new("figures")
        .about("Measures the figures that the project quotes")
        .arg(switch("reference").help("Measure Ganeti's own tools, too"))
        .arg(switch("quick").help("Fewer repetitions, and less patience with the reference"))
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..=1_000_000))
                .help("The longest run of a command of the reference [60; 20 with --quick]"),
        )
        // what cargo adds
        .arg(switch("bench").hide(true))
        .get_matches();
    let quick = matches.get_flag("quick");
    let limit = matches.get_one("limit").copied().unwrap_or(if quick { 20 } else { 60 });
    Settings {
        reference: matches.get_flag("reference"),
        runs: if quick { 2 } else { 7 },
        limit: Duration::from_secs(limit),
    }
}

fn main() -> anyhow::Result<()> {
    let settings = settings();
    let bench = Bench { reference: reference(&settings), workshop: Workshop::new()?, settings };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{} cores, best of up to {} runs\n", cores, bench.settings.runs);
    let mut targets = Targets::default();
    bench.speed(&mut targets)?;
    bench.growth(&mut targets)?;
    bench.loading(&mut targets)?;
    println!("| target | measured | |\n|---|---|---|\n{}", targets.0);
    Ok(())
}

/// Where the reference's tools are, or what the tables say instead.
fn reference(settings: &Settings) -> Result<PathBuf, &'static str> {
    if !settings.reference {
        return Err("not asked for");
    }
    let path = match std::env::var_os("HTOOLS_REFERENCE_DIR") {
        Some(directory) => directory,
        None => std::env::var_os("PATH").unwrap_or_default(),
    };
    std::env::split_paths(&path)
        .find(|place| ["hbal", "hinfo"].iter().all(|tool| place.join(tool).is_file()))
        .ok_or("not installed")
}

/// Lines of the last table.
#[derive(Default)]
struct Targets(String);

impl Targets {
    fn check(&mut self, target: &str, measured: &str, met: bool) {
        let verdict = if met { "met" } else { "MISSED" };
        // writing to a string cannot fail
        let _ = writeln!(self.0, "| {target} | {measured} | {verdict} |");
    }
}

struct Bench {
    settings: Settings,
    reference: Result<PathBuf, &'static str>,
    workshop: Workshop,
}

/// A cluster of so many nodes and instances, all on DRBD.
struct Input {
    nodes: usize,
    instances: usize,
    text: String,
    file: PathBuf,
}

impl Input {
    fn size(&self) -> f64 {
        self.nodes as f64 * self.instances as f64
    }

    fn name(&self) -> String {
        format!("{}/{}", thousands(self.nodes), thousands(self.instances))
    }
}

impl Bench {
    fn input(&self, nodes: usize, instances: usize) -> anyhow::Result<Input> {
        let text = Made::new(&ClusterSpec::new(nodes, instances, TemplateMix::Drbd, 1))?.text;
        let file = self.workshop.file(&format!("{nodes}-{instances}.data"), &text)?;
        Ok(Input { nodes, instances, text, file })
    }

    fn ours(&self, words: &[&str], input: &Input) -> io::Result<f64> {
        match self.workshop.best(&mut ours(words, input), self.settings.runs, PATIENCE)? {
            Taken::Time(time) => Ok(time.as_secs_f64()),
            Taken::MoreThan(_) => Err(io::Error::other(format!("{words:?} took too long"))),
        }
    }

    fn theirs(&self, words: &[&str], input: &Input) -> io::Result<Theirs> {
        let place = match &self.reference {
            Ok(place) => place,
            Err(reason) => return Ok(Theirs::Missing(reason)),
        };
        let mut command = command(place.join(words[0]), &words[1..], input);
        Ok(
            match self.workshop.best(command.env_remove("HTOOLS"), self.settings.runs, self.settings.limit)? {
                Taken::Time(time) => Theirs::Seconds(time.as_secs_f64()),
                Taken::MoreThan(limit) => Theirs::MoreThan(limit.as_secs_f64()),
            },
        )
    }

    /// Commands beside the reference's.
    fn speed(&self, targets: &mut Targets) -> anyhow::Result<()> {
        println!("| cluster | command | htools | reference | ratio |\n|---|---|---:|---:|---:|");
        let small = self.input(20, 160)?;
        let medium = self.input(100, 1000)?;
        let large = self.input(400, 4000)?;
        let row = |input: &Input, command: &str, ours: f64, theirs: &Theirs| {
            let (reference, ratio) = (theirs.text(), theirs.ratio(ours));
            println!("| {} | {command} | {} | {reference} | {ratio} |", input.name(), seconds(ours));
        };

        let ours = self.ours(&["hbal"], &small)?;
        let steps = self.steps()?;
        row(&small, &format!("hbal ({steps} steps)"), ours, &self.theirs(&["hbal"], &small)?);

        let ours = self.ours(&["hbal", "-l", "1"], &medium)?;
        let theirs = self.theirs(&["hbal", "-l", "1"], &medium)?;
        row(&medium, "hbal -l 1", ours, &theirs);
        if let Some(factor) = theirs.factor(ours) {
            let measured = format!("{} times", thousands(factor as usize));
            targets.check(
                "100/1,000, hbal -l 1: 300 times faster than the reference",
                &measured,
                factor >= 300.0,
            );
        }

        let whole = self.ours(&["hbal"], &medium)?;
        let steps = self.steps()?;
        // nobody waits for it: so many steps, each as long as the first
        let estimate = match theirs {
            Theirs::Seconds(step) => Theirs::Estimate(step * steps as f64),
            Theirs::MoreThan(step) => Theirs::MoreThan(step * steps as f64),
            other => other,
        };
        row(&medium, &format!("hbal ({steps} steps)"), whole, &estimate);
        targets.check("100/1,000, hbal to the end: under 15 s", &seconds(whole), whole < 15.0);

        let ours = self.ours(&["hinfo"], &large)?;
        row(&large, "hinfo", ours, &self.theirs(&["hinfo"], &large)?);
        println!("\nEstimate: the number of steps times the measured time of `-l 1`; not run.\n");
        Ok(())
    }

    /// The number of steps in the plan printed last.
    fn steps(&self) -> anyhow::Result<usize> {
        let printed = self.workshop.printed()?;
        let number = printed.lines().find_map(|line| line.strip_prefix("Solution length="));
        Ok(number.unwrap_or("0").parse()?)
    }

    /// How the time of one step grows with the cluster.
    fn growth(&self, targets: &mut Targets) -> anyhow::Result<()> {
        println!(
            "| cluster | hbal -l 1 | one step | nodes x instances | time of a step | reference | ratio |\n\
             |---|---:|---:|---:|---:|---:|---:|"
        );
        let mut first = None;
        let mut too_long = None;
        for nodes in [100, 200, 400, 1000] {
            let input = self.input(nodes, 10 * nodes)?;
            let whole = self.ours(&["hbal", "-l", "1"], &input)?;
            // everything but the search
            let rest = self.ours(&["hbal", "-l", "0"], &input)?;
            let step = (whole - rest).max(0.0);
            let theirs = match too_long {
                Some(limit) => Theirs::MoreThan(limit),
                None => self.theirs(&["hbal", "-l", "1"], &input)?,
            };
            if let Theirs::MoreThan(limit) = theirs {
                too_long = Some(limit);
            }
            let (size, time) = *first.get_or_insert((input.size(), step));
            let (larger, longer) = (input.size() / size, step / time);
            println!(
                "| {} | {} | {} | x {larger:.0} | x {longer:.1} | {} | {} |",
                input.name(),
                seconds(whole),
                seconds(step),
                theirs.text(),
                theirs.ratio(whole)
            );
            if nodes == 1000 {
                targets.check("1,000/10,000, hbal -l 1: under 2 s", &seconds(whole), whole < 2.0);
                let measured = format!("time x {longer:.1}, nodes times instances x {larger:.0}");
                let target = "a step's time grows no faster than nodes times instances";
                targets.check(target, &measured, longer <= larger);
            }
        }
        println!();
        Ok(())
    }

    /// Loading the largest cluster, and the memory that a step takes.
    fn loading(&self, targets: &mut Targets) -> anyhow::Result<()> {
        let input = self.input(1000, 10_000)?;
        let whole = self.ours(&["hinfo"], &input)?;
        let library = self.library_load(&input)?;
        let memory = self.workshop.peak_memory(&mut ours(&["hbal", "-l", "1"], &input))?;
        let name = input.name();
        println!("| cluster | what | |\n|---|---|---:|");
        println!("| {name} | hinfo, the whole process | {} |", seconds(whole));
        println!("| {name} | reading the text and building the model | {} |", seconds(library));
        targets.check("1,000/10,000: loaded in under 50 ms", &seconds(library), library < 0.05);
        if let Some(kib) = memory {
            let mib = kib as f64 / 1024.0;
            println!("| {name} | memory of hbal -l 1 at its peak | {mib:.1} MiB |");
            targets.check("1,000/10,000: under 200 MiB", &format!("{mib:.1} MiB"), mib < 200.0);
        }
        println!();
        Ok(())
    }

    fn library_load(&self, input: &Input) -> anyhow::Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..self.settings.runs {
            let start = Instant::now();
            let cluster = merge(text::parse(&input.text, "text")?, &MergeOptions::default())?;
            best = best.min(start.elapsed().as_secs_f64());
            assert_eq!(cluster.nodes.len(), input.nodes);
        }
        Ok(best)
    }
}

fn ours(words: &[&str], input: &Input) -> Command {
    let mut command = command(PROGRAM, words, input);
    command.env_remove("HTOOLS");
    command
}

fn command(program: impl AsRef<OsStr>, words: &[&str], input: &Input) -> Command {
    let mut command = Command::new(program);
    command.args(words).arg("-t").arg(AsRef::<Path>::as_ref(&input.file));
    command
}

/// What the reference took.
enum Theirs {
    Missing(&'static str),
    Seconds(f64),
    Estimate(f64),
    MoreThan(f64),
}

impl Theirs {
    fn text(&self) -> String {
        match self {
            Theirs::Missing(reason) => (*reason).to_owned(),
            Theirs::Seconds(time) => seconds(*time),
            Theirs::Estimate(time) => format!("about {} (estimate)", seconds(*time)),
            Theirs::MoreThan(time) => format!("over {}", seconds(*time)),
        }
    }

    /// How many times as long as ours, at least.
    fn factor(&self, ours: f64) -> Option<f64> {
        match self {
            Theirs::Missing(_) => None,
            Theirs::Seconds(time) | Theirs::Estimate(time) | Theirs::MoreThan(time) => Some(time / ours),
        }
    }

    fn ratio(&self, ours: f64) -> String {
        let Some(factor) = self.factor(ours) else { return String::new() };
        let number = if factor < 10.0 { format!("{factor:.1}") } else { thousands(factor as usize) };
        match self {
            Theirs::MoreThan(_) => format!("over {number}"),
            Theirs::Estimate(_) => format!("about {number}"),
            _ => number,
        }
    }
}

/// A time in a unit that suits it.
fn seconds(time: f64) -> String {
    match time {
        _ if time < 0.1 => format!("{:.1} ms", time * 1000.0),
        _ if time < 10.0 => format!("{time:.2} s"),
        _ if time < 600.0 => format!("{time:.0} s"),
        _ => format!("{:.1} h", time / 3600.0),
    }
}

/// A whole number with commas.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}
