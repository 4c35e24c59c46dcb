//! A cluster of fifty node groups: hgroup, and hbal on all groups. Ganeti's htools can do neither.

use std::fs;

use htools::generate::TemplateMix;

use crate::common::clusters::Input;
use crate::common::numbers::seconds;
use crate::common::{Bench, Kind};
use crate::name;
use crate::targets::Targets;

/// 50 groups of 20 nodes.
const MIXED: Kind = Kind { templates: TemplateMix::Mixed, groups: 50, ..Kind::drbd(1000, 10_000) };
/// The same, but every instance can leave its node.
const EXT: Kind = Kind { templates: TemplateMix::Ext, ..MIXED };
const DRBD: Kind = Kind { templates: TemplateMix::Drbd, ..MIXED };
/// Number of groups that lose a node.
const BROKEN: usize = 5;

/// The measurements: cluster, command, true if groups are broken, and the target time in seconds.
const CASES: [(Kind, &str, bool, Option<f64>); 9] = [
    (MIXED, "hgroup status", false, Some(0.2)),
    (MIXED, "hgroup redistribute", true, Some(5.0)),
    (DRBD, "hgroup redistribute", true, Some(5.0)),
    (MIXED, "hgroup compress", false, Some(20.0)),
    (EXT, "hgroup compress", false, Some(20.0)),
    (DRBD, "hgroup compress", false, Some(20.0)),
    (MIXED, "hgroup balance -l 500", false, Some(20.0)),
    (MIXED, "hbal --worst-group", false, None),
    (MIXED, "hbal --all-groups", false, None),
];

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    println!("| cluster | command | answer | time |\n|---|---|---|---:|");
    for (kind, command, broken, most) in CASES {
        let input = bench.input(kind)?;
        let lost = if broken { first_nodes(&input)? } else { Vec::new() };
        let more = lost.iter().flat_map(|name| ["-O", name]);
        let words: Vec<&str> = command.split(' ').chain(more).collect();
        let run = bench.ours(&words, &input)?;
        let printed = bench.printed()?;
        // The last line with the summary, if there is one.
        let answer = printed.lines().last().filter(|line| line.ends_with('.')).unwrap_or_default();
        let note = if broken { format!(", {BROKEN} groups without a node") } else { String::new() };
        let cluster = format!("{}, 50 groups, {}", name(&input), kind.template());
        println!("| {cluster} | {command}{note} | {answer} | {} |", seconds(run.seconds));
        if let Some(most) = most {
            let target = format!("{cluster}, {command}{note}: under {most} s");
            targets.check(&target, &seconds(run.seconds), run.seconds < most);
        }
    }
    println!();
    Ok(())
}

/// The first node of each of the first groups.
fn first_nodes(input: &Input) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(&input.file)?;
    let rows = |section: usize| {
        let lines = text.split("\n\n").nth(section).unwrap_or_default().lines();
        lines.map(|line| line.split('|').collect::<Vec<&str>>())
    };
    let first = |group: Vec<&str>| {
        let uuid = group.get(1).copied();
        rows(1).find(|node| node.get(8).copied() == uuid).map(|node| node[0].to_owned())
    };
    Ok(rows(0).take(BROKEN).filter_map(first).collect())
}
