//! Runs that are interrupted or killed, and their resumption.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use rustix::process::Signal;

use super::failure::said;
use super::hbal::{Goal, Hbal, WHOLE, ids, nothing_twice};
use crate::child::{self, Output, Running};
use crate::cluster::{Cluster, wait_for};
use crate::proxy::{Proxy, Way};
use crate::tools::READING;

/// Longest time until the end after SIGTERM.
const AT_ONCE: Duration = Duration::from_secs(3);

/// SIGINT: the jobs under way end, and no others begin. The rest can be done later.
pub fn interrupt(cluster: &Cluster) -> anyhow::Result<()> {
    let hbal = Hbal::over_luxi(cluster)?;
    let goal = hbal.goal(&[])?;
    let running = hbal.start(&[], 1)?;
    running.signal(Signal::INT)?;
    let output = running.wait(WHOLE)?.good()?;
    let jobs = hbal.jobs()?;
    ensure!(jobs.iter().all(|job| job.status == "success"), "jobs under way were left: {jobs:?}");
    ensure!(ids(&output.stdout).len() == 1, "more was submitted{}", output.streams());
    let rest = goal.rest(&output)?;
    said(
        rest,
        &[
            "Cancel request registered, will exit at the end of the current job set...\n",
            "Exiting early due to user request, \n",
            "\n1jobset(s) submitted: \n",
            "\n2 jobset(s) not submitted:\n",
        ],
    )?;
    // Nothing is submitted later, either.
    std::thread::sleep(Duration::from_secs(1));
    ensure!(hbal.jobs()?.len() == jobs.len(), "something was submitted after the end");
    goes_on(cluster, &hbal, &goal)
}

/// SIGTERM: hbal ends at once, while the job continues by itself.
pub fn terminate(cluster: &Cluster) -> anyhow::Result<()> {
    let hbal = Hbal::over_luxi(cluster)?;
    let goal = hbal.goal(&[])?;
    let running = hbal.start(&[], 2)?;
    let start = Instant::now();
    running.signal(Signal::TERM)?;
    let output = running.wait(WHOLE)?.expect(2)?;
    ensure!(start.elapsed() < AT_ONCE, "the end took {:?}", start.elapsed());
    let jobs = hbal.jobs()?;
    // All submitted jobs are reported.
    let told = ids(&output.stdout).concat();
    ensure!(jobs.iter().all(|job| told.contains(&job.id)), "told of {told:?}, there are {jobs:?}");
    ensure!(goal.rest(&output)?.ends_with("Double cancel request, exiting now...\n"), "{}", output.streams());
    goes_on(cluster, &hbal, &goal)
}

/// Part of the error for a journal whose program still runs.
const IN_USE: &str = "another program";

/// hbal is killed while jobs are under way.
pub fn killed_over_luxi(cluster: &Cluster) -> anyhow::Result<()> {
    killed(cluster, Hbal::over_luxi(cluster)?)
}

pub fn killed_over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    killed(cluster, Hbal::over_rapi(cluster)?)
}

fn killed(cluster: &Cluster, hbal: Hbal<'_>) -> anyhow::Result<()> {
    let goal = hbal.goal(&[])?;
    // The last jobset has two jobs; over RAPI they are submitted one by one.
    kill(hbal.start(&[], 3)?)?;
    goes_on(cluster, &hbal, &goal)
}

/// hbal is killed after Ganeti accepted the jobs, and before hbal has the answer.
pub fn killed_before_answer(cluster: &Cluster) -> anyhow::Result<()> {
    killed_at(cluster, Way::Answer)
}

/// hbal is killed before Ganeti gets the jobs.
pub fn killed_before_request(cluster: &Cluster) -> anyhow::Result<()> {
    killed_at(cluster, Way::Request)
}

fn killed_at(cluster: &Cluster, way: Way) -> anyhow::Result<()> {
    let proxy = Proxy::before(cluster.socket())?;
    let hbal = Hbal::over(cluster, format!("-L{}", proxy.socket().display()))?;
    let goal = hbal.goal(&[])?;
    proxy.keep_back(way, "SubmitManyJobs");
    let running = Running::start(&mut hbal.execute(&[]))?;
    wait_for("a submission", READING, || proxy.kept_back() > 0)?;
    kill(running)?;
    proxy.pass_on();
    let there = usize::from(way == Way::Answer);
    ensure!(hbal.jobs()?.len() == there, "the first jobset has one job");
    goes_on(cluster, &hbal, &goal)
}

