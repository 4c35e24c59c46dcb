//! Our hbal executing plans, and checks of the results.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::placement::{Placement, placements, placements_in};
use crate::child::{self, Output, Running};
use crate::cluster::Cluster;
use crate::luxi::{self, QueuedJob};
use crate::tools::{self, READING, same_text};

/// Longest run of a whole plan.
pub const WHOLE: Duration = Duration::from_secs(600);

/// Start of the line with job numbers.
pub const GOT: &str = "Got job IDs ";

/// Runs of our hbal on a cluster, with a journal and other files of their own.
pub struct Hbal<'a> {
    cluster: &'a Cluster,
    source: String,
    directory: tempfile::TempDir,
    /// Number of the newest job before the runs.
    after: u64,
}

impl<'a> Hbal<'a> {
    /// Over the master daemon's socket.
    pub fn over_luxi(cluster: &'a Cluster) -> anyhow::Result<Self> {
        Hbal::over(cluster, format!("--luxi={}", cluster.socket()))
    }

    /// Over the remote API.
    pub fn over_rapi(cluster: &'a Cluster) -> anyhow::Result<Self> {
        Hbal::over(cluster, format!("--master={}", cluster.login_url()))
    }

    /// Over any source.
    pub fn over(cluster: &'a Cluster, source: String) -> anyhow::Result<Self> {
        let after = luxi::newest(cluster.socket())?;
        Ok(Hbal { cluster, source, directory: tempfile::tempdir()?, after })
    }

    /// The journal of the run.
    pub fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    /// The command that makes a plan and executes it.
    pub fn execute(&self, more: &[&str]) -> Command {
        let mut command = self.command();
        command.arg("--journal").arg(self.journal()).args(["-X", "--yes"]).args(more);
        command
    }

    /// The command that resumes the run.
    pub fn resume(&self) -> Command {
        let mut command = self.command();
        command.arg("--resume").arg(self.journal()).arg("--yes");
        command
    }

    fn command(&self) -> Command {
        let mut command = tools::ours("hbal");
        command.arg(&self.source).arg("--json-events").arg(self.directory.path().join("events"));
        command
    }

    /// Runs the whole plan, or the part that the options in `more` allow.
    pub fn run(&self, more: &[&str]) -> anyhow::Result<Output> {
        child::run(&mut self.execute(more), WHOLE)
    }

    /// Starts it, and waits for this number of submissions.
    pub fn start(&self, more: &[&str], submissions: usize) -> anyhow::Result<Running> {
        let mut running = Running::start(&mut self.execute(more))?;
        let what = format!("{submissions} lines of job numbers");
        running.wait_for(&what, READING, |stdout| ids(stdout).len() >= submissions)?;
        Ok(running)
    }

    /// The jobs submitted since the start, oldest first. All must come from hbal.
    pub fn jobs(&self) -> anyhow::Result<Vec<QueuedJob>> {
        let jobs = luxi::jobs(self.cluster.socket(), self.after)?;
        for job in &jobs {
            let ours = |opcode: &Value| {
                opcode["comment"]
                    .as_str()
                    .is_some_and(|comment| comment.starts_with("rebalancing via hbal (htools) version "))
            };
            ensure!(job.opcodes.iter().all(ours), "job {} is not from our hbal: {:?}", job.id, job.opcodes);
        }
        Ok(jobs)
    }

    /// The jobs, once none is pending any more.
    pub fn finished_jobs(&self) -> anyhow::Result<Vec<QueuedJob>> {
        crate::cluster::wait_for("the jobs to end", READING, || {
            self.jobs().is_ok_and(|jobs| !jobs.iter().any(QueuedJob::is_pending))
        })?;
        self.jobs()
    }

    /// The events of the last run.
    pub fn events(&self) -> anyhow::Result<Vec<Value>> {
        let text = fs::read_to_string(self.directory.path().join("events")).context("no events")?;
        let parse = |line: &str| serde_json::from_str(line).with_context(|| format!("not JSON: {line}"));
        text.lines().map(parse).collect()
    }

