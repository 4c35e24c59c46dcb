//! Rules of sets of values: conditions on the time, the kind of a resource, and the operation.

use roxmltree::Node;

use super::dates::{self, ClusterTime};
use super::history::OperationKey;
use super::rules::is_any;
use super::spans::span;

/// Kind of a resource. Groups and clones have none of the three parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AgentKind<'a> {
    pub(super) class: Option<&'a str>,
    pub(super) provider: Option<&'a str>,
    pub(super) name: Option<&'a str>,
}

impl<'a> AgentKind<'a> {
    /// The kind that an element names, or else the template of the resource.
    pub(super) fn of(node: Node<'a, '_>, template: Option<Node<'a, '_>>) -> AgentKind<'a> {
        let part = |name| node.attribute(name).or_else(|| template.and_then(|node| node.attribute(name)));
        AgentKind { class: part("class"), provider: part("provider"), name: part("type") }
    }

    /// Reads the parts that exist, joined by colons. Only agents of the class `ocf` have a provider.
    pub(super) fn parse(text: &'a str) -> AgentKind<'a> {
        let (class, rest) = text.split_once(':').map_or((text, None), |(class, rest)| (class, Some(rest)));
        let with_provider = rest.filter(|_| class == "ocf").and_then(|rest| rest.split_once(':'));
        let (provider, name) = match with_provider {
            Some((provider, name)) => (Some(provider), Some(name)),
            None => (None, rest),
        };
        AgentKind { class: Some(class), provider, name }
    }

    /// The parts that exist, joined by colons.
    pub(super) fn text(self) -> String {
        [self.class, self.provider, self.name].into_iter().flatten().collect::<Vec<_>>().join(":")
    }
}

/// Rule of a set of values.
#[derive(Debug, Clone)]
pub(super) enum ValueRule<'a> {
    Known(bool),
    /// Holds for operations of this name, with this interval in milliseconds, if there is one.
    Operation {
        name: &'a str,
        interval: Option<u64>,
    },
    All(Vec<ValueRule<'a>>),
    Any(Vec<ValueRule<'a>>),
}

impl<'a> ValueRule<'a> {
    /// Reads a rule for a time and the kind of a resource. Without a kind, no condition on kinds holds. Pacemaker
    /// evaluates the rule without a node, so no condition on node attributes holds, not even that one is missing.
    /// Returns `None` if a part of the rule is not supported.
    pub(super) fn of(
        rule: Node<'a, '_>,
        clock: &ClusterTime,
        kind: Option<AgentKind<'_>>,
    ) -> Option<ValueRule<'a>> {
        if rule.has_attribute("id-ref") || !matches!(rule.attribute("role"), None | Some("Started")) {
            return None;
        }
        let part = |part: Node<'a, '_>| match part.tag_name().name() {
            "rule" => ValueRule::of(part, clock, kind),
            "expression" => Some(ValueRule::Known(false)),
            "rsc_expression" => Some(ValueRule::Known(kind.is_some_and(|kind| is_kind(part, kind)))),
            "op_expression" => Some(operation(part)),
            "date_expression" if dates::unsupported_reason(part).is_some() => None,
            "date_expression" => Some(ValueRule::Known(dates::holds(part, clock))),
            _ => None,
        };
        let parts = rule.children().filter(Node::is_element).map(part).collect::<Option<Vec<_>>>()?;
        Some(if is_any(rule) { ValueRule::Any(parts) } else { ValueRule::All(parts) })
    }

    /// Returns true if the rule holds for an operation. Without one, no condition on operations holds.
    pub(super) fn holds(&self, key: Option<OperationKey<'_>>) -> bool {
        match self {
            ValueRule::Known(holds) => *holds,
            ValueRule::Operation { name, interval } => key.is_some_and(|key| {
                key.name == *name && interval.is_none_or(|interval| interval == key.interval)
            }),
            ValueRule::All(parts) => parts.iter().all(|part| part.holds(key)),
            ValueRule::Any(parts) => parts.iter().any(|part| part.holds(key)),
        }
    }
}

/// Returns true if an `rsc_expression` names a kind. A class or type that it does not name can be any. A provider
/// that it does not name must be missing.
fn is_kind(expression: Node<'_, '_>, kind: AgentKind<'_>) -> bool {
    let wanted = AgentKind::of(expression, None);
    wanted.provider == kind.provider
        && (wanted.class.is_none() || wanted.class == kind.class)
        && (wanted.name.is_none() || wanted.name == kind.name)
}

/// The condition of an `op_expression`. It holds for no operation if its interval is unreadable.
fn operation<'a>(expression: Node<'a, '_>) -> ValueRule<'a> {
    let name = expression.attribute("name").unwrap_or_default();
    match expression.attribute("interval").map(span) {
        None => ValueRule::Operation { name, interval: None },
        Some(None) => ValueRule::Known(false),
        Some(interval) => ValueRule::Operation { name, interval },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(rule: &str, kind: Option<AgentKind<'_>>, key: Option<OperationKey<'_>>) -> Option<bool> {
        let document = roxmltree::Document::parse(rule).unwrap();
        let clock = ClusterTime::of(document.root_element());
        ValueRule::of(document.root_element(), &clock, kind).map(|rule| rule.holds(key))
    }

    #[test]
    fn a_provider_that_is_not_named_must_be_missing() {
        let dummy = AgentKind { class: Some("ocf"), provider: Some("pacemaker"), name: Some("Dummy") };
        let unit = AgentKind { class: Some("systemd"), provider: None, name: Some("Dummy") };
        let group = AgentKind::default();
        for (attributes, expected) in [
            ("", [false, true, true]),
            (r#"type="Dummy""#, [false, true, false]),
            (r#"class="ocf""#, [false, false, false]),
            (r#"provider="pacemaker""#, [true, false, false]),
            (r#"class="ocf" provider="pacemaker" type="dummy""#, [false, false, false]),
        ] {
            let rule = format!("<rule><rsc_expression {attributes}/></rule>");
            let found = [dummy, unit, group].map(|kind| holds(&rule, Some(kind), None));
            assert_eq!(found, expected.map(Some), "{attributes}");
        }
        assert_eq!(holds("<rule><rsc_expression/></rule>", None, None), Some(false));
    }

    #[test]
    fn operations_are_told_by_name_and_interval() {
        let key = |interval| Some(OperationKey { name: "monitor", interval });
        for (attributes, expected) in [
            (r#"name="monitor""#, [true, true]),
            (r#"name="monitor" interval="10s""#, [false, true]),
            (r#"name="monitor" interval="PT10S""#, [false, true]),
            (r#"name="monitor" interval="0""#, [true, false]),
            (r#"name="monitor" interval="zz""#, [false, false]),
            (r#"name="start""#, [false, false]),
        ] {
            let rule = format!(r#"<rule boolean-op="or"><op_expression {attributes}/></rule>"#);
            assert_eq!(
                [0, 10_000].map(|interval| holds(&rule, None, key(interval))),
                expected.map(Some),
                "{attributes}"
            );
            assert_eq!(holds(&rule, None, None), Some(false));
        }
    }
}
