//! Quality of the plans of `hbal --deep` compared with step-by-step plans, on the clusters and within the limits of
//! the project's targets. Prints a table in Markdown:
//!
//!     cargo bench --bench quality [-- [--seeds N] [--largest NODES] [--clusters PYTHON_SCRIPT]]
//!
//! With --seeds, each question is repeated on N clusters, with the seeds 1 to N. The table shows the mean and the
//! worst ratio between the two scores, and the mean and the largest gap between the score and the bound. The targets
//! are for the script's clusters with seed 1.

#[allow(dead_code, unused_imports)] // Other benches need the rest.
#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;

use anyhow::Context;
use clap::{Arg, value_parser};
use common::numbers::{seconds, thousands};
use common::{Bench, Kind, Settings};
use htools::generate::TemplateMix;

/// Most instances that may move.
#[derive(Clone, Copy)]
enum Most {
    Free,
    Moves(usize),
    /// As many as the step-by-step plan moves.
    AsStepByStep,
}

/// A question, and the required answer.
struct Question {
    nodes: usize,
    instances: usize,
    templates: TemplateMix,
    most: Most,
    /// Required score for seed 1, rounded like the targets. If the step-by-step plan is the limit, a share of its
    /// score.
    score: f64,
    /// True if the score must be proved optimal.
    optimal: bool,
    seconds: f64,
}

const fn ask(
    (nodes, instances, templates): (usize, usize, TemplateMix),
    most: Most,
    (score, optimal): (f64, bool),
    seconds: f64,
) -> Question {
    Question { nodes, instances, templates, most, score, optimal, seconds }
}

const EXT_20: (usize, usize, TemplateMix) = (20, 200, TemplateMix::Ext);
const EXT_40: (usize, usize, TemplateMix) = (40, 400, TemplateMix::Ext);
const EXT_200: (usize, usize, TemplateMix) = (200, 2000, TemplateMix::Ext);
const DRBD_20: (usize, usize, TemplateMix) = (20, 160, TemplateMix::Drbd);
const DRBD_100: (usize, usize, TemplateMix) = (100, 1000, TemplateMix::Drbd);

const QUESTIONS: [Question; 13] = [
    ask(EXT_20, Most::Free, (0.01633, true), 5.0),
    ask(EXT_20, Most::Moves(56), (0.0177, false), 5.0),
    ask(EXT_40, Most::Free, (0.02084, true), 15.0),
    ask(EXT_40, Most::Moves(141), (0.0232, false), 15.0),
    ask(EXT_40, Most::Moves(106), (0.0282, false), 15.0),
    ask(EXT_200, Most::Free, (0.0240, false), 60.0),
    ask(EXT_200, Most::Moves(645), (0.0262, false), 60.0),
    ask(DRBD_20, Most::Free, (0.280, false), 20.0),
    ask(DRBD_20, Most::Moves(98), (0.289, false), 20.0),
    ask(DRBD_100, Most::Moves(925), (0.79, false), 60.0),
    ask(DRBD_100, Most::Moves(283), (1.18, false), 60.0),
    ask((1000, 10_000, TemplateMix::Drbd), Most::AsStepByStep, (0.8, false), 120.0),
    ask((1000, 10_000, TemplateMix::Mixed), Most::AsStepByStep, (0.8, false), 120.0),
];

/// The figures of a printed plan.
struct Printed {
    score: f64,
    /// Number of instances that move.
    moved: usize,
    /// The text about the bound.
    bound: String,
    seconds: f64,
}

