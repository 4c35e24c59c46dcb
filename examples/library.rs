//! Typical use of the library: loads and checks a cluster, places a new instance, balances the cluster, and prints
//! the plan.
//!
//! `cargo run --release --example library data/unbalanced-drbd.data`

use std::error::Error;
use std::path::Path;

use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{Cluster, Draft, Mib};
use htools::plan::checker::{CheckOptions, check};
use htools::plan::command::commands;
use htools::plan::jobset::jobsets;
use htools::search::health::GroupHealth;
use htools::search::place::{Conditions, Targets, find};
use htools::search::{BalanceOptions, balance};

fn load(path: &Path) -> Result<Cluster, Box<dyn Error>> {
    let raw = text::parse_bytes(&std::fs::read(path)?, &path.to_string_lossy())?;
    let mut cluster = merge(raw, &MergeOptions::default())?;
    for inconsistency in finish(&mut cluster, Mib::ZERO) {
        eprintln!("{inconsistency:?}");
    }
    Ok(cluster)
}

fn say_what_is_wrong(cluster: &Cluster) {
    for group in &cluster.groups {
        let health = GroupHealth::of(cluster, group.idx, true);
        let name = |n| cluster.node(n).spec.name.as_str();
        let failing: Vec<&str> = health.n1_failing.iter().copied().map(name).collect();
        println!("{}: score {:.4}, failing N+1: {failing:?}", group.name, health.score);
    }
}

/// Places one more instance like the first.
fn place_another(cluster: &Cluster) {
    let nodes = cluster.all_nodes();
    let Some(like) = cluster.instances.first() else { return };
    let required = if like.template.has_secondary() { 2 } else { 1 };
    let Ok(targets) = Targets::of(cluster, &nodes, required) else { return };
    let found = find(cluster, &nodes, like.into(), &targets, &Conditions::default());
    for node in found.best.iter().flat_map(|(_, place)| place.placement.nodes()) {
        println!("one more like {} goes to {}", like.name, cluster.node(node).spec.name);
    }
}

fn plan(start: &Cluster) -> Result<(), Box<dyn Error>> {
    let mut draft = Draft::of(start);
    for (group, found) in balance::all(&mut draft, BalanceOptions::default()) {
        // An independent check by the plain rules, without the search.
        check(start, start.nodes_of(group), &found.steps, CheckOptions::default())?;
        println!("{}: score {:.4} at the end", start.group(group).name, found.last.score());
        for (number, jobset) in (1..).zip(jobsets(start, &found.steps)) {
            for step in jobset.iter().map(|at| &found.steps[at.get()]) {
                let commands = commands(start, step)?.iter().map(ToString::to_string).collect::<Vec<_>>();
                println!("jobset {number}: {}", commands.join("; "));
            }
        }
    }
    Ok(())
}

pub fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().skip(1).find(|path| Path::new(path).is_file());
    let cluster = load(Path::new(&path.unwrap_or_else(|| "data/unbalanced-drbd.data".into())))?;
    say_what_is_wrong(&cluster);
    place_another(&cluster);
    plan(&cluster)
}
