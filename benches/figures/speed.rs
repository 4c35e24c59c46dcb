//! Commands compared with the reference.

use crate::common::clusters::Input;
use crate::common::numbers::{seconds, thousands};
use crate::common::{Bench, Kind, Theirs};
use crate::name;
use crate::targets::Targets;

/// Target speed-up of the first step over the reference.
const TIMES: f64 = 1000.0;

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    println!("| cluster | command | htools | reference | ratio |\n|---|---|---:|---:|---:|");
    let small = bench.input(Kind::drbd(20, 160))?;
    let medium = bench.input(Kind::drbd(100, 1000))?;
    let large = bench.input(Kind::drbd(400, 4000))?;

    let whole = bench.ours(&["hbal"], &small)?.seconds;
    let steps = bench.steps()?;
    row(&small, &format!("hbal ({steps} steps)"), whole, bench.theirs(&["hbal"], &small)?);

    let first = bench.ours(&["hbal", "-l", "1"], &medium)?.seconds;
    let theirs = bench.theirs(&["hbal", "-l", "1"], &medium)?;
    row(&medium, "hbal -l 1", first, theirs);
    check(targets, first, theirs);

    let whole = bench.ours(&["hbal"], &medium)?.seconds;
    let steps = bench.steps()?;
    row(&medium, &format!("hbal ({steps} steps)"), whole, theirs.steps(steps));

    let info = bench.ours(&["hinfo"], &large)?.seconds;
    row(&large, "hinfo", info, bench.theirs(&["hinfo"], &large)?);
    println!("\nEstimate: the number of steps times the measured time of `-l 1`; not run.\n");
    Ok(())
}

fn row(input: &Input, command: &str, ours: f64, theirs: Theirs) {
    let (ours_text, theirs_text, ratio) = (seconds(ours), theirs.text(), ratio(theirs, ours));
    println!("| {} | {command} | {ours_text} | {theirs_text} | {ratio} |", name(input));
}

fn check(targets: &mut Targets, ours: f64, theirs: Theirs) {
    let target =
        format!("100/1,000 drbd, hbal -l 1: {} times faster than the reference", thousands(TIMES as usize));
    match (theirs, factor(theirs, ours)) {
        (_, None) => targets.open(&target, &format!("reference {}", theirs.text())),
        (Theirs::MoreThan(_), Some(factor)) if factor < TIMES => {
            targets.open(&target, &format!("over {} times", thousands(factor as usize)));
        }
        (_, Some(factor)) => {
            let measured = format!("{} times", ratio(theirs, ours));
            targets.check(&target, &measured, factor >= TIMES);
        }
    }
}

/// Ratio of the reference's time to ours, or a lower bound of it.
pub fn factor(theirs: Theirs, ours: f64) -> Option<f64> {
    match theirs {
        Theirs::Missing(_) => None,
        Theirs::Seconds(time) | Theirs::Estimate(time) | Theirs::MoreThan(time) => Some(time / ours),
    }
}

/// The ratio for a table.
pub fn ratio(theirs: Theirs, ours: f64) -> String {
    let Some(factor) = factor(theirs, ours) else { return String::new() };
    let number = if factor < 10.0 { format!("{factor:.1}") } else { thousands(factor as usize) };
    match theirs {
        Theirs::MoreThan(_) => format!("over {number}"),
        Theirs::Estimate(_) => format!("about {number}"),
        _ => number,
    }
}
