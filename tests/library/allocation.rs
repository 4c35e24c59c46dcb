//! Properties of redundancy, allocation, evacuation and filling on random clusters.
//! `PROPTEST_CASES` (256 by default) scales the number of cases.

use std::collections::BTreeSet;

use crate::common::plain_evacuate;

use crate::common::clusters::{Dice, Recipe, Style, cases, recipes};
use crate::common::plain_fill::{Plain, size};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::model::{
    Cluster, Disk, DiskTemplate, Draft, EvacMode, GroupIdx, Instance, InstanceDetails, Mib, NodeIdx,
    RunStatus,
};
use htools::redundancy::global::{
    Departures, RedundancyCheck, Scope, evacuates, is_redundant, survives_loss_of,
};
use htools::search::fill::{FillGround, FillSettings, Filled};
use htools::search::place;
use htools::search::place::evacuation::{Destination, evacuate};
use htools::search::place::{Conditions, PlaceMetric, PlaceSearch, PlaceTester, Targets, plain};
use proptest::prelude::*;

const ANY: &[Style] =
    &[Style::Mixed, Style::Mixed, Style::Tight, Style::Symmetric, Style::Stranded, Style::Weird];

/// A new instance that resembles those of the cluster.
fn newcomer(cluster: &Cluster, seed: u64) -> Instance {
    let mut dice = Dice::new(seed);
    let model = &cluster.instances[dice.below(cluster.instances.len())];
    let template = if dice.chance(60) { DiskTemplate::Drbd } else { dice.of(DiskTemplate::ALL) };
    let disk = Mib(dice.of(&[model.disk.0, 1024, 10_240, 0]));
    Instance::from(InstanceDetails {
        name: "newcomer".into(),
        alias_len: 8,
        mem: Mib(dice.of(&[model.mem.0, model.mem.0, 128, 1024, 4096])),
        disk,
        disks: [Disk { size: disk, spindles: Some(1) }].into(),
        spindles: dice.of(&[Some(1), Some(1), Some(2), None]),
        vcpus: dice.of(&[1, 1, 2, 4]),
        status: dice.of(&[
            RunStatus::Running,
            RunStatus::Running,
            RunStatus::AdminDown,
            RunStatus::AdminOffline,
        ]),
        auto_balance: dice.chance(90),
        template,
        forthcoming: dice.chance(5),
        tags: Box::default(),
        exclusion_tags: if dice.chance(30) { model.exclusion_tags.clone() } else { Default::default() },
        desired_locations: if dice.chance(30) { model.desired_locations.clone() } else { Default::default() },
        ..InstanceDetails::clone(&model.details)
    })
}

fn conditions(seed: u64) -> Conditions {
    let mut dice = Dice::new(seed ^ 77);
    let departures = if dice.chance(50) { Departures::BySize } else { Departures::AsListed };
    let scope = Scope { departures, online_only: dice.chance(30), exempt: BTreeSet::new() };
    Conditions { ignore_soft_errors: dice.chance(15), redundancy: dice.chance(60).then_some(scope) }
}

fn targets(cluster: &Cluster, instance: &Instance) -> Option<Targets> {
    let online: Vec<NodeIdx> = cluster.nodes.iter().filter(|n| !n.spec.offline).map(|n| n.spec.idx).collect();
    Targets::of(cluster, &online, if instance.template.has_secondary() { 2 } else { 1 }).ok()
}

fn same(found: &PlaceSearch, expected: &PlaceSearch) -> Result<(), TestCaseError> {
    prop_assert_eq!((found.successes, found.failures), (expected.successes, expected.failures));
    prop_assert_eq!(found.best.is_some(), expected.best.is_some());
    if let (Some((a, place)), Some((b, other))) = (&found.best, &expected.best) {
        prop_assert_eq!(place.placement, other.placement);
        let bits = |metric: &PlaceMetric| match metric {
            PlaceMetric::Score(score) => score.to_bits(),
            PlaceMetric::Lost(..) => 0,
        };
        prop_assert_eq!(bits(a), bits(b), "{:?} {:?}", a, b);
        // Compared as text, because loads may be NaN.
        prop_assert_eq!(format!("{place:?}"), format!("{other:?}"));
    }
    Ok(())
}

