//! Facts about a best placement: its stages, and how far it is proved.

use super::index::ResourceIdx;
use super::score::AllocationScore;
use htools_model::deadline::Stopped;
use htools_model::words;

words!(
    /// Last goal: decides between placements that are equal in everything more important.
    pub ThenGoal, "last goal" {
        /// All hosts are equally full.
        Balanced = "balanced",
        /// Few hosts are used.
        Minimal = "minimal",
    }
);

words!(
    /// Stages in which placements are compared, the most important first.
    pub PlacingStage, "stage" {
        /// Number of placed primitives of each priority.
        Placed = "placed",
        /// The sum of scores.
        Scores = "scores",
        /// Number of running resources that are stopped, restarted or moved.
        Disruption = "disruption",
        /// Evenness of the use of hosts, or number of used hosts.
        Then = "then",
        /// The names of the hosts.
        Names = "names",
    }
);

/// Number of primitives of a priority that the best placement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityCount {
    /// The priority.
    pub priority: AllocationScore,
    /// Number that should run.
    pub wanted: usize,
    /// Number that have a place.
    pub placed: usize,
    /// Upper bound: no placement that runs as many of each higher priority runs more.
    pub bound: usize,
}

/// Facts about the best placement that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Optimum {
    /// The last goal.
    pub then: ThenGoal,
    /// Numbers of placed primitives by priority, highest first.
    pub counts: Vec<PriorityCount>,
    /// Sum of the scores of placed primitives on their hosts.
    pub score: i64,
    /// The last stage up to which no placement is better; `None` if one could run more.
    pub proved: Option<PlacingStage>,
    /// Number of changes tried.
    pub steps: u64,
    /// Reason for an early end of the search.
    pub stopped: Option<Stopped>,
    /// The primitives that Pacemaker would place elsewhere, even if each placed primitive had a location constraint
    /// with the score INFINITY for its host.
    pub not_followed: Vec<ResourceIdx>,
    /// The primitives that stay where Pacemaker places them because of guest nodes, remote nodes and bundles.
    pub pinned: Vec<ResourceIdx>,
}

impl Optimum {
    /// Returns true if no placement is better in any stage but names.
    pub fn is_proved(&self) -> bool {
        self.proved >= Some(PlacingStage::Then)
    }
}
