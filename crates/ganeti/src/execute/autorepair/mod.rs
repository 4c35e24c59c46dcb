//! Repairs of single instances, of which tags are the only memory: harep's hands.
//!
//! Before its jobs, a repair gets a tag that says that it is under way; once they are in the queue, one that names them; when
//! they have ended, one that says what came of it. Each is there before the one that it replaces goes. Where a run is cut off, the
//! next one reads the tags, and looks for the jobs by the comment that they share: it has the repair's ID, and when that was begun. A
//! job that writes a tag may still be in the queue when the next run begins; as the ID follows from the tags that there are, that
//! one begins the same repair, and not another one. So no repair begins while another one of the instance may be under way,
//! and none is under way for ever.

mod sight;

use std::time::{Duration, UNIX_EPOCH};

use super::client::JobClient;
use super::host::{RunHost, TrialError};
use super::job::{Job, JobId, JobMark, JobStatus, RunInfo};
use super::one_job::{MOST_CALLS, await_job};
use crate::remote::CallError;
use htools_model::autorepair::{
    Attended, Contradiction, RepairHistory, RepairNote, RepairResult, RepairState, RepairTag, Visit,
};
use htools_model::known_tags::AUTOREPAIR;
use htools_plan::fresh::half_digest;
use htools_plan::graph::StepIdx;
use htools_plan::opcode::{Opcode, TagKind};
use htools_plan::repair::{RepairWish, WantedRepair};
use sight::RepairSight;

/// Longest time after its tag in which a job may still get into the queue, in seconds.
const LATEST: i64 = 120;
/// Longest wait for a change of a job in one call.
const CHANGE: Duration = Duration::from_secs(10);
/// Most jobs between that of a repair and the last one, where it has to be looked for.
const RECENT: u64 = 2000;

/// Why nothing more could be done about an instance. Its tags tell how far it is.
#[derive(Debug, thiserror::Error)]
pub enum AttendError {
    /// Its tags make no sense.
    #[error("the tags of instance '{0}' contradict each other: {1}")]
    Unclear(String, Box<Contradiction>),
    /// Its tags could not be written, or not be removed.
    #[error("{problem}")]
    Tags {
        /// The instance.
        instance: String,
        /// Ganeti's words.
        problem: String,
    },
    /// Ganeti takes no such job; nothing was done.
    #[error("Job submission error: {problem}")]
    Refused {
        /// The instance.
        instance: String,
        /// Ganeti's words.
        problem: String,
    },
    /// Ganeti has taken some of the jobs, or perhaps. The next run finds them.
    #[error("Job submission error: {problem}; the next run looks for what has been submitted")]
    Partial {
        /// The instance.
        instance: String,
        /// Ganeti's words.
        problem: String,
    },
    /// The connection is lost, and with it perhaps an answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Whoever repairs, with the way to the cluster.
pub struct Repairer<'a> {
    /// The way; without one, nothing is known of jobs.
    pub client: Option<&'a mut dyn JobClient>,
    /// True if anything is changed; otherwise it is only told what would be.
    pub changes: bool,
    /// The clock.
    pub host: &'a mut dyn RunHost,
    /// Why: free text in Ganeti's trail of reasons.
    pub reason: String,
    /// Seconds that pass in the job of a repair before it takes its locks: meanwhile it is named in a tag.
    pub delay: f64,
}

/// The steps of a repair: what writes tags, and the repair itself.
const TAGS: usize = 0;
const REPAIR: usize = 1;

