//! Counts the evaluations of searches that must follow each other if 2 to 64 threads share the work:
//! `cargo bench --bench scaling -- [NODES]`. With few nodes there are fewer evaluations to share.

use anyhow::{Context, ensure};
use htools::generate::{ClusterSpec, TemplateMix};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{Cluster, DiskTemplate, Draft, InstanceSpec, Mib};
use htools::search::fill::{FillGround, FillSettings, FillWatch, Size};
use htools::search::groups::balance::GroupBalanceOptions;
use htools::search::groups::{RegroupOptions, balance as group_balance, compress};
use htools::search::parallel::measure;
use htools::search::squeeze::{SqueezeOptions, squeeze};
use htools::search::{BalanceOptions, Deadline, balance};
use htools::tools::generate::GeneratedText;

const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const NODES: usize = 1000;
/// Number of nodes in a group where there are several.
const GROUP: usize = 20;
const INSTANCES_PER_NODE: usize = 10;

fn main() -> anyhow::Result<()> {
    let number = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let nodes = number.map_or(Ok(NODES), |word| word.parse()).context("the number of nodes")?;
    let kind = |templates, groups| {
        let spec = ClusterSpec::new(nodes, nodes * INSTANCES_PER_NODE, templates, 1);
        loaded(&ClusterSpec { groups, ..spec })
    };
    let drbd = kind(TemplateMix::Drbd, 1)?;
    let ext = kind(TemplateMix::Ext, 1)?;
    let mixed = kind(TemplateMix::Mixed, nodes / GROUP)?;
    let grouped = kind(TemplateMix::Drbd, nodes / GROUP)?;
    println!("{nodes} nodes, {INSTANCES_PER_NODE} instances each: evaluations that follow each other\n");
    print!("| command | evaluations |");
    THREADS.iter().skip(1).for_each(|threads| print!(" {threads} threads |"));
    println!("\n|---|---:|{}", "---:|".repeat(THREADS.len() - 1));
    row("hbal, drbd", || {
        let mut draft = Draft::from(drbd.clone());
        let nodes = draft.all_nodes();
        balance::run(&mut draft, &nodes, BalanceOptions::default()).steps
    })?;
    let every_group = |cluster: &Cluster| cluster.groups.iter().map(|group| group.idx).collect::<Vec<_>>();
    row("hsqueeze, ext", || squeeze(&ext, &every_group(&ext), &SqueezeOptions::default()).plans.len())?;
    row("hspace --disk-template ext", || filled(&ext))?;
    row("hgroup balance", || group_balance::balance(&mixed, &GroupBalanceOptions::default()).steps)?;
    row("hgroup compress, drbd", || {
        compress::compress(&grouped, &every_group(&grouped), &RegroupOptions::default()).candidates.len()
    })
}

/// Counts the evaluations of a search with each number of threads, and prints the spans as shares of the work.
fn row<R: PartialEq>(command: &str, search: impl Fn() -> R) -> anyhow::Result<()> {
    let [alone, others @ ..] = THREADS.map(|threads| measure(threads, &search));
    print!("| {command} | {} |", alone.1.work);
    for (answer, evaluations) in others {
        ensure!(answer == alone.0, "the answer of {command} depends on the number of threads");
        print!(" 1/{:.1} |", alone.1.work as f64 / evaluations.span as f64);
    }
    println!();
    Ok(())
}

fn loaded(spec: &ClusterSpec) -> anyhow::Result<Cluster> {
    let made = GeneratedText::new(spec)?;
    let raw = text::parse_bytes(made.text.as_bytes(), "generated")?;
    let mut cluster = merge(raw, &MergeOptions::default())?;
    finish(&mut cluster, Mib::ZERO);
    Ok(cluster)
}

/// Numbers of instances in tiers and of the standard size that find room, as hspace counts them.
fn filled(cluster: &Cluster) -> Option<(usize, usize)> {
    let policy = &cluster.policy;
    let settings = FillSettings {
        template: DiskTemplate::Ext,
        spindle_use: policy.std.spindle_use,
        accept_existing_errors: false,
        independent_groups: false,
        capacity_checks: true,
    };
    let ground = FillGround::of(cluster, settings);
    let size = |spec: &InstanceSpec| Size {
        memory: spec.memory,
        disk: spec.disk_size,
        vcpus: spec.cpus,
        spindles: spec.spindle_use,
    };
    let largest: Vec<Size> = policy.ranges.iter().map(|range| size(&range.max)).collect();
    let watch = FillWatch { deadline: &Deadline::never(), placed: &|_| () };
    let [tiered, standard] = ground.both_until(cluster, &largest, size(&policy.std), [None; 2], [&watch; 2]);
    Some((tiered.ok()?.added.len(), standard.ok()?.added.len()))
}
