//! Odd instance policies: other ratios, fewer templates, several ranges of sizes, and small sizes that let a cluster
//! be filled quickly.

use htools::generate::random::Random;
use htools::model::{InstancePolicy, InstanceSpec, Mib, SpecRange};

use super::clusters::OddCluster;
use super::oddities::Purpose;

/// Gives the cluster and its groups their policies.
pub fn policies(odd: &mut OddCluster, random: &mut Random) {
    if odd.has("no policy") {
        return;
    }
    let tight = odd.has("tight policy");
    let several = odd.has("several ranges");
    let small = (odd.purpose == Purpose::Fill).then(|| Small::new(odd, random));
    let prefer_drbd = random.chance(0.3);
    for policy in
        std::iter::once(&mut odd.raw.policy).chain(odd.raw.groups.iter_mut().map(|group| &mut group.policy))
    {
        if let Some(small) = &small {
            small.apply(policy, several, random);
        } else if several {
            policy.ranges = split_range(policy.ranges[0], random);
        }
        if tight {
            policy.vcpu_ratio = *random.pick(&[4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.4, -1.0, 1e10]);
            policy.spindle_ratio = *random.pick(&[32.0, 12.0, 6.5, 4.0, 0.05]);
        }
        let fewer = if odd.purpose == Purpose::Allocate { 0.07 } else { 0.2 };
        if random.chance(fewer) {
            policy.disk_templates.truncate(5);
        }
        if small.is_some() {
            // hspace uses the first one.
            random.shuffle(&mut policy.disk_templates);
            policy.disk_templates.sort_by_key(|template| !template.has_secondary() && prefer_drbd);
            if random.chance(0.015) {
                policy.disk_templates.clear();
            }
        }
        if several {
            continue;
        }
        if random.chance(if small.is_some() { 0.04 } else { 0.1 }) {
            policy.ranges.clear();
        } else if random.chance(0.1) {
            policy.ranges.push(policy.ranges[0]);
        }
    }
    if odd.has("same policies") {
        for group in &mut odd.raw.groups {
            group.policy = odd.raw.policy.clone();
        }
    }
}

/// A range divided into two or three: dedicated clusters have some sizes and nothing between them.
fn split_range(whole: SpecRange, random: &mut Random) -> Vec<SpecRange> {
    let mut ranges: Vec<SpecRange> = (0..random.between(2, 3))
        .map(|step| {
            let mut range = whole;
            let size = 1 << (3 * step);
            range.min.memory = Mib(whole.min.memory.0 * size);
            range.min.disk_size = Mib(whole.min.disk_size.0 * size);
            range.max.memory = Mib((range.min.memory.0 * 16).min(whole.max.memory.0));
            range.max.disk_size = Mib((range.min.disk_size.0 * 64).min(whole.max.disk_size.0));
            range
        })
        .collect();
    random.shuffle(&mut ranges);
    ranges
}

/// Sizes that fit a few times into a node of the cluster.
struct Small {
    mem: i64,
    disk: i64,
}

impl Small {
    fn new(odd: &OddCluster, random: &mut Random) -> Self {
        let most = |of: fn(&htools::load::raw::RawNode) -> f64| {
            odd.raw.nodes.iter().map(of).fold(1024.0, f64::max) as i64
        };
        Small {
            mem: most(|node| node.mem_total) / random.between(4, 9) / 64 * 64,
            // Many shrinking steps take time.
            disk: (most(|node| node.disk_total) / random.between(4, 12) / 256 * 256).min(6144),
        }
    }

    fn spec(&self, share: i64, cpus: i64, spindles: i64) -> InstanceSpec {
        InstanceSpec {
            memory: Mib((self.mem / share).max(64)),
            cpus,
            disk_size: Mib((self.disk / share).max(256)),
            disk_count: 1,
            nic_count: 1,
            spindle_use: spindles,
        }
    }

    fn apply(&self, policy: &mut InstancePolicy, several: bool, random: &mut Random) {
        policy.std = self.spec(1, random.between(1, 2), random.between(1, 2));
        let min = self.spec(4, 1, 1);
        let mut max = self.spec(1, 8, 12);
        max.memory = Mib(max.memory.0 * random.between(1, 4));
        max.disk_size = Mib(max.disk_size.0 * random.between(1, 4));
        max.disk_count = 16;
        max.nic_count = 8;
        policy.ranges = vec![SpecRange { min, max }];
        if several {
            let (mut low, mut high) = (min, max);
            low.memory = Mib(max.memory.0 / 2);
            high.cpus = 4;
            high.disk_size = Mib((max.disk_size.0 / 2).max(low.disk_size.0));
            policy.ranges.push(SpecRange { min: low, max: high });
            random.shuffle(&mut policy.ranges);
        }
    }
}
