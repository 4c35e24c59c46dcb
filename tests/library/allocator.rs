//! Properties of answers to allocator requests on random clusters: every plan passes
//! the checker, which shares no code with the search. `PROPTEST_CASES` (256 by default)
//! scales the number of cases.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::common::clusters::{Dice, Recipe, Style, recipes};
use htools::load::iallocator::{Allocation, Description, Request};
use htools::model::{
    Cluster, Disk, DiskTemplate, Draft, EvacMode, GroupIdx, InstanceIdx, Mib, Move, NodeIdx, Placement,
    RunStatus, Step,
};
use htools::plan::checker::{CheckOptions, check};
use htools::search::moves::{Repertoire, perform};
use htools::search::place::PlaceMetric;
use htools::search::requests::room::{MOST_MOVES, RoomPlan};
use htools::search::requests::{Answer, Failure, Reply, RoomFound, Settings, answer};
use htools::search::{Deadline, MoveRules, Stopped};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = (u64::from(config.cases) * u64::from(usual)).div_ceil(256) as u32;
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed => fixed,
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 200, ..config }
}

const SANE: &[Style] = &[Style::Mixed, Style::Tight, Style::Tight, Style::Symmetric];

/// A new instance, often too large for the cluster.
fn newcomer(cluster: &Cluster, dice: &mut Dice) -> Allocation {
    let template = dice.of(&[DiskTemplate::Drbd, DiskTemplate::Drbd, DiskTemplate::Ext, DiskTemplate::Plain]);
    let largest = cluster.nodes.iter().map(|n| n.spec.mem_for_instances().0).max().unwrap_or(0);
    let share = |dice: &mut Dice, of: i64| of.max(1) * (5 + dice.below(90) as i64) / 100;
    let size = Mib(share(dice, 20_000));
    let disks = vec![Disk { size, spindles: Some(1) }];
    let description = Description {
        name: "new.example.com".to_owned(),
        mem: Mib(share(dice, largest)),
        disk: size,
        disks,
        vcpus: 1 + dice.below(3) as i64,
        status: RunStatus::Running,
        template,
        spindle_use: 1,
        tags: Vec::new(),
        networks: Vec::new(),
        forthcoming: false,
    };
    Allocation { description, required_nodes: if template == DiskTemplate::Drbd { 2 } else { 1 } }
}

fn allocate(cluster: &Cluster, instance: &Allocation, settings: &Settings) -> Reply {
    let request = Request::Allocate { instance: instance.clone(), group: None, restrict_to: None };
    answer(cluster.clone(), request, settings)
}

/// Metric and nodes of a new instance that found a place.
fn place_of(reply: &Reply) -> Option<(PlaceMetric, Placement)> {
    let Ok(Answer::Allocated { choice, .. }) = &reply.answer else { return None };
    let trial = &choice.trials[choice.selected?];
    trial.best().map(|(metric, place)| (metric.clone(), place.placement))
}

/// Makes a move by the rules of the search; none if it is forbidden.
fn moved(cluster: &Cluster, idx: InstanceIdx, mv: Move, rules: &MoveRules) -> Option<Cluster> {
    let mut after = Draft::of(cluster);
    perform(&mut after, idx, mv, rules).ok()?;
    Some(after.into_cluster())
}

fn all_moved(cluster: &Cluster, steps: &[Step], rules: &MoveRules) -> Option<Cluster> {
    steps.iter().try_fold(cluster.clone(), |state, step| moved(&state, step.instance, step.mv, rules))
}

/// The results of all single moves that a plan could contain.
fn single_moves(cluster: &Cluster, rules: &MoveRules) -> Vec<Cluster> {
    let mut states = Vec::new();
    for instance in cluster.instances.iter().filter(|i| i.is_movable() && i.auto_balance && !i.forthcoming) {
        let group = cluster.node(instance.primary).spec.group;
        let online = |n: &NodeIdx| !cluster.node(*n).spec.offline;
        let mirror_usable = instance.mirror().is_some_and(|m| online(&m));
        let repertoire = Repertoire::of(cluster, instance, mirror_usable, rules);
        let own: Vec<NodeIdx> = instance.nodes().collect();
        let targets: Vec<NodeIdx> =
            cluster.nodes_of(group).iter().copied().filter(|n| online(n) && !own.contains(n)).collect();
        let to = targets.iter().flat_map(|t| repertoire.to_target.iter().map(|kind| kind(*t)));
        let swap = repertoire.failover.then_some(Move::Failover);
        states.extend(swap.into_iter().chain(to).filter_map(|mv| moved(cluster, instance.idx, mv, rules)));
    }
    states
}

