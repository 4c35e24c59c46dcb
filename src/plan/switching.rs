//! The work of powering nodes down or up: the steps, with the checks and the moves in
//! their places.
//!
//! A node that goes is drained first, so that nothing new comes while its instances
//! leave, and gets its tags before it goes out of use. A node that comes gets power,
//! must answer, and is in use only then.

use std::collections::HashMap;

use super::checker::CheckOptions;
use super::jobset::jobsets;
use super::names::Impossible;
use super::opcode::Opcode;
pub use super::opcode::PowerCommand;
use super::work::{Builder, Task, Work};
use crate::model::standby::{switched_tag, switched_tags, tags_added, tags_outdated, tags_removed};
use crate::model::{Cluster, GroupIdx, NodeIdx, Step};

/// Program or cluster that switches the power.
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

/// Nodes of one group that are switched, and the moves before or after that.
#[derive(Debug, Clone, Copy)]
pub struct Switching<'p> {
    /// The group.
    pub group: GroupIdx,
    /// The cluster before.
    pub cluster: &'p Cluster,
    /// True if the nodes get power or lose it.
    pub power: PowerCommand,
    /// The nodes, in the order in which they are switched.
    pub nodes: &'p [NodeIdx],
    /// The moves: before the nodes lose power, or once they have it.
    pub steps: &'p [Step],
}

/// The steps that free the nodes of a plan and power them down; `now` is in seconds since
/// 1970, for the tag that remembers it.
///
/// # Errors
/// A name that Ganeti cannot have.
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
    // one after the other, each with a look at what it holds right before
    for node in named() {
        work.nodes(&Task::PowerOff, [node], |node| switch.opcodes(node, PowerCommand::PowerOff));
    }
}

/// The steps that power the nodes of a plan up and bring them into use. The moves are not
/// among them: they are planned when it is known what the nodes are really like.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn power_up(cluster: &Cluster, nodes: &[NodeIdx], switch: Switch, now: u64) -> Result<Work, Impossible> {
    let mut work = Builder::default();
    up(&mut work, cluster, nodes, switch, now);
    work.finish()
}

fn up(work: &mut Builder, cluster: &Cluster, nodes: &[NodeIdx], switch: Switch, now: u64) {
    let named = || names(cluster, nodes);
    // one after the other: not all machines should draw their first current at once
    for node in named() {
        work.nodes(&Task::PowerOn, [node], |node| switch.opcodes(node, PowerCommand::PowerOn));
    }
    work.nodes(&Task::Await, named(), |_| Vec::new());
    work.nodes(&Task::SetOnline, named(), |node| vec![Opcode::set_offline(node, false)]);
    change_tags(work, &Task::Untag, cluster, nodes, |node| tags_removed(cluster, node));
    change_tags(work, &Task::Tag, cluster, nodes, |_| vec![switched_tag(now)]);
}

/// All steps of the plans of a group, one plan after the other, with the moves to nodes that come up as they would be if
/// the nodes are what they were.
///
/// # Errors
/// A name that Ganeti cannot have.
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
/// A name that Ganeti cannot have.
pub fn moves(cluster: &Cluster, steps: &[Step]) -> Result<Work, Impossible> {
    Work::of(cluster, steps, &jobsets(cluster, steps), CheckOptions::default())
}

fn names(cluster: &Cluster, nodes: &[NodeIdx]) -> Vec<String> {
    nodes.iter().map(|node| cluster.node(*node).spec.name.clone()).collect()
}

