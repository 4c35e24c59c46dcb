//! Writes a cluster in the text format that every tool reads with `-t`: five
//! sections of `|`-separated rows, an empty line between sections.

use std::fmt::Write as _;

use crate::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use crate::model::{GroupIdx, InstancePolicy, InstanceSpec};

/// The text form of a cluster, all columns and all sections written.
pub fn to_text(cluster: &RawCluster) -> String {
    let section = |rows: Vec<String>| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let policies = std::iter::once(policy_row("", &cluster.policy))
        .chain(cluster.groups.iter().map(|group| policy_row(&group.name, &group.policy)))
        .collect();
    [
        section(cluster.groups.iter().map(group_row).collect()),
        section(cluster.nodes.iter().map(|node| node_row(cluster, node)).collect()),
        section(cluster.instances.iter().map(|instance| instance_row(cluster, instance)).collect()),
        section(cluster.tags.clone()),
        section(policies),
    ]
    .join("\n")
}

/// The row of a group.
pub fn group_row(group: &RawGroup) -> String {
    let RawGroup { name, uuid, alloc_policy, networks, tags, policy: _ } = group;
    format!("{name}|{uuid}|{alloc_policy}|{}|{}", tags.join(","), networks.join(","))
}

/// The row of a node. Sizes that are reals are rounded, to even on a tie.
pub fn node_row(cluster: &RawCluster, node: &RawNode) -> String {
    let role = match (node.offline, node.master) {
        (true, _) => 'Y',
        (false, true) => 'M',
        (false, false) => 'N',
    };
    format!(
        "{}|{}|{}|{}|{}|{}|{}|{role}|{}|{}|{}|{}|{}|{}|{}",
        node.name,
        rounded(node.mem_total),
        node.mem_node.0,
        node.mem_free.0,
        rounded(node.disk_total),
        node.disk_free.0,
        rounded(node.cpu_total),
        uuid(cluster, node.group),
        node.spindle_total,
        node.tags.join(","),
        yes_no(node.exclusive_storage),
        node.spindle_free,
        node.cpu_node,
        plain(node.cpu_speed),
    )
}

/// The row of an instance.
pub fn instance_row(cluster: &RawCluster, instance: &RawInstance) -> String {
    let secondary = instance.secondary.map_or("", |node| &cluster.nodes[node.get()].name);
    // one unknown number makes the sum unknown
    let spindles: Option<i64> = instance.disks.iter().map(|disk| disk.spindles).sum();
    format!(
        "{}|{}|{}|{}|{}|{}|{}|{secondary}|{}|{}|{}|{}|{}",
        instance.name,
        instance.mem.0,
        instance.disk.0,
        instance.vcpus,
        instance.status,
        yes_no(instance.auto_balance),
        cluster.nodes[instance.primary.get()].name,
        instance.template,
        instance.tags.join(","),
        instance.spindle_use,
        spindles.map_or("-".into(), |n| n.to_string()),
        yes_no(instance.forthcoming),
    )
}

/// The row of a policy: a group's, or the cluster's if `owner` is empty.
pub fn policy_row(owner: &str, policy: &InstancePolicy) -> String {
    let ranges: Vec<String> =
        policy.ranges.iter().map(|range| format!("{};{}", spec(&range.min), spec(&range.max))).collect();
    let templates: Vec<&str> = policy.disk_templates.iter().map(|t| t.as_str()).collect();
    format!(
        "{owner}|{}|{}|{}|{}|{}",
        spec(&policy.std),
        ranges.join(";"),
        templates.join(","),
        ratio(policy.vcpu_ratio),
        ratio(policy.spindle_ratio)
    )
}

fn spec(spec: &InstanceSpec) -> String {
    let InstanceSpec { memory, cpus, disk_size, disk_count, nic_count, spindle_use } = spec;
    format!("{},{cpus},{},{disk_count},{nic_count},{spindle_use}", memory.0, disk_size.0)
}

fn uuid(cluster: &RawCluster, group: GroupIdx) -> &str {
    &cluster.groups[group.get()].uuid
}

fn yes_no(yes: bool) -> char {
    if yes { 'Y' } else { 'N' }
}

/// A whole number near `x`.
fn rounded(x: f64) -> String {
    special(x).unwrap_or_else(|| format!("{:.0}", x.round_ties_even() + 0.0))
}

/// Shortest digits that read back, never an exponent.
fn plain(x: f64) -> String {
    let text = special(x).unwrap_or_else(|| x.to_string());
    if x.is_finite() && !text.contains('.') { text + ".0" } else { text }
}

/// Shortest digits that read back; with an exponent below 0.1 and from 10^7 on.
fn ratio(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() || x == 0.0 || (0.1..1e7).contains(&size) {
        return plain(x);
    }
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut out = digits.to_owned();
    if !digits.contains('.') {
        out.push_str(".0");
    }
    let _ = write!(out, "e{exponent}");
    out
}

fn special(x: f64) -> Option<String> {
    if x.is_nan() {
        return Some("NaN".into());
    }
    x.is_infinite().then(|| if x > 0.0 { "Infinity" } else { "-Infinity" }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{ClusterSpec, TemplateMix, cluster};

    #[test]
    fn numbers_are_written_as_the_format_wants_them() {
        assert_eq!([0.5, 2.5, 3.5, 1000.5, -0.4].map(rounded), ["0", "2", "4", "1000", "0"]);
        assert_eq!([1.0, 0.8, 1e-7, 12_345_678.0].map(plain), ["1.0", "0.8", "0.0000001", "12345678.0"]);
        let written = [4.0, 0.1, 1_234_567.0, 0.01, 1e7, 12_345_678.9, 1e10, 0.0].map(ratio);
        assert_eq!(written, ["4.0", "0.1", "1234567.0", "1.0e-2", "1.0e7", "1.23456789e7", "1.0e10", "0.0"]);
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(rounded), ["NaN", "-Infinity"]);
    }

    #[test]
    fn a_whole_cluster() {
        let mut made = cluster(&ClusterSpec::new(2, 1, TemplateMix::Drbd, 1));
        made.instances[0].disk = crate::model::Mib(10240);
        let text = to_text(&made);
        let sections: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(sections[0], "group-01|uuid-01|preferred||");
        assert!(sections[1].starts_with("node-00001.example.com|65536|1024|"), "{text}");
        assert!(sections[1].contains("|24|M|uuid-01|1||N|1|1|1.0"), "{text}");
        assert!(sections[2].ends_with("|drbd||1|-|N"), "{text}");
        assert!(
            text.ends_with(
                "|drbd||1|-|N\n\n\n|128,1,1024,1,1,1|128,1,1024,1,1,1;32768,8,1048576,16,8,12|\
                 diskless,file,sharedfile,plain,blockdev,drbd,rbd,ext,gluster|4.0|32.0\n\
                 group-01|128,1,1024,1,1,1|128,1,1024,1,1,1;32768,8,1048576,16,8,12|\
                 diskless,file,sharedfile,plain,blockdev,drbd,rbd,ext,gluster|4.0|32.0\n"
            ),
            "{text}"
        );
    }
}
