//! Loading of a large cluster, and the memory of a step.

use std::fs;
use std::time::Instant;

use htools::load::merge::{MergeOptions, merge};
use htools::load::text;

use crate::common::clusters::Input;
use crate::common::numbers::{memory, seconds};
use crate::common::{Bench, Kind};
use crate::name;
use crate::targets::Targets;

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    let input = bench.input(Kind::drbd(1000, 10_000))?;
    let whole = bench.ours(&["hinfo"], &input)?.seconds;
    let library = library_load(&input, bench.settings.runs())?;
    let mib = bench.ours(&["hbal", "-l", "1"], &input)?.mib;
    let cluster = name(&input);
    println!("| cluster | what | |\n|---|---|---:|");
    println!("| {cluster} | hinfo, the whole process | {} |", seconds(whole));
    println!("| {cluster} | reading the text and building the model | {} |", seconds(library));
    println!("| {cluster} | memory of hbal -l 1 at its peak | {} |", memory(mib));
    targets.check("1,000/10,000 drbd: loaded in under 50 ms", &seconds(library), library < 0.05);
    targets.memory("1,000/10,000 drbd, hbal -l 1: under 200 MiB", mib, 200.0);
    println!();
    Ok(())
}

fn library_load(input: &Input, runs: u32) -> anyhow::Result<f64> {
    let content = fs::read_to_string(&input.file)?;
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        let cluster = merge(text::parse(&content, "text")?, &MergeOptions::default())?;
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(cluster.nodes.len(), input.kind.nodes);
    }
    Ok(best)
}