fn check_redundancy(recipe: &Recipe) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    let nodes = cluster.all_nodes();
    let mut all = true;
    for &node in &nodes {
        let expected = evacuates(&cluster, &nodes, node, Departures::BySize);
        prop_assert_eq!(survives_loss_of(&cluster, &nodes, node), expected, "node {}", node.get());
        all &= expected;
    }
    prop_assert_eq!(is_redundant(&cluster, &nodes, &Scope::default()), all);
    Ok(())
}

fn check_guard(recipe: &Recipe) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    let instance = newcomer(&cluster, recipe.seed);
    let Some(targets) = targets(&cluster, &instance) else { return Ok(()) };
    let conditions = conditions(recipe.seed);
    let scope = conditions.redundancy.clone().unwrap_or_default();
    let nodes = cluster.all_nodes();
    let fit = PlaceTester::new(&cluster, &instance, &conditions);
    let mut guard = RedundancyCheck::new(&cluster, &nodes, &scope);
    for &p in targets.primaries() {
        let places: Vec<_> = match &targets {
            Targets::Singles(_) => vec![fit.single(p)],
            _ => targets.partners(&cluster, p).map(|s| fit.pair(p, s)).collect(),
        };
        for place in places.into_iter().flatten() {
            let mut after = Draft::of(&cluster);
            after.adopt(&instance, &place);
            let survives = |n: &&NodeIdx| {
                !scope.includes(&after, **n) || evacuates(&after, &nodes, **n, scope.departures)
            };
            let expected = nodes.iter().filter(survives).count() == nodes.len();
            prop_assert_eq!(guard.holds_with(&instance, &place), expected, "{:?}", place.placement);
        }
    }
    Ok(())
}

fn check_search(recipe: &Recipe) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    let instance = newcomer(&cluster, recipe.seed);
    let Some(targets) = targets(&cluster, &instance) else { return Ok(()) };
    let conditions = conditions(recipe.seed);
    let nodes = cluster.all_nodes();
    let found = place::find(&cluster, &nodes, (&instance).into(), &targets, &conditions);
    let expected = plain::find(&cluster, &nodes, (&instance).into(), &targets, &conditions);
    same(&found, &expected)
}

fn check_fill(cluster: &Cluster, seed: u64) -> Result<(), TestCaseError> {
    let mut dice = Dice::new(seed ^ 99);
    let settings = FillSettings {
        template: dice.of(&[
            DiskTemplate::Drbd,
            DiskTemplate::Drbd,
            DiskTemplate::Ext,
            DiskTemplate::Ext,
            DiskTemplate::Plain,
            DiskTemplate::File,
        ]),
        spindle_use: 1,
        accept_existing_errors: dice.chance(70),
        independent_groups: dice.chance(20),
        capacity_checks: dice.chance(75),
    };
    let ground = FillGround::of(cluster, settings);
    let Ok(targets) = &ground.targets else { return Ok(()) };
    if ground.hopeless {
        return Ok(());
    }
    let largest = cluster.nodes.iter().map(|n| n.state.ledger.mem_unallocated(&n.spec).0).max().unwrap_or(0);
    let memory = (largest / dice.of(&[1, 2, 2, 3, 4])).clamp(128, 16_384) / 64 * 64 + dice.of(&[0, 0, 32]);
    let disk = dice.of(&[1024, 1024, 2048, 20_000]);
    let wanted = size(memory, disk, dice.of(&[1, 1, 2, 8]), dice.of(&[1, 2]));
    let limit = dice.of(&[Some(40), Some(3), Some(12), Some(0)]);
    let bad = ground.bad_groups.iter().copied().filter(|_| settings.independent_groups);
    let exempt = bad.collect();
    let scope =
        Scope { departures: Departures::AsListed, online_only: settings.accept_existing_errors, exempt };
    let plainly = || Plain {
        cluster: Draft::of(cluster),
        targets,
        settings,
        scope: settings.capacity_checks.then(|| scope.clone()),
        added: 0,
    };
    let same = |filled: &Filled, failures, plain: &Plain<'_>| {
        prop_assert_eq!(filled.failures, failures);
        prop_assert_eq!(filled.added.len() as i64, plain.added);
        for idx in &filled.added {
            let (a, b) = (filled.cluster.instance(*idx), plain.cluster.instance(*idx));
            prop_assert_eq!(
                (a.primary, a.secondary, a.mem, a.disk, a.vcpus, &a.name),
                (b.primary, b.secondary, b.mem, b.disk, b.vcpus, &b.name)
            );
        }
        Ok(())
    };
    let mut plain = plainly();
    let failures = plain.iterate(wanted, limit);
    let filled = ground.standard(cluster, wanted, limit).expect("there are targets");
    same(&filled, failures, &plain)?;
    if let Some(most) = ground.most(cluster, wanted) {
        prop_assert!(filled.added.len() <= most, "{} placed, at most {}", filled.added.len(), most);
    }
    if limit.is_some_and(|l| l > 0) {
        let mut plain = plainly();
        let failures = plain.tiered(wanted, limit);
        same(&ground.tiered(cluster, &[wanted], limit).expect("there are targets"), failures, &plain)?;
    }
    Ok(())
}

