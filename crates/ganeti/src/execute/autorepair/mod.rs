//! Repairs of single instances for harep. Tags are the only memory of a repair.
//!
//! A repair writes three tags, one after another:
//!
//! 1. before its jobs, a tag that says that it is under way;
//! 2. once the jobs are in the queue, a tag with their numbers;
//! 3. when the jobs have ended, a tag with the result.
//!
//! Each tag is written before the previous one is removed. If a run is cut off, the next one reads the tags, and finds
//! the jobs by their common comment. That comment has the ID and the start time of the repair. A job that writes a tag
//! may still be queued when the next run begins. As the ID follows from the existing tags, that run begins the same
//! repair again, not another one. So no repair begins while another one of the instance may be under way, and none
//! stays under way for ever.

mod sight;

use std::time::{Duration, UNIX_EPOCH};

use super::client::JobClient;
use super::host::{RunHost, TrialError};
use super::job::{Job, JobId, JobMark, JobStatus, RunInfo};
use super::one_job::{MOST_CALLS, await_job};
use crate::remote::CallError;
use htools_model::autorepair::{
    Contradiction, RepairHistory, RepairNote, RepairResult, RepairState, RepairTag, Visit, VisitOutcome,
};
use htools_model::known_tags::AUTOREPAIR;
use htools_plan::fresh::half_digest;
use htools_plan::graph::StepIdx;
use htools_plan::opcode::{Opcode, TagKind};
use htools_plan::repair::{RepairWish, WantedRepair};
use sight::RepairSight;

/// Maximum time after its tag within which a job may still enter the queue, in seconds.
const LATEST: i64 = 120;
/// Maximum wait for a change of a job in one call.
const CHANGE: Duration = Duration::from_secs(10);
/// Maximum number of the newest jobs that are searched for the jobs of a repair.
const RECENT: u64 = 2000;

/// Reason that an instance could not be attended to further. Its tags record the progress.
#[derive(Debug, thiserror::Error)]
pub enum AttendError {
    /// Its tags contradict each other.
    #[error("the tags of instance '{0}' contradict each other: {1}")]
    Unclear(String, Box<Contradiction>),
    /// Its tags could not be added or removed.
    #[error("{problem}")]
    Tags {
        /// The instance.
        instance: String,
        /// Ganeti's message.
        problem: String,
    },
    /// Ganeti refused the job; nothing was done.
    #[error("Job submission error: {problem}")]
    Refused {
        /// The instance.
        instance: String,
        /// Ganeti's message.
        problem: String,
    },
    /// Ganeti has taken some of the jobs, or may have. The next run finds them.
    #[error("Job submission error: {problem}; the next run looks for the submitted job")]
    Partial {
        /// The instance.
        instance: String,
        /// Ganeti's message.
        problem: String,
    },
    /// The connection was lost, perhaps together with an answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A repairer, with its connection to the cluster.
pub struct Repairer<'a> {
    /// Connection; without one, nothing is known about jobs.
    pub client: Option<&'a mut dyn JobClient>,
    /// True to make changes, false to report only what would be done.
    pub changes: bool,
    /// The clock.
    pub host: &'a mut dyn RunHost,
    /// Reason, as free text in Ganeti's trail of reasons.
    pub reason: String,
    /// Delay in seconds before the job of a repair takes its locks. During it, the job's number is written into a tag.
    pub delay: f64,
}

/// Step numbers in job marks: writing tags, and the repair itself.
const TAGS: usize = 0;
const REPAIR: usize = 1;

