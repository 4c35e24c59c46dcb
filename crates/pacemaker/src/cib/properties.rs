//! Sets of names and values.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::number::{is_true, leading, truth};
use super::super::score::AllocationScore;
use super::Reader;
use super::document::{children, id};
use super::history::OperationKey;
use super::value_rules::{AgentKind, ValueRule};

/// Names and values; of two with the same name, the first wins.
#[derive(Debug, Clone, Default)]
pub(super) struct Properties<'a>(Vec<(&'a str, &'a str)>);

impl<'a, 'i> Reader<'a, 'i> {
    /// The values of all sets of an element with this name. Those with higher scores win, and of those with the same
    /// score the last. Rules of sets are judged by the time alone. A set with another rule that is not supported is
    /// reported.
    pub(super) fn properties(&mut self, parent: Node<'a, 'i>, set: &'static str) -> Properties<'a> {
        self.properties_of(&[parent], set)
    }

    /// The values of all sets of a resource and its template.
    pub(super) fn properties_of(&mut self, elements: &[Node<'a, 'i>], set: &'static str) -> Properties<'a> {
        let sets = self.reported_sets(elements, set);
        self.values_of(sets, None, None)
    }

    /// Like [`properties`](Self::properties), with the set of an id before all others.
    pub(super) fn properties_first(
        &mut self,
        parent: Node<'a, 'i>,
        set: &'static str,
        first: &str,
    ) -> Properties<'a> {
        let mut sets = self.reported_sets(&[parent], set);
        sets.sort_by_key(|node| id(*node) != first);
        self.values_of(sets, None, None)
    }

    /// The meta attributes of a resource of some kind, and of its template.
    pub(super) fn metas(&mut self, elements: &[Node<'a, 'i>], kind: AgentKind<'_>) -> Properties<'a> {
        let sets = self.reported_sets(elements, "meta_attributes");
        self.values_of(sets, Some(kind), None)
    }

    /// The meta attributes of an operation, of which the last wins.
    pub(super) fn operation_metas(
        &mut self,
        operation: Node<'a, 'i>,
        kind: AgentKind<'_>,
        key: OperationKey<'_>,
    ) -> Properties<'a> {
        let sets = self.reported_sets(&[operation], "meta_attributes");
        self.values_of(sets, Some(kind), Some(key)).last_first()
    }

    /// The defaults of all resources for a kind of resource.
    pub(super) fn defaults_of(&mut self, kind: AgentKind<'_>) -> Properties<'a> {
        let section = self.section("rsc_defaults");
        let defaults = section.map(|defaults| self.metas(&[defaults], kind)).unwrap_or_default();
        defaults.or(&self.old_defaults)
    }

    /// The sets of some elements with this name, in the order in which their values count. The elements are a resource
    /// and its template, whose sets come before the resource's, or one element of another kind.
    pub(super) fn sets(&self, elements: &[Node<'a, 'i>], name: &'static str) -> Vec<Node<'a, 'i>> {
        let sets = elements.iter().rev().flat_map(|element| children(*element, name));
        let mut sets: Vec<Node<'a, 'i>> = sets.filter_map(|set| self.meant(set)).collect();
        sets.reverse();
        let score =
            |set: &Node<'_, '_>| set.attribute("score").and_then(AllocationScore::parse).unwrap_or_default();
        sets.sort_by_key(|set| std::cmp::Reverse(score(set)));
        sets
    }

    /// Like [`sets`](Self::sets). References to sets that do not exist are reported.
    pub(super) fn reported_sets(
        &mut self,
        elements: &[Node<'a, 'i>],
        name: &'static str,
    ) -> Vec<Node<'a, 'i>> {
        for set in elements.iter().flat_map(|element| children(*element, name)) {
            if self.meant(set).is_none() {
                self.report_unsupported(set, "values of a set that does not exist (id-ref)");
            }
        }
        self.sets(elements, name)
    }

    /// The values of those sets whose rules hold.
    fn values_of(
        &mut self,
        sets: Vec<Node<'a, 'i>>,
        kind: Option<AgentKind<'_>>,
        key: Option<OperationKey<'_>>,
    ) -> Properties<'a> {
        let mut properties = Properties::default();
        for set in sets {
            if self.value_rule(set, kind).is_some_and(|rule| rule.holds(key)) {
                self.values(set, &mut properties);
            }
        }
        properties
    }

    /// The rule of a set, if it is supported. Otherwise, the set is reported.
    pub(super) fn value_rule(
        &mut self,
        set: Node<'a, 'i>,
        kind: Option<AgentKind<'_>>,
    ) -> Option<ValueRule<'a>> {
        let rule = self.supported_rule(set, kind);
        if rule.is_none() {
            self.report_unsupported(set, "values by a rule that is not supported");
        }
        rule
    }

