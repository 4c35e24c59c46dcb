//! Random clusters of every kind, from a few numbers that shrink well.

use htools::load::merge::{MergeOptions, NodeOptions, apply_node_options, finish, merge};
use htools::load::raw::{RawCluster, RawGroup, RawInstance, RawNode};
use htools::model::known_tags::POOL;
use htools::model::metrics::AFFINITY;
use htools::model::{
    AffinityKey, AllocPolicy, CarriedKey, Cluster, Disk, DiskParameters, DiskTemplate, GroupIdx, InstanceIdx,
    InstancePolicy, KeyScope, Mib, Node, NodeIdx, Outage, RunStatus, Utilisation, Weights,
};
use htools::score::TABLE;
use htools::search::{BalanceOptions, MoveRules};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Number of cases, scaled by `PROPTEST_CASES`. The cases are always the same unless `PROPTEST_RNG_SEED` is set.
pub fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = (u64::from(config.cases) * u64::from(usual)).div_ceil(256) as u32;
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed => fixed,
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 200, ..config }
}

/// A small generator of random numbers (SplitMix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True in `percent` of all cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Kind of cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A bit of everything, with reasonable figures.
    Mixed,
    /// Scarce memory and disk, tight policies: many refusals, N+1 failures.
    Tight,
    /// Identical nodes, few kinds of instances: ties down to the last bit.
    Symmetric,
    /// As symmetric, with many instances that cannot leave offline nodes.
    Stranded,
    /// Figures that no real cluster has.
    Weird,
}

/// Parameters of a random cluster.
#[derive(Debug, Clone)]
pub struct Recipe {
    pub style: Style,
    pub nodes: usize,
    pub instances: usize,
    pub seed: u64,
}

/// Clusters of the given styles and sizes.
pub fn recipes(
    styles: &'static [Style],
    nodes: std::ops::RangeInclusive<usize>,
    instances: std::ops::RangeInclusive<usize>,
) -> impl Strategy<Value = Recipe> {
    let seed = any::<u64>().no_shrink();
    (prop::sample::select(styles), nodes, instances, seed)
        .prop_map(|(style, nodes, instances, seed)| Recipe { style, nodes, instances, seed })
}

const TEMPLATES: [DiskTemplate; 12] = [
    DiskTemplate::Drbd,
    DiskTemplate::Drbd,
    DiskTemplate::Drbd,
    DiskTemplate::Drbd,
    DiskTemplate::Ext,
    DiskTemplate::Rbd,
    DiskTemplate::SharedFile,
    DiskTemplate::Gluster,
    DiskTemplate::BlockDev,
    DiskTemplate::Plain,
    DiskTemplate::File,
    DiskTemplate::Diskless,
];
const WEIRD: [f64; 12] =
    [0.0, -0.0, -1.0, -4096.0, 1e-300, 1e18, 3e18, 1e30, 1e200, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// Ganeti's weights, or some changed, or all changed.
pub fn weights(dice: &mut Dice) -> Weights {
    let mut weights = Weights::default();
    let chance = dice.of(&[0, 0, 15, 60]);
    for metric in &TABLE {
        if dice.chance(chance) {
            let weight = dice.of(&[0.0, 0.0, 0.0, 0.1, 0.3, 1.0, 2.5, 7.0, 40.0, 1.0 / 3.0, 1e6, 1e-6]);
            weights.set(metric.name, weight).expect("a metric and a weight that there are");
        }
    }
    weights
}

struct Kitchen<'r> {
    recipe: &'r Recipe,
    dice: Dice,
    tags: bool,
    locations: bool,
    migrations: bool,
    exclusive: bool,
    forthcoming: usize,
    groups: usize,
}

