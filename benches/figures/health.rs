//! hcheck with its simulation and hroller, compared with the reference; and the loss of any nodes, which the
//! reference cannot check.

use crate::common::numbers::{seconds, thousands};
use crate::common::{Bench, Kind};
use crate::name;
use crate::speed::{factor, ratio};
use crate::targets::Targets;

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    println!("| cluster | command | htools | reference | ratio |\n|---|---|---:|---:|---:|");
    for (tool, kind, times) in
        [("hcheck", Kind::drbd(20, 160), 1000.0), ("hroller", Kind::drbd(400, 4000), 500.0)]
    {
        let input = bench.input(kind)?;
        // The library's generator does not always mark a master.
        let words: &[&str] = if tool == "hroller" { &[tool, "-f"] } else { &[tool] };
        let ours = bench.ours(words, &input)?.seconds;
        let theirs = bench.theirs(words, &input)?;
        let cluster = name(&input);
        println!("| {cluster} | {tool} | {} | {} | {} |", seconds(ours), theirs.text(), ratio(theirs, ours));
        let target =
            format!("{cluster} drbd, {tool}: {} times faster than the reference", thousands(times as usize));
        match factor(theirs, ours) {
            Some(factor) => {
                targets.check(&target, &format!("{} times", ratio(theirs, ours)), factor >= times)
            }
            None => targets.open(&target, &format!("reference {}", theirs.text())),
        }
    }
    println!();
    survival(bench, targets)
}

/// Prints the times for combinations of nodes.
fn survival(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    println!("| cluster | command | combinations | time |\n|---|---|---:|---:|");
    for (most, combinations, limit) in [("2", "5,050", Some(1.0)), ("3", "166,750", None)] {
        let input = bench.input(Kind::drbd(100, 1000))?;
        let took = bench.ours(&["hcheck", "--survive", most], &input)?.seconds;
        let cluster = name(&input);
        println!("| {cluster} drbd | hcheck --survive {most} | {combinations} | {} |", seconds(took));
        if let Some(limit) = limit {
            let target = format!("{cluster} drbd, hcheck --survive {most}: under {limit} s");
            targets.check(&target, &seconds(took), took < limit);
        }
    }
    println!();
    Ok(())
}
