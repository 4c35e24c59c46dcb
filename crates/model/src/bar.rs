//! What keeps an instance from a place: what every search for places says.

use super::failure::FailKind;
use super::placement::Rule;
use super::policy::PolicyBreach;

/// What keeps an instance from a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// The policy of the group.
    Policy(PolicyBreach),
    /// A rule that the primary node would break.
    Primary(Rule),
    /// A rule that the secondary node would break.
    Secondary(Rule),
    /// A node could not be emptied afterwards (global N+1).
    Expendability,
    /// The node is offline or drained.
    Offline,
    /// The node is lost itself.
    Lost,
}

impl Bar {
    /// The kind under which it is counted.
    pub fn kind(self) -> FailKind {
        match self {
            Bar::Policy(breach) => breach.kind(),
            Bar::Primary(rule) | Bar::Secondary(rule) => rule.kind(),
            Bar::Expendability | Bar::Offline | Bar::Lost => FailKind::N1,
        }
    }
}
