//! Effects of the loss of nodes (`--without-node`).

use super::PREFIX;
use crate::model::shown::printable;
use crate::model::{Cluster, InstanceIdx, NodeIdx};
use crate::report::form::shell::Assignments;
use crate::report::why::words::obstacle_text;
use crate::search::health::Loss;
use crate::search::health::loss::Stranded;

/// Maximum length of a line, in characters.
const LINE: usize = 400;

fn names<'c>(cluster: &'c Cluster, instances: impl Iterator<Item = &'c InstanceIdx>) -> Vec<&'c str> {
    instances.map(|i| cluster.instance(*i).name.as_str()).collect()
}

fn node_names(cluster: &Cluster, nodes: &[NodeIdx]) -> String {
    let names: Vec<&str> = nodes.iter().map(|n| cluster.node(*n).spec.name.as_str()).collect();
    names.join(",")
}

/// The lines for people.
pub(crate) fn text(loss: &Loss, cluster: &Cluster) -> Vec<String> {
    let nodes = node_names(cluster, &loss.nodes).replace(',', ", ");
    let mut lines = vec![
        match loss.stranded.is_empty() {
            true => format!("The cluster survives the loss of {nodes}."),
            false => format!("The cluster does not survive the loss of {nodes}."),
        },
        String::new(),
        format!("Instances that would run on other nodes: {}", loss.placed.len()),
        format!("Instances that would have no secondary node: {}", loss.unmirrored.len()),
        format!("Instances without a place: {}", loss.stranded.len()),
    ];
    for stranded in &loss.stranded {
        lines.extend(stranded_lines(cluster, stranded));
    }
    lines.iter().map(|line| printable(line, LINE)).collect()
}

fn stranded_lines(cluster: &Cluster, stranded: &Stranded) -> Vec<String> {
    let instance = cluster.instance(stranded.instance);
    let title = format!("    {} ({}, {} MiB memory", instance.name, instance.template, instance.mem.0);
    let refused = refusals(stranded, cluster);
    let refused_places = stranded.nearest.kept.iter().map(|refused_place| {
        let node = &cluster.node(refused_place.node).spec.name;
        format!("        {node}: {}", obstacle_text(refused_place, "it is offline"))
    });
    std::iter::once(format!("{title}): {refused}")).chain(refused_places).collect()
}

/// Number of nodes that refuse an instance, as an introduction to the nearest of them.
pub(crate) fn refusals(stranded: &Stranded, cluster: &Cluster) -> String {
    match (stranded.nearest.refused, stranded.nearest.kept.len()) {
        (0, _) if cluster.instance(stranded.instance).template.has_secondary() => {
            "it has no secondary node".to_owned()
        }
        (0, _) => "its group has no other online node".to_owned(),
        (1, _) => "1 node refuses it".to_owned(),
        (all, shown) if all == shown => format!("{all} nodes refuse it"),
        (all, shown) => format!("{all} nodes refuse it, of which the nearest {shown}"),
    }
}

/// The lines for shells.
pub(crate) fn assignments(loss: &Loss, cluster: &Cluster) -> Vec<String> {
    let mut lines = Assignments::new(PREFIX);
    lines.push("WITHOUT_NODES", node_names(cluster, &loss.nodes));
    lines.push("WITHOUT_PLACED", loss.placed.len());
    lines.push("WITHOUT_UNMIRRORED", loss.unmirrored.len());
    lines.push("WITHOUT_FAILED", loss.stranded.len());
    let stranded = names(cluster, loss.stranded.iter().map(|s| &s.instance));
    lines.push("WITHOUT_FAILED_INSTANCES", stranded.join(","));
    lines.push("OK", 1);
    lines.lines()
}
