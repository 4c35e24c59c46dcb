//! Groups of nodes that can be down together, as text.

use crate::model::Cluster;
use crate::search::rolling::Part;
use crate::search::rolling::colour::Colouring;
use crate::search::rolling::graph::ConflictGraph;

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
