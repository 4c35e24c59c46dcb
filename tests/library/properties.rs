//! Properties of model, score and search on random clusters. `PROPTEST_CASES`
//! (256 by default) scales the number of cases.

use crate::common::clusters::{Dice, Recipe, Style, balance_options, cases, recipes, weights};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{
    Cluster, Concession, DiskCheck, Draft, Instance, InstanceIdx, JointReserve, Ledger, Mib, Move, Node,
    NodeIdx, Rule, RunStatus, Step, Strictness, TagArrival,
};
use htools::plan::checker::{CheckOptions, check, check_jobsets, check_scores};
use htools::plan::jobset::jobsets;
use htools::score::Board;
use htools::score::batch::{ChangedState, Scorer};
use htools::score::interval::Running;
use htools::search::balance::bounds::MoveBounds;
use htools::search::moves::{Outcome, Repertoire, Trial};
use htools::search::{BalanceOptions, Balancer, Effort, MoveRules};
use proptest::prelude::*;

const SANE: &[Style] = &[Style::Mixed, Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded];
const ANY: &[Style] =
    &[Style::Mixed, Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded, Style::Weird];

fn groups(cluster: &Cluster) -> Vec<Vec<NodeIdx>> {
    cluster.groups.iter().map(|g| cluster.nodes_of(g.idx).to_vec()).collect()
}

/// Balances a group; returns the steps and the cluster at the end.
fn balance(cluster: &Cluster, nodes: &[NodeIdx], options: BalanceOptions) -> (Vec<Step>, Cluster) {
    let mut end = Draft::of(cluster);
    let mut balancer = Balancer::new(&mut end, nodes, options);
    let mut steps = Vec::new();
    while let Some(step) = balancer.next_step() {
        steps.push(step);
    }
    (steps, end.into_cluster())
}

fn same_steps(a: &[Step], b: &[Step]) -> Result<(), TestCaseError> {
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        let bits = (a.score.to_bits(), b.score.to_bits());
        prop_assert!(a == b && bits.0 == bits.1, "step {at}: {a:?} is not {b:?}");
    }
    prop_assert_eq!(a.len(), b.len());
    Ok(())
}

fn screening_changes_nothing(recipe: &Recipe, options: BalanceOptions) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    for nodes in groups(&cluster) {
        let exhaustive = BalanceOptions { effort: Effort::Exhaustive, ..options };
        let screened = BalanceOptions { effort: Effort::Screened, ..options };
        same_steps(&balance(&cluster, &nodes, screened).0, &balance(&cluster, &nodes, exhaustive).0)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(640))]

    #[test]
    fn screened_and_exhaustive_search_find_the_same_steps(
        recipe in recipes(ANY, 12..=40, 0..=90),
        options in balance_options(),
    ) {
        screening_changes_nothing(&recipe, options)?;
    }

    #[test]
    fn screened_and_exhaustive_search_agree_on_small_clusters(
        recipe in recipes(ANY, 0..=13, 0..=40),
        options in balance_options(),
    ) {
        screening_changes_nothing(&recipe, options)?;
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn screened_and_exhaustive_search_agree_on_large_clusters(
        recipe in recipes(ANY, 60..=90, 50..=200),
        options in balance_options(),
    ) {
        screening_changes_nothing(&recipe, BalanceOptions { max_length: 4, ..options })?;
    }
}

proptest! {
    #![proptest_config(cases(24))]

    // So many equal moves that one represents all of them.
    #[test]
    fn screened_and_exhaustive_search_agree_on_equal_nodes(
        (nodes, rounds, seed) in (18usize..=34, 1usize..=4, any::<u64>().no_shrink()),
        template in prop::sample::select(&["drbd", "ext"][..]),
    ) {
        let cluster = half_full(nodes, rounds, template, seed);
        for nodes in groups(&cluster) {
            let exhaustive = BalanceOptions {
                effort: Effort::Exhaustive,
                max_length: 20,
                ..BalanceOptions::default()
            };
            let screened = BalanceOptions { effort: Effort::Screened, ..exhaustive };
            same_steps(&balance(&cluster, &nodes, screened).0, &balance(&cluster, &nodes, exhaustive).0)?;
        }
    }
}