fn check_evacuation(recipe: &Recipe) -> Result<(), TestCaseError> {
    let cluster = recipe.cluster();
    let mut dice = Dice::new(recipe.seed ^ 55);
    let group_of = |n: NodeIdx| cluster.node(n).spec.group;
    let split = |i: &Instance| i.mirror().is_some_and(|m| group_of(m) != group_of(i.primary));
    for instance in
        cluster.instances.iter().filter(|i| i.template.has_secondary() && (i.is_movable() || split(i)))
    {
        let group = GroupIdx::new(dice.below(cluster.groups.len()));
        // change-group leaves the group of the primary; a secondary in the target group may stay.
        let stays = |n: NodeIdx| split(instance) && group_of(n) != group_of(instance.primary);
        let usable = |n: &NodeIdx| {
            let own = *n == instance.primary || Some(*n) == instance.secondary && !stays(*n);
            !cluster.node(*n).spec.offline && !own
        };
        let targets = cluster.nodes_of(group).iter().copied().filter(usable).collect();
        let destination = Destination { group, targets, ignore_soft_errors: dice.chance(20) };
        let expected = plain_evacuate::best_pair(&cluster, instance.idx, &destination);
        let found = evacuate(&mut Draft::of(&cluster), instance.idx, EvacMode::All, &destination)
            .map(|moved| moved.to);
        prop_assert_eq!(found, expected, "{}", instance.name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    /// Verdicts from sums equal those of the simulation.
    #[test]
    fn redundancy_is_as_simulated(recipe in recipes(ANY, 1..=9, 1..=30)) {
        check_redundancy(&recipe)?;
    }

    /// A guard's forecast of an arrival equals the state after it.
    #[test]
    fn guards_foresee_redundancy(recipe in recipes(ANY, 1..=7, 1..=20)) {
        check_guard(&recipe)?;
    }

    /// The two nodes found for an instance that leaves both of its own equal those found by trying everything.
    #[test]
    fn evacuation_to_two_nodes_is_as_carried_out(recipe in recipes(ANY, 3..=22, 1..=8)) {
        check_evacuation(&recipe)?;
    }

    /// Filling places the same instances on the same nodes as the plain rules.
    #[test]
    fn filling_is_as_stated(recipe in recipes(ANY, 2..=8, 1..=12)) {
        let mut cluster = recipe.cluster();
        // hspace requires only N+1.
        cluster.keep_reserve(None);
        check_fill(&cluster, recipe.seed)?;
    }

    /// The same on empty, equal nodes, where the scores of most places differ only in the last bits.
    #[test]
    fn filling_equal_nodes_is_as_stated(
        nodes in 2usize..30,
        memory in prop::sample::select(vec![3000, 4096, 20_000, 65_536]),
        disk in prop::sample::select(vec![50_000, 65_536, 1_000_000]),
        cpus in prop::sample::select(vec![1, 3, 4, 7]),
        seed in any::<u64>(),
    ) {
        let spec = format!("p,{nodes},{disk},{memory},{cpus},1");
        let raw = htools::load::simulate::parse_specs(&[spec]).expect("a valid specification");
        let mut cluster = merge(raw, &MergeOptions::default()).expect("no selection");
        finish(&mut cluster, Mib::ZERO);
        check_fill(&cluster, seed)?;
    }

    /// The fast search finds the same place, to the last bit, and counts the same
    /// refusals as trying every place.
    #[test]
    fn searching_is_as_trying_everything(recipe in recipes(ANY, 1..=24, 1..=40)) {
        check_search(&recipe)?;
    }
}