impl Recipe {
    fn kitchen(&self) -> Kitchen<'_> {
        let mut dice = Dice::new(self.seed);
        let plain = self.symmetric() && dice.chance(70);
        Kitchen {
            tags: !plain && dice.chance(50),
            locations: !plain && dice.chance(40),
            migrations: !plain && dice.chance(25),
            exclusive: !plain && dice.chance(12),
            forthcoming: if plain || dice.chance(60) { 0 } else { 20 },
            groups: if plain || dice.chance(70) { 1 } else { 1 + dice.below(3) },
            recipe: self,
            dice,
        }
    }

    fn symmetric(&self) -> bool {
        matches!(self.style, Style::Symmetric | Style::Stranded)
    }

    /// The raw data.
    pub fn raw(&self) -> RawCluster {
        let mut raw = self.kitchen().raw();
        self.name_pools(&mut raw, &mut Dice::new(self.seed ^ 4));
        self.keep_out(&mut raw, &mut Dice::new(self.seed ^ 5));
        raw
    }

    /// Keeps the instances of some clusters out of some nodes, occasionally out of one of their own.
    fn keep_out(&self, raw: &mut RawCluster, dice: &mut Dice) {
        if !dice.chance(15) {
            return;
        }
        let (instances, nodes) = (dice.of(&[10, 60]), dice.of(&[10, 40]));
        for at in 0..raw.instances.len() {
            let template = raw.instances[at].template;
            let is_shared = template.uses_external_storage() || template == DiskTemplate::Diskless;
            if !is_shared || !dice.chance(instances) {
                continue;
            }
            let closed = (0..raw.nodes.len()).filter(|_| dice.chance(nodes)).map(NodeIdx::new);
            let closed: Vec<NodeIdx> = closed.collect();
            let primary = raw.instances[at].primary;
            let closed = closed.into_iter().filter(|node| *node != primary || dice.chance(10));
            raw.kept_out.extend(closed.map(|node| (InstanceIdx::new(at), node)));
        }
    }

    /// In some clusters, adds tags for the storage that each node reaches and for the location of disks.
    fn name_pools(&self, raw: &mut RawCluster, dice: &mut Dice) {
        if !dice.chance(if self.symmetric() { 15 } else { 30 }) {
            return;
        }
        let [of_groups, of_nodes, of_instances] = [25, 60, 40].map(|percent| dice.of(&[0, percent]));
        let pool = |dice: &mut Dice| format!("{POOL}{}", dice.of(&["ssd", "ssd", "hdd", "ext"]));
        for group in &mut raw.groups {
            if !dice.chance(of_groups) {
                continue;
            }
            group.tags.push(pool(dice));
        }
        for node in &mut raw.nodes {
            if !dice.chance(of_nodes) {
                continue;
            }
            node.tags.extend((0..=dice.below(2)).map(|_| pool(dice)));
        }
        for instance in &mut raw.instances {
            if !dice.chance(of_instances) {
                continue;
            }
            instance.tags.push(pool(dice));
        }
    }

    /// The finished cluster.
    pub fn cluster(&self) -> Cluster {
        let raw = self.raw();
        let mut dice = Dice::new(self.seed ^ 1);
        let weird = self.style == Style::Weird;
        let some_load = !self.symmetric() && dice.chance(50);
        let load = |dice: &mut Dice| {
            if weird && dice.chance(2) { dice.of(&WEIRD) } else { dice.of(&[0.0, 0.1, 0.5, 1.0, 2.5, 13.7]) }
        };
        let mut utilisation = Vec::new();
        for instance in raw.instances.iter().filter(|_| some_load) {
            let util = Utilisation {
                cpu: load(&mut dice),
                mem: load(&mut dice),
                disk: load(&mut dice),
                net: load(&mut dice),
            };
            utilisation.push((instance.name.clone(), util));
        }
        let ignore_dynu = dice.chance(10);
        let options = MergeOptions { utilisation, ignore_dynu, ..MergeOptions::default() };
        let mut cluster = merge(raw, &options).expect("no selection that could fail");
        let min_disk = if dice.chance(20) { dice.of(&[0.05, 0.2, 0.5]) } else { 0.0 };
        let max_cpu = dice.chance(15).then(|| dice.of(&[-1.0, 0.5, 2.0, 64.0]));
        let keep_reserve = dice.chance(25).then(|| dice.of(&[2, 2, 3, 50]));
        let of_nodes = NodeOptions { min_disk, max_cpu, keep_reserve, ..NodeOptions::default() };
        apply_node_options(&mut cluster, &of_nodes).expect("no names that could be unknown");
        finish(&mut cluster, Mib(0));
        // `--no-target`
        let mut dice = Dice::new(self.seed ^ 4);
        if dice.chance(15) {
            cluster.nodes.iter_mut().for_each(|node| node.spec.closed = dice.chance(25));
        }
        cluster.weights = weights(&mut Dice::new(self.seed ^ 2));
        self.carry_keys(&mut cluster, &mut Dice::new(self.seed ^ 3));
        cluster
    }

    /// Gives some clusters affinity keys.
    fn carry_keys(&self, cluster: &mut Cluster, dice: &mut Dice) {
        if !dice.chance(if self.symmetric() { 20 } else { 35 }) {
            return;
        }
        let few = dice.chance(50);
        let key = |dice: &mut Dice, name: usize, weight| AffinityKey {
            name: format!("key{name}"),
            value: dice.of(if few { &[1.0, 2.0] } else { &[0.0, 0.25, 1.0, 1.5, 2.0, 1e9] }),
            weight,
        };
        let keys = |dice: &mut Dice, percent: usize, weights: &[f64], scope: KeyScope| -> Vec<CarriedKey> {
            let here: Vec<usize> = (0..3).filter(|_| dice.chance(percent)).collect();
            here.into_iter()
                .map(|name| {
                    let weight = dice.of(weights);
                    CarriedKey { key: key(dice, name, weight), scope }
                })
                .collect()
        };
        // Copies of sticky keys, and the nodes' keys that they are compared with.
        let is_sticky = dice.chance(50);
        let weights: &[f64] =
            if few { &[0.5, -0.5] } else { &[0.01, 0.3, 1.0, -0.2, -1.0, 40.0, -0.000_001] };
        let carried: Vec<_> = cluster
            .instances
            .iter()
            .filter(|i| i.status == RunStatus::Running && !i.forthcoming)
            .map(|i| {
                let mut all = keys(dice, 30, weights, KeyScope::Shared);
                if is_sticky {
                    all.extend(keys(dice, 40, weights, KeyScope::Copy));
                }
                (i.idx, all)
            })
            .collect();
        let own = |n: &Node| {
            let mut all = keys(dice, 15, &[0.0], KeyScope::Shared);
            if is_sticky {
                all.extend(keys(dice, 60, &[0.0], KeyScope::Node));
            }
            (n.spec.idx, all)
        };
        let own: Vec<_> = cluster.nodes.iter().map(own).collect();
        cluster.carry_keys(&carried, &own).expect("weights that are not too large");
        cluster.weights.set(AFFINITY, dice.of(&[1.0, 1.0, 0.1, 7.0, 0.0])).expect("a weight");
    }
}

