//! Odd clusters. Each case takes a few oddities from a list, so that each one is combined with many others. The rest
//! of the cluster stays sane enough for balancing to find moves.

use std::collections::BTreeSet;

use htools::generate::random::Random;
use htools::load::raw::{RawCluster, RawInstance, RawNode};
use htools::model::{Disk, DiskTemplate, GroupIdx, Mib, NodeIdx, Outage, RunStatus};

use super::decorate;
use super::oddities::{self, Purpose};

/// A cluster, with properties of its text form that the raw data does not contain.
#[derive(Debug, Clone)]
pub struct OddCluster {
    pub purpose: Purpose,
    /// The data as a loader returns it.
    pub raw: RawCluster,
    /// Nodes written with a `?` where a number belongs.
    pub unknown: BTreeSet<usize>,
    /// The oddities it has, for statistics and for choosing options.
    pub features: BTreeSet<&'static str>,
}

impl OddCluster {
    /// Tells if it has the oddity.
    pub fn has(&self, feature: &str) -> bool {
        self.features.contains(feature)
    }
}

/// A node while instances are placed on it.
pub struct Room {
    group: usize,
    mem: i64,
    own: i64,
    disk: i64,
    cpus: i64,
    /// Resources used by its instances: memory, disk and vCPUs.
    used_mem: i64,
    used_disk: i64,
    vcpus: i64,
    /// Memory to reserve for the instances of each other node.
    peers: Vec<i64>,
}

impl Room {
    fn free(&self) -> i64 {
        self.mem - self.own - self.used_mem
    }

    fn reserved(&self) -> i64 {
        self.peers.iter().copied().max().unwrap_or(0)
    }
}

/// Creates an odd cluster.
pub fn odd_cluster(purpose: Purpose, random: &mut Random) -> OddCluster {
    let (nodes, instances, size) = oddities::extent(purpose, random);
    let mut odd = sized(purpose, nodes, instances, random);
    odd.features.extend(size);
    odd
}

/// Creates an odd cluster with these numbers of nodes and instances.
pub fn sized(purpose: Purpose, nodes: usize, instances: usize, random: &mut Random) -> OddCluster {
    let mut odd = OddCluster {
        purpose,
        features: oddities::draw(purpose, random),
        raw: RawCluster::default(),
        unknown: BTreeSet::new(),
    };
    let groups = if odd.has("several groups") { random.between(2, 3) as usize } else { 1 };
    odd.raw.groups = (0..groups).map(|g| decorate::group(g, odd.purpose, random)).collect();
    let mut rooms = rooms(&odd, nodes, groups, random);
    let sizes = Sizes::new(&odd, &rooms, instances, random);
    let placed = place_all(&odd, &sizes, instances, &mut rooms, random);
    odd.raw.instances = placed;
    let made = rooms.iter().map(|room| node(&odd, room, random)).collect();
    odd.raw.nodes = made;
    decorate::decorate(&mut odd, random);
    odd
}

fn rooms(odd: &OddCluster, nodes: usize, groups: usize, random: &mut Random) -> Vec<Room> {
    let (mems, owns, disks, cpus): (&[i64], &[i64], &[i64], &[i64]) = match odd.purpose {
        Purpose::Fill => (&[1024, 2048, 4096], &[0, 0, 64, 128], &[20_480, 51_200, 102_400], &[2, 4, 8]),
        Purpose::Balance | Purpose::Allocate => (
            &[4096, 8192, 16384, 32768, 65536],
            &[0, 0, 256, 512, 1024],
            &[100_000, 409_600, 1_048_576, 4_194_304],
            &[4, 8, 16, 24, 32],
        ),
    };
    let (mem, own) = (*random.pick(mems), *random.pick(owns));
    let (disk, cpus) = (*random.pick(disks), *random.pick(cpus));
    (0..nodes)
        .map(|i| {
            let mut room = Room {
                group: i % groups,
                mem,
                own,
                disk,
                cpus,
                used_mem: 0,
                used_disk: 0,
                vcpus: 0,
                peers: vec![0; nodes],
            };
            if odd.has("different nodes") {
                room.mem = mem / 2 * random.between(2, 4);
                room.disk = disk / 2 * random.between(2, 4);
                room.cpus = cpus / 2 * random.between(2, 4);
            }
            if odd.has("odd sizes") {
                room.mem += random.between(0, 999);
                room.own += random.between(0, 99);
                room.disk += random.between(0, 9999);
                room.cpus += random.between(0, 3);
            }
            room
        })
        .collect()
}

