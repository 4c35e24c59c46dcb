//! Reads tickets: their state, and the constraints that need them.

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::is_true;
use super::super::tickets::{LossPolicy, TicketRule};
use super::super::working_set::Unsupported;
use super::Reader;
use super::document::{child, children, id, required, wrong};
use htools_ganeti::input::error::Result;

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads the state of all tickets and the constraints about them, and marks the hosts that are fenced for them.
    pub(super) fn read_tickets(&mut self) -> Result<()> {
        self.read_ticket_states();
        let Some(section) = self.section("constraints") else { return Ok(()) };
        for constraint in children(section, "rsc_ticket") {
            if let Some(reason) = unsupported_reason(constraint) {
                self.report_unsupported(constraint, reason);
                continue;
            }
            self.read_ticket_rule(constraint)?;
        }
        self.fence_for_tickets();
        Ok(())
    }

    /// Reads the states. Of several elements for a ticket, the later ones add to the earlier.
    fn read_ticket_states(&mut self) {
        let status = child(self.root, "status");
        let lists = status.into_iter().flat_map(|status| children(status, "tickets"));
        for element in lists.flat_map(|list| children(list, "ticket_state")) {
            let state = self.set.tickets.states.entry(id(element).to_owned()).or_default();
            let flag = |name| element.attribute(name).map(is_true);
            state.granted = flag("granted").unwrap_or(state.granted);
            state.standby = flag("standby").unwrap_or(state.standby);
        }
    }

    fn read_ticket_rule(&mut self, constraint: Node<'a, 'i>) -> Result<()> {
        let ticket = required(self.source, constraint, "ticket")?;
        let word = constraint.attribute("loss-policy").unwrap_or(LossPolicy::Stop.as_str());
        let Ok(policy) = word.to_ascii_lowercase().parse::<LossPolicy>() else {
            return Err(wrong(self.source, constraint, &format!("'{word}' is no loss-policy")));
        };
        let sets: Vec<Node<'a, 'i>> = children(constraint, "resource_set").collect();
        let mut named: Vec<ResourceIdx> = Vec::new();
        if sets.is_empty() {
            let name = required(self.source, constraint, "rsc")?;
            named.extend(self.named(constraint, name)?.all);
        }
        for set in sets {
            named.extend(self.members_of_set(constraint, set)?);
        }
        // A promotable resource is only demoted by some of these rules.
        if named.iter().any(|resource| self.set.resource(*resource).promotion.is_some()) {
            self.report_unsupported(constraint, "a ticket for a promotable clone");
            return Ok(());
        }
        self.set.tickets.rules.extend(named.into_iter().map(|resource| TicketRule {
            id: id(constraint).to_owned(),
            ticket: ticket.to_owned(),
            resource,
            policy,
        }));
        Ok(())
    }

    /// Marks the hosts for fencing that run resources whose ticket was lost. It does not matter if anyone manages these.
    fn fence_for_tickets(&mut self) {
        let set = &self.set;
        let rules = set.tickets.rules.iter().filter(|rule| set.fencing && set.tickets.fences(rule));
        let fenced = rules.flat_map(|rule| {
            let parts = set.primitives(&rule.resource).into_owned();
            parts
                .into_iter()
                .flat_map(|part| set.resource(part).active_hosts().map(|host| (rule.id.clone(), host)))
        });
        for (id, host) in fenced.collect::<Vec<(String, HostIdx)>>() {
            if self.set.host(host).guest.is_some() {
                let reason = "a ticket that fences a guest node".to_owned();
                self.set.unsupported.push(Unsupported { element: "rsc_ticket".to_owned(), id, reason });
            }
            self.set.hosts[host.get()].state.unclean = true;
        }
    }
}

/// Reason why a ticket constraint is not supported, if any.
fn unsupported_reason(constraint: Node<'_, '_>) -> Option<&'static str> {
    // A role applies only to promotable clones, for which tickets are not supported.
    let role = |node: Node<'_, '_>, name| node.attribute(name).is_some_and(|role| role != "Started");
    if role(constraint, "rsc-role") {
        return Some("a ticket for a role");
    }
    children(constraint, "resource_set").find_map(|set| {
        if role(set, "role") {
            return Some("a ticket for a role");
        }
        set.has_attribute("id-ref").then_some("a set by reference (id-ref)")
    })
}
