//! Full nodes whose instances change places: the instances stopped for it, and the temporary overcommitment of nodes.

use crate::common::clusters::{Dice, cases};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::model::{Cluster, Concession, InstanceIdx, Mib, NodeIdx, Placement};
use htools::plan::checker::{CheckOptions, PlanMoment, check, check_moments, check_scores};
use htools::plan::jobset::jobsets;
use htools::plan::stream::{PlanSchedule, StreamLimits};
use htools::plan::work::{Task, Work};
use htools::search::BalanceOptions;
use htools::search::balance::Concessions;
use htools::search::balance::deep::order::{OrderedSteps, order};

/// Memory of a node for instances, in MiB.
const MEMORY: i64 = 8000;

/// Nodes nearly full of instances with external or mirrored storage, and target placements: the instances change
/// places.
fn case(seed: u64) -> (Cluster, Vec<(InstanceIdx, Placement)>) {
    let mut dice = Dice::new(seed ^ 0xc0de);
    let nodes = 2 + dice.below(3);
    let mut instances: Vec<(usize, i64)> = Vec::new();
    for node in 0..nodes {
        let mut left = MEMORY - 1;
        while left > 500 && instances.len() < 12 {
            let memory = 500 + dice.below(usize::try_from(left - 499).unwrap()) as i64;
            instances.push((node, memory));
            left -= memory;
        }
    }
    let used = |node: usize| instances.iter().filter(|i| i.0 == node).map(|i| i.1).sum::<i64>();
    let mut text = "g|u|preferred||\n\n".to_owned();
    for node in 0..nodes {
        text += &format!("n{node}|{MEMORY}|0|{}|9000000|9000000|99|N|u|1\n", MEMORY - used(node));
    }
    text.push('\n');
    for (at, (node, memory)) in instances.iter().enumerate() {
        text += &format!("i{at}|{memory}|1000|1|running|Y|n{node}||ext||1\n");
    }
    let raw = htools::load::text::parse(&(text + "\n\n"), "test").unwrap();
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib::ZERO);
    // A placement that fits: pairs change places if the nodes have the memory for it.
    let mut to: Vec<usize> = instances.iter().map(|i| i.0).collect();
    for _ in 0..20 {
        let (a, b) = (dice.below(to.len()), dice.below(to.len()));
        to.swap(a, b);
        let fits = |node: usize| {
            let there = to.iter().zip(&instances).filter(|(to, _)| **to == node).map(|(_, i)| i.1);
            there.sum::<i64>() < MEMORY
        };
        if !(0..nodes).all(fits) {
            to.swap(a, b);
        }
    }
    let place = |(at, to): (usize, &usize)| {
        (InstanceIdx::new(at), Placement { primary: NodeIdx::new(*to), secondary: None })
    };
    let placements = to.iter().enumerate().map(place).collect();
    (cluster, placements)
}

/// The steps to these placements. They must be legal with their concessions.
fn ordered(
    seed: u64,
    cluster: &Cluster,
    to: &[(InstanceIdx, Placement)],
    allowed: Concessions,
) -> OrderedSteps {
    let options = BalanceOptions { concessions: allowed, ..BalanceOptions::default() };
    let nodes = cluster.all_nodes();
    let ordered = order(cluster, &nodes, &options, to, usize::MAX);
    let replay = check(cluster, &nodes, &ordered.steps, CheckOptions::default());
    let replay = replay.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    for (instance, wanted) in to {
        let stays = ordered.given_up.contains(instance);
        let wanted = if stays { cluster.instance(*instance).placement() } else { *wanted };
        assert_eq!(replay.placement(*instance), wanted, "seed {seed}");
    }
    assert!(check_scores(cluster, &nodes, &ordered.steps).is_ok(), "seed {seed}");
    ordered
}

