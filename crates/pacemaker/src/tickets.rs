//! Tickets: rights of a cluster to run resources, which only one of several clusters has at a time.

use std::collections::BTreeMap;

use htools_model::words;

use super::index::ResourceIdx;
use super::promotion::Role;
use super::resource::Resource;

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

/// Effect of a ticket constraint on a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketEffect {
    /// None.
    Nothing,
    /// It runs nowhere.
    Forbidden,
    /// It runs nowhere, and its nodes are fenced.
    Fenced,
    /// It stays as it is, and nothing manages it.
    Kept,
}

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
    /// The role in which the resource needs it (`rsc-role`); `None` if it needs it to run. `Unpromoted` stands for
    /// `Stopped`, too: by `freeze` and `fence`, all that runs goes on.
    pub role: Option<Role>,
    /// Reaction if the ticket is not granted. In a cluster without fencing, `fence` is read as `stop`.
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

    /// Effect of a rule on a primitive that it is about, apart from its promotion.
    pub(super) fn effect(&self, rule: &TicketRule, part: &Resource) -> TicketEffect {
        let state = self.state(rule);
        if state.allows() {
            return TicketEffect::Nothing;
        }
        // In standby, the ticket is given up in an orderly way.
        let is_lost = !state.granted;
        let is_concerned = match rule.role {
            Some(Role::Promoted) => part.promoted,
            Some(Role::Unpromoted) | None => part.active.is_some(),
        };
        match (rule.role, rule.policy) {
            (_, LossPolicy::Stop) => TicketEffect::Forbidden,
            (Some(Role::Unpromoted), LossPolicy::Freeze | LossPolicy::Fence) if is_lost && is_concerned => {
                TicketEffect::Nothing
            }
            (Some(Role::Unpromoted), _) => TicketEffect::Forbidden,
            (_, LossPolicy::Freeze) if is_lost && is_concerned => TicketEffect::Kept,
            (_, LossPolicy::Fence) if is_lost && is_concerned => TicketEffect::Fenced,
            // It concerns promotions alone.
            (Some(Role::Promoted), _) => TicketEffect::Nothing,
            (None, _) => TicketEffect::Forbidden,
        }
    }
}