/// The sizes from which instances are drawn.
struct Sizes {
    mem: Vec<i64>,
    disk: Vec<i64>,
    vcpus: Vec<i64>,
    /// Share of the nodes that has most of the instances.
    skew: f64,
}

impl Sizes {
    fn new(odd: &OddCluster, rooms: &[Room], instances: usize, random: &mut Random) -> Self {
        let count = instances.max(1) as f64;
        let fill = if odd.has("nearly full") { 0.7 } else { 0.2 } + 0.5 * random.unit();
        let mem = rooms.iter().map(|r| r.mem).sum::<i64>() as f64 * fill * 0.75 / count;
        let disk = rooms.iter().map(|r| r.disk).sum::<i64>() as f64 * fill * 0.5 / count;
        let vcpus = rooms.iter().map(|r| r.cpus).sum::<i64>() as f64 * fill * 1.5 / count;
        // An instance that violates the policy cannot be placed anywhere, so it must be an exception.
        let (least_mem, least_disk, most_cpus) = match odd.purpose {
            Purpose::Allocate if random.chance(0.9) => (128, 1024, 8.0),
            _ => (64, 512, f64::MAX),
        };
        let vcpus = vcpus.min(most_cpus / 2.0);
        let kinds = if odd.has("symmetric") { 1 } else { random.between(1, 5) };
        let exact = odd.has("odd sizes");
        let mut some = |mean: f64, unit: i64, least: i64| {
            (0..kinds)
                .map(|_| {
                    let size = (mean * (0.4 + 1.4 * random.unit())) as i64;
                    if exact { size.max(1) } else { (size / unit * unit).max(least) }
                })
                .collect()
        };
        Sizes {
            mem: some(mem, 64, least_mem),
            disk: some(disk, 512, least_disk),
            vcpus: some(vcpus, 1, 1),
            skew: *random.pick(&[0.3, 0.5, 0.5, 0.7, 1.0]),
        }
    }
}

fn template(odd: &OddCluster, random: &mut Random) -> DiskTemplate {
    use DiskTemplate::{Drbd, Ext, Plain, Rbd};
    if odd.has("every template") {
        *random.pick(DiskTemplate::ALL)
    } else if odd.has("no drbd") {
        *random.pick(&[Ext, Ext, Rbd, Plain])
    } else {
        [Drbd, Ext, Plain][random.weighted(&[0.85, 0.1, 0.05])]
    }
}

