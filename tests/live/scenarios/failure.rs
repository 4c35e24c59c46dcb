//! Failing jobs, and a queue that accepts none.

use std::fs;

use anyhow::{Context, ensure};

use super::hbal::{Hbal, ids};
use crate::cluster::Cluster;

/// The second step fails half way, and the third is not submitted.
pub fn over_luxi(cluster: &Cluster) -> anyhow::Result<()> {
    fs::write(cluster.path("faults"), "node3 lvcreate\n")?;
    let hbal = Hbal::over_luxi(cluster)?;
    let goal = hbal.goal(&[])?;
    ensure!(goal.steps == 3, "an odd plan:\n{}", goal.plan);
    let output = hbal.run(&[])?.expect(1)?;
    goal.rest(&output)?;
    let jobs = hbal.finished_jobs()?;
    let statuses: Vec<&str> = jobs.iter().map(|job| &*job.status).collect();
    ensure!(statuses == ["success", "error"], "jobs: {statuses:?}");
    ensure!(ids(&output.stdout).len() == 2, "two submissions{}", output.streams());
    said(&output.stderr, &["Not all jobs completed successfully", "step 2", "inst02.vc.test", "lvcreate"])?;
    steps(&output.stderr, &["done", "failed", "not started"])?;
    let events = hbal.events()?;
    let last = events.last().context("no events")?;
    ensure!(last["ending"]["how"] == "failed" && last["done"] == 1 && last["not_started"] == 1, "{last}");
    // The run is over, so a new plan is needed.
    let output = crate::child::run(&mut hbal.resume(), super::hbal::WHOLE)?.expect(1)?;
    said(&output.stderr, &["step 2", "inst02.vc.test"])?;
    ensure!(hbal.jobs()?.len() == 2, "something was submitted after a failure");
    Ok(())
}

/// Over RAPI a step is a chain of jobs; those after the failed one do nothing.
pub fn over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    fs::write(cluster.path("faults"), "node4 lvcreate\n")?;
    let hbal = Hbal::over_rapi(cluster)?;
    let output = hbal.run(&["-l", "2"])?.expect(1)?;
    let jobs = hbal.finished_jobs()?;
    let statuses: Vec<&str> = jobs.iter().map(|job| &*job.status).collect();
    // Migrate, replace the secondary, migrate.
    ensure!(statuses.starts_with(&["success", "error"]), "jobs: {statuses:?}");
    ensure!(!statuses[2..].contains(&"success") && statuses.len() <= 3, "jobs: {statuses:?}");
    said(&output.stderr, &["Not all jobs completed successfully", "step 1", "inst01.vc.test", "lvcreate"])?;
    steps(&output.stderr, &["failed", "not started"])
}

/// A queue that accepts no jobs: one clear error line, and nothing is submitted. Afterwards the same plan can be
/// executed.
pub fn drained_queue(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.exec(&["gnt-cluster", "queue", "drain"])?.good()?;
    for hbal in [Hbal::over_luxi(cluster)?, Hbal::over_rapi(cluster)?] {
        let output = hbal.run(&[])?.expect(1)?;
        said(&output.stderr, &["not submitted: ", "Queue drained"])?;
        // It is a refusal, so the state of the jobs is clear.
        ensure!(!output.stderr.contains("--resume"), "an unclear end{}", output.streams());
        ensure!(!output.stdout.contains(super::hbal::GOT), "jobs in a drained queue{}", output.streams());
        ensure!(hbal.jobs()?.is_empty(), "jobs in a drained queue");
    }
    cluster.exec(&["gnt-cluster", "queue", "undrain"])?.good()?;
    let hbal = Hbal::over_luxi(cluster)?;
    hbal.run(&["--first-job-group"])?.good()?;
    Ok(())
}

/// Checks that the text contains all of these words.
pub fn said(text: &str, words: &[&str]) -> anyhow::Result<()> {
    match words.iter().find(|word| !text.contains(**word)) {
        Some(word) => anyhow::bail!("not a word of {word:?}:\n{text}"),
        None => Ok(()),
    }
}

/// Checks the states in the final table of steps.
fn steps(stderr: &str, states: &[&str]) -> anyhow::Result<()> {
    let (_, table) =
        stderr.split_once("Steps:\n").with_context(|| format!("no table of the steps:\n{stderr}"))?;
    for (number, (state, line)) in (1..).zip(states.iter().zip(table.lines())) {
        let row = line.trim_start().strip_prefix(&format!("{number}. "));
        let told = row.and_then(|row| row.split_once(' ')).map(|(_, told)| told.trim_start());
        ensure!(told.is_some_and(|told| told.starts_with(state)), "step {number} is not {state:?}: {line}");
    }
    Ok(())
}
