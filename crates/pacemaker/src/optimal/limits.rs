//! Limits of a search.

use htools_model::deadline::Deadline;

/// Limits of a search for the best placement.
#[derive(Debug, Clone)]
pub struct PlacingLimits {
    /// Greatest number of changes that are tried. The answer depends on this number, not on the machine.
    pub steps: u64,
    /// Greatest number of running resources that leave a host on which they could stay.
    pub moves: Option<usize>,
    /// Time at which the search ends in any case.
    pub deadline: Deadline,
}

impl PlacingLimits {
    /// The same limits with the steps divided by `part`.
    pub(super) fn part(&self, part: u64) -> PlacingLimits {
        PlacingLimits { steps: self.steps / part, ..self.clone() }
    }

    /// Returns true if the search must end.
    pub(super) fn reached(&self, steps: u64) -> bool {
        steps >= self.steps || self.deadline.reached().is_some()
    }

    /// Returns true if this number of moves is allowed.
    pub(super) fn allow(&self, moves: usize) -> bool {
        self.moves.is_none_or(|most| moves <= most)
    }
}
