//! hplace changes a real Pacemaker cluster: to a placement different from the cluster's own, by emptying a node, and
//! back. Some runs fail or end in the middle.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::Value;

use super::failure::said;
use super::pacemaker::{Places, hplace, of_suite, outcomes, running, said_of, settled};
use crate::child::{self, Output, Running};
use crate::cluster::{Cluster, wait_for};
use crate::tools::READING;

/// Longest time for a whole run.
const RUN: Duration = Duration::from_secs(300);
/// A placement that differs from the cluster's own.
const OTHER: [&str; 2] = ["--strategy", "optimal"];

/// The seed example: the largest resource does not run. With constraints it runs, and it continues to run without
/// them if something holds it.
pub fn placed_otherwise(cluster: &Cluster) -> anyhow::Result<()> {
    let before = running(cluster)?;
    let goal = said_of(cluster, &OTHER)?;
    ensure!(goal != before, "there is nothing to do: {goal:?}");
    let refused = bring(cluster, &["--no-keep"])?.expect(1)?;
    said(&refused.stderr, &["--no-keep", "stickiness"])?;
    is_at(cluster, &before)?;
    bring(cluster, &[])?.good()?;
    is_at(cluster, &goal)?;
    let moved = goal.iter().filter(|(name, node)| before.get(*name).is_some_and(|was| was != *node)).count();
    let outcomes = outcomes(cluster, "node1")?;
    ensure!(outcomes == vec!["done"; moved], "{moved} resources moved, and the history has {outcomes:?}");
    let again = bring(cluster, &[])?.good()?;
    said(&again.stdout, &["Pacemaker does that by itself"])?;
    // Without the constraints, the old state returns.
    undo(cluster, &[])?;
    is_at(cluster, &before)?;
    // If something holds the resources, they stay without the constraints.
    let sticky = ["crm_attribute", "--type=rsc_defaults", "--name=resource-stickiness", "--update=1"];
    cluster.exec(&[&["node1"][..], &sticky].concat())?.good()?;
    bring(cluster, &["--no-keep"])?.good()?;
    is_at(cluster, &goal)?;
    let constraints = cluster.exec(&["node2", "cibadmin", "-Q", "-o", "constraints"])?.good()?;
    ensure!(!constraints.stdout.contains("hplace"), "constraints are left{}", constraints.streams());
    settled(cluster)?;
    is_at(cluster, &goal)
}

/// A node is emptied, and takes its resources back.
pub fn evacuated(cluster: &Cluster) -> anyhow::Result<()> {
    let before = running(cluster)?;
    let run = |words: &[&str]| {
        let words = [&["evacuate", "--live", "-X", "--yes"], words].concat();
        child::run(&mut hplace(cluster, 1, &words), RUN)
    };
    let goal = said_of(cluster, &["evacuate", "node2"])?;
    run(&["node2"])?.expect(2)?;
    is_at(cluster, &goal)?;
    ensure!(goal.values().all(|node| node != "node2"), "{goal:?}");
    said(&run(&["node2"])?.expect(1)?.stderr, &["node2 is in standby already"])?;
    run(&["--undo", "node2"])?.expect(2)?;
    is_at(cluster, &before)
}

/// hbal spreads two resources of one node. They stay so without its constraints, because they are sticky. hsqueeze
/// brings them together again and puts the other node in standby; it ends the standby when the node is needed.
pub fn switched(cluster: &Cluster) -> anyhow::Result<()> {
    let before = running(cluster)?;
    let sticky = ["crm_attribute", "--type=rsc_defaults", "--name=resource-stickiness", "--update=1"];
    cluster.exec(&[&["node1"][..], &sticky].concat())?.good()?;
    let run = |tool: &str, words: &[&str]| {
        let words = [&["--live", "--allow-restarts"], words].concat();
        child::run(&mut of_suite(cluster, tool, 1, &words), RUN)
    };
    let document = run("hbal", &["--json"])?.good()?;
    let document: Value = serde_json::from_str(&document.stdout)?;
    let mut goal = before.clone();
    for step in document["steps"].as_array().context("steps")? {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        goal.insert(text(&step["instance"]), text(&step["to"]["primary"]));
    }
    ensure!(goal != before, "hbal has nothing to do: {document}");
    run("hbal", &["-X", "--yes"])?.good()?;
    undo(cluster, &[])?;
    is_at(cluster, &goal)?;
    let freed = ["--no-capacity-checks", "--minimal-resources=0", "--target-resources=0"];
    let output = run("hsqueeze", &[&freed[..], &["-X", "--yes"]].concat())?.good()?;
    said(&output.stdout, &["'Nodes to offline'\n", "node1\n"])?;
    said(&output.stderr, &["Step 1 of 3: ", "put node1 in standby", "hsqueeze: powered down"])?;
    is_at(cluster, &before)?;
    said(&run("hsqueeze", &freed)?.good()?.stdout, &["'No action'"])?;
    let output =
        run("hsqueeze", &["--minimal-resources=1", "--target-resources=2", "-X", "--yes"])?.good()?;
    said(&output.stdout, &["'Nodes to online'", "node1"])?;
    let nodes = cluster.exec(&["node2", "cibadmin", "-Q", "-o", "nodes"])?.good()?;
    let on = |node: &str| {
        let document = roxmltree::Document::parse(&nodes.stdout)?;
        let node = document.descendants().find(|found| found.attribute("uname") == Some(node));
        let mut pairs = node.into_iter().flat_map(|node| node.descendants());
        anyhow::Ok(pairs.any(|pair| pair.attribute("name") == Some("standby")))
    };
    ensure!(!on("node1")?, "node1 is in standby{}", nodes.streams());
    settled(cluster)
}

