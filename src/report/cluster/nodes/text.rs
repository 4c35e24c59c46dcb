//! The node list (`-p`).

use super::NodeMemory;
use crate::model::number::{fixed, plain};
use crate::model::{Cluster, InstanceIdx, Mib, Node, NodeIdx};
use crate::report::form::table::{Align, Table};

/// The fields shown when none are asked for.
pub const DEFAULT_FIELDS: [&str; 22] = [
    "status", "name", "tmem", "nmem", "imem", "xmem", "fmem", "umem", "rmem", "tdsk", "fdsk", "tcpu", "ucpu",
    "pcnt", "scnt", "pfmem", "pfdsk", "rcpu", "cload", "mload", "dload", "nload",
];

/// A column of the node list.
struct Field {
    key: &'static str,
    header: &'static str,
    meaning: &'static str,
    align: Align,
    cell: fn(&Cluster, &Node) -> String,
}

const fn left(
    key: &'static str,
    header: &'static str,
    meaning: &'static str,
    cell: fn(&Cluster, &Node) -> String,
) -> Field {
    Field { key, header, meaning, align: Align::Left, cell }
}

const fn right(
    key: &'static str,
    header: &'static str,
    meaning: &'static str,
    cell: fn(&Cluster, &Node) -> String,
) -> Field {
    Field { key, header, meaning, align: Align::Right, cell }
}

/// Every field that can be asked for.
static FIELDS: [Field; 30] = [
    right("idx", "Index", "number of the node, from 0 on in the order of the source", |c, n| {
        format!("{:4}", c.node_number(n.spec.idx))
    }),
    left("name", "Name", "name without the domain that all names of the cluster end in", |_, n| {
        n.spec.alias().to_owned()
    }),
    left("fqdn", "Name", "full name", |_, n| n.spec.name.clone()),
    left("status", "F", "- if the node is offline, * if it fails N+1", |_, n| status(n).to_owned()),
    right("tmem", "t_mem", "total memory, MiB", |_, n| format!("{:>5}", fixed(n.spec.mem_total, 0))),
    right("nmem", "n_mem", "memory used by the node itself, MiB", |_, n| mib(NodeMemory::of(n).node)),
    right("imem", "i_mem", "memory of the primary instances, MiB", |_, n| mib(NodeMemory::of(n).instances)),
    right("xmem", "x_mem", "memory that nobody accounts for, MiB", |_, n| mib(NodeMemory::of(n).unaccounted)),
    right("fmem", "f_mem", "free memory, MiB", |_, n| mib(NodeMemory::of(n).reported_free)),
    right("umem", "u_mem", "unallocated memory, MiB", |_, n| mib(NodeMemory::of(n).unallocated)),
    right("amem", "a_mem", "unallocated memory beyond what is reserved, MiB", |_, n| {
        mib(n.state.ledger.mem_available(&n.spec))
    }),
    right("rmem", "r_mem", "memory reserved for failovers, MiB", |_, n| mib(NodeMemory::of(n).reserved)),
    right("tdsk", "t_dsk", "total disk, GiB", |_, n| format!("{:>5}", fixed(n.spec.disk_total / 1024.0, 0))),
    right("fdsk", "f_dsk", "free disk, GiB", |_, n| format!("{:5}", n.state.ledger.disk_free.gib_floor())),
    right("tcpu", "pcpu", "physical CPUs", |_, n| format!("{:>4}", fixed(n.spec.cpu_total, 0))),
    right("ucpu", "vcpu", "virtual CPUs in use", |_, n| format!("{:4}", n.state.ledger.vcpus)),
    right("pcnt", "pcnt", "number of primary instances", |_, n| format!("{:3}", n.state.primaries.len())),
    right("scnt", "scnt", "number of secondary instances", |_, n| format!("{:3}", n.state.secondaries.len())),
    right("plist", "primaries", "numbers of the primary instances", |_, n| newest_first(&n.state.primaries)),
    right("slist", "secondaries", "numbers of the secondary instances", |_, n| {
        newest_first(&n.state.secondaries)
    }),
    right("pfmem", "p_fmem", "unallocated memory, share of the total", |_, n| {
        ratio(n.state.ledger.mem_unallocated(&n.spec).as_f64() / n.spec.mem_total)
    }),
    right("pfdsk", "p_fdsk", "free disk, share of the total", |_, n| {
        ratio(n.state.ledger.free_disk_ratio(&n.spec))
    }),
    right("rcpu", "r_cpu", "virtual CPUs per physical CPU", |_, n| {
        format!("{:>5}", fixed(n.state.ledger.vcpus as f64 / n.spec.cpu_total, 2))
    }),
    right("cload", "lCpu", "processor load of the primary instances", |_, n| load(n.state.ledger.load.cpu)),
    right("mload", "lMem", "memory load of the primary instances", |_, n| load(n.state.ledger.load.mem)),
    right("dload", "lDsk", "disk load of the primary and the secondary instances", |_, n| {
        load(n.state.ledger.load.disk)
    }),
    right("nload", "lNet", "network load of the primary instances", |_, n| load(n.state.ledger.load.net)),
    left("ptags", "PrimaryTags", "exclusion tags of the primary instances, with their numbers", primary_tags),
    left("peermap", "PeerMap", "for which nodes memory is reserved, and how much (MiB)", peer_map),
    right("spindle_count", "NodeSpindles", "spindles", |_, n| n.spec.spindle_total.to_string()),
];

