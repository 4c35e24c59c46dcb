//! The generator. Its time is linear in nodes plus instances: 10,000 nodes and 100,000 instances take well under a
//! second.

use std::collections::HashMap;

use super::random::Random;
use super::{ClusterSpec, TemplateMix};
use crate::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools_model::{
    AllocPolicy, Disk, DiskParameters, DiskTemplate, GroupIdx, InstancePolicy, Mib, NodeIdx, Outage,
    RunStatus,
};

/// Number of places tried for an instance before it is left out.
const TRIES: usize = 200;
/// Memory that a primary keeps free, in MiB.
const KEPT_FREE: i64 = 2048;
/// Virtual CPUs per physical CPU, as in the default policy.
const VCPU_RATIO: i64 = 4;

/// A node while it is being filled.
struct NodeRoom {
    group: usize,
    mem_total: i64,
    mem_free: i64,
    disk_total: i64,
    disk_free: i64,
    cpus: i64,
    vcpus: i64,
    rack: usize,
    /// Memory reserved here for the instances of each primary node.
    peers: HashMap<usize, i64>,
    /// The largest of these reserves, needed if one node is lost.
    reserved: i64,
}

/// Makes the cluster that `spec` describes.
pub fn cluster(spec: &ClusterSpec) -> RawCluster {
    let mut random = Random::new(spec.seed);
    let groups = spec.groups.max(1);
    let mut rooms: Vec<NodeRoom> =
        (0..spec.nodes).map(|i| empty_room(spec, i % groups, &mut random)).collect();
    let mut by_group = vec![Vec::new(); groups];
    for (node, room) in rooms.iter().enumerate() {
        by_group[room.group].push(node);
    }
    let sizes = MemorySizes::new(spec);
    let instances = (0..spec.instances)
        .filter_map(|number| place(spec, number, &sizes, &by_group, &mut rooms, &mut random))
        .collect();
    RawCluster {
        groups: (0..groups).map(group).collect(),
        nodes: rooms.iter().enumerate().map(|(i, room)| node(spec, i, room)).collect(),
        instances,
        tags: if spec.tags {
            vec!["htools:iextags:service".into(), "htools:nlocation:rack".into()]
        } else {
            Vec::new()
        },
        policy: InstancePolicy::default(),
        ..RawCluster::default()
    }
}

fn empty_room(spec: &ClusterSpec, group: usize, random: &mut Random) -> NodeRoom {
    let (mem_total, cpus, disk_total) = if spec.heterogeneous {
        (
            *random.pick(&[49152, 65536, 98304]),
            *random.pick(&[16, 24, 32]),
            *random.pick(&[3_145_728, 4_194_304, 6_291_456]),
        )
    } else {
        (65536, 24, 4_194_304)
    };
    NodeRoom {
        group,
        mem_total,
        mem_free: mem_total - 1024,
        disk_total,
        disk_free: disk_total,
        cpus,
        vcpus: 0,
        rack: random.below((spec.nodes / 20).max(2)),
        peers: HashMap::new(),
        reserved: 0,
    }
}

/// Memory sizes of instances, chosen to fill the cluster to the wanted share.
struct MemorySizes {
    sizes: Vec<i64>,
    weights: Vec<f64>,
}

impl MemorySizes {
    fn new(spec: &ClusterSpec) -> Self {
        let mut mean = spec.fill * 65536.0 * spec.nodes as f64 / spec.instances.max(1) as f64;
        if matches!(spec.templates, TemplateMix::Drbd | TemplateMix::Mixed) {
            // The other quarter is for the reserves of secondaries.
            mean *= 0.75;
        }
        let mut sizes: Vec<i64> =
            [512, 1024, 2048, 4096, 8192, 16384].into_iter().filter(|s| *s as f64 <= mean * 2.5).collect();
        if sizes.is_empty() {
            sizes.push(512);
        }
        let weights = sizes.iter().map(|s| 1.0 / (1.0 + (*s as f64 - mean).abs() / mean.max(1.0))).collect();
        MemorySizes { sizes, weights }
    }
}

/// Finds a place for one instance; `None` after [`TRIES`] attempts.
fn place(
    spec: &ClusterSpec,
    number: usize,
    sizes: &MemorySizes,
    by_group: &[Vec<usize>],
    rooms: &mut [NodeRoom],
    random: &mut Random,
) -> Option<RawInstance> {
    let template = match spec.templates {
        TemplateMix::Drbd => DiskTemplate::Drbd,
        TemplateMix::Ext => DiskTemplate::Ext,
        TemplateMix::Plain => DiskTemplate::Plain,
        TemplateMix::Mixed => {
            *random.pick(&[DiskTemplate::Drbd, DiskTemplate::Drbd, DiskTemplate::Ext, DiskTemplate::Plain])
        }
    };
    let mem = sizes.sizes[random.weighted(&sizes.weights)];
    let disk = *random.pick(&[10240, 20480, 51200, 102_400]);
    let vcpus = *random.pick(&[1, 1, 2, 2, 4]);
    let (primary, secondary) = (0..TRIES).find_map(|_| {
        let pool = &by_group[random.below(by_group.len())];
        let hot = &pool[..pool.len().min(((pool.len() as f64 * spec.skew) as usize).max(2))];
        if hot.is_empty() {
            return None;
        }
        let mut draw = || if random.chance(0.75) { *random.pick(hot) } else { *random.pick(pool) };
        let primary = draw();
        let secondary = template.has_secondary().then(&mut draw);
        fits(rooms, template, mem, disk, vcpus, primary, secondary).then_some((primary, secondary))
    })?;

    let room = &mut rooms[primary];
    room.mem_free -= mem;
    room.vcpus += vcpus;
    if template.uses_local_storage() {
        room.disk_free -= disk;
    }
    if let Some(secondary) = secondary {
        let room = &mut rooms[secondary];
        room.disk_free -= disk;
        let peer = room.peers.entry(primary).or_insert(0);
        *peer += mem;
        room.reserved = room.reserved.max(*peer);
    }
    let tags = if spec.tags && random.chance(0.3) {
        vec![format!("service:{}", random.below((spec.instances / 8).max(1)))]
    } else {
        Vec::new()
    };
    Some(RawInstance {
        name: format!("inst-{:06}.example.com", number + 1),
        mem: Mib(mem),
        disk: Mib(disk),
        disks: vec![Disk { size: Mib(disk), spindles: None }],
        vcpus,
        status: RunStatus::Running,
        auto_balance: true,
        primary: NodeIdx::new(primary),
        secondary: secondary.map(NodeIdx::new),
        template,
        spindle_use: 1,
        tags,
        networks: Vec::new(),
        forthcoming: false,
    })
}

