//! Deep balancing against brute force: on small clusters all placements that moves lead to are known.

use crate::common::clusters::cases;
use crate::placements::{case, visit_all};
use htools::model::{Cluster, Draft, Mib, NodeIdx};
use htools::plan::checker::{CheckOptions, check, check_scores};
use htools::score::Board;
use htools::search::balance::deep::headway::Headway;
use htools::search::balance::deep::order::order;
use htools::search::balance::deep::{Deep, DeepOptions, search};
use htools::search::{BalanceOptions, Deadline};
use proptest::prelude::*;

/// By number of moved instances, the smallest score of all placements that so many moves, one an instance, lead to;
/// nothing if there are too many.
fn optimum(cluster: &Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> Option<Vec<f64>> {
    let mut best = vec![f64::INFINITY];
    let mut see = |draft: &Draft, moved: usize| {
        best.resize(best.len().max(moved + 1), f64::INFINITY);
        best[moved] = best[moved].min(Board::new(draft, nodes).score());
    };
    if !visit_all(cluster, nodes, options, &mut see) {
        return None;
    }
    for k in 1..best.len() {
        best[k] = best[k].min(best[k - 1]);
    }
    Some(best)
}

/// How often the optimum for a number of moves was looked for, and found; and missed by more than a hundredth.
#[derive(Default, Debug)]
struct Hits {
    all: usize,
    found: usize,
    far: usize,
}

fn plans_hold(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    found: &Deep,
) -> Result<(), TestCaseError> {
    for point in &found.line {
        let ordered = order(cluster, nodes, options, &point.placements, 8);
        let soft = CheckOptions { ignore_soft_errors: options.rules.ignore_soft_errors };
        let replay = check(cluster, nodes, &ordered.steps, soft);
        prop_assert!(replay.is_ok(), "{:?}", replay.err());
        prop_assert!(check_scores(cluster, nodes, &ordered.steps).is_ok());
        if ordered.given_up.is_empty() {
            let end = ordered.steps.last().map_or(found.initial.score(), |step| step.score);
            prop_assert!((end - point.score).abs() <= 1e-9 * end.abs().max(1.0), "{end} {}", point.score);
            let replay = replay.unwrap();
            for (instance, placement) in &point.placements {
                prop_assert_eq!(replay.placement(*instance), *placement);
            }
        }
    }
    Ok(())
}

fn against_brute_force(
    cluster: &Cluster,
    options: &BalanceOptions,
    hits: &mut Hits,
) -> Result<(), TestCaseError> {
    for group in &cluster.groups {
        let nodes = cluster.nodes_of(group.idx);
        let Some(best) = optimum(cluster, &nodes, options) else { continue };
        if !best[0].is_finite() {
            continue;
        }
        let deep = DeepOptions { effort: 24_000, streams: 4, ..DeepOptions::of(cluster, &nodes) };
        let found = search(cluster, &nodes, options, &deep, (&Deadline::never(), &Headway::default()));
        plans_hold(cluster, &nodes, options, &found)?;
        for (moves, best) in best.iter().enumerate() {
            let point = found.line.iter().rfind(|p| p.moves <= moves).unwrap();
            let near = 1e-9 * best.abs().max(1.0);
            hits.all += 1;
            prop_assert!(found.floor <= best + near, "floor {} above {best}", found.floor);
            let bound = found.bounds.after(moves);
            prop_assert!(bound <= best + near, "bound {bound} above {best} with {moves} moves");
            hits.found += usize::from(point.score <= best + near);
            let far = point.score > best + near + 0.01 * best.abs();
            hits.far += usize::from(far);
        }
    }
    Ok(())
}

/// Clusters in the usual run; `PROPTEST_CASES=2560` looks at ten times as many.
const CLUSTERS: u32 = 250;

#[test]
fn what_is_found_is_the_optimum_and_what_is_said_of_it_is_true() {
    let (mut hits, mut seed, mut clusters) = (Hits::default(), 0, 0);
    while clusters < cases(CLUSTERS).cases {
        seed += 1;
        let (cluster, options) = case(seed);
        let before = hits.all;
        if let Err(error) = against_brute_force(&cluster, &options, &mut hits) {
            panic!("seed {seed}, {options:?}: {error}");
        }
        clusters += u32::from(hits.all > before);
    }
    assert!(hits.found * 100 >= hits.all * 99, "{hits:?}");
    assert!(hits.far * 200 <= hits.all, "{hits:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (cluster, options) = case(11);
    let nodes = cluster.all_nodes();
    let deep = DeepOptions { effort: 20_000, ..DeepOptions::of(&cluster, &nodes) };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| search(&cluster, &nodes, &options, &deep, (&Deadline::never(), &Headway::default())))
    };
    assert_eq!(with(1), with(8));
}

#[test]
fn limits_hold() {
    for seed in 1..60 {
        let (cluster, options) = case(seed);
        let nodes = cluster.nodes_of(cluster.groups[0].idx);
        for most in [0, 1, 3] {
            let deep = DeepOptions {
                effort: 8_000,
                max_moves: Some(most),
                max_data: Some(Mib(30_000)),
                ..DeepOptions::of(&cluster, &nodes)
            };
            let found = search(&cluster, &nodes, &options, &deep, (&Deadline::never(), &Headway::default()));
            assert!(
                found.line.iter().all(|p| p.moves as u64 <= most && p.data <= Mib(30_000)),
                "seed {seed}"
            );
        }
    }
}