/// A resource fails to start on its target: that is reported, and can be undone.
pub fn fails(cluster: &Cluster) -> anyhow::Result<()> {
    let before = running(cluster)?;
    let goal = said_of(cluster, &OTHER)?;
    let moved = goal.iter().find(|(id, node)| before.get(*id) != Some(*node));
    let Some((id, node)) = moved else { anyhow::bail!("nothing moves") };
    let parameter = ["crm_resource", "-r", id, "--set-parameter", "fail_start_on", "-v", node];
    cluster.exec(&[&["node1"][..], &parameter].concat())?.good()?;
    settled(cluster)?;
    let failed = bring(cluster, &["--journal", &journal(cluster)])?.expect(1)?;
    said(&failed.stderr, &["compare where resources run with the plan", id, "--undo undoes it", "--resume"])?;
    // The cause is removed, and the same run is resumed.
    let mended = ["crm_resource", "-r", id, "--delete-parameter", "fail_start_on"];
    cluster.exec(&[&["node1"][..], &mended].concat())?.good()?;
    cluster.exec(&["node1", "crm_resource", "--cleanup", "-r", id])?.good()?;
    settled(cluster)?;
    resume(cluster)?.good()?;
    is_at(cluster, &goal)
}

/// The run is killed during the wait for the cluster, resumed, interrupted at the same point, and resumed again.
pub fn killed(cluster: &Cluster) -> anyhow::Result<()> {
    let goal = said_of(cluster, &OTHER)?;
    for id in goal.keys() {
        let slow = ["crm_resource", "-r", id, "--set-parameter", "op_sleep", "-v", "4"];
        cluster.exec(&[&["node1"][..], &slow].concat())?.good()?;
    }
    settled(cluster)?;
    let run = at_the_wait(Running::start(&mut bringing(cluster, &["--journal", &journal(cluster)]))?)?;
    run.signal(Signal::KILL)?;
    run.wait(READING)?.expect(128 + 9)?;
    let run = at_the_wait(Running::start(&mut resuming(cluster))?)?;
    run.signal(Signal::INT)?;
    said(&run.wait(READING)?.expect(1)?.stderr, &["Interrupted: 1 of 3 steps are done", "--resume"])?;
    let output = resume(cluster)?.good()?;
    said(&output.stderr, &["Step 2 of 3", "Step 3 of 3", "Done"])?;
    is_at(cluster, &goal)?;
    said(&resume(cluster)?.good()?.stderr, &["All 3 steps were done before"])
}

/// A running program that has reached the wait for the cluster.
fn at_the_wait(run: Running) -> anyhow::Result<Running> {
    wait_for("the second step", READING, || run.stderr().is_ok_and(|text| text.contains("Step 2 of 3")))?;
    Ok(run)
}

fn journal(cluster: &Cluster) -> String {
    cluster.path("journal").to_string_lossy().into_owned()
}

fn bringing(cluster: &Cluster, words: &[&str]) -> std::process::Command {
    let words = [&["--live", "-X", "--yes"], &OTHER[..], words].concat();
    // An earlier scenario may have left it.
    let _ = std::fs::remove_file(Path::new(&journal(cluster)));
    hplace(cluster, 1, &words)
}

fn bring(cluster: &Cluster, words: &[&str]) -> anyhow::Result<Output> {
    child::run(&mut bringing(cluster, words), RUN)
}

fn undo(cluster: &Cluster, words: &[&str]) -> anyhow::Result<Output> {
    let words = [&["--live", "-X", "--yes", "--undo"], words].concat();
    child::run(&mut hplace(cluster, 1, &words), RUN)?.expect(2)
}

fn resuming(cluster: &Cluster) -> std::process::Command {
    hplace(cluster, 1, &["--resume", &journal(cluster), "--yes"])
}

fn resume(cluster: &Cluster) -> anyhow::Result<Output> {
    child::run(&mut resuming(cluster), RUN)
}

fn is_at(cluster: &Cluster, goal: &Places) -> anyhow::Result<()> {
    let real = running(cluster)?;
    ensure!(real == *goal, "they run like this: {real:?}, not like this: {goal:?}");
    Ok(())
}
