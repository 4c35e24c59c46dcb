//! The document of `hgroup status --json`: schema `htools.group-status/1`.

use serde::Serialize;

use crate::model::{Cluster, GroupIdx, InstanceIdx, NodeIdx, PoolIdx};
use crate::report::form::json::Generator;
use crate::search::groups::status::{Amounts, Capacity, GroupStatus, GroupsStatus};

pub(crate) const SCHEMA: &str = "htools.group-status/1";

/// State of the groups of a cluster.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct StatusDocument {
    schema: &'static str,
    generator: Generator,
    health: &'static str,
    denied: bool,
    instances: usize,
    split_instances: usize,
    score: Option<f64>,
    capacity: SizesView,
    groups: Vec<StatusGroup>,
    partitions: Vec<PartitionView>,
}

/// Capacity of some nodes together.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SizesView {
    nodes: usize,
    offline_nodes: usize,
    memory: Amount,
    disk: Amount,
    vcpus: Amount,
}

#[derive(Debug, Clone, Serialize)]
struct Amount {
    total: i64,
    used: i64,
    free: i64,
}

impl From<Amounts> for Amount {
    fn from(Amounts { total, used, free }: Amounts) -> Amount {
        Amount { total, used, free }
    }
}

impl From<&Capacity> for SizesView {
    fn from(capacity: &Capacity) -> SizesView {
        SizesView {
            nodes: capacity.nodes,
            offline_nodes: capacity.offline,
            memory: capacity.memory.into(),
            disk: capacity.disk.into(),
            vcpus: capacity.vcpus.into(),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct StatusGroup {
    name: String,
    uuid: String,
    alloc_policy: &'static str,
    denied: bool,
    health: &'static str,
    instances: usize,
    score: Option<f64>,
    capacity: SizesView,
    n1_failing: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_expendable: Vec<String>,
    stranded: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    planned_offline: Vec<String>,
    pools: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct PartitionView {
    pool: String,
    named: bool,
    instances: usize,
    groups: Vec<String>,
}

pub(crate) fn document(status: &GroupsStatus, cluster: &Cluster) -> StatusDocument {
    let group_name = |g: &GroupIdx| cluster.group(*g).name.clone();
    let pool = |p: PoolIdx| status.storage.pool(p).to_string();
    StatusDocument {
        schema: SCHEMA,
        generator: Generator::of(cluster),
        health: status.health().as_str(),
        denied: status.denied,
        instances: status.instances,
        split_instances: status.split,
        score: finite(status.score),
        capacity: (&status.capacity).into(),
        groups: status.groups.iter().map(|g| group(g, status, cluster)).collect(),
        partitions: (status.partitions.iter())
            .map(|p| PartitionView {
                pool: pool(p.pool),
                named: p.named,
                instances: p.instances,
                groups: p.groups.iter().map(group_name).collect(),
            })
            .collect(),
    }
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|n| n.is_finite())
}

fn group(group: &GroupStatus, status: &GroupsStatus, cluster: &Cluster) -> StatusGroup {
    let there = cluster.group(group.group);
    let node = |n: &NodeIdx| cluster.node(*n).spec.name.clone();
    let instance = |i: &InstanceIdx| cluster.instance(*i).name.clone();
    StatusGroup {
        name: there.name.clone(),
        uuid: there.uuid.clone(),
        alloc_policy: there.alloc_policy.as_str(),
        denied: there.denies_moves_between_groups(),
        health: group.health().as_str(),
        instances: group.instances,
        score: finite(group.score),
        capacity: (&group.capacity).into(),
        n1_failing: group.condition.n1_failing.iter().map(node).collect(),
        not_expendable: group.condition.at_risk.iter().map(node).collect(),
        stranded: group.condition.stranded.iter().map(instance).collect(),
        planned_offline: group.condition.planned_offline.iter().map(instance).collect(),
        pools: group.pools.iter().map(|p| status.storage.pool(*p).to_string()).collect(),
    }
}