/// Tells if the instance fits, and every node can still take over from any one other node.
fn fits(
    rooms: &[NodeRoom],
    template: DiskTemplate,
    mem: i64,
    disk: i64,
    vcpus: i64,
    primary: usize,
    secondary: Option<usize>,
) -> bool {
    let has_disk = |room: &NodeRoom| room.disk_free as f64 >= disk as f64 * 1.2;
    let p = &rooms[primary];
    if p.mem_free - mem < KEPT_FREE.max(p.reserved + 1)
        || p.vcpus + vcpus > p.cpus * VCPU_RATIO
        || (template.uses_local_storage() && !has_disk(p))
    {
        return false;
    }
    secondary.is_none_or(|secondary| {
        let s = &rooms[secondary];
        secondary != primary && has_disk(s) && s.peers.get(&primary).copied().unwrap_or(0) + mem < s.mem_free
    })
}

fn group(number: usize) -> RawGroup {
    RawGroup {
        name: format!("group-{:02}", number + 1),
        uuid: format!("uuid-{:02}", number + 1),
        alloc_policy: AllocPolicy::Preferred,
        networks: Vec::new(),
        policy: InstancePolicy::default(),
        disk_parameters: DiskParameters::default(),
        tags: Vec::new(),
    }
}

fn node(spec: &ClusterSpec, number: usize, room: &NodeRoom) -> RawNode {
    RawNode {
        name: format!("node-{:05}.example.com", number + 1),
        mem_total: room.mem_total as f64,
        mem_node: Mib(1024),
        mem_free: Mib(room.mem_free),
        disk_total: room.disk_total as f64,
        disk_free: Mib(room.disk_free),
        cpu_total: room.cpus as f64,
        cpu_node: 1,
        cpu_speed: 1.0,
        spindle_total: 1,
        spindle_free: 1,
        exclusive_storage: false,
        offline: false,
        outage: Outage::default(),
        master: number == 0,
        group: GroupIdx::new(room.group),
        tags: if spec.tags { vec![format!("rack:{}", room.rack)] } else { Vec::new() },
        hypervisor: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(templates: TemplateMix) -> ClusterSpec {
        ClusterSpec { groups: 3, heterogeneous: true, tags: true, ..ClusterSpec::new(30, 300, templates, 5) }
    }

    #[test]
    fn a_seed_names_one_cluster() {
        let spec = spec(TemplateMix::Mixed);
        assert_eq!(cluster(&spec), cluster(&spec));
        assert_ne!(cluster(&spec), cluster(&ClusterSpec { seed: 6, ..spec }));
    }

    #[test]
    fn every_node_can_take_over_from_any_other() {
        for templates in [TemplateMix::Drbd, TemplateMix::Ext, TemplateMix::Plain, TemplateMix::Mixed] {
            let made = cluster(&spec(templates));
            assert!(made.instances.len() > 250, "{templates:?}: {}", made.instances.len());
            for (number, node) in made.nodes.iter().enumerate() {
                let mut used = 1024;
                let mut peers = vec![0; made.nodes.len()];
                for instance in &made.instances {
                    if instance.primary.get() == number {
                        used += instance.mem.0;
                    }
                    if instance.secondary.is_some_and(|s| s.get() == number) {
                        peers[instance.primary.get()] += instance.mem.0;
                    }
                }
                assert_eq!(node.mem_total as i64 - used, node.mem_free.0);
                assert!(peers.iter().all(|peer| *peer < node.mem_free.0), "{templates:?}, node {number}");
                assert!(node.disk_free.0 > 0);
            }
        }
    }

    #[test]
    fn odd_sizes_give_small_clusters_not_failures() {
        for (nodes, instances) in [(0, 0), (0, 5), (1, 5), (2, 0)] {
            for templates in [TemplateMix::Drbd, TemplateMix::Ext] {
                let made = cluster(&ClusterSpec::new(nodes, instances, templates, 1));
                assert_eq!(made.nodes.len(), nodes);
                assert!(made.instances.len() <= instances);
            }
        }
    }

    #[test]
    fn large_clusters_are_filled_as_asked() {
        let made = cluster(&ClusterSpec::new(1000, 10_000, TemplateMix::Drbd, 1));
        assert!(made.instances.len() > 9_900, "{}", made.instances.len());
    }
}
