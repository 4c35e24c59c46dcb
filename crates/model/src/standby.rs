//! Standby nodes, which are off because they are not needed. Tags mark them, record their size, and record when they
//! were switched on or off.

use super::known_tags::{STANDBY, STANDBY_AUTO, STANDBY_SIZE, SWITCHED};
use super::units::trunc_to_i64;
use super::{Cluster, Node, NodeIdx};

/// The standby tags of a node.
pub fn standby_tags(cluster: &Cluster, node: NodeIdx) -> impl Iterator<Item = &str> {
    cluster.node(node).spec.tags.iter().map(String::as_str).filter(|tag| tag.starts_with(STANDBY))
}

/// Tells if a node has a standby tag.
pub fn is_standby(cluster: &Cluster, node: NodeIdx) -> bool {
    standby_tags(cluster, node).next().is_some()
}

/// The tag that records that a node is switched at `now`, in seconds since 1970.
pub fn switched_tag(now: u64) -> String {
    format!("{SWITCHED}{now}")
}

/// The tags of a node that record such times.
pub fn switched_tags(cluster: &Cluster, node: NodeIdx) -> impl Iterator<Item = String> {
    let tags = cluster.node(node).spec.tags.iter();
    tags.filter(|tag| tag.starts_with(SWITCHED)).cloned()
}

/// The tags to add when a node is powered down: one that makes it a standby node, unless it has one already, and one
/// with its size.
pub fn tags_added(cluster: &Cluster, node: NodeIdx) -> Vec<String> {
    let there = cluster.node(node);
    let has = |tag: &String| there.spec.tags.contains(tag);
    let auto = (!is_standby(cluster, node)).then(|| STANDBY_AUTO.to_owned());
    let size = Some(size_when_empty(cluster, node).tag()).filter(|tag| !has(tag));
    auto.into_iter().chain(size).collect()
}

/// The tags to remove when a node is powered down: older ones about its size.
pub fn tags_outdated(cluster: &Cluster, node: NodeIdx) -> Vec<String> {
    let current = size_when_empty(cluster, node).tag();
    let tags = cluster.node(node).spec.tags.iter();
    tags.filter(|tag| tag.starts_with(STANDBY_SIZE) && **tag != current).cloned().collect()
}

/// The tags to remove when a node is powered up: the standby tag that the program gave it.
pub fn tags_removed(cluster: &Cluster, node: NodeIdx) -> Vec<String> {
    cluster.node(node).spec.tags.iter().filter(|tag| *tag == STANDBY_AUTO).cloned().collect()
}

/// The size of a node without its instances.
fn size_when_empty(cluster: &Cluster, node: NodeIdx) -> NodeSize {
    let there = cluster.node(node);
    let state = &there.state;
    let on_node = state.primaries.iter().chain(&state.secondaries).map(|i| cluster.instance(*i));
    let mut size = NodeSize::of(there);
    for instance in on_node {
        size.free_disk = size.free_disk.wrapping_add(instance.local_disk().0);
        if there.spec.exclusive_storage {
            size.free_spindles = size.free_spindles.wrapping_add(instance.spindles.unwrap_or(0));
        }
    }
    size
}

/// The size of a node that holds no instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSize {
    /// Memory in MiB.
    pub memory: i64,
    /// Memory that the node itself uses, in MiB.
    pub node_memory: i64,
    /// Disk in MiB.
    pub disk: i64,
    /// Free disk in MiB.
    pub free_disk: i64,
    /// Physical CPUs, as threads.
    pub cpus: i64,
    /// CPUs that the node itself uses.
    pub node_cpus: i64,
    /// Spindles, if they are counted.
    pub spindles: i64,
    /// Spindles that no instance has.
    pub free_spindles: i64,
}

impl NodeSize {
    /// The size of a node; free disk and spindles as they are now.
    pub fn of(node: &Node) -> NodeSize {
        let Node { spec, state } = node;
        NodeSize {
            memory: trunc_to_i64(spec.mem_total),
            node_memory: spec.mem_node.0,
            disk: trunc_to_i64(spec.disk_total),
            free_disk: state.ledger.disk_free.0,
            cpus: trunc_to_i64(spec.cpu_total),
            node_cpus: spec.cpu_node,
            spindles: spec.spindle_total,
            free_spindles: state.ledger.spindles_free,
        }
    }

    /// The size with all instances removed: all disk and spindles that are not the node's own count as free.
    pub fn emptied(self) -> NodeSize {
        NodeSize { free_disk: self.disk, free_spindles: self.spindles, ..self }
    }

    /// The tag that records the size: `htools:standby-size:` and the eight numbers in the order of the fields,
    /// separated by slashes, as Ganeti allows no commas in tags.
    pub fn tag(&self) -> String {
        let numbers = self.numbers().map(|n| n.to_string());
        format!("{STANDBY_SIZE}{}", numbers.join("/"))
    }

    /// Parses such a tag; `None` if it is not valid.
    pub fn from_tag(tag: &str) -> Option<NodeSize> {
        let numbers: Vec<i64> =
            tag.strip_prefix(STANDBY_SIZE)?.split('/').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let [memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles] = numbers[..]
        else {
            return None;
        };
        let size =
            NodeSize { memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles };
        (size.numbers().iter().all(|n| (0..1 << 50).contains(n)) && size.is_known()).then_some(size)
    }

    fn numbers(&self) -> [i64; 8] {
        let NodeSize { memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles } =
            *self;
        [memory, node_memory, disk, free_disk, cpus, node_cpus, spindles, free_spindles]
    }

    /// Tells if this is a real size, not the zeros that a node reports when it is off.
    pub fn is_known(&self) -> bool {
        self.memory > 0 && self.cpus > 0
    }
}