fn place_all(
    odd: &OddCluster,
    sizes: &Sizes,
    count: usize,
    rooms: &mut [Room],
    random: &mut Random,
) -> Vec<RawInstance> {
    let mut made: Vec<RawInstance> = Vec::new();
    if rooms.is_empty() {
        return made;
    }
    for number in 0..count {
        let template = template(odd, random);
        let mut mem = *random.pick(&sizes.mem);
        let mut disk = *random.pick(&sizes.disk);
        let vcpus = *random.pick(&sizes.vcpus);
        if odd.has("zero disks") && random.chance(0.2) {
            disk = 0;
        }
        if odd.has("odd sizes") && random.chance(0.02) {
            mem = 0;
        }
        let status = if odd.has("run states") && random.chance(0.35) {
            *random.pick(RunStatus::ALL)
        } else {
            RunStatus::Running
        };
        let auto_balance = !(odd.has("auto_balance N") && random.chance(0.25));
        let forthcoming = odd.has("forthcoming") && random.chance(0.15);
        let mut instance = RawInstance {
            name: String::new(),
            mem: Mib(mem),
            disk: Mib(disk),
            disks: vec![Disk { size: Mib(disk), spindles: None }],
            vcpus,
            status,
            auto_balance,
            primary: NodeIdx::new(0),
            secondary: None,
            template,
            spindle_use: 1,
            tags: Vec::new(),
            networks: Vec::new(),
            forthcoming,
        };
        let tries = 30;
        let found = (0..tries).find_map(|attempt| {
            let pool = (rooms.len() as f64 * sizes.skew).ceil() as usize;
            let mut draw = || {
                let most = random.chance(0.8);
                random.below(if most { pool.max(2).min(rooms.len()) } else { rooms.len() })
            };
            let (mut primary, mut secondary) = (draw(), template.has_secondary().then(&mut draw));
            if odd.has("symmetric") {
                // A regular pattern gives many moves of equal value.
                primary = (number + attempt) % pool.max(1);
                secondary = secondary.map(|_| (primary + 1 + attempt) % rooms.len());
            }
            let forced = odd.has("over-committed") && attempt == tries - 1;
            let safe = !odd.has("failing N+1");
            let strange = odd.has("split instances") && random.chance(0.12);
            fits(rooms, &instance, primary, secondary, strange, safe, forced).then_some((primary, secondary))
        });
        let Some((primary, secondary)) = found else { continue };
        instance.primary = NodeIdx::new(primary);
        instance.secondary = secondary.map(NodeIdx::new);
        take(rooms, &instance);
        made.push(instance);
    }
    made
}

fn needs(instance: &RawInstance) -> i64 {
    if instance.auto_balance && !instance.status.is_offline() && !instance.forthcoming {
        instance.mem.0
    } else {
        0
    }
}

fn fits(
    rooms: &[Room],
    instance: &RawInstance,
    primary: usize,
    secondary: Option<usize>,
    across: bool,
    safe: bool,
    forced: bool,
) -> bool {
    let p = &rooms[primary];
    let (mem, disk) = (instance.mem.0, instance.disk.0);
    if let Some(secondary) = secondary {
        let s = &rooms[secondary];
        if secondary == primary || (s.group != p.group && !across) {
            return false;
        }
        let reserve = s.peers[primary] + needs(instance);
        if !forced && (s.disk - s.used_disk <= disk || (safe && reserve >= s.free())) {
            return false;
        }
    }
    let local = instance.template.uses_local_storage();
    forced
        || (p.free() - mem > if safe { p.reserved() } else { 0 }
            && p.vcpus + instance.vcpus <= p.cpus * 4
            && !(local && p.disk - p.used_disk <= disk))
}

fn take(rooms: &mut [Room], instance: &RawInstance) {
    let primary = instance.primary.get();
    let disk = if instance.template.uses_local_storage() { instance.disk.0 } else { 0 };
    let p = &mut rooms[primary];
    // Stopped instances keep their room, because they may be started.
    p.used_mem += instance.mem.0;
    p.vcpus += instance.vcpus;
    p.used_disk += disk;
    if let Some(secondary) = instance.secondary {
        let s = &mut rooms[secondary.get()];
        s.used_disk += disk;
        s.peers[primary] += needs(instance);
    }
}

fn node(odd: &OddCluster, room: &Room, random: &mut Random) -> RawNode {
    let part = if odd.has("odd sizes") && random.chance(0.3) { 0.5 } else { 0.0 };
    RawNode {
        name: String::new(),
        mem_total: room.mem as f64 + part,
        mem_node: Mib(room.own),
        mem_free: Mib(0),
        disk_total: room.disk as f64 + part,
        disk_free: Mib(room.disk - room.used_disk),
        cpu_total: room.cpus as f64,
        cpu_node: 1,
        cpu_speed: 1.0,
        spindle_total: 1,
        spindle_free: 0,
        exclusive_storage: false,
        offline: false,
        outage: Outage::default(),
        master: false,
        group: GroupIdx::new(room.group),
        tags: Vec::new(),
        hypervisor: None,
    }
}
