//! Moves between groups against brute force. If a tool reports that an instance cannot leave its group, the checker's
//! rules must forbid every node of the other groups. The checker shares no code with the search.

use crate::common::clusters::{Dice, Recipe, Style, cases};
use htools::load::iallocator::Request;
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::raw::RawGroup;
use htools::model::known_tags::DENY;
use htools::model::{
    AllocPolicy, Class, Cluster, Concession, EvacMode, GroupIdx, Instance, Mib, Move, NodeIdx, Placement,
    Step,
};
use htools::plan::checker::{CheckOptions, Fault, check, check_crossings};
use htools::search::groups::RegroupOptions;
use htools::search::groups::compress::{Compressed, compress};
use htools::search::requests::{Answer, Settings, answer};

/// A cluster of two or three groups; moves must not leave or enter some of them.
fn cluster(seed: u64) -> Cluster {
    let mut dice = Dice::new(seed ^ 0xc055);
    let style = dice.of(&[Style::Mixed, Style::Tight, Style::Symmetric]);
    let recipe = Recipe { style, nodes: 2 + dice.below(6), instances: 1 + dice.below(5), seed };
    let mut raw = recipe.raw();
    let (first, count) = (raw.groups[0].clone(), 2 + dice.below(2));
    let denied = |dice: &mut Dice, percent| dice.chance(percent).then(|| DENY.to_owned());
    let group = |at: usize| RawGroup {
        name: format!("group{at}"),
        uuid: format!("uuid{at}"),
        alloc_policy: dice.of(&[AllocPolicy::Preferred, AllocPolicy::LastResort, AllocPolicy::Unallocable]),
        tags: first.tags.iter().cloned().chain(denied(&mut dice, 15)).collect(),
        ..first.clone()
    };
    raw.groups = (0..count).map(group).collect();
    raw.tags.extend(denied(&mut dice, 5));
    for (at, node) in raw.nodes.iter_mut().enumerate() {
        node.group = GroupIdx::new(at % count);
    }
    let mut cluster = merge(raw, &MergeOptions::default()).expect("no selection that could fail");
    finish(&mut cluster, Mib(0));
    cluster
}

/// Such a cluster that sometimes reserves memory for the loss of two nodes at once.
fn cluster_with_reserve(seed: u64) -> Cluster {
    let mut cluster = cluster(seed);
    cluster.keep_reserve(Dice::new(seed ^ 0x7e5e).chance(30).then_some(2));
    cluster
}

/// Failover of an instance on shared storage.
fn failover(instance: &Instance, node: NodeIdx) -> Step {
    let [from, to] = [instance.primary, node].map(|primary| Placement { primary, secondary: None });
    let (mv, concession) = (Move::FailoverTo(node), Concession::None);
    Step { instance: instance.idx, mv, from, to, score: 0.0, concession }
}

/// A node of another group that takes an instance, or the faults of all of them.
fn ways_out(cluster: &Cluster, instance: &Instance) -> Result<NodeIdx, Vec<Fault>> {
    let group = |node: NodeIdx| cluster.node(node).spec.group;
    let mut faults = Vec::new();
    for node in cluster.all_nodes().into_iter().filter(|node| group(*node) != group(instance.primary)) {
        match check_crossings(cluster, &[failover(instance, node)]) {
            Ok(_) => return Ok(node),
            Err(violation) => faults.push(violation.fault),
        }
    }
    Err(faults)
}

#[test]
fn an_instance_that_goes_nowhere_has_no_way_out() {
    let options = RegroupOptions { capacity_checks: false, max_moves: None };
    let (mut goes, mut denied, mut unreached, mut unallocable) = (0, 0, 0, 0);
    for seed in 1..=u64::from(cases(6000).cases) {
        let cluster = cluster(seed);
        for group in cluster.groups_with_nodes() {
            let there = cluster.residents(cluster.nodes_of(group));
            let [only] = there[..] else { continue };
            let instance = cluster.instance(only);
            // hgroup does not move an instance on shared storage that names a secondary node.
            let is_held = !instance.is_movable() || instance.secondary.is_some();
            if Class::of(instance.template) != Class::Relocate || is_held {
                continue;
            }
            let found = compress(&cluster, &[group], &options);
            let outcome = &found.candidates[0].outcome;
            let leaves = matches!(outcome, Compressed::Emptied(_));
            let ways = ways_out(&cluster, instance);
            assert_eq!(leaves, ways.is_ok(), "seed {seed}, {}: {outcome:?}, {ways:?}", instance.name);
            let all = |is: fn(&Fault) -> bool| ways.as_ref().is_err_and(|faults| faults.iter().any(is));
            goes += usize::from(leaves);
            denied += usize::from(all(|fault| matches!(fault, Fault::Denied(_))));
            unreached += usize::from(all(|fault| matches!(fault, Fault::Storage(_))));
            unallocable += usize::from(all(|fault| matches!(fault, Fault::Unallocable(_))));
        }
    }
    let counts = [goes, denied, unreached, unallocable];
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}

