//! The scores that steps claim, recomputed from the definition.

use std::collections::BTreeMap;

use super::state::{NodeFigures, ReplayedCluster};
use htools_model::metrics::AFFINITY;
use htools_model::{CarriedKeys, Cluster, NodeIdx, Step, TagId, WORTH_PARTS, Weights};

/// A step claims a score that differs from that of the cluster after it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("step {step} claims score {claimed}, but it leads to {found}")]
pub struct WrongScore {
    /// Number of the step, from 1.
    pub step: usize,
    /// The claimed score.
    pub claimed: f64,
    /// The computed score.
    pub found: f64,
}

/// Tolerance for rounding, relative to the score, or to 1 if that is larger.
const TOLERANCE: f64 = 1e-9;

/// Checks the scores of a plan for the set `nodes` that starts from `cluster`.
/// The steps must be possible (see [`check`](super::check)).
///
/// # Errors
/// The first step whose score is wrong.
pub fn check_scores(cluster: &Cluster, nodes: &[NodeIdx], steps: &[Step]) -> Result<(), WrongScore> {
    let mut state = ReplayedCluster::new(cluster);
    for (at, step) in steps.iter().enumerate() {
        state.jump(step.instance, step.to);
        let found = score(&cluster.weights, &state, nodes);
        let claimed = step.score;
        let near = (claimed - found).abs() <= TOLERANCE * claimed.abs().max(1.0);
        if !near && claimed != found {
            return Err(WrongScore { step: at + 1, claimed, found });
        }
    }
    Ok(())
}

/// Population standard deviation.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (values.map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

fn disk_ratio(state: &ReplayedCluster<'_>, node: NodeIdx, disk: f64, spindles: i64) -> f64 {
    let spec = state.spec(node);
    let (free, total) = if spec.exclusive_storage {
        (spindles as f64, spec.spindle_total as f64)
    } else {
        (disk, spec.disk_total)
    };
    if total == 0.0 { 1.0 } else { free / total }
}

