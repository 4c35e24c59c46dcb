//! Repairs on a cluster that does not exist: any outcome of any job, killed at any call, answers lost on the way.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::execute::client::{ClusterId, InstanceNow};
use crate::execute::fake::{FakeHost, Killed};
use crate::execute::job::Watched;
use crate::model::known_tags::AUTOREPAIR;
use crate::plan::arrival::NodeFlags;
use crate::search::repair::{RepairDecision, RepairOptions, decide_all};
use crate::testing::cluster;

/// How a job goes: for how many looks it runs, how it ends, and whether that mends anything.
type Fate = (usize, JobStatus, bool);

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    KilledBefore,
    KilledAfter,
    /// It is carried out, and the answer is lost.
    Lost,
    /// It does not get there.
    NotSent,
}

#[derive(Debug, Clone)]
struct QueuedJob {
    comment: String,
    opcodes: Vec<Opcode>,
    /// For how many more looks it runs.
    looks: usize,
    ends: JobStatus,
    mends: bool,
    depends: Option<JobId>,
    status: JobStatus,
}

/// One broken instance, its tags, and a queue.
struct World {
    joins: bool,
    tags: BTreeSet<String>,
    broken: bool,
    jobs: Vec<QueuedJob>,
    clock: Rc<Cell<u64>>,
    /// How the jobs of repairs end, one after the other; then well.
    fates: Vec<Fate>,
    /// What is permitted, as a tag of the cluster, and how many failures are the last.
    permits: &'static str,
    most_failures: u32,
    /// What becomes of calls, by how many come before.
    turns: Vec<(usize, Turn)>,
    calls: usize,
    /// Rules that were broken.
    wrong: Vec<String>,
}

impl World {
    fn is_repair(job: &QueuedJob) -> bool {
        !job.opcodes.iter().any(|o| matches!(o, Opcode::TagsSet { .. } | Opcode::TagsDel { .. }))
    }

    fn advance(&mut self) {
        self.clock.set(self.clock.get() + 1);
        for at in 0..self.jobs.len() {
            let job = self.jobs[at].clone();
            if job.status.is_final() {
                continue;
            }
            let before = job.depends.map(|JobId(id)| self.jobs[usize::try_from(id).unwrap() - 1].status);
            match before {
                Some(JobStatus::Success) | None if job.looks > 0 => self.jobs[at].looks -= 1,
                Some(JobStatus::Success) | None => {
                    self.jobs[at].status = job.ends;
                    if job.ends == JobStatus::Success {
                        self.carry_out(&job);
                    }
                }
                Some(status) if status.is_final() => self.jobs[at].status = JobStatus::Error,
                Some(_) => {}
            }
        }
    }

    fn carry_out(&mut self, job: &QueuedJob) {
        for opcode in &job.opcodes {
            match opcode {
                Opcode::TagsSet { tags, .. } => self.tags.extend(tags.iter().cloned()),
                Opcode::TagsDel { tags, .. } => self.tags.retain(|tag| !tags.contains(tag)),
                // the last one of a repair mends
                Opcode::Startup { .. } if job.mends => self.broken = false,
                _ => {}
            }
        }
    }

    fn call<T>(&mut self, done: impl FnOnce(&mut World) -> T) -> Result<T, CallError> {
        let turn = self.turns.iter().find(|(at, _)| *at == self.calls).map(|(_, turn)| *turn);
        self.calls += 1;
        match turn {
            Some(Turn::NotSent) => return Err(CallError::NotSent("no".to_owned())),
            Some(Turn::KilledBefore) => std::panic::resume_unwind(Box::new(Killed)),
            _ => {}
        }
        let answer = done(self);
        match turn {
            Some(Turn::KilledAfter) => std::panic::resume_unwind(Box::new(Killed)),
            Some(Turn::Lost) => Err(CallError::Nonsense("lost".to_owned())),
            _ => Ok(answer),
        }
    }

