//! Tests of the search for all moves together, compared with step by step.

use super::*;
use crate::groups::balance::Balance;
use htools_ganeti::generate::{self, ClusterSpec, TemplateMix};
use htools_ganeti::load::merge::{MergeOptions, finish, merge};
use htools_model::Mib;

/// Three groups with nodes of different sizes.
fn varied(templates: TemplateMix, seed: u64) -> Cluster {
    let spec = ClusterSpec { groups: 3, heterogeneous: true, ..ClusterSpec::new(12, 90, templates, seed) };
    let mut cluster = merge(generate::cluster(&spec), &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib::ZERO);
    cluster
}

fn deep(options: &GroupBalanceOptions) -> GroupBalanceOptions {
    GroupBalanceOptions { deep: true, effort: Some(100_000), ..options.clone() }
}

/// The minimised value: the imbalance plus the minimum gains of the moves.
fn worth(cluster: &Cluster, plan: &Balance, options: &GroupBalanceOptions) -> f64 {
    let price = |step: &Step| options.price(cluster.instance(step.instance));
    plan.loads.score().max(options.min_score) + plan.steps.iter().map(price).sum::<f64>()
}

#[test]
fn together_is_never_worse_and_often_better() {
    let mut better = 0;
    for seed in 0..12 {
        for (templates, cost) in [(TemplateMix::Ext, 0.0), (TemplateMix::Drbd, 0.002)] {
            let cluster = varied(templates, seed);
            let options = options(0.01, cost);
            let (single, plan) = (balance(&cluster, &options), balance(&cluster, &deep(&options)));
            checked(&cluster, &plan.steps, &plan.after);
            let [single, together] = [&single, &plan].map(|plan| worth(&cluster, plan, &options));
            assert!(together <= single, "seed {seed}: {together} {single}");
            better += usize::from(together < 0.9 * single);
            // The loads are those of the cluster afterwards.
            assert_eq!(plan.loads, Loads::of(&plan.after, options.loads));
        }
    }
    assert!(better >= 12, "{better} of 24");
}

#[test]
fn limits_and_prices_hold() {
    let cluster = varied(TemplateMix::Ext, 5);
    for most in [0, 1, 4] {
        let regroup = RegroupOptions { max_moves: Some(most), ..FREELY };
        let options = GroupBalanceOptions { regroup, ..options(0.01, 0.0) };
        let plan = balance(&cluster, &deep(&options));
        assert!(plan.steps.len() <= most);
        assert!(worth(&cluster, &plan, &options) <= worth(&cluster, &balance(&cluster, &options), &options));
    }
    let moves = |gain: f64| balance(&cluster, &deep(&options(gain, 0.0))).steps.len();
    assert!(moves(0.01) > moves(0.5) && moves(1e6) == 0);
}

#[test]
fn threads_and_time() {
    let cluster = varied(TemplateMix::Drbd, 2);
    let options = deep(&options(0.01, 0.0));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| balance(&cluster, &options).steps)
    };
    assert_eq!(with(1), with(3));
    let over = Deadline::new(Some(Duration::ZERO), Arc::default());
    let plan = balance_until(&cluster, &options, &over);
    assert_eq!((plan.steps.len(), plan.stopped), (1, Some(Stopped::TimeLimit)));
}
