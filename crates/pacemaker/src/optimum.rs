//! What is known of a best placement: its stages, and how far it is proved.

use super::index::ResourceIdx;
use super::score::AllocationScore;
use htools_model::deadline::Stopped;
use htools_model::words;

words!(
    /// What decides between placements that are equal in all that counts more.
    pub ThenGoal, "last goal" {
        /// That all hosts are equally full.
        Balanced = "balanced",
        /// That few hosts are used.
        Minimal = "minimal",
    }
);

words!(
    /// What placements are compared by, what counts most first.
    pub PlacingStage, "stage" {
        /// How many run of each priority.
        Placed = "placed",
        /// The sum of scores.
        Scores = "scores",
        /// How many running resources are stopped, restarted, or moved.
        Disruption = "disruption",
        /// How even the use of hosts is, or how many are used.
        Then = "then",
        /// The names of the hosts.
        Names = "names",
    }
);

/// How many primitives of a priority the best placement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityCount {
    /// The priority.
    pub priority: AllocationScore,
    /// How many should run.
    pub wanted: usize,
    /// How many have a place.
    pub placed: usize,
    /// No placement that runs as many of each higher priority runs more than this.
    pub bound: usize,
}

/// What is known of the best placement that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Optimum {
    /// What decides last.
    pub then: ThenGoal,
    /// How many run, by priority, highest first.
    pub counts: Vec<PriorityCount>,
    /// The sum of what those that were placed are worth where they are.
    pub score: i64,
    /// The last stage up to which no placement is better; none, if one could run more.
    pub proved: Option<PlacingStage>,
    /// How much was tried.
    pub steps: u64,
    /// What ended the search, if it did not come to its own end.
    pub stopped: Option<Stopped>,
    /// The primitives that Pacemaker would put elsewhere although a location constraint for each one that is placed
    /// named its host with the score INFINITY.
    pub not_followed: Vec<ResourceIdx>,
}

impl Optimum {
    /// Whether no placement is better in anything that counts but names.
    pub fn is_proved(&self) -> bool {
        self.proved >= Some(PlacingStage::Then)
    }
}
