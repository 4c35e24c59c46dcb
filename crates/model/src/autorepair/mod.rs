//! Automatic repairs as instance tags record them: permissions, repairs under way, and results.
//!
//! Ganeti's watcher and harep share these tags. Permissions and suspensions are set on the cluster, a group or an
//! instance. Repairs, under way or ended, are recorded on the instance. The tags are the only memory that a repair has.

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
pub use self::visit::{Visit, VisitOutcome};
use super::JobId;
use super::known_tags::AUTOREPAIR;
use crate::words;

words!(
    /// Kind of repair, the mildest first. Permitting one permits those before it.
    pub RepairKind, "type of repair" {
        /// Rebuild a lost copy of the disks.
        FixStorage = "fix-storage",
        /// Live-migrate the instance.
        Migrate = "migrate",
        /// Start the instance on its secondary node.
        Failover = "failover",
        /// Recreate the disks and reinstall the operating system: the data is lost.
        Reinstall = "reinstall",
    }
);

words!(
    /// Result of a repair. If a repair has several result tags, the last in this order counts.
    pub RepairResult, "result of a repair" {
        /// Not begun, because it is not permitted.
        NoPermission = "enoperm",
        /// All jobs have succeeded.
        Success = "success",
        /// A job has failed. Nothing is repaired until an administrator removes the tag.
        Failure = "failure",
    }
);

/// A tag of an instance that records a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairTag {
    /// Kind of repair.
    pub kind: RepairKind,
    /// ID shared by all tags of this attempt.
    pub id: String,
    /// Time at which the tag was written, in seconds since 1970.
    pub time: i64,
    /// Result; `None` while the repair is under way.
    pub result: Option<RepairResult>,
    /// Jobs that carry it out.
    pub jobs: Vec<JobId>,
}

/// The text of the tag, as it is set on the instance.
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
    /// The part of the ID that all attempts to repair the same fault share.
    pub(crate) fn case(&self) -> &str {
        self.counted().0
    }

    /// Number of the attempt, from 1 on.
    pub fn attempt(&self) -> u32 {
        self.counted().1
    }

    /// The ID of the attempt that follows this one.
    pub fn next_attempt(&self) -> String {
        let (case, attempt) = self.counted();
        format!("{case}.{}", attempt.saturating_add(1))
    }

    /// The ID without the number of the attempt, and that number. The first attempt has none in its ID.
    fn counted(&self) -> (&str, u32) {
        let counted = self.id.rsplit_once('.').and_then(|(case, count)| Some((case, count.parse().ok()?)));
        counted.filter(|(_, attempt)| *attempt > 1).unwrap_or((&self.id, 1))
    }

    /// Parses a tag; `None` if it is not a valid repair tag.
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
        // A tag is removed by its exact text, so only text in the canonical form is accepted.
        (told.to_string() == tag).then_some(told)
    }
}

#[cfg(test)]
mod tests;
