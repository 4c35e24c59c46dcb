//! Repairs on a simulated cluster, with any outcome of any job, kills at any call, and lost answers.

mod world;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use htools::execute::autorepair::{AttendError, Repairer};
use htools::execute::job::JobStatus;
use htools::model::autorepair::{RepairKind, RepairResult, VisitOutcome};
use htools::model::known_tags::AUTOREPAIR;
use htools::plan::opcode::Opcode;
use htools::plan::repair::{RepairWish, WantedRepair};
use htools::search::repair::{RepairDecision, RepairOptions, decide_all};
use htools_testkit::cluster;
use proptest::prelude::*;

use self::world::{Clock, Fate, Killed, Turn, World, is_pending, suspend, world};

/// One run from cron, at the present time of the world.
fn run(world: &mut World, host: &mut Clock) -> Result<VisitOutcome, AttendError> {
    let tags: Vec<String> = world.tags.iter().cloned().collect();
    let broken = world.broken;
    let first = if broken { 'Y' } else { 'N' };
    let nodes =
        [format!("n1|4000|0|4000|60000|60000|32|{first}|u|4"), "n2|4000|0|4000|60000|60000|32|N|u|4".into()];
    let row = format!("i|100|1000|1|running|Y|n1|n2|drbd|{}|1", tags.join(","));
    let tag = format!("{AUTOREPAIR}{}", world.permits);
    let cluster = cluster(&[&nodes[0], &nodes[1]], &[&row], &[&tag]);
    let now = i64::try_from(world.clock.get()).unwrap();
    let options = RepairOptions { most_failures: world.most_failures, ..RepairOptions::at(now) };
    let case = decide_all(&cluster, &HashMap::new(), &options).remove(0);
    let opcodes = vec![Opcode::shutdown("i"), Opcode::startup("i")];
    let wanted = match &case.decision {
        RepairDecision::Repair(kind, _, before) => {
            Some(WantedRepair { kind: *kind, opcodes, again: before.is_some() })
        }
        _ => None,
    };
    let wish = RepairWish::of(wanted.as_ref(), case.decision.note());
    let mut repairer =
        Repairer { client: Some(world), changes: true, host, reason: "r".to_owned(), delay: 0.0 };
    let visit = repairer.attend("i", &tags, wish, !broken)?;
    Ok(visit.attended)
}

#[test]
fn a_repair_from_its_beginning_to_its_end() {
    let mut host = Clock::default();
    host.clock.set(1000);
    let mut world = world(true, vec![(5, JobStatus::Success, true)], &host.clock);
    let begun = run(&mut world, &mut host).unwrap();
    let VisitOutcome::Begun(tag) = begun else { panic!("{begun:?}") };
    // Half of the SHA-256 of the instance's name with a newline.
    let id = "50c393f1-58c3-de2d-b92f-a9661bfb00ed";
    assert_eq!(tag.to_string(), format!("{AUTOREPAIR}pending:failover:{id}:1000:2"));
    let tags = |world: &World| world.tags.iter().cloned().collect::<Vec<_>>();
    assert_eq!(tags(&world), [tag.to_string(), "mine".to_owned()]);
    assert_eq!(run(&mut world, &mut host).unwrap(), VisitOutcome::UnderWay(tag));
    (0..9).for_each(|_| world.advance());
    let ended = run(&mut world, &mut host).unwrap();
    let VisitOutcome::Ended(tag) = ended else { panic!("{ended:?}") };
    assert!(tag.to_string().starts_with(&format!("{AUTOREPAIR}result:failover:{id}:")), "{tag}");
    assert!(tag.to_string().ends_with(":success:2"), "{tag}");
    assert_eq!(tags(&world), [tag.to_string(), "mine".to_owned()]);
    assert_eq!(run(&mut world, &mut host).unwrap(), VisitOutcome::Nothing);
    assert_eq!(world.wrong, [""; 0]);
}

/// Outcome of a chain of two jobs if the run is killed at this call; none if there are fewer calls.
fn killed_chain(killed_at: usize) -> Option<(usize, VisitOutcome)> {
    let mut host = Clock::default();
    host.clock.set(1000);
    // Both jobs succeed, and the instance is seen in its old state.
    let fates = vec![(0, JobStatus::Success, false); 2];
    let turns = vec![(killed_at, Turn::KilledBefore)];
    let mut world = World { turns, ..world(false, fates, &host.clock) };
    let killed = catch_unwind(AssertUnwindSafe(|| run(&mut world, &mut host)));
    killed.err()?.downcast::<Killed>().expect("a panic");
    (0..9).for_each(|_| world.advance());
    world.turns.clear();
    let jobs = world.jobs.iter().filter(|job| World::is_repair(job)).count();
    Some((jobs, run(&mut world, &mut host).unwrap()))
}

#[test]
fn a_chain_that_no_tag_names_is_whole_or_was_cut_off() {
    let mut seen = Vec::new();
    for (jobs, attended) in (0..).map_while(killed_chain) {
        let VisitOutcome::Ended(tag) = attended else { continue };
        assert_eq!(tag.jobs.len(), jobs);
        let wanted = if jobs == 2 { RepairResult::Success } else { RepairResult::Failure };
        assert_eq!(tag.result, Some(wanted), "{jobs} jobs");
        seen.push(jobs);
    }
    assert!(seen.contains(&1) && seen.contains(&2), "{seen:?}");
}