/// One jobset that gives the nodes of a plan tags, or takes them: those that have any.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::graph::{EdgeReason, StepIdx, Strength};
    use crate::search::squeeze::{Decision, GroupPlan, SqueezeOptions, squeeze};
    use crate::testing::cluster;

    fn titles(work: &Work) -> Vec<Vec<String>> {
        let title = |at: &StepIdx| work.step(*at).title();
        work.jobsets.iter().map(|set| set.iter().map(title).collect()).collect()
    }

    /// Five nodes of which two are needed, the last one with older tags.
    fn idle() -> Cluster {
        let old = "htools:switched:5,htools:standby-size:1/0/0/0/1/0/0/0,x";
        let mut nodes: Vec<String> =
            (0..5).map(|n| format!("n{n}|9000|0|8000|90000|90000|9|N|u|1")).collect();
        nodes[0] = nodes[0].replace("|N|", "|M|");
        nodes[4] = format!("{}|{old}", nodes[4]);
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let instances: Vec<String> =
            (0..5).map(|i| format!("i{i}|1000|0|1|running|Y|n{i}||ext||1")).collect();
        let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
        cluster(&nodes, &instances, &[])
    }

    fn planned(cluster: &Cluster, minimal: f64) -> GroupPlan {
        let groups = cluster.groups_with_nodes();
        let options =
            SqueezeOptions { minimal, target: minimal, max_nodes: Some(2), ..SqueezeOptions::default() };
        squeeze(cluster, &groups, &options).plans.remove(0)
    }

    #[test]
    fn down() {
        let cluster = idle();
        let plan = planned(&cluster, 0.5);
        assert_eq!((plan.decision, plan.nodes.len()), (Decision::Condense, 2));
        let work = power_down(&cluster, &plan.nodes, &plan.steps, Switch::Ganeti, 17).unwrap();
        assert_eq!(work.fault(), None);
        let sets = titles(&work);
        let moves = sets.len() - 7;
        assert!(moves > 0);
        assert_eq!(sets[0], ["drain n3", "drain n4"]);
        let rest: Vec<&[String]> = sets[1 + moves..].iter().map(Vec::as_slice).collect();
        assert_eq!(rest[0], ["make sure that nothing is on n3", "make sure that nothing is on n4"]);
        assert_eq!(rest[1], ["untag n4"]);
        assert_eq!(rest[2..4], [["tag n3", "tag n4"], ["set offline n3", "set offline n4"]]);
        assert_eq!(rest[4..], [["power off n3"], ["power off n4"]]);
        let text = serde_json::to_string(&work).unwrap();
        assert!(
            text.contains(r#""tags":["htools:standby-size:1/0/0/0/1/0/0/0","htools:switched:5"]"#),
            "{text}"
        );
        assert!(text.contains(r#""tags":["htools:standby:auto","htools:standby-size:9000/0/90000/90000/9/1/1/0","htools:switched:17"]"#), "{text}");
        // that one node loses its power after the other is an edge like any other
        let title = |step| work.step(step).title();
        let why =
            work.edges.iter().map(|edge| (title(edge.before), title(edge.after), edge.strength, &edge.why));
        let why: Vec<_> = why.filter(|(_, title, ..)| title.starts_with("power off")).collect();
        let power = |node| format!("power off {node}");
        let offline = |node| (format!("set offline {node}"), power(node), Strength::Must, &EdgeReason::Order);
        let one_by_one = (power("n3"), power("n4"), Strength::Should, &EdgeReason::Power);
        assert_eq!(why, [offline("n3"), offline("n4"), one_by_one]);
        // every move from a node comes after its drain, and its check after the last move
        for at in work.all() {
            let begins = matches!(work.step(at).task, Task::Drain);
            assert!(begins || work.edges.iter().any(|edge| edge.after == at), "{at}");
        }
        let by_command = power_down(&cluster, &plan.nodes, &plan.steps, Switch::Command, 17).unwrap();
        assert_eq!(by_command.fault(), None);
        assert!(by_command.steps.iter().filter(|s| s.task == Task::PowerOff).all(|s| s.opcodes.is_empty()));
    }

    #[test]
    fn up() {
        let mut cluster = idle();
        for (node, tag) in [(3, "htools:standby:auto"), (4, "htools:standby:10")] {
            let spec = &mut cluster.nodes[node].spec;
            spec.offline = true;
            spec.tags.push(tag.to_owned());
        }
        let mut plan = planned(&cluster, 0.5);
        plan.nodes = vec![cluster.nodes[4].spec.idx, cluster.nodes[3].spec.idx];
        let work = power_up(&cluster, &plan.nodes, Switch::Ganeti, 17).unwrap();
        assert_eq!(work.fault(), None);
        let sets = titles(&work);
        assert_eq!(sets[..2], [["power on n4"], ["power on n3"]]);
        assert_eq!(sets[2..4], [["wait for n4", "wait for n3"], ["set online n4", "set online n3"]]);
        // no other standby tag is lost
        assert_eq!(sets[4], ["untag n3"]);
        assert_eq!(sets[5..], [["tag n4", "tag n3"]]);
        let text = serde_json::to_string(&work.steps[6]).unwrap();
        assert!(text.contains(r#""tags":["htools:standby:auto"]"#), "{text}");
    }
}
