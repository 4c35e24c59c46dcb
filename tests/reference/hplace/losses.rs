//! Losses of members: the places after crm_simulate's `--node-fail`, compared with `hplace survive`. Guest nodes and
//! containers are lost with their hosts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::simulator::Simulator;
use super::{Verdict, ours};

/// Most transitions until a cluster is at rest.
const ROUNDS: usize = 6;

/// The hosts of each primitive, without the numbers of instances.
type Places = BTreeMap<String, Vec<String>>;

/// Compares the loss of each member of a cluster that crm_simulate has brought to rest. Clones are left out, as their
/// instances are interchangeable.
pub(super) fn compare(simulator: &Simulator, file: &Path) -> io::Result<Verdict> {
    let answer = ours(simulator, file, &["survive", "--json"])?;
    let Ok(document) = serde_json::from_slice::<Value>(&answer.stdout) else { return Ok(Verdict::Refused) };
    let scratch = Scratch(file.with_extension("rest.xml"), file.with_extension("lost.xml"));
    let Scratch(rest, lost) = &scratch;
    fs::copy(file, rest)?;
    let mut before = Places::new();
    for round in 0.. {
        if !simulator.carry_out(rest, lost, None)? {
            return Ok(Verdict::Aborted);
        }
        fs::rename(lost, rest)?;
        let Some(now) = places(simulator, rest)? else { return Ok(Verdict::Refused) };
        if std::mem::replace(&mut before, now.clone()) == now {
            break;
        }
        if round == ROUNDS {
            return Ok(Verdict::Refused);
        }
    }
    let mut actions = 0;
    for loss in document["losses"].as_array().into_iter().flatten() {
        let node = loss["nodes"][0].as_str().unwrap_or_default();
        // The cluster notices the loss of a remote node by its connection.
        let is_remote = before.contains_key(node);
        if is_remote || !simulator.carry_out(rest, lost, Some(node))? {
            continue;
        }
        let Some(after) = places(simulator, lost)? else { continue };
        for (resource, hosts) in before.iter().filter(|(_, hosts)| hosts.len() == 1) {
            let expected = place_after(loss, resource, &hosts[0]);
            let found = after.get(resource).and_then(|hosts| hosts.first()).map(String::as_str);
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
struct Scratch(PathBuf, PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // They need not exist.
        let _ = (fs::remove_file(&self.0), fs::remove_file(&self.1));
    }
}

/// The host of a resource after a loss, according to hplace.
fn place_after<'a>(loss: &'a Value, resource: &str, before: &'a str) -> Option<&'a str> {
    let is_it = |name: &str| base(name) == resource;
    let mut down = loss["down"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
    if down.any(is_it) {
        return None;
    }
    let targets = loss["targets"].as_object().into_iter().flatten();
    let target = targets.filter(|(name, _)| is_it(name)).find_map(|(_, host)| host.as_str());
    let is_lost = loss["nodes"][0] == before;
    target.or((!is_lost).then_some(before))
}

/// The present places in a document. Those on guest nodes that are down do not count: crm_simulate keeps their histories.
fn places(simulator: &Simulator, file: &Path) -> io::Result<Option<Places>> {
    let answer = ours(simulator, file, &["--json"])?;
    let Ok(document) = serde_json::from_slice::<Value>(&answer.stdout) else { return Ok(None) };
    let nodes = document["nodes"].as_array().into_iter().flatten();
    let is_down = |node: &&Value| node["available"] == false && !node["machine"].is_null();
    let down: Vec<&Value> = nodes.filter(is_down).map(|node| &node["name"]).collect();
    let mut places = Places::new();
    for resource in document["resources"].as_array().into_iter().flatten() {
        let hosts = places.entry(base(resource["id"].as_str().unwrap_or_default()).to_owned()).or_default();
        hosts.extend(
            resource["was"].as_str().filter(|was| !down.iter().any(|node| *node == was)).map(str::to_owned),
        );
        hosts.sort();
    }
    Ok(Some(places))
}

/// The name of a primitive without the number of an instance.
fn base(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((base, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}
