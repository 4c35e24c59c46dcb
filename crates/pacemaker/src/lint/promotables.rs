//! Promotable clones, and constraints about them, that do not do what is most likely meant.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::number::leading;
use super::super::place::PlacingError;
use super::complaint::{Complaint, LintedCib};
use crate::cib::document::{children, id};
use htools_model::shown::shown_name;

/// Agents of resources that use the data of a promoted instance, or its address.
const USERS: [&str; 5] = ["Filesystem", "IPaddr", "IPaddr2", "LVM", "LVM-activate"];
/// The words for the promoted role and its action.
const PROMOTED: [&str; 2] = ["Promoted", "Master"];
const PROMOTE: &str = "promote";

/// The value of a meta attribute of an element by any of its names.
fn meta<'d>(element: Node<'d, 'd>, names: &[&str]) -> Option<&'d str> {
    let pairs = children(element, "meta_attributes").flat_map(|metas| children(metas, "nvpair"));
    let mut named = pairs.filter(|pair| pair.attribute("name").is_some_and(|name| names.contains(&name)));
    named.next().and_then(|pair| pair.attribute("value"))
}

fn is_true(text: Option<&str>) -> bool {
    let words = ["true", "yes", "on", "y", "1"];
    text.is_some_and(|text| words.iter().any(|word| text.eq_ignore_ascii_case(word)))
}

/// The promotable clones of the configuration.
fn promotables<'d>(cib: &LintedCib<'_, 'd>) -> Vec<Node<'d, 'd>> {
    let clones = cib.elements("clone").filter(|clone| is_true(meta(*clone, &["promotable"])));
    clones.chain(cib.elements("master")).collect()
}

/// Provider and type of an agent.
struct AgentWords<'d> {
    provider: Option<&'d str>,
    kind: &'d str,
}

/// The agent of a primitive, its own or its template's.
fn agent<'d>(cib: &LintedCib<'_, 'd>, primitive: Node<'d, 'd>) -> Option<AgentWords<'d>> {
    let template = primitive.attribute("template");
    let template = template.and_then(|name| cib.elements("template").find(|one| id(*one) == name));
    let source = template.unwrap_or(primitive);
    Some(AgentWords { provider: source.attribute("provider"), kind: source.attribute("type")? })
}

/// More instances are to be promoted than the clone has.
pub(super) fn too_many_promoted(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let hosts = i64::try_from(cib.set.hosts.len()).unwrap_or(i64::MAX);
    let complaint = |clone: Node<'_, '_>| {
        let most = meta(clone, &["promoted-max", "master-max"]).and_then(leading)?;
        let instances =
            meta(clone, &["clone-max"]).and_then(leading).filter(|count| *count > 0).unwrap_or(hosts);
        let problem = format!("promoted-max is {most}, and the clone has {instances} instances at most");
        let advice = "lower promoted-max, or raise clone-max".to_owned();
        (most > instances).then(|| Complaint::about(clone, problem, advice))
    };
    Ok(promotables(cib).into_iter().filter_map(complaint).collect())
}

/// An agent that needs notifications to be promoted does not get them.
pub(super) fn no_notify(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let complaint = |clone: Node<'_, '_>| {
        let mut primitives = clone.descendants().filter(|node| node.has_tag_name("primitive"));
        let is_drbd = primitives.any(|one| {
            agent(cib, one).is_some_and(|agent| agent.provider == Some("linbit") && agent.kind == "drbd")
        });
        let problem = "the agent ocf:linbit:drbd needs notifications, and the clone sends none".to_owned();
        let advice = "set the meta attribute notify=true on the clone".to_owned();
        (is_drbd && !is_true(meta(clone, &["notify"]))).then(|| Complaint::about(clone, problem, advice))
    };
    Ok(promotables(cib).into_iter().filter_map(complaint).collect())
}

/// A colocation of one resource with a promotable clone.
struct WithPromotable<'d> {
    constraint: Node<'d, 'd>,
    dependent: &'d str,
    clone: &'d str,
    is_promoted: bool,
}