    fn enter(&mut self, run: &RunInfo, job: &Job<'_>) -> JobId {
        let comment = run.comment(job.mark);
        let is_tags = job.mark.step == StepIdx::new(TAGS);
        let (looks, ends, mends) = match is_tags || self.fates.is_empty() {
            true => (0, JobStatus::Success, true),
            false => self.fates.remove(0),
        };
        if !is_tags {
            let id = run.comment.split(' ').nth(2).unwrap();
            let announced = format!("{AUTOREPAIR}pending:failover:{id}:");
            if !self.tags.iter().any(|tag| tag.starts_with(&announced)) {
                self.wrong.push(format!("{comment}: no tag says so"));
            }
            if self.tags.contains(&suspend()) {
                self.wrong.push(format!("{comment}: while that is suspended"));
            }
            let run_of = |comment: &str| comment.split(", step").next().unwrap().to_owned();
            let chained = |other: &QueuedJob| run_of(&other.comment) == run_of(&comment);
            let open = |other: &&QueuedJob| World::is_repair(other) && !other.status.is_final();
            if let Some(other) = self.jobs.iter().filter(open).find(|other| !chained(other)) {
                self.wrong.push(format!("{comment}: while {} is under way", other.comment));
            }
        }
        let (opcodes, depends) = (job.opcodes.to_vec(), job.depends);
        self.jobs.push(QueuedJob {
            comment,
            opcodes,
            looks,
            ends,
            mends,
            depends,
            status: JobStatus::Queued,
        });
        JobId(self.jobs.len() as u64)
    }

    fn state(&self, JobId(id): JobId) -> JobState {
        let job = usize::try_from(id).ok().and_then(|id| self.jobs.get(id.checked_sub(1)?));
        JobState { status: job.map(|job| job.status), ..JobState::default() }
    }
}

impl JobClient for World {
    fn cluster(&mut self) -> Result<ClusterId, CallError> {
        Ok(ClusterId { name: "w".into(), uuid: "w".into() })
    }

    fn joins_opcodes(&self) -> bool {
        self.joins
    }

    fn submit(
        &mut self,
        run: &RunInfo,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Result<JobId, CallError>>, CallError> {
        self.call(|world| jobs.iter().map(|job| Ok(world.enter(run, job))).collect())
    }

    fn newest(&mut self) -> Result<JobId, CallError> {
        Ok(JobId(self.jobs.len() as u64))
    }

    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError> {
        self.advance();
        self.call(|world| ids.iter().map(|id| world.state(*id)).collect())
    }

    fn next_change(&mut self, jobs: &[Watched], _: Duration) -> Result<Vec<(JobId, JobState)>, CallError> {
        self.advance();
        self.call(|world| jobs.iter().map(|job| (job.id, world.state(job.id))).collect())
    }

    fn jobs_of(&mut self, run: &RunInfo, _: JobId) -> Result<Vec<(JobId, JobMark)>, CallError> {
        self.call(|world| {
            let jobs = (1..).map(JobId).zip(&world.jobs);
            jobs.filter_map(|(id, job)| Some((id, run.mark(&job.comment)?))).collect()
        })
    }

    fn instances_on(&mut self, _: &str) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
    }

    fn node_flags(&mut self, _: &str) -> Result<NodeFlags, CallError> {
        Ok(NodeFlags::default())
    }

    fn instance_now(&mut self, _: &str) -> Result<InstanceNow, CallError> {
        Err(CallError::NotSent("never".to_owned()))
    }

    fn results(&mut self, _: JobId) -> Result<Vec<Value>, CallError> {
        Ok(Vec::new())
    }

    fn cancel(&mut self, _: JobId) -> Result<(), CallError> {
        Ok(())
    }

    fn try_out(&mut self, _: &RunInfo, _: &Opcode) -> Result<JobId, CallError> {
        Err(CallError::NotSent("never".to_owned()))
    }
}

fn world(joins: bool, fates: Vec<Fate>, clock: &Rc<Cell<u64>>) -> World {
    World {
        joins,
        tags: BTreeSet::from(["mine".to_owned()]),
        broken: true,
        jobs: Vec::new(),
        clock: Rc::clone(clock),
        fates,
        permits: "failover",
        most_failures: 1,
        turns: Vec::new(),
        calls: 0,
        wrong: Vec::new(),
    }
}

fn suspend() -> String {
    format!("{AUTOREPAIR}suspend")
}

/// One run of cron, at the present time of the world.
fn run(world: &mut World, around: &mut FakeHost) -> Result<Attended, AttendError> {
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
        Repairer { client: Some(world), changes: true, around, reason: "r".to_owned(), delay: 0.0 };
    let visit = repairer.attend("i", &tags, wish, !broken)?;
    Ok(visit.attended)
}

