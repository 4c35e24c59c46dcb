//! The files that hscan writes.

use crate::input::error::LoadError;
use crate::load::raw::{RawCluster, RawInstance, RawNode};
use crate::load::text;
use crate::load::text::writer::whole_cluster_text;
use crate::model::{Cluster, Disk};

/// File name of a cluster; it never contains a `/`.
pub(super) fn file_name(name: &str) -> String {
    format!("{}.data", name.replace('/', "_"))
}

/// Reason why a cluster that was read is not shown or saved.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScanError {
    #[error(transparent)]
    Contradictory(LoadError),
    #[error("the text format cannot express it: {0}")]
    Unreadable(LoadError),
    #[error("the text format cannot express {0}, because of an unusual name or tag")]
    Changed(String),
}

/// Text of a cluster that was read as `raw`. The text is checked to load back as the same cluster.
///
/// # Errors
/// If the text format cannot express the cluster, for instance a name with a `|`.
pub(super) fn checked_text(raw: RawCluster, cluster: &Cluster) -> Result<String, ScanError> {
    let text = whole_cluster_text(cluster);
    let again = text::parse(&text, "the text").map_err(ScanError::Unreadable)?;
    difference(&sayable(raw, cluster), &again).map_or(Ok(text), |what| Err(ScanError::Changed(what)))
}

/// The part of a cluster that the text format can express.
fn sayable(mut raw: RawCluster, cluster: &Cluster) -> RawCluster {
    for (node, loaded) in raw.nodes.iter_mut().zip(&cluster.nodes) {
        // The memory that a KVM node is assumed to use counts, so the hypervisor is not needed.
        node.mem_node = loaded.spec.mem_node;
        node.hypervisor = None;
        // The format has one role per node, and an offline node cannot be marked as the master.
        node.master &= !node.offline;
        for total in [&mut node.mem_total, &mut node.disk_total, &mut node.cpu_total] {
            *total = total.round_ties_even();
        }
    }
    for instance in &mut raw.instances {
        instance.disks = vec![whole_disk(instance)];
        instance.networks.clear();
    }
    raw
}

/// A single disk that stands for all.
fn whole_disk(instance: &RawInstance) -> Disk {
    let spindles = instance.disks.iter().try_fold(0i64, |sum, disk| Some(sum.wrapping_add(disk.spindles?)));
    Disk { size: instance.disk, spindles }
}

/// Names the first difference.
fn difference(a: &RawCluster, b: &RawCluster) -> Option<String> {
    let counts = |c: &RawCluster| (c.groups.len(), c.nodes.len(), c.instances.len());
    if counts(a) != counts(b) {
        return Some("the number of groups, nodes or instances".to_owned());
    }
    let group = a.groups.iter().zip(&b.groups).find(|(a, b)| a != b);
    // The format does not say why a node is out of use.
    let node = a.nodes.iter().zip(&b.nodes).find(|(a, b)| {
        let same = RawNode { outage: b.outage, ..(*a).clone() };
        same != **b
    });
    let instance = a.instances.iter().zip(&b.instances).find(|(a, b)| a != b);
    let named = |kind: &str, name: &str| format!("{kind} {name:?}");
    group
        .map(|(a, _)| named("group", &a.name))
        .or_else(|| node.map(|(a, _)| named("node", &a.name)))
        .or_else(|| instance.map(|(a, _)| named("instance", &a.name)))
        .or_else(|| (a.tags != b.tags).then(|| "the cluster's tags".to_owned()))
        .or_else(|| (a.policy != b.policy).then(|| "the cluster's policy".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{ClusterSpec, TemplateMix, cluster};
    use crate::load::merge::{MergeOptions, finish, merge};
    use crate::model::{Hypervisor, Mib};

    #[test]
    fn names_are_no_paths() {
        assert_eq!(file_name("file:///a/b"), "file:___a_b.data");
        assert_eq!(file_name("../../etc/x"), ".._.._etc_x.data");
        assert_eq!([file_name(".."), file_name("/"), file_name("")], ["...data", "_.data", ".data"]);
    }

    fn text_of(raw: RawCluster) -> Result<String, ScanError> {
        let mut cluster = merge(raw.clone(), &MergeOptions::default()).unwrap();
        finish(&mut cluster, Mib(4096));
        checked_text(raw, &cluster)
    }

    #[test]
    fn only_what_loads_back_is_written() {
        let mut raw = cluster(&ClusterSpec::new(3, 6, TemplateMix::Drbd, 1));
        raw.nodes[0].hypervisor = Some(Hypervisor::Kvm);
        assert!(text_of(raw.clone()).unwrap().contains("|4096|"));
        let broken: [fn(&mut RawCluster); 5] = [
            |raw| raw.nodes[1].name = "a|b".into(),
            |raw| raw.instances[1].name = "a\nb".into(),
            |raw| raw.instances[1].tags = vec!["a,b".into()],
            |raw| raw.tags = vec![String::new()],
            |raw| raw.groups[0].uuid = "u|".into(),
        ];
        for change in broken {
            let mut other = raw.clone();
            change(&mut other);
            assert!(text_of(other).unwrap_err().to_string().contains("the text format cannot express"));
        }
    }
}
