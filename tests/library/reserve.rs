//! `--keep-reserve`, compared with its definition and with the results of `hcheck --survive`.

use crate::common::clusters::{Dice, Recipe, Style, balance_options, cases, recipes};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::model::known_tags::POOL;
use htools::model::{
    Class, Cluster, DiskTemplate, Draft, Instance, InstanceDetails, Mib, Move, Node, NodeIdx, Placement,
    loses_data,
};
use htools::score::Board;
use htools::search::balance::deep::headway::{DeepWatch, SearchProgress};
use htools::search::balance::deep::order::order;
use htools::search::balance::deep::{DeepOptions, search};
use htools::search::health::survival;
use htools::search::moves::{MoveRules, Trial, perform};
use htools::search::place::{Conditions, PlaceTester, Targets, find};
use htools::search::{BalanceOptions, Deadline, balance};
use proptest::prelude::*;

const SANE: &[Style] = &[Style::Mixed, Style::Tight, Style::Symmetric];

/// A cluster in which only memory decides about the consequences of losing nodes.
fn plain_cluster(recipe: &Recipe, losses: usize) -> Cluster {
    let mut raw = recipe.raw();
    for node in &mut raw.nodes {
        node.offline = false;
        node.tags.retain(|tag| tag.starts_with(POOL));
    }
    for instance in &mut raw.instances {
        instance.auto_balance = true;
        // A meaningless secondary would reserve memory for the instance's first node.
        instance.secondary = instance.secondary.filter(|_| instance.template.has_secondary());
        if recipe.seed.is_multiple_of(3) && instance.secondary.is_none() {
            instance.template = DiskTemplate::Ext;
        }
    }
    let mut cluster = merge(raw, &MergeOptions::default()).expect("no selection");
    finish(&mut cluster, Mib::ZERO);
    cluster.keep_reserve(Some(losses));
    cluster
}

/// Number of combinations that are not survived, if known for all.
fn failing(cluster: &Cluster, losses: usize) -> u64 {
    survival(cluster, losses, 1, &Deadline::never()).failing()
}

/// Tells if sums prove that all combinations are survived.
fn is_proved(cluster: &Cluster, losses: usize) -> bool {
    let found = survival(cluster, losses, 1, &Deadline::never());
    found.groups.iter().flat_map(|group| &group.sizes).all(|size| size.is_proved)
}

/// Every set of at most `most` of the nodes.
fn choices(nodes: &[NodeIdx], most: usize) -> Vec<Vec<NodeIdx>> {
    let Some((first, rest)) = nodes.split_first() else { return vec![Vec::new()] };
    let without = choices(rest, most);
    let with = choices(rest, most.saturating_sub(1)).into_iter().filter(|_| most > 0);
    let with = with.map(|others| [vec![*first], others].concat());
    without.iter().cloned().chain(with).collect()
}

/// Memory that a node lacks, by the definition: the highest joint demand of `losses` other nodes, plus one, minus its
/// unallocated memory. Values up to 0 mean that nothing is missing.
fn lack(cluster: &Cluster, node: &Node, losses: usize) -> i64 {
    let others: Vec<NodeIdx> = cluster.all_nodes().into_iter().filter(|n| *n != node.spec.idx).collect();
    let asked = |lost: &[NodeIdx]| -> i64 {
        let backed = node.state.secondaries.iter().map(|i| cluster.instance(*i));
        backed.filter(|i| lost.contains(&i.primary)).map(|i| i.mem_reserved().0).sum()
    };
    let most = choices(&others, losses).iter().map(|lost| asked(lost)).max().unwrap_or(0);
    most + 1 - node.state.ledger.mem_unallocated(&node.spec).0
}

/// Memory that a node's group has left by the definition, whichever nodes are lost, for its instances on shared
/// storage. On each node, a gap as large as the largest instance may be unusable. None without such instances. Of
/// several sets of pools, the smallest margin counts.
fn margin(cluster: &Cluster, node: NodeIdx, losses: usize) -> Option<i64> {
    let of_group = cluster.nodes_of(cluster.node(node).spec.group).to_vec();
    let reached = |n: NodeIdx, i: &Instance| cluster.node(n).spec.reaches(i);
    let online: Vec<NodeIdx> = of_group.iter().copied().filter(|n| !cluster.node(*n).spec.offline).collect();
    let on = |n: NodeIdx| cluster.node(n).state.primaries.iter().map(|i| cluster.instance(*i));
    let shared = online.iter().flat_map(|n| on(*n)).filter(|i| Class::of(i.template) == Class::Relocate);
    let shared: Vec<&Instance> = shared.collect();
    let goes_anywhere = |i: &Instance| of_group.iter().all(|n| reached(*n, i));
    let of_kind = |kind: &Instance| {
        let alike = |i: &Instance| match goes_anywhere(kind) {
            true => goes_anywhere(i),
            false => i.needs == kind.needs,
        };
        let largest = shared.iter().filter(|i| alike(i)).map(|i| i.mem_in_use().0).max().unwrap_or(0);
        let targets: Vec<NodeIdx> = online.iter().copied().filter(|n| reached(*n, kind)).collect();
        let room = |n: &NodeIdx| {
            let node = cluster.node(*n);
            let there = (node.state.ledger.mem_unallocated(&node.spec).0 - largest).max(0);
            if targets.contains(n) { there } else { 0 }
        };
        let comes = |i: &&Instance| !loses_data(i, |_| false) && targets.iter().any(|n| reached(*n, i));
        let leaving = |n: &NodeIdx| -> i64 { on(*n).filter(comes).map(|i| i.mem_in_use().0).sum() };
        let left = |lost: &Vec<NodeIdx>| -> i64 {
            let others: i64 = online.iter().filter(|n| !lost.contains(n)).map(room).sum();
            others - lost.iter().map(leaving).sum::<i64>()
        };
        choices(&online, losses).iter().map(left).min()
    };
    shared.iter().filter_map(|kind| of_kind(kind)).min()
}

