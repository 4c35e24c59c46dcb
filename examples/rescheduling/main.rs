//! Migrations against fragments of free CPUs on NUMA nodes, on public instances.
//!
//! ```sh
//! cargo run --release --example rescheduling -- hosts-237.json
//! ```
//!
//! Virtual machines need whole blocks of 16 CPUs of a NUMA node; what is free beyond whole blocks is a fragment. The
//! example reads clusters, looks for at most 50 migrations after which fragments are few, checks them by a replay,
//! and proves below which rate no plan gets.

mod beam;
mod bound;
mod checker;
mod classes;
mod model;
mod partial;
mod prices;
mod reader;
mod search;
mod space;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use clap::{Arg, ArgAction, Command, value_parser};

use crate::model::{BLOCK_CPUS, Cluster};
use crate::partial::Problem;
use crate::space::Space;

/// Limits of a run.
struct Limits {
    migrations: u32,
    rounds: u32,
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u32)).default_value(default)
    };
    Command::new("rescheduling")
        .about("Migrates machines so that free CPUs lie together in blocks of 16")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Clusters in the JSON form of the public instances (VMR2L)"),
        )
        .arg(number("migrations", "50").help("Most migrations"))
        .arg(number("rounds", "40").help("Most rounds in which a part of the plan is built anew"))
        .arg(Arg::new("plan").long("plan").action(ArgAction::SetTrue).help("Print the migrations, too"))
}

fn main() -> anyhow::Result<()> {
    let matches = command().get_matches();
    let number = |name: &str| matches.get_one::<u32>(name).copied().context("it has a default");
    let limits = Limits { migrations: number("migrations")?, rounds: number("rounds")? };
    let path = matches.get_one::<PathBuf>("file").context("it is required")?;
    let in_file = || format!("cannot read '{}'", path.display());
    let clusters = reader::read(&fs::read_to_string(path).with_context(in_file)?).with_context(in_file)?;
    println!(
        "cluster      hosts  machines  migrations  rate before   after   bound    gap  bound in  search in"
    );
    for cluster in &clusters {
        println!("{}", row(cluster, &limits, matches.get_flag("plan"))?);
    }
    Ok(())
}

/// The figures of a cluster as a row of the table, with the migrations below it if wanted.
fn row(cluster: &Cluster, limits: &Limits, with_plan: bool) -> anyhow::Result<String> {
    let start = Instant::now();
    let space = Space::new(cluster).with_context(|| cluster.name.clone())?;
    let bound = bound::bound(&space, limits.migrations);
    let bounded = start.elapsed();
    let problem = Problem { cluster, space: &space, bound: &bound, migrations: limits.migrations };
    let plan = search::search(&problem, limits.rounds);
    let searched = start.elapsed() - bounded;
    let after = checker::replay(cluster, &plan.migrations, limits.migrations).context("a wrong plan")?;
    let before = checker::replay(cluster, &[], 0)?;
    let free = cluster.free_cpus();
    let least = lower_bound(cluster, &bound);
    let mut row = format!(
        "{:<12}{:>6}{:>10}{:>12}{:>13.4}{:>8.4}{:>8.4}{:>7}{:>8.2} s{:>9.2} s",
        cluster.name,
        cluster.hosts.len(),
        cluster.machines.len(),
        plan.migrations.len(),
        rate(before, free),
        rate(after, free),
        rate(least, free),
        gap(after, least),
        bounded.as_secs_f64(),
        searched.as_secs_f64(),
    );
    for migration in plan.migrations.iter().filter(|_| with_plan) {
        let machine = &cluster.machines[migration.machine.0];
        let [from, to] = [machine.seat, migration.to]
            .map(|seat| format!("{} {:?}", cluster.hosts[seat.host.0].name, seat.nodes));
        row.push_str(&format!("\n  {}: {from} -> {to}", machine.name));
    }
    Ok(row)
}

/// Fewest CPUs in fragments; migrations do not change the number of free CPUs.
fn lower_bound(cluster: &Cluster, bound: &bound::Bound) -> u64 {
    let blocks = u64::try_from(bound.blocks).unwrap_or(u64::MAX);
    cluster.free_cpus().saturating_sub(blocks.saturating_mul(u64::from(BLOCK_CPUS)))
}

/// Fragments as a part of all free CPUs, of which there are fewer than 2^53.
fn rate(fragments: u64, free: u64) -> f64 {
    if free == 0 { 0.0 } else { fragments as f64 / free as f64 }
}

/// Distance of the fragments from the bound, in percent of the bound.
fn gap(found: u64, least: u64) -> String {
    match (found.saturating_sub(least), least) {
        (0, _) => "0.0 %".to_owned(),
        (_, 0) => "-".to_owned(),
        (more, _) => format!("{:.1} %", 100.0 * rate(more, least)),
    }
}
