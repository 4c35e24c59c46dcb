//! `hplace --strategy optimal` compared with a linear-programming solver, on random clusters and stage by stage.
//! glpsol must not find a better placement than a proved one, and no placement may be better than glpsol's optimum.
//!
//!     cargo test --test milp -- [--seed N] [--runs N]
//!
//! This needs Debian's package `glpk-utils`. Non-linear goals are left out: the balance of the nodes, and disruption
//! that orders propagate.

#[path = "../common/plain_placement.rs"]
#[allow(dead_code)]
mod plain_placement;
mod program;
#[path = "../reference/hplace/cib.rs"]
#[allow(dead_code)]
mod random_cib;

use std::process::ExitCode;

use htools::generate::random::Random;
use htools::pacemaker::optimal::{PlacingLimits, PlacingStage, ThenGoal};
use htools::pacemaker::{WorkingSet, cib, optimal};
use htools::search::Deadline;
use plain_placement::{Places, faults, needs, value};
use program::{LinearGoal, PlacementProgram, Solved};
use random_cib::Dimensions;

/// Higher scores are left out, because glpsol cannot tell apart values that differ by one.
const MOST: i32 = 100_000;

/// Results of the comparison.
#[derive(Default)]
struct Outcome {
    clusters: usize,
    /// Stages compared, and those of them that were proved.
    stages: usize,
    proved: usize,
    /// Stages without a proof for which glpsol found something better.
    improvable: usize,
    /// Clusters on which glpsol gave up.
    unsolved: usize,
    differences: Vec<String>,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (mut seed, mut runs) = (1, 300);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok());
        match (word.as_str(), number) {
            ("--seed", Some(number)) => seed = number,
            ("--runs", Some(number)) => runs = number,
            _ => {
                eprintln!("usage: milp [--seed N] [--runs N]");
                return ExitCode::from(2);
            }
        }
    }
    let mut outcome = Outcome::default();
    for number in 0..runs {
        let mut random = Random::stream(seed, number);
        let (hosts, primitives) = (2 + random.below(4), 2 + random.below(19));
        let text = random_cib::document(
            Dimensions { hosts, primitives, clones: false, failures: false, several: false, changed: false },
            &mut random,
        );
        let Ok(set) = cib::parse(&plain_scores(&text), "random") else { continue };
        if set.unsupported.is_empty() {
            let then = if number.is_multiple_of(2) { ThenGoal::Minimal } else { ThenGoal::Balanced };
            if let Err(problem) = compare(&set, then, number, &mut outcome) {
                eprintln!("cluster {number}: {problem}");
                return ExitCode::from(2);
            }
        }
    }
    let Outcome { clusters, stages, proved, improvable, unsolved, differences } = &outcome;
    differences.iter().for_each(|line| println!("{line}"));
    println!(
        "hplace --strategy optimal and glpsol on {clusters} clusters: {stages} stages, {proved} of them proved, {improvable} not the best, {unsolved} clusters not solved, {} different",
        differences.len()
    );
    if differences.is_empty() && *clusters > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The CIB with scores that can be told apart: infinite wishes become large finite ones.
fn plain_scores(text: &str) -> String {
    let sticky = text.replace(
        r#"name="resource-stickiness" value="INFINITY""#,
        r#"name="resource-stickiness" value="150""#,
    );
    let line = |line: &str| match () {
        () if line.contains("<rsc_location") || line.contains("<rule") => line
            .replace(r#"score="INFINITY""#, r#"score="300""#)
            .replace(r#"score="+INFINITY""#, r#"score="310""#)
            .replace(r#"score="999999""#, r#"score="290""#),
        () if line.contains("<rsc_colocation") => line.replace(r#"score="999999""#, r#"score="290""#),
        () => line.to_owned(),
    };
    sticky.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Compares the stages of one cluster, in order, as long as all earlier ones were equal.
fn compare(set: &WorkingSet, then: ThenGoal, number: u64, outcome: &mut Outcome) -> Result<(), String> {
    // Some searches must end before they have proved anything.
    let steps = if number.is_multiple_of(5) { 30 } else { 2_000_000 };
    let limits = PlacingLimits { steps, moves: None, deadline: Deadline::never() };
    let placed = optimal(set, then, &limits).map_err(|error| error.to_string())?;
    let ours: Places = set.resource_indices().map(|one| placed.host(one)).collect();
    let proved = placed.optimum.as_ref().and_then(|optimum| optimum.proved);
    let wrong = faults(set, &ours);
    if !wrong.is_empty() {
        outcome.differences.push(format!("cluster {number}: {}", wrong.join(", ")));
        return Ok(());
    }
    let Some(mut program) = PlacementProgram::of(set) else { return Ok(()) };
    outcome.clusters += 1;
    let (counts, score, disruption, rest) = value(set, &ours, then);
    let mut stages: Vec<(PlacingStage, LinearGoal, i64)> = Vec::new();
    for (priority, count) in counts {
        stages.push((PlacingStage::Placed, program.placed(set, priority.0), count as i64));
    }
    let usable = |one: i32| one.abs() < MOST || one <= -1_000_000;
    let tables = set
        .resource_indices()
        .all(|one| set.host_indices().all(|host| usable(set.resource(one).scores.or_never(host).get())));
    if tables {
        stages.push((PlacingStage::Scores, program.score(set), score));
        if needs(set).is_empty() {
            let [stops, lives] = program.disruption(set);
            stages.push((PlacingStage::Disruption, stops, -(disruption.0.0 as i64)));
            stages.push((PlacingStage::Disruption, lives, -(disruption.0.1 as i64)));
            if then == ThenGoal::Minimal {
                stages.push((PlacingStage::Then, program.nodes(set), -i64::try_from(rest.0).unwrap_or(0)));
            }
        }
    }
    for (stage, goal, ours) in stages {
        let best = match program.solve(&goal)? {
            Solved::Best(best) => best,
            Solved::GaveUp => {
                outcome.unsolved += 1;
                return Ok(());
            }
        };
        outcome.stages += 1;
        let is_proved = proved.is_some_and(|proved| proved >= stage);
        outcome.proved += usize::from(is_proved);
        if ours > best || (is_proved && ours < best) {
            let said = if is_proved { "proved" } else { "found" };
            outcome.differences.push(format!("cluster {number}, {stage}: {said} {ours}, glpsol has {best}"));
            return Ok(());
        }
        if ours < best {
            outcome.improvable += 1;
            return Ok(());
        }
        program.keep(&goal, best);
    }
    Ok(())
}