/// Fields shown as plain doubles; kept apart so that both lists stay readable.
static SPINDLE_FIELDS: [Field; 2] = [
    right("hi_spindles", "MaxSpindles", "most spindle weight that the policy allows", |_, n| {
        plain(n.spec.spindle_limit)
    }),
    right("inst_spindles", "InstSpindles", "spindle weight of the instances", |_, n| {
        plain(n.state.ledger.spindles_used)
    }),
];

/// All fields: the key, the heading of the column, and the meaning with its unit. Manual pages and completion scripts
/// use this.
pub fn fields() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FIELDS.iter().chain(&SPINDLE_FIELDS).map(|field| (field.key, field.header, field.meaning))
}

/// The fields named in a text, which must all exist. An empty text means the default fields, a leading `+` these and
/// more, anything else only those named.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let (usual, named) = match text.strip_prefix('+') {
        Some(more) => (&DEFAULT_FIELDS[..], more),
        None if text.is_empty() => (&DEFAULT_FIELDS[..], ""),
        None => (&[][..], text),
    };
    let named = named.split(',').filter(move |_| !named.is_empty());
    usual.iter().copied().chain(named)
}

/// The first unknown word in a list of fields.
pub fn unknown_field(text: &str) -> Option<&str> {
    named(text).find(|key| fields().all(|(field, ..)| field != *key))
}

fn mib(amount: Mib) -> String {
    format!("{:5}", amount.0)
}

fn ratio(x: f64) -> String {
    format!("{:>6}", fixed(x, 4))
}

/// A load value, here and in the instance list.
pub(in crate::report) fn load(x: f64) -> String {
    format!("{:>5}", fixed(x, 3))
}

/// `-` for offline, `*` for N+1 failure, otherwise a blank.
pub fn status(node: &Node) -> &'static str {
    match (node.spec.offline, node.state.ledger.n1_fail) {
        (true, _) => "-",
        (false, true) => "*",
        (false, false) => " ",
    }
}

fn newest_first(instances: &[InstanceIdx]) -> String {
    let numbers: Vec<String> = instances.iter().rev().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

fn primary_tags(cluster: &Cluster, node: &Node) -> String {
    let mut tags: Vec<(&str, i64)> =
        node.state.tag_count.iter().map(|(tag, count)| (cluster.tag_table.name(tag), count)).collect();
    tags.sort_unstable();
    let tags: Vec<String> = tags.iter().map(|(tag, count)| format!("{tag}={count}")).collect();
    tags.join(",")
}

fn peer_map(cluster: &Cluster, node: &Node) -> String {
    let peers: Vec<String> = node
        .state
        .peers
        .iter()
        .map(|(peer, amount)| format!("({},{})", cluster.node_number(peer), amount.0))
        .collect();
    format!("[{}]", peers.join(","))
}

/// The list of `nodes` with the given fields, as [`unknown_field`] accepts them.
pub fn node_list(cluster: &Cluster, nodes: &[NodeIdx], fields: &str) -> Vec<String> {
    let field = |key| FIELDS.iter().chain(&SPINDLE_FIELDS).find(|field| field.key == key);
    let columns: Vec<&Field> = named(fields).filter_map(field).collect();
    let mut table = Table::new(columns.iter().map(|f| (f.header, f.align)));
    for node in nodes {
        let node = cluster.node(*node);
        table.push(columns.iter().map(|f| (f.cell)(cluster, node)).collect());
    }
    table.lines("")
}