    /// The rule of a set, if it is supported.
    pub(super) fn supported_rule(
        &self,
        set: Node<'a, 'i>,
        kind: Option<AgentKind<'_>>,
    ) -> Option<ValueRule<'a>> {
        let rule = children(set, "rule").next();
        rule.map_or(Some(ValueRule::Known(true)), |rule| ValueRule::of(rule, &self.clock, kind))
    }

    /// Adds the names and values of a set. A name without a value is as good as none.
    pub(super) fn values(&mut self, set: Node<'a, 'i>, properties: &mut Properties<'a>) {
        for pair in children(set, "nvpair") {
            let Some(meant) = self.meant(pair) else {
                self.report_unsupported(pair, "a value that does not exist (id-ref)");
                continue;
            };
            // A pair that refers to another one may have a name of its own.
            let name = pair.attribute("name").or_else(|| meant.attribute("name"));
            let Some(value) = meant.attribute("value") else { continue };
            properties.0.extend(name.filter(|_| !stands_for_none(value)).map(|name| (name, value)));
        }
    }

    /// The element that is meant: this one, or the one of its kind to which it refers.
    pub(super) fn meant(&self, node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        let Some(name) = node.attribute("id-ref") else { return Some(node) };
        self.element(name).filter(|meant| meant.tag_name() == node.tag_name())
    }

    /// The element of the configuration with an id.
    pub(super) fn element(&self, name: &str) -> Option<Node<'a, 'i>> {
        let all = || self.configuration.descendants().filter(Node::is_element);
        let by_id = self
            .by_id
            .get_or_init(|| all().filter_map(|node| node.attribute("id").map(|id| (id, node))).collect());
        by_id.get(name).copied()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Properties<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(values: I) -> Properties<'a> {
        Properties(values.into_iter().collect())
    }
}

impl<'a> Properties<'a> {
    /// These values, completed by others.
    #[must_use]
    pub(super) fn or(mut self, others: &Properties<'a>) -> Properties<'a> {
        self.0.extend(&others.0);
        self
    }

    /// These values, of which the last wins, not the first.
    #[must_use]
    pub(super) fn last_first(mut self) -> Properties<'a> {
        self.0.reverse();
        self
    }

    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    /// The truth value of a name; `default` without one, and with a word that is none.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.get(name).and_then(truth).unwrap_or(default)
    }

    /// Returns true unless a name has a value other than true. Pacemaker reads some flags of resources in this way.
    pub(super) fn is_not_denied(&self, name: &str) -> bool {
        self.get(name).is_none_or(is_true)
    }

    /// The score of a name; 0 without one.
    pub(super) fn score(&self, name: &str) -> AllocationScore {
        self.get(name).and_then(AllocationScore::parse).unwrap_or_default()
    }

    /// All winning names and values, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + '_ {
        let mut seen = HashSet::new();
        self.0.iter().copied().filter(move |(name, _)| seen.insert(*name))
    }
}

/// Returns true for the value that stands for no value.
pub(super) fn stands_for_none(value: &str) -> bool {
    value.eq_ignore_ascii_case("#default")
}

/// An amount of capacity as Pacemaker counts it: in 32 bits, and 0 if it is no number.
pub(crate) fn amount(value: &str) -> i64 {
    leading(value).unwrap_or(0).clamp(i64::from(i32::MIN), i64::from(i32::MAX))
}
