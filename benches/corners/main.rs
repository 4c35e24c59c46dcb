//! Growth of the time of every tool with inputs of a hostile shape: many groups, locations, colocations or tags, or
//! nodes full of one kind of instance. Each input is made at one size and at ten times that size, at most about 10
//! MB. Prints a table in Markdown, with the processor time of whole processes:
//!
//!     cargo bench --bench corners [-- [--only WORD] [--limit SECONDS]]
//!
//! A tool is near-linear if ten times the input takes less than 15 times the time. The bench ends with status 1 if a
//! tool is not near-linear and takes longer than a second.

// Other benches need the rest.
#[allow(dead_code)]
#[path = "../common/numbers.rs"]
mod numbers;
#[allow(dead_code)]
#[path = "../common/workshop.rs"]
mod workshop;

mod exporter;
mod ganeti;
mod pacemaker;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Arg, value_parser};

use numbers::{seconds, thousands};
use workshop::{Run, Taken, Workshop};

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");
/// Factor by which the second input is larger.
const TIMES: usize = 10;
/// Ratio of times from which a tool is not near-linear.
const WORST: f64 = 15.0;
/// Times shorter than this, in seconds, are too short to show growth.
const FLOOR: f64 = 1.0;
/// Placeholder for the input in a command.
const INPUT: &str = "INPUT";
/// Placeholder for the allocator's request in a command.
const REQUEST: &str = "REQUEST";

/// An input, and the tools that read it.
struct Corner {
    name: &'static str,
    /// The smaller size.
    size: usize,
    /// Makes the input for a size.
    make: fn(usize) -> String,
    /// Makes the text of `REQUEST`; empty if no command needs a request.
    request: fn(usize) -> String,
    /// Tools with their options.
    commands: &'static [&'static [&'static str]],
}

fn main() -> anyhow::Result<ExitCode> {
    let matches = clap::Command::new("corners")
        .about("Measures how the time of all tools grows with inputs of a hostile shape")
        .args([
            Arg::new("only").long("only").value_name("WORD").help("Only rows that have WORD in them"),
            Arg::new("limit")
                .long("limit")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..=1_000_000))
                .default_value("20")
                .help("The longest run of a command"),
            // Cargo adds this option.
            Arg::new("bench").long("bench").hide(true).action(clap::ArgAction::SetTrue),
        ])
        .get_matches();
    let only = matches.get_one("only").cloned().unwrap_or_else(String::new);
    let limit = Duration::from_secs(matches.get_one("limit").copied().unwrap_or(20));
    let bench = Bench { workshop: Workshop::new()?, limit };
    println!(
        "| input | command | size | time | 10 times as much | ratio | |\n|---|---|---:|---:|---:|---:|---|"
    );
    let mut steep = Vec::new();
    for corner in ganeti::CORNERS.iter().chain(pacemaker::CORNERS) {
        let row = |words: &[&str]| format!("{}: {}", corner.name, words.join(" "));
        let wanted = corner.commands.iter().filter(|words| row(words).contains(&only));
        let wanted: Vec<&[&str]> = wanted.copied().collect();
        if wanted.is_empty() {
            continue;
        }
        let inputs = [1, TIMES].map(|times| bench.input(corner, times * corner.size));
        let [small, large] = inputs;
        let (small, large) = (small?, large?);
        for words in wanted {
            match bench.row(corner, words, &small, &large) {
                Ok(true) => {}
                Ok(false) => steep.push(row(words)),
                Err(error) => steep.push(format!("{}: {error:#}", row(words))),
            }
        }
    }
    if steep.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("not near-linear:");
    steep.iter().for_each(|row| eprintln!("  {row}"));
    Ok(ExitCode::FAILURE)
}

/// The files of an input.
struct Files {
    input: PathBuf,
    request: PathBuf,
}

struct Bench {
    workshop: Workshop,
    limit: Duration,
}

impl Bench {
    fn input(&self, corner: &Corner, size: usize) -> std::io::Result<Files> {
        let name = corner.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        Ok(Files {
            input: self.workshop.file(&format!("{name}-{size}"), &(corner.make)(size))?,
            request: self.workshop.file(&format!("{name}-{size}.json"), &(corner.request)(size))?,
        })
    }

    /// Measures a tool on both inputs; false if it is not near-linear.
    fn row(&self, corner: &Corner, words: &[&str], small: &Files, large: &Files) -> anyhow::Result<bool> {
        let [before, after] = [self.time(words, small)?, self.time(words, large)?];
        let ratio = before.zip(after).map(|(before, after)| after / before);
        let is_fine = after.is_some_and(|after| after < FLOOR) || ratio.is_some_and(|ratio| ratio < WORST);
        let shown: Vec<&str> =
            words.iter().copied().filter(|word| ![INPUT, "-t", "-x"].contains(word)).collect();
        let time =
            |time: Option<f64>| time.map_or(format!("over {}", seconds(self.limit.as_secs_f64())), seconds);
        println!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            corner.name,
            shown.join(" "),
            thousands(corner.size),
            time(before),
            time(after),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.1}")),
            if is_fine { "" } else { "**not near-linear**" },
        );
        Ok(is_fine)
    }

    /// Time of a tool in seconds, if within the limit.
    fn time(&self, words: &[&str], files: &Files) -> anyhow::Result<Option<f64>> {
        if words.first() == Some(&"exporter") {
            return exporter::time(Path::new(PROGRAM), &files.input, self.limit);
        }
        let mut command = Command::new(PROGRAM);
        command.env_remove("HTOOLS").env("HTOOLS_CONFIG", "");
        for word in words {
            match *word {
                INPUT => command.arg(&files.input),
                REQUEST => command.arg(&files.request),
                word => command.arg(word),
            };
        }
        Ok(match self.workshop.best(&mut command, 2, self.limit)? {
            Taken::Run(run) => Some(of_processor(run)),
            Taken::MoreThan(_) => None,
        })
    }
}

/// Shorter processor times, in seconds, are too imprecise, because the system counts in hundredths.
const COARSE: f64 = 0.1;

/// Processor time of a run if it is precise enough, else its elapsed time.
fn of_processor(run: Run) -> f64 {
    run.cpu.filter(|cpu| *cpu >= COARSE).unwrap_or(run.seconds)
}
