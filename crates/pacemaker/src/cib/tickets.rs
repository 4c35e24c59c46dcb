//! Reads tickets: their state, and the constraints that need them.

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::is_true;
use super::super::promotion::Role;
use super::super::tickets::{LossPolicy, TicketEffect, TicketRule};
use super::super::working_set::Unsupported;
use super::Reader;
use super::document::{child, children, id, required, wrong};
use super::roles;
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
        let policy = constraint.attribute("loss-policy").map(|word| {
            let known = word.to_ascii_lowercase().parse::<LossPolicy>();
            known.map_err(|_| wrong(self.source, constraint, &format!("'{word}' is no loss-policy")))
        });
        let policy = policy.transpose()?;
        let fencing = self.set.fencing;
        let rule = |resource: ResourceIdx, role: Option<Role>| TicketRule {
            id: id(constraint).to_owned(),
            ticket: ticket.to_owned(),
            resource,
            role,
            policy: match policy {
                Some(LossPolicy::Fence) if !fencing => LossPolicy::Stop,
                Some(policy) => policy,
                None if role == Some(Role::Promoted) => LossPolicy::Demote,
                None => LossPolicy::Stop,
            },
        };
        let sets: Vec<Node<'a, 'i>> = children(constraint, "resource_set").collect();
        if sets.is_empty() {
            let name = required(self.source, constraint, "rsc")?;
            let role = role(constraint, "rsc-role").unwrap_or_default();
            let named = self.named(constraint, name)?.all;
            self.set.tickets.rules.extend(named.into_iter().map(|resource| rule(resource, role)));
        }
        for set in sets {
            let role = role(set, "role").unwrap_or_default();
            let members = self.members_of_set(constraint, set)?;
            self.set.tickets.rules.extend(members.into_iter().map(|resource| rule(resource, role)));
        }
        Ok(())
    }

    /// Marks the hosts for fencing that run resources whose ticket was lost. It does not matter if anyone manages these.
    fn fence_for_tickets(&mut self) {
        let set = &self.set;
        let fenced = set.tickets.rules.iter().flat_map(|rule| {
            let parts = set.primitives(&rule.resource).into_owned().into_iter();
            let parts = parts.map(move |part| set.resource(part));
            let fenced = parts.filter(move |part| set.tickets.effect(rule, part) == TicketEffect::Fenced);
            fenced.flat_map(|part| part.active_hosts().map(|host| (rule.id.clone(), host)))
        });
        for (id, host) in fenced.collect::<Vec<(String, HostIdx)>>() {
            if self.set.host(host).guest.is_some() {
                let reason = "a ticket that fences a guest node";
                self.set.unsupported.push(Unsupported::new("rsc_ticket", &id, reason));
            }
            self.set.hosts[host.get()].state.unclean = true;
        }
    }
}

/// A word that is no role.
struct UnknownRole;

/// The role that an attribute of a ticket constraint names; `None` for any. `Stopped` counts as `Unpromoted`.
fn role(node: Node<'_, '_>, name: &str) -> std::result::Result<Option<Role>, UnknownRole> {
    match node.attribute(name) {
        None | Some("Started") => Ok(None),
        Some(word) if roles::is_promoted(word) => Ok(Some(Role::Promoted)),
        Some(word) if word == "Stopped" || roles::is_unpromoted(word) => Ok(Some(Role::Unpromoted)),
        Some(_) => Err(UnknownRole),
    }
}

/// Reason why a ticket constraint is not supported, if any.
fn unsupported_reason(constraint: Node<'_, '_>) -> Option<&'static str> {
    const UNKNOWN: &str = "a ticket for an unknown role";
    if role(constraint, "rsc-role").is_err() {
        return Some(UNKNOWN);
    }
    children(constraint, "resource_set").find_map(|set| match role(set, "role") {
        Err(UnknownRole) => Some(UNKNOWN),
        Ok(_) => set.has_attribute("id-ref").then_some("a set by reference (id-ref)"),
    })
}
