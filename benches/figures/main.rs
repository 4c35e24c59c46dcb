//! The figures that the project quotes, measured as users see them: whole processes, best of several runs. The
//! clusters come from the library's own generator or from a script. Prints tables in Markdown:
//!
//!     cargo bench --bench figures [-- [--reference] [--limit SECONDS] [--quick | --long]
//!         [--only TABLE] [--clusters PYTHON_SCRIPT]]
//!
//! With --reference, Ganeti's own tools run the same commands on the same files, each for at most --limit seconds.

#[path = "../common/mod.rs"]
mod common;
mod first_step;
mod groups;
mod hard;
mod health;
mod loading;
mod message;
mod million;
mod placing;
mod speed;
mod targets;
mod threads;
mod to_the_end;

use common::clusters::Input;
use common::numbers::thousands;
use common::settings::switch;
use common::{Bench, Settings};
use targets::Targets;

fn main() -> anyhow::Result<()> {
    let matches = Settings::command("figures", "Measures the figures that the project quotes")
        .mut_arg("quick", |quick| {
            quick.help(
                "Fewer repetitions, less patience with the reference, no cluster of more than 1,000 nodes",
            )
        })
        .arg(
            switch("long", "Balance 10,000 nodes and 100,000 instances to the end, too")
                .conflicts_with("quick"),
        )
        .arg(
            clap::Arg::new("only")
                .long("only")
                .value_name("TABLE")
                .value_parser([
                    "speed",
                    "first-step",
                    "loading",
                    "placing",
                    "health",
                    "groups",
                    "hard",
                    "million",
                    "threads",
                    "to-the-end",
                ])
                .help("One of the tables"),
        )
        .get_matches();
    let bench = Bench::new(Settings::of(&matches))?;
    println!("{}\n", bench.describe());
    let mut targets = Targets::default();
    let only = matches.get_one::<String>("only").map(String::as_str);
    let wanted = |table: &str| only.is_none_or(|only| only == table);
    if wanted("speed") {
        speed::table(&bench, &mut targets)?;
    }
    if wanted("first-step") {
        first_step::table(&bench, &mut targets)?;
    }
    if wanted("loading") {
        loading::table(&bench, &mut targets)?;
    }
    if wanted("placing") {
        placing::table(&bench, &mut targets)?;
    }
    if wanted("threads") {
        threads::table(&bench)?;
    }
    if wanted("health") {
        health::table(&bench, &mut targets)?;
    }
    if wanted("groups") {
        groups::table(&bench, &mut targets)?;
    }
    if wanted("hard") {
        hard::table(&bench, &mut targets)?;
    }
    // It takes minutes and files of 100 MB, so it runs only on demand.
    if only == Some("million") {
        million::table(&bench, &mut targets)?;
    }
    if wanted("to-the-end") {
        to_the_end::table(&bench, matches.get_flag("long"), &mut targets)?;
    }
    targets.print();
    Ok(())
}

/// Nodes and instances.
fn size(nodes: usize, instances: usize) -> String {
    format!("{}/{}", thousands(nodes), thousands(instances))
}

fn name(input: &Input) -> String {
    size(input.kind.nodes, input.instances)
}
