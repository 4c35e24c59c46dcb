//! Tickets: rights of a cluster to run resources, which only one of several clusters has at a time.

use std::collections::BTreeMap;

use htools_model::words;

use super::index::ResourceIdx;

words!(
    /// The `loss-policy` of a ticket constraint: reaction to a ticket that is not granted.
    pub LossPolicy, "loss policy" {
        /// The resource stops.
        Stop = "stop",
        /// The resource is demoted. One without roles stops.
        Demote = "demote",
        /// The nodes that run the resource are fenced.
        Fence = "fence",
        /// The resource stays as it is.
        Freeze = "freeze",
    }
);

/// State of a ticket in this cluster. A ticket that the cluster does not know is not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TicketState {
    /// The cluster has the ticket.
    pub granted: bool,
    /// The ticket is given up in an orderly way: resources stop, whatever their loss policy.
    pub standby: bool,
}

impl TicketState {
    /// Returns true if resources may run by this ticket.
    pub fn allows(self) -> bool {
        self.granted && !self.standby
    }
}

/// A ticket constraint: a resource runs only while the cluster has a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRule {
    /// The constraint.
    pub id: String,
    /// Name of the ticket.
    pub ticket: String,
    /// The resource that needs it.
    pub resource: ResourceIdx,
    /// Reaction if the ticket is not granted.
    pub policy: LossPolicy,
}

/// Tickets of a cluster, and the constraints that need them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tickets {
    /// The tickets that the status section knows, by name.
    pub states: BTreeMap<String, TicketState>,
    /// The constraints, in the order of the document.
    pub rules: Vec<TicketRule>,
}

impl Tickets {
    /// The state of the ticket that a constraint needs.
    pub fn state(&self, rule: &TicketRule) -> TicketState {
        self.states.get(&rule.ticket).copied().unwrap_or_default()
    }

    /// Returns true if a rule keeps a running resource as it is.
    pub(super) fn keeps(&self, rule: &TicketRule) -> bool {
        !self.state(rule).granted && rule.policy == LossPolicy::Freeze
    }

    /// Returns true if a rule has nodes fenced.
    pub(super) fn fences(&self, rule: &TicketRule) -> bool {
        !self.state(rule).granted && rule.policy == LossPolicy::Fence
    }
}
