//! Constraints that cannot do what they say.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use roxmltree::{Document, Node};

use super::super::index::{HostIdx, ResourceIdx};
use super::super::place::PlacingError;
use super::super::score::AllocationScore;
use super::super::transition::circles::latent;
use super::super::transition::{WaitCircle, WaitReason};
use super::{Complaint, LintedCib, elements};
use crate::model::shown::shown_name;
use crate::placement::cib::document::id;

/// What the elements are in which resources are defined.
const RESOURCES: [&str; 5] = ["primitive", "group", "clone", "master", "bundle"];
/// What the elements are that stand for some of them.
const SHARED: [&str; 2] = ["tag", "template"];

/// The resources that there are, and the tags and templates that stand for some.
fn resources<'d>(document: &'d Document<'d>) -> Vec<&'d str> {
    RESOURCES.iter().chain(&SHARED).flat_map(|kind| elements(document, kind)).map(id).collect()
}

/// The attributes of constraints that name resources.
const PLACES: [&str; 4] = ["rsc", "with-rsc", "first", "then"];

/// All constraints.
fn constraints<'d>(document: &'d Document<'d>) -> impl Iterator<Item = Node<'d, 'd>> {
    elements(document, "constraints").flat_map(|all| all.children()).filter(Node::is_element)
}

/// The resources that a constraint names.
fn named<'d>(constraint: Node<'d, 'd>) -> impl Iterator<Item = &'d str> {
    let words = PLACES.into_iter().filter_map(move |name| constraint.attribute(name));
    words.chain(constraint.descendants().filter(|node| node.has_tag_name("resource_ref")).map(id))
}

/// Where in the document constraints are that name a resource that is not there.
pub(super) fn about_nothing(document: &Document<'_>) -> Vec<Range<usize>> {
    let known: HashSet<&str> = resources(document).into_iter().collect();
    let is_lost = |constraint: &Node<'_, '_>| named(*constraint).any(|name| !known.contains(name));
    constraints(document).filter(is_lost).map(|constraint| constraint.range()).collect()
}

/// A constraint names a resource that is not there, for which Pacemaker refuses the whole document; or a node, and is ignored.
pub(super) fn absent(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let resources = resources(cib.document);
    let known: HashSet<&str> = resources.iter().copied().collect();
    let nodes: Vec<&str> = cib.set.hosts.iter().map(|host| host.name.as_str()).collect();
    let mut complaints = Vec::new();
    for constraint in constraints(cib.document) {
        let mut missing = |what: &str, name: &str, known: &[&str]| {
            let follows = match what {
                "node" => "the constraint is ignored",
                _ => "Pacemaker refuses the whole document",
            };
            let problem = format!("there is no {what} '{}': {follows}", shown_name(name));
            let advice = format!("name one that is there, or take it away{}", (cib.suggest)(name, known));
            complaints.push(Complaint::about(constraint, problem, advice));
        };
        for name in named(constraint).filter(|name| !known.contains(name)) {
            missing("resource", name, &resources);
        }
        if let Some(node) = constraint.attribute("node").filter(|node| !nodes.contains(node)) {
            missing("node", node, &nodes);
        }
    }
    Ok(complaints)
}

/// What `crm_resource --ban` and `--move` (and `pcs`, and `crm`) set, and nobody has taken away. What ends by itself is meant to stay.
pub(super) fn leftovers(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let ends = |node: &Node<'_, '_>| node.descendants().any(|inner| inner.has_tag_name("date_expression"));
    let complaint = |location: Node<'_, '_>| {
        let does = match id(location) {
            name if name.starts_with("cli-ban-") => "keeps it from a node",
            name if name.starts_with("cli-prefer-") => "holds it on a node",
            _ => return None,
        };
        let resource = shown_name(location.attribute("rsc")?);
        let problem = format!(
            "a command has left this constraint on {resource}: it {does} until somebody takes it away"
        );
        let advice = format!("if that is no longer meant: crm_resource --clear --resource {resource}");
        Some(Complaint::about(location, problem, advice))
    };
    Ok(cib.elements("rsc_location").filter(|node| !ends(node)).filter_map(complaint).collect())
}

