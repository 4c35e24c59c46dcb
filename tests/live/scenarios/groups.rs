//! Two node groups: hgroup moves instances between them, and hbal balances both.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::hbal::WHOLE;
use super::placement::{Placement, placements};
use crate::child::{self, Output};
use crate::cluster::Cluster;
use crate::tools;

/// Moves the last two of four nodes to a group of their own.
fn split(cluster: &Cluster) -> anyhow::Result<()> {
    separate(cluster, ["node3.vc.test", "node4.vc.test"])
}

/// Moves two of four nodes to a group of their own.
fn separate(cluster: &Cluster, nodes: [&str; 2]) -> anyhow::Result<()> {
    cluster.exec(&["gnt-group", "add", "second"])?.good()?;
    cluster.exec(&[&["gnt-group", "assign-nodes", "--force", "second"], &nodes[..]].concat())?.good()?;
    Ok(())
}

fn hgroup(source: &str, words: &[&str]) -> anyhow::Result<Output> {
    run("hgroup", source, words)
}

fn run(tool: &str, source: &str, words: &[&str]) -> anyhow::Result<Output> {
    let state = tempfile::tempdir()?;
    let mut command: Command = tools::ours(tool);
    command.args(words).arg(source).env("XDG_STATE_HOME", state.path());
    child::run(&mut command, WHOLE)
}

/// Executes a plan, and checks that every instance runs where the plan put it.
fn carried_out(cluster: &Cluster, source: &str, words: &[&str]) -> anyhow::Result<()> {
    let output = hgroup(source, &[words, &["-X", "--yes", "--json"]].concat())?.good()?;
    let document: Value = serde_json::from_str(&output.stdout).context("not a document")?;
    let moves = document["moves"].as_array().context("no moves")?;
    ensure!(!moves.is_empty(), "nothing to move{}", output.streams());
    arrived(cluster, moves)
}

/// Checks that every instance runs where these moves lead.
fn arrived(cluster: &Cluster, moves: &[Value]) -> anyhow::Result<()> {
    let mut wanted = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for step in moves {
        wanted
            .insert(text(&step["instance"]), (text(&step["to"]["primary"]), text(&step["to"]["secondary"])));
    }
    let there: BTreeMap<String, Placement> = placements(cluster)?;
    for (name, (primary, secondary)) in wanted {
        let found = there.get(&name).with_context(|| format!("no instance {name}"))?;
        let as_planned = found.primary == primary && found.secondary == secondary;
        ensure!(as_planned && found.status == "running", "{name}: {found:?}, not {primary}:{secondary}");
    }
    Ok(())
}

/// Instances move from the full group to the empty one, DRBD instances leg by leg.
pub fn balance(cluster: &Cluster) -> anyhow::Result<()> {
    split(cluster)?;
    let source = format!("--luxi={}", cluster.socket());
    carried_out(cluster, &source, &["balance", "--no-capacity-checks", "-l", "2"])
}

/// The same over the remote API and on shared storage, until there is nothing left to do.
pub fn balance_over_rapi(cluster: &Cluster) -> anyhow::Result<()> {
    split(cluster)?;
    let source = format!("--master={}", cluster.login_url());
    carried_out(cluster, &source, &["balance", "--no-capacity-checks"])?;
    // If there were moves to make, the status would be 3.
    hgroup(&source, &["balance", "--no-capacity-checks", "--detailed-status"])?.good()?;
    Ok(())
}

/// A node is lost. Its instances go to the other group, and the group is healthy.
pub fn redistribute(cluster: &Cluster) -> anyhow::Result<()> {
    split(cluster)?;
    cluster.power("node2", "off")?;
    cluster
        .exec(&["gnt-node", "modify", "-f", "--auto-promote", "--offline=yes", "node2.vc.test"])?
        .good()?;
    let source = format!("--luxi={}", cluster.socket());
    hgroup(&source, &["redistribute", "--no-capacity-checks"])?.good()?;
    carried_out(cluster, &source, &["redistribute", "--no-capacity-checks"])?;
    let status = hgroup(&source, &["status", "--json"])?.good()?;
    let document: Value = serde_json::from_str(&status.stdout).context("not a document")?;
    let groups = document["groups"].as_array().context("no groups")?;
    ensure!(groups.len() == 2, "{document}");
    // A single node cannot be emptied, but that was not requested.
    let well = |group: &Value| group["stranded"] == json!([]) && group["n1_failing"] == json!([]);
    ensure!(groups.iter().all(well), "not healed: {document}");
    Ok(())
}

/// Each group has a full node and an empty one; hbal balances both in one run.
pub fn all_groups(cluster: &Cluster) -> anyhow::Result<()> {
    separate(cluster, ["node2.vc.test", "node4.vc.test"])?;
    let source = format!("--luxi={}", cluster.socket());
    let output = run("hbal", &source, &["--all-groups", "-X", "--yes", "--json"])?.good()?;
    let document: Value = serde_json::from_str(&output.stdout).context("not a document")?;
    let groups = document["groups"].as_array().context("no groups")?;
    let improved = groups.iter().filter(|group| group["ending"] == "improved").count();
    ensure!(improved == 2, "{improved} groups improved: {document}");
    arrived(cluster, document["steps"].as_array().context("no steps")?)?;
    let again = run("hbal", &source, &["--all-groups"])?.good()?;
    ensure!(again.stdout.ends_with("\nNo node group can be improved.\n"), "{}", again.streams());
    Ok(())
}
