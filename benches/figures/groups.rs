//! A cluster of fifty node groups: hgroup, and hbal on all groups. Ganeti's htools have neither.

use std::fs;

use htools::generate::TemplateMix;

use crate::common::clusters::Input;
use crate::common::numbers::seconds;
use crate::common::{Bench, Kind};
use crate::name;
use crate::targets::Targets;

/// 50 groups of 20 nodes.
const KIND: Kind = Kind { templates: TemplateMix::Mixed, groups: 50, ..Kind::drbd(1000, 10_000) };
/// Number of groups that lose a node.
const BROKEN: usize = 5;

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    let input = bench.input(KIND)?;
    let lost = first_nodes(&input)?;
    let lost: Vec<&str> = lost.iter().flat_map(|name| ["-O", name]).collect();
    let cases: [(&str, Vec<&str>, Option<f64>); 6] = [
        ("hgroup status", vec![], Some(0.2)),
        ("hgroup redistribute", lost, Some(5.0)),
        ("hgroup compress", vec![], Some(20.0)),
        ("hgroup balance -l 500", vec![], Some(20.0)),
        ("hbal --worst-group", vec![], None),
        ("hbal --all-groups", vec![], None),
    ];
    println!("| cluster | command | what it says last | time |\n|---|---|---|---:|");
    for (command, more, most) in cases {
        let words: Vec<&str> = command.split(' ').chain(more.iter().copied()).collect();
        let run = bench.ours(&words, &input)?;
        let printed = bench.printed()?;
        let last = printed.lines().last().unwrap_or_default();
        let note = if more.is_empty() { String::new() } else { format!(", {BROKEN} groups without a node") };
        println!(
            "| {}, 50 groups, mixed | {command}{note} | {last} | {} |",
            name(&input),
            seconds(run.seconds)
        );
        if let Some(most) = most {
            let target = format!("{}, 50 groups, mixed, {command}{note}: under {most} s", name(&input));
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