/// Equal nodes, about half of them with equal instances.
fn half_full(nodes: usize, rounds: usize, template: &str, seed: u64) -> Cluster {
    let mut dice = Dice::new(seed);
    let (memory, disk, step) = (dice.of(&[65536, 60000]), dice.of(&[409_600, 300_007]), dice.of(&[1, 2, 7]));
    let full: Vec<usize> = match step {
        1 => (0..nodes / 2).collect(),
        _ => (0..nodes).filter(|_| dice.chance(50)).collect(),
    };
    let mut raw = String::from("g|u|preferred||\n\n");
    for node in 0..nodes {
        let used = full.iter().filter(|n| **n == node).count() * rounds;
        let (memory_free, disk_free) = (memory - 1024 - 2048 * used, disk - 10_000 * used);
        raw += &format!("n{node:02}|{memory}|1024|{memory_free}|{disk}|{disk_free}|24|N|u|1\n");
    }
    raw += "\n";
    for round in 0..rounds {
        for (at, node) in full.iter().enumerate() {
            let other = full[(at + 1 + round) % full.len()];
            let mirror =
                if template == "drbd" && other != *node { format!("n{other:02}") } else { String::new() };
            let template = if mirror.is_empty() { "ext" } else { template };
            raw += &format!("i{round}-{at}|2048|10000|1|running|Y|n{node:02}|{mirror}|{template}|\n");
        }
    }
    let raw = text::parse(&(raw + "\n\n"), "test").expect("a valid text");
    let options = MergeOptions { weights: weights(&mut dice), ..MergeOptions::default() };
    let mut cluster = merge(raw, &options).expect("no selection that could fail");
    finish(&mut cluster, Mib(0));
    cluster
}

/// All moves of an instance to the nodes of a set.
fn moves(cluster: &Cluster, board: &Board, instance: &Instance, repertoire: &Repertoire) -> Vec<Move> {
    let mut moves = Vec::new();
    if repertoire.failover {
        moves.push(Move::Failover);
    }
    for node in board.nodes().iter().filter(|n| !cluster.node(**n).spec.offline) {
        if *node != instance.primary && Some(*node) != instance.secondary {
            moves.extend(repertoire.to_target.iter().map(|kind| kind(*node)));
        }
    }
    moves
}

/// The exact scores of an instance's possible moves are inside the intervals and not below the bounds.
fn moves_are_bounded(
    balancer: &Balancer<'_>,
    all: Option<&MoveBounds>,
    running: &Running,
    instance: &Instance,
) -> Result<(), TestCaseError> {
    let (cluster, board) = (balancer.cluster(), balancer.board());
    let repertoire = balancer.repertoire(instance);
    let trial = Trial::new(cluster, instance, balancer.rules());
    for mv in moves(cluster, board, instance, &repertoire) {
        let Ok(outcome) = trial.run(mv) else { continue };
        let score = balancer.score_after(instance, &outcome);
        if score.is_nan() {
            continue;
        }
        let to = outcome.placement.primary;
        let spec = |n: NodeIdx| &cluster.node(n).spec;
        let spread = match to == instance.primary {
            true => 0,
            false => board.spread().change(instance, Some(spec(instance.primary)), Some(spec(to))),
        };
        let interval = running.interval(board, outcome.touched(), board.spread().surplus() + spread);
        let outside = interval.lo > score || interval.hi < score;
        prop_assert!(!outside, "{mv:?} of {}: {score:e} is not in {interval:?}", instance.name);
        if let Some(bounds) = all.and_then(|all| all.bounds(balancer, instance, mv)) {
            let fine = bounds.iter().all(|bound| *bound <= score);
            prop_assert!(fine, "{mv:?} of {}: {score:e} is below one of {bounds:?}", instance.name);
        }
    }
    Ok(())
}

