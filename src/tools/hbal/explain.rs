//! `hbal --explain`: reports why instances move or stay, instead of balancing.

use anyhow::Context;

use super::views::Text;
use super::{ExitStatus, HbalOptions};
use crate::load::lookup::find_named;
use crate::load::merge::apply_node_options;
use crate::model::{Cluster, Draft, InstanceIdx};
use crate::report;
use crate::report::balance::components::score;
use crate::report::balance::explain::text::explanation;
use crate::report::balance::plan::json::{EndingView, PlanDocument};
use crate::report::cluster::json::ClusterView;
use crate::report::form::json;
use crate::search::Balancer;
use crate::search::balance::explain::explain;
use crate::tools::output::Output;

/// Explains each requested instance within its own group.
pub(super) fn run(
    options: &HbalOptions,
    mut cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    apply_node_options(&mut cluster, &options.load.nodes)?;
    let cluster = &mut Draft::from(cluster);
    let instances = find_instances(options, cluster)?;
    let mut text = Text { output, json: options.output.json, cib: None };
    text.line(format!("Loaded {} nodes, {} instances", cluster.nodes.len(), cluster.instances.len()))?;
    let mut documents = Vec::new();
    for idx in instances {
        let group = cluster.node(cluster.instance(idx).primary).spec.group;
        let nodes = cluster.nodes_of(group).to_vec();
        let balancer = Balancer::new(cluster, &nodes, options.balance);
        let explained = explain(&balancer, idx);
        drop(balancer);
        text.line("")?;
        let name = &cluster.group(group).name;
        text.line(format!("Node group: {name}, score: {}", score(explained.score)))?;
        for line in explanation(&explained, cluster, options.balance.min_gain, options.balance.min_gain_limit)
        {
            text.line(line)?;
        }
        documents.push(report::balance::explain::json::explained(&explained, cluster));
    }
    if text.json {
        let state = ClusterView::whole(cluster);
        let document =
            PlanDocument { explanations: documents, ..PlanDocument::new(EndingView::Explained, state) };
        json::write(&document, text.output.stdout())?;
    }
    Ok(ExitStatus::Success)
}

fn find_instances(options: &HbalOptions, cluster: &Cluster) -> anyhow::Result<Vec<InstanceIdx>> {
    let names = cluster.instances.iter().map(|i| i.name.as_str());
    let find =
        |key: &String| find_named("instance", key, names.clone()).map(InstanceIdx::new).context("--explain");
    options.explain.iter().map(find).collect()
}
