//! Moves between groups against brute force: where a tool says that an instance can go nowhere, no node of another group
//! takes it by the rules of the checker, which shares no code with the search.

use crate::common::clusters::{Dice, Recipe, Style, cases};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::raw::RawGroup;
use htools::model::known_tags::DENY;
use htools::model::{
    AllocPolicy, Class, Cluster, Concession, GroupIdx, Instance, Mib, Move, NodeIdx, Placement, Step,
};
use htools::plan::checker::{Fault, check_crossings};
use htools::search::groups::RegroupOptions;
use htools::search::groups::compress::{Compressed, compress};

/// A cluster of two or three groups, some of which moves must not leave or enter.
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

/// The nodes of other groups that take an instance, or the faults of all.
fn ways_out(cluster: &Cluster, instance: &Instance) -> Result<NodeIdx, Vec<Fault>> {
    let group = |node: NodeIdx| cluster.node(node).spec.group;
    let mut faults = Vec::new();
    for node in cluster.all_nodes().into_iter().filter(|node| group(*node) != group(instance.primary)) {
        let (from, to) = (instance.primary, node);
        let [from, to] = [from, to].map(|primary| Placement { primary, secondary: None });
        let (mv, concession) = (Move::FailoverTo(node), Concession::None);
        let step = Step { instance: instance.idx, mv, from, to, score: 0.0, concession };
        match check_crossings(cluster, &[step]) {
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
            // hgroup does not move an instance on shared storage that has a secondary node all the same
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
