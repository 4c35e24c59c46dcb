//! Step-by-step plans merged into one move per instance, on random clusters.

use std::collections::HashMap;

use crate::common::clusters::cases;
use crate::placements::case;
use htools::model::{Draft, InstanceIdx};
use htools::plan::checker::{CheckOptions, check, check_scores};
use htools::search::balance::deep::merge::merged;
use htools::search::{BalanceOptions, Balancer};

#[test]
fn merged_plans_lead_to_the_same_end_with_fewer_steps() {
    let (mut repeated, mut merges) = (0, 0);
    for seed in 1..=u64::from(cases(1500).cases) {
        let (cluster, options) = case(seed);
        let options = BalanceOptions { min_gain: 0.0, min_gain_limit: 0.0, ..options };
        for group in &cluster.groups {
            let nodes = cluster.nodes_of(group.idx).to_vec();
            let mut end = Draft::of(&cluster);
            let mut balancer = Balancer::new(&mut end, &nodes, options);
            let steps: Vec<_> = std::iter::from_fn(|| balancer.next_step()).take(60).collect();
            let mut times: HashMap<InstanceIdx, usize> = HashMap::new();
            steps.iter().for_each(|step| *times.entry(step.instance).or_default() += 1);
            let is_repeated = times.values().any(|count| *count > 1);
            repeated += usize::from(is_repeated);
            let Some(ordered) = merged(&cluster, &nodes, &options, &steps) else { continue };
            merges += 1;
            assert!(is_repeated && ordered.steps.len() < steps.len(), "seed {seed}");
            let soft = CheckOptions { ignore_soft_errors: options.rules.ignore_soft_errors };
            let replay = check(&cluster, &nodes, &ordered.steps, soft).unwrap_or_else(|why| panic!("{why}"));
            assert!(replay.leads_to(&end), "seed {seed}");
            assert!(check_scores(&cluster, &nodes, &ordered.steps).is_ok());
            let moves = |i: InstanceIdx| ordered.steps.iter().filter(|step| step.instance == i).count();
            for instance in times.into_keys() {
                let most = 1 + usize::from(ordered.detours.contains(&instance));
                assert!(moves(instance) <= most, "seed {seed}");
            }
        }
    }
    // On such small and full nodes, the steps often cannot be ordered otherwise.
    assert!(repeated > 50 && merges * 2 > repeated, "{merges} of {repeated}");
}
