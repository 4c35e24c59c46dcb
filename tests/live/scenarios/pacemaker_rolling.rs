//! hroller reboots the nodes of a real Pacemaker cluster, one after the other. It is killed in the middle and resumed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;
use rustix::process::Signal;

use super::failure::said;
use super::pacemaker::{of_suite, outcomes, running, settled};
use crate::child::{self, Running};
use crate::cluster::{Cluster, wait_for};
use crate::tools::READING;

/// Longest time for a whole run.
const RUN: Duration = Duration::from_secs(300);

/// Every node is rebooted once. The node of the program is left to a program on another node.
pub fn rebooted(cluster: &Cluster) -> anyhow::Result<()> {
    enlarge(cluster)?;
    cluster.add_promotable()?;
    settled(cluster)?;
    let before = running(cluster)?;
    let reboot = reboot_command(cluster)?;
    let run = |words: &[&str]| child::run(&mut hroller(cluster, 1, words), RUN);
    let plan = run(&["--print-moves"])?.good()?;
    let groups: Vec<&str> = plan.stdout.lines().filter(|line| line.starts_with("node")).collect();
    ensure!(groups.len() == 3 && groups[2] == "node1", "the groups are{}", plan.streams());
    said(
        &run(&["-X", "--yes", "--node-command", &reboot, "--mark=offline"])?.expect(1)?.stderr,
        &["--mark"],
    )?;

    let journal = cluster.path("journal").to_string_lossy().into_owned();
    let _ = fs::remove_file(&journal);
    // If it is killed just before the command starts, the resumed run repeats the command only after this time.
    let patience = "--boot-timeout=90s";
    let words = ["-X", "--yes", "--node-command", &reboot, patience, "--journal", &journal];
    let mut begun = hroller(cluster, 1, &words);
    let program = Running::start(&mut begun)?;
    wait_for("the first reboot", READING, || {
        fs::read_to_string(&journal).is_ok_and(|text| text.contains(r#""event":"beginning""#))
    })?;
    program.signal(Signal::KILL)?;
    program.wait(READING)?.expect(128 + 9)?;
    ensure!(standby(cluster)?.len() == 1, "these nodes are in standby: {:?}", standby(cluster)?);
    let resumed = run(&["--resume", &journal, "--yes"])?.expect(1)?;
    said(&resumed.stdout, &["2 nodes maintained, 1 left"])?;
    said(&resumed.stderr, &["node1: this program runs on it: resume the run on another node"])?;
    let last = child::run(&mut hroller(cluster, 2, &["--resume", &journal, "--yes"]), RUN)?.good()?;
    said(&last.stdout, &["3 nodes maintained"])?;
    let moves = outcomes(cluster, "node2")?;
    ensure!(moves.iter().any(|outcome| outcome == "done"), "the moves are {moves:?}");

    for node in ["node1", "node2", "node3"] {
        let reboots = fs::read_to_string(cluster.path(&format!("reboots.{node}")))?;
        ensure!(reboots.lines().count() == 1, "reboots of {node}: {reboots}");
    }
    ensure!(standby(cluster)?.is_empty(), "these nodes are in standby: {:?}", standby(cluster)?);
    settled(cluster)?;
    let after = running(cluster)?;
    ensure!(before.keys().eq(after.keys()), "before, {before:?} ran, and now {after:?}");
    let again = run(&["--resume", &journal, "--yes"])?.good()?;
    said(&again.stdout, &["3 nodes maintained"])
}

/// A command that fails leaves its node in standby. A resumed run tries it again.
pub fn refused(cluster: &Cluster) -> anyhow::Result<()> {
    enlarge(cluster)?;
    settled(cluster)?;
    let journal = cluster.path("journal").to_string_lossy().into_owned();
    let _ = fs::remove_file(&journal);
    let mark = cluster.path("mended");
    let _ = fs::remove_file(&mark);
    let command = format!("test -e {} #", mark.display());
    let only = "test {node} = node2";
    let words = [
        "-X",
        "--yes",
        "--no-reboot",
        "--only-when",
        only,
        "--node-command",
        &command,
        "--journal",
        &journal,
    ];
    let failed = child::run(&mut hroller(cluster, 1, &words), RUN)?.expect(1)?;
    said(&failed.stderr, &["node2 (still in standby): the command failed with exit status 1", "--resume"])?;
    ensure!(standby(cluster)? == ["node2"], "these nodes are in standby: {:?}", standby(cluster)?);
    fs::write(&mark, "")?;
    let resumed = child::run(&mut hroller(cluster, 3, &["--resume", &journal, "--yes"]), RUN)?.good()?;
    said(&resumed.stdout, &["1 node maintained"])?;
    ensure!(standby(cluster)?.is_empty(), "these nodes are in standby: {:?}", standby(cluster)?);
    Ok(())
}

fn hroller(cluster: &Cluster, node: usize, words: &[&str]) -> Command {
    of_suite(cluster, "hroller", node, &[&["--live"], words].concat())
}

/// Makes two of the nodes so large that each has room for all resources. With a stickiness, Pacemaker does not move
/// resources back and forth between equal nodes.
fn enlarge(cluster: &Cluster) -> anyhow::Result<()> {
    let sticky =
        ["node1", "crm_attribute", "--type=rsc_defaults", "--name=resource-stickiness", "--update=1"];
    cluster.exec(&sticky)?.good()?;
    for node in ["node1", "node2"] {
        for (name, amount) in [("--name=cpu", "--update=8"), ("--name=memory", "--update=8192")] {
            let node = format!("--node={node}");
            cluster.exec(&["node1", "crm_attribute", "--utilization", &node, name, amount])?.good()?;
        }
    }
    Ok(())
}

/// A command that switches the power of a node off and on, and counts that.
fn reboot_command(cluster: &Cluster) -> anyhow::Result<String> {
    let (file, power) = (cluster.path("reboot"), cluster.path("power"));
    let (power, counts) = (power.display(), cluster.path("reboots"));
    let counts = counts.display();
    let script =
        format!("#!/bin/sh\necho reboot >>{counts}.$1\necho off >{power}/$1\nsleep 3\necho on >{power}/$1\n");
    fs::write(&file, script)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    for node in ["node1", "node2", "node3"] {
        let _ = fs::remove_file(cluster.path(&format!("reboots.{node}")));
    }
    Ok(file.to_string_lossy().into_owned())
}

/// The nodes in standby.
fn standby(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let output = cluster.exec(&["node1", "crm_mon", "-1", "--as-xml"])?.good()?;
    let document = roxmltree::Document::parse(&output.stdout)?;
    let nodes = document.descendants().filter(|node| node.has_tag_name("node"));
    let standby = nodes.filter(|node| node.attribute("standby") == Some("true"));
    Ok(standby.filter_map(|node| node.attribute("name").map(str::to_owned)).collect())
}
