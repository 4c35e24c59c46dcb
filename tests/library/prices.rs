//! Prices of steps on random clusters, compared with plans without the moves of an instance.

use crate::common::clusters::cases;
use crate::placements::case;
use htools::model::{Cluster, Draft, Immobile, InstanceIdx, NodeIdx, Step};
use htools::score::Board;
use htools::search::balance::price::{placed, prices, prices_of_placements};
use htools::search::moves::{MoveRules, perform_step};
use htools::search::{BalanceOptions, balance};

/// A plan of a group, and the cluster after it.
struct Planned {
    nodes: Vec<NodeIdx>,
    steps: Vec<Step>,
    end: Cluster,
}

fn plans(cluster: &Cluster, options: BalanceOptions) -> impl Iterator<Item = Planned> + '_ {
    cluster.groups.iter().map(move |group| {
        let nodes = cluster.nodes_of(group.idx).to_vec();
        let mut end = Draft::of(cluster);
        let steps = balance::run(&mut end, &nodes, BalanceOptions { max_length: 60, ..options }).steps;
        Planned { nodes, steps, end: end.into_cluster() }
    })
}

/// The cluster after all steps but those of `left`; none if one of them is not possible then.
fn replayed(cluster: &Cluster, steps: &[Step], left: InstanceIdx, rules: &MoveRules) -> Option<Cluster> {
    let mut draft = Draft::of(cluster);
    let mut others = steps.iter().filter(|step| step.instance != left);
    others.try_for_each(|step| perform_step(&mut draft, step, rules)).ok()?;
    Some(draft.into_cluster())
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn a_price_is_the_score_without_the_moves_less_the_score_with_them() {
    let (mut known, mut needed) = (0, 0);
    for seed in 1..=u64::from(cases(1500).cases) {
        let (cluster, options) = case(seed);
        let options = BalanceOptions { min_gain: 0.0, min_gain_limit: 0.0, ..options };
        let soft = MoveRules { ignore_soft_errors: true, ..options.rules };
        for Planned { nodes, steps, end } in plans(&cluster, options) {
            let last = Board::new(&end, &nodes).score();
            if !last.is_finite() {
                continue;
            }
            // Free spindles then depend on the order of the steps.
            let has_unknown_spindles = nodes.iter().any(|n| cluster.node(*n).spec.exclusive_storage)
                && steps.iter().any(|step| cluster.instance(step.instance).spindles.is_none());
            let found = prices(&end, &steps, &options.rules);
            assert_eq!(Board::new(&end, &nodes).score().to_bits(), last.to_bits());
            for (step, price) in steps.iter().zip(&found) {
                let Some(price) = price else {
                    // Without the moves, a step of the others breaks a rule.
                    let without = replayed(&cluster, &steps, step.instance, &options.rules);
                    assert!(has_unknown_spindles || without.is_none(), "seed {seed}: {step:?}");
                    needed += 1;
                    continue;
                };
                let Some(without) = replayed(&cluster, &steps, step.instance, &soft) else { continue };
                let expected = Board::new(&without, &nodes).score() - last;
                assert!(is_near(*price, expected), "seed {seed}: {price} {expected} {step:?}");
                known += 1;
            }
        }
    }
    assert!(known > 1000 && needed > 10, "{known} {needed}");
}

/// Placements have the prices of the steps that lead to them.
#[test]
fn prices_of_placements_are_those_of_steps() {
    let mut compared = 0;
    for seed in 1..=u64::from(cases(200).cases) {
        let (cluster, options) = case(seed);
        for Planned { nodes, steps, end } in plans(&cluster, options) {
            let mut moved: Vec<InstanceIdx> = steps.iter().map(|step| step.instance).collect();
            moved.sort();
            moved.dedup();
            moved.retain(|i| end.instance(*i).placement() != cluster.instance(*i).placement());
            let placements: Vec<_> = moved.iter().map(|i| (*i, end.instance(*i).placement())).collect();
            let there = placed(&cluster, &placements);
            let [a, b] = [&there, &end].map(|cluster| Board::new(cluster, &nodes).score());
            if !a.is_finite() {
                continue;
            }
            assert!(is_near(a, b), "seed {seed}: {a} {b}");
            let of_steps = prices(&end, &steps, &options.rules);
            let found = prices_of_placements(&cluster, &placements, &options.rules);
            for ((instance, _), price) in placements.iter().zip(found) {
                let at = steps.iter().position(|step| step.instance == *instance).unwrap();
                // Without an order of steps, fewer are known.
                let Some(price) = price else { continue };
                assert!(of_steps[at].is_some_and(|known| is_near(known, price)), "seed {seed}: {price}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

/// A pinned instance has no step.
#[test]
fn plans_around_an_instance_never_touch_it() {
    for seed in 1..=u64::from(cases(150).cases) {
        let (cluster, options) = case(seed);
        for Planned { steps, .. } in plans(&cluster, options) {
            let Some(first) = steps.first() else { continue };
            let mut pinned = Draft::of(&cluster);
            pinned.set_immobile(&[first.instance], Some(Immobile::Excluded));
            for around in plans(&pinned, options) {
                assert!(around.steps.iter().all(|step| step.instance != first.instance), "seed {seed}");
            }
        }
    }
}