/// Orders that run in a circle: what is started or stopped together waits for itself, and Pacemaker never gets to it.
pub(super) fn order_circles(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let complaint = |circle: &WaitCircle| {
        let order = circle.reasons.iter().find_map(|why| match why {
            WaitReason::Order(at) => Some(set.orders[*at].id.as_str()),
            WaitReason::Choice(at) => Some(set.choices[*at].id.as_str()),
            _ => None,
        })?;
        let names: Vec<String> =
            circle.resources.iter().map(|one| shown_name(&set.resource(*one).id)).collect();
        let problem = format!(
            "orders run in a circle through {}: what is started or stopped together waits for itself, and Pacemaker never gets to it",
            names.join(", ")
        );
        let advice = "take one of the orders away, be they Optional".to_owned();
        Some(Complaint::of("rsc_order", order, problem, advice))
    };
    Ok(latent(set).iter().filter_map(complaint).collect())
}

/// A constraint that is ignored for what a tag or template stands for: outside of sets, something that is no resource, be it a tag;
/// or in both places of a colocation.
pub(super) fn tags(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let ids = |kinds: &'static [&'static str]| kinds.iter().flat_map(|kind| cib.elements(kind)).map(id);
    let (known, shared) = (ids(&RESOURCES).collect::<HashSet<_>>(), ids(&SHARED).collect::<HashSet<_>>());
    let mut complaints = Vec::new();
    for constraint in constraints(cib.document) {
        let mut complain = |problem: String, advice: &str| {
            complaints.push(Complaint::about(constraint, problem, advice.to_owned()));
        };
        let names: Vec<&str> = PLACES.iter().filter_map(|place| constraint.attribute(*place)).collect();
        for tag in cib.elements("tag").filter(|tag| names.contains(&id(*tag))) {
            let strangers = tag.children().filter(|inner| inner.has_tag_name("obj_ref")).map(id);
            if let Some(stranger) = strangers.into_iter().find(|name| !known.contains(name)) {
                let (tag, stranger) = (shown_name(id(tag)), shown_name(stranger));
                let problem =
                    format!("tag '{tag}' has '{stranger}', which is no resource: the constraint is ignored");
                complain(problem, "name the tag in a resource_set, or have only resources in it");
            }
        }
        let is_colocation = constraint.has_tag_name("rsc_colocation") && names.len() == 2;
        if is_colocation && names.iter().all(|name| shared.contains(name)) {
            let problem = "a tag or template with another one: the constraint is ignored".to_owned();
            complain(
                problem,
                "name one of the two by its resources, in constraints of their own, or both in resource_sets",
            );
        }
    }
    Ok(complaints)
}

/// A resource may only be where its exclusive locations say, and no node is left of these.
pub(super) fn exclusive_nowhere(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let has_none = |one: &ResourceIdx| {
        set.resource(*one).scores.iter().all(|(_, score)| score == AllocationScore::MINUS_INFINITY)
    };
    let lost = set.top_level().filter(|one| set.primitives(one).iter().any(has_none));
    let complaint = |one: ResourceIdx| {
        let of = set.resource(one);
        let problem = format!(
            "{} may only be where locations with resource-discovery=exclusive say, and these leave no node: it runs nowhere",
            shown_name(&of.id)
        );
        let advice = "name a node that nothing forbids, or take resource-discovery away".to_owned();
        Some(Complaint::of("rsc_location", of.exclusive.as_deref()?, problem, advice))
    };
    Ok(lost.filter_map(complaint).collect())
}

