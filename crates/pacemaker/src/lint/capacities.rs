//! Capacities without an effect, or with an unintended one.

use std::collections::{BTreeSet, HashSet};

use super::super::index::AttributeIdx;
use super::super::place::PlacingError;
use super::super::working_set::Strategy;
use super::complaint::{Complaint, LintedCib};
use crate::cib::document::{children, id};
use htools_model::shown::shown_name;

/// A resource needs a capacity that no node has. If capacities count, it is stopped everywhere without a message.
pub(super) fn unknown(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let name = |kind: AttributeIdx| set.attributes[kind.get()].as_str();
    let there: HashSet<AttributeIdx> =
        set.hosts.iter().flat_map(|host| host.capacity.iter().map(|(kind, _)| kind)).collect();
    let known: Vec<&str> = set.attribute_indices().filter(|kind| there.contains(kind)).map(name).collect();
    let never = match set.strategy() {
        Strategy::Default => "it would run nowhere under another strategy than 'default'",
        _ => "Pacemaker stops it everywhere, without a word",
    };
    let mut complaints = Vec::new();
    for resource in &set.resources {
        for (kind, _) in
            resource.utilization.iter().filter(|(kind, amount)| *amount > 0 && !there.contains(kind))
        {
            let problem = format!("it needs '{}', which no node has: {never}", shown_name(name(kind)));
            let meant = (cib.suggest)(name(kind), &known);
            let advice = format!("use a name that nodes have{meant}");
            complaints.push(Complaint::of("primitive", &resource.id, problem, advice));
        }
    }
    Ok(complaints)
}

/// Nodes have a capacity that no resource needs. It affects balance all the same.
pub(super) fn unused(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let amounts = set.resources.iter().flat_map(|resource| resource.utilization.iter());
    let used: HashSet<AttributeIdx> =
        amounts.filter(|(_, amount)| *amount != 0).map(|(kind, _)| kind).collect();
    let names: BTreeSet<&str> = set
        .attribute_indices()
        .filter(|kind| !used.contains(kind))
        .map(|kind| set.attributes[kind.get()].as_str())
        .collect();
    if set.strategy() != Strategy::Balanced {
        return Ok(Vec::new());
    }
    let complaint = |name: &str| {
        let problem = format!(
            "nodes have '{}', which no resource needs, and 'balanced' counts it: who has more of it looks emptier",
            shown_name(name)
        );
        Complaint::of("nodes", "", problem, "take it away, or say what resources need of it".to_owned())
    };
    Ok(names.into_iter().map(complaint).collect())
}

/// An amount that is no whole number counts as the digits at its beginning, or as 0.
pub(super) fn not_a_number(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let pairs = cib.elements("utilization").flat_map(|set| children(set, "nvpair"));
    let complaint = |pair: roxmltree::Node<'_, '_>| {
        let value = pair.attribute("value").unwrap_or_default();
        if value.trim().parse::<i32>().is_ok() || pair.has_attribute("id-ref") {
            return None;
        }
        let owner = pair.ancestors().skip(2).find(|node| !id(*node).is_empty());
        let problem = format!(
            "'{}' of {} is '{}', no whole number: it counts as {}",
            shown_name(pair.attribute("name").unwrap_or_default()),
            owner.map(|owner| shown_name(id(owner))).unwrap_or_default(),
            shown_name(value),
            super::super::cib::amount(value)
        );
        Some(Complaint::about(pair, problem, "write a whole number, in a smaller unit if need be".to_owned()))
    };
    Ok(pairs.filter_map(complaint).collect())
}
