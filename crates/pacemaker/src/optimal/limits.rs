//! How far a search may go.

use htools_model::deadline::Deadline;

/// How far a search for the best placement may go.
#[derive(Debug, Clone)]
pub struct PlacingLimits {
    /// How many changes are tried at most. The answer hangs on this number, not on the machine.
    pub steps: u64,
    /// The most running resources that may leave a host on which they could stay.
    pub moves: Option<usize>,
    /// When the search ends all the same.
    pub deadline: Deadline,
}

impl PlacingLimits {
    /// The same with a part of the steps.
    pub(super) fn part(&self, part: u64) -> PlacingLimits {
        PlacingLimits { steps: self.steps / part, ..self.clone() }
    }

    /// Whether no more is to be tried.
    pub(super) fn reached(&self, steps: u64) -> bool {
        steps >= self.steps || self.deadline.reached().is_some()
    }

    /// Whether so many moves are allowed.
    pub(super) fn allow(&self, moves: usize) -> bool {
        self.moves.is_none_or(|most| moves <= most)
    }
}