impl Kitchen<'_> {
    fn style(&self) -> Style {
        self.recipe.style
    }

    /// The usual figure or, occasionally in weird clusters, another one.
    fn odd(&mut self, usual: f64) -> f64 {
        if self.style() == Style::Weird && self.dice.chance(1) { self.dice.of(&WEIRD) } else { usual }
    }

    fn odd_int(&mut self, usual: i64) -> i64 {
        if self.style() == Style::Weird && self.dice.chance(1) {
            self.dice.of(&[0, -1, -1000, 1 << 40, 1 << 53, 1 << 61, i64::MAX, i64::MIN])
        } else {
            usual
        }
    }

    fn raw(mut self) -> RawCluster {
        let groups: Vec<RawGroup> = (0..self.groups).map(|at| self.group(at)).collect();
        let mut nodes: Vec<RawNode> = (0..self.recipe.nodes).map(|at| self.node(at)).collect();
        let mut instances = Vec::new();
        if !nodes.is_empty() {
            instances.extend((0..self.recipe.instances).map(|at| self.instance(at, &nodes)));
        }
        for (at, node) in nodes.iter_mut().enumerate() {
            self.fill(NodeIdx::new(at), node, &instances);
        }
        let tags = [
            "htools:iextags:svc",
            "htools:nlocation:loc",
            "htools:desiredlocation:loc",
            "htools:migration:mig",
            "htools:allowmigration:mig:0::mig:1",
            "htools:allowmigration:mig:1::mig:2",
        ];
        RawCluster {
            groups,
            nodes,
            instances,
            tags: tags.map(str::to_owned).to_vec(),
            policy: InstancePolicy::default(),
            ..RawCluster::default()
        }
    }

    fn group(&mut self, at: usize) -> RawGroup {
        let mut policy = InstancePolicy::default();
        match self.style() {
            Style::Tight => {
                policy.vcpu_ratio = self.dice.of(&[1.0, 1.5, 2.0, 4.0]);
                policy.spindle_ratio = self.dice.of(&[1.5, 3.0, 8.0]);
            }
            Style::Weird => {
                policy.vcpu_ratio = self.dice.of(&[4.0, 8.0, -1.0]);
                policy.spindle_ratio = self.odd(32.0);
            }
            _ => policy.vcpu_ratio = self.dice.of(&[4.0, 16.0]),
        }
        RawGroup {
            name: format!("group{at}"),
            uuid: format!("uuid-{at}"),
            alloc_policy: AllocPolicy::Preferred,
            networks: Vec::new(),
            policy,
            disk_parameters: DiskParameters::default(),
            tags: Vec::new(),
        }
    }

    fn node(&mut self, at: usize) -> RawNode {
        let symmetric = self.recipe.symmetric();
        let mem: f64 = if symmetric { 16384.0 } else { self.dice.of(&[8192.0, 16384.0, 24576.0, 65536.0]) };
        let disk: f64 = if symmetric { 204800.0 } else { self.dice.of(&[102400.0, 204800.0, 500000.0]) };
        let cpus: f64 = if symmetric { 8.0 } else { self.dice.of(&[4.0, 8.0, 12.0]) };
        let diskless_node = self.style() == Style::Mixed && self.dice.chance(2);
        let mut tags = Vec::new();
        if self.locations {
            tags.push(format!("loc:{}", self.dice.below(4)));
            if self.dice.chance(20) {
                tags.push(format!("loc:{}", self.dice.below(4)));
            }
        }
        if self.migrations && self.dice.chance(60) {
            tags.push(format!("mig:{}", self.dice.below(3)));
        }
        let offline = match self.style() {
            Style::Stranded => at < 2,
            Style::Symmetric => self.dice.chance(3),
            _ => self.dice.chance(10),
        };
        let exclusive_storage = self.exclusive && self.dice.chance(50);
        let speed = if symmetric { 1.0 } else { self.dice.of(&[1.0, 1.0, 1.0, 1.5]) };
        RawNode {
            name: format!("node{at}"),
            mem_total: self.odd(mem),
            mem_node: Mib(if symmetric { 0 } else { self.dice.of(&[0, 512, 1024]) }),
            mem_free: Mib(0),
            disk_total: if diskless_node { 0.0 } else { self.odd(disk) },
            disk_free: Mib(0),
            cpu_total: self.odd(cpus),
            cpu_node: if symmetric { 0 } else { 1 },
            cpu_speed: self.odd(speed),
            spindle_total: if exclusive_storage { 40 } else { self.dice.of(&[2, 2, 4]) },
            spindle_free: 0,
            exclusive_storage,
            offline,
            outage: Outage::default(),
            master: at == 0,
            group: GroupIdx::new(at % self.groups),
            tags,
            hypervisor: None,
        }
    }

    fn instance(&mut self, at: usize, nodes: &[RawNode]) -> RawInstance {
        let symmetric = self.recipe.symmetric();
        let template = match self.style() {
            Style::Symmetric => self.dice.of(&[DiskTemplate::Ext, DiskTemplate::Drbd]),
            Style::Stranded if at.is_multiple_of(3) => DiskTemplate::Plain,
            Style::Stranded => DiskTemplate::Ext,
            _ => self.dice.of(&TEMPLATES),
        };
        let status = match self.dice.below(if symmetric { 1 } else { 20 }) {
            17 => RunStatus::AdminOffline,
            18 => RunStatus::AdminDown,
            19 => self.dice.of(RunStatus::ALL),
            _ => RunStatus::Running,
        };
        // Most instances crowd on a part of the nodes, so that there are moves to find.
        let stranded = self.style() == Style::Stranded && template == DiskTemplate::Plain;
        let primary = match (stranded, self.dice.below(4)) {
            (true, _) => self.dice.below(2.min(nodes.len())),
            (_, 0) => self.dice.below(nodes.len()),
            (_, 1) => at % nodes.len(),
            _ => self.dice.below(nodes.len().div_ceil(2)),
        };
        let split = self.dice.chance(3);
        let partners: Vec<usize> = (0..nodes.len())
            .filter(|n| *n != primary && (split || nodes[*n].group == nodes[primary].group))
            .collect();
        let odd_secondary = !symmetric && self.dice.chance(4);
        let wants_secondary = template == DiskTemplate::Drbd || odd_secondary;
        let secondary = (wants_secondary && !partners.is_empty()).then(|| self.dice.of(&partners));
        let mut tags = Vec::new();
        if self.tags {
            for _ in 0..self.dice.below(3) {
                tags.push(format!("svc:{}", self.dice.below(5)));
            }
        }
        if self.locations && self.dice.chance(20) {
            tags.push(format!("loc:{}", self.dice.below(4)));
        }
        let mem = if symmetric { 1024 } else { self.dice.of(&[128, 512, 1024, 2048, 3000, 4096]) };
        let disk = if template == DiskTemplate::Diskless { 0 } else { self.dice.of(&[1024, 10240, 33333]) };
        let disk = Mib(if symmetric { 10240 } else { disk });
        let spindles = if self.dice.chance(95) { Some(self.dice.of(&[0, 1, 2])) } else { None };
        RawInstance {
            name: format!("instance{at}"),
            mem: Mib(self.odd_int(mem)),
            disk: Mib(self.odd_int(disk.0)),
            disks: vec![Disk { size: disk, spindles }],
            vcpus: if symmetric { 1 } else { self.dice.of(&[1, 2, 4]) },
            status,
            auto_balance: symmetric || self.dice.chance(92),
            primary: NodeIdx::new(primary),
            secondary: secondary.map(NodeIdx::new),
            template,
            spindle_use: if symmetric { 1 } else { self.dice.of(&[0, 1, 1, 2]) },
            tags,
            networks: Vec::new(),
            forthcoming: self.dice.chance(self.forthcoming),
        }
    }

    /// Sets the free resources of a node to roughly the remainder that its instances leave.
    fn fill(&mut self, at: NodeIdx, node: &mut RawNode, instances: &[RawInstance]) {
        let real = || instances.iter().filter(|i| !i.forthcoming);
        let primaries = real().filter(|i| i.primary == at);
        let mem: i64 =
            primaries.filter(|i| i.status.uses_memory()).fold(0, |sum, i| sum.wrapping_add(i.mem.0));
        let on_node = real().filter(|i| i.primary == at || i.secondary == Some(at));
        let local = || on_node.clone().filter(|i| i.template.uses_local_storage());
        let disk = local().fold(0i64, |sum, i| sum.wrapping_add(i.disk.0));
        let spindles: i64 = local().map(|i| i.disks[0].spindles.unwrap_or(0)).sum();
        let clean = self.recipe.symmetric() || self.dice.chance(50);
        let noise = if clean { 0 } else { self.dice.below(1500) as i64 - 500 };
        let free_mem = (node.mem_total as i64).wrapping_sub(node.mem_node.0).wrapping_sub(mem);
        let free_disk = (node.disk_total as i64).wrapping_sub(disk);
        let (mut free_mem, mut free_disk) = (free_mem.wrapping_sub(noise), free_disk.wrapping_sub(noise));
        if self.style() == Style::Tight {
            let left = self.dice.of(&[500, 2000, 4000, 8000]);
            free_mem = free_mem.min(left);
            free_disk = free_disk.min(self.dice.of(&[5000, 20000, 60000]));
        }
        node.mem_free = Mib(self.odd_int(free_mem));
        node.disk_free = Mib(self.odd_int(free_disk));
        node.spindle_free = node.spindle_total - if node.exclusive_storage { spindles } else { 0 };
    }
}

/// Random settings of a balancing run.
pub fn balance_options() -> impl Strategy<Value = BalanceOptions> {
    let often = || prop::bool::weighted(0.85);
    let seldom = || prop::bool::weighted(0.15);
    let rules = (often(), often(), seldom(), seldom()).prop_map(
        |(disk_moves, instance_moves, restricted_migration, ignore_soft_errors)| MoveRules {
            disk_moves,
            instance_moves,
            restricted_migration,
            ignore_soft_errors,
        },
    );
    let gains = prop::sample::select(&[(0.01, 0.1), (0.0, 0.0), (0.01, 0.1), (0.2, 100.0), (1e-9, 0.5)][..]);
    (rules, seldom(), gains).prop_map(|(rules, evacuate, (min_gain, min_gain_limit))| BalanceOptions {
        rules,
        evacuate,
        min_gain,
        min_gain_limit,
        max_length: 40,
        ..BalanceOptions::default()
    })
}
