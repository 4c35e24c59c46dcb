//! Groups of nodes that can be down together, as text.

use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::model::{Cluster, InstanceIdx, NodeIdx, Outage};
use crate::plan::rolling::{RollingBound, RollingFigures, RollingGap};
use crate::report::timetable::duration;
use crate::report::why::words::rule_name;
use crate::search::maintenance::UnmaintainedReason;
use crate::search::rolling::Part;
use crate::search::rolling::colour::Colouring;
use crate::search::rolling::graph::ConflictGraph;
use crate::search::rolling::safe::StaysUp;

/// The graph in one line, by the numbers of the nodes.
pub(crate) fn graph_line(graph: &ConflictGraph) -> String {
    let number = |vertex: usize| graph.node(vertex).get();
    let row = |vertex: usize| {
        let list: Vec<String> = graph.neighbours(vertex).map(|v| number(v).to_string()).collect();
        format!("({},[{}])", number(vertex), list.join(","))
    };
    let rows: Vec<String> = (0..graph.len()).map(row).collect();
    let last = graph.len().saturating_sub(1);
    format!("Node Graph: array ({},{}) [{}]", number(0), number(last), rows.join(","))
}

/// Number of colours of each algorithm, and the number of nodes of each colour.
pub(crate) fn statistics_line(colourings: &[Colouring]) -> String {
    let mut sorted: Vec<&Colouring> = colourings.iter().rev().collect();
    sorted.sort_by_key(|c| c.classes.len());
    let mut line = String::new();
    for (at, colouring) in sorted.iter().enumerate() {
        let colours = colouring.classes.len();
        if at > 0 {
            // Scripts know the word with this spelling.
            line.push_str(if sorted[at - 1].classes.len() == colours { " TIE " } else { " LOOSE " });
        }
        let sizes: Vec<String> = colouring.classes.iter().map(|class| class.len().to_string()).collect();
        line.push_str(&format!("{}: {colours} ({})", colouring.algorithm.as_str(), sizes.join(",")));
    }
    line
}

/// The full names of the nodes of a group, in order.
pub(crate) fn node_names<'a>(cluster: &'a Cluster, part: &Part) -> Vec<&'a str> {
    part.nodes.iter().map(|n| cluster.node(*n).spec.name.as_str()).collect()
}

/// Places of instances while the group is down, a line each.
pub(crate) fn moves(cluster: &Cluster, part: &Part) -> Vec<String> {
    let name = |n| cluster.node(n).spec.name.as_str();
    let line = |moved: &crate::model::MovedMeanwhile| {
        let instance = cluster.instance(moved.instance);
        let secondary = moved.to.secondary.filter(|_| instance.template.has_secondary());
        let nodes: Vec<&str> = [Some(moved.to.primary), secondary].into_iter().flatten().map(name).collect();
        format!("  {} {}", instance.name, nodes.join(" "))
    };
    part.moves.iter().map(line).collect()
}

/// Batches and duration of a plan beside their lower bound, and the reasons if the plan is much longer.
pub(crate) fn bound_lines(cluster: &Cluster, bound: &RollingBound, plan: &RollingFigures<'_>) -> Vec<String> {
    let batches = |count| if count == 1 { "1 batch".to_owned() } else { format!("{count} batches") };
    let mut lines = vec![format!(
        "{}, about {}; no plan has fewer than {} or takes less than {} (estimated)",
        batches(plan.batches),
        duration(plan.seconds),
        batches(bound.batches),
        duration(bound.seconds)
    )];
    lines.extend(bound.gaps(plan).iter().map(|gap| format!("  {}", gap_text(cluster, gap))));
    lines
}

fn gap_text(cluster: &Cluster, gap: &RollingGap) -> String {
    match gap {
        RollingGap::Capacity(nodes) => {
            let name = |node: &NodeIdx| shown_name(&cluster.node(*node).spec.name).to_string();
            let named: Vec<String> = nodes.iter().take(NAMED).map(name).collect();
            let more = if nodes.len() > NAMED { ", ..." } else { "" };
            let nodes = counted(nodes.len(), "node");
            format!("{nodes} found no room for the instances in an earlier batch: {}{more}", named.join(", "))
        }
        RollingGap::Batches => "fewer batches were neither found nor excluded".to_owned(),
        RollingGap::FewestFirst => "with more batches, the whole might be shorter".to_owned(),
        RollingGap::LongNodes => "nodes that take long may not need batches of their own".to_owned(),
        RollingGap::SharedLimits => "the nodes of a batch share the limits of the run".to_owned(),
    }
}

/// Most nodes that a reason names.
const NAMED: usize = 5;

/// Reason why a node cannot be down, even alone.
pub(crate) fn stays_up(cluster: &Cluster, why: StaysUp) -> String {
    let node = |node: NodeIdx| shown_name(&cluster.node(node).spec.name).to_string();
    let instance = |instance: InstanceIdx| shown_name(&cluster.instance(instance).name).to_string();
    match why {
        StaysUp::NoTarget { instance: i } => format!("no other node can take instance '{}'", instance(i)),
        StaysUp::NoSecondaryTarget { instance: i } => {
            format!("no other node can take the disks of instance '{}'", instance(i))
        }
        StaysUp::NoSecondary { instance: i } => format!("instance '{}' has no secondary node", instance(i)),
        StaysUp::SecondaryOut { instance: i, node: n } => {
            format!("node '{}', the secondary of instance '{}', is out of use", node(n), instance(i))
        }
        StaysUp::Refused { instance: i, node: n, rule } => {
            format!("instance '{}' cannot run on node '{}': {}", instance(i), node(n), rule_name(rule))
        }
        StaysUp::Redundancy { node: n } => format!("node '{}' would no longer be N+1 redundant", node(n)),
    }
}

/// Reason why a node cannot be maintained as the cluster is now.
pub(crate) fn unmaintained(cluster: &Cluster, why: UnmaintainedReason) -> String {
    match why {
        UnmaintainedReason::Gone => "the cluster no longer has it".to_owned(),
        UnmaintainedReason::Out(Outage::Drained) => "it is drained".to_owned(),
        UnmaintainedReason::Out(_) => "it is offline".to_owned(),
        UnmaintainedReason::StaysUp(why) => stays_up(cluster, why),
        UnmaintainedReason::Enough(why) => why.to_string(),
        UnmaintainedReason::MasterLast => "the other nodes come first".to_owned(),
    }
}
