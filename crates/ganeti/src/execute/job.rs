//! Jobs as Ganeti takes them, and Ganeti's answers about them.

use serde::{Deserialize, Serialize};

pub use htools_model::JobId;
use htools_model::words;
use htools_plan::graph::StepIdx;
use htools_plan::opcode::Opcode;

words!(
    /// State of a job.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub JobStatus, "status of a job" {
        /// Not begun.
        Queued = "queued",
        /// Waiting for locks.
        Waiting = "waiting",
        /// Being cancelled.
        Canceling = "canceling",
        /// Under way, or between two of its opcodes.
        Running = "running",
        /// Ended without having been carried out.
        Canceled = "canceled",
        /// Ended well.
        Success = "success",
        /// Ended with an error.
        Error = "error",
    }
);

impl JobStatus {
    /// Tells if the status can no longer change.
    pub fn is_final(self) -> bool {
        matches!(self, JobStatus::Canceled | JobStatus::Success | JobStatus::Error)
    }
}

/// Ganeti's answer about a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobState {
    /// Its status; `None` if Ganeti does not know the job, or no longer.
    pub status: Option<JobStatus>,
    /// Message of the opcode that failed.
    pub message: Option<String>,
    /// Position of the opcode that failed; `None` if it failed before it had changed anything.
    pub failed_opcode: Option<usize>,
    /// True if it failed before it had changed anything, for a temporary reason: locks held by other jobs, or a
    /// shortage of resources.
    pub is_passing: bool,
}

/// A job that is watched, with its last known status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedJob {
    /// Its number.
    pub id: JobId,
    /// Its last known status.
    pub status: JobStatus,
}

/// Mark of a job: its run, step and part. It is in the comments of the job's opcodes, so that the job can be found
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobMark {
    /// The step.
    pub step: StepIdx,
    /// Position of the job among those of the step.
    pub part: usize,
}

/// Data that all jobs of a run share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// The tool that made the plan.
    pub tool: String,
    /// Time at which the run began, in nanoseconds since 1970. It also identifies the run.
    pub began: u64,
    /// Beginning of the comments of the opcodes.
    pub comment: String,
    /// Reason, as free text in Ganeti's trail of reasons.
    pub reason: String,
    /// Priority: -10 (high), 0 or 10 (low).
    pub priority: i8,
}

impl RunInfo {
    /// The comment of a job's opcodes.
    pub fn comment(&self, mark: JobMark) -> String {
        format!("{}; run {}, step {}.{}", self.comment, self.began, mark.step, mark.part + 1)
    }

    /// The comment of a dry run, which is not a step of the run.
    pub(crate) fn trial_comment(&self) -> String {
        format!("{}; run {}, trial", self.comment, self.began)
    }

    /// The mark in a comment of this run.
    pub fn mark(&self, comment: &str) -> Option<JobMark> {
        let (_, mark) = comment.rsplit_once("; run ")?;
        let (run, mark) = mark.split_once(", step ")?;
        let (step, part) = mark.split_once('.')?;
        let position = |number: &str| number.parse::<usize>().ok()?.checked_sub(1);
        let mark = JobMark { step: StepIdx::new(position(step)?), part: position(part)? };
        // Accept exactly what this program writes.
        (run == self.began.to_string() && comment == self.comment(mark)).then_some(mark)
    }
}

/// A job to submit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job<'a> {
    /// Its opcodes.
    pub opcodes: &'a [Opcode],
    /// Its mark.
    pub mark: JobMark,
    /// The job that must succeed before it begins.
    pub depends: Option<JobId>,
}

