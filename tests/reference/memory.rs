//! Free memory that nodes report, and its effect on the N+1 check.

use htools::generate::random::Random;
use htools::model::Mib;

use super::clusters::OddCluster;
use super::decorate::one;
use super::rules::initial_flags;

/// Sets the free memory that nodes report; it usually agrees with the instances.
pub fn free_memory(odd: &mut OddCluster, random: &mut Random) {
    for i in 0..odd.raw.nodes.len() {
        let used: i64 = odd
            .raw
            .instances
            .iter()
            .filter(|x| x.primary.get() == i && x.status.uses_memory() && !x.forthcoming)
            .map(|x| x.mem.0)
            .sum();
        let has = |feature: &str| odd.features.contains(feature);
        let (missing, surplus) = (has("missing memory"), has("surplus memory"));
        let full = has("full disks");
        let node = &mut odd.raw.nodes[i];
        let mut free = node.mem_total as i64 - node.mem_node.0 - used;
        if missing && random.chance(0.5) {
            free -= random.between(0, (free / 3).clamp(0, 2000));
        }
        if surplus && random.chance(0.5) {
            free += random.between(0, 400);
        }
        node.mem_free = Mib(free);
        if full && random.chance(0.4) {
            node.disk_free = Mib(random.between(-10, 3000));
        }
    }
    if odd.has("huge values") {
        one(&mut odd.raw.nodes, random, |node| {
            node.mem_total += 9e14;
            node.mem_free += Mib(900_000_000_000_000);
        });
        one(&mut odd.raw.nodes, random, |node| {
            node.disk_total += 7e15;
            node.disk_free += Mib(7_000_000_000_000_000);
        });
    }
    if odd.has("zero totals") {
        let which = random.below(3);
        one(&mut odd.raw.nodes, random, |node| match which {
            0 => node.mem_total = 0.0,
            1 => node.disk_total = 0.0,
            _ => node.cpu_total = 0.0,
        });
    }
}

/// Removes the cases where the reference's initial N+1 flag differs from ours, by small changes of memory. Most cases
/// should be compared byte for byte.
pub fn settle_flags(odd: &mut OddCluster, random: &mut Random) {
    for _ in 0..4 {
        let differing: Vec<usize> = (0..odd.raw.nodes.len())
            .filter(|i| !odd.raw.nodes[*i].offline)
            .filter(|i| {
                let (theirs, ours) = initial_flags(&odd.raw, *i);
                theirs != ours
            })
            .collect();
        if differing.is_empty() {
            return;
        }
        // Identical nodes must stay identical.
        let all: Vec<usize> = (0..odd.raw.nodes.len()).collect();
        let grow = odd.has("symmetric") || random.chance(0.7);
        for i in if odd.has("symmetric") { all } else { differing } {
            let unallocated = super::rules::unallocated(&odd.raw, i);
            let node = &mut odd.raw.nodes[i];
            if grow && node.mem_total > 0.0 {
                node.mem_total += 64.0;
                node.mem_free = Mib(unallocated + 64);
            } else {
                node.mem_free = Mib(unallocated - 1);
            }
        }
    }
}