fn holds(
    cluster: &Cluster,
    plan: &RoomPlan,
    instance: &Allocation,
    settings: &Settings,
) -> Result<(), TestCaseError> {
    prop_assert!((1..=MOST_MOVES).contains(&plan.steps.len()));
    let soft = settings.ignore_soft_errors;
    let replay =
        check(cluster, cluster.nodes_of(plan.group), &plan.steps, CheckOptions { ignore_soft_errors: soft });
    let replay = replay.map_err(|violation| TestCaseError::fail(violation.to_string()))?;
    let rules = MoveRules { ignore_soft_errors: soft, ..MoveRules::default() };
    let after = all_moved(cluster, &plan.steps, &rules).expect("the checker found nothing");
    prop_assert!(replay.leads_to(&after));
    let reply = allocate(&after, instance, settings);
    let Ok(Answer::Allocated { choice, .. }) = &reply.answer else {
        return Err(TestCaseError::fail("there is still no place"));
    };
    let trial = choice.trials.iter().find(|t| t.group == plan.group).expect("the group is tried");
    let (metric, place) = trial.best().expect("the group has a place");
    prop_assert_eq!((metric, place.placement), (&plan.metric, plan.place));
    Ok(())
}

fn room_is_made(recipe: &Recipe, dice: &mut Dice) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    let instance = newcomer(&cluster, dice);
    let settings = Settings {
        make_room: true,
        no_capacity_checks: dice.chance(60),
        ignore_soft_errors: dice.chance(15),
        ..Settings::default()
    };
    let reply = allocate(&cluster, &instance, &settings);
    let sought = matches!(reply.answer, Err(Failure::NoGroup(_)));
    prop_assert_eq!(sought, reply.room != RoomFound::NotSearched);
    let found = match &reply.room {
        RoomFound::NotSearched => return Ok(()),
        RoomFound::NotFound => None,
        RoomFound::Found(plan) => Some(plan),
    };
    if let Some(plan) = found {
        holds(&cluster, plan, &instance, &settings)?;
    }
    // No single move is missed.
    let rules = MoveRules { ignore_soft_errors: settings.ignore_soft_errors, ..MoveRules::default() };
    let states = single_moves(&cluster, &rules);
    let places: Vec<(PlaceMetric, Placement)> =
        states.iter().filter_map(|state| place_of(&allocate(state, &instance, &settings))).collect();
    let length = found.map_or(usize::MAX, |plan| plan.steps.len());
    prop_assert!(places.is_empty() == (length > 1), "{} single moves, a plan of {length}", places.len());
    if let (Some(plan), true, true) = (found, length == 1, cluster.groups.len() == 1 && states.len() <= 90) {
        let best = places.iter().map(|p| &p.0).fold(&plan.metric, |a, b| if b < a { b } else { a });
        prop_assert_eq!(best, &plan.metric);
    }
    Ok(())
}

/// Replays the answer to an evacuation, move by move.
fn evacuation_holds(cluster: &Cluster, reply: &Reply, avoided: &[NodeIdx]) -> Result<(), TestCaseError> {
    let Ok(Answer::Evacuated { moved: done, failed }) = &reply.answer else {
        return Err(TestCaseError::fail("not an answer to an evacuation"));
    };
    let mut state = cluster.clone();
    for (one, group) in done {
        for &mv in &one.moves {
            let after = moved(&state, one.instance, mv, &MoveRules::default());
            state = after.ok_or_else(|| TestCaseError::fail("a forbidden move"))?;
        }
        let instance = state.instance(one.instance);
        prop_assert_eq!(one.to, Placement { primary: instance.primary, secondary: instance.mirror() });
        prop_assert_eq!(*group, state.node(instance.primary).spec.group);
        prop_assert!(instance.nodes().all(|n| !avoided.contains(&n) && !state.node(n).spec.offline));
        prop_assert!(!failed.iter().any(|(idx, _)| *idx == one.instance));
    }
    for (here, there) in state.instances.iter().zip(&reply.cluster.instances) {
        prop_assert_eq!((here.primary, here.mirror()), (there.primary, there.mirror()));
    }
    Ok(())
}

