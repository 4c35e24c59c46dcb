//! Constraints about roles that their resources do not have.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::place::PlacingError;
use super::complaint::{Complaint, LintedCib};
use super::promotables::promotables;
use crate::cib::document::{children, id};
use crate::cib::roles;
use htools_model::shown::shown_name;

/// A constraint, and the role that it gives some resources.
struct NamedRole<'d> {
    constraint: Node<'d, 'd>,
    role: &'d str,
    resources: Vec<&'d str>,
}

/// The roles that a constraint names for resources, or for the resources of its sets.
fn named_roles<'d>(constraint: Node<'d, 'd>) -> Vec<NamedRole<'d>> {
    let side = |name: &str, role: &str| {
        let resources = vec![constraint.attribute(name)?];
        Some(NamedRole { constraint, role: constraint.attribute(role)?, resources })
    };
    let sides = [side("rsc", "rsc-role"), side("with-rsc", "with-rsc-role")];
    let sets = children(constraint, "resource_set").filter_map(|set| {
        let resources = children(set, "resource_ref").map(id).collect();
        Some(NamedRole { constraint, role: set.attribute("role")?, resources })
    });
    sides.into_iter().flatten().chain(sets).collect()
}

/// A colocation or a ticket is about the promoted instances of a resource that is not promotable.
pub(super) fn not_promotable(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    // Parts of promotable clones have roles, too.
    let promotable: HashSet<&str> =
        promotables(cib).iter().flat_map(|clone| clone.descendants()).map(id).collect();
    let forms = ["primitive", "group", "clone"].into_iter().flat_map(|name| cib.elements(name));
    let others: HashSet<&str> = forms.map(id).filter(|name| !promotable.contains(name)).collect();
    let complaint = |named: NamedRole<'_>| {
        let name = named.resources.iter().find(|name| others.contains(*name))?;
        let (name, role) = (shown_name(name), named.role);
        let effect = match named.constraint.tag_name().name() {
            "rsc_ticket" => "the ticket does not keep it from running, unless its loss-policy is stop",
            _ => "Pacemaker ignores some of the constraint",
        };
        let problem = format!("{name} is no promotable clone, and has no role {role}: {effect}");
        let advice = format!("leave the role {role} out, or name a promotable clone");
        Some(Complaint::about(named.constraint, problem, advice))
    };
    let constraints = cib.elements("rsc_colocation").chain(cib.elements("rsc_ticket"));
    let named = constraints.flat_map(named_roles).filter(|named| roles::is_promoted(named.role));
    Ok(named.filter_map(complaint).collect())
}