/// An opcode with Ganeti's common fields. They are written in the order of the fields here.
#[derive(Debug, Serialize)]
pub(crate) struct SubmittedOpcode<'a> {
    priority: i8,
    depends: Option<[(JobId, [&'static str; 1]); 1]>,
    comment: String,
    reason: [(&'a str, &'a str, u64); 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    #[serde(flatten)]
    opcode: &'a Opcode,
}

impl<'a> SubmittedOpcode<'a> {
    /// The opcodes of a job of this run.
    pub(crate) fn of(run: &'a RunInfo, job: &Job<'a>) -> Vec<SubmittedOpcode<'a>> {
        let opcode = |opcode| SubmittedOpcode {
            priority: run.priority,
            depends: job.depends.map(dependency),
            comment: run.comment(job.mark),
            reason: [(&run.tool, &run.reason, run.began)],
            dry_run: None,
            opcode,
        };
        job.opcodes.iter().map(opcode).collect()
    }

    /// An opcode for a dry run.
    pub(crate) fn trial(run: &'a RunInfo, opcode: &'a Opcode) -> SubmittedOpcode<'a> {
        SubmittedOpcode {
            priority: run.priority,
            depends: None,
            comment: run.trial_comment(),
            reason: [(&run.tool, &run.reason, run.began)],
            dry_run: Some(true),
            opcode,
        }
    }
}

/// A dependency on the success of another job, in Ganeti's format.
pub(crate) fn dependency(id: JobId) -> [(JobId, [&'static str; 1]); 1] {
    [(id, ["success"])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunInfo {
        RunInfo {
            tool: "hbal".into(),
            began: 1795249597770975000,
            comment: "rebalancing via hbal (htools) version 1".into(),
            reason: "hbal (htools) version 1 called".into(),
            priority: -10,
        }
    }

    #[test]
    fn opcodes_are_written_as_ganeti_takes_them() {
        let opcodes = [Opcode::Failover {
            instance_name: "i".into(),
            shutdown_timeout: 120,
            ignore_consistency: false,
            target_node: None,
            ignore_ipolicy: false,
            cleanup: false,
        }];
        let job = Job { opcodes: &opcodes, mark: JobMark { step: StepIdx::new(6), part: 0 }, depends: None };
        assert_eq!(
            serde_json::to_string(&SubmittedOpcode::of(&run(), &job)).unwrap(),
            concat!(
                r#"[{"priority":-10,"depends":null,"#,
                r#""comment":"rebalancing via hbal (htools) version 1; run 1795249597770975000, step 7.1","#,
                r#""reason":[["hbal","hbal (htools) version 1 called",1795249597770975000]],"#,
                r#""OP_ID":"OP_INSTANCE_FAILOVER","instance_name":"i","shutdown_timeout":120,"#,
                r#""ignore_consistency":false,"ignore_ipolicy":false,"cleanup":false}]"#
            )
        );
        let job = Job { depends: Some(JobId(17)), ..job };
        let text = serde_json::to_string(&SubmittedOpcode::of(&run(), &job)).unwrap();
        assert!(text.contains(r#""depends":[[17,["success"]]]"#), "{text}");
    }

    #[test]
    fn marks_are_found_again_in_comments_of_the_same_run_only() {
        let run = run();
        let mark = JobMark { step: StepIdx::new(12), part: 2 };
        assert_eq!(run.mark(&run.comment(mark)), Some(mark));
        let other = RunInfo { began: 17, ..run.clone() };
        for comment in [
            &other.comment(mark),
            "",
            "hello",
            "; run 1795249597770975000, step 1.1",
            &run.comment(mark).replace("13.3", "0.1"),
            &run.comment(mark).replace("13.3", "013.3"),
            &run.comment(mark).replace("13.3", "13"),
            &format!("{} ", run.comment(mark)),
        ] {
            assert_eq!(run.mark(comment), None, "{comment}");
        }
    }

    #[test]
    fn every_status_has_its_word() {
        for word in ["queued", "waiting", "canceling", "running", "canceled", "success", "error"] {
            assert_eq!(word.parse::<JobStatus>().unwrap().as_str(), word);
        }
        assert!("Success".parse::<JobStatus>().is_err());
    }
}