/// The weighted sum of the metrics.
fn score(weights: &Weights, state: &ReplayedCluster<'_>, nodes: &[NodeIdx]) -> f64 {
    let (offline, online): (Vec<NodeIdx>, Vec<NodeIdx>) = nodes.iter().partition(|n| state.spec(**n).offline);
    if online.is_empty() {
        return 0.0;
    }
    let all: Vec<(NodeIdx, NodeFigures)> = online.iter().map(|n| (*n, state.figures(*n))).collect();
    let sd = |value: &dyn Fn(NodeIdx, &NodeFigures) -> f64| deviation(all.iter().map(|(n, f)| value(*n, f)));
    let spec = |n: NodeIdx| state.spec(n);
    let primaries = |n: NodeIdx| state.primaries(n).count() as f64;
    let instances = |n: NodeIdx| primaries(n) + state.secondaries(n).count() as f64;

    let free_mem = sd(&|n, f| f.mem_unallocated.as_f64() / spec(n).mem_total);
    let free_disk = sd(&|n, f| disk_ratio(state, n, f.disk_free.as_f64(), f.spindles_free));
    let on_failing: f64 = all.iter().filter(|(_, f)| f.n1_fail).map(|(n, _)| instances(*n)).sum();
    let reserved = sd(&|n, f| f.mem_reserved.as_f64() / spec(n).mem_total);
    let reserved_total: f64 = all.iter().map(|(n, f)| f.mem_reserved.as_f64() / spec(*n).mem_total).sum();
    let offline_instances: f64 = offline.iter().map(|n| instances(*n)).sum();
    let offline_primaries: f64 = offline.iter().map(|n| primaries(*n)).sum();
    let vcpus = sd(&|n, f| f.vcpus as f64 / spec(n).cpu_total / spec(n).cpu_speed);
    let cpu_load = sd(&|n, _| state.load(n).cpu);
    let mem_load = sd(&|n, _| state.load(n).mem);
    let disk_load = sd(&|n, _| state.load(n).disk);
    let net_load = sd(&|n, _| state.load(n).net);
    let conflicts: i64 =
        online.iter().map(|n| state.tag_counts(*n).values().map(|count| count - 1).sum::<i64>()).sum();
    let spindles = sd(&|n, f| f.spindles_used / spec(n).spindle_limit);
    let free_mem_planned = sd(&|n, f| f.mem_free_planned.as_f64() / spec(n).mem_total);
    let free_disk_planned =
        sd(&|n, f| disk_ratio(state, n, f.disk_free_planned.as_f64(), f.spindles_free_planned));
    let vcpus_planned = sd(&|n, f| f.vcpus_planned as f64 / spec(n).cpu_total / spec(n).cpu_speed);
    let spindles_planned = sd(&|n, f| f.spindles_used_planned / spec(n).spindle_limit);

    let values = [
        ("free_mem_cv", 0.5, free_mem),
        ("free_disk_cv", 0.5, free_disk),
        ("n1_cnt", 1.0, on_failing),
        ("reserved_mem_cv", 1.0, reserved),
        ("offline_all_cnt", 4.0, offline_instances),
        ("offline_pri_cnt", 16.0, offline_primaries),
        ("vcpu_ratio_cv", 0.5, vcpus),
        ("cpu_load_cv", 1.0, cpu_load),
        ("mem_load_cv", 1.0, mem_load),
        ("disk_load_cv", 1.0, disk_load),
        ("net_load_cv", 1.0, net_load),
        ("pri_tags_score", 2.0, conflicts as f64),
        ("spindles_cv", 0.5, spindles),
        ("free_mem_cv_forth", 0.5, free_mem_planned),
        ("free_disk_cv_forth", 0.5, free_disk_planned),
        ("vcpu_ratio_cv_forth", 0.5, vcpus_planned),
        ("spindles_cv_forth", 0.5, spindles_planned),
        ("location_score", 1.0, location_costs(state, &online) as f64),
        ("location_exclusion_score", 1.0, crowding(state, &online) as f64),
        ("reserved_mem_rtotal", 0.25, reserved_total),
        (AFFINITY, 0.0, key_costs(state, &online) as f64 / WORTH_PARTS),
    ];
    let chosen: BTreeMap<&str, f64> =
        weights.chosen().map(|(metric, weight)| (metric.name, weight)).collect();
    let part = |(name, usual, value): (&str, f64, f64)| match chosen.get(name).copied().unwrap_or(usual) {
        0.0 => 0.0,
        weight => weight * value,
    };
    values.map(part).iter().sum()
}

/// Cost of the affinity keys of each pair of primaries on a node, and of each primary's keys beside the node's own.
fn key_costs(state: &ReplayedCluster<'_>, online: &[NodeIdx]) -> i64 {
    let cost = |node: NodeIdx| {
        let here: Vec<&CarriedKeys> =
            state.primaries(node).map(|i| &i.keys).filter(|keys| !keys.is_empty()).collect();
        if here.is_empty() {
            return 0;
        }
        let beside = |at: usize| here[at + 1..].iter().map(|other| here[at].cost_beside(other)).sum::<i64>();
        let own = state.own_keys(node);
        (0..here.len()).map(|at| beside(at) + here[at].cost(&own)).sum::<i64>()
    };
    online.iter().map(|n| cost(*n)).sum()
}

/// Locations shared by both nodes of an instance, and preferred ones that its primary is not in.
fn location_costs(state: &ReplayedCluster<'_>, online: &[NodeIdx]) -> i64 {
    let cost = |node: NodeIdx| {
        let here = &state.spec(node).location_tags;
        let missing = |i: &htools_model::Instance| {
            i.desired_locations.iter().filter(|tag| !here.contains(*tag)).count() as i64
        };
        state.primaries(node).map(|i| state.location_score(i) + missing(i)).sum::<i64>()
    };
    online.iter().map(|n| cost(*n)).sum()
}

/// Primaries of the same service in the same location beyond the first.
fn crowding(state: &ReplayedCluster<'_>, online: &[NodeIdx]) -> i64 {
    let mut counts: BTreeMap<(TagId, TagId), i64> = BTreeMap::new();
    for node in online {
        for instance in state.primaries(*node) {
            for location in state.spec(*node).location_tags.iter() {
                for tag in &instance.exclusion_tags {
                    *counts.entry((location, *tag)).or_insert(0) += 1;
                }
            }
        }
    }
    counts.values().map(|count| count - 1).sum()
}
