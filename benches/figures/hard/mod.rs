//! Clusters that are hard to search: full, with equal nodes, or with very many tags or groups. Each once took
//! minutes; the table shows the earlier time beside the present one. The reference is not measured, because it does
//! not finish on them.

mod equal;
mod space;
mod squeeze;
mod tags;

use crate::common::Bench;
use crate::common::numbers::seconds;
use crate::targets::Targets;

/// A cluster and a command that is hard on it.
pub struct Case {
    /// Short description of the difficulty.
    pub title: &'static str,
    /// The tool and its options.
    pub command: &'static str,
    /// The cluster in the text format.
    pub cluster: String,
    /// Time before the improvement.
    pub before: &'static str,
    /// Target time in seconds.
    pub most: f64,
}

/// Makes the cases of one kind when they are measured.
type Cases = fn() -> Vec<Case>;

const KINDS: [Cases; 4] = [equal::cases, space::cases, squeeze::cases, tags::cases];

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    println!("| cluster | command | before | now | wanted |\n|---|---|---:|---:|---:|");
    for Case { title, command, cluster, before, most } in KINDS.iter().flat_map(|cases| cases()) {
        let file = bench.file("hard.data", &cluster)?;
        let file = file.to_string_lossy();
        let words: Vec<&str> = command.split(' ').chain(["-t", &file]).collect();
        let run = bench.ours_alone(&words)?;
        println!("| {title} | {command} | {before} | {} | {most} s |", seconds(run.seconds));
        let target = format!("{title}, {command}: under {most} s");
        targets.check(&target, &seconds(run.seconds), run.seconds < most);
    }
    println!();
    Ok(())
}
