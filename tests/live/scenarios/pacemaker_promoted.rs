//! hplace on a real Pacemaker cluster with a promotable resource, and an address that follows the promoted role.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::failure::said;
use super::pacemaker::{hplace, settled};
use crate::child::{self, Output};
use crate::cluster::{Cluster, wait_for};
use crate::tools::READING;

/// Longest time for a whole run, or for the cluster to follow.
const RUN: Duration = Duration::from_secs(120);

/// The resource that stands for the address.
const ADDRESS: &str = "address";

/// Places of the primitives outside of clones, and roles of the clone's instances by node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    places: BTreeMap<String, String>,
    roles: BTreeMap<String, String>,
}

impl State {
    /// The node with the promoted instance.
    fn promoted(&self) -> Option<&str> {
        let mut promoted = self.roles.iter().filter(|(_, role)| *role == "Promoted");
        promoted.next().map(|(node, _)| node.as_str())
    }

    /// The node of the address.
    fn address(&self) -> Option<&str> {
        self.places.get(ADDRESS).map(String::as_str)
    }
}

/// The promoted node is emptied and brought back. Then the role prefers a node without room for the address: the best
/// placement moves the promotion, and the change is taken back. In the end, the promoted node is lost.
pub fn changed_and_survived(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.add_promotable()?;
    is_at_rest_with_role_on(cluster, "node1")?;
    evacuated(cluster)?;
    moved(cluster)?;
    survived(cluster)
}

/// The promoted role and the address leave the node that is emptied, and stay elsewhere when it is brought back.
fn evacuated(cluster: &Cluster) -> anyhow::Result<()> {
    let evacuation = ["evacuate", "--live", "node1"];
    let goal = said_state(cluster, &evacuation)?;
    ensure!(goal.promoted().is_some_and(|node| node != "node1"), "{goal:?}");
    ensure!(goal.address() == goal.promoted() && !goal.roles.contains_key("node1"), "{goal:?}");
    let output = change(cluster, &evacuation)?.expect(2)?;
    said(&output.stdout, &["demote, stop", "promote"])?;
    is_at(cluster, &goal)?;
    let return_of_node = ["evacuate", "--live", "--undo", "node1"];
    let goal_after = said_state(cluster, &return_of_node)?;
    change(cluster, &return_of_node)?.expect(2)?;
    is_at(cluster, &goal_after)?;
    ensure!(goal_after.promoted() == goal.promoted() && goal_after.roles.len() == 3, "{goal_after:?}");
    Ok(())
}

/// The role prefers node3, where the address has no room. The best placement moves the role by one constraint.
fn moved(cluster: &Cluster) -> anyhow::Result<()> {
    let size = ["crm_resource", "-r", ADDRESS, "--utilization"];
    let on_node1 = |words: &[&str]| -> anyhow::Result<()> {
        cluster.exec(&[&["node1"], words].concat())?.good()?;
        settled(cluster)
    };
    let preference =
        r#"<rsc_location id="state-elsewhere" rsc="state-clone" role="Promoted" node="node3" score="100"/>"#;
    let constraint = |action| on_node1(&["cibadmin", action, "-o", "constraints", "--xml-text", preference]);
    on_node1(&[&size[..], &["--set-parameter", "memory", "-v", "256"]].concat())?;
    constraint("--create")?;
    let stranded = real_state(cluster, 1)?;
    ensure!(stranded.promoted() == Some("node3") && stranded.address().is_none(), "{stranded:?}");
    is_as_said(cluster, &stranded)?;
    let words = ["optimal", "--live"];
    let goal = said_state(cluster, &words)?;
    ensure!(goal.promoted() != Some("node3") && goal.address() == goal.promoted(), "{goal:?}");
    let output = change(cluster, &words)?.expect(2)?;
    said(&output.stdout, &["hplace-state-clone-promoted: state-clone promoted on "])?;
    is_at(cluster, &goal)?;
    change(cluster, &["--live", "--undo"])?.expect(2)?;
    is_at(cluster, &stranded)?;
    constraint("--delete")?;
    on_node1(&[&size[..], &["--delete-parameter", "memory"]].concat())?;
    is_at_rest_with_role_on(cluster, "node3")
}

