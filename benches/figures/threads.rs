//! The same commands with one thread and with one for each processor: time by the clock, processor time, and whether
//! the answers are the same.

use anyhow::ensure;
use htools::generate::TemplateMix;

use crate::common::numbers::{seconds, short};
use crate::common::{Bench, Kind};
use crate::name;

const EXT: Kind = Kind { templates: TemplateMix::Ext, ..Kind::drbd(1000, 10_000) };
/// 50 groups of 20 nodes.
const GROUPS: Kind = Kind { templates: TemplateMix::Mixed, groups: 50, ..Kind::drbd(1000, 10_000) };

const CASES: [(Kind, &str); 8] = [
    (Kind::drbd(1000, 10_000), "hbal"),
    (EXT, "hsqueeze"),
    (Kind::drbd(1000, 10_000), "hsqueeze --drbd"),
    (EXT, "hspace --disk-template ext"),
    (GROUPS, "hgroup balance -l 500"),
    (GROUPS, "hgroup redistribute"),
    (GROUPS, "hgroup compress"),
    (Kind::drbd(200, 2000), "hbal --deep --max-moves 100"),
];

/// Prints the table.
///
/// # Errors
/// If a command fails, or its answer depends on the number of threads.
pub fn table(bench: &Bench) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "| cluster | command | 1 thread | {cores} threads | ratio | CPU, 1 thread | CPU, {cores} threads |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for (kind, command) in CASES {
        let input = bench.input(kind)?;
        let run = |threads: usize| {
            let threads = threads.to_string();
            let words: Vec<&str> = command.split(' ').chain(["--threads", &threads]).collect();
            let run = bench.ours(&words, &input)?;
            anyhow::Ok((run, bench.printed()?))
        };
        let (alone, answer) = run(1)?;
        let (together, same) = run(cores)?;
        ensure!(answer == same, "the answer of '{command}' depends on the number of threads");
        let cpu = |run: Option<f64>| run.map_or_else(String::new, seconds);
        println!(
            "| {}, {} | {command} | {} | {} | {} | {} | {} |",
            name(&input),
            kind.template(),
            seconds(alone.seconds),
            seconds(together.seconds),
            short(alone.seconds / together.seconds),
            cpu(alone.cpu),
            cpu(together.cpu),
        );
    }
    println!();
    Ok(())
}