/// Executes the work as a stream and computes the memory that nodes really need at every moment: for running
/// instances, and at both ends of a move. Returns the highest use of any node.
fn most_taken(cluster: &Cluster, work: &Work, seconds: &[f64]) -> i64 {
    let name = |node: NodeIdx| cluster.node(node).spec.name.as_str();
    let mut runs: Vec<(&str, Vec<&str>)> =
        cluster.instances.iter().map(|i| (i.name.as_str(), vec![name(i.primary)])).collect();
    let mut stopped: Vec<&str> = Vec::new();
    let mut most = 0;
    for moment in PlanSchedule::stream(work, seconds, StreamLimits::default()).moments() {
        let (at, begins) = match moment {
            PlanMoment::Begins(at) => (at, true),
            PlanMoment::Ends(at) => (at, false),
        };
        let step = work.step(at);
        let of = runs.iter_mut().find(|(name, _)| *name == step.subject).unwrap();
        match (&step.task, begins) {
            (Task::Stop, false) => stopped.push(of.0),
            (Task::Start, true) => stopped.retain(|name| *name != step.subject),
            (Task::Move(relocation), true) => of.1.push(&relocation.to.primary),
            (Task::Move(relocation), false) => of.1 = vec![&relocation.to.primary],
            _ => {}
        }
        for node in &cluster.nodes {
            let up =
                runs.iter().filter(|(name, at)| !stopped.contains(name) && at.contains(&&*node.spec.name));
            let memory = |name: &str| cluster.instances.iter().find(|i| i.name == name).unwrap().mem.0;
            most = most.max(up.map(|(name, _)| memory(name)).sum());
        }
    }
    assert!(stopped.is_empty(), "{stopped:?} are stopped in the end");
    most
}

#[test]
fn nodes_never_have_more_than_fits_if_instances_are_stopped() {
    let (mut plain, mut stops, mut crowds) = (0, 0, 0);
    for seed in 1..=u64::from(cases(1500).cases) {
        let (cluster, to) = case(seed);
        let nodes = cluster.all_nodes();
        let nothing = ordered(seed, &cluster, &to, Concessions::default());
        assert!(nothing.steps.iter().all(|step| step.concession.is_none()));
        plain += usize::from(nothing.given_up.is_empty());
        for (interruptions, overcommit) in [(true, false), (false, true)] {
            let found = ordered(seed, &cluster, &to, Concessions { interruptions, overcommit });
            assert!(found.given_up.len() <= nothing.given_up.len(), "seed {seed}");
            let lacking = found.steps.iter().map(|step| step.concession.memory()).max().unwrap_or_default();
            if lacking == Mib::ZERO {
                continue;
            }
            let sets = jobsets(&cluster, &found.steps);
            let work = Work::of(&cluster, &found.steps, &sets, CheckOptions::default()).unwrap();
            assert_eq!(work.fault(), None, "seed {seed}");
            let mut dice = Dice::new(seed);
            for _ in 0..8 {
                let seconds: Vec<f64> = work.steps.iter().map(|_| 1.0 + dice.below(60) as f64).collect();
                let most = most_taken(&cluster, &work, &seconds);
                let allowed = if interruptions { MEMORY } else { MEMORY + lacking.0 };
                assert!(most < allowed, "seed {seed}: {most} MiB of {allowed}");
            }
            let is_stop =
                |step: &&htools::model::Step| matches!(step.concession, Concession::Interruption { .. });
            if interruptions {
                stops += found.steps.iter().filter(is_stop).count();
                continue;
            }
            crowds += 1;
            // Every step is only the move itself, so the checker can follow the moments.
            let moments = PlanSchedule::stream(&work, &vec![1.0; work.steps.len()], StreamLimits::default());
            let moments = moments.moments();
            assert!(check_moments(&cluster, &nodes, &found.steps, CheckOptions::default(), moments).is_ok());
        }
    }
    assert!(plain > 100 && stops > 100 && crowds > 100, "{plain} without, {stops} stops, {crowds} crowds");
}