impl Repairer<'_> {
    /// Does what is to be done about an instance with these tags, all of them, as they are now: brings the notes on an earlier
    /// repair up to date, or else does what is wished. `mended` says that the instance is well, for jobs that have left
    /// the queue.
    ///
    /// # Errors
    /// Why that is not possible, and how far it got.
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
                RepairSight::UnderWay => Attended::UnderWay(tag),
                RepairSight::NeverBegun => {
                    removed.push(tag.clone());
                    Attended::NeverBegun(tag)
                }
                RepairSight::Over { result, jobs, said, broken } => {
                    message = said;
                    cleanup = broken.and_then(|(job, position)| self.cleanup(instance, job, position));
                    let said =
                        self.write(instance, RepairTag { jobs, result: Some(result), ..tag.clone() })?;
                    removed.push(tag);
                    Attended::Ended(said)
                }
            },
            (RepairState::Failure(tag), RepairWish::Repair(wanted)) if wanted.again => {
                let begun = self.begin(instance, wanted, tag.next_attempt())?;
                removed.push(tag);
                Attended::Begun(begun)
            }
            (RepairState::Failure(_), RepairWish::Note(RepairNote::Suspend)) => {
                let tag = format!("{AUTOREPAIR}suspend");
                self.set_tags(instance, &self.run_of("suspension", self.seconds()), vec![tag.clone()])?;
                Attended::Suspended(tag)
            }
            (RepairState::Failure(tag), _) => Attended::Failed(tag),
            (RepairState::Healthy(Some(last)), RepairWish::Repair(_)) if self.says_in_vain(&last)? => {
                let attended = Attended::UnderWay(last);
                return Ok(Visit { attended, removed: Vec::new(), message: None, cleanup: None });
            }
            (RepairState::Healthy(last), RepairWish::Repair(wanted)) if !wanted.again => {
                let begun = self.begin(instance, wanted, repair_id(instance, last.as_ref()))?;
                removed.extend(last);
                Attended::Begun(begun)
            }
            (RepairState::Healthy(last), RepairWish::Note(RepairNote::NoPermission(kind))) => {
                let says_so =
                    |tag: &RepairTag| tag.kind == kind && tag.result == Some(RepairResult::NoPermission);
                match last {
                    Some(tag) if says_so(&tag) => Attended::Nothing,
                    last => {
                        // a late note must not pass for the end of a repair that was permitted meanwhile
                        let id = repair_id(&format!("{instance}\nenoperm"), last.as_ref());
                        let result = Some(RepairResult::NoPermission);
                        let said = RepairTag { kind, id, time: 0, result, jobs: Vec::new() };
                        removed.extend(last);
                        Attended::NotPermitted(self.write(instance, said)?)
                    }
                }
            }
            (RepairState::Healthy(Some(last)), RepairWish::Note(RepairNote::InVain)) => {
                let result = Some(RepairResult::Failure);
                let said = RepairTag { result, time: self.seconds(), ..last.clone() };
                self.set_tags(instance, &self.verdict_on(&last), vec![said.to_string()])?;
                removed.push(last);
                Attended::InVain(said)
            }
            (RepairState::Healthy(_), _) => Attended::Nothing,
        };
        self.remove(instance, &removed)?;
        Ok(Visit { attended, removed, message, cleanup })
    }

    /// The job of a repair: time passes before it takes its locks, where the cluster can do that in one job.
    pub fn job(&self, opcodes: &[Opcode]) -> Vec<Opcode> {
        let delay = (self.delay > 0.0 && self.joins_opcodes()).then(|| Opcode::delay(self.delay));
        delay.into_iter().chain(opcodes.iter().cloned()).collect()
    }

    /// Begins a repair: says so first, and then by which jobs.
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
            // it may have got there
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces the tag that says that a repair begins by one that names its jobs.
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
        // the repair may have locked the instance, and take its time; the next run finds either of the tags
        let calls = if self.joins_opcodes() && self.delay > 0.0 { MOST_CALLS } else { 1 };
        if self.joins_opcodes() {
            return self.change_tags(instance, &run, &[set, remove], calls).map(drop);
        }
        // two jobs, which nothing keeps in order
        if self.change_tags(instance, &run, &[set], calls)? {
            self.change_tags(instance, &run, &[remove], calls)?;
        }
        Ok(())
    }

    /// The part that the jobs of a repair have in common; its ID and when it was begun tell them from all others.
    fn run_of(&self, id: &str, time: i64) -> RunInfo {
        RunInfo {
            tool: "harep".to_owned(),
            began: u64::try_from(time).unwrap_or(0).saturating_mul(1_000_000_000),
            comment: format!("automated repair {id} by harep (htools)"),
            reason: self.reason.clone(),
            priority: 0,
        }
    }

    /// The part that jobs have in common that say that a repair was in vain.
    fn verdict_on(&self, tag: &RepairTag) -> RunInfo {
        self.run_of(&format!("{} (in vain)", tag.id), tag.time)
    }

    /// Tells if a run that was cut off has a job in the queue which will say that a repair was in vain.
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

    /// Puts opcodes into the queue: as one job, or as a chain of them.
    fn submit(&mut self, run: &RunInfo, step: usize, opcodes: &[Opcode]) -> Result<Vec<JobId>, CallError> {
        let size = if self.joins_opcodes() { opcodes.len().max(1) } else { 1 };
        let nowhere = || CallError::NotSent("there is nowhere to submit jobs to".to_owned());
        let client = self.client.as_mut().ok_or_else(nowhere)?;
        let mut ids: Vec<JobId> = Vec::new();
        let chunks = opcodes.chunks(size);
        for (following, opcodes) in (0..chunks.len()).rev().zip(chunks) {
            // counted from the end: a chain that has its part 0 has not been cut off
            let mark = JobMark { step: StepIdx::new(step), part: following };
            let job = Job { opcodes, mark, depends: ids.last().copied() };
            let before = match (opcodes, ids.last()) {
                // RAPI takes this one without what it depends on
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
                // what comes before is in the queue
                Err(error) => return Err(CallError::Nonsense(error.to_string())),
            }
        }
        Ok(ids)
    }

    /// Writes a tag, with the present time in it.
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

    /// Changes tags, and waits until that is done; after so many calls, with what is still in the queue only if there may be no more.
    /// Gives whether it is done.
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

/// The ID of the repair of an instance that comes after the last one, in the form of a UUID.
fn repair_id(instance: &str, last: Option<&RepairTag>) -> String {
    let last = last.map(RepairTag::to_string).unwrap_or_default();
    let digits = half_digest(format!("{instance}\n{last}"));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
