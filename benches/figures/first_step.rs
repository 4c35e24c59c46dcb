//! Growth of the time of one step with the cluster.

use crate::common::clusters::Input;
use crate::common::numbers::seconds;
use crate::common::{Bench, Kind};
use crate::name;
use crate::speed::ratio;
use crate::targets::Targets;

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    println!(
        "| cluster | hbal -l 1 | one step | nodes x instances | time of a step | reference | ratio |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    let mut first = None;
    let mut theirs = None;
    for nodes in [100, 200, 400, 1000] {
        let input = bench.input(Kind::drbd(nodes, 10 * nodes))?;
        let whole = bench.ours(&["hbal", "-l", "1"], &input)?.seconds;
        // Everything except the search.
        let rest = bench.ours(&["hbal", "-l", "0"], &input)?.seconds;
        let step = (whole - rest).max(0.0);
        let reference = bench.theirs_after(theirs, &["hbal", "-l", "1"], &input)?;
        theirs = Some(reference);
        let (smallest, time) = *first.get_or_insert((product(&input), step));
        let (larger, longer) = (product(&input) / smallest, step / time);
        println!(
            "| {} | {} | {} | x {larger:.0} | x {longer:.1} | {} | {} |",
            name(&input),
            seconds(whole),
            seconds(step),
            reference.text(),
            ratio(reference, whole)
        );
        if nodes == 1000 {
            targets.check("1,000/10,000 drbd, hbal -l 1: under 2 s", &seconds(whole), whole < 2.0);
            let measured = format!("time x {longer:.1}, nodes times instances x {larger:.0}");
            let target = "a step's time grows no faster than nodes times instances";
            targets.check(target, &measured, longer <= larger);
        }
    }
    println!();
    Ok(())
}

fn product(input: &Input) -> f64 {
    input.kind.nodes as f64 * input.instances as f64
}
