//! Deep balancing against brute force: on small clusters all placements that moves lead to are known.

use std::collections::HashSet;

use crate::common::clusters::{Dice, Recipe, Style, cases};
use htools::model::{Cluster, Draft, Instance, InstanceIdx, Mib, Mirroring, Move, NodeIdx, Placement};
use htools::plan::checker::{CheckOptions, check, check_scores};
use htools::score::Board;
use htools::search::balance::deep::order::order;
use htools::search::balance::deep::{Deep, DeepOptions, search};
use htools::search::moves::{Repertoire, perform};
use htools::search::{BalanceOptions, Deadline, MoveRules};
use proptest::prelude::*;

/// More placements than this are not tried.
const MOST_PLACEMENTS: usize = 3000;

/// The moves of an instance, one by one: those of the greedy search, and those that change both nodes.
fn moves(cluster: &Cluster, nodes: &[NodeIdx], instance: InstanceIdx, rules: &MoveRules) -> Vec<Move> {
    let i = cluster.instance(instance);
    let usable = |n: NodeIdx| nodes.contains(&n) && !cluster.node(n).spec.offline;
    let targets: Vec<NodeIdx> =
        nodes.iter().copied().filter(|n| usable(*n) && *n != i.primary && Some(*n) != i.secondary).collect();
    let repertoire = Repertoire::of(cluster, i, i.mirror().is_some_and(usable), rules);
    let mut moves: Vec<Move> = repertoire.failover.then_some(Move::Failover).into_iter().collect();
    moves.extend(targets.iter().flat_map(|t| repertoire.to_target.iter().map(|kind| kind(*t))));
    let free = rules.disk_moves && rules.instance_moves && !rules.restricted_migration;
    if i.template.mirroring() == Mirroring::Internal && free {
        let p_offline = cluster.node(i.primary).spec.offline;
        for t in &targets {
            for u in targets.iter().filter(|u| *u != t) {
                match p_offline {
                    false => moves.push(Move::ReplaceBoth(*t, *u)),
                    true if i.mirror().is_some_and(usable) => {
                        moves.push(Move::FailoverAndReplaceBoth(*t, *u))
                    }
                    true => {}
                }
            }
        }
    }
    moves
}

/// By number of moved instances, the smallest score of all placements that so many moves, one an instance, lead to;
/// nothing if there are too many.
fn optimum(cluster: &Cluster, nodes: &[NodeIdx], options: &BalanceOptions) -> Option<Vec<f64>> {
    let mobile = |i: &&Instance| {
        let offline = i.nodes().any(|n| cluster.node(n).spec.offline);
        nodes.contains(&i.primary)
            && i.is_movable()
            && i.auto_balance
            && i.template.is_movable()
            && (!options.evacuate || offline)
    };
    let mobiles: Vec<InstanceIdx> = cluster.instances.iter().filter(mobile).map(|i| i.idx).collect();
    let seats = |i: &InstanceIdx| 1 + moves(cluster, nodes, *i, &options.rules).len();
    let all = mobiles
        .iter()
        .try_fold(1_usize, |all, i| all.checked_mul(seats(i)).filter(|n| *n <= MOST_PLACEMENTS))?;
    if all < 2 {
        return None;
    }
    let mut draft = Draft::of(cluster);
    let mut search = Every {
        nodes,
        options,
        mobiles: &mobiles,
        known: HashSet::new(),
        best: vec![f64::INFINITY; mobiles.len() + 1],
    };
    search.visit(&mut draft, 0);
    for k in 1..search.best.len() {
        search.best[k] = search.best[k].min(search.best[k - 1]);
    }
    Some(search.best)
}

struct Every<'a> {
    nodes: &'a [NodeIdx],
    options: &'a BalanceOptions,
    mobiles: &'a [InstanceIdx],
    known: HashSet<Vec<Placement>>,
    best: Vec<f64>,
}

impl Every<'_> {
    fn visit(&mut self, draft: &mut Draft, moved: u32) {
        let at = |i: &InstanceIdx| {
            let i = draft.instance(*i);
            Placement { primary: i.primary, secondary: i.secondary }
        };
        let key: Vec<Placement> = self.mobiles.iter().map(at).collect();
        if !self.known.insert(key) {
            return;
        }
        let count = moved.count_ones() as usize;
        self.best[count] = self.best[count].min(Board::new(draft, self.nodes).score());
        for (bit, instance) in self.mobiles.iter().enumerate().filter(|(bit, _)| moved & (1 << bit) == 0) {
            for mv in moves(draft, self.nodes, *instance, &self.options.rules) {
                let mark = draft.mark();
                if perform(draft, *instance, mv, &self.options.rules).is_ok() {
                    self.visit(draft, moved | 1 << bit);
                }
                draft.back_to(mark);
            }
        }
    }
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
        let found = search(cluster, &nodes, options, &deep, &Deadline::never());
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

/// A small cluster of any kind, and options.
fn case(seed: u64) -> (Cluster, BalanceOptions) {
    let mut dice = Dice::new(seed);
    let style = dice.of(&[Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded]);
    let recipe = Recipe { style, nodes: 2 + dice.below(4), instances: 1 + dice.below(8), seed };
    let rules = MoveRules {
        disk_moves: !dice.chance(10),
        instance_moves: !dice.chance(10),
        restricted_migration: dice.chance(15),
        ignore_soft_errors: dice.chance(15),
    };
    (recipe.cluster(), BalanceOptions { rules, evacuate: dice.chance(15), ..BalanceOptions::default() })
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
        pool.install(|| search(&cluster, &nodes, &options, &deep, &Deadline::never()))
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
            let found = search(&cluster, &nodes, &options, &deep, &Deadline::never());
            assert!(
                found.line.iter().all(|p| p.moves as u64 <= most && p.data <= Mib(30_000)),
                "seed {seed}"
            );
        }
    }
}
