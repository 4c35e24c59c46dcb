//! Effects of missing tickets on the scores and roles of resources.

use super::additions::{AdditionLog, ScoreSource};
use super::index::ResourceIdx;
use super::promotion::Role;
use super::score::AllocationScore;
use super::tickets::{TicketEffect, TicketRule};
use super::working_set::WorkingSet;

impl WorkingSet {
    /// The first ticket constraint that leaves a running resource as it is, if there is one.
    pub fn kept_by(&self, resource: ResourceIdx) -> Option<&TicketRule> {
        let details = self.resource(resource);
        let is_about = |rule: &&TicketRule| self.primitives(&rule.resource).contains(&resource);
        let keeps = |rule: &&TicketRule| self.tickets.effect(rule, details) == TicketEffect::Kept;
        self.tickets.rules.iter().filter(keeps).find(is_about).filter(|_| details.kept_by_ticket)
    }

    /// The constraints whose tickets are missing, with their positions.
    fn missing_tickets(&self) -> Vec<(usize, TicketRule)> {
        let is_missing = |(_, rule): &(usize, &TicketRule)| !self.tickets.state(rule).allows();
        let rules = self.tickets.rules.iter().enumerate().filter(is_missing);
        rules.map(|(at, rule)| (at, rule.clone())).collect()
    }

    /// Positions of the constraints that keep instances of a clone from being promoted, as a ticket is missing.
    pub(super) fn promotion_tickets(&self, clone: ResourceIdx) -> Vec<usize> {
        let concerns = |(_, rule): &(usize, &TicketRule)| {
            rule.resource == clone && rule.role == Some(Role::Promoted) && !self.tickets.state(rule).allows()
        };
        self.tickets.rules.iter().enumerate().filter(concerns).map(|(at, _)| at).collect()
    }

    /// Marks the running resources that stay as they are, as a ticket with the policy `freeze` is not granted.
    pub(super) fn mark_kept_by_tickets(&mut self) {
        self.resources.iter_mut().for_each(|resource| resource.kept_by_ticket = false);
        for (_, rule) in self.missing_tickets() {
            for part in self.primitives(&rule.resource).into_owned() {
                let keeps = self.tickets.effect(&rule, self.resource(part)) == TicketEffect::Kept;
                self.resources[part.get()].kept_by_ticket |= keeps;
            }
        }
    }

    /// Forbids resources all hosts for which a ticket is missing, unless it leaves them as they are.
    pub(super) fn forbid_by_tickets(&mut self, log: &mut AdditionLog) {
        let hosts = self.host_indices();
        for (at, rule) in self.missing_tickets() {
            for part in self.primitives(&rule.resource).into_owned() {
                let effect = self.tickets.effect(&rule, self.resource(part));
                if !matches!(effect, TicketEffect::Forbidden | TicketEffect::Fenced) {
                    continue;
                }
                let details = &mut self.resources[part.get()];
                for host in hosts.clone() {
                    details.scores.add_or_set(host, AllocationScore::MINUS_INFINITY);
                    log.note_one(part, ScoreSource::Ticket(at), host, AllocationScore::MINUS_INFINITY);
                }
            }
        }
    }
}