fn fate() -> impl Strategy<Value = Fate> {
    let ends = prop_oneof![3 => Just(JobStatus::Success), 1 => Just(JobStatus::Error), 1 => Just(JobStatus::Canceled)];
    (0usize..30, ends, prop::bool::weighted(0.8))
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        2 => Just(Turn::KilledBefore), 2 => Just(Turn::KilledAfter), 1 => Just(Turn::Lost), 1 => Just(Turn::NotSent)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Repairs never overlap, and none starts without a tag or while suspended. In the end, the tags describe the
    /// true state.
    #[test]
    fn no_repair_is_begun_twice_and_no_tag_stays(
        joins in any::<bool>(),
        fates in prop::collection::vec(fate(), 0..4),
        turns in prop::collection::vec((0usize..40, turn()), 0..8),
        pauses in prop::collection::vec(0u64..2000, 12),
        permits in prop::sample::select(vec!["failover", "reinstall", "failover", "migrate"]),
        most_failures in 1u32..4,
        suspended in prop::option::weighted(0.2, 0usize..12),
    ) {
        let mut host = Clock::default();
        host.clock.set(1000);
        let mut world = World { permits, most_failures, turns, ..world(joins, fates, &host.clock) };
        for (number, pause) in pauses.into_iter().enumerate() {
            if suspended == Some(number) {
                world.tags.insert(suspend());
            }
            let ended = catch_unwind(AssertUnwindSafe(|| run(&mut world, &mut host)));
            match ended {
                Err(killed) => prop_assert!(killed.is::<Killed>(), "a panic"),
                Ok(Err(AttendError::Unclear(_, why))) => prop_assert!(false, "{}", why),
                Ok(_) => {}
            }
            prop_assert_eq!(&world.wrong, &Vec::<String>::new());
            host.clock.set(host.clock.get() + pause);
        }
        // From here on everything succeeds, however long it takes.
        world.turns.clear();
        for _ in 0..20 {
            let attended = run(&mut world, &mut host);
            prop_assert!(attended.is_ok(), "{:?}", attended);
            (0..40).for_each(|_| world.advance());
            host.clock.set(host.clock.get() + 700);
        }
        prop_assert_eq!(&world.wrong, &Vec::<String>::new());
        let tags: Vec<String> = world.tags.iter().cloned().collect();
        prop_assert!(!tags.iter().any(|tag| is_pending(tag)), "{:?}", tags);
        prop_assert!(tags.contains(&"mine".to_owned()));
        let has = |word: &str| tags.iter().any(|tag| tag.contains(word));
        let repairs = world.jobs.iter().filter(|job| World::is_repair(job)).count();
        if permits == "migrate" {
            prop_assert_eq!(repairs, 0);
            prop_assert!(has(":enoperm:") || suspended.is_some(), "{:?}", tags);
        } else {
            prop_assert!(has(":failure:") || suspended.is_some() || !world.broken, "{:?}", tags);
        }
        // An instance that was given up has both tags.
        let given_up = most_failures > 1 && has(":failure:") && world.broken;
        prop_assert!(!given_up || has(":suspend"), "{:?}", tags);
        // One tag describes the last repair.
        prop_assert!(tags.len() <= 2 + usize::from(has(":suspend")), "{:?}", tags);
    }
}

/// The cleanup command that is reported when a repair by this job has failed.
fn way_out(joins: bool, opcodes: Vec<Opcode>) -> Option<String> {
    let mut host = Clock::default();
    host.clock.set(1000);
    let mut world = world(joins, vec![(0, JobStatus::Error, false); 2], &host.clock);
    let wanted = WantedRepair { kind: RepairKind::Migrate, opcodes, again: false };
    let mut attend = |world: &mut World| {
        let tags: Vec<String> = world.tags.iter().cloned().collect();
        let mut repairer = Repairer {
            client: Some(world),
            changes: true,
            host: &mut host,
            reason: "r".to_owned(),
            delay: 1.0,
        };
        repairer.attend("i", &tags, RepairWish::Repair(&wanted), false).unwrap()
    };
    let begun = attend(&mut world);
    assert!(matches!(begun.attended, VisitOutcome::Begun(_)) && begun.cleanup.is_none(), "{begun:?}");
    (0..9).for_each(|_| world.advance());
    let ended = attend(&mut world);
    assert!(matches!(ended.attended, VisitOutcome::Ended(_)), "{ended:?}");
    assert_eq!(ended.message.unwrap(), "it broke");
    ended.cleanup
}

#[test]
fn a_live_migration_that_failed_half_way_is_told_with_the_way_out() {
    let migrate = |target: Option<&str>, failover: bool| {
        let mut opcode = Opcode::migrate("i", target.map(str::to_owned));
        if let Opcode::Migrate { allow_failover, .. } = &mut opcode {
            *allow_failover = failover;
        }
        vec![opcode]
    };
    for joins in [true, false] {
        let told = way_out(joins, migrate(None, false));
        assert_eq!(told.unwrap(), "gnt-instance migrate --cleanup -f i");
        let told = way_out(joins, migrate(Some("n2"), false));
        assert_eq!(told.unwrap(), "gnt-instance migrate --cleanup -f -n n2 i");
        // The instance does not run.
        assert_eq!(way_out(joins, migrate(None, true)), None);
        assert_eq!(way_out(joins, vec![Opcode::failover("i", None)]), None);
        // A node name that is not valid in Ganeti.
        assert_eq!(way_out(joins, migrate(Some("$(touch x)"), false)), None);
        // Over RAPI, the second job waits for the first, which has failed for another reason.
        let two = [vec![Opcode::startup("i")], migrate(None, false)].concat();
        assert_eq!(way_out(joins, two).is_some(), joins);
    }
}
