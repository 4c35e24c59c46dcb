//! Durations of plans by jobsets and as streams, by the duration model. Prints tables in Markdown:
//!
//!     cargo bench --bench stream [-- [--random N] [--largest NODES] [--clusters PYTHON_SCRIPT]]
//!
//! If no stream takes longer than its jobsets, the last line says so; otherwise the exit status is 1.

#[allow(dead_code, unused_imports)] // Other benches need the rest.
#[path = "../common/mod.rs"]
mod common;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Arg, value_parser};
use common::numbers::thousands;
use common::{Bench, Kind, Settings};
use htools::generate::TemplateMix;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{Cluster, Draft, Mib, Step};
use htools::plan::checker::{CheckOptions, check_moments};
use htools::plan::durations::{Rates, critical_path};
use htools::plan::jobset::jobsets;
use htools::plan::stream::{PlanSchedule, StreamLimits};
use htools::plan::work::Work;
use htools::search::{BalanceOptions, Balancer};

/// One migration or copy out of each node and into each node at a time.
const ONE_BY_ONE: StreamLimits = StreamLimits {
    parallel: None,
    out_per_node: Some(1),
    in_per_node: Some(1),
    syncs: None,
    per_group: None,
};

/// Figures of a plan.
struct Row {
    steps: usize,
    edges: usize,
    sets: usize,
    jobsets: f64,
    free: f64,
    limited: f64,
    critical: f64,
    /// Time to build the graph, and to check it.
    built: f64,
    checked: f64,
}

fn main() -> anyhow::Result<()> {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .value_parser(value_parser!(u64).range(0..=1_000_000))
            .default_value(default)
            .help(help)
    };
    let matches = Settings::command("stream", "Measures how long plans take as streams")
        .arg(number("random", "500", "Random clusters on which no stream may be longer than its jobsets"))
        .arg(number("largest", "1500", "Nodes of the largest cluster"))
        .get_matches();
    let get = |name: &str| matches.get_one::<u64>(name).copied().context("it has a default");
    let (random, largest) = (get("random")?, get("largest")?);
    let bench = Bench::new(Settings::of(&matches))?;
    println!(
        "Times in seconds by the duration model; out and in: one copy out of each node and one into it at a time.\n"
    );
    println!(
        "| cluster | steps | edges | jobsets | by jobsets | stream | ratio | one out and in | ratio | critical path | graph built | checked |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (nodes, instances, templates) in [
        (20, 160, TemplateMix::Drbd),
        (100, 1000, TemplateMix::Drbd),
        (100, 1000, TemplateMix::Ext),
        (200, 2000, TemplateMix::Mixed),
        (1000, 10_000, TemplateMix::Drbd),
        (1500, 15_000, TemplateMix::Drbd),
    ] {
        if nodes as u64 > largest {
            continue;
        }
        let kind = Kind { templates, heterogeneous: true, ..Kind::drbd(nodes, instances) };
        let row = row(&read(&bench.input(kind)?.file)?)?;
        let ratio = |stream: f64| if stream > 0.0 { row.jobsets / stream } else { 1.0 };
        println!(
            "| {}/{} {} | {} | {} | {} | {:.0} | {:.0} | {:.2} | {:.0} | {:.2} | {:.0} | {:.3} s | {:.3} s |",
            thousands(nodes),
            thousands(instances),
            kind.template(),
            row.steps,
            row.edges,
            row.sets,
            row.jobsets,
            row.free,
            ratio(row.free),
            row.limited,
            ratio(row.limited),
            row.critical,
            row.built,
            row.checked
        );
    }
    let mut longer = Vec::new();
    let (mut free, mut limited) = (0.0, 0.0);
    for seed in 1..=random {
        let at = seed as usize;
        let templates = [TemplateMix::Drbd, TemplateMix::Ext, TemplateMix::Mixed][at % 3];
        let kind = Kind {
            templates,
            heterogeneous: at.is_multiple_of(2),
            tags: at.is_multiple_of(5),
            seed,
            ..Kind::drbd(4 + at % 17, 20 + at * 7 % 120)
        };
        let row = row(&read(&bench.input(kind)?.file)?)?;
        let ratio = |stream: f64| if stream > 0.0 { (row.jobsets / stream).ln() } else { 0.0 };
        free += ratio(row.free);
        limited += ratio(row.limited);
        if row.free > row.jobsets + 1e-6 || row.limited > row.jobsets + 1e-6 {
            longer.push(format!("{kind:?}: {} {} {}", row.jobsets, row.free, row.limited));
        }
    }
    if random > 0 {
        let mean = |sum: f64| (sum / random as f64).exp();
        println!(
            "\n{random} random clusters of 4 to 20 nodes: {:.2} times shorter in the (geometric) mean, {:.2} times with one out and in; {} longer than jobsets",
            mean(free),
            mean(limited),
            longer.len()
        );
    }
    longer.iter().for_each(|line| println!("{line}"));
    ensure!(longer.is_empty(), "{} streams are longer than their jobsets", longer.len());
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Cluster> {
    let raw = text::parse(&std::fs::read_to_string(file)?, &file.to_string_lossy())?;
    let mut cluster = merge(raw, &MergeOptions { ignore_dynu: true, ..MergeOptions::default() })?;
    finish(&mut cluster, Mib::ZERO);
    Ok(cluster)
}

/// The step-by-step plan of a group.
fn plan(cluster: &Cluster) -> Vec<Step> {
    let mut end = Draft::of(cluster);
    let nodes = end.all_nodes();
    let mut balancer = Balancer::new(&mut end, &nodes, BalanceOptions::default());
    std::iter::from_fn(|| balancer.next_step()).collect()
}

fn row(cluster: &Cluster) -> anyhow::Result<Row> {
    let steps = plan(cluster);
    let options = CheckOptions::default();
    let sets = jobsets(cluster, &steps);
    let began = Instant::now();
    let work = Work::of(cluster, &steps, &sets, options)?;
    let built = began.elapsed().as_secs_f64();
    let seconds = Rates::default().of(&work);
    let by_jobsets = PlanSchedule::by_jobsets(&work, &seconds);
    let stream = |limits| PlanSchedule::stream(&work, &seconds, limits);
    let (free, limited) = (stream(StreamLimits::default()), stream(ONE_BY_ONE));
    let began = Instant::now();
    check_moments(cluster, &cluster.all_nodes(), &steps, options, free.moments())?;
    let checked = began.elapsed().as_secs_f64();
    check_moments(cluster, &cluster.all_nodes(), &steps, options, limited.moments())?;
    Ok(Row {
        steps: steps.len(),
        edges: work.edges.len(),
        sets: sets.len(),
        jobsets: by_jobsets.total(),
        free: free.total(),
        limited: limited.total(),
        critical: critical_path(&work, &seconds).1,
        built,
        checked,
    })
}
