//! Safe plans of rolling reboots compared with their lower bound, on generated clusters. Prints tables in Markdown:
//!
//!     cargo bench --bench rolling [-- --seeds N --nodes N]
//!
//! The second table names the reasons for each cluster where the plan is more than 1.1 times the bound.

use std::num::NonZeroUsize;
use std::time::Instant;

use anyhow::{Context, bail};
use htools_ganeti::generate::{self, ClusterSpec, TemplateMix};
use htools_ganeti::load::merge::{MergeOptions, finish, merge};
use htools_model::{Cluster, Mib, NodeIdx};
use htools_plan::durations::Rates;
use htools_plan::rolling::{Reboots, RollingFigures, RollingGap};
use htools_plan::stream::{PlanSchedule, StreamLimits};
use htools_search::rolling::RollingOptions;
use htools_search::rolling::safe::{SafePlan, SafePlanner};

/// A kind of maintenance.
struct Kind {
    name: &'static str,
    templates: TemplateMix,
    options: RollingOptions,
    limits: StreamLimits,
}

/// Sizes of the clusters.
#[derive(Clone, Copy)]
struct Sizes {
    seeds: u64,
    nodes: usize,
}

/// Result for one cluster.
struct Outcome {
    planned: usize,
    left_out: usize,
    batches: [usize; 2],
    seconds: [f64; 2],
    gaps: Vec<RollingGap>,
    took: f64,
    bounding: f64,
}

impl Outcome {
    fn ratio(&self) -> f64 {
        ratio(self.seconds)
    }

    /// The larger ratio: of batches or of durations.
    fn worst(&self) -> f64 {
        self.ratio().max(ratio(self.batches.map(|count| count as f64)))
    }
}

fn ratio([plan, bound]: [f64; 2]) -> f64 {
    if bound > 0.0 { plan / bound } else { 1.0 }
}

fn kinds() -> [Kind; 6] {
    let safe = RollingOptions { keeps_redundancy: true, migrate_shared: true, ..RollingOptions::default() };
    let stays = RollingOptions { ignore_non_redundant: true, ..safe };
    let at_most = |most| RollingOptions { max_down: NonZeroUsize::new(most), ..stays };
    let none = StreamLimits::default();
    let one = StreamLimits { out_per_node: Some(1), in_per_node: Some(1), ..none };
    let kind = |name, templates, options, limits| Kind { name, templates, options, limits };
    [
        kind("drbd", TemplateMix::Drbd, safe, none),
        kind("drbd, one copy per node", TemplateMix::Drbd, safe, one),
        kind("drbd, --max-down=4", TemplateMix::Drbd, at_most(4), none),
        kind("mixed, plain stays", TemplateMix::Mixed, stays, none),
        kind("mixed, plain moves", TemplateMix::Mixed, safe, none),
        kind("mixed, --max-down=4", TemplateMix::Mixed, at_most(4), none),
    ]
}

fn main() -> anyhow::Result<()> {
    let sizes = sizes(std::env::args().skip(1))?;
    let mut reasons = Vec::new();
    println!("{} clusters of {} nodes, {} instances each\n", sizes.seeds, sizes.nodes, sizes.nodes * 5);
    println!(
        "| kind | nodes planned | left out | batches | bound | plan / bound, mean | worst | up to 1.1 | planning | bounding |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for kind in kinds() {
        let outcomes: Vec<Outcome> =
            (1..=sizes.seeds).map(|seed| outcome(&kind, sizes, seed)).collect::<anyhow::Result<_>>()?;
        println!("{}", row(&kind, &outcomes));
        for (seed, outcome) in (1..).zip(&outcomes).filter(|(_, outcome)| outcome.worst() > 1.1) {
            reasons.push(reason(&kind, seed, outcome));
        }
    }
    if !reasons.is_empty() {
        println!(
            "\n| kind | seed | batches | bound | plan / bound | reasons |\n|---|---:|---:|---:|---:|---|"
        );
        reasons.iter().for_each(|reason| println!("{reason}"));
    }
    Ok(())
}

