//! Repairs of single instances, of which tags are the only memory: harep's hands.
//!
//! Before its jobs, a repair gets a tag that says that it is under way; once they are in the queue, one that names them; when
//! they have ended, one that says what came of it. Each is there before the one that it replaces goes. Where a run is cut off, the
//! next one reads the tags, and looks for the jobs by the comment that they share: it has the repair's ID, and when that was begun. A
//! job that writes a tag may still be in the queue when the next run begins; as the ID follows from the tags that there are, that
//! one begins the same repair, and not another one. So no repair begins while another one of the instance may be under way,
//! and none is under way for ever.

use std::time::{Duration, UNIX_EPOCH};

use super::client::JobClient;
use super::host::{RunHost, TrialError};
use super::job::{Job, JobId, JobMark, JobState, JobStatus, RunInfo};
use super::one_job::await_job;
use crate::model::autorepair::{
    Contradiction, RepairHistory, RepairKind, RepairResult, RepairState, RepairTag,
};
use crate::plan::fresh::half_digest;
use crate::plan::graph::StepIdx;
use crate::plan::opcode::{Opcode, TagKind};
use crate::remote::CallError;

/// How long after its tag a job may still get into the queue, in seconds.
const LATEST: i64 = 120;
/// How long to wait for a change of a job in one call.
const CHANGE: Duration = Duration::from_secs(30);

/// What is to be done about an instance that is not well.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedRepair {
    /// What is done.
    pub kind: RepairKind,
    /// How it is done.
    pub opcodes: Vec<Opcode>,
}

/// What was done about an instance, or found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attended {
    /// Nothing was to be done.
    Nothing,
    /// A repair was begun; its tag.
    Begun(RepairTag),
    /// A repair is under way.
    UnderWay(RepairTag),
    /// A repair has ended; the tag that says so.
    Ended(RepairTag),
    /// A repair was announced, and nothing was done about it: its tag is gone.
    NeverBegun(RepairTag),
    /// A repair has failed before.
    Failed(RepairTag),
}

/// Why nothing more could be done about an instance. Its tags tell how far it is.
#[derive(Debug, thiserror::Error)]
pub enum AttendError {
    /// Its tags make no sense.
    #[error("the tags of instance '{0}' contradict each other: {1}")]
    Unclear(String, Box<Contradiction>),
    /// Its tags could not be written, or not be removed.
    #[error("a tag of instance '{instance}': {problem}")]
    Tags {
        /// The instance.
        instance: String,
        /// What Ganeti says.
        problem: String,
    },
    /// Ganeti takes no such job; nothing was done.
    #[error("the repair of instance '{instance}' was refused: {problem}")]
    Refused {
        /// The instance.
        instance: String,
        /// What Ganeti says.
        problem: String,
    },
    /// The connection is lost, and with it perhaps an answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Whoever repairs, with the way to the cluster.
pub struct Repairer<'a> {
    /// The way.
    pub client: &'a mut dyn JobClient,
    /// The clock.
    pub around: &'a mut dyn RunHost,
    /// Why: free text in Ganeti's trail of reasons.
    pub reason: String,
}

/// The steps of a repair: what writes tags, and the repair itself.
const TAGS: usize = 0;
const REPAIR: usize = 1;

