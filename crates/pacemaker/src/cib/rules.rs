//! Rules: conditions on the attributes of hosts.

use std::cmp::Ordering;

use roxmltree::Node;

use super::super::number::{integer, real};
use super::super::working_set::Host;
use super::dates::{self, ClusterTime};

/// Reason why a rule is not supported, if any.
pub(super) fn unsupported_reason(rule: Node<'_, '_>) -> Option<&'static str> {
    for part in rule.descendants().filter(Node::is_element) {
        let word = |name| part.attribute(name).unwrap_or_default();
        let reason = match part.tag_name().name() {
            "rule" if part != rule && part.has_attribute("role") => "a rule for a role in another rule",
            "rule" if !is_role(word("role")) => "a rule for an unknown role",
            "rule" if part.has_attribute("id-ref") => "a rule by reference (id-ref)",
            "rule" => continue,
            "expression" if part.attribute("value-source").is_some_and(|from| from != "literal") => {
                "a value from the resource"
            }
            "expression" if word("type") == VERSION && !is_version(word("value")) => {
                "a comparison with a version that is no list of numbers"
            }
            "expression" if known(word("operation")) => continue,
            "expression" => "an unknown operation",
            "date_expression" => match dates::unsupported_reason(part) {
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

/// Returns true for the name of a role, and for an empty text.
pub(super) fn is_role(text: &str) -> bool {
    is_role_of_all(text) || matches!(text, "Started" | "Stopped" | "Master" | "Promoted")
}

/// Returns true if constraints for a role apply to resources that cannot be promoted, as these count as unpromoted.
/// Pacemaker counts them as started only if the role is the constraint's, not a rule's. The roles of stopped and
/// promoted resources concern no host.
pub(super) fn is_role_of_all(text: &str) -> bool {
    matches!(text, "" | "Slave" | "Unpromoted")
}

/// Type of values that are compared as versions.
const VERSION: &str = "version";

/// Returns true for numbers between dots. Pacemaker 2.1.5 never ends when it compares other texts as versions.
fn is_version(text: &str) -> bool {
    text.is_empty() || text.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// The numbers of a version. Zeros at its end do not count, and a part that is no number counts as zero.
fn version(text: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = text.split('.').map(|part| part.parse().unwrap_or(0)).collect();
    let length = parts.iter().rposition(|part| *part != 0).map_or(0, |last| last + 1);
    parts.truncate(length);
    parts
}

fn known(operation: &str) -> bool {
    matches!(operation, "defined" | "not_defined" | "eq" | "ne" | "lt" | "lte" | "gt" | "gte")
}

/// Returns true if a rule holds for a host.
pub(super) fn holds(rule: Node<'_, '_>, host: &Host, coordinator: bool, clock: &ClusterTime) -> bool {
    is_true(rule, &|part| match part.tag_name().name() {
        "date_expression" => dates::holds(part, clock),
        "expression" => expression_holds(part, host, coordinator),
        // Conditions on kinds of resources or operations never hold here.
        _ => false,
    })
}

/// Returns true if enough of a rule's expressions and inner rules hold.
fn is_true(rule: Node<'_, '_>, holds: &dyn Fn(Node<'_, '_>) -> bool) -> bool {
    let mut parts = rule.children().filter(Node::is_element);
    let part_holds =
        |part: Node<'_, '_>| if part.has_tag_name("rule") { is_true(part, holds) } else { holds(part) };
    if is_any(rule) { parts.any(part_holds) } else { parts.all(part_holds) }
}

/// Returns true if one of a rule's parts is enough for it.
pub(super) fn is_any(rule: Node<'_, '_>) -> bool {
    rule.attribute("boolean-op").is_some_and(|op| op.eq_ignore_ascii_case("or"))
}

fn expression_holds(expression: Node<'_, '_>, host: &Host, coordinator: bool) -> bool {
    let name = expression.attribute("attribute").unwrap_or_default();
    let actual = match name {
        "#kind" => Some(match host.guest {
            Some(parts) if parts.is_remote_node() => "remote",
            Some(_) => "container",
            None => "cluster",
        }),
        "#uname" | "#id" | "#is_dc" if host.nameless => None,
        "#uname" => Some(host.name.as_str()),
        "#id" => Some(host.id.as_str()),
        "#is_dc" => Some(if coordinator { "true" } else { "false" }),
        _ => host.attribute(name),
    };
    let operation = expression.attribute("operation").unwrap_or_default();
    let wanted = expression.attribute("value").filter(|value| !value.is_empty());
    match operation {
        "defined" => return actual.is_some(),
        "not_defined" => return actual.is_none(),
        _ => {}
    }
    let (Some(actual), Some(wanted)) = (actual, wanted) else {
        // If one of the two is missing, they differ, and neither is greater.
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

/// Compares two values as texts, ignoring case, or as numbers if both are. Greater and less are about numbers by
/// default.
fn compare(actual: &str, wanted: &str, kind: Option<&str>, operation: &str) -> Ordering {
    let kind = kind.unwrap_or(match operation {
        "eq" | "ne" => "string",
        _ if actual.contains('.') || wanted.contains('.') => "number",
        _ => "integer",
    });
    if kind == VERSION {
        // No version is less than any.
        let key = |text: &str| (!text.is_empty(), version(text));
        return key(actual).cmp(&key(wanted));
    }
    let as_numbers = match kind {
        "integer" => integer(actual).zip(integer(wanted)).map(|(one, other)| one.cmp(&other)),
        // A value that is not a number ("nan") is neither greater nor less.
        "number" => real(actual)
            .zip(real(wanted))
            .map(|(one, other)| one.partial_cmp(&other).unwrap_or(Ordering::Equal)),
        _ => None,
    };
    as_numbers.unwrap_or_else(|| actual.to_ascii_lowercase().cmp(&wanted.to_ascii_lowercase()))
}