fn is_pending(tag: &str) -> bool {
    tag.contains(":pending:")
}

#[test]
fn a_repair_from_its_beginning_to_its_end() {
    let mut around = FakeHost::default();
    around.clock.set(1000);
    let mut world = world(true, vec![(5, JobStatus::Success, true)], &around.clock);
    let begun = run(&mut world, &mut around).unwrap();
    let Attended::Begun(tag) = begun else { panic!("{begun:?}") };
    let id = repair_id("i", None);
    assert_eq!(tag.to_string(), format!("{AUTOREPAIR}pending:failover:{id}:1000:2"));
    let tags = |world: &World| world.tags.iter().cloned().collect::<Vec<_>>();
    assert_eq!(tags(&world), [tag.to_string(), "mine".to_owned()]);
    assert_eq!(run(&mut world, &mut around).unwrap(), Attended::UnderWay(tag));
    (0..9).for_each(|_| world.advance());
    let ended = run(&mut world, &mut around).unwrap();
    let Attended::Ended(tag) = ended else { panic!("{ended:?}") };
    assert!(tag.to_string().starts_with(&format!("{AUTOREPAIR}result:failover:{id}:")), "{tag}");
    assert!(tag.to_string().ends_with(":success:2"), "{tag}");
    assert_eq!(tags(&world), [tag.to_string(), "mine".to_owned()]);
    assert_eq!(run(&mut world, &mut around).unwrap(), Attended::Nothing);
    assert_eq!(world.wrong, [""; 0]);
}

/// What becomes of a chain of two jobs if the run is killed at this call; nothing if it has no more calls.
fn killed_chain(killed_at: usize) -> Option<(usize, Attended)> {
    let mut around = FakeHost::default();
    around.clock.set(1000);
    // both end well, and the instance is seen as it was before
    let fates = vec![(0, JobStatus::Success, false); 2];
    let turns = vec![(killed_at, Turn::KilledBefore)];
    let mut world = World { turns, ..world(false, fates, &around.clock) };
    let killed = catch_unwind(AssertUnwindSafe(|| run(&mut world, &mut around)));
    killed.err()?.downcast::<Killed>().expect("a panic");
    (0..9).for_each(|_| world.advance());
    world.turns.clear();
    let jobs = world.jobs.iter().filter(|job| World::is_repair(job)).count();
    Some((jobs, run(&mut world, &mut around).unwrap()))
}

#[test]
fn a_chain_that_no_tag_names_is_whole_or_was_cut_off() {
    let mut seen = Vec::new();
    for (jobs, attended) in (0..).map_while(killed_chain) {
        let Attended::Ended(tag) = attended else { continue };
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

    /// No two repairs at once, none without a tag or where they are suspended, and in the end the tags say what is.
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
        let mut around = FakeHost::default();
        around.clock.set(1000);
        let mut world = World { permits, most_failures, turns, ..world(joins, fates, &around.clock) };
        for (number, pause) in pauses.into_iter().enumerate() {
            if suspended == Some(number) {
                world.tags.insert(suspend());
            }
            let ended = catch_unwind(AssertUnwindSafe(|| run(&mut world, &mut around)));
            match ended {
                Err(killed) => prop_assert!(killed.is::<Killed>(), "a panic"),
                Ok(Err(AttendError::Unclear(_, why))) => prop_assert!(false, "{}", why),
                Ok(_) => {}
            }
            prop_assert_eq!(&world.wrong, &Vec::<String>::new());
            around.clock.set(around.clock.get() + pause);
        }
        // then all goes well, as long as it takes
        world.turns.clear();
        for _ in 0..20 {
            let attended = run(&mut world, &mut around);
            prop_assert!(attended.is_ok(), "{:?}", attended);
            (0..40).for_each(|_| world.advance());
            around.clock.set(around.clock.get() + 700);
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
        // who was given up has both tags
        let given_up = most_failures > 1 && has(":failure:") && world.broken;
        prop_assert!(!given_up || has(":suspend"), "{:?}", tags);
        // one tag tells of the last repair
        prop_assert!(tags.len() <= 2 + usize::from(has(":suspend")), "{:?}", tags);
    }
}