fn main() -> anyhow::Result<()> {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .value_parser(value_parser!(u64).range(1..=1_000_000))
            .default_value(default)
            .help(help)
    };
    let matches = Settings::command("quality", "Measures how good deep plans are")
        .arg(number("seeds", "1", "Clusters for each question"))
        .arg(number("largest", "1000", "Nodes of the largest cluster"))
        .get_matches();
    let get = |name: &str| matches.get_one::<u64>(name).copied().context("it has a default");
    let (seeds, largest) = (get("seeds")?, get("largest")?);
    let bench = Bench::new(Settings::of(&matches))?;
    println!("{}\n", bench.describe());
    if seeds == 1 {
        println!(
            "| cluster | step by step (moved) | moves at most | deep (moved) | bound | wanted | time | wanted | |"
        );
        println!("|---|---:|---:|---:|---|---:|---:|---:|---|");
    } else {
        println!(
            "| cluster | moves at most | deep / step by step, mean | worst | gap, mean | largest | optimal | longest time |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    }
    for question in QUESTIONS.iter().filter(|question| question.nodes as u64 <= largest) {
        if seeds == 1 {
            println!("{}", verdict(&bench, question)?);
        } else {
            println!("{}", ratios(&bench, question, seeds)?);
        }
    }
    Ok(())
}

fn cluster(question: &Question) -> String {
    let kind = Kind { templates: question.templates, ..Kind::drbd(question.nodes, question.instances) };
    format!("{}/{} {}", thousands(question.nodes), thousands(question.instances), kind.template())
}

/// Plans for one cluster, step by step and deep.
fn answers(bench: &Bench, question: &Question, seed: u64) -> anyhow::Result<(Printed, Printed, usize)> {
    let kind = Kind { templates: question.templates, seed, ..Kind::drbd(question.nodes, question.instances) };
    let input = bench.input(kind)?;
    let run = |words: &[&str]| -> anyhow::Result<Printed> {
        let run = bench.ours_once(words, &input)?;
        printed(&bench.printed()?, run.seconds)
    };
    let steps = run(&["hbal", "--ignore-dynu"])?;
    let most = match question.most {
        Most::Free => usize::MAX,
        Most::Moves(most) => most,
        Most::AsStepByStep => steps.moved,
    };
    // With free moves, every move pays.
    let limit =
        if most == usize::MAX { "--min-move-gain=0".to_owned() } else { format!("--max-moves={most}") };
    let deep = run(&["hbal", "--ignore-dynu", "--deep", &limit])?;
    Ok((steps, deep, most))
}

/// Reads a printed plan.
fn printed(text: &str, seconds: f64) -> anyhow::Result<Printed> {
    let after = |start: &str| text.lines().find_map(|line| Some(line.split_once(start)?.1));
    let moved: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.trim_start().split_once(". ")?;
            number.parse::<usize>().ok()?;
            rest.split_whitespace().next()
        })
        .collect();
    let score = after("Cluster score improved from ").and_then(|rest| rest.split(" to ").nth(1));
    let bound = match after("(gap ") {
        Some(gap) => format!("gap {}", gap.trim_end_matches(')')),
        None if text.contains("it is optimal") => "optimal".to_owned(),
        None => String::new(),
    };
    let score = score.context("no score in the plan")?.trim().parse()?;
    Ok(Printed { score, moved: moved.len(), bound, seconds })
}

impl Printed {
    /// The gap between the score and the bound, in per cent.
    fn gap(&self) -> anyhow::Result<f64> {
        let gap = self.bound.strip_prefix("gap ").map(|gap| gap.trim_end_matches([' ', '%']).parse());
        gap.unwrap_or(Ok(0.0)).context("the gap is not a number")
    }
}

fn most_words(question: &Question, most: usize) -> String {
    match question.most {
        Most::Free => "free".to_owned(),
        _ => thousands(most),
    }
}

/// The row of a question for seed 1, with the target.
fn verdict(bench: &Bench, question: &Question) -> anyhow::Result<String> {
    let (steps, deep, most) = answers(bench, question, 1)?;
    let relative = matches!(question.most, Most::AsStepByStep);
    let wanted = if relative { question.score * steps.score } else { question.score };
    // The target is rounded.
    let digits = wanted.to_string().split('.').nth(1).map_or(0, str::len).min(8) as i32;
    let good = deep.score <= wanted + if relative { 0.0 } else { 0.5 * 10_f64.powi(-digits) };
    let proved = !question.optimal || deep.bound == "optimal";
    let verdict = match (good && proved && deep.moved <= most, deep.seconds <= question.seconds) {
        (true, true) => "met",
        (true, false) => "MISSED (time)",
        (false, _) => "MISSED",
    };
    Ok(format!(
        "| {} | {:.5} ({}) | {} | {:.5} ({}) | {} | {:.5}{} | {} | {} | {verdict} |",
        cluster(question),
        steps.score,
        thousands(steps.moved),
        most_words(question, most),
        deep.score,
        thousands(deep.moved),
        deep.bound,
        wanted,
        if question.optimal { ", optimal" } else { "" },
        seconds(deep.seconds),
        seconds(question.seconds),
    ))
}

/// The row of a question for several seeds.
fn ratios(bench: &Bench, question: &Question, seeds: u64) -> anyhow::Result<String> {
    let (mut ratios, mut gaps) = (Vec::new(), Vec::new());
    let (mut optimal, mut longest, mut allowed) = (0, 0.0_f64, 0);
    for seed in 1..=seeds {
        let (steps, deep, most) = answers(bench, question, seed)?;
        ratios.push(deep.score / steps.score);
        gaps.push(deep.gap()?);
        optimal += usize::from(deep.bound == "optimal");
        longest = longest.max(deep.seconds);
        allowed = most;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let most = match question.most {
        Most::AsStepByStep => "as step by step".to_owned(),
        _ => most_words(question, allowed),
    };
    Ok(format!(
        "| {} | {most} | {:.3} | {:.3} | {:.1} % | {:.1} % | {optimal} of {seeds} | {} |",
        cluster(question),
        mean(&ratios),
        largest(&ratios),
        mean(&gaps),
        largest(&gaps),
        seconds(longest)
    ))
}
