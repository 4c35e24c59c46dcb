//! Deep balancing against brute force: on small clusters, all placements that moves can reach are known.

use crate::common::clusters::cases;
use crate::placements::{case, visit_all};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::model::{Cluster, Draft, Instance, Mib, NodeIdx, Placement};
use htools::plan::checker::{CheckOptions, check, check_scores};
use htools::score::Board;
use htools::search::balance::deep::headway::{DeepWatch, SearchProgress};
use htools::search::balance::deep::order::{OrderedSteps, order};
use htools::search::balance::deep::{Deep, DeepOptions, search};
use htools::search::{BalanceOptions, Deadline};
use proptest::prelude::*;

/// The scores of all placements that can be reached with one move per instance.
struct Optimum {
    /// Smallest score by the number of moved instances.
    by_moves: Vec<f64>,
    /// Data to move in MiB and score of each placement.
    all: Vec<(i64, f64)>,
}

/// The scores of all placements that can be reached; none if there are too many.
fn optimum(cluster: &Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> Option<Optimum> {
    let (mut best, mut all) = (vec![f64::INFINITY], Vec::new());
    let mut see = |draft: &Draft, moved: usize| {
        best.resize(best.len().max(moved + 1), f64::INFINITY);
        let score = Board::new(draft, nodes).score();
        best[moved] = best[moved].min(score);
        let data = |i: &Instance| data(cluster, i, draft.instance(i.idx).placement());
        all.push((cluster.instances.iter().map(data).sum(), score));
    };
    if !visit_all(cluster, nodes, options, &mut see) {
        return None;
    }
    for k in 1..best.len() {
        best[k] = best[k].min(best[k - 1]);
    }
    Some(Optimum { by_moves: best, all })
}

/// Data to move until an instance has its new placement: a disk for each new node, and the memory for each live migration.
/// A mirrored instance migrates to its secondary, so an instance that keeps its secondary migrates twice.
fn data(cluster: &Cluster, instance: &Instance, to: Placement) -> i64 {
    let home = instance.placement();
    let (disk, mem) = (instance.disk.0, instance.mem_in_use().0);
    if home == to {
        return 0;
    }
    let Some(new) = to.secondary else {
        return if instance.template.is_movable() { mem } else { disk };
    };
    let known = |node: NodeIdx| node == home.primary || Some(node) == home.secondary;
    let copies = i64::from(!known(to.primary)) + i64::from(!known(new));
    let migrations = if to.primary == home.primary {
        0
    } else if to.secondary == home.secondary || (copies == 2 && cluster.node(home.primary).spec.offline) {
        2
    } else {
        1
    };
    copies * disk + migrations * mem
}

/// Number of comparisons with the optimum for a number of moves: all, optimum found, and missed by more than one
/// percent.
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
        for instance in &ordered.given_up {
            let home = cluster.instance(*instance).placement();
            prop_assert_eq!(replay.as_ref().unwrap().placement(*instance), home, "left half-way");
        }
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
        let nodes = cluster.nodes_of(group.idx).to_vec();
        let Some(best) = optimum(cluster, &nodes, options) else { continue };
        if !best.by_moves[0].is_finite() {
            continue;
        }
        let deep = DeepOptions { effort: 32_000, streams: 4, ..DeepOptions::of(cluster, &nodes) };
        let found = search(
            cluster,
            &nodes,
            options,
            &deep,
            DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() },
        );
        plans_hold(cluster, &nodes, options, &found)?;
        bounds_hold_within_limits(cluster, &nodes, options, &best)?;
        for (moves, best) in best.by_moves.iter().enumerate() {
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

/// Limits on moves and on data have bounds of their own.
fn bounds_hold_within_limits(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    best: &Optimum,
) -> Result<(), TestCaseError> {
    let most = best.by_moves.len() / 2;
    let least = DeepOptions { effort: 500, streams: 1, ..DeepOptions::of(cluster, nodes) };
    let watch = DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() };
    let deep = DeepOptions { max_moves: Some(most as u64), ..least };
    let found = search(cluster, nodes, options, &deep, watch);
    for (moves, best) in best.by_moves.iter().enumerate().take(most + 1) {
        let (near, bound) = (1e-9 * best.abs().max(1.0), found.bounds.after(moves));
        prop_assert!(bound <= best + near, "bound {bound} above {best} with {moves} of {most} moves");
    }
    let largest = best.all.iter().map(|(data, _)| *data).max().unwrap_or_default();
    let most = largest * (best.all.len() % 3) as i64 / 4;
    let deep = DeepOptions { max_data: Some(Mib(most)), ..least };
    let found = search(cluster, nodes, options, &deep, watch);
    let within = best.all.iter().filter(|(data, _)| *data <= most).map(|(_, score)| *score);
    let best = within.fold(f64::INFINITY, f64::min);
    let (near, bound) = (1e-9 * best.abs().max(1.0), found.bound());
    prop_assert!(bound <= best + near, "bound {bound} above {best} with {most} MiB");
    Ok(())
}