    /// Result of the plan.
    pub fn goal(&self, more: &[&str]) -> anyhow::Result<Goal> {
        let directory = tempfile::tempdir()?;
        let mut command = tools::ours("hbal");
        command.arg(&self.source).args(["-S", "state"]).args(more).current_dir(directory.path());
        let output = child::run(&mut command, READING)?.good()?;
        let state = fs::read_to_string(directory.path().join("state.balanced"))?;
        let score = output.stdout.lines().find_map(|line| line.strip_prefix("Cluster score improved from "));
        let score = score.and_then(|text| text.split_once(" to ")).context("hbal has nothing to improve")?.1;
        let steps = output.stdout.lines().filter(|line| line.contains(" a=")).count();
        Ok(Goal {
            plan: output.stdout.clone(),
            score: score.to_owned(),
            steps,
            places: placements_in(&state)?.into_iter().collect(),
        })
    }
}

/// Predicted result of a plan.
pub struct Goal {
    /// The text that hbal prints for the plan.
    pub plan: String,
    /// Predicted score.
    pub score: String,
    /// Number of steps.
    pub steps: usize,
    /// Nodes of all instances after the plan.
    places: Vec<(String, Placement)>,
}

impl Goal {
    /// Checks that the cluster is as planned: the instances run on their nodes, and the score is the predicted one,
    /// by the reference's computation, too.
    pub fn is_reached(&self, cluster: &Cluster) -> anyhow::Result<()> {
        self.is_reached_with(cluster, &[])
    }

    /// The same for a score computed with some options.
    pub fn is_reached_with(&self, cluster: &Cluster, options: &[&str]) -> anyhow::Result<()> {
        let now: Vec<(String, Placement)> = placements(cluster)?.into_iter().collect();
        for (planned, there) in self.places.iter().zip(&now) {
            ensure!(planned == there, "planned was {planned:?}, but there is {there:?}");
        }
        ensure!(self.places.len() == now.len(), "not the same instances as before");
        let source = format!("--luxi={}", cluster.socket());
        let words = [&[&*source], options].concat();
        let theirs = child::run(tools::reference(cluster.system(), "hbal").args(&words), READING)?.good()?;
        let score = format!("Initial score: {}\n", self.score);
        ensure!(theirs.stdout.contains(&score), "not {score}{}", theirs.stdout);
        tools::same(&theirs, &child::run(tools::ours("hbal").args(&words), READING)?)
    }

    /// Checks that the output of a run begins with the plan, and returns the rest.
    pub fn rest<'o>(&self, output: &'o Output) -> anyhow::Result<&'o str> {
        match output.stdout.strip_prefix(&self.plan) {
            Some(rest) => Ok(rest),
            None => {
                let beginning: String =
                    output.stdout.split_inclusive('\n').take_while(|l| !l.starts_with(GOT)).collect();
                same_text(&output.command, &self.plan, &beginning)?;
                bail!("{}: odd output{}", output.command, output.streams())
            }
        }
    }
}

/// The job numbers in hbal's output, by line.
pub fn ids(stdout: &str) -> Vec<Vec<u64>> {
    let lines = stdout.split_inclusive('\n').filter_map(|line| line.strip_prefix(GOT)?.strip_suffix('\n'));
    lines.map(|line| line.split(',').filter_map(|id| id.parse().ok()).collect()).collect()
}

/// Checks that each step was submitted at most once, however often hbal was started: no two jobs do the same part of
/// the same step.
pub fn nothing_twice(jobs: &[QueuedJob]) -> anyhow::Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for job in jobs {
        ensure!(seen.insert(job.comment()), "submitted twice: {:?}", job.comment());
        let same = |opcode: &Value| opcode["comment"].as_str() == Some(job.comment());
        ensure!(job.opcodes.iter().all(same), "job {} is for several steps", job.id);
    }
    Ok(())
}
