//! Promotable clones, and constraints about them, that do not do what is most likely meant.

use std::collections::{HashMap, HashSet};

use roxmltree::Node;

use super::super::number::{is_true, leading};
use super::super::place::PlacingError;
use super::complaint::{Complaint, LintedCib};
use crate::cib::document::{children, id};
use crate::cib::roles;
use htools_model::shown::shown_name;

/// Agents of resources that use the data of a promoted instance, or its address.
const USERS: [&str; 5] = ["Filesystem", "IPaddr", "IPaddr2", "LVM", "LVM-activate"];
/// Action of an order that waits for a promotion.
const PROMOTE: &str = "promote";

/// The value of a meta attribute of an element by any of its names.
fn meta<'d>(element: Node<'d, 'd>, names: &[&str]) -> Option<&'d str> {
    let pairs = children(element, "meta_attributes").flat_map(|metas| children(metas, "nvpair"));
    let mut named = pairs.filter(|pair| pair.attribute("name").is_some_and(|name| names.contains(&name)));
    named.next().and_then(|pair| pair.attribute("value"))
}

/// Returns true if a meta attribute of an element is set to a word for true.
fn has_flag(element: Node<'_, '_>, name: &str) -> bool {
    meta(element, &[name]).is_some_and(is_true)
}

/// The promotable clones of the configuration.
pub(super) fn promotables<'d>(cib: &LintedCib<'_, 'd>) -> Vec<Node<'d, 'd>> {
    let clones = cib.elements("clone").filter(|clone| has_flag(*clone, "promotable"));
    clones.chain(cib.elements("master")).collect()
}

/// Elements of the configuration by id.
type Named<'d> = HashMap<&'d str, Node<'d, 'd>>;

/// The templates of the configuration.
fn templates<'d>(cib: &LintedCib<'_, 'd>) -> Named<'d> {
    cib.elements("template").map(|one| (id(one), one)).collect()
}

/// Provider and type of an agent.
struct AgentWords<'d> {
    provider: Option<&'d str>,
    kind: &'d str,
}

/// The agent of a primitive, its own or its template's.
fn agent<'d>(templates: &Named<'d>, primitive: Node<'d, 'd>) -> Option<AgentWords<'d>> {
    let template = primitive.attribute("template").and_then(|name| templates.get(name));
    let source = template.copied().unwrap_or(primitive);
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
    let templates = templates(cib);
    let complaint = |clone: Node<'_, '_>| {
        let mut primitives = clone.descendants().filter(|node| node.has_tag_name("primitive"));
        let is_drbd = primitives.any(|one| {
            agent(&templates, one)
                .is_some_and(|agent| agent.provider == Some("linbit") && agent.kind == "drbd")
        });
        let problem = "the agent ocf:linbit:drbd needs notifications, and the clone sends none".to_owned();
        let advice = "set the meta attribute notify=true on the clone".to_owned();
        (is_drbd && !has_flag(clone, "notify")).then(|| Complaint::about(clone, problem, advice))
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
        let is_promoted = role.is_some_and(roles::is_promoted);
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
    let (templates, wholes) = (templates(cib), cib.elements("primitive").chain(cib.elements("group")));
    let wholes: Named<'_> = wholes.map(|one| (id(one), one)).collect();
    let uses_data = |name: &str| {
        let primitives = wholes.get(name).into_iter().flat_map(|one| one.descendants());
        let mut primitives = primitives.filter(|node| node.has_tag_name("primitive"));
        primitives.any(|one| agent(&templates, one).is_some_and(|agent| USERS.contains(&agent.kind)))
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
    let (orders, all) = (ConfiguredOrders::of(cib), with_promotables(cib));
    let clones: HashSet<&str> = all.iter().map(|one| one.clone).collect();
    let after: HashMap<&str, HashSet<&str>> =
        clones.into_iter().map(|clone| (clone, orders.after_promotion(clone))).collect();
    let complaint = |one: &WithPromotable<'_>| {
        let (dependent, clone) = (shown_name(one.dependent), shown_name(one.clone));
        let problem = format!(
            "{dependent} is with the promoted instance of {clone}, and no order lets it start after the promotion"
        );
        let advice =
            format!("add an order: first={clone} first-action=promote then={dependent} then-action=start");
        let is_ordered = after.get(one.clone).is_some_and(|after| after.contains(one.dependent));
        (one.is_promoted && !is_ordered).then(|| Complaint::about(one.constraint, problem, advice))
    };
    Ok(all.iter().filter_map(complaint).collect())
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

/// The orders and groups of a configuration, each by the resources in it.
struct ConfiguredOrders<'d> {
    orders: Vec<Vec<OrderStep<'d>>>,
    /// Positions of a resource: the order, and the step in it.
    places: HashMap<&'d str, Vec<(usize, usize)>>,
    /// The whole group of a group's id, and of each member.
    groups: HashMap<&'d str, Vec<&'d str>>,
}

impl<'d> ConfiguredOrders<'d> {
    fn of(cib: &LintedCib<'_, 'd>) -> ConfiguredOrders<'d> {
        let orders: Vec<Vec<OrderStep<'d>>> = cib.elements("rsc_order").map(steps).collect();
        let mut places: HashMap<&'d str, Vec<(usize, usize)>> = HashMap::new();
        for (order, steps) in orders.iter().enumerate() {
            for (at, step) in steps.iter().enumerate() {
                step.resources.iter().for_each(|one| places.entry(one).or_default().push((order, at)));
            }
        }
        let mut groups: HashMap<&'d str, Vec<&'d str>> = HashMap::new();
        for group in cib.elements("group") {
            let members: Vec<&'d str> = children(group, "primitive").map(id).collect();
            members.iter().for_each(|member| groups.entry(member).or_default().push(id(group)));
            groups.insert(id(group), members);
        }
        ConfiguredOrders { orders, places, groups }
    }

    /// The resources that are ordered after the promotion of a clone, also by way of others, with groups and their
    /// members.
    fn after_promotion(&self, clone: &str) -> HashSet<&'d str> {
        let mut after: HashSet<&'d str> = HashSet::new();
        // By order, the first step that is known to come after the promotion.
        let mut begun: HashMap<usize, usize> = HashMap::new();
        let mut waiting: Vec<&'d str> = Vec::new();
        let mut follow = |order: usize, at: usize, waiting: &mut Vec<&'d str>| {
            let steps = &self.orders[order];
            let end = begun.get(&order).copied().unwrap_or(steps.len());
            if at + 1 < end {
                waiting.extend(steps[at + 1..end].iter().flat_map(|step| &step.resources));
                begun.insert(order, at + 1);
            }
        };
        for (order, at) in self.places.get(clone).into_iter().flatten() {
            if self.orders[*order][*at].action == Some(PROMOTE) {
                follow(*order, *at, &mut waiting);
            }
        }
        while let Some(one) = waiting.pop() {
            if after.insert(one) {
                waiting.extend(self.groups.get(one).into_iter().flatten());
                let places = self.places.get(one).into_iter().flatten();
                places.for_each(|(order, at)| follow(*order, *at, &mut waiting));
            }
        }
        after
    }
}
