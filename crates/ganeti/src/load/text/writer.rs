//! Writes a cluster in the text format, as `-S` saves it.

use std::collections::HashMap;
use std::fmt::Write;

use htools_model::number::{fixed, plain, positional};
use htools_model::{Cluster, Instance, InstanceIdx, InstancePolicy, InstanceSpec, Node, NodeIdx};

/// The text of a cluster: see [`cluster_text`].
pub fn whole_cluster_text(cluster: &Cluster) -> String {
    cluster_text(cluster, &cluster.all_nodes(), &cluster.all_instances())
}

/// The text of a cluster, with all groups but only the given nodes and instances. Loading it gives the same cluster,
/// except for data that the format does not have: single disks, network interfaces, hypervisors, dynamic load.
pub fn cluster_text(cluster: &Cluster, nodes: &[NodeIdx], instances: &[InstanceIdx]) -> String {
    let mut out = String::new();
    for g in &cluster.groups {
        push(
            &mut out,
            &[&g.name, &g.uuid, g.alloc_policy.as_str(), &g.tags.join(","), &g.networks.join(",")],
        );
    }
    out.push('\n');
    for node in nodes {
        node_row(&mut out, cluster, cluster.node(*node));
    }
    out.push('\n');
    for instance in instances {
        instance_row(&mut out, cluster, cluster.instance(*instance));
    }
    out.push('\n');
    for tag in &cluster.tags {
        push(&mut out, &[tag]);
    }
    out.push('\n');
    push(&mut out, &[&policy_row("", &cluster.policy)]);
    let mut bearers: HashMap<&str, usize> = HashMap::new();
    for g in &cluster.groups {
        *bearers.entry(&g.name).or_default() += 1;
    }
    for g in &cluster.groups {
        // A name shared by several groups is ambiguous, and so is a UUID that is also a name. In that case the written
        // text does not load, which is better than meaning another group.
        let by_uuid = bearers[g.name.as_str()] > 1 && !bearers.contains_key(g.uuid.as_str());
        let owner = if by_uuid { &g.uuid } else { &g.name };
        push(&mut out, &[&policy_row(owner, &g.policy)]);
    }
    out
}

fn push(out: &mut String, columns: &[&str]) {
    out.push_str(&columns.join("|"));
    out.push('\n');
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "Y" } else { "N" }
}

fn node_row(out: &mut String, cluster: &Cluster, node: &Node) {
    let Node { spec, state } = node;
    let role = match (spec.offline, spec.master) {
        (true, _) => "Y",
        (false, true) => "M",
        (false, false) => "N",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}|{}|{}|{}|{}|{}|{}|{role}|{}|{}|{}|{}|{}|{}|{}",
        spec.name,
        fixed(spec.mem_total, 0),
        spec.mem_node.0,
        node.mem_free().0,
        fixed(spec.disk_total, 0),
        state.ledger.disk_free.0,
        fixed(spec.cpu_total, 0),
        cluster.group(spec.group).uuid,
        spec.spindle_total,
        spec.tags.join(","),
        yes_no(spec.exclusive_storage),
        state.ledger.spindles_free,
        spec.cpu_node,
        positional(spec.cpu_speed)
    );
}

fn instance_row(out: &mut String, cluster: &Cluster, i: &Instance) {
    let node = |n| cluster.node(n).spec.name.as_str();
    let spindles = i.spindles.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let _ = writeln!(
        out,
        "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{spindles}|{}",
        i.name,
        i.mem.0,
        i.disk.0,
        i.vcpus,
        i.status,
        yes_no(i.auto_balance),
        node(i.primary),
        i.secondary.map_or("", node),
        i.template,
        i.tags.join(","),
        i.spindle_use,
        yes_no(i.forthcoming)
    );
}

/// The row of a policy: a group's, or the cluster's if `owner` is empty.
pub fn policy_row(owner: &str, policy: &InstancePolicy) -> String {
    let ranges: Vec<String> = policy.ranges.iter().flat_map(|r| [spec(&r.min), spec(&r.max)]).collect();
    let templates: Vec<&str> = policy.disk_templates.iter().map(|t| t.as_str()).collect();
    let columns = [
        owner,
        &spec(&policy.std),
        &ranges.join(";"),
        &templates.join(","),
        &plain(policy.vcpu_ratio),
        &plain(policy.spindle_ratio),
    ];
    columns.join("|")
}

fn spec(s: &InstanceSpec) -> String {
    let InstanceSpec { memory, cpus, disk_size, disk_count, nic_count, spindle_use } = s;
    format!("{},{cpus},{},{disk_count},{nic_count},{spindle_use}", memory.0, disk_size.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::load::merge::{MergeOptions, merge};
    use crate::load::raw::RawGroup;
    use crate::load::{RawCluster, text};
    use htools_model::{AllocPolicy, DiskParameters};

    /// A cluster of groups with these names, UUIDs in order, and a different policy each.
    fn groups(names: &[String]) -> RawCluster {
        let mut raw = RawCluster::default();
        for (at, name) in names.iter().enumerate() {
            raw.groups.push(RawGroup {
                name: name.clone(),
                uuid: format!("u{at}"),
                alloc_policy: AllocPolicy::Preferred,
                tags: Vec::new(),
                networks: Vec::new(),
                policy: InstancePolicy { vcpu_ratio: 10.0 + at as f64, ..InstancePolicy::default() },
                disk_parameters: DiskParameters::default(),
            });
        }
        raw
    }

    fn again(raw: &RawCluster) -> Result<RawCluster, String> {
        let cluster = merge(raw.clone(), &MergeOptions::default()).unwrap();
        text::parse(&whole_cluster_text(&cluster), "c").map_err(|error| error.to_string())
    }

    proptest! {
        /// Whatever the names of the groups, the text loads as the same cluster, or not at all if it is ambiguous.
        #[test]
        fn groups_load_back(names in prop::collection::vec("[au][0-3]?", 1..5)) {
            let raw = groups(&names);
            let repeated = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
            // A group that must be identified by its UUID is lost if that is also a name.
            let lost = names.iter().enumerate().any(|(at, name)| {
                repeated(name) && names.contains(&format!("u{at}"))
            });
            let loaded = again(&raw).map(|cluster| cluster.groups);
            prop_assert!(loaded.as_ref().map_or(lost, |groups| *groups == raw.groups), "{:?}", loaded);
        }
    }

    #[test]
    fn names_that_are_uuids_of_others_load_back() {
        for names in [["u1", "a"], ["u1", "u0"], ["a", "u0"], ["a", "a"]] {
            let raw = groups(&names.map(str::to_owned));
            assert_eq!(again(&raw).unwrap().groups, raw.groups, "{names:?}");
        }
    }
}