/// The colocations that bring one resource to an instance of a promotable clone, without those in sets.
fn with_promotables<'d>(cib: &LintedCib<'_, 'd>) -> Vec<WithPromotable<'d>> {
    let clones: HashSet<&str> = promotables(cib).into_iter().map(id).collect();
    let read = |constraint: Node<'d, 'd>| {
        let (dependent, clone) = (constraint.attribute("rsc")?, constraint.attribute("with-rsc")?);
        let keeps_apart = constraint.attribute("score").is_some_and(|score| score.trim().starts_with('-'));
        let role = constraint.attribute("with-rsc-role");
        let is_promoted = role.is_some_and(|role| PROMOTED.contains(&role));
        let is_meant = is_promoted || role.is_none_or(|role| role == "Started");
        (clones.contains(clone) && !keeps_apart && is_meant).then_some(WithPromotable {
            constraint,
            dependent,
            clone,
            is_promoted,
        })
    };
    cib.elements("rsc_colocation").filter_map(read).collect()
}

/// A file system or an address is with any instance, promoted or not.
pub(super) fn role_not_named(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let all = with_promotables(cib);
    let named: HashSet<(&str, &str)> =
        all.iter().filter(|one| one.is_promoted).map(|one| (one.dependent, one.clone)).collect();
    let wholes = || cib.elements("primitive").chain(cib.elements("group"));
    let uses_data = |name: &str| {
        let found = wholes().find(|one| id(*one) == name);
        let primitives = found.into_iter().flat_map(|one| one.descendants());
        let mut primitives = primitives.filter(|node| node.has_tag_name("primitive"));
        primitives.any(|one| agent(cib, one).is_some_and(|agent| USERS.contains(&agent.kind)))
    };
    let complaint = |one: &WithPromotable<'_>| {
        let (dependent, clone) = (shown_name(one.dependent), shown_name(one.clone));
        let problem = format!("{dependent} runs with any instance of {clone}, also where it is not promoted");
        let advice = "add with-rsc-role=\"Promoted\"".to_owned();
        let is_loose = !one.is_promoted && !named.contains(&(one.dependent, one.clone));
        (is_loose && uses_data(one.dependent)).then(|| Complaint::about(one.constraint, problem, advice))
    };
    Ok(all.iter().filter_map(complaint).collect())
}

/// A resource is with the promoted instance, and can start before the promotion.
pub(super) fn no_promotion_order(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let complaint = |one: &WithPromotable<'_>| {
        let (dependent, clone) = (shown_name(one.dependent), shown_name(one.clone));
        let problem = format!(
            "{dependent} is with the promoted instance of {clone}, and no order lets it start after the promotion"
        );
        let advice =
            format!("add an order: first={clone} first-action=promote then={dependent} then-action=start");
        let is_missing = one.is_promoted && !after_promotion(cib, one.clone).contains(one.dependent);
        is_missing.then(|| Complaint::about(one.constraint, problem, advice))
    };
    Ok(with_promotables(cib).iter().filter_map(complaint).collect())
}

/// A step of an order: resources, and their action.
struct OrderStep<'d> {
    resources: Vec<&'d str>,
    action: Option<&'d str>,
}

/// The steps of an order, of two resources or of sets.
fn steps<'d>(order: Node<'d, 'd>) -> Vec<OrderStep<'d>> {
    let single = |name: &str, action: &str| {
        let resource = order.attribute(name)?;
        Some(OrderStep { resources: vec![resource], action: order.attribute(action) })
    };
    let pair = single("first", "first-action").into_iter().chain(single("then", "then-action"));
    let sets = children(order, "resource_set").map(|set| OrderStep {
        resources: children(set, "resource_ref").map(id).collect(),
        action: set.attribute("action"),
    });
    pair.chain(sets).collect()
}

/// The resources that are ordered after the promotion of a clone, also by way of others, with groups and their members.
fn after_promotion<'d>(cib: &LintedCib<'_, 'd>, clone: &str) -> HashSet<&'d str> {
    let orders: Vec<Vec<OrderStep<'d>>> = cib.elements("rsc_order").map(steps).collect();
    let groups: Vec<Vec<&'d str>> = cib
        .elements("group")
        .map(|group| std::iter::once(id(group)).chain(children(group, "primitive").map(id)).collect())
        .collect();
    let mut after: HashSet<&'d str> = HashSet::new();
    loop {
        let before = after.len();
        for order in &orders {
            let is_first = |step: &OrderStep<'_>| {
                let is_promotion = step.action == Some(PROMOTE) && step.resources.contains(&clone);
                is_promotion || step.resources.iter().any(|one| after.contains(one))
            };
            if let Some(first) = order.iter().position(is_first) {
                after.extend(order[first + 1..].iter().flat_map(|step| &step.resources));
            }
        }
        for group in
            groups.iter().filter(|group| group.iter().any(|one| after.contains(one))).collect::<Vec<_>>()
        {
            after.extend(group);
        }
        if after.len() == before {
            return after;
        }
    }
}
