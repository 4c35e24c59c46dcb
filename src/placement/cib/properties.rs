//! Sets of names and values.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::number::{is_true, leading};
use super::super::score::AllocationScore;
use super::super::working_set::Outside;
use super::document::{children, id};

/// Names and values; of two with the same name, the first holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Properties<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Properties<'a> {
    /// The values of all sets of an element that have this name, higher scores first. A set named `first` goes
    /// before all others. What they need beyond names and values is outside.
    pub(super) fn of(
        parent: Node<'a, '_>,
        set: &'static str,
        first: &str,
        outside: &mut Vec<Outside>,
    ) -> Properties<'a> {
        let mut sets: Vec<Node<'a, '_>> = children(parent, set).collect();
        let score = |node: &Node<'a, '_>| {
            node.attribute("score").and_then(AllocationScore::parse).unwrap_or_default()
        };
        sets.sort_by_key(|node| (id(*node) != first || first.is_empty(), std::cmp::Reverse(score(node))));
        let mut properties = Properties::default();
        for node in sets {
            if let Some(reason) = beyond(node) {
                outside.push(Outside {
                    element: set.to_owned(),
                    id: id(node).to_owned(),
                    reason: reason.to_owned(),
                });
                continue;
            }
            for pair in children(node, "nvpair") {
                if let Some(name) = pair.attribute("name") {
                    properties.0.push((name, pair.attribute("value").unwrap_or_default()));
                }
            }
        }
        properties
    }

    /// These, and where they say nothing, others.
    #[must_use]
    pub(super) fn or(mut self, others: &Properties<'a>) -> Properties<'a> {
        self.0.extend(&others.0);
        self
    }

    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    /// Whether a name's value is true; without one, `default`.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.get(name).map_or(default, is_true)
    }

    /// The score that a name's value is; 0 without one.
    pub(super) fn score(&self, name: &str) -> AllocationScore {
        self.get(name).and_then(AllocationScore::parse).unwrap_or_default()
    }

    /// All names and values that hold, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + '_ {
        let mut seen = HashSet::new();
        self.0.iter().copied().filter(move |(name, _)| seen.insert(*name))
    }
}

/// Why a set is outside.
fn beyond(set: Node<'_, '_>) -> Option<&'static str> {
    if children(set, "rule").next().is_some() {
        return Some("values by a rule");
    }
    let refers =
        set.has_attribute("id-ref") || children(set, "nvpair").any(|pair| pair.has_attribute("id-ref"));
    refers.then_some("values by reference (id-ref)")
}

/// An amount of capacity as Pacemaker counts it: in 32 bits, and 0 if it is no number.
pub(in crate::placement) fn amount(value: &str) -> i64 {
    leading(value).unwrap_or(0).clamp(i64::from(i32::MIN), i64::from(i32::MAX))
}