/// For the loss of each node, `survive` names the new nodes of the promoted role and the address. The promoted node is
/// lost, and the cluster does that.
fn survived(cluster: &Cluster) -> anyhow::Result<()> {
    let document = json_of(cluster, &["survive", "--live", "--json"])?;
    let loss = |node: &str| -> anyhow::Result<&Value> {
        let losses = document["losses"].as_array().context("losses")?;
        let is_it = |loss: &&Value| loss["nodes"] == serde_json::json!([node]);
        losses.iter().find(is_it).with_context(|| format!("the loss of {node}"))
    };
    for node in ["node1", "node2"] {
        let loss = loss(node)?;
        ensure!(loss["promoted"].is_null() && loss["targets"][ADDRESS].is_null(), "{loss}");
    }
    let loss = loss("node3")?;
    let goal = after_loss(&real_state(cluster, 1)?, "node3", loss)?;
    ensure!(goal.address().is_some() && goal.address() == goal.promoted(), "{loss}");
    cluster.power("node3", "off")?;
    let mut real = State::default();
    wait_for("what was said of the loss", RUN, || {
        real = real_state(cluster, 1).unwrap_or_default();
        real == goal
    })
    .with_context(|| format!("hplace says {loss}, and it is {real:?}"))?;
    // The state must be stable.
    settled(cluster)?;
    let real = real_state(cluster, 1)?;
    ensure!(real == goal, "hplace says {loss}, and it is {real:?} in the end");
    Ok(())
}

/// The state after a loss, as `survive` tells it.
fn after_loss(start: &State, node: &str, loss: &Value) -> anyhow::Result<State> {
    let mut goal = start.clone();
    goal.roles.remove(node);
    for promoted in loss["promoted"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let target = loss["targets"][promoted].as_str().context("the node of a promoted instance")?;
        goal.roles.insert(target.to_owned(), "Promoted".to_owned());
    }
    for down in loss["down"].as_array().into_iter().flatten() {
        goal.places.remove(&text(&down["id"]));
    }
    for (id, target) in loss["targets"].as_object().into_iter().flatten() {
        if let Some(place) = goal.places.get_mut(id) {
            *place = text(target);
        }
    }
    Ok(goal)
}

/// Carries out the change of a command.
fn change(cluster: &Cluster, words: &[&str]) -> anyhow::Result<Output> {
    child::run(hplace(cluster, 1, words).args(["-X", "--yes"]), RUN)
}

/// The document that a command prints.
fn json_of(cluster: &Cluster, words: &[&str]) -> anyhow::Result<Value> {
    let output = child::run(&mut hplace(cluster, 1, words), READING)?;
    serde_json::from_str(&output.stdout).with_context(|| output.streams())
}

/// The state that hplace predicts.
fn said_state(cluster: &Cluster, words: &[&str]) -> anyhow::Result<State> {
    let document = json_of(cluster, &[words, &["--json"]].concat())?;
    let mut state = State::default();
    for resource in document["resources"].as_array().context("resources")? {
        let Some(node) = resource["node"].as_str() else { continue };
        match resource["role"].as_str() {
            Some(role) => state.roles.insert(node.to_owned(), role.to_owned()),
            None => state.places.insert(text(&resource["id"]), node.to_owned()),
        };
    }
    Ok(state)
}

/// The state of the cluster, as Pacemaker shows it on a node.
fn real_state(cluster: &Cluster, node: usize) -> anyhow::Result<State> {
    let output = cluster.exec(&[&format!("node{node}"), "crm_mon", "-1", "--as-xml"])?.good()?;
    let document = roxmltree::Document::parse(&output.stdout)?;
    let mut state = State::default();
    for resource in document.descendants().filter(|node| node.has_tag_name("resource")) {
        let place = resource.children().find_map(|node| node.attribute("name"));
        let (Some(id), Some(node)) = (resource.attribute("id"), place) else { continue };
        match resource.attribute("role") {
            Some(role @ ("Promoted" | "Unpromoted")) => state.roles.insert(node.to_owned(), role.to_owned()),
            _ => state.places.insert(id.to_owned(), node.to_owned()),
        };
    }
    Ok(state)
}

/// Checks that the role and the address are on a node, and that hplace predicts no change.
fn is_at_rest_with_role_on(cluster: &Cluster, node: &str) -> anyhow::Result<()> {
    let real = real_state(cluster, 1)?;
    ensure!(real.promoted() == Some(node) && real.address() == Some(node), "{real:?}");
    is_as_said(cluster, &real)
}

/// Checks that hplace predicts no change.
fn is_as_said(cluster: &Cluster, real: &State) -> anyhow::Result<()> {
    let said = said_state(cluster, &["--live"])?;
    ensure!(said == *real, "hplace says {said:?}, and it is {real:?}");
    Ok(())
}

fn is_at(cluster: &Cluster, goal: &State) -> anyhow::Result<()> {
    let real = real_state(cluster, 1)?;
    ensure!(real == *goal, "it is {real:?}, not {goal:?}");
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
