//! hplace on a real Pacemaker cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::child::{self, Output};
use crate::cluster::{Cluster, PROGRAM, wait_for};
use crate::system::System;
use crate::tools::{READING, are_installed, program};

/// Node of each running resource, by id.
pub type Places = BTreeMap<String, String>;

/// The cluster does what hplace predicts.
pub fn placed_as_said(cluster: &Cluster) -> anyhow::Result<()> {
    let said = said_of(cluster, &[])?;
    let real = running(cluster)?;
    ensure!(said == real, "hplace says {said:?}, and it is {real:?}");
    ensure!(!real.contains_key("rsc-large"), "the largest has found room: {real:?}");
    Ok(())
}

/// A node is lost, and the consequences are those that hplace predicted.
pub fn survives_as_said(cluster: &Cluster) -> anyhow::Result<()> {
    let before = running(cluster)?;
    let output = child::run(&mut hplace(cluster, 1, &["survive", "--live", "--json"]), READING)?.expect(2)?;
    let document: Value = serde_json::from_str(&output.stdout)?;
    let losses = document["losses"].as_array().context("losses")?;
    let is_node2 = |loss: &&Value| loss["nodes"] == serde_json::json!(["node2"]);
    let loss = losses.iter().find(is_node2).context("the loss of node2")?;
    let ids = |kind: &str| -> BTreeSet<String> {
        let listed = loss[kind].as_array().into_iter().flatten();
        listed.map(|one| text(if kind == "down" { &one["id"] } else { one })).collect()
    };
    let leaves: BTreeSet<String> = &ids("restarted") | &ids("moved");
    cluster.power("node2", "off")?;
    let as_said = |now: &Places| {
        let (down, left): (BTreeSet<_>, BTreeSet<_>) =
            before.keys().cloned().partition(|id| !now.contains_key(id));
        let moved = left.into_iter().filter(|id| now[id] != before[id]).collect();
        down == ids("down") && leaves == moved
    };
    let mut real = Places::new();
    wait_for("what was said of the loss", Duration::from_secs(120), || {
        real = running(cluster).unwrap_or_default();
        as_said(&real)
    })
    .with_context(|| format!("hplace says {loss}, and it is {real:?}"))?;
    // The state must be stable.
    settled(cluster)?;
    let real = running(cluster)?;
    ensure!(as_said(&real), "hplace says {loss}, and it is {real:?} in the end");
    Ok(())
}

/// Waits until the cluster has nothing to do.
pub fn settled(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.exec(&["node1", "crm_resource", "--wait", "--timeout", "30"])?.good()?;
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// hplace on a node.
pub fn hplace(cluster: &Cluster, node: usize, words: &[&str]) -> Command {
    of_suite(cluster, "hplace", node, words)
}

/// A tool on a node.
pub fn of_suite(cluster: &Cluster, tool: &str, node: usize, words: &[&str]) -> Command {
    let node = format!("node{node}");
    let variable = format!("HTOOLS={tool}");
    let mut command = match cluster.system() {
        System::Own if are_installed() => cluster.command(&[&node, tool]),
        System::Own => cluster.command(&[&node, &variable, &program().to_string_lossy()]),
        System::Debian13 => cluster.command(&[&node, &variable, &cluster.path(PROGRAM).to_string_lossy()]),
    };
    command.args(words);
    command
}

/// Outcomes of the moves of the last run in the history of a node.
pub fn outcomes(cluster: &Cluster, node: &str) -> anyhow::Result<Vec<String>> {
    let history = cluster.exec(&[node, "cat", "/run/.local/state/htools/history.jsonl"])?.good()?.stdout;
    let last: Value = serde_json::from_str(history.lines().last().context("the history is empty")?)?;
    let outcomes = last["outcomes"].as_array().with_context(|| format!("the last line is {last}"))?;
    Ok(outcomes.iter().map(text).collect())
}

/// Final places predicted by hplace, with these additional words.
pub fn said_of(cluster: &Cluster, words: &[&str]) -> anyhow::Result<Places> {
    let Output { stdout, .. } = child::run(hplace(cluster, 1, &["--live", "--json"]).args(words), READING)?;
    let document: Value = serde_json::from_str(&stdout)?;
    let resources = document["resources"].as_array().context("resources")?;
    let placed = resources.iter().filter(|resource| resource["node"].is_string());
    Ok(placed.map(|resource| (text(&resource["id"]), text(&resource["node"]))).collect())
}

/// Places of the resources, according to Pacemaker.
pub fn running(cluster: &Cluster) -> anyhow::Result<Places> {
    let output = cluster.exec(&["node1", "crm_mon", "-1", "--as-xml"])?.good()?;
    let document = roxmltree::Document::parse(&output.stdout)?;
    let mut places = Places::new();
    for resource in document.descendants().filter(|node| node.has_tag_name("resource")) {
        let node = resource.children().find_map(|node| node.attribute("name"));
        if let (Some(id), Some(node)) = (resource.attribute("id"), node) {
            places.insert(id.to_owned(), node.to_owned());
        }
    }
    Ok(places)
}
