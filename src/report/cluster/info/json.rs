//! The document of `hinfo --json`: schema `htools.info/1`.

use serde::Serialize;

use super::text::Information;
use crate::model::Cluster;
use crate::report::cluster::json::ClusterView;
use crate::report::form::json::{Generator, Score, instance_names, node_names};

pub(crate) const SCHEMA: &str = "htools.info/1";

/// Result of `hinfo`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InfoDocument {
    schema: &'static str,
    generator: Generator,
    cluster: ClusterView,
    n1_happy: bool,
    groups: Vec<InfoGroup>,
    split_instances: Vec<String>,
    score: Score,
}

#[derive(Debug, Clone, Serialize)]
struct InfoGroup {
    name: String,
    nodes: usize,
    instances: usize,
    bad_nodes: Vec<String>,
    bad_instances: usize,
    n1_happy: bool,
    score: f64,
}

pub(crate) fn document(info: &Information, cluster: &Cluster) -> InfoDocument {
    let group = |g: &crate::report::cluster::info::text::GroupInfo| InfoGroup {
        name: cluster.group(g.group).name.clone(),
        nodes: g.nodes,
        instances: g.instances,
        bad_nodes: node_names(cluster, &g.failures.nodes),
        bad_instances: g.failures.instances,
        n1_happy: g.failures.none(),
        score: g.components.score(),
    };
    InfoDocument {
        schema: SCHEMA,
        generator: Generator::of(cluster),
        cluster: ClusterView::whole(cluster),
        n1_happy: info.is_n1_happy(),
        groups: info.groups.iter().map(group).collect(),
        split_instances: instance_names(cluster, &info.split),
        score: Score::of(&info.components),
    }
}
