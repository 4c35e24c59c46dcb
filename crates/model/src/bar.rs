//! Reasons that bar an instance from a place, shared by every search for places.

use super::failure::FailKind;
use super::placement::Rule;
use super::policy::PolicyBreach;

/// Reason that an instance cannot go to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
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

impl Bar {
    /// The kind of refusal under which it is counted.
    pub fn kind(self) -> FailKind {
        match self {
            Bar::Policy(breach) => breach.kind(),
            Bar::Primary(rule) | Bar::Secondary(rule) => rule.kind(),
            Bar::Expendability | Bar::Offline | Bar::Lost => FailKind::N1,
        }
    }
}
