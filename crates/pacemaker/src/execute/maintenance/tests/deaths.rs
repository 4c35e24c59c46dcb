//! Programs that die at any call.

use proptest::prelude::*;

use super::world::WorldFault;
use super::*;

const FAULTS: [WorldFault; 4] =
    [WorldFault::KilledBefore, WorldFault::KilledAfter, WorldFault::NoAnswer, WorldFault::LostAnswer];

/// Takes a run up again until it ends well.
fn to_the_end(world: &WorldView, sheet: &Paper, mut end: Option<CibMaintenanceEnd>) {
    for _ in 0..40 {
        if let Some(end) = &end
            && end.ending == Ending::Done
        {
            return world.0.borrow().is_done();
        }
        world.0.borrow_mut().program += 1;
        end = resume(world, sheet);
    }
    panic!("it does not end: {end:?}\n{}", world.0.borrow().events.join("\n"));
}

#[test]
fn a_run_survives_a_death_at_every_call() {
    let mut calls = usize::MAX;
    for at in 0.. {
        if at > calls {
            break;
        }
        for fault in FAULTS {
            let mut world = World::new(3, &[]);
            world.max_down = 1;
            world.faults.insert(at, fault);
            let (world, sheet) = (WorldView::of(world), Paper::default());
            let all = terms(&world.0.borrow());
            let end = begin(&world, all, &sheet);
            if at == 0 && fault == WorldFault::LostAnswer {
                calls = world.0.borrow().calls;
            }
            to_the_end(&world, &sheet, end);
        }
    }
    assert!(calls > 60, "{calls}");
}

/// A cluster, and the faults of the programs that work on it.
#[derive(Debug, Clone)]
struct Story {
    nodes: usize,
    standby: Vec<usize>,
    max_down: Option<usize>,
    faults: Vec<(usize, usize)>,
    loses_logs: bool,
    fails: Option<usize>,
    stays_away: Option<usize>,
    skips: bool,
    needless: Option<usize>,
    has_health: bool,
    canary: usize,
}

fn stories() -> impl Strategy<Value = Story> {
    let faults = prop::collection::vec((0_usize..120, 0_usize..4), 0..8);
    let some = || prop::option::weighted(0.3, 0_usize..5);
    (
        3_usize..=5,
        prop::collection::vec(0_usize..5, 0..2),
        prop::option::of(1_usize..=2),
        faults,
        any::<bool>(),
        some(),
        some(),
        any::<bool>(),
        some(),
        (any::<bool>(), 0_usize..3),
    )
        .prop_map(
            |(nodes, standby, max_down, faults, loses_logs, fails, stays_away, skips, needless, rest)| {
                Story {
                    nodes,
                    standby: standby.into_iter().filter(|at| *at < nodes).collect(),
                    max_down,
                    faults,
                    loses_logs,
                    fails: fails.filter(|at| *at < nodes),
                    stays_away: stays_away.filter(|at| *at < nodes),
                    skips,
                    needless: needless.filter(|at| *at < nodes),
                    has_health: rest.0,
                    canary: rest.1,
                }
            },
        )
}

fn play(story: &Story) {
    let mut world = World::new(story.nodes, &story.standby);
    let name = |at: usize| format!("n{}", at + 1);
    world.max_down = story.max_down.unwrap_or(usize::MAX);
    world.coordinator = story.nodes / 2;
    world.loses_logs = story.loses_logs;
    world.fails.extend(story.fails.map(name));
    world.stays_away.extend(story.stays_away.map(name));
    world.needless.extend(story.needless.map(name));
    world.faults = story.faults.iter().map(|(call, fault)| (*call, FAULTS[*fault])).collect();
    let mut terms = terms(&world);
    terms.max_down = story.max_down;
    if story.skips {
        terms.after_failure = AfterFailure::Skip;
    }
    (terms.canary, terms.soak) = (story.canary, 30);
    terms.commands.health = story.has_health.then(|| "health".to_owned());
    let (world, sheet) = (WorldView::of(world), Paper::default());
    let end = begin(&world, terms, &sheet);
    to_the_end(&world, &sheet, end);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_is_done_twice_or_left_out_whatever_happens(story in stories()) {
        play(&story);
    }
}