impl Repairer<'_> {
    /// Does what is to be done about an instance with these tags, all of them, as they are now: brings the notes on an earlier
    /// repair up to date, or else begins a wanted one. `mended` says that the instance is well, for jobs that have left
    /// the queue.
    ///
    /// # Errors
    /// Why that is not possible, and how far it got.
    pub fn attend(
        &mut self,
        instance: &str,
        tags: &[String],
        wanted: Option<&WantedRepair>,
        mended: bool,
    ) -> Result<Attended, AttendError> {
        let RepairHistory { state, mut outdated } =
            RepairHistory::of(tags).map_err(|why| AttendError::Unclear(instance.to_owned(), why))?;
        let attended = match (state, wanted) {
            (RepairState::Failure(tag), _) => Attended::Failed(tag),
            (RepairState::Pending(tag), _) => match self.look(&tag, mended)? {
                RepairSight::UnderWay => Attended::UnderWay(tag),
                RepairSight::NeverBegun => {
                    outdated.push(tag.clone());
                    Attended::NeverBegun(tag)
                }
                RepairSight::Over(result, jobs) => {
                    let time = self.seconds();
                    let said = RepairTag { time, jobs, result: Some(result), ..tag.clone() };
                    self.write(instance, &said)?;
                    outdated.push(tag);
                    Attended::Ended(said)
                }
            },
            (RepairState::Healthy(_), None) => Attended::Nothing,
            (RepairState::Healthy(last), Some(wanted)) => {
                let begun = self.begin(instance, wanted, last.as_ref())?;
                outdated.extend(last);
                Attended::Begun(begun)
            }
        };
        self.remove(instance, &outdated)?;
        Ok(attended)
    }

    /// Begins a repair: says so first, and then by which jobs.
    fn begin(
        &mut self,
        instance: &str,
        wanted: &WantedRepair,
        last: Option<&RepairTag>,
    ) -> Result<RepairTag, AttendError> {
        let WantedRepair { kind, opcodes } = wanted;
        let (id, time) = (repair_id(instance, last), self.seconds());
        let announced = RepairTag { kind: *kind, id, time, result: None, jobs: Vec::new() };
        self.write(instance, &announced)?;
        match self.submit(&self.run_of(&announced), REPAIR, opcodes) {
            Ok(jobs) => {
                let named = RepairTag { jobs, ..announced.clone() };
                self.write(instance, &named)?;
                self.remove(instance, &[announced])?;
                Ok(named)
            }
            Err(error) if error.is_undone() => {
                self.remove(instance, &[announced])?;
                Err(AttendError::Refused { instance: instance.to_owned(), problem: error.to_string() })
            }
            // it may have got there
            Err(error) => Err(error.into()),
        }
    }

    /// How far a repair is that has not ended by its tags.
    fn look(&mut self, tag: &RepairTag, mended: bool) -> Result<RepairSight, AttendError> {
        let mut jobs = tag.jobs.clone();
        if jobs.is_empty() {
            let found = self.client.jobs_of(&self.run_of(tag), JobId(0))?;
            let found = found.into_iter().filter(|(_, mark)| mark.step == StepIdx::new(REPAIR));
            jobs.extend(found.map(|(id, _)| id));
            jobs.sort_unstable();
        }
        if jobs.is_empty() {
            let may_come = self.seconds() < tag.time.saturating_add(LATEST);
            return Ok(if may_come { RepairSight::UnderWay } else { RepairSight::NeverBegun });
        }
        let states = self.client.states(&jobs)?;
        if states.iter().any(|state| state.status.is_some_and(|status| !status.is_final())) {
            return Ok(RepairSight::UnderWay);
        }
        let is_well = |state: &JobState| match state.status {
            Some(status) => status == JobStatus::Success,
            // it has left the queue, and nobody knows how
            None => mended,
        };
        // a chain that was cut off has not been gone through
        let whole = !tag.jobs.is_empty() || mended || self.client.joins_opcodes();
        let result = match whole && states.iter().all(is_well) {
            true => RepairResult::Success,
            false => RepairResult::Failure,
        };
        Ok(RepairSight::Over(result, jobs))
    }

    /// What the jobs of a repair have in common; its ID tells them from all others.
    fn run_of(&self, tag: &RepairTag) -> RunInfo {
        RunInfo {
            tool: "harep".to_owned(),
            began: u64::try_from(tag.time).unwrap_or(0).saturating_mul(1_000_000_000),
            comment: format!("automated repair {} by harep (htools)", tag.id),
            reason: self.reason.clone(),
            priority: 0,
        }
    }

    fn seconds(&self) -> i64 {
        let since = self.around.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    /// Puts opcodes into the queue: as one job, or as a chain of them.
    fn submit(&mut self, run: &RunInfo, step: usize, opcodes: &[Opcode]) -> Result<Vec<JobId>, CallError> {
        let size = if self.client.joins_opcodes() { opcodes.len().max(1) } else { 1 };
        let mut ids: Vec<JobId> = Vec::new();
        for (part, opcodes) in opcodes.chunks(size).enumerate() {
            let mark = JobMark { step: StepIdx::new(step), part };
            let job = Job { opcodes, mark, depends: ids.last().copied() };
            let entered = self.client.submit(run, &[job]).and_then(|mut answers| {
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

    fn write(&mut self, instance: &str, tag: &RepairTag) -> Result<(), AttendError> {
        let (kind, tags, name) = (TagKind::Instance, vec![tag.to_string()], instance.to_owned());
        self.change_tags(instance, &self.run_of(tag), Opcode::TagsSet { kind, tags, name })
    }

    fn remove(&mut self, instance: &str, tags: &[RepairTag]) -> Result<(), AttendError> {
        let Some(first) = tags.first() else { return Ok(()) };
        let (kind, name) = (TagKind::Instance, instance.to_owned());
        let run = self.run_of(first);
        let tags = tags.iter().map(RepairTag::to_string).collect();
        self.change_tags(instance, &run, Opcode::TagsDel { kind, tags, name })
    }

    /// Changes tags, and waits until that is done.
    fn change_tags(&mut self, instance: &str, run: &RunInfo, opcode: Opcode) -> Result<(), AttendError> {
        let failed = |problem: String| AttendError::Tags { instance: instance.to_owned(), problem };
        let ids = self.submit(run, TAGS, &[opcode]).map_err(|error| failed(error.to_string()))?;
        await_job(self.client, ids[0], CHANGE).map_err(|error| match error {
            TrialError::Call(error) => AttendError::Call(error),
            error => failed(error.to_string()),
        })
    }
}

/// The ID of the repair of an instance that comes after the last one, in the form of a UUID.
fn repair_id(instance: &str, last: Option<&RepairTag>) -> String {
    let last = last.map(RepairTag::to_string).unwrap_or_default();
    let digits = half_digest(format!("{instance}\n{last}"));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// What is seen of a repair that has not ended by its tags.
enum RepairSight {
    UnderWay,
    NeverBegun,
    Over(RepairResult, Vec<JobId>),
}

#[cfg(test)]
mod tests;
