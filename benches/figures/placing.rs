//! hspace on simulated clusters, and hail on requests for large ones.

use std::time::Instant;

use htools::load::iallocator;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::model::Mib;
use htools::search::requests::{Settings, answer};

use crate::common::numbers::{memory, seconds};
use crate::common::{Bench, Kind, Theirs};
use crate::message;
use crate::speed::{factor, ratio};
use crate::targets::Targets;

/// Prints the tables.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    println!("| made-up nodes | template | hspace | memory at its peak | reference | ratio |");
    println!("|---:|---|---:|---:|---:|---:|");
    for (nodes, template, times) in [(80, "drbd", 500.0), (80, "ext", 1000.0)] {
        let (ours, theirs) = space(bench, nodes, template, true)?;
        let target = format!("hspace, {nodes} nodes, {template}: {times} times faster than the reference");
        match factor(theirs, ours) {
            Some(factor) => {
                targets.check(&target, &format!("{} times", ratio(theirs, ours)), factor >= times)
            }
            None => targets.open(&target, &format!("reference {}", theirs.text())),
        }
    }
    for (nodes, template) in [(1000, "drbd"), (1000, "ext"), (10_000, "ext")] {
        if nodes > 1000 && bench.settings.quick {
            continue;
        }
        let (ours, _) = space(bench, nodes, template, false)?;
        targets.check(&format!("hspace, {nodes} nodes, {template}: under 10 s"), &seconds(ours), ours < 10.0);
    }
    println!();
    requests(bench, targets)
}

fn space(bench: &Bench, nodes: usize, template: &str, compare: bool) -> anyhow::Result<(f64, Theirs)> {
    let spec = format!("p,{nodes},8T,64g,16");
    let words = ["hspace", "--simulate", &spec, "--disk-template", template, "--machine-readable"];
    let ours = bench.ours_alone(&words)?;
    let theirs = if compare { bench.theirs_alone(&words)? } else { Theirs::Missing("not run") };
    println!(
        "| {nodes} | {template} | {} | {} | {} | {} |",
        seconds(ours.seconds),
        memory(ours.mib),
        theirs.text(),
        ratio(theirs, ours.seconds)
    );
    Ok((ours.seconds, theirs))
}

fn requests(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    let input = bench.input(Kind::drbd(1000, 10_000))?;
    let cluster = message::cluster(&input)?;
    let (evacuate, count) = message::evacuate(&cluster, 30);
    let evacuation = format!("node-evacuate, all, {count} instances");
    println!("| cluster | request | hail | of this computing | reference | ratio |");
    println!("|---|---|---:|---:|---:|---:|");
    for (name, request, most, computing) in
        [("allocate, drbd", message::allocate(), 0.06, Some(0.005)), (&*evacuation, evacuate, 0.2, None)]
    {
        let text = message::message(&cluster, request);
        let path = bench.file("request.json", &text)?;
        let words = ["hail", path.to_str().unwrap_or_default()];
        let ours = bench.ours_alone(&words)?;
        let theirs = bench.theirs_alone(&words)?;
        let answering = answering(&text, bench.settings.runs())?;
        println!(
            "| {} | {name} | {} | {} | {} | {} |",
            crate::name(&input),
            seconds(ours.seconds),
            seconds(answering),
            theirs.text(),
            ratio(theirs, ours.seconds)
        );
        let target = format!("1,000/10,000 drbd, hail {name}: under {:.0} ms", most * 1e3);
        targets.check(&target, &seconds(ours.seconds), ours.seconds < most);
        if let Some(most) = computing {
            let target = format!("1,000/10,000 drbd, hail {name}: computing under {:.0} ms", most * 1e3);
            targets.check(&target, &seconds(answering), answering < most);
        }
    }
    println!();
    Ok(())
}

/// Time in seconds from a cluster and a request to the answer.
fn answering(text: &str, runs: u32) -> anyhow::Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let message = iallocator::parse(text, "request")?;
        let mut cluster = merge(message.cluster, &MergeOptions::default())?;
        finish(&mut cluster, Mib::ZERO);
        let start = Instant::now();
        let reply = answer(cluster, message.request, &Settings::default());
        best = best.min(start.elapsed().as_secs_f64());
        assert!(reply.answer.is_ok());
    }
    Ok(best)
}