/// Checks an evacuation that is interrupted at once: the first instance is handled normally, and all others are
/// reported as not examined.
fn interrupted_evacuation_holds(
    cluster: &Cluster,
    request: &Request,
    usual: &Reply,
    avoided: &[NodeIdx],
) -> Result<(), TestCaseError> {
    let deadline = Deadline::new(None, Arc::new(AtomicBool::new(true)));
    let reply = answer(cluster.clone(), request.clone(), &Settings { deadline, ..Settings::default() });
    evacuation_holds(cluster, &reply, avoided)?;
    let Request::NodeEvacuate { instances, .. } = request else { return Ok(()) };
    let outcome = |reply: &Reply, wanted: InstanceIdx| {
        let Ok(Answer::Evacuated { moved, failed }) = &reply.answer else { return None };
        let moved = moved.iter().find(|(m, _)| m.instance == wanted).map(|(m, _)| Ok(m.to));
        moved.or_else(|| failed.iter().find(|f| f.0 == wanted).map(|f| Err(f.1.clone())))
    };
    for (position, &instance) in instances.iter().enumerate() {
        let expected = match position {
            0 => outcome(usual, instance),
            _ => Some(Err(Failure::NoTime(Stopped::Interrupt))),
        };
        prop_assert_eq!(outcome(&reply, instance), expected);
    }
    Ok(())
}

fn evacuated_elsewhere(recipe: &Recipe, dice: &mut Dice) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    if cluster.nodes.is_empty() {
        return Ok(());
    }
    let node = NodeIdx::new(dice.below(cluster.nodes.len()));
    let group = cluster.node(node).spec.group;
    let on_node = |i: &&htools::model::Instance| i.nodes().any(|n| n == node) && !cluster.is_split(i);
    let instances: Vec<InstanceIdx> = cluster.instances.iter().filter(on_node).map(|i| i.idx).collect();
    let avoided: Vec<NodeIdx> = instances.iter().flat_map(|i| cluster.instance(*i).nodes()).collect();
    let request = Request::NodeEvacuate { instances, mode: EvacMode::All };
    let usual = answer(cluster.clone(), request.clone(), &Settings::default());
    evacuation_holds(&cluster, &usual, &avoided)?;
    interrupted_evacuation_holds(&cluster, &request, &usual, &avoided)?;
    let settings = Settings { other_groups: true, explain: dice.chance(50), ..Settings::default() };
    let reply = answer(cluster.clone(), request, &settings);
    evacuation_holds(&cluster, &reply, &avoided)?;
    let groups = |reply: &Reply| -> Vec<(InstanceIdx, GroupIdx)> {
        let Ok(Answer::Evacuated { moved, .. }) = &reply.answer else { return Vec::new() };
        moved.iter().map(|(m, group)| (m.instance, *group)).collect()
    };
    // The part that stays in the group does not depend on the part that leaves it.
    let stayed: Vec<_> = groups(&reply).into_iter().filter(|m| m.1 == group).collect();
    prop_assert_eq!(groups(&usual), stayed);
    Ok(())
}

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn moves_make_room_and_no_single_one_is_overlooked(
        recipe in recipes(SANE, 2..=7, 2..=22),
        seed in any::<u64>(),
    ) {
        room_is_made(&recipe, &mut Dice::new(seed))?;
    }

    #[test]
    fn evacuations_reach_other_groups(recipe in recipes(SANE, 2..=12, 2..=30), seed in any::<u64>()) {
        evacuated_elsewhere(&recipe, &mut Dice::new(seed))?;
    }
}
