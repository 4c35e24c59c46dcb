//! Obstacles that keep an instance from a place, shared by every search for places.

use super::failure::FailKind;
use super::placement::Rule;
use super::policy::PolicyBreach;

/// Reason that an instance cannot go to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It breaks the instance policy of the group.
    Policy(PolicyBreach),
    /// The primary node would break a rule.
    Primary(Rule),
    /// The secondary node would break a rule.
    Secondary(Rule),
    /// A node could no longer be emptied afterwards (global N+1).
    Expendability,
    /// The node is offline or drained.
    Offline,
    /// The node is itself lost.
    Lost,
}

impl Obstacle {
    /// The kind of refusal under which it is counted.
    pub fn kind(self) -> FailKind {
        match self {
            Obstacle::Policy(breach) => breach.kind(),
            Obstacle::Primary(rule) | Obstacle::Secondary(rule) => rule.kind(),
            Obstacle::Expendability | Obstacle::Offline | Obstacle::Lost => FailKind::N1,
        }
    }
}