/// Tells if no reserve has fallen below the requirement and below its earlier value.
fn is_kept(before: &Cluster, after: &Cluster, at: Placement, losses: usize) -> bool {
    let nodes = at.nodes().all(|n| {
        let [was, is] = [before, after].map(|cluster| lack(cluster, cluster.node(n), losses));
        is <= 0 || is <= was
    });
    let [was, is] = [before, after].map(|cluster| margin(cluster, at.primary, losses));
    nodes && is.is_none_or(|is| is > 0 || was.is_some_and(|was| is >= was))
}

proptest! {
    #![proptest_config(cases(300))]

    /// Anything that a cluster survived before balancing, it survives afterwards, step by step and deep.
    #[test]
    fn balancing_takes_nothing_of_the_reserve(
        recipe in recipes(SANE, 3..=9, 4..=30),
        options in balance_options(),
        losses in 2usize..=4,
    ) {
        let cluster = plain_cluster(&recipe, losses);
        let options = BalanceOptions {
            rules: MoveRules { ignore_soft_errors: false, ..options.rules },
            ..options
        };
        let (well, proved) = (failing(&cluster, losses) == 0, is_proved(&cluster, losses));
        for group in cluster.groups_with_nodes() {
            let nodes = cluster.nodes_of(group).to_vec();
            let mut draft = Draft::of(&cluster);
            let found = balance::run(&mut draft, &nodes, options);
            // If a node lacks memory, it lacks no more than before.
            for node in &draft.nodes {
                let [was, is] = [&cluster, &*draft].map(|c| lack(c, c.node(node.spec.idx), losses));
                prop_assert!(is <= 0 || is <= was, "{} lacks {is}, {was} before", node.spec.name);
            }
            prop_assert!(!proved || is_proved(&draft, losses), "{} steps", found.steps.len());
            prop_assert!(!(well && proved) || failing(&draft, losses) == 0);
            if recipe.seed % 4 > 0 {
                continue;
            }
            let deep = DeepOptions { effort: 2000, streams: 1, ..DeepOptions::of(&cluster, &nodes) };
            let found = search(&cluster, &nodes, &options, &deep, DeepWatch { deadline: &Deadline::never(), headway: &SearchProgress::default() });
            let Some(last) = found.line.last() else { continue };
            let mut draft = Draft::of(&cluster);
            for step in order(&cluster, &nodes, &options, &last.placements, 8).steps {
                perform(&mut draft, step.instance, step.mv, &options.rules).expect("it is in a plan");
            }
            prop_assert!(!proved || is_proved(&draft, losses));
        }
    }

    /// The incrementally updated reserves equal the definition, also after changes are undone.
    #[test]
    fn reserves_that_are_carried_along_are_those_of_the_state(
        recipe in recipes(SANE, 2..=8, 1..=20),
        losses in 2usize..=4,
    ) {
        let mut draft = Draft::from(plain_cluster(&recipe, losses));
        let rules = MoveRules::default();
        let mut dice = Dice::new(recipe.seed);
        for _ in 0..6 {
            let all = draft.all_instances();
            let (idx, node) = (all[dice.below(all.len())], NodeIdx::new(dice.below(draft.nodes.len())));
            let kinds = [Move::FailoverTo, Move::ReplaceSecondary, Move::ReplaceAndFailover, Move::ReplacePrimary, Move::FailoverAndReplace];
            let mv = if dice.chance(20) { Move::Failover } else { dice.of(&kinds)(node) };
            let instance = draft.instance(idx).clone();
            let is_own = instance.nodes().any(|n| mv.target() == Some(n));
            let fits = (mv == Move::FailoverTo(node)) != instance.template.has_secondary() && instance.is_movable();
            if is_own || !fits || (instance.template.has_secondary() && instance.mirror().is_none()) {
                continue;
            }
            let before = format!("{:?}", draft.nodes);
            let mark = draft.mark();
            let to = mv.placement(&instance);
            let told = draft.reserve_change(&instance, instance.primary, to.primary);
            let made = perform(&mut draft, idx, mv, &rules);
            if made.is_ok() {
                for node in &draft.nodes {
                    prop_assert_eq!(node.state.ledger.joint_lack(&node.spec), Some(Mib(lack(&draft, node, losses))));
                }
                let group = draft.node(to.primary).spec.group;
                let there = draft.group_reserve(group).map(|reserve| reserve.margin());
                if let Some(margin) = margin(&draft, to.primary, losses) {
                    prop_assert_eq!(there, Some(i128::from(margin)));
                    if to.primary != instance.primary {
                        prop_assert_eq!(told.map(|told| told.after), there);
                    }
                }
            }
            if made.is_err() || dice.chance(40) {
                draft.back_to(mark);
                prop_assert_eq!(&before, &format!("{:?}", draft.nodes));
            }
        }
    }

    /// A move is possible if and only if it is possible without the option and does not reduce the reserve.
    #[test]
    fn moves_are_refused_for_the_reserve_alone(
        recipe in recipes(SANE, 2..=6, 1..=12),
        losses in 2usize..=3,
    ) {
        let cluster = plain_cluster(&recipe, losses);
        let mut free = cluster.clone();
        free.keep_reserve(None);
        let rules = MoveRules::default();
        for instance in cluster.instances.iter().filter(|i| i.is_movable() && !i.template.has_secondary()) {
            for target in cluster.all_nodes().into_iter().filter(|n| *n != instance.primary) {
                let mv = Move::FailoverTo(target);
                let group = |n: NodeIdx| cluster.node(n).spec.group;
                if group(target) != group(instance.primary) {
                    continue;
                }
                let mut after = Draft::of(&free);
                let possible = perform(&mut after, instance.idx, mv, &rules).is_ok();
                let to = Placement { primary: target, secondary: None };
                let expected = possible && is_kept(&cluster, &after, to, losses);
                let tried = Trial::new(&cluster, instance, &rules).run(mv);
                prop_assert_eq!(tried.is_ok(), expected, "{:?} of {}: {:?}", mv, instance.name, tried.err());
            }
        }
    }

    /// A new instance has a place if one exists without the option that does not reduce the reserve, and gets such a
    /// place.
    #[test]
    fn places_are_those_of_brute_force(
        recipe in recipes(SANE, 2..=6, 1..=12),
        losses in 2usize..=3,
        (mem, drbd) in (prop::sample::select(vec![256i64, 1024, 3000, 6000]), any::<bool>()),
    ) {
        let cluster = plain_cluster(&recipe, losses);
        let mut free = cluster.clone();
        free.keep_reserve(None);
        let template = if drbd { DiskTemplate::Drbd } else { DiskTemplate::Ext };
        let (mem, disk) = (Mib(mem), Mib(1024));
        let instance = Instance::from(InstanceDetails {
            mem,
            disk,
            vcpus: 1,
            spindle_use: 1,
            ..InstanceDetails::blank("new".into(), template)
        });
        let nodes = cluster.all_nodes();
        let Ok(targets) = Targets::of(&cluster, &nodes, if drbd { 2 } else { 1 }) else { return Ok(()) };
        let conditions = Conditions::default();
        let fit = PlaceTester::new(&free, &instance, &conditions);
        let mut allowed = Vec::new();
        for &primary in targets.primaries() {
            let secondaries: Vec<Option<NodeIdx>> = match drbd {
                true => targets.partners(&cluster, primary).map(Some).collect(),
                false => vec![None],
            };
            for secondary in secondaries {
                let at = Placement { primary, secondary };
                let Ok(place) = fit.at(at) else { continue };
                let mut after = Draft::of(&free);
                after.adopt(&instance, &place);
                if is_kept(&cluster, &after, at, losses) {
                    allowed.push(at);
                }
            }
        }
        let found = find(&cluster, &nodes, (&instance).into(), &targets, &conditions);
        let best = found.best.map(|(_, place)| place.placement);
        prop_assert_eq!(best.is_some(), !allowed.is_empty(), "{:?} of {:?}", best, allowed);
        prop_assert!(best.is_none_or(|at| allowed.contains(&at)));
        // The best of these places.
        let score = |at: &Placement| {
            let mut after = Draft::of(&free);
            let place = fit.at(*at).expect("it is possible");
            after.adopt(&instance, &place);
            Board::new(&after, &nodes).score()
        };
        if let (Some(best), Some(least)) = (best, allowed.iter().map(score).min_by(f64::total_cmp)) {
            prop_assert!(score(&best) <= least + 1e-9, "{best:?}");
        }
    }
}
