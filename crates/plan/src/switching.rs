//! The work of powering nodes down or up: the steps, with the checks and the moves in their places.
//!
//! A node that is powered down is drained first, so that no new instances arrive while its own leave. It gets its tags
//! before it goes offline. A node that is powered up must answer before it is set online.

use std::collections::HashMap;

use super::checker::CheckOptions;
use super::jobset::jobsets;
use super::names::Impossible;
use super::opcode::Opcode;
pub use super::opcode::PowerCommand;
use super::work::{Builder, Task, Work};
use htools_model::standby::{switched_tag, switched_tags, tags_added, tags_outdated, tags_removed};
use htools_model::{Cluster, GroupIdx, NodeIdx, Step};

/// The switch of the power: a program or the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Ganeti, through its out-of-band helpers.
    Ganeti,
    /// This program, by a command.
    Command,
}

impl Switch {
    fn opcodes(self, node: &str, command: PowerCommand) -> Vec<Opcode> {
        match self {
            Switch::Ganeti => vec![Opcode::power(node, command)],
            Switch::Command => Vec::new(),
        }
    }
}

/// Nodes of one group that are switched, with the moves before or after that.
#[derive(Debug, Clone, Copy)]
pub struct Switching<'p> {
    /// The group.
    pub group: GroupIdx,
    /// The cluster before.
    pub cluster: &'p Cluster,
    /// Power on or off.
    pub power: PowerCommand,
    /// The nodes, in the order in which they are switched.
    pub nodes: &'p [NodeIdx],
    /// The moves: before the nodes lose power, or once they have it.
    pub steps: &'p [Step],
}

/// The steps that free the nodes of a plan and power them down. `now` is in seconds since 1970, for the tag that
/// records it.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn power_down(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    steps: &[Step],
    switch: Switch,
    now: u64,
) -> Result<Work, Impossible> {
    let mut work = Builder::default();
    down(&mut work, cluster, (nodes, steps), switch, now);
    work.finish()
}

fn down(
    work: &mut Builder,
    cluster: &Cluster,
    (nodes, steps): (&[NodeIdx], &[Step]),
    switch: Switch,
    now: u64,
) {
    let named = || names(cluster, nodes);
    work.nodes(&Task::Drain, named(), |node| vec![Opcode::set_drained(node, true)]);
    work.moves(cluster, steps, &jobsets(cluster, steps), CheckOptions::default());
    work.nodes(&Task::ConfirmEmpty, named(), |_| Vec::new());
    let old = |node| tags_outdated(cluster, node).into_iter().chain(switched_tags(cluster, node)).collect();
    change_tags(work, &Task::Untag, cluster, nodes, old);
    let new = |node| tags_added(cluster, node).into_iter().chain([switched_tag(now)]).collect();
    change_tags(work, &Task::Tag, cluster, nodes, new);
    work.nodes(&Task::SetOffline, named(), |node| vec![Opcode::set_offline(node, true)]);
    // Nodes are switched one by one, each after a check that it is empty.
    for node in named() {
        work.nodes(&Task::PowerOff, [node], |node| switch.opcodes(node, PowerCommand::PowerOff));
    }
}

/// The steps that power the nodes of a plan up and set them online. Moves are not included: they are planned once the
/// real sizes of the nodes are known.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn power_up(cluster: &Cluster, nodes: &[NodeIdx], switch: Switch, now: u64) -> Result<Work, Impossible> {
    let mut work = Builder::default();
    up(&mut work, cluster, nodes, switch, now);
    work.finish()
}

fn up(work: &mut Builder, cluster: &Cluster, nodes: &[NodeIdx], switch: Switch, now: u64) {
    let named = || names(cluster, nodes);
    // One by one, so that not all machines draw their starting current at once.
    for node in named() {
        work.nodes(&Task::PowerOn, [node], |node| switch.opcodes(node, PowerCommand::PowerOn));
    }
    work.nodes(&Task::Await, named(), |_| Vec::new());
    work.nodes(&Task::SetOnline, named(), |node| vec![Opcode::set_offline(node, false)]);
    change_tags(work, &Task::Untag, cluster, nodes, |node| tags_removed(cluster, node));
    change_tags(work, &Task::Tag, cluster, nodes, |_| vec![switched_tag(now)]);
}

/// All steps of the plans of a group, one plan after another. The moves to nodes that are powered up assume that the
/// nodes have their expected sizes.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn whole(plans: &[Switching<'_>], switch: Switch, now: u64) -> Result<Work, Impossible> {
    let mut work = Builder::default();
    for plan in plans {
        work.barrier();
        let Switching { cluster, nodes, steps, .. } = *plan;
        if plan.power == PowerCommand::PowerOff {
            down(&mut work, cluster, (nodes, steps), switch, now);
            continue;
        }
        up(&mut work, cluster, nodes, switch, now);
        let mut ready = cluster.clone();
        nodes.iter().for_each(|node| ready.nodes[node.get()].spec.offline = false);
        work.moves(&ready, steps, &jobsets(&ready, steps), CheckOptions::default());
    }
    work.finish()
}

/// The moves of a plan alone.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn moves(cluster: &Cluster, steps: &[Step]) -> Result<Work, Impossible> {
    Work::of(cluster, steps, &jobsets(cluster, steps), CheckOptions::default())
}

fn names(cluster: &Cluster, nodes: &[NodeIdx]) -> Vec<String> {
    nodes.iter().map(|node| cluster.node(*node).spec.name.clone()).collect()
}

/// One jobset that adds or removes the tags of the nodes that have any.
fn change_tags(
    work: &mut Builder,
    task: &Task,
    cluster: &Cluster,
    nodes: &[NodeIdx],
    tags: impl Fn(NodeIdx) -> Vec<String>,
) {
    let named = nodes.iter().map(|node| (cluster.node(*node).spec.name.clone(), tags(*node)));
    let tags: HashMap<String, Vec<String>> = named.filter(|(_, tags)| !tags.is_empty()).collect();
    let nodes = names(cluster, nodes).into_iter().filter(|node| tags.contains_key(node));
    let opcode = if *task == Task::Tag { Opcode::tag_node } else { Opcode::untag_node };
    work.nodes(task, nodes, |node| vec![opcode(node, tags[node].clone())]);
}
