//! Numbers of secondaries per node that starts with sorted secondaries try.

use crate::balance::deep::terrain::Terrain;

/// Number of tries between the average over all nodes and the most that a node can hold.
const BETWEEN: usize = 6;

/// Tries close to the most, as shares of it.
const CLOSE: [f64; 4] = [0.9, 0.94, 0.97, 1.0];

/// Maximum number of tries.
pub(super) const MOST_TRIES: usize = BETWEEN + CLOSE.len();

/// The numbers of secondaries per node to try, ascending.
pub(super) fn crowds(terrain: &Terrain<'_>, lifted: &[u32]) -> Vec<usize> {
    let average = lifted.len() as f64 / terrain.online.len() as f64;
    let most = most_secondaries(terrain, lifted).max(average);
    let between = |step: usize| average * (most / average).powf(step as f64 / BETWEEN as f64);
    let all = (0..BETWEEN).map(between).chain(CLOSE.map(|share| share * most));
    let mut crowds: Vec<usize> = all.map(|crowd| crowd.ceil() as usize).collect();
    crowds.dedup();
    crowds
}

/// Number of secondaries of average size that an empty node can hold, on average over the nodes. A node takes at most
/// all of them.
pub(super) fn most_secondaries(terrain: &Terrain<'_>, lifted: &[u32]) -> f64 {
    let count = lifted.len() as f64;
    let average = |of: &dyn Fn(u32) -> f64| lifted.iter().map(|mobile| of(*mobile)).sum::<f64>() / count;
    let disk = average(&|mobile| terrain.mobiles[mobile as usize].disk as f64);
    let spindles = average(&|mobile| terrain.instance(mobile).spindle_use as f64);
    let of_node = |slot: &u32| {
        let spec = terrain.spec(*slot);
        let by_disk = if disk > 0.0 { spec.disk_total / disk } else { count };
        let is_strict = !terrain.rules.ignore_soft_errors && spindles > 0.0;
        let by_spindles = if is_strict { spec.spindle_limit / spindles } else { count };
        by_disk.min(by_spindles).clamp(0.0, count)
    };
    terrain.online.iter().map(of_node).sum::<f64>() / terrain.online.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::BalanceOptions;
    use crate::balance::deep::gather::mirrored;
    use htools_ganeti::generate::{ClusterSpec, TemplateMix, cluster};
    use htools_ganeti::load::merge::{MergeOptions, finish, merge};
    use htools_model::Mib;

    #[test]
    fn tries_reach_from_the_average_to_what_a_node_can_hold() {
        for (mix, soft) in
            [(TemplateMix::Drbd, false), (TemplateMix::Mixed, false), (TemplateMix::Mixed, true)]
        {
            let spec = ClusterSpec { fill: 0.4, ..ClusterSpec::new(12, 90, mix, 5) };
            let mut cluster = merge(cluster(&spec), &MergeOptions::default()).expect("no selection");
            finish(&mut cluster, Mib::ZERO);
            let mut options = BalanceOptions::default();
            options.rules.ignore_soft_errors = soft;
            let terrain = Terrain::of(&cluster, &cluster.all_nodes(), &options);
            let lifted = mirrored(&terrain);
            let tries = crowds(&terrain, &lifted);
            assert!(tries.len() <= MOST_TRIES && tries.is_sorted_by(|a, b| a < b), "{tries:?}");
            let average = lifted.len() as f64 / terrain.online.len() as f64;
            assert_eq!(tries[0], average.ceil() as usize);
            // All instances have one spindle here, and all nodes room for 32 if the ratio counts.
            let last = tries[tries.len() - 1];
            assert!(if soft { last > 32 } else { last == 32 }, "{tries:?}");
        }
    }
}
