//! Sets of names and values.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::number::{is_true, leading};
use super::super::score::AllocationScore;
use super::document::{children, id};
use super::{Reader, rules};

/// Names and values; of two with the same name, the first wins.
#[derive(Debug, Clone, Default)]
pub(super) struct Properties<'a>(Vec<(&'a str, &'a str)>);

impl<'a, 'i> Reader<'a, 'i> {
    /// The values of all sets of an element with this name, higher scores first. Rules of sets are judged by the time
    /// alone; a set that needs more is reported as unsupported.
    pub(super) fn properties(&mut self, parent: Node<'a, 'i>, set: &'static str) -> Properties<'a> {
        self.properties_first(parent, set, "")
    }

    /// Like [`properties`](Self::properties), with the set of an id before all others.
    pub(super) fn properties_first(
        &mut self,
        parent: Node<'a, 'i>,
        set: &'static str,
        first: &str,
    ) -> Properties<'a> {
        let mut sets = Vec::new();
        for node in children(parent, set) {
            match self.meant(node) {
                Some(meant) => sets.push(meant),
                None => self.report_unsupported(node, "values of a set that does not exist (id-ref)"),
            }
        }
        let score = |node: &Node<'a, 'i>| {
            node.attribute("score").and_then(AllocationScore::parse).unwrap_or_default()
        };
        sets.sort_by_key(|node| (id(*node) != first || first.is_empty(), std::cmp::Reverse(score(node))));
        let mut properties = Properties::default();
        for node in sets {
            match self.counts(node, parent) {
                Some(true) => self.values(node, &mut properties),
                Some(false) => {}
                None => {
                    self.report_unsupported(node, "values by a rule about kinds of resources or operations")
                }
            }
        }
        properties
    }

    /// Adds the names and values of a set.
    fn values(&mut self, set: Node<'a, 'i>, properties: &mut Properties<'a>) {
        for pair in children(set, "nvpair") {
            let Some(meant) = self.meant(pair) else {
                self.report_unsupported(pair, "a value that does not exist (id-ref)");
                continue;
            };
            // A pair that refers to another one may have a name of its own.
            let name = pair.attribute("name").or_else(|| meant.attribute("name"));
            let value = meant.attribute("value").unwrap_or_default();
            properties.0.extend(name.filter(|_| !stands_for_none(value)).map(|name| (name, value)));
        }
    }

    /// The element that is meant: this one, or the one of its kind to which it refers.
    pub(super) fn meant(&self, node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        let Some(name) = node.attribute("id-ref") else { return Some(node) };
        let all = || self.configuration.descendants().filter(Node::is_element);
        let by_id = self
            .by_id
            .get_or_init(|| all().filter_map(|node| node.attribute("id").map(|id| (id, node))).collect());
        by_id.get(name).copied().filter(|meant| meant.tag_name() == node.tag_name())
    }

    /// Tells if a set of an element counts now; `None` if that depends on unknown facts.
    fn counts(&self, set: Node<'a, 'i>, parent: Node<'a, 'i>) -> Option<bool> {
        let of_operations = matches!(parent.tag_name().name(), "op" | "op_defaults");
        let by_kind = set.has_tag_name("meta_attributes");
        let Some(rule) = children(set, "rule").next() else { return Some(true) };
        rules::holds_for_values(rule, &self.clock, of_operations, by_kind)
    }
}

impl<'a> Properties<'a> {
    /// These values, completed by others.
    #[must_use]
    pub(super) fn or(mut self, others: &Properties<'a>) -> Properties<'a> {
        self.0.extend(&others.0);
        self
    }

    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    /// The truth value of a name; `default` without one.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.get(name).map_or(default, is_true)
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
