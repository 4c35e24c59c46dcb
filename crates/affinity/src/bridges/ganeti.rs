//! A Ganeti cluster as resources with capacities, to try Pacemaker's strategies on it.

use std::collections::BTreeMap;

use htools_model::kinds::Mirroring;
use htools_model::storage::StorageMap;
use htools_model::{Cluster, Instance, Node, NodeIdx};
use htools_pacemaker::capacity::Capacities;
use htools_pacemaker::index::{AttributeIdx, HostIdx, ResourceIdx};
use htools_pacemaker::quantity::MeasuredCapacity;
use htools_pacemaker::score::AllocationScore;
use htools_pacemaker::working_set::{
    Charge, ExclusionGroup, Host, HostState, LocationScore, Resource, Strategy, WorkingSet,
};

/// Kinds of capacity: memory in MiB, disk in MiB, virtual CPUs.
const KINDS: [MeasuredCapacity; 3] =
    [MeasuredCapacity::Memory, MeasuredCapacity::Disk, MeasuredCapacity::Vcpus];
const MEMORY: usize = 0;
const DISK: usize = 1;
const VCPUS: usize = 2;

/// The host attribute that names the node group.
const GROUP: &str = "group";
/// Score against two instances with a common exclusion tag on one node. As for hbal it is a preference: they run
/// together rather than not at all.
const APART: i64 = -1000;

/// The nodes and instances of a Ganeti cluster as Pacemaker's strategies see them.
///
/// * The memory of a node is [`NodeSpec::mem_for_instances`](htools_model::NodeSpec::mem_for_instances) less its
///   reserve for the failure of another node.
/// * Its virtual CPUs are its physical ones times the ratio of its policy, less its own.
/// * Its tags are attributes.
/// * An instance can go to the nodes of its group that reach its disks. With DRBD these are its two nodes; its disks
///   count on both if they are online. With local disks it is the instance's own node.
/// * A running instance is live-migrated, a stopped one stays stopped, and one that is not balanced stays on its node.
///
/// `stickiness` (at least 0) is the score for staying on the node.
pub fn working_set(cluster: &Cluster, stickiness: AllocationScore) -> WorkingSet {
    let mut set = WorkingSet {
        strategy: Some(Strategy::Balanced),
        symmetric: true,
        attributes: KINDS.map(|kind| kind.names()[0].to_owned()).to_vec(),
        ..WorkingSet::default()
    };
    let mut nodes = cluster.all_nodes();
    nodes.sort_by(|one, other| cluster.node(*one).spec.name.cmp(&cluster.node(*other).spec.name));
    let mut hosts = vec![HostIdx::new(0); nodes.len()];
    for node in nodes {
        hosts[node.get()] = HostIdx::new(set.hosts.len());
        set.hosts.push(host(cluster, cluster.node(node)));
    }
    set.status_order = cluster.all_nodes().iter().map(|node| hosts[node.get()]).collect();
    let storage = StorageMap::of(cluster);
    let existing = || cluster.instances.iter().filter(|instance| !instance.forthcoming);
    let allowed: Vec<Vec<NodeIdx>> =
        existing().map(|instance| reachable(cluster, &storage, instance)).collect();
    set.symmetric = allowed.iter().all(|nodes| nodes.len() == cluster.nodes.len());
    let mut tagged: BTreeMap<&str, Vec<ResourceIdx>> = BTreeMap::new();
    for (instance, allowed) in existing().zip(&allowed) {
        let resource = ResourceIdx::new(set.resources.len());
        let online = !cluster.node(instance.primary).spec.offline;
        set.resources.push(Resource {
            stickiness,
            stopped: !instance.status.uses_memory(),
            managed: instance.auto_balance || !online,
            allow_migrate: instance.status.is_running(),
            utilization: needed(instance),
            active: (online && instance.status.uses_memory()).then(|| hosts[instance.primary.get()]),
            ..Resource::plain(instance.name.clone())
        });
        if !set.symmetric {
            let place = |node: &NodeIdx| LocationScore {
                id: String::new(),
                resource,
                host: hosts[node.get()],
                score: AllocationScore::ZERO,
                exclusive: false,
            };
            set.locations.extend(allowed.iter().map(place));
        }
        let of_online = copies(instance).filter(|(node, _)| !cluster.node(*node).spec.offline);
        set.charges.extend(of_online.map(|(node, utilization)| Charge {
            resource: instance.name.clone(),
            host: hosts[node.get()],
            utilization,
        }));
        for (tag, _) in instance.exclusion_tags.counts().iter() {
            tagged.entry(cluster.tag_table.name(tag)).or_default().push(resource);
        }
    }
    let exclusion = |members| ExclusionGroup { members, score: AllocationScore::of(APART) };
    set.exclusions = tagged.into_values().map(exclusion).collect();
    set.set_scores();
    set
}

fn host(cluster: &Cluster, node: &Node) -> Host {
    let spec = &node.spec;
    let tags = spec.tags.iter().map(|tag| (tag.clone(), "true".to_owned()));
    let group = cluster.group(spec.group).name.clone();
    let memory = spec.mem_for_instances() - node.state.ledger.mem_reserved;
    #[allow(clippy::cast_possible_truncation)] // `as` ends at the largest number
    let whole = |amount: f64| amount.floor() as i64;
    // The ratio includes the CPUs that the node itself uses.
    let vcpus = whole(spec.cpu_total * spec.vcpu_ratio).saturating_sub(spec.cpu_node);
    Host {
        id: spec.name.clone(),
        name: spec.name.clone(),
        attributes: tags.chain([(GROUP.to_owned(), group)]).collect(),
        // Little is known about a node that does not answer.
        capacity: amounts(
            [(MEMORY, memory.0), (DISK, whole(spec.disk_total)), (VCPUS, vcpus)]
                .map(|(kind, amount)| (kind, if spec.offline { amount.max(0) } else { amount })),
        ),
        state: HostState { online: !spec.offline, ..HostState::default() },
        ..Host::default()
    }
}

/// Capacity that an instance needs on the node where it runs, without copies of its disks.
fn needed(instance: &Instance) -> Capacities {
    let disk = match instance.template.mirroring() {
        Mirroring::None => instance.local_disk().0,
        Mirroring::Internal | Mirroring::External => 0,
    };
    amounts([(MEMORY, instance.mem.0), (DISK, disk), (VCPUS, instance.vcpus)])
}

/// Disks that are on two nodes, wherever the instance runs.
fn copies(instance: &Instance) -> impl Iterator<Item = (NodeIdx, Capacities)> {
    let mirrored = instance.template.mirroring() == Mirroring::Internal;
    let disk = amounts([(DISK, instance.local_disk().0)]);
    instance.nodes().filter(move |_| mirrored).map(move |node| (node, disk.clone()))
}

fn amounts<const N: usize>(pairs: [(usize, i64); N]) -> Capacities {
    let mut amounts = Capacities::default();
    pairs.iter().for_each(|(kind, amount)| amounts.set(AttributeIdx::new(*kind), *amount));
    amounts
}

/// The nodes that can run an instance.
pub(crate) fn reachable(cluster: &Cluster, storage: &StorageMap, instance: &Instance) -> Vec<NodeIdx> {
    match instance.template.mirroring() {
        Mirroring::None => vec![instance.primary],
        Mirroring::Internal => instance.nodes().collect(),
        Mirroring::External => {
            let mut nodes = cluster.nodes_of(cluster.node(instance.primary).spec.group).to_vec();
            nodes.retain(|node| *node == instance.primary || storage.reaches(*node, instance.idx));
            nodes
        }
    }
}
