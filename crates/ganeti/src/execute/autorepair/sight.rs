//! State of repairs that their tags show as under way, from the jobs in Ganeti's queue.

use serde_json::Value;

use super::{AttendError, LATEST, RECENT, REPAIR, Repairer};
use crate::execute::job::{JobId, JobState, JobStatus};
use htools_model::autorepair::{RepairResult, RepairTag};
use htools_plan::command::cleanup_command;
use htools_plan::graph::StepIdx;
use htools_plan::opcode::Opcode;

/// State of a repair that its tag shows as under way.
pub(super) enum RepairSight {
    UnderWay,
    NeverBegun,
    Over {
        result: RepairResult,
        jobs: Vec<JobId>,
        /// Message of the job that failed.
        said: Option<String>,
        /// The opcode that failed during its execution: its job, and its position in it.
        broken: Option<(JobId, usize)>,
    },
}

impl Repairer<'_> {
    /// Finds the state of a repair that its tag shows as under way.
    pub(super) fn look(&mut self, tag: &RepairTag, mended: bool) -> Result<RepairSight, AttendError> {
        let mut jobs = tag.jobs.clone();
        let mut whole = !jobs.is_empty();
        if jobs.is_empty() {
            let run = self.run_of(&tag.id, tag.time);
            let Some(client) = &mut self.client else { return Ok(RepairSight::UnderWay) };
            let JobId(newest) = client.newest()?;
            let found = client.jobs_of(&run, JobId(newest.saturating_sub(RECENT)))?;
            for (id, mark) in found.into_iter().filter(|(_, mark)| mark.step == StepIdx::new(REPAIR)) {
                whole |= mark.part == 0;
                jobs.push(id);
            }
            jobs.sort_unstable();
        }
        if jobs.is_empty() {
            let may_come = self.seconds() < tag.time.saturating_add(LATEST);
            return Ok(if may_come { RepairSight::UnderWay } else { RepairSight::NeverBegun });
        }
        let Some(client) = &mut self.client else { return Ok(RepairSight::UnderWay) };
        let states = client.states(&jobs)?;
        if states.iter().any(|state| state.status.is_some_and(|status| !status.is_final())) {
            return Ok(RepairSight::UnderWay);
        }
        let is_well = |state: &JobState| match state.status {
            Some(status) => status == JobStatus::Success,
            // The job has left the queue, and its result is unknown.
            None => mended,
        };
        let result = if (whole || mended) && states.iter().all(is_well) {
            RepairResult::Success
        } else {
            RepairResult::Failure
        };
        // Jobs after the first that failed were never begun.
        let failed = states.iter().position(|state| state.message.is_some());
        let broken = failed.and_then(|at| Some((jobs[at], states[at].failed_opcode?)));
        let said = states.into_iter().find_map(|state| state.message);
        Ok(RepairSight::Over { result, jobs, said, broken })
    }

    /// The command that cleans up if an opcode of a job, given by its position, is a live migration of the instance.
    pub(super) fn cleanup(&mut self, instance: &str, job: JobId, position: usize) -> Option<String> {
        // Without an answer there is just one hint less.
        let opcode = self.client.as_mut()?.opcode(job, position).ok()?;
        // Repairs allow a failover only for instances that do not run.
        if opcode.get("OP_ID")? != "OP_INSTANCE_MIGRATE" || opcode.get("allow_failover")? != false {
            return None;
        }
        let target_node = opcode.get("target_node").and_then(Value::as_str).map(str::to_owned);
        let command = cleanup_command(&Opcode::migrate(instance, target_node)).ok()??;
        Some(command.to_string())
    }
}
