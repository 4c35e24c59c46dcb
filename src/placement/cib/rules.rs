//! Rules: conditions on the attributes of hosts.

use std::cmp::Ordering;

use roxmltree::Node;

use super::super::number::leading;
use super::super::working_set::Host;
use super::dates::{self, ClusterTime};

/// Attributes that every host has, and what Pacemaker calls them.
const BUILT_IN: [&str; 3] = ["#uname", "#id", "#is_dc"];

/// Why a rule is outside, if it is.
pub(super) fn beyond(rule: Node<'_, '_>) -> Option<&'static str> {
    for part in rule.descendants().filter(Node::is_element) {
        let word = |name| part.attribute(name).unwrap_or_default();
        let reason = match part.tag_name().name() {
            "rule" if !matches!(word("role"), "" | "Started") => "a rule for a role",
            "rule" if part.has_attribute("id-ref") => "a rule by reference (id-ref)",
            "rule" => continue,
            "expression" if part.attribute("value-source").is_some_and(|from| from != "literal") => {
                "a value from the resource"
            }
            "expression" if word("attribute").starts_with('#') && !BUILT_IN.contains(&word("attribute")) => {
                "an attribute that no node has by itself"
            }
            "expression" if matches!(word("type"), "version") => "a comparison of versions",
            "expression" if known(word("operation")) => continue,
            "expression" => "an unknown operation",
            "date_expression" => match dates::beyond(part) {
                Some(reason) => reason,
                None => continue,
            },
            "date_spec" | "duration" => continue,
            _ => "a rule about something other than attributes of nodes",
        };
        return Some(reason);
    }
    None
}

fn known(operation: &str) -> bool {
    matches!(operation, "defined" | "not_defined" | "eq" | "ne" | "lt" | "lte" | "gt" | "gte")
}

/// Whether a rule holds for a host.
pub(super) fn holds(rule: Node<'_, '_>, host: &Host, coordinator: bool, clock: &ClusterTime) -> bool {
    is_true(rule, &|part| match part.has_tag_name("date_expression") {
        true => dates::holds(part, clock),
        false => expression_holds(part, host, coordinator),
    })
}

/// Whether a rule about nothing but dates holds; none if it is about anything else.
pub(super) fn holds_by_date(rule: Node<'_, '_>, clock: &ClusterTime) -> Option<bool> {
    let is_about_dates = |part: Node<'_, '_>| {
        matches!(part.tag_name().name(), "rule" | "date_expression" | "date_spec" | "duration")
    };
    let is_known = beyond(rule).is_none() && rule.descendants().filter(Node::is_element).all(is_about_dates);
    is_known.then(|| is_true(rule, &|part| dates::holds(part, clock)))
}

/// Whether enough of the expressions of a rule, and of the rules in it, hold.
fn is_true(rule: Node<'_, '_>, holds: &dyn Fn(Node<'_, '_>) -> bool) -> bool {
    let mut parts = rule.children().filter(Node::is_element);
    let part_holds = |part: Node<'_, '_>| match part.has_tag_name("rule") {
        true => is_true(part, holds),
        false => holds(part),
    };
    match is_any(rule) {
        true => parts.any(part_holds),
        false => parts.all(part_holds),
    }
}

/// Whether one of a rule's parts is enough for it.
pub(super) fn is_any(rule: Node<'_, '_>) -> bool {
    rule.attribute("boolean-op").is_some_and(|op| op.eq_ignore_ascii_case("or"))
}

fn expression_holds(expression: Node<'_, '_>, host: &Host, coordinator: bool) -> bool {
    let name = expression.attribute("attribute").unwrap_or_default();
    let actual = match name {
        "#uname" => Some(host.name.as_str()),
        "#id" => Some(host.id.as_str()),
        "#is_dc" => Some(if coordinator { "true" } else { "false" }),
        _ => host.attribute(name),
    };
    let operation = expression.attribute("operation").unwrap_or_default();
    let wanted = expression.attribute("value");
    match operation {
        "defined" => return actual.is_some(),
        "not_defined" => return actual.is_none(),
        _ => {}
    }
    let (Some(actual), Some(wanted)) = (actual, wanted) else {
        // without one of the two, they differ, and neither is greater
        return match operation {
            "eq" => actual == wanted,
            "ne" => actual != wanted,
            _ => false,
        };
    };
    let order = compare(actual, wanted, expression.attribute("type"), operation);
    match operation {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" => order.is_lt(),
        "lte" => order.is_le(),
        "gt" => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// How two values compare: as texts in any case of their letters, or as numbers. Greater and less are about
/// numbers where nothing else is said.
fn compare(actual: &str, wanted: &str, kind: Option<&str>, operation: &str) -> Ordering {
    let texts = || actual.to_ascii_lowercase().cmp(&wanted.to_ascii_lowercase());
    let kind = kind.unwrap_or(match operation {
        "eq" | "ne" => "string",
        _ if actual.contains('.') || wanted.contains('.') => "number",
        _ => "integer",
    });
    match kind {
        "integer" => leading(actual).unwrap_or(0).cmp(&leading(wanted).unwrap_or(0)),
        "number" => {
            let number = |text: &str| text.trim().parse::<f64>().unwrap_or(0.0);
            number(actual).total_cmp(&number(wanted))
        }
        _ => texts(),
    }
}
