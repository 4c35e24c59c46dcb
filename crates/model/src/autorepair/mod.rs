//! Automatic repairs as tags tell of them: who permits which, what is under way, and what came of those before.
//!
//! Ganeti's watcher and harep share these tags. Permissions and suspensions stand on the cluster, a group or an instance; what
//! is under way or over, on the instance. Where they stand is the only memory that a repair has.

mod disk_fault;
mod history;
mod permission;
mod repair_step;
mod visit;

use std::fmt;
use std::str::FromStr;

pub use self::disk_fault::{DiskFault, DiskSight};
pub use self::history::{Contradiction, RepairHistory, RepairState};
pub use self::permission::{RepairPermission, permission};
pub use self::repair_step::{DiskSide, RepairNote, RepairStep};
pub use self::visit::{Attended, Visit};
use super::JobId;
use super::known_tags::AUTOREPAIR;
use crate::words;

words!(
    /// What a repair does. A permission for one is a permission for those before it.
    pub RepairKind, "type of repair" {
        /// A copy of the disks is made anew.
        FixStorage = "fix-storage",
        /// The instance moves while it runs.
        Migrate = "migrate",
        /// The instance is started on its other node.
        Failover = "failover",
        /// Disks are made anew, and the operating system is installed: what was on them is lost.
        Reinstall = "reinstall",
    }
);

words!(
    /// What came of a repair; of several tags of one repair the last in this order counts.
    pub RepairResult, "result of a repair" {
        /// It was not begun, as nobody permits it.
        NoPermission = "enoperm",
        /// All jobs have succeeded.
        Success = "success",
        /// A job has failed. Nothing is repaired until an administrator removes the tag.
        Failure = "failure",
    }
);

/// A tag of an instance that tells of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairTag {
    /// What is done.
    pub kind: RepairKind,
    /// What all tags of the repair have in common.
    pub id: String,
    /// When the tag was written, in seconds since 1970.
    pub time: i64,
    /// What came of it; nothing while it is under way.
    pub result: Option<RepairResult>,
    /// The jobs that carry it out.
    pub jobs: Vec<JobId>,
}

/// As it stands on the instance.
impl fmt::Display for RepairTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RepairTag { kind, id, time, result, jobs } = self;
        let jobs: Vec<String> = jobs.iter().map(JobId::to_string).collect();
        let jobs = jobs.join("+");
        match result {
            None => write!(f, "{AUTOREPAIR}pending:{kind}:{id}:{time}:{jobs}"),
            Some(result) => write!(f, "{AUTOREPAIR}result:{kind}:{id}:{time}:{result}:{jobs}"),
        }
    }
}

impl RepairTag {
    /// What all attempts to repair the same thing have in common.
    pub(crate) fn case(&self) -> &str {
        self.counted().0
    }

    /// Which attempt it is, from 1 on.
    pub fn attempt(&self) -> u32 {
        self.counted().1
    }

    /// The ID of the attempt that follows this one.
    pub fn next_attempt(&self) -> String {
        let (case, attempt) = self.counted();
        format!("{case}.{}", attempt.saturating_add(1))
    }

    /// A case, and after a full stop which attempt it is; the first one is not counted.
    fn counted(&self) -> (&str, u32) {
        let counted = self.id.rsplit_once('.').and_then(|(case, count)| Some((case, count.parse().ok()?)));
        counted.filter(|(_, attempt)| *attempt > 1).unwrap_or((&self.id, 1))
    }

    /// What a tag tells; nothing if it is about something else, or makes no sense.
    pub(crate) fn parse(tag: &str) -> Option<RepairTag> {
        let fields: Vec<&str> = tag.strip_prefix(AUTOREPAIR)?.split(':').collect();
        let (kind, id, time, result, jobs) = match fields[..] {
            ["pending", kind, id, time, jobs] => (kind, id, time, None, jobs),
            ["result", kind, id, time, result, jobs] => {
                (kind, id, time, Some(RepairResult::from_str(result).ok()?), jobs)
            }
            _ => return None,
        };
        let jobs: Vec<&str> = if jobs.is_empty() { Vec::new() } else { jobs.split('+').collect() };
        let job = |number: &str| number.parse().ok().map(JobId);
        let told = RepairTag {
            kind: kind.parse().ok()?,
            id: id.to_owned(),
            time: time.parse().ok()?,
            result,
            jobs: jobs.into_iter().map(job).collect::<Option<_>>()?,
        };
        // a tag is removed by its text: what nobody writes that way is none of these
        (told.to_string() == tag).then_some(told)
    }
}

#[cfg(test)]
mod tests;
