//! Losses of members: the places after crm_simulate's `--node-fail`, compared with `hplace survive`. Guest nodes and
//! containers are lost with their hosts.
//!
//! Both begin with the same document, of a cluster that crm_simulate has brought to rest. Three things are left out, as
//! they come from the simulation alone:
//!
//! * crm_simulate keeps the histories of a node that is not fenced, and of guest nodes that were lost with their hosts. A
//!   place there counts only if the resource was started there after the loss.
//! * Nodes that shut down never leave in a simulation. The attributes that say so are renamed.
//! * Some answers depend on crm_simulate's memory, before or after the loss. hplace tells which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::simulator::{Loss, Simulator};
use super::{Verdict, depends_on_order, ours};

/// Most transitions until a cluster is at rest.
const ROUNDS: usize = 6;

/// The hosts of each primitive outside of clones.
type Places = BTreeMap<String, Vec<String>>;

/// A CIB in which no node shuts down.
pub(super) fn without_shutdowns(xml: &str) -> String {
    xml.replace(r#" name="shutdown""#, r#" name="no-shutdown""#)
}

/// Compares the loss of each member of a cluster that crm_simulate has brought to rest. Clones are left out, as their
/// instances are interchangeable.
pub(super) fn compare(simulator: &Simulator, file: &Path) -> io::Result<Verdict> {
    let path = |extension: &str| file.with_extension(extension);
    let scratch = Scratch([path("rest.xml"), path("lost.xml"), path("loss.xml")]);
    let Scratch([rest, lost, input]) = &scratch;
    fs::copy(file, rest)?;
    let mut before = Places::new();
    for round in 0.. {
        if simulator.carry_out(rest, lost, None)?.is_none() {
            return Ok(Verdict::Aborted);
        }
        fs::rename(lost, rest)?;
        let Some(now) = read(simulator, rest, &[])? else { return Ok(Verdict::Refused) };
        if depends_on_order(&now) {
            return Ok(Verdict::OrderDependent);
        }
        let now = places(&now);
        if std::mem::replace(&mut before, now.clone()) == now {
            break;
        }
        if round == ROUNDS {
            return Ok(Verdict::Refused);
        }
    }
    let (Some(document), Some(at_rest)) = (read(simulator, rest, &["survive"])?, read(simulator, rest, &[])?)
    else {
        return Ok(Verdict::Refused);
    };
    let mut actions = 0;
    for loss in document["losses"].as_array().into_iter().flatten() {
        let node = loss["nodes"][0].as_str().unwrap_or_default();
        // The cluster notices the loss of a remote node by its connection.
        if before.contains_key(node) {
            continue;
        }
        let Some(told) = simulator.carry_out(rest, lost, Some(Loss { node, input }))? else { continue };
        if read(simulator, input, &[])?.is_some_and(|document| depends_on_order(&document)) {
            return Ok(Verdict::OrderDependent);
        }
        let Some(after) = read(simulator, lost, &[])?.map(|document| places(&document)) else { continue };
        let (started, over) = (started(&told), lost_with(&at_rest, &before, node));
        for (resource, hosts) in before.iter().filter(|(_, hosts)| hosts.len() == 1) {
            let expected =
                place_after(loss, resource, Some(&hosts[0]).filter(|host| !over.contains(host.as_str())));
            let counts = |host: &&String| {
                !over.contains(host.as_str()) || started.contains(&(resource.as_str(), host.as_str()))
            };
            let found = after.get(resource).and_then(|hosts| hosts.iter().find(counts)).map(String::as_str);
            if expected != found {
                return Ok(Verdict::Different(format!(
                    "  without {node}, {resource} is on {} by crm_simulate, on {} by hplace",
                    found.unwrap_or("no node"),
                    expected.unwrap_or("no node")
                )));
            }
            actions += 1;
        }
    }
    Ok(Verdict::Same { actions, pairs: 0 })
}

/// Files that are removed in the end.
struct Scratch([PathBuf; 3]);

impl Drop for Scratch {
    fn drop(&mut self) {
        for file in &self.0 {
            // It need not exist.
            let _ = fs::remove_file(file);
        }
    }
}

/// The answer of hplace about a document; `None` if hplace refuses it.
fn read(simulator: &Simulator, file: &Path, words: &[&str]) -> io::Result<Option<Value>> {
    let answer = ours(simulator, file, &[words, &["--json"]].concat())?;
    Ok(serde_json::from_slice(&answer.stdout).ok())
}

/// The host of a resource after a loss, according to hplace, if it ran on a host that is left or on none.
fn place_after<'a>(loss: &'a Value, resource: &str, before: Option<&'a String>) -> Option<&'a str> {
    let mut down = loss["down"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
    if down.any(|name| name == resource) {
        return None;
    }
    loss["targets"][resource].as_str().or(before.map(String::as_str))
}

/// A lost node, and the guest nodes and containers that ran on it.
fn lost_with<'a>(at_rest: &'a Value, before: &Places, node: &'a str) -> BTreeSet<&'a str> {
    let nodes = at_rest["nodes"].as_array().into_iter().flatten();
    let runs_there =
        |machine: &str| before.get(machine).is_some_and(|hosts| hosts.iter().any(|host| host == node));
    let guests = nodes.filter(|guest| guest["machine"].as_str().is_some_and(runs_there));
    guests.filter_map(|guest| guest["name"].as_str()).chain([node]).collect()
}

/// Resources that crm_simulate started or brought by a live migration, each with its host.
fn started(told: &str) -> BTreeSet<(&str, &str)> {
    let started = told.lines().filter_map(|line| {
        let words: Vec<&str> =
            line.trim_start().strip_prefix("* Resource action: ")?.split_whitespace().collect();
        match words[..] {
            [resource, "start" | "migrate_from", "on", host] => Some((resource, host)),
            _ => None,
        }
    });
    started.collect()
}

/// The present places in a document. Those on guest nodes that are down do not count: crm_simulate keeps their histories.
fn places(document: &Value) -> Places {
    let nodes = document["nodes"].as_array().into_iter().flatten();
    let is_down = |node: &&Value| node["available"] == false && !node["machine"].is_null();
    let down: Vec<&Value> = nodes.filter(is_down).map(|node| &node["name"]).collect();
    let mut places = Places::new();
    for resource in document["resources"].as_array().into_iter().flatten() {
        let id = resource["id"].as_str().unwrap_or_default();
        if is_instance(id) {
            continue;
        }
        let also = resource["also_on"].as_array().into_iter().flatten();
        let all = [&resource["was"]].into_iter().chain(also).filter_map(Value::as_str);
        let mut hosts: Vec<String> =
            all.filter(|was| !down.iter().any(|node| *node == was)).map(str::to_owned).collect();
        hosts.sort();
        places.insert(id.to_owned(), hosts);
    }
    places
}

/// Tells if a name is that of an instance.
fn is_instance(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()))
}