/// The answer to a submission is lost while hbal continues: it finds the jobs in the queue.
pub fn lost_answer(cluster: &Cluster) -> anyhow::Result<()> {
    let proxy = Proxy::before(cluster.socket())?;
    let hbal = Hbal::over(cluster, format!("-L{}", proxy.socket().display()))?;
    let goal = hbal.goal(&[])?;
    proxy.keep_back(Way::Answer, "SubmitManyJobs");
    let running = Running::start(&mut hbal.execute(&[]))?;
    wait_for("a submission", READING, || proxy.kept_back() > 0)?;
    proxy.pass_on();
    proxy.hang_up();
    let output = running.wait(WHOLE)?.good()?;
    complete(cluster, &hbal, &goal, &output)
}

/// Journals that must not be resumed.
pub fn refused_journals(cluster: &Cluster) -> anyhow::Result<()> {
    let proxy = Proxy::before(cluster.socket())?;
    let hbal = Hbal::over(cluster, format!("-L{}", proxy.socket().display()))?;
    let goal = hbal.goal(&[])?;
    let running = hbal.start(&[], 1)?;
    refused(&hbal, cluster, IN_USE)?;
    kill(running)?;
    hbal.finished_jobs()?;
    let info = crate::luxi::call(cluster.socket(), "QueryClusterInfo", serde_json::json!([]))?;
    let uuid = info["uuid"].as_str().unwrap_or_default().to_owned();
    let other = "01234567-89ab-cdef-0123-456789abcdef";
    proxy.rewrite(&uuid, other);
    refused(&hbal, cluster, other)?;
    proxy.rewrite(&uuid, &uuid);
    damaged(&hbal, cluster)?;
    goes_on(cluster, &hbal, &goal)?;
    // Another resumption: all is done already.
    let count = hbal.jobs()?.len();
    child::run(&mut hbal.resume(), READING)?.good()?;
    ensure!(hbal.jobs()?.len() == count, "a run that was complete was carried out again");
    Ok(())
}

/// Damaged journals: a line missing, a line changed, empty. A last line that is cut off is ignored, and the run is
/// resumed.
fn damaged(hbal: &Hbal<'_>, cluster: &Cluster) -> anyhow::Result<()> {
    let whole = std::fs::read_to_string(hbal.journal())?;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    ensure!(lines.len() >= 3, "a short journal:\n{whole}");
    let changed = [lines[0], &lines[1].replacen('0', "1", 1), &lines[2..].concat()].concat();
    for (text, line) in [([lines[0], &lines[2..].concat()].concat(), 2), (changed, 2), (String::new(), 1)] {
        std::fs::write(hbal.journal(), &text)?;
        let path = hbal.journal();
        let place = format!("{}, line {line}:", Path::new(&path).display());
        refused(hbal, cluster, &place)?;
    }
    std::fs::write(hbal.journal(), whole)?;
    Ok(())
}

/// Checks that hbal refuses to resume with a one-line reason and submits nothing.
fn refused(hbal: &Hbal<'_>, cluster: &Cluster, why: &str) -> anyhow::Result<()> {
    let before = crate::luxi::newest(cluster.socket())?;
    let journal = std::fs::read(hbal.journal())?;
    let output = child::run(&mut hbal.resume(), READING)?.expect(1)?;
    said(&output.stderr, &[why])?;
    ensure!(output.stderr.lines().count() == 1, "not one line{}", output.streams());
    if why != IN_USE {
        ensure!(crate::luxi::newest(cluster.socket())? == before, "jobs were submitted");
        ensure!(std::fs::read(hbal.journal())? == journal, "the journal was changed");
    }
    Ok(())
}

/// Kills the program without warning.
pub fn kill(running: Running) -> anyhow::Result<()> {
    running.signal(Signal::KILL)?;
    running.wait(READING)?.expect(128 + 9)?;
    Ok(())
}

/// Checks that the rest of the plan is executed, and nothing twice.
pub fn goes_on(cluster: &Cluster, hbal: &Hbal<'_>, goal: &Goal) -> anyhow::Result<()> {
    let output = child::run(&mut hbal.resume(), WHOLE)?.good()?;
    complete(cluster, hbal, goal, &output)
}

fn complete(cluster: &Cluster, hbal: &Hbal<'_>, goal: &Goal, last: &Output) -> anyhow::Result<()> {
    let jobs = hbal.finished_jobs()?;
    ensure!(jobs.iter().all(|job| job.status == "success"), "{jobs:?}{}", last.streams());
    nothing_twice(&jobs)?;
    // Every step is one job, however it is submitted.
    ensure!(jobs.len() == goal.steps, "{} jobs for {} steps", jobs.len(), goal.steps);
    goal.is_reached(cluster)
}
