//! hplace compared with Pacemaker's crm_simulate, on the same documents in the same run: processor time, memory, and
//! whether scores, places and capacities are the same. Prints a table in Markdown:
//!
//!     cargo bench --bench pacemaker [-- [--reference] [--limit SECONDS] [--quick]]
//!
//! Without --reference, only hplace is measured.

#[allow(dead_code)] // Random clusters need the rest.
#[path = "../../tests/common/cib_text.rs"]
mod cib_text;
mod clusters;
#[allow(dead_code, unused_imports)] // Other benches need the rest.
#[path = "../common/mod.rs"]
mod common;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use clusters::{PacemakerCluster, Pairs};
use common::Settings;
use common::numbers::{memory, seconds, thousands};
use common::workshop::{Run, Taken, Workshop};

/// Number of runs of a short command that makes its processor time precise enough; the system counts in hundredths of
/// a second.
const RUNS: u32 = 60;
/// Time limit of a run.
const PATIENCE: Duration = Duration::from_secs(600);

/// A question to both programs.
struct Question {
    words: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    /// True if the answers have comparable lines.
    compared: bool,
}

const PLACES: Question = Question { words: "places", ours: &[], theirs: &["-R", "-Q"], compared: false };
const SCORES: Question = Question {
    words: "places and all scores",
    ours: &["--crm-simulate-format"],
    theirs: &["-R", "-s", "-U"],
    compared: true,
};

fn regular(nodes: usize, probed: bool) -> PacemakerCluster {
    let pairs = Pairs::None;
    PacemakerCluster { nodes, resources: nodes * 10, strategy: "balanced", probed, apart: false, pairs }
}

fn apart(nodes: usize, resources: usize) -> PacemakerCluster {
    let pairs = Pairs::None;
    PacemakerCluster { nodes, resources, strategy: "balanced", probed: false, apart: true, pairs }
}

fn paired(nodes: usize, pairs: Pairs) -> PacemakerCluster {
    PacemakerCluster { pairs, ..regular(nodes, false) }
}

fn main() -> anyhow::Result<()> {
    let help = "Measure Pacemaker's crm_simulate, too";
    let matches = Settings::command("pacemaker", "Measures hplace beside crm_simulate")
        .mut_arg("reference", |reference| reference.help(help))
        .get_matches();
    let settings = Settings::of(&matches);
    let workshop = Workshop::new()?;
    println!(
        "| nodes/resources | history | answer | hplace | memory | crm_simulate | memory | ratio | same lines |"
    );
    println!("|---|---|---|---:|---:|---:|---:|---:|---|");
    for (cluster, question) in [
        (regular(50, true), PLACES),
        (regular(50, true), SCORES),
        (regular(100, true), PLACES),
        (regular(100, true), SCORES),
        (regular(100, false), PLACES),
        (regular(100, false), SCORES),
        (paired(100, Pairs::Plain), PLACES),
        (paired(100, Pairs::Promotable), PLACES),
        (paired(100, Pairs::Plain), SCORES),
        (paired(100, Pairs::Promotable), SCORES),
        (regular(200, false), PLACES),
        (regular(200, false), SCORES),
        (apart(20, 16), SCORES),
        (apart(20, 18), SCORES),
        (apart(80, 60), SCORES),
        (regular(1000, false), PLACES),
        (regular(1000, false), SCORES),
    ] {
        row(&settings, &workshop, cluster, &question)?;
    }
    Ok(())
}

fn row(
    settings: &Settings,
    workshop: &Workshop,
    cluster: PacemakerCluster,
    question: &Question,
) -> anyhow::Result<()> {
    let file = workshop.file("cib.xml", &cluster.document())?;
    let runs = if settings.quick { RUNS / 6 } else { RUNS };
    let mut ours = Command::new(env!("CARGO_BIN_EXE_htools"));
    ours.env_remove("HTOOLS").args(["hplace", "-x"]).arg(&file).args(question.ours);
    let Taken::Run(mine) = workshop.best(&mut ours, runs, PATIENCE)? else {
        anyhow::bail!("hplace took too long")
    };
    let answer = if question.compared { workshop.printed()? } else { String::new() };
    let history = match (cluster.apart, cluster.pairs, cluster.probed) {
        (true, ..) => "what runs; all keep apart",
        (_, Pairs::Plain, _) => "what runs; pairs without roles",
        (_, Pairs::Promotable, _) => "what runs; promotable pairs",
        (.., true) => "all, everywhere",
        (.., false) => "what runs",
    };
    print!(
        "| {}/{} | {history} | {} | {} | {} | ",
        thousands(cluster.nodes),
        thousands(cluster.resources),
        question.words,
        seconds(cpu(mine)?),
        memory(mine.mib)
    );
    let too_large = cluster.nodes > 200 || (cluster.apart && cluster.resources > 20);
    if !settings.reference || too_large {
        println!("not run | | | |");
        return Ok(());
    }
    let mut theirs = Command::new("crm_simulate");
    theirs.arg("-x").arg(&file).args(question.theirs);
    match workshop.best(&mut theirs, 1, settings.limit)? {
        Taken::MoreThan(limit) => println!("over {} | | | |", seconds(limit.as_secs_f64())),
        Taken::Run(run) => {
            let same = if question.compared { same(&answer, &workshop.printed()?)? } else { String::new() };
            let ratio = thousands((cpu(run)? / cpu(mine)?).round() as usize);
            println!("{} | {} | {ratio} | {same} |", seconds(cpu(run)?), memory(run.mib));
        }
    }
    Ok(())
}

fn cpu(run: Run) -> anyhow::Result<f64> {
    run.cpu.context("this system does not tell the processor time of processes")
}

/// Checks that both answers have the same lines, and returns their number.
fn same(ours: &str, theirs: &str) -> anyhow::Result<String> {
    let is_answer = |line: &&str| {
        ["Original: ", "Remaining: ", "pcmk__"].iter().any(|begin| line.starts_with(begin))
            || line.contains(" promotion score on ")
    };
    let theirs: Vec<&str> = theirs.lines().filter(is_answer).collect();
    ensure!(ours.lines().eq(theirs.iter().copied()), "hplace and crm_simulate answer differently");
    Ok(thousands(theirs.len()))
}
