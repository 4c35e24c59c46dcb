//! `hgroup status` as text.

use crate::model::number::counted;
use crate::model::shown::printable;
use crate::model::{AllocPolicy, Cluster, InstanceIdx, NodeIdx};
use crate::report::balance::components::score;
use crate::report::form::table::{Align, Table};
use crate::report::groups::group_names;
use crate::search::groups::health::{Condition, Health};
use crate::search::groups::status::{Amounts, Capacity, GroupStatus, GroupsStatus};

/// Maximum length of a line for people, in characters.
pub(in crate::report) const LINE: usize = 400;

/// The problems of a group, in words; empty if it is healthy.
pub(crate) fn condition_text(condition: &Condition) -> String {
    let stranded = counted(condition.stranded.len(), "instance");
    let failing = condition.n1_failing.len();
    let verb = if failing == 1 { "fails" } else { "fail" };
    let at_risk = counted(condition.at_risk.len(), "node");
    let planned = condition.planned_offline.len();
    let parts = [
        (!condition.stranded.is_empty()).then(|| format!("{stranded} on offline nodes")),
        (failing > 0).then(|| format!("{} {verb} N+1", counted(failing, "node"))),
        (!condition.at_risk.is_empty()).then(|| format!("{at_risk} could not be emptied")),
        (planned > 0)
            .then(|| format!("{} planned on offline nodes", counted(planned, "forthcoming instance"))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(crate) fn text(status: &GroupsStatus, cluster: &Cluster, level: i32) -> Vec<String> {
    let mut lines = vec![format!(
        "Loaded {}, {}, {}",
        counted(cluster.nodes.len(), "node"),
        counted(cluster.instances.len(), "instance"),
        counted(cluster.groups.len(), "node group")
    )];
    lines.push("Groups (memory in MiB, disk in GiB):".to_owned());
    lines.extend(group_table(status, cluster));
    for group in status.groups.iter().filter(|g| !g.condition.planned_offline.is_empty()) {
        let names: Vec<&str> =
            group.condition.planned_offline.iter().map(|i| cluster.instance(*i).name.as_str()).collect();
        let group = &cluster.group(group.group).name;
        let line =
            format!("Forthcoming instances planned on offline nodes of group {group}: {}", names.join(", "));
        lines.push(printable(&line, LINE));
    }
    if !status.partitions.is_empty() {
        lines.push("Partitions:".to_owned());
        lines.extend(partition_table(status, cluster));
    }
    lines.extend(denials(cluster));
    if level > 1 {
        lines.extend(status.groups.iter().flat_map(|g| details(g, status, cluster)));
    }
    lines
}

/// The moves between groups that tags forbid.
pub(in crate::report) fn denials(cluster: &Cluster) -> Vec<String> {
    let of_all = cluster.denies_moves_between_groups();
    let of_all = of_all.then(|| "Moves between groups are denied (tag of the cluster).".to_owned());
    let of_one = cluster.groups.iter().filter(|group| group.denies_moves_between_groups());
    let of_one =
        of_one.map(|group| format!("Moves from and to group {} are denied (tag of the group).", group.name));
    of_all.into_iter().chain(of_one).collect()
}

fn group_table(status: &GroupsStatus, cluster: &Cluster) -> Vec<String> {
    let left = ["Group", "Health"].map(|title| (title, Align::Left));
    let right = [
        "Nodes", "Off", "Inst", "t_mem", "o_mem", "f_mem", "t_dsk", "o_dsk", "f_dsk", "t_cpu", "o_cpu",
        "f_cpu", "N+1", "Strand", "Score",
    ];
    let mut table = Table::new(left.into_iter().chain(right.map(|title| (title, Align::Right))));
    for g in &status.groups {
        let condition = &g.condition;
        let wrong = (condition.weak_nodes().len(), condition.stranded.len());
        table.push(row(&cluster.group(g.group).name, g.health(), &g.capacity, g.instances, wrong, g.score));
    }
    let sum = |count: fn(&Condition) -> usize| status.groups.iter().map(|g| count(&g.condition)).sum();
    let wrong = (sum(|c| c.weak_nodes().len()), sum(|c| c.stranded.len()));
    table.push(row("(all)", status.health(), &status.capacity, status.instances, wrong, status.score));
    table.lines(" ")
}

fn row(
    name: &str,
    health: Health,
    capacity: &Capacity,
    instances: usize,
    (failing, stranded): (usize, usize),
    total: f64,
) -> Vec<String> {
    let mut cells = vec![name.to_owned(), health.as_str().to_owned()];
    cells.extend([capacity.nodes, capacity.offline, instances].map(|n| n.to_string()));
    let amounts = |a: Amounts, unit: i64| [a.total, a.used, a.free].map(|n| n.div_euclid(unit).to_string());
    cells.extend(amounts(capacity.memory, 1));
    cells.extend(amounts(capacity.disk, 1024));
    cells.extend(amounts(capacity.vcpus, 1));
    cells.extend([failing, stranded].map(|n| n.to_string()));
    cells.push(score(total));
    cells
}

fn partition_table(status: &GroupsStatus, cluster: &Cluster) -> Vec<String> {
    let columns = [("Pool", Align::Left), ("Inst", Align::Right), ("Groups", Align::Left)];
    let mut table = Table::new(columns);
    for partition in &status.partitions {
        table.push(vec![
            status.storage.pool(partition.pool).to_string(),
            partition.instances.to_string(),
            group_names(cluster, &partition.groups),
        ]);
    }
    table.trimmed_lines(" ")
}

/// Details of a group for `-v`.
fn details(group: &GroupStatus, status: &GroupsStatus, cluster: &Cluster) -> Vec<String> {
    let there = cluster.group(group.group);
    let pools: Vec<String> = group.pools.iter().map(|p| status.storage.pool(*p).to_string()).collect();
    let mut lines =
        vec![format!("Group {} ({}): pools {}", there.name, policy(there.alloc_policy), pools.join(","))];
    let node = |n: &NodeIdx| cluster.node(*n).spec.name.clone();
    let instance = |i: &InstanceIdx| cluster.instance(*i).name.clone();
    let failing: Vec<String> = group.condition.n1_failing.iter().map(node).collect();
    let at_risk: Vec<String> = group.condition.at_risk.iter().map(node).collect();
    let stranded: Vec<String> = group.condition.stranded.iter().map(instance).collect();
    for (what, names) in [
        ("nodes that fail N+1", failing),
        ("nodes that could not be emptied", at_risk),
        ("instances on offline nodes", stranded),
    ] {
        if !names.is_empty() {
            lines.push(format!("  {what}: {}", names.join(", ")));
        }
    }
    lines.iter().map(|line| printable(line, 100 * LINE)).collect()
}

fn policy(policy: AllocPolicy) -> &'static str {
    policy.as_str()
}
