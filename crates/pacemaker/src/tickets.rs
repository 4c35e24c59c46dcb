//! Tickets: rights of a cluster to run resources, which only one of several clusters has at a time.

use std::collections::BTreeMap;

use htools_model::words;

use super::additions::{AdditionLog, ScoreSource};
use super::index::ResourceIdx;
use super::score::AllocationScore;
use super::working_set::WorkingSet;

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
}

impl TicketRule {
    /// Returns true if the rule keeps a running resource as it is.
    fn keeps(&self, state: TicketState) -> bool {
        !state.granted && self.policy == LossPolicy::Freeze
    }

    /// Returns true if the rule has nodes fenced.
    pub(super) fn fences(&self, state: TicketState) -> bool {
        !state.granted && self.policy == LossPolicy::Fence
    }
}

impl WorkingSet {
    /// The first ticket constraint that leaves a running resource as it is, if there is one.
    pub fn kept_by(&self, resource: ResourceIdx) -> Option<&TicketRule> {
        let is_about = |rule: &&TicketRule| self.primitives(&rule.resource).contains(&resource);
        let keeps = |rule: &&TicketRule| rule.keeps(self.tickets.state(rule));
        let kept = self.resource(resource).kept_by_ticket;
        self.tickets.rules.iter().filter(keeps).find(is_about).filter(|_| kept)
    }

    /// The constraints whose tickets are missing, with their positions.
    fn missing_tickets(&self) -> Vec<(usize, TicketRule)> {
        let is_missing = |(_, rule): &(usize, &TicketRule)| !self.tickets.state(rule).allows();
        let rules = self.tickets.rules.iter().enumerate().filter(is_missing);
        rules.map(|(at, rule)| (at, rule.clone())).collect()
    }

    /// Marks the running resources that stay as they are, as a ticket with the policy `freeze` is not granted.
    pub(super) fn mark_kept_by_tickets(&mut self) {
        self.resources.iter_mut().for_each(|resource| resource.kept_by_ticket = false);
        for (_, rule) in self.missing_tickets() {
            for part in self.primitives(&rule.resource).into_owned() {
                let keeps = rule.keeps(self.tickets.state(&rule)) && self.resource(part).active.is_some();
                self.resources[part.get()].kept_by_ticket |= keeps;
            }
        }
    }

    /// Forbids resources all hosts for which a ticket is missing, unless it keeps them as they are.
    pub(super) fn forbid_by_tickets(&mut self, log: &mut AdditionLog) {
        let hosts = self.host_indices();
        for (at, rule) in self.missing_tickets() {
            let spares_running = rule.keeps(self.tickets.state(&rule));
            for part in self.primitives(&rule.resource).into_owned() {
                let details = &mut self.resources[part.get()];
                if spares_running && details.kept_by_ticket {
                    continue;
                }
                for host in hosts.clone() {
                    details.scores.add_or_set(host, AllocationScore::MINUS_INFINITY);
                    log.note_one(part, ScoreSource::Ticket(at), host, AllocationScore::MINUS_INFINITY);
                }
            }
        }
    }
}
