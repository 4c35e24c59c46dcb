//! Effects of missing tickets on the scores of resources.

use super::additions::{AdditionLog, ScoreSource};
use super::index::ResourceIdx;
use super::score::AllocationScore;
use super::tickets::TicketRule;
use super::working_set::WorkingSet;

impl WorkingSet {
    /// The first ticket constraint that leaves a running resource as it is, if there is one.
    pub fn kept_by(&self, resource: ResourceIdx) -> Option<&TicketRule> {
        let is_about = |rule: &&TicketRule| self.primitives(&rule.resource).contains(&resource);
        let keeps = |rule: &&TicketRule| self.tickets.keeps(rule);
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
            let keeps = self.tickets.keeps(&rule);
            for part in self.primitives(&rule.resource).into_owned() {
                let details = &mut self.resources[part.get()];
                details.kept_by_ticket |= keeps && details.active.is_some();
            }
        }
    }

    /// Forbids resources all hosts for which a ticket is missing, unless it keeps them as they are.
    pub(super) fn forbid_by_tickets(&mut self, log: &mut AdditionLog) {
        let hosts = self.host_indices();
        for (at, rule) in self.missing_tickets() {
            let spares_running = self.tickets.keeps(&rule);
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
