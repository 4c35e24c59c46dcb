//! Constraints about what is started after what.

use roxmltree::Node;

use super::super::index::ResourceIdx;
use super::super::number::is_true;
use super::super::score::AllocationScore;
use super::super::working_set::{OrderStrength, StartOrder};
use super::Reader;
use super::document::{children, id, required};
use crate::input::error::Result;

impl<'a, 'i> Reader<'a, 'i> {
    /// Reads the orders.
    pub(super) fn read_orders(&mut self) -> Result<()> {
        let Some(section) = self.section("constraints") else { return Ok(()) };
        for constraint in children(section, "rsc_order") {
            if let Some(reason) = beyond(constraint) {
                self.outside(constraint, reason);
                continue;
            }
            let mut names = Vec::new();
            match children(constraint, "resource_set").next() {
                Some(set) if !set.attribute("sequential").is_none_or(is_true) => {}
                Some(set) => names.extend(children(set, "resource_ref").map(id)),
                None => {
                    names.push(required(self.source, constraint, "first")?);
                    names.push(required(self.source, constraint, "then")?);
                }
            }
            let mut resources = Vec::new();
            for name in names {
                resources.extend(self.resource_of(constraint, name)?);
            }
            self.order(constraint, &resources);
        }
        Ok(())
    }

    fn order(&mut self, constraint: Node<'a, 'i>, resources: &[ResourceIdx]) {
        let strength = strength(constraint);
        let symmetrical =
            constraint.attribute("symmetrical").map_or(strength != OrderStrength::Serialize, is_true);
        for pair in resources.windows(2) {
            let id = id(constraint).to_owned();
            self.set.orders.push(StartOrder { id, first: pair[0], then: pair[1], strength, symmetrical });
        }
    }

    /// Names the constraints of other kinds.
    pub(super) fn name_other_constraints(&mut self) {
        let Some(section) = self.section("constraints") else { return };
        for constraint in section.children().filter(Node::is_element) {
            if !["rsc_location", "rsc_colocation", "rsc_order"].contains(&constraint.tag_name().name()) {
                self.outside(constraint, "a constraint of another kind");
            }
        }
    }
}

/// How binding a constraint is: by its kind, or as it was said before there were kinds, by its score.
fn strength(constraint: Node<'_, '_>) -> OrderStrength {
    match constraint.attribute("kind") {
        Some(kind) if kind.eq_ignore_ascii_case("optional") => OrderStrength::Optional,
        Some(kind) if kind.eq_ignore_ascii_case("serialize") => OrderStrength::Serialize,
        Some(_) => OrderStrength::Mandatory,
        None => match constraint.attribute("score").and_then(AllocationScore::parse) {
            Some(score) if score <= AllocationScore::ZERO => OrderStrength::Optional,
            _ => OrderStrength::Mandatory,
        },
    }
}

/// Why an order is outside, if it is.
fn beyond(constraint: Node<'_, '_>) -> Option<&'static str> {
    let action = |name| constraint.attribute(name).is_some_and(|action| action != "start");
    if action("first-action") || action("then-action") {
        return Some("an order of other actions than starts");
    }
    let mut sets = children(constraint, "resource_set");
    match (sets.next(), sets.next()) {
        (_, Some(_)) => Some("an order of several sets"),
        (Some(set), None) if set.attribute("action").is_some_and(|action| action != "start") => {
            Some("an order of other actions than starts")
        }
        (Some(set), None) if set.has_attribute("id-ref") => Some("a set by reference (id-ref)"),
        _ => None,
    }
}
