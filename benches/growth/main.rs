//! Growth of the time of hbal's whole plan with the cluster: whole processes, best of several runs, on clusters with
//! ten DRBD instances per node. Prints a table in Markdown and, on request, draws a plot:
//!
//!     cargo bench --bench growth [-- [--largest NODES] [--plot [FILE]] [--quick]
//!         [--clusters PYTHON_SCRIPT] [--reference] [--limit SECONDS]]
//!
//! With --reference, the table and the plot also show the estimated time of Ganeti's own hbal: the number of steps
//! times the time of its first step, if that takes at most --limit seconds.

#[path = "../common/mod.rs"]
mod common;
mod plot;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Arg, value_parser};
use common::numbers::{memory, seconds, short, thousands};
use common::{Bench, Kind, Settings, Theirs};
use plot::Curve;

/// Sizes of clusters, in nodes.
const NODES: [usize; 8] = [50, 100, 200, 500, 1000, 2000, 5000, 10_000];
const INSTANCES_A_NODE: usize = 10;
/// Default path of the plot, relative to the package's directory.
const PLOT: &str = "docs/growth.svg";

fn main() -> anyhow::Result<()> {
    let matches =
        Settings::command("growth", "Measures how the time of hbal to the end grows with the cluster")
            .arg(
                Arg::new("largest")
                    .long("largest")
                    .value_name("NODES")
                    .value_parser(value_parser!(usize))
                    .default_value("2000")
                    .help("The largest cluster, up to 10,000 nodes"),
            )
            .arg(
                Arg::new("plot")
                    .long("plot")
                    .value_name("FILE")
                    .num_args(0..=1)
                    .default_missing_value(PLOT)
                    .value_parser(value_parser!(PathBuf))
                    .help(format!("Draw the times, as SVG [{PLOT}]")),
            )
            .get_matches();
    let largest: usize = *matches.get_one("largest").context("it has a default")?;
    ensure!(largest >= NODES[0], "--largest {largest}: the smallest cluster has {} nodes", NODES[0]);
    let plot: Option<&PathBuf> = matches.get_one("plot");
    if let Some(directory) = plot.and_then(|file| file.parent()) {
        // The user should learn of this before the measurements.
        let there = directory.as_os_str().is_empty() || directory.is_dir();
        ensure!(there, "--plot: there is no directory '{}'", directory.display());
    }

    let bench = Bench::new(Settings::of(&matches))?;
    println!("{}\n", bench.describe());
    let sizes = NODES.into_iter().filter(|nodes| *nodes <= largest);
    let curves = table(&bench, sizes)?;
    if let Some(file) = plot {
        std::fs::write(file, plot::svg(&curves)?)
            .with_context(|| format!("cannot write '{}'", file.display()))?;
        println!("\nThe plot has been written to {}", file.display());
    }
    Ok(())
}

/// Prints the table and returns its curves.
fn table(bench: &Bench, sizes: impl Iterator<Item = usize>) -> anyhow::Result<[Curve; 2]> {
    let reference = bench.settings.reference;
    let (head, line) =
        if reference { (" reference, -l 1 | to the end |", "---:|---:|") } else { Default::default() };
    println!(
        "| nodes | instances | steps | time | time of a step | score before | after | memory at its peak |{head}\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|{line}"
    );
    let mut ours = Curve { name: "htools", estimate: false, points: Vec::new() };
    let mut theirs = Curve {
        name: "Ganeti's htools, estimate: steps times the time of the first",
        estimate: true,
        points: Vec::new(),
    };
    let mut first_step = None;
    for nodes in sizes {
        let input = bench.input(Kind::drbd(nodes, INSTANCES_A_NODE * nodes))?;
        let run = bench.ours(&["hbal"], &input)?;
        let steps = bench.steps()?;
        let printed = bench.printed()?;
        let (before, after) = scores(&printed);
        print!(
            "| {} | {} | {} | {} | {} µs | {before} | {after} | {} |",
            thousands(nodes),
            thousands(input.instances),
            thousands(steps),
            seconds(run.seconds),
            short(run.seconds * 1e6 / steps.max(1) as f64),
            memory(run.mib)
        );
        ours.points.push((nodes, run.seconds));
        if reference {
            let step = bench.theirs_after(first_step, &["hbal", "-l", "1"], &input)?;
            first_step = Some(step);
            let whole = step.steps(steps);
            print!(" {} | {} |", step.text(), whole.text());
            if let Theirs::Estimate(time) = whole {
                theirs.points.push((nodes, time));
            }
        }
        println!();
    }
    Ok([ours, theirs])
}

/// The initial and the final score, as hbal prints them.
fn scores(printed: &str) -> (&str, &str) {
    let behind = |start: &str| printed.lines().find_map(|line| line.strip_prefix(start));
    if let Some(change) = behind("Cluster score improved from ").and_then(|line| line.split_once(" to ")) {
        return change;
    }
    // No step improved the score.
    let score = behind("Initial score: ").unwrap_or("-");
    (score, score)
}
