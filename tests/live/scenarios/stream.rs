//! Plans as streams: saved, applied and undone; time windows and pauses; another plan after a failure.

use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::ensure;
use rustix::process::Signal;

use super::failure::said;
use super::hbal::{Hbal, WHOLE, nothing_twice};
use super::placement::placements;
use crate::child::{self, Output};
use crate::cluster::Cluster;
use crate::tools::{self, READING};

/// `htools` with these words.
fn htools(words: &[&str]) -> anyhow::Result<Output> {
    child::run(Command::new(tools::program()).env_remove("HTOOLS").args(words), WHOLE)
}

/// A saved plan is executed as a stream, does not fit a second time, and is undone.
pub fn applied_and_undone(cluster: &Cluster) -> anyhow::Result<()> {
    let before = placements(cluster)?;
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (plan, journal) = (path("plan"), path("journal"));
    let source = format!("--luxi={}", cluster.socket());
    let hbal = Hbal::over_luxi(cluster)?;
    let goal = hbal.goal(&[])?;
    child::run(tools::ours("hbal").args([&source, &format!("--save-plan={plan}")]), READING)?.good()?;
    let apply = ["apply", &plan, &source, "-X", "--yes", "--stream"];
    let limits = ["--max-out-per-node=1", "--max-in-per-node=1", &format!("--journal={journal}")];
    htools(&[&apply[..], &limits[..]].concat())?.good()?;
    let jobs = hbal.finished_jobs()?;
    nothing_twice(&jobs)?;
    ensure!(jobs.len() == goal.steps, "{} jobs for {} steps", jobs.len(), goal.steps);
    goal.is_reached(cluster)?;
    let again = htools(&apply)?.expect(1)?;
    said(&again.stderr, &["The plan no longer fits the cluster:\n  step 1, instance 'inst0"])?;
    htools(&["undo", &journal, &source, "-X", "--yes", "--stream", "--ignore-soft-errors"])?.good()?;
    ensure!(placements(cluster)? == before, "the cluster is not as it was");
    Ok(())
}

/// No step begins that would end too late, or during a pause. The rest is done afterwards.
pub fn window_and_pause(cluster: &Cluster) -> anyhow::Result<()> {
    let hbal = Hbal::over_luxi(cluster)?;
    let goal = hbal.goal(&[])?;
    let output = hbal.run(&["--stream", "--max-parallel=1", "--max-duration=2s"])?.good()?;
    let words = format!("The time is up: 0 of {0} steps are done, {0} are left; ", goal.steps);
    said(&output.stderr, &[&words])?;
    ensure!(hbal.jobs()?.is_empty(), "a job after the end of the window");
    let running = child::Running::start(hbal.resume().arg("--max-duration=1h"))?;
    crate::cluster::wait_for("the first job", READING, || hbal.jobs().is_ok_and(|jobs| !jobs.is_empty()))?;
    running.signal(Signal::USR1)?;
    let jobs = hbal.finished_jobs()?.len();
    thread::sleep(Duration::from_secs(5));
    ensure!(hbal.jobs()?.len() == jobs && jobs < goal.steps, "jobs during a pause");
    running.signal(Signal::USR1)?;
    let output = running.wait(WHOLE)?.good()?;
    said(&output.stderr, &["Paused: no new steps are begun", "Continued"])?;
    nothing_twice(&hbal.finished_jobs()?)?;
    goal.is_reached(cluster)
}

/// A disk cannot be created: another plan moves the remaining instances, but not that one.
pub fn replanned(cluster: &Cluster) -> anyhow::Result<()> {
    std::fs::write(cluster.path("faults"), "node3 lvcreate\n")?;
    let hbal = Hbal::over_luxi(cluster)?;
    let output = hbal.run(&["--stream", "--on-failure=replan"])?.expect(1)?;
    said(
        &output.stderr,
        &["inst02.vc.test", "lvcreate", "; making another plan for the rest\n", "the rest was planned again"],
    )?;
    let jobs = hbal.finished_jobs()?;
    let about = |name: &str| jobs.iter().filter(|job| job.opcodes[0]["instance_name"] == name).count();
    ensure!(about("inst02.vc.test") == 1, "the failing move was made again");
    let failed = jobs.iter().filter(|job| job.status != "success").count();
    ensure!(failed == 1 && jobs.len() >= 3, "{} jobs, of which {failed} failed", jobs.len());
    Ok(())
}
