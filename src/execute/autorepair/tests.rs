//! Repairs on a cluster that does not exist: any outcome of any job, killed at any call, answers lost on the way.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::execute::client::ClusterId;
use crate::execute::fake::{FakeHost, Killed};
use crate::execute::job::Watched;
use crate::model::known_tags::AUTOREPAIR;
use crate::plan::arrival::NodeFlags;

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
    fates: Vec<(usize, JobStatus)>,
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
                Opcode::Startup { .. } => self.broken = false,
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
        let (looks, ends) = match is_tags || self.fates.is_empty() {
            true => (0, JobStatus::Success),
            false => self.fates.remove(0),
        };
        if !is_tags {
            let id = run.comment.split(' ').nth(2).unwrap();
            let announced = format!("{AUTOREPAIR}pending:failover:{id}:");
            if !self.tags.iter().any(|tag| tag.starts_with(&announced)) {
                self.wrong.push(format!("{comment}: no tag says so"));
            }
            let run_of = |comment: &str| comment.split(", step").next().unwrap().to_owned();
            let chained = |other: &QueuedJob| run_of(&other.comment) == run_of(&comment);
            let open = |other: &&QueuedJob| World::is_repair(other) && !other.status.is_final();
            if let Some(other) = self.jobs.iter().filter(open).find(|other| !chained(other)) {
                self.wrong.push(format!("{comment}: while {} is under way", other.comment));
            }
        }
        let (opcodes, depends) = (job.opcodes.to_vec(), job.depends);
        self.jobs.push(QueuedJob { comment, opcodes, looks, ends, depends, status: JobStatus::Queued });
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

    fn try_out(&mut self, _: &RunInfo, _: &Opcode) -> Result<JobId, CallError> {
        Err(CallError::NotSent("never".to_owned()))
    }
}

fn world(joins: bool, fates: Vec<(usize, JobStatus)>, clock: &Rc<Cell<u64>>) -> World {
    World {
        joins,
        tags: BTreeSet::from(["mine".to_owned()]),
        broken: true,
        jobs: Vec::new(),
        clock: Rc::clone(clock),
        fates,
        turns: Vec::new(),
        calls: 0,
        wrong: Vec::new(),
    }
}

/// One run of cron, at the present time of the world.
fn run(world: &mut World, around: &mut FakeHost) -> Result<Attended, AttendError> {
    let tags: Vec<String> = world.tags.iter().cloned().collect();
    let broken = world.broken;
    let opcodes = vec![Opcode::shutdown("i"), Opcode::startup("i")];
    let wanted = WantedRepair { kind: RepairKind::Failover, opcodes };
    let mut repairer = Repairer { client: world, around, reason: "r".to_owned() };
    repairer.attend("i", &tags, broken.then_some(&wanted), !broken)
}

fn is_pending(tag: &str) -> bool {
    tag.contains(":pending:")
}

#[test]
fn a_repair_from_its_beginning_to_its_end() {
    let mut around = FakeHost::default();
    around.clock.set(1000);
    let mut world = world(true, vec![(5, JobStatus::Success)], &around.clock);
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

fn fate() -> impl Strategy<Value = (usize, JobStatus)> {
    let ends = prop_oneof![3 => Just(JobStatus::Success), 1 => Just(JobStatus::Error), 1 => Just(JobStatus::Canceled)];
    (0usize..30, ends)
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        2 => Just(Turn::KilledBefore), 2 => Just(Turn::KilledAfter), 1 => Just(Turn::Lost), 1 => Just(Turn::NotSent)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// No two repairs at once, none without a tag, and in the end the tags say what is.
    #[test]
    fn no_repair_is_begun_twice_and_no_tag_stays(
        joins in any::<bool>(),
        fates in prop::collection::vec(fate(), 0..4),
        turns in prop::collection::vec((0usize..40, turn()), 0..8),
        pauses in prop::collection::vec(0u64..200, 12),
    ) {
        let mut around = FakeHost::default();
        around.clock.set(1000);
        let mut world = world(joins, fates, &around.clock);
        world.turns = turns;
        for pause in pauses {
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
        for _ in 0..10 {
            let attended = run(&mut world, &mut around);
            prop_assert!(attended.is_ok(), "{:?}", attended);
            (0..40).for_each(|_| world.advance());
            around.clock.set(around.clock.get() + 200);
        }
        prop_assert_eq!(&world.wrong, &Vec::<String>::new());
        let tags: Vec<String> = world.tags.iter().cloned().collect();
        prop_assert!(!tags.iter().any(|tag| is_pending(tag)), "{:?}", tags);
        prop_assert!(tags.contains(&"mine".to_owned()));
        let failed = tags.iter().any(|tag| tag.contains(":failure:"));
        prop_assert!(failed || !world.broken, "{:?}", tags);
        // one tag tells of the last repair
        prop_assert!(tags.len() <= 2, "{:?}", tags);
    }
}
