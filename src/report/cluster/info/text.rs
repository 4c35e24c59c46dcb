//! Output of `hinfo`.

use crate::model::number::counted;
use crate::model::{Cluster, GroupIdx, InstanceIdx};
use crate::redundancy::n_plus_one::Failures;
use crate::report::balance::components::{components, score};
use crate::report::form::table::{Align, Table};
use crate::score::{Board, Components};

/// Figures of a node group.
#[derive(Debug, Clone)]
pub(crate) struct GroupInfo {
    pub group: GroupIdx,
    /// Number of its nodes.
    pub nodes: usize,
    /// Number of instances whose primary is in it.
    pub instances: usize,
    /// N+1 failures.
    pub failures: Failures,
    /// The metrics of its nodes.
    pub components: Components,
}

/// Summary of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Information {
    /// Groups that have nodes.
    pub groups: Vec<GroupInfo>,
    /// Instances whose nodes are in different groups.
    pub split: Vec<InstanceIdx>,
    /// The metrics of all nodes as one population.
    pub components: Components,
}

impl Information {
    /// Collects the figures of a cluster.
    pub(crate) fn of(cluster: &Cluster) -> Information {
        let health = |group| {
            let nodes = cluster.nodes_of(group);
            GroupInfo {
                group,
                nodes: nodes.len(),
                instances: cluster.instances_of(group).len(),
                failures: Failures::of(cluster, nodes),
                components: Board::new(cluster, nodes).components(),
            }
        };
        Information {
            groups: cluster.groups_with_nodes().into_iter().map(health).collect(),
            split: cluster.split_instances(),
            components: Board::new(cluster, &cluster.all_nodes()).components(),
        }
    }

    /// Tells if no group has N+1 failures.
    pub(crate) fn is_n1_happy(&self) -> bool {
        self.groups.iter().all(|g| g.failures.none())
    }
}

/// The lines before the lists of nodes and instances.
pub(crate) fn text(info: &Information, cluster: &Cluster, level: i32) -> Vec<String> {
    let mut lines = Vec::new();
    if level > 1 && cluster.instances.is_empty() {
        lines.push("Cluster is empty.".to_owned());
    }
    lines.push(format!(
        "Loaded {}, {}, {}",
        counted(cluster.nodes.len(), "node"),
        counted(cluster.instances.len(), "instance"),
        counted(cluster.groups.len(), "node group")
    ));
    if level > 2 && !cluster.common_suffix.is_empty() {
        lines.push(format!("Note: Stripping common suffix of '{}' from names", cluster.common_suffix));
    }
    if !info.split.is_empty() {
        lines.push("Found instances belonging to multiple node groups:".to_owned());
        lines.extend(info.split.iter().map(|i| format!("  {}", cluster.instance(*i).name)));
    } else if level > 1 {
        lines.push("No split instances found".to_owned());
    }
    if level > 1 {
        lines.push("Node group information:".to_owned());
        lines.extend(group_table(info, cluster));
    }
    let happy = if info.is_n1_happy() { "happy" } else { "unhappy" };
    lines.push(format!("Cluster is N+1 {happy}"));
    lines
}

fn group_table(info: &Information, cluster: &Cluster) -> Vec<String> {
    let mut table = Table::new([
        ("Group", Align::Left),
        ("Nodes", Align::Right),
        ("Instances", Align::Right),
        ("Bad_Nodes", Align::Right),
        ("Bad_Instances", Align::Right),
        ("N+1", Align::Left),
        ("Score", Align::Right),
    ]);
    for g in &info.groups {
        table.push(vec![
            cluster.group(g.group).name.clone(),
            g.nodes.to_string(),
            g.instances.to_string(),
            g.failures.nodes.len().to_string(),
            g.failures.instances.to_string(),
            if g.failures.none() { "True" } else { "False" }.to_owned(),
            score(g.components.score()),
        ]);
    }
    table.lines("  ")
}

/// The lines after the lists.
pub(crate) fn score_text(info: &Information) -> Vec<String> {
    let mut lines = vec!["Cluster coefficients:".to_owned()];
    lines.extend(components(&info.components));
    lines.push(format!("Cluster score: {}", score(info.components.score())));
    lines
}