/// Clusters in the usual run; `PROPTEST_CASES=10000` tries more.
const CLUSTERS: u32 = 1000;

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

/// Nodes of 8 GiB with instances of this memory and these nodes. Instances with two nodes are mirrored. All have the
/// same exclusion tag.
fn crowded(nodes: usize, instances: &[(i64, usize, Option<usize>)]) -> Cluster {
    let mut text = "default|u|preferred||\n\n".to_owned();
    for node in 0..nodes {
        let used: i64 = instances.iter().filter(|i| i.1 == node).map(|i| i.0).sum();
        text += &format!("n{node}|8192|512|{}|500000|400000|8|N|u|1||N|0|8|1.0\n", 7680 - used);
    }
    text += "\n";
    for (at, (mem, primary, secondary)) in instances.iter().enumerate() {
        let (template, secondary) = match secondary {
            Some(secondary) => ("drbd", format!("n{secondary}")),
            None => ("ext", String::new()),
        };
        text +=
            &format!("i{at}|{mem}|1024|1|running|Y|n{primary}|{secondary}|{template}|svc:{}|1|-|N\n", at / 2);
    }
    text += "\nhtools:iextags:svc\n";
    let raw = htools::load::text::parse(&text, "test").unwrap();
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib::ZERO);
    cluster
}

/// The ordered steps that exchange the placements of two instances.
fn exchanged(cluster: &Cluster, pair: [usize; 2]) -> OrderedSteps {
    let [a, b] = pair.map(|at| cluster.instances[at].idx);
    let at = |i| cluster.instance(i).placement();
    let ordered =
        order(cluster, &cluster.all_nodes(), &BalanceOptions::default(), &[(a, at(b)), (b, at(a))], 8);
    let replay = check(cluster, &cluster.all_nodes(), &ordered.steps, CheckOptions::default()).unwrap();
    let there = |i| replay.placement(i);
    match ordered.given_up.is_empty() {
        true => assert_eq!((there(a), there(b)), (at(b), at(a))),
        false => assert_eq!((there(a), there(b)), (at(a), at(b))),
    }
    ordered
}

#[test]
fn who_cannot_pass_goes_round_or_stays() {
    // Neither can enter the other's node before the other has left it.
    let ext = [(2048, 0, None), (1024, 1, None)];
    let ordered = exchanged(&crowded(3, &ext), [0, 1]);
    assert_eq!((ordered.steps.len(), ordered.detours.len()), (3, 1));
    // There is no third node.
    let ordered = exchanged(&crowded(2, &ext), [0, 1]);
    assert_eq!((ordered.steps.len(), ordered.given_up.len()), (0, 2));
    // Mirrored pairs: on four nodes, one instance moves at a time, because the tag concerns primaries.
    let drbd = [(2048, 0, Some(1)), (1024, 2, Some(3))];
    let ordered = exchanged(&crowded(4, &drbd), [0, 1]);
    assert!(ordered.given_up.is_empty() && ordered.detours.len() == 1, "{ordered:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (cluster, options) = case(11);
    let nodes = cluster.all_nodes();
    let deep = DeepOptions { effort: 20_000, ..DeepOptions::of(&cluster, &nodes) };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            search(
                &cluster,
                &nodes,
                &options,
                &deep,
                DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() },
            )
        })
    };
    assert_eq!(with(1), with(8));
}

#[test]
fn limits_hold() {
    for seed in 1..60 {
        let (cluster, options) = case(seed);
        let nodes = cluster.nodes_of(cluster.groups[0].idx).to_vec();
        for most in [0, 1, 3] {
            let deep = DeepOptions {
                effort: 8_000,
                max_moves: Some(most),
                max_data: Some(Mib(30_000)),
                ..DeepOptions::of(&cluster, &nodes)
            };
            let found = search(
                &cluster,
                &nodes,
                &options,
                &deep,
                DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() },
            );
            assert!(
                found.line.iter().all(|p| p.moves as u64 <= most && p.data <= Mib(30_000)),
                "seed {seed}"
            );
            // More moves can reach a better score, but not one below the bound for any number.
            assert!(found.bound() >= found.floor && found.bound() <= found.best().score, "seed {seed}");
        }
    }
}