fn bounds_hold(recipe: &Recipe, options: BalanceOptions, steps: usize) -> Result<(), TestCaseError> {
    let mut cluster = Draft::from(recipe.cluster());
    for nodes in groups(&cluster) {
        let mut balancer = Balancer::new(&mut cluster, &nodes, options);
        for _ in 0..steps {
            balancer.next_step();
        }
        if balancer.score().is_nan() {
            continue;
        }
        balancer.bounds();
        let all = balancer.last_bounds();
        let (cluster, fresh) = (balancer.cluster(), Running::of(balancer.board()));
        let of_set = |i: &&Instance| balancer.board().contains(i.primary) && balancer.is_candidate(i);
        for instance in cluster.instances.iter().filter(of_set) {
            moves_are_bounded(&balancer, all, all.map_or(&fresh, MoveBounds::running), instance)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn intervals_and_bounds_hold(
        recipe in recipes(ANY, 1..=40, 0..=80),
        options in balance_options(),
        steps in 0usize..8,
    ) {
        bounds_hold(&recipe, options, steps)?;
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn bounds_hold_where_counts_make_most_of_the_score(
        recipe in recipes(&[Style::Stranded], 12..=30, 300..=900),
        options in balance_options(),
    ) {
        bounds_hold(&recipe, options, 0)?;
    }
}

/// A score of -28 as the sum of parts a hundred times as large: the keys' part is negative.
#[test]
fn bounds_hold_where_keys_outweigh_other_counts() {
    let recipe = Recipe { style: Style::Stranded, nodes: 19, instances: 597, seed: 1236756038684536869 };
    let rules = MoveRules { disk_moves: false, ..MoveRules::default() };
    bounds_hold(&recipe, BalanceOptions { rules, ..BalanceOptions::default() }, 0).unwrap();
}

proptest! {
    #![proptest_config(cases(10))]

    /// So many different instances that sizes must be combined.
    #[test]
    fn bounds_hold_for_instances_of_very_many_sizes(
        recipe in recipes(&[Style::Mixed, Style::Tight], 16..=24, 350..=450),
        options in balance_options(),
        steps in 0usize..6,
    ) {
        bounds_hold(&recipe, options, steps)?;
        screening_changes_nothing(&recipe, BalanceOptions { max_length: 6, ..options })?;
    }

    #[test]
    fn scores_side_by_side_are_those_one_by_one(
        recipe in recipes(ANY, 1..=40, 0..=80),
        options in balance_options(),
        steps in 0usize..4,
    ) {
        let mut cluster = Draft::from(recipe.cluster());
        for nodes in groups(&cluster) {
            let mut balancer = Balancer::new(&mut cluster, &nodes, options);
            for _ in 0..steps {
                balancer.next_step();
            }
            let (cluster, board) = (balancer.cluster(), balancer.board());
            let scorer = Scorer::of(board);
            for instance in cluster.instances.iter().filter(|i| board.contains(i.primary)) {
                let trial = Trial::new(cluster, instance, balancer.rules());
                let all = moves(cluster, board, instance, &balancer.repertoire(instance));
                let outcomes: Vec<Outcome<'_>> = all.iter().filter_map(|mv| trial.run(*mv).ok()).collect();
                let state = |o: &'_ Outcome<'_>| board.score_with(o.touched(), 3).to_bits();
                let one_by_one: Vec<u64> = outcomes.iter().map(state).collect();
                let states: Vec<ChangedState<'_>> =
                    outcomes.iter().map(|o| ChangedState { touched: o.touched(), spread_change: 3 }).collect();
                let side_by_side: Vec<u64> = scorer.scores(&states).into_iter().map(f64::to_bits).collect();
                prop_assert_eq!(side_by_side, one_by_one);
            }
        }
    }
}

/// Recomputes the integers of a node's ledger from the placements of instances. Free disk and planned memory are
/// those at the start, changed by arrivals and departures.
fn added_up(start: &Cluster, now: &Cluster, node: NodeIdx) -> Ledger {
    let spec = &now.node(node).spec;
    let mut l = Ledger { ..now.node(node).state.ledger };
    let first = &start.node(node).state.ledger;
    (l.mem_instances, l.vcpus, l.vcpus_planned) = (Mib(0), spec.cpu_node, spec.cpu_node);
    (l.spindles_used, l.spindles_used_planned) = (0.0, 0.0);
    (l.primaries, l.secondaries, l.location_sum) = (0, 0, 0);
    (l.disk_free, l.disk_free_planned) = (first.disk_free, first.disk_free_planned);
    l.mem_free_planned = first.mem_free_planned;
    let mut tags: Vec<_> = Vec::new();
    let mut reserve = vec![Mib(0); now.nodes.len()];
    for (old, new) in start.instances.iter().zip(&now.instances) {
        let local = if new.template.uses_local_storage() { new.disk } else { Mib(0) };
        let weight = if new.template.uses_local_storage() { new.spindle_use as f64 } else { 0.0 };
        for (instance, here) in [(old, Mib(1)), (new, Mib(-1))] {
            let signed = |amount: Mib| if here == Mib(1) { amount } else { -amount };
            let roles = [Some(instance.primary), instance.secondary];
            for _ in roles.iter().flatten().filter(|n| **n == node) {
                l.disk_free_planned += signed(local);
                l.disk_free += if new.forthcoming { Mib(0) } else { signed(local) };
            }
            l.mem_free_planned += if instance.primary == node { signed(new.mem) } else { Mib(0) };
        }
        if new.primary == node {
            tags.extend(new.exclusion_tags.iter().copied());
            l.vcpus_planned += new.vcpus_in_use();
            l.spindles_used_planned += weight;
            if !new.forthcoming {
                l.primaries += 1;
                l.mem_instances += new.mem_in_use();
                l.vcpus += new.vcpus_in_use();
                l.spindles_used += weight;
                l.location_sum += spec.location_cost(new, new.location_score);
            }
        }
        if new.secondary == Some(node) {
            l.spindles_used_planned += weight;
            if !new.forthcoming {
                l.secondaries += 1;
                l.spindles_used += weight;
                let primary = if new.template.has_secondary() { new.primary } else { old.primary };
                reserve[primary.get()] += new.mem_reserved();
            }
        }
    }
    if spec.exclusive_storage {
        (l.spindles_used, l.spindles_used_planned) = (0.0, 0.0);
    }
    l.mem_reserved = reserve.iter().copied().fold(Mib(0), Mib::max);
    reserve.sort_unstable();
    reserve.reverse();
    l.joint = JointReserve::of(reserve.into_iter(), spec.joint_losses);
    let all = tags.len();
    tags.sort();
    tags.dedup();
    l.tag_conflicts = (all - tags.len()) as i64;
    l
}

fn state_is_consistent(start: &Cluster, now: &Cluster) -> Result<(), TestCaseError> {
    for node in &now.nodes {
        let (ledger, name) = (&node.state.ledger, &node.spec.name);
        prop_assert_eq!(ledger, &added_up(start, now, node.spec.idx), "{}", name);
        prop_assert_eq!(ledger.mem_reserved, node.state.peers.max(), "{}", name);
        prop_assert_eq!(ledger.primaries, node.state.primaries.len() as i64, "{}", name);
        prop_assert_eq!(ledger.secondaries, node.state.secondaries.len() as i64, "{}", name);
    }
    for instance in now.instances.iter().filter(|i| i.template.has_secondary()) {
        let common = instance.secondary.map_or(0, |s| now.common_locations(instance.primary, s));
        prop_assert_eq!(instance.location_score, common);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn every_step_leaves_consistent_figures(
        recipe in recipes(SANE, 2..=30, 1..=60),
        options in balance_options(),
    ) {
        let start = recipe.cluster();
        state_is_consistent(&start, &start)?;
        for nodes in groups(&start) {
            let mut cluster = Draft::of(&start);
            let mut balancer = Balancer::new(&mut cluster, &nodes, options);
            let mut previous = balancer.score();
            while let Some(step) = balancer.next_step() {
                let fresh = Board::new(balancer.cluster(), &nodes);
                let bits = |board: &Board| -> Vec<u64> { board.rows().iter().flatten().map(|x| x.to_bits()).collect() };
                prop_assert_eq!(bits(balancer.board()), bits(&fresh));
                prop_assert_eq!(balancer.components(), fresh.components());
                prop_assert_eq!(step.score.to_bits(), fresh.score().to_bits());
                prop_assert!(step.score < previous, "the score rises from {previous} to {}", step.score);
                previous = step.score;
                state_is_consistent(&start, balancer.cluster())?;
            }
        }
    }

    #[test]
    fn plans_pass_the_checker_and_damaged_ones_do_not(
        recipe in recipes(SANE, 2..=30, 1..=60),
        options in balance_options(),
    ) {
        let start = recipe.cluster();
        let checks = CheckOptions { ignore_soft_errors: options.rules.ignore_soft_errors };
        let mut dice = Dice::new(recipe.seed);
        for nodes in groups(&start) {
            let (steps, end) = balance(&start, &nodes, options);
            let replay = check(&start, &nodes, &steps, checks);
            prop_assert!(replay.as_ref().is_ok_and(|r| r.leads_to(&end)), "{replay:?}");
            prop_assert_eq!(check_scores(&start, &nodes, &steps), Ok(()));
            prop_assert_eq!(check_jobsets(&steps, &jobsets(&start, &steps)), Ok(()));
            if !steps.is_empty() {
                damage_is_found(&start, &nodes, &steps, checks, &mut dice)?;
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing(
        recipe in recipes(ANY, 12..=40, 0..=90),
        options in balance_options(),
    ) {
        let cluster = recipe.cluster();
        let run = |threads: usize, nodes: &[NodeIdx]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| balance(&cluster, nodes, options).0)
        };
        for nodes in groups(&cluster) {
            same_steps(&run(1, &nodes), &run(2, &nodes))?;
        }
    }
}

fn damage_is_found(
    start: &Cluster,
    nodes: &[NodeIdx],
    steps: &[Step],
    checks: CheckOptions,
    dice: &mut Dice,
) -> Result<(), TestCaseError> {
    let at = dice.below(steps.len());
    let refused = |damaged: &[Step]| check(start, nodes, damaged, checks).err().map(|v| v.step);
    let other = |not: NodeIdx| NodeIdx::new((not.get() + 1) % start.nodes.len());

    let mut damaged = steps.to_vec();
    damaged[at].to.primary = other(damaged[at].to.primary);
    prop_assert_eq!(refused(&damaged), Some(at + 1));

    let mut damaged = steps.to_vec();
    damaged[at].from.primary = other(damaged[at].from.primary);
    prop_assert_eq!(refused(&damaged), Some(at + 1));

    let mut damaged = steps.to_vec();
    damaged[at].mv = Move::FailoverTo(damaged[at].from.primary);
    prop_assert_eq!(refused(&damaged), Some(at + 1));

    let mut damaged = steps.to_vec();
    damaged[at].instance = InstanceIdx::new(start.instances.len());
    prop_assert_eq!(refused(&damaged), Some(at + 1));

    // Swaps a step with a later one of the same instance.
    let later = (at + 1..steps.len()).find(|l| steps[*l].instance == steps[at].instance);
    if let Some(later) = later.filter(|l| steps[*l].from != steps[at].from) {
        let mut damaged = steps.to_vec();
        damaged.swap(at, later);
        prop_assert_eq!(refused(&damaged), Some(at + 1));
    }

    // A set of nodes without the new node.
    if let Some(target) = steps[at].mv.target() {
        let rest: Vec<NodeIdx> = nodes.iter().copied().filter(|n| *n != target).collect();
        prop_assert!(check(start, &rest, steps, checks).is_err());
    }

    let mut damaged = steps.to_vec();
    damaged[at].score *= 1.0 + 1e-6;
    damaged[at].score += 1e-6;
    prop_assert_eq!(check_scores(start, nodes, &damaged).map_err(|e| e.step), Err(at + 1));
    Ok(())
}

/// A ledger without the parts that may differ after a removal: loads, the N+1 flag, and free spindles if they mean
/// nothing.
fn integers(node: &Node, ledger: Ledger) -> Ledger {
    let mut ledger = Ledger { load: Default::default(), n1_fail: false, ..ledger };
    if !node.spec.exclusive_storage {
        (ledger.spindles_free, ledger.spindles_free_planned) = (0, 0);
    }
    ledger
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn removing_what_was_added_restores_the_figures(recipe in recipes(SANE, 2..=10, 1..=20)) {
        let cluster = recipe.cluster();
        for (node, instance) in cluster.nodes.iter().flat_map(|n| cluster.instances.iter().map(move |i| (n, i))) {
            let (spec, before) = (&node.spec, node.state.ledger);
            if instance.nodes().any(|n| n == spec.idx) || instance.spindles.is_none() {
                continue;
            }
            let tags = TagArrival::of(&node.state, instance);
            for strictness in [Strictness::Strict, Strictness::Forced] {
                if let Ok(added) = before.add_primary(spec, instance, 1, tags, strictness) {
                    let back = added.remove_primary(spec, instance, 1, tags);
                    prop_assert_eq!(integers(node, back), integers(node, before));
                }
                let peer = node.state.peers.get(instance.primary);
                let added = before.add_secondary(spec, instance, peer, strictness, DiskCheck::Needed);
                if let Ok(added) = added {
                    let back = added.remove_secondary(spec, instance, before.reserve());
                    prop_assert_eq!(integers(node, back), integers(node, before));
                    if !instance.auto_balance || instance.status.is_offline() {
                        prop_assert_eq!(added.mem_reserved, before.mem_reserved);
                    }
                }
            }
        }
    }

    #[test]
    fn instances_out_of_service_are_never_refused_for_cpus(recipe in recipes(SANE, 2..=10, 1..=20)) {
        let cluster = recipe.cluster();
        for (node, instance) in cluster.nodes.iter().flat_map(|n| cluster.instances.iter().map(move |i| (n, i))) {
            let (spec, before) = (&node.spec, node.state.ledger);
            let mut instance = instance.clone();
            instance.details_mut().status = RunStatus::AdminOffline;
            let tags = TagArrival::of(&node.state, &instance);
            let forced = before.add_primary(spec, &instance, 0, tags, Strictness::Forced);
            if let Err(rule) = forced && rule != Rule::KeptOut {
                use htools::model::FailKind::{Disk, Mem, Spindles};
                let kind = rule.kind();
                prop_assert!(matches!(kind, Disk | Spindles) || (kind == Mem && before.mem_unallocated(spec) <= Mib(0)));
            }
        }
    }

    #[test]
    fn identical_empty_nodes_score_nothing(nodes in 0usize..80, seed in any::<u64>()) {
        let recipe = Recipe { style: Style::Symmetric, nodes, instances: 0, seed };
        let mut raw = recipe.raw();
        for node in &mut raw.nodes {
            let tags = std::mem::take(&mut node.tags);
            *node = htools::load::raw::RawNode { name: node.name.clone(), tags, ..recipe.raw().nodes[0].clone() };
            node.offline = false;
        }
        let cluster = htools::load::merge::merge(raw, &Default::default()).expect("nothing to select");
        prop_assert!(Board::new(&cluster, &cluster.all_nodes()).score() <= 1e-12);
    }
}

/// The checker allows exactly the moves that the search considers possible.
fn verdicts_agree(recipe: &Recipe, options: BalanceOptions, steps: usize) -> Result<(), TestCaseError> {
    let mut cluster = Draft::from(recipe.cluster());
    let checks = CheckOptions { ignore_soft_errors: options.rules.ignore_soft_errors };
    // A meaningless secondary continues to reserve memory for the instance's first node. A checker that starts
    // half-way cannot know this.
    let stray = cluster.instances.iter().any(|i| i.secondary.is_some() && i.mirror().is_none());
    let steps = if stray { 0 } else { steps };
    for nodes in groups(&cluster) {
        let mut balancer = Balancer::new(&mut cluster, &nodes, options);
        for _ in 0..steps {
            balancer.next_step();
        }
        let (cluster, board) = (balancer.cluster(), balancer.board());
        let of_set = |i: &&Instance| board.contains(i.primary) && balancer.is_candidate(i);
        for instance in cluster.instances.iter().filter(of_set) {
            let trial = Trial::new(cluster, instance, &options.rules);
            let from = instance.placement();
            for mv in moves(cluster, board, instance, &balancer.repertoire(instance)) {
                let to = mv.placement(instance);
                let step =
                    Step { instance: instance.idx, mv, from, to, score: 0.0, concession: Concession::None };
                let (tried, checked) = (trial.run(mv).err(), check(cluster, &nodes, &[step], checks).err());
                let name = &instance.name;
                prop_assert_eq!(
                    tried.is_some(),
                    checked.is_some(),
                    "{:?} of {}: {:?}, {:?}",
                    mv,
                    name,
                    tried,
                    checked
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn search_and_checker_agree_on_what_is_possible(
        recipe in recipes(SANE, 2..=12, 1..=30),
        options in balance_options(),
        steps in 0usize..5,
    ) {
        verdicts_agree(&recipe, options, steps)?;
    }
}
