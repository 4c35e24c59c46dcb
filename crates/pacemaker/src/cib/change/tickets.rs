//! Changes of tickets, to examine their consequences.

use super::{at_end, attribute};
use crate::cib::document::{self, child, children};
use htools_ganeti::input::error::Result;

/// Change of the state of a ticket. If several are made, grants come first, as in `crm_simulate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TicketChange {
    /// The cluster gets the ticket.
    Grant,
    /// The cluster loses the ticket.
    Revoke,
    /// The ticket goes to standby.
    Standby,
    /// The ticket leaves standby.
    Activate,
}

impl TicketChange {
    /// The attribute of the ticket that changes.
    fn attribute(self) -> &'static str {
        match self {
            TicketChange::Grant | TicketChange::Revoke => "granted",
            TicketChange::Standby | TicketChange::Activate => "standby",
        }
    }

    fn value(self) -> bool {
        matches!(self, TicketChange::Grant | TicketChange::Standby)
    }
}

/// A ticket that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedTicket {
    /// Name of the ticket.
    pub ticket: String,
    /// Change of its state.
    pub change: TicketChange,
}

impl ChangedTicket {
    /// An element that changes the state when it follows all others about the ticket.
    fn xml(&self) -> String {
        let (id, name) = (attribute(&self.ticket), self.change.attribute());
        format!(r#"<ticket_state id="{id}" {name}="{}"/>"#, self.change.value())
    }
}

/// The document with other states of tickets.
///
/// # Errors
/// Fails if it is no document of a cluster.
pub fn with_tickets(text: &str, source: &str, changed: &[ChangedTicket]) -> Result<String> {
    let mut changed: Vec<&ChangedTicket> = changed.iter().collect();
    changed.sort_by_key(|one| one.change);
    let new: String = changed.iter().map(|one| one.xml()).collect();
    let document = document::parse(text, source)?;
    let root = document.root_element();
    let status = child(root, "status");
    let tickets = status.and_then(|status| children(status, "tickets").last());
    let (range, new) = match (tickets, status) {
        (Some(tickets), _) => at_end(tickets, text, &new),
        (None, Some(status)) => at_end(status, text, &format!("<tickets>{new}</tickets>")),
        (None, None) => at_end(root, text, &format!("<status><tickets>{new}</tickets></status>")),
    };
    Ok([&text[..range.start], &new, &text[range.end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_change_in_any_document() {
        let change = |ticket: &str, change| ChangedTicket { ticket: ticket.to_owned(), change };
        let changes = [change("b\"", TicketChange::Standby), change("a", TicketChange::Grant)];
        let new = r#"<ticket_state id="a" granted="true"/><ticket_state id="b&quot;" standby="true"/>"#;
        for (before, after) in [
            ("", format!("<status><tickets>{new}</tickets></status>")),
            ("<status/>", format!("<status><tickets>{new}</tickets></status>")),
            ("<status><tickets/></status>", format!("<status><tickets>{new}</tickets></status>")),
            (
                r#"<status><tickets><ticket_state id="a"/></tickets></status>"#,
                format!(r#"<status><tickets><ticket_state id="a"/>{new}</tickets></status>"#),
            ),
        ] {
            let made = with_tickets(&format!("<cib>{before}</cib>"), "t", &changes).unwrap();
            assert_eq!(made, format!("<cib>{after}</cib>"));
        }
        assert!(with_tickets("<nodes/>", "t", &changes).is_err());
    }
}