impl Repairer<'_> {
    /// Attends to an instance. `tags` are all its present tags. Updates the tags of an earlier repair, or else does
    /// what is wished. `mended` says that the instance is healthy; it decides about jobs that have left the queue.
    ///
    /// # Errors
    /// The reason that this is not possible, and the progress.
    pub fn attend(
        &mut self,
        instance: &str,
        tags: &[String],
        wish: RepairWish<'_>,
        mended: bool,
    ) -> Result<Visit, AttendError> {
        let RepairHistory { state, outdated } =
            RepairHistory::of(tags).map_err(|why| AttendError::Unclear(instance.to_owned(), why))?;
        let (mut removed, mut message, mut cleanup) = (outdated, None, None);
        let attended = match (state, wish) {
            (RepairState::Pending(tag), _) => match self.look(&tag, mended)? {
                RepairSight::UnderWay => VisitOutcome::UnderWay(tag),
                RepairSight::NeverBegun => {
                    removed.push(tag.clone());
                    VisitOutcome::NeverBegun(tag)
                }
                RepairSight::Over { result, jobs, said, broken } => {
                    message = said;
                    cleanup = broken.and_then(|(job, position)| self.cleanup(instance, job, position));
                    let said =
                        self.write(instance, RepairTag { jobs, result: Some(result), ..tag.clone() })?;
                    removed.push(tag);
                    VisitOutcome::Ended(said)
                }
            },
            (RepairState::Failure(tag), RepairWish::Repair(wanted)) if wanted.again => {
                let begun = self.begin(instance, wanted, tag.next_attempt())?;
                removed.push(tag);
                VisitOutcome::Begun(begun)
            }
            (RepairState::Failure(_), RepairWish::Note(RepairNote::Suspend)) => {
                let tag = format!("{AUTOREPAIR}suspend");
                self.set_tags(instance, &self.run_of("suspension", self.seconds()), vec![tag.clone()])?;
                VisitOutcome::Suspended(tag)
            }
            (RepairState::Failure(tag), _) => VisitOutcome::Failed(tag),
            (RepairState::Healthy(Some(last)), RepairWish::Repair(_)) if self.says_in_vain(&last)? => {
                let attended = VisitOutcome::UnderWay(last);
                return Ok(Visit { attended, removed: Vec::new(), message: None, cleanup: None });
            }
            (RepairState::Healthy(last), RepairWish::Repair(wanted)) if !wanted.again => {
                let begun = self.begin(instance, wanted, repair_id(instance, last.as_ref()))?;
                removed.extend(last);
                VisitOutcome::Begun(begun)
            }
            (RepairState::Healthy(last), RepairWish::Note(RepairNote::NoPermission(kind))) => {
                let says_so =
                    |tag: &RepairTag| tag.kind == kind && tag.result == Some(RepairResult::NoPermission);
                match last {
                    Some(tag) if says_so(&tag) => VisitOutcome::Nothing,
                    last => {
                        // A late note must not look like the end of a repair that was permitted in the meantime.
                        let id = repair_id(&format!("{instance}\nenoperm"), last.as_ref());
                        let result = Some(RepairResult::NoPermission);
                        let said = RepairTag { kind, id, time: 0, result, jobs: Vec::new() };
                        removed.extend(last);
                        VisitOutcome::NotPermitted(self.write(instance, said)?)
                    }
                }
            }
            (RepairState::Healthy(Some(last)), RepairWish::Note(RepairNote::InVain)) => {
                let result = Some(RepairResult::Failure);
                let said = RepairTag { result, time: self.seconds(), ..last.clone() };
                self.set_tags(instance, &self.verdict_on(&last), vec![said.to_string()])?;
                removed.push(last);
                VisitOutcome::InVain(said)
            }
            (RepairState::Healthy(_), _) => VisitOutcome::Nothing,
        };
        self.remove(instance, &removed)?;
        Ok(Visit { attended, removed, message, cleanup })
    }

    /// The job of a repair, which begins with a delay before it takes its locks, if the cluster can do both in one job.
    pub fn job(&self, opcodes: &[Opcode]) -> Vec<Opcode> {
        let delay = (self.delay > 0.0 && self.joins_opcodes()).then(|| Opcode::delay(self.delay));
        delay.into_iter().chain(opcodes.iter().cloned()).collect()
    }

    /// Begins a repair: first announces it in a tag, then adds the numbers of its jobs.
    fn begin(&mut self, instance: &str, wanted: &WantedRepair, id: String) -> Result<RepairTag, AttendError> {
        let kind = wanted.kind;
        let announced =
            self.write(instance, RepairTag { kind, id, time: 0, result: None, jobs: Vec::new() })?;
        if !self.changes {
            return Ok(announced);
        }
        let run = self.run_of(&announced.id, announced.time);
        match self.submit(&run, REPAIR, &self.job(&wanted.opcodes)) {
            Ok(jobs) => {
                let named = RepairTag { jobs, ..announced.clone() };
                self.name_jobs(instance, &named, &announced)?;
                Ok(named)
            }
            Err(error) if error.is_undone() => {
                self.remove(instance, &[announced])?;
                Err(AttendError::Refused { instance: instance.to_owned(), problem: error.to_string() })
            }
            Err(CallError::Nonsense(problem)) => {
                Err(AttendError::Partial { instance: instance.to_owned(), problem })
            }
            // The job may have been submitted.
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces the tag that announces a repair by one with the numbers of its jobs.
    fn name_jobs(
        &mut self,
        instance: &str,
        named: &RepairTag,
        announced: &RepairTag,
    ) -> Result<(), AttendError> {
        let change = |tag: &RepairTag| (TagKind::Instance, vec![tag.to_string()], instance.to_owned());
        let (kind, tags, name) = change(named);
        let set = Opcode::TagsSet { kind, tags, name };
        let (kind, tags, name) = change(announced);
        let remove = Opcode::TagsDel { kind, tags, name };
        let run = self.run_of(&named.id, named.time);
        // The repair may have locked the instance for a long time. The next run can use either tag.
        let calls = if self.joins_opcodes() && self.delay > 0.0 { MOST_CALLS } else { 1 };
        if self.joins_opcodes() {
            return self.change_tags(instance, &run, &[set, remove], calls).map(drop);
        }
        // Without joined opcodes these are two jobs, which have no order by themselves.
        if self.change_tags(instance, &run, &[set], calls)? {
            self.change_tags(instance, &run, &[remove], calls)?;
        }
        Ok(())
    }

    /// The run data shared by the jobs of a repair; ID and start time identify them.
    fn run_of(&self, id: &str, time: i64) -> RunInfo {
        RunInfo {
            tool: "harep".to_owned(),
            began: u64::try_from(time).unwrap_or(0).saturating_mul(1_000_000_000),
            comment: format!("automated repair {id} by harep (htools)"),
            reason: self.reason.clone(),
            priority: 0,
        }
    }

    /// The run data shared by the jobs that record that a repair was in vain.
    fn verdict_on(&self, tag: &RepairTag) -> RunInfo {
        self.run_of(&format!("{} (in vain)", tag.id), tag.time)
    }

    /// Tells if a run that was cut off has a job in the queue that will record that a repair was in vain.
    fn says_in_vain(&mut self, tag: &RepairTag) -> Result<bool, CallError> {
        let run = self.verdict_on(tag);
        let Some(client) = &mut self.client else { return Ok(false) };
        let JobId(newest) = client.newest()?;
        let found = client.jobs_of(&run, JobId(newest.saturating_sub(RECENT)))?;
        let ids: Vec<JobId> = found.into_iter().map(|(id, _)| id).collect();
        if ids.is_empty() {
            return Ok(false);
        }
        let has_failed = |status: JobStatus| status.is_final() && status != JobStatus::Success;
        Ok(client.states(&ids)?.iter().any(|state| !state.status.is_none_or(has_failed)))
    }

    fn seconds(&self) -> i64 {
        let since = self.host.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    fn joins_opcodes(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.joins_opcodes())
    }

    /// Submits opcodes as one job, or as a chain of jobs.
    fn submit(&mut self, run: &RunInfo, step: usize, opcodes: &[Opcode]) -> Result<Vec<JobId>, CallError> {
        let size = if self.joins_opcodes() { opcodes.len().max(1) } else { 1 };
        let nowhere = || CallError::NotSent("there is nowhere to submit jobs to".to_owned());
        let client = self.client.as_mut().ok_or_else(nowhere)?;
        let mut ids: Vec<JobId> = Vec::new();
        let chunks = opcodes.chunks(size);
        for (following, opcodes) in (0..chunks.len()).rev().zip(chunks) {
            // Parts are counted from the end, so a chain that has its part 0 is complete.
            let mark = JobMark { step: StepIdx::new(step), part: following };
            let job = Job { opcodes, mark, depends: ids.last().copied() };
            let before = match (opcodes, ids.last()) {
                // RAPI does not accept dependencies for this opcode.
                ([Opcode::Reinstall { .. }], Some(last)) => {
                    await_job(&mut **client, *last, CHANGE, MOST_CALLS)
                }
                _ => Ok(()),
            };
            let before = before.map_err(|error| CallError::Nonsense(error.to_string()));
            let entered = before.and_then(|()| client.submit(run, &[job])).and_then(|mut answers| {
                let nonsense = || CallError::Nonsense("no answer to a job".to_owned());
                answers.pop().unwrap_or_else(|| Err(nonsense()))
            });
            match entered {
                Ok(id) => ids.push(id),
                Err(error) if ids.is_empty() => return Err(error),
                // The earlier jobs of the chain are in the queue.
                Err(error) => return Err(CallError::Nonsense(error.to_string())),
            }
        }
        Ok(ids)
    }

    /// Writes a tag with the present time.
    fn write(&mut self, instance: &str, tag: RepairTag) -> Result<RepairTag, AttendError> {
        let tag = RepairTag { time: self.seconds(), ..tag };
        self.set_tags(instance, &self.run_of(&tag.id, tag.time), vec![tag.to_string()])?;
        Ok(tag)
    }

    fn set_tags(&mut self, instance: &str, run: &RunInfo, tags: Vec<String>) -> Result<(), AttendError> {
        let (kind, name) = (TagKind::Instance, instance.to_owned());
        self.change_tags(instance, run, &[Opcode::TagsSet { kind, tags, name }], MOST_CALLS).map(drop)
    }

    fn remove(&mut self, instance: &str, tags: &[RepairTag]) -> Result<(), AttendError> {
        let Some(first) = tags.first() else { return Ok(()) };
        let (kind, name) = (TagKind::Instance, instance.to_owned());
        let run = self.run_of(&first.id, first.time);
        let tags = tags.iter().map(RepairTag::to_string).collect();
        self.change_tags(instance, &run, &[Opcode::TagsDel { kind, tags, name }], MOST_CALLS).map(drop)
    }

    /// Changes tags and waits for the job to end, for at most `calls` calls. After that, a job still in the queue is an
    /// error if `calls` is the maximum. Returns true if the change is complete.
    fn change_tags(
        &mut self,
        instance: &str,
        run: &RunInfo,
        opcodes: &[Opcode],
        calls: usize,
    ) -> Result<bool, AttendError> {
        if !self.changes {
            return Ok(true);
        }
        let failed = |problem: String| AttendError::Tags { instance: instance.to_owned(), problem };
        let refused = |error: CallError| failed(format!("Job submission error: {error}"));
        let ids = self.submit(run, TAGS, opcodes).map_err(refused)?;
        let Some(client) = self.client.as_deref_mut() else { return Ok(true) };
        for id in ids {
            match await_job(client, id, CHANGE, calls) {
                Ok(()) => {}
                Err(TrialError::Endless(_)) if calls < MOST_CALLS => return Ok(false),
                Err(TrialError::Call(error)) => return Err(error.into()),
                Err(error) => {
                    let state = client.states(&[id])?.into_iter().next().unwrap_or_default();
                    let status = state.status.map_or("gone", JobStatus::as_str);
                    return Err(failed(format!("The following jobs failed: {id}=>{status}: {error}")));
                }
            }
        }
        Ok(true)
    }
}

/// The ID of the next repair of an instance after the last one, in the form of a UUID.
fn repair_id(instance: &str, last: Option<&RepairTag>) -> String {
    let last = last.map(RepairTag::to_string).unwrap_or_default();
    let digits = half_digest(format!("{instance}\n{last}"));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