/// An exclusive location of a member of a group: only those of the group take nodes away.
pub(super) fn exclusive_ignored(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let complaint = |one: ResourceIdx| {
        let of = set.resource(one);
        // where the group has some, too, it adds to them
        let group = Some(set.resource(of.group?)).filter(|group| group.exclusive.is_none())?;
        let (member, group) = (shown_name(&of.id), shown_name(&group.id));
        let problem = format!(
            "{member} is in the group {group}, and may be elsewhere all the same: only its score counts"
        );
        let advice = format!("make it about {group}, or forbid the other nodes by -INFINITY");
        Some(Complaint::of("rsc_location", of.exclusive.as_deref()?, problem, advice))
    };
    Ok(set.resource_indices().filter_map(complaint).collect())
}

/// Must-be-with constraints that run in a circle: who is placed first decides, and Pacemaker follows none of them back.
pub(super) fn circles(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let musts = || set.colocations.iter().filter(|one| one.score == AllocationScore::INFINITY);
    let mut complaints = Vec::new();
    let mut told: BTreeSet<ResourceIdx> = BTreeSet::new();
    for start in musts() {
        if told.contains(&start.dependent) {
            continue;
        }
        // breadth first from the primary back to the dependent
        let mut reached = vec![(start.primary, None)];
        let mut at = 0;
        let mut end = None;
        while let Some((here, _)) = reached.get(at).copied() {
            if here == start.dependent {
                end = Some(at);
                break;
            }
            for next in musts().filter(|one| one.dependent == here).map(|one| one.primary) {
                if reached.iter().all(|(other, _)| *other != next) {
                    reached.push((next, Some(at)));
                }
            }
            at += 1;
        }
        let Some(mut at) = end else { continue };
        let mut circle = vec![start.dependent];
        while let Some(before) = reached[at].1 {
            at = before;
            circle.push(reached[at].0);
        }
        told.extend(&circle);
        let names: Vec<String> = circle.iter().rev().map(|one| shown_name(&set.resource(*one).id)).collect();
        let problem = format!(
            "each of these must be with the next one, in a circle: {}; which of them is placed first decides where all go",
            names.join(", ")
        );
        let advice = "take one of the constraints away: one direction is enough".to_owned();
        complaints.push(Complaint::of("rsc_colocation", &start.id, problem, advice));
    }
    Ok(complaints)
}

/// Two that must be together have no node in common, or must also be apart.
pub(super) fn contradictions(cib: &LintedCib<'_, '_>) -> Result<Vec<Complaint>, PlacingError> {
    let set = cib.set;
    let allowed = |one: ResourceIdx, host: HostIdx| {
        set.resource(one).scores.or_never(host) > AllocationScore::MINUS_INFINITY
    };
    let pair = |one: &super::super::working_set::Colocation| {
        let (dependent, primary) = (one.dependent.min(one.primary), one.dependent.max(one.primary));
        (dependent, primary, one.attribute.clone())
    };
    let mut complaints = Vec::new();
    for must in set.colocations.iter().filter(|one| one.score == AllocationScore::INFINITY) {
        let (one, other) =
            (shown_name(&set.resource(must.dependent).id), shown_name(&set.resource(must.primary).id));
        let apart = set
            .colocations
            .iter()
            .find(|apart| apart.score == AllocationScore::MINUS_INFINITY && pair(apart) == pair(must));
        if let Some(apart) = apart {
            let problem = format!(
                "{one} must be with {other}, and by {} must not: {one} runs nowhere",
                shown_name(&apart.id)
            );
            let advice = "take one of the two constraints away".to_owned();
            complaints.push(Complaint::of("rsc_colocation", &must.id, problem, advice));
            continue;
        }
        let mut hosts = set.host_indices();
        let is_possible = must.attribute.is_some()
            || hosts.any(|host| allowed(must.dependent, host) && allowed(must.primary, host));
        if !is_possible {
            let problem =
                format!("{one} must be with {other}, and no node is allowed to both: {one} runs nowhere");
            let advice = "look at the locations of both, and at nodes on which they failed".to_owned();
            complaints.push(Complaint::of("rsc_colocation", &must.id, problem, advice));
        }
    }
    Ok(complaints)
}
