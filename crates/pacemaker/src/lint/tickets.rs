//! Tickets that keep resources from running.

use super::super::place::PlacingError;
use super::complaint::{Complaint, LintedCib};
use htools_model::shown::shown_name;

/// A constraint needs a ticket that the status does not know, as nothing ever granted it.
pub(super) fn never_granted(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let states = &cib.set.tickets.states;
    let known: Vec<&str> = states.keys().map(String::as_str).collect();
    let mut complaints = Vec::new();
    for constraint in cib.elements("rsc_ticket") {
        let Some(ticket) = constraint.attribute("ticket").filter(|name| !states.contains_key(*name)) else {
            continue;
        };
        let name = shown_name(ticket);
        let problem =
            format!("nothing ever granted the ticket '{name}': the constraint counts as if it were lost");
        let advice = format!("grant it here or at another site{}", (cib.suggest)(ticket, &known));
        complaints.push(Complaint::about(constraint, problem, advice));
    }
    Ok(complaints)
}