/// Like Ganeti's, hail ignores the health and the policy of groups. Groups refused by the checker for these reasons
/// alone are left out.
fn is_asked(fault: &Fault) -> bool {
    !matches!(fault, Fault::Health(_) | Fault::Policy(..))
}

/// Tells if an instance is on shared storage, has only a primary node, and may move.
fn is_single(instance: &Instance) -> bool {
    let is_shared = Class::of(instance.template) == Class::Relocate && instance.secondary.is_none();
    is_shared && instance.is_movable() && !instance.forthcoming && instance.auto_balance
}

/// Tells if hail's search moves the request's only instance.
fn moves(cluster: &Cluster, request: Request, other_groups: bool) -> bool {
    let settings = Settings { no_capacity_checks: true, other_groups, ..Settings::default() };
    let answer = answer(cluster.clone(), request, &settings).answer;
    let Ok(Answer::Evacuated { moved, failed }) = answer else { panic!("{answer:?}") };
    assert_eq!(moved.len() + failed.len(), 1);
    failed.is_empty()
}

#[test]
fn an_instance_that_hail_finds_no_other_group_for_has_no_way_out() {
    let (mut goes, mut stays, mut unclear) = (0, 0, 0);
    for seed in 1..=u64::from(cases(4000).cases) {
        let cluster = cluster_with_reserve(seed);
        for instance in cluster.instances.iter().filter(|instance| is_single(instance)) {
            let ways = ways_out(&cluster, instance);
            if ways.as_ref().is_err_and(|faults| !faults.iter().all(is_asked)) {
                unclear += 1;
                continue;
            }
            let request = Request::ChangeGroup { instances: vec![instance.idx], targets: Vec::new() };
            let goes_there = moves(&cluster, request, false);
            assert_eq!(goes_there, ways.is_ok(), "seed {seed}, {}: {ways:?}", instance.name);
            goes += usize::from(goes_there);
            stays += usize::from(!goes_there);
        }
    }
    let counts = [goes, stays, unclear];
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// Nodes of its own group that take an instance by the rules of the checker.
fn ways_within(cluster: &Cluster, instance: &Instance) -> Vec<NodeIdx> {
    let group = cluster.node(instance.primary).spec.group;
    let nodes = cluster.nodes_of(group);
    let takes =
        |node: &NodeIdx| check(cluster, nodes, &[failover(instance, *node)], CheckOptions::default()).is_ok();
    nodes.iter().copied().filter(takes).collect()
}

#[test]
fn an_instance_that_hail_cannot_evacuate_has_no_way_within_its_group() {
    let (mut goes, mut stays, mut leaves) = (0, 0, 0);
    for seed in 1..=u64::from(cases(4000).cases) {
        let cluster = cluster_with_reserve(seed);
        for instance in cluster.instances.iter().filter(|instance| is_single(instance)) {
            let request =
                || Request::NodeEvacuate { instances: vec![instance.idx], mode: EvacMode::PrimaryOnly };
            let found = moves(&cluster, request(), false);
            let ways = ways_within(&cluster, instance);
            assert_eq!(found, !ways.is_empty(), "seed {seed}, {}: {ways:?}", instance.name);
            goes += usize::from(found);
            stays += usize::from(!found);
            // Another group is tried only if the own group has no room and another one takes the instance.
            let out = ways_out(&cluster, instance);
            if !found && !out.as_ref().is_err_and(|faults| !faults.iter().all(is_asked)) {
                let elsewhere = moves(&cluster, request(), true);
                assert_eq!(elsewhere, out.is_ok(), "seed {seed}, {}: {out:?}", instance.name);
                leaves += usize::from(elsewhere);
            }
        }
    }
    let counts = [goes, stays, leaves];
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}