fn sizes(mut words: impl Iterator<Item = String>) -> anyhow::Result<Sizes> {
    let mut sizes = Sizes { seeds: 50, nodes: 40 };
    while let Some(word) = words.next() {
        let mut value = || -> anyhow::Result<u64> {
            words.next().context("a number is missing")?.parse().context("not a number")
        };
        match word.as_str() {
            "--bench" => {}
            "--seeds" => sizes.seeds = value()?,
            "--nodes" => sizes.nodes = usize::try_from(value()?)?,
            _ => bail!("unknown option '{word}'"),
        }
    }
    Ok(sizes)
}

fn outcome(kind: &Kind, sizes: Sizes, seed: u64) -> anyhow::Result<Outcome> {
    let spec = ClusterSpec::new(sizes.nodes, sizes.nodes * 5, kind.templates, seed);
    let mut cluster = merge(generate::cluster(&spec), &MergeOptions::default())?;
    finish(&mut cluster, Mib::ZERO);
    let rates = Rates::default();
    let begin = Instant::now();
    let planner = SafePlanner::new(&cluster, &cluster.all_nodes(), &kind.options, 0)?;
    let planned = planner.nodes().len();
    let planner = planner.timed(&rates, kind.limits)?;
    let plan = planner.plan();
    let took = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let bound = planner.bound();
    let bounding = begin.elapsed().as_secs_f64();
    let seconds = duration(&cluster, &plan, kind, &rates)?;
    let postponed: Vec<NodeIdx> = plan.postponed.iter().map(|one| one.node).collect();
    let slowest = planner.slowest(&plan);
    let figures = RollingFigures { batches: plan.parts.len(), seconds, slowest, postponed: &postponed };
    Ok(Outcome {
        planned,
        left_out: plan.left_out.len(),
        batches: [plan.parts.len(), bound.batches],
        seconds: [seconds, bound.seconds],
        gaps: bound.gaps(&figures),
        took,
        bounding,
    })
}

fn duration(cluster: &Cluster, plan: &SafePlan, kind: &Kind, rates: &Rates) -> anyhow::Result<f64> {
    let parts = plan.parts.iter().map(|part| (&part.nodes[..], &part.moves[..]));
    let work = Reboots::of(cluster, parts, kind.options.offline_maintenance)?.work;
    Ok(PlanSchedule::stream(&work, &rates.of(&work), kind.limits).total())
}

fn row(kind: &Kind, outcomes: &[Outcome]) -> String {
    let count = outcomes.len().max(1) as f64;
    let mean = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / count;
    let most = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).fold(0.0, f64::max);
    let near = outcomes.iter().filter(|outcome| outcome.worst() <= 1.1).count();
    format!(
        "| {} | {:.1} | {:.1} | {:.2} | {:.2} | {:.3} | {:.3} | {near} of {} | {:.0} ms | {:.0} ms |",
        kind.name,
        mean(|one| one.planned as f64),
        mean(|one| one.left_out as f64),
        mean(|one| one.batches[0] as f64),
        mean(|one| one.batches[1] as f64),
        mean(Outcome::ratio),
        most(Outcome::ratio),
        outcomes.len(),
        most(|one| one.took) * 1000.0,
        most(|one| one.bounding) * 1000.0,
    )
}

fn reason(kind: &Kind, seed: u64, outcome: &Outcome) -> String {
    let word = |gap: &RollingGap| match gap {
        RollingGap::Capacity(nodes) => format!("no room for {} nodes in their batch", nodes.len()),
        RollingGap::Batches => "fewer batches neither found nor refuted".to_owned(),
        RollingGap::FewestFirst => "fewest batches first, more could be shorter".to_owned(),
        RollingGap::LongNodes => "long nodes not proved to need so many batches".to_owned(),
        RollingGap::SharedLimits => "nodes share limits of the run".to_owned(),
    };
    let reasons: Vec<String> = outcome.gaps.iter().map(word).collect();
    format!(
        "| {} | {seed} | {} | {} | {:.3} | {} |",
        kind.name,
        outcome.batches[0],
        outcome.batches[1],
        outcome.ratio(),
        reasons.join("; ")
    )
}
